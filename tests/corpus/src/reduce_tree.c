// Sum of an array through a tree in shared memory, in the order of the classic tutorial: first the
// version with divergent strides, then the one with contiguous active threads.

#include "gpu.h"

#define WIDTH 128

// launch reduce_interleaved grid 2 block 128 args f32[256]=signed f32[2]=zero u32:250
KERNEL reduce_interleaved(const f32 *in, f32 *out, u32 size) {
    SHARED f32 part[WIDTH];
    u32 t = thread_x();
    part[t] = global_x() < size ? in[global_x()] : 0.0f;
    barrier();
    for (u32 step = 1; step < block_width(); step *= 2) {
        if (t % (2 * step) == 0) part[t] += part[t + step];
        barrier();
    }
    if (t == 0) out[block_x()] = part[0];
}

// launch reduce_contiguous grid 2 block 128 args f32[700]=signed f32[2]=zero u32:700
KERNEL reduce_contiguous(const f32 *in, f32 *out, u32 size) {
    SHARED f32 part[WIDTH];
    u32 t = thread_x();
    f32 sum = 0.0f;
    for (u32 i = global_x(); i < size; i += grid_stride()) sum += in[i];
    part[t] = sum;
    barrier();
    for (u32 half = block_width() / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    if (t == 0) out[block_x()] = part[0];
}
