// Kernels with far more live values than registers: a wide unrolled sum of products, a 6 by 6 determinant
// tree, and a long chain where everything is needed until the end.

#include "gpu.h"

// launch pressure_outer grid 1 block 32 args f32[448]=signed f32[32]=zero
KERNEL pressure_outer(const f32 *in, f32 *out) {
    f32 a[14];
    f32 sum[14][14] = {};
    UNROLL for (u32 k = 0; k < 14; k++) a[k] = in[global_x() * 14 + k];
    for (u32 round = 0; round < 3; round++) {
        UNROLL for (u32 i = 0; i < 14; i++) {
            UNROLL for (u32 j = 0; j < 14; j++) sum[i][j] = fma_f32(a[i], a[j], sum[i][j] * 0.5f);
        }
        UNROLL for (u32 k = 0; k < 14; k++) a[k] = sum[k][13 - k] * 0.25f + a[k];
    }
    f32 total = 0.0f;
    UNROLL for (u32 i = 0; i < 14; i++) {
        UNROLL for (u32 j = 0; j < 14; j++) total += sum[i][j] * (f32)(i * 3 + j);
    }
    out[global_x()] = total;
}

// launch pressure_wide grid 1 block 32 args u64[320]=bits u64[32]=zero
KERNEL pressure_wide(const u64 *in, u64 *out) {
    u64 x[40];
    UNROLL for (u32 k = 0; k < 10; k++) x[k] = in[global_x() * 10 + k];
    UNROLL for (u32 k = 10; k < 40; k++) x[k] = x[k - 1] * 0x9e3779b97f4a7c15ull ^ x[k - 7] >> (k % 13 + 1);
    u64 digest = 0;
    UNROLL for (u32 k = 0; k < 40; k++) digest = __builtin_rotateleft64(digest, 9) + (x[k] ^ x[39 - k]) * (x[(k * 11) % 40] | 1);
    out[global_x()] = digest;
}

// launch pressure_branches grid 1 block 32 args i32[512]=bits i32[32]=zero u32:5
KERNEL pressure_branches(const i32 *in, i32 *out, u32 rounds) {
    u32 v[16];
    UNROLL for (u32 k = 0; k < 16; k++) v[k] = (u32)in[global_x() * 16 + k];
    for (u32 round = 0; round < rounds; round++) {
        UNROLL for (u32 k = 0; k < 16; k++) {
            if (v[k] & 1) v[(k + 5) % 16] += v[k] >> 3;
            else v[(k + 11) % 16] ^= v[k] * 5;
        }
        barrier();
    }
    u32 sum = 0;
    UNROLL for (u32 k = 0; k < 16; k++) sum = sum * 7 + v[k];
    out[global_x()] = (i32)sum;
}
