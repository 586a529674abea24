// One new token against a cache of keys and values kept in pages, a block a head.

#include "gpu.h"

#define HEAD 32
#define PAGE 4
#define LENGTH_MAX 64

// launch attention_decode grid 2 block 32 args f32[64]=signed f32[1024]=signed f32[1024]=signed u32[8]=list:3,0,6,1,7,2,5,4 f32[64]=zero u32:13
KERNEL attention_decode(const f32 *query, const f32 *keys, const f32 *values, const u32 *pages, f32 *out, u32 length) {
    SHARED f32 scores[LENGTH_MAX];
    u32 t = thread_x();
    trap_unless(length <= LENGTH_MAX);
    f32 q = query[block_x() * HEAD + t];
    f32 high = -__builtin_inff();
    for (u32 j = 0; j < length; j++) {
        u32 at = (pages[j / PAGE] * PAGE + j % PAGE) * HEAD + t;
        f32 score = q * keys[at];
        for (u32 flip = 16; flip > 0; flip /= 2) score += shuffle_xor_f32(WHOLE_WARP, score, flip);
        if (t == 0) scores[j] = score;
        high = max_f32(high, score);
    }
    barrier();
    f32 sum = 0.0f;
    f32 gathered = 0.0f;
    for (u32 j = 0; j < length; j++) {
        f32 weight = exp_fast(scores[j] - high);
        sum += weight;
        gathered += weight * values[(pages[j / PAGE] * PAGE + j % PAGE) * HEAD + t];
    }
    out[block_x() * HEAD + t] = gathered / sum;
}
