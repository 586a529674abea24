// Softmax of each row: once with three passes over shared memory, once with the running maximum that
// rescales what was summed so far, a warp a row.

#include "gpu.h"

#define WIDTH 64

// launch softmax_block grid 3 block 64 args f32[300]=signed f32[300]=zero u32:100
KERNEL softmax_block(const f32 *in, f32 *out, u32 columns) {
    SHARED f32 part[WIDTH];
    u32 t = thread_x();
    const f32 *row = in + (u64)block_x() * columns;
    f32 *result = out + (u64)block_x() * columns;
    f32 high = -__builtin_inff();
    for (u32 i = t; i < columns; i += WIDTH) high = max_f32(high, row[i]);
    part[t] = high;
    barrier();
    for (u32 half = WIDTH / 2; half > 0; half /= 2) {
        if (t < half) part[t] = max_f32(part[t], part[t + half]);
        barrier();
    }
    high = part[0];
    barrier();
    f32 sum = 0.0f;
    for (u32 i = t; i < columns; i += WIDTH) {
        f32 e = exp_fast(row[i] - high);
        result[i] = e;
        sum += e;
    }
    part[t] = sum;
    barrier();
    for (u32 half = WIDTH / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    f32 scale = 1.0f / part[0];
    for (u32 i = t; i < columns; i += WIDTH) result[i] *= scale;
}

// launch softmax_online grid 2 block 64 args f32[180]=signed f32[180]=zero u32:4 u32:45
KERNEL softmax_online(const f32 *in, f32 *out, u32 rows, u32 columns) {
    u32 row = global_x() / 32;
    if (row >= rows) return;
    f32 high = -__builtin_inff();
    f32 sum = 0.0f;
    for (u32 i = lane(); i < columns; i += 32) {
        f32 x = in[row * columns + i];
        f32 higher = max_f32(high, x);
        sum = sum * exp_fast(high - higher) + exp_fast(x - higher);
        high = higher;
    }
    for (u32 flip = 16; flip > 0; flip /= 2) {
        f32 other_high = shuffle_xor_f32(WHOLE_WARP, high, flip);
        f32 other_sum = shuffle_xor_f32(WHOLE_WARP, sum, flip);
        f32 higher = max_f32(high, other_high);
        // Two empty lanes would make infinity minus infinity, which is not a number.
        if (higher > -__builtin_inff()) {
            sum = sum * exp_fast(high - higher) + other_sum * exp_fast(other_high - higher);
            high = higher;
        }
    }
    for (u32 i = lane(); i < columns; i += 32) out[row * columns + i] = exp_fast(in[row * columns + i] - high) / sum;
}
