// Fourier transform of one block's worth of complex numbers, radix 2, bit-reversed load, shared memory.

#include "gpu.h"

#define SIZE 64
#define SIZE_LOG 6

// launch fft_radix2 grid 2 block 32 args f32x2[128]=signed f32x2[128]=zero f32:-1.0
KERNEL fft_radix2(const f32x2 *in, f32x2 *out, f32 direction) {
    SHARED f32x2 data[SIZE];
    u32 t = thread_x();
    const f32x2 *mine = in + block_x() * SIZE;
    for (u32 i = t; i < SIZE; i += SIZE / 2) data[bits_reverse(i) >> (32 - SIZE_LOG)] = mine[i];
    barrier();
    for (u32 half = 1; half < SIZE; half *= 2) {
        u32 inside = t & (half - 1);
        u32 low = (t - inside) * 2 + inside;
        f32 angle = direction * 3.14159265358979f * (f32)inside / (f32)half;
        f32 c = cos_fast(angle);
        f32 s = sin_fast(angle);
        f32x2 a = data[low];
        f32x2 b = data[low + half];
        f32x2 turned = {b[0] * c - b[1] * s, b[0] * s + b[1] * c};
        data[low] = a + turned;
        data[low + half] = a - turned;
        barrier();
    }
    for (u32 i = t; i < SIZE; i += SIZE / 2) out[block_x() * SIZE + i] = data[i];
}
