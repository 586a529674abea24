// Small random number generators with their state in global memory: xorshift, xoshiro, PCG.

#include "gpu.h"

// launch random_xorshift grid 1 block 32 args u64[32]=bits u64[256]=zero u32:8
KERNEL random_xorshift(u64 *states, u64 *out, u32 each) {
    u64 x = states[global_x()] | 1;
    for (u32 k = 0; k < each; k++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        out[k * grid_stride() + global_x()] = x * 0x2545f4914f6cdd1dull;
    }
    states[global_x()] = x;
}

// launch random_xoshiro grid 1 block 32 args u32x4[32]=bits f32[256]=zero u32:8
KERNEL random_xoshiro(u32x4 *states, f32 *out, u32 each) {
    u32x4 s = states[global_x()];
    for (u32 k = 0; k < each; k++) {
        u32 result = rotate_left(s[1] * 5, 7) * 9;
        u32 kept = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= kept;
        s[3] = rotate_left(s[3], 11);
        out[k * grid_stride() + global_x()] = (f32)(result >> 8) * 0x1p-24f;
    }
    states[global_x()] = s;
}

// launch random_pcg grid 1 block 32 args u64[32]=bits u32[256]=zero u32:8
KERNEL random_pcg(u64 *states, u32 *out, u32 each) {
    u64 state = states[global_x()];
    u64 stream = 2ull * global_x() + 1;
    for (u32 k = 0; k < each; k++) {
        u64 old = state;
        state = old * 6364136223846793005ull + stream;
        u32 mixed = (u32)((old >> 18 ^ old) >> 27);
        out[k * grid_stride() + global_x()] = rotate_right(mixed, (u32)(old >> 59));
    }
    states[global_x()] = state;
}
