// The 8 by 8 cosine transform of picture coding: rows, then columns, through shared memory; quantise, and
// write the coefficients in zigzag order.

#include "gpu.h"

CONSTANT u8 zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                          41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                          30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

INLINE void transform8(IN_SHARED f32 *x, u32 stride) {
    f32 s07 = x[0] + x[7 * stride], d07 = x[0] - x[7 * stride];
    f32 s16 = x[stride] + x[6 * stride], d16 = x[stride] - x[6 * stride];
    f32 s25 = x[2 * stride] + x[5 * stride], d25 = x[2 * stride] - x[5 * stride];
    f32 s34 = x[3 * stride] + x[4 * stride], d34 = x[3 * stride] - x[4 * stride];
    f32 a = s07 + s34, b = s07 - s34, c = s16 + s25, d = s16 - s25;
    x[0] = 0.35355339f * (a + c);
    x[4 * stride] = 0.35355339f * (a - c);
    x[2 * stride] = 0.46193977f * b + 0.19134172f * d;
    x[6 * stride] = 0.19134172f * b - 0.46193977f * d;
    x[stride] = 0.49039264f * d07 + 0.41573481f * d16 + 0.27778512f * d25 + 0.09754516f * d34;
    x[3 * stride] = 0.41573481f * d07 - 0.09754516f * d16 - 0.49039264f * d25 - 0.27778512f * d34;
    x[5 * stride] = 0.27778512f * d07 - 0.49039264f * d16 + 0.09754516f * d25 + 0.41573481f * d34;
    x[7 * stride] = 0.09754516f * d07 - 0.27778512f * d16 + 0.41573481f * d25 - 0.49039264f * d34;
}

// launch cosine_transform grid 2 block 8 args u8[128]=bits f32[64]=unit i16[128]=zero
KERNEL cosine_transform(const u8 *pixels, const f32 *quants, i16 *out) {
    SHARED f32 tile[64];
    u32 t = thread_x();
    u32 base = block_x() * 64;
    for (u32 k = 0; k < 8; k++) tile[k * 8 + t] = (f32)pixels[base + k * 8 + t] - 128.0f;
    barrier();
    transform8(&tile[t * 8], 1);
    barrier();
    transform8(&tile[t], 8);
    barrier();
    for (u32 k = t; k < 64; k += 8) {
        u32 from = zigzag[k];
        out[base + k] = (i16)__builtin_rintf(tile[from] / (1.0f + 15.0f * quants[from]));
    }
}
