// Attention without the big matrix: one thread owns a query row, keys and values pass by in tiles,
// and the running maximum rescales what was gathered so far.

#include "gpu.h"

#define HEAD 16
#define TILE 16

// launch attention_flash grid 3,2 block 16 args f32[1280]=signed f32[1280]=signed f32[1280]=signed f32[1280]=zero u32:40 f32:0.25 u32:1
KERNEL attention_flash(const f32 *queries, const f32 *keys, const f32 *values, f32 *out, u32 length, f32 scale, u32 causal) {
    SHARED f32 key_tile[TILE][HEAD];
    SHARED f32 value_tile[TILE][HEAD];
    u32 head_base = block_y() * length * HEAD;
    u32 row = block_x() * TILE + thread_x();
    f32 query[HEAD];
    f32 gathered[HEAD];
    for (u32 d = 0; d < HEAD; d++) {
        query[d] = row < length ? queries[head_base + row * HEAD + d] * scale : 0.0f;
        gathered[d] = 0.0f;
    }
    f32 high = -1e30f;
    f32 sum = 0.0f;
    for (u32 base = 0; base < length; base += TILE) {
        for (u32 d = 0; d < HEAD; d++) {
            u32 key = base + d;
            key_tile[d][thread_x()] = key < length ? keys[head_base + key * HEAD + thread_x()] : 0.0f;
            value_tile[d][thread_x()] = key < length ? values[head_base + key * HEAD + thread_x()] : 0.0f;
        }
        barrier();
        u32 stop = min_u32(TILE, length - base);
        for (u32 j = 0; j < stop; j++) {
            if (causal && base + j > row) break;
            f32 score = 0.0f;
            for (u32 d = 0; d < HEAD; d++) score += query[d] * key_tile[j][d];
            f32 higher = max_f32(high, score);
            f32 keep = exp_fast(high - higher);
            f32 weight = exp_fast(score - higher);
            sum = sum * keep + weight;
            for (u32 d = 0; d < HEAD; d++) gathered[d] = gathered[d] * keep + weight * value_tile[j][d];
            high = higher;
        }
        barrier();
    }
    if (row >= length) return;
    f32 scale_out = 1.0f / sum;
    for (u32 d = 0; d < HEAD; d++) out[head_base + row * HEAD + d] = gathered[d] * scale_out;
}
