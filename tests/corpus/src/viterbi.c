// Hidden Markov models: the likeliest path with its back pointers, and the forward sum in logarithms.

#include "gpu.h"

#define STATES 32
#define LENGTH_MAX 16

// launch viterbi grid 1 block 32 args f32[1024]=signed f32[128]=signed u32[12]=below:4 u8[12]=zero f32[1]=zero u32:12
KERNEL viterbi(const f32 *moves, const f32 *emits, const u32 *seen, u8 *path, f32 *score, u32 length) {
    SHARED f32 now[STATES];
    SHARED u8 back[LENGTH_MAX][STATES];
    u32 s = thread_x();
    trap_unless(length <= LENGTH_MAX && length > 0);
    now[s] = emits[s * 4 + seen[0]];
    barrier();
    for (u32 step = 1; step < length; step++) {
        f32 best = -__builtin_inff();
        u8 from = 0;
        for (u32 k = 0; k < STATES; k++) {
            f32 candidate = now[k] + moves[k * STATES + s];
            if (candidate > best) {
                best = candidate;
                from = (u8)k;
            }
        }
        barrier();
        now[s] = best + emits[s * 4 + seen[step]];
        back[step][s] = from;
        barrier();
    }
    if (s != 0) return;
    u8 state = 0;
    for (u32 k = 1; k < STATES; k++) {
        if (now[k] > now[state]) state = (u8)k;
    }
    *score = now[state];
    for (u32 step = length; step-- > 0;) {
        path[step] = state;
        if (step > 0) state = back[step][state];
    }
}

// launch forward_sum grid 1 block 32 args f32[1024]=signed f32[12]=signed f32[1]=zero u32:12
KERNEL forward_sum(const f32 *moves, const f32 *emits, f32 *total, u32 length) {
    f32 mine = 0.0f;
    for (u32 step = 0; step < length; step++) {
        f32 high = -__builtin_inff();
        for (u32 k = 0; k < STATES; k++) high = max_f32(high, shuffle_from_f32(WHOLE_WARP, mine, k) + moves[k * STATES + lane()]);
        f32 sum = 0.0f;
        for (u32 k = 0; k < STATES; k++) {
            sum += exp_fast(shuffle_from_f32(WHOLE_WARP, mine, k) + moves[k * STATES + lane()] - high);
        }
        mine = high + log_fast(sum) + emits[step];
    }
    if (lane() == 0) *total = mine;
}
