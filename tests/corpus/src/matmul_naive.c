// C = A B with one dot product a thread, for floats, doubles, and bytes with a wide accumulator.

#include "gpu.h"

// launch matmul_f32 grid 2,3 block 8,8 args f32[340]=signed f32[320]=signed f32[272]=zero u32:17 u32:16 u32:20
KERNEL matmul_f32(const f32 *a, const f32 *b, f32 *c, u32 rows, u32 columns, u32 inner) {
    u32 row = global_y();
    u32 column = global_x();
    if (row >= rows || column >= columns) return;
    f32 sum = 0.0f;
    for (u32 k = 0; k < inner; k++) sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}

// launch matmul_f64 grid 2,2 block 8,8 args f64:1.5 f64[144]=signed f64[144]=signed f64:0.25 f64[144]=signed u32:12
KERNEL matmul_f64(f64 alpha, const f64 *restrict a, const f64 *restrict b, f64 beta, f64 *restrict c, u32 size) {
    u32 row = global_y();
    u32 column = global_x();
    if (row >= size || column >= size) return;
    f64 sum = 0.0;
    for (u32 k = 0; k < size; k++) sum = fma_f64(a[row * size + k], b[k * size + column], sum);
    u32 place = row * size + column;
    c[place] = alpha * sum + beta * c[place];
}

// launch matmul_i8 grid 2,2 block 4,4 args i8[64]=bits i8[64]=bits i32[64]=zero u32:8
KERNEL matmul_i8(const i8 *a, const i8 *b, i32 *c, u32 size) {
    u32 row = global_y();
    u32 column = global_x();
    if (row >= size || column >= size) return;
    i32 sum = 0;
    for (u32 k = 0; k < size; k++) sum += (i32)a[row * size + k] * (i32)b[k * size + column];
    c[row * size + column] = sum;
}
