// Batch normalisation over a channel's samples, group statistics, and a linear layer with its bias.

#include "gpu.h"

// launch batch_norm grid 3 block 64 args f32[300]=signed f32[3]=unit f32[3]=signed f32[3]=signed f32[300]=zero u32:100 f32:0.1
KERNEL batch_norm(const f32 *in, const f32 *gain, const f32 *bias, f32 *running_mean, f32 *out, u32 samples, f32 momentum) {
    SHARED f32 sums[64];
    SHARED f32 squares[64];
    u32 t = thread_x();
    u32 channel = block_x();
    f32 sum = 0.0f;
    f32 square = 0.0f;
    for (u32 i = t; i < samples; i += 64) {
        f32 x = in[i * grid_width() + channel];
        sum += x;
        square += x * x;
    }
    sums[t] = sum;
    squares[t] = square;
    barrier();
    for (u32 half = 32; half > 0; half /= 2) {
        if (t < half) {
            sums[t] += sums[t + half];
            squares[t] += squares[t + half];
        }
        barrier();
    }
    f32 mean = sums[0] / (f32)samples;
    f32 variance = squares[0] / (f32)samples - mean * mean;
    f32 scale = gain[channel] * rsqrt_fast(max_f32(variance, 0.0f) + 1e-5f);
    if (t == 0) running_mean[channel] += momentum * (mean - running_mean[channel]);
    for (u32 i = t; i < samples; i += 64) {
        u32 at = i * grid_width() + channel;
        out[at] = (in[at] - mean) * scale + bias[channel];
    }
}

// launch linear_layer grid 3 block 32 args f32[120]=signed f32[160]=signed f32[4]=signed f32[12]=zero u32:40 u32:4
KERNEL linear_layer(const f32 *in, const f32 *weights, const f32 *bias, f32 *out, u32 inner, u32 outer) {
    for (u32 o = 0; o < outer; o++) {
        f32 sum = 0.0f;
        for (u32 k = lane(); k < inner; k += 32) sum += in[block_x() * inner + k] * weights[o * inner + k];
        for (u32 by = 16; by > 0; by /= 2) sum += shuffle_down_f32(WHOLE_WARP, sum, by);
        if (lane() == 0) out[block_x() * outer + o] = max_f32(sum + bias[o], 0.0f);
    }
}
