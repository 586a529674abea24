// Half precision, one and two at a time: conversions, fused arithmetic, comparison, a dot product, a GELU.

#include "gpu.h"

// launch half_scale grid 1 block 64 args f16x2[60]=signed f16x2[60]=signed f16x2[60]=zero u32:60
KERNEL half_scale(const f16x2 *a, const f16x2 *b, f16x2 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    f16x2 product = a[i] * b[i] + a[i];
    f16x2 limit = {(f16)0.75f, (f16)0.75f};
    out[i] = __builtin_elementwise_min(product, limit);
}

// launch half_dot grid 1 block 32 args f16[200]=signed f16[200]=signed f32[1]=zero f16[1]=zero u32:200
KERNEL half_dot(const f16 *a, const f16 *b, f32 *wide, f16 *narrow, u32 size) {
    f32 sum = 0.0f;
    f16 narrow_sum = 0;
    for (u32 i = lane(); i < size; i += 32) {
        sum += (f32)a[i] * (f32)b[i];
        narrow_sum += a[i] * b[i];
    }
    for (u32 flip = 16; flip > 0; flip /= 2) {
        sum += shuffle_xor_f32(WHOLE_WARP, sum, flip);
        narrow_sum += (f16)shuffle_xor_f32(WHOLE_WARP, (f32)narrow_sum, flip);
    }
    if (lane() == 0) {
        *wide = sum;
        *narrow = narrow_sum;
    }
}

// launch half_gelu grid 1 block 64 args f16[64]=signed f16[64]=zero i16[64]=zero
KERNEL half_gelu(const f16 *in, f16 *out, i16 *rounded) {
    f16 x = in[global_x()];
    f32 wide = (f32)x;
    f32 inner = 0.79788456f * (wide + 0.044715f * wide * wide * wide);
    f32 e = exp_fast(2.0f * inner);
    f32 tanh = (e - 1.0f) / (e + 1.0f);
    out[global_x()] = (f16)(0.5f * wide * (1.0f + tanh));
    rounded[global_x()] = (i16)(x * (f16)100.0f);
}
