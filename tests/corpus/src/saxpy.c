// Vector kernels in the three shapes people write them: one element a thread, a grid-stride loop,
// and four elements a thread through one wide load.

#include "gpu.h"

// launch vector_add grid 4 block 64 args f32[256]=signed f32[256]=signed f32[256]=zero u32:250
KERNEL vector_add(const f32 *a, const f32 *b, f32 *sum, u32 size) {
    u32 i = global_x();
    if (i < size) sum[i] = a[i] + b[i];
}

// launch saxpy grid 2 block 32 args f32:2.5 f32[300]=signed f32[300]=signed u32:300
KERNEL saxpy(f32 scale, const f32 *x, f32 *y, u32 size) {
    for (u32 i = global_x(); i < size; i += grid_stride()) y[i] = scale * x[i] + y[i];
}

// launch saxpy_wide grid 2 block 32 args f32:-0.5 f32[258]=signed f32[258]=signed u32:258
KERNEL saxpy_wide(f32 scale, const f32 *restrict x, f32 *restrict y, u32 size) {
    const f32x4 *x4 = (const f32x4 *)x;
    f32x4 *y4 = (f32x4 *)y;
    for (u32 i = global_x(); i < size / 4; i += grid_stride()) y4[i] = x4[i] * scale + y4[i];
    u32 tail = size / 4 * 4 + global_x();
    if (tail < size) y[tail] = scale * x[tail] + y[tail];
}
