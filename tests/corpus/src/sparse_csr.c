// Sparse matrix times vector, rows compressed: a thread a row, a warp a row, and the transpose by atomics.

#include "gpu.h"

// launch spmv_csr_thread grid 2 block 32 args u32[51]=step:5 u32[250]=below:40 f32[250]=signed f32[40]=signed f32[50]=zero u32:50
KERNEL spmv_csr_thread(const u32 *starts, const u32 *columns, const f32 *values, const f32 *x, f32 *y, u32 rows) {
    u32 row = global_x();
    if (row >= rows) return;
    f32 sum = 0.0f;
    for (u32 e = starts[row]; e < starts[row + 1]; e++) sum += values[e] * x[columns[e]];
    y[row] = sum;
}

// launch spmv_csr_warp grid 2 block 64 args u32[5]=step:45 u32[180]=below:60 f64[180]=signed f64[60]=signed f64[4]=zero u32:4
KERNEL spmv_csr_warp(const u32 *starts, const u32 *columns, const f64 *values, const f64 *x, f64 *y, u32 rows) {
    u32 row = global_x() / 32;
    if (row >= rows) return;
    f64 sum = 0.0;
    for (u32 e = starts[row] + lane(); e < starts[row + 1]; e += 32) sum = fma_f64(values[e], x[columns[e]], sum);
    for (u32 by = 16; by > 0; by /= 2) {
        u64 bits = __builtin_bit_cast(u64, sum);
        u64 low = shuffle_down(WHOLE_WARP, (u32)bits, by);
        u64 high = shuffle_down(WHOLE_WARP, (u32)(bits >> 32), by);
        sum += __builtin_bit_cast(f64, high << 32 | low);
    }
    if (lane() == 0) y[row] = sum;
}

// launch spmv_csr_transposed grid 2 block 32 args u32[51]=step:5 u32[250]=below:40 i32[250]=below:100 i32[50]=below:100 i32[40]=zero u32:50
KERNEL spmv_csr_transposed(const u32 *starts, const u32 *columns, const i32 *values, const i32 *x, i32 *y, u32 rows) {
    for (u32 row = global_x(); row < rows; row += grid_stride()) {
        for (u32 e = starts[row]; e < starts[row + 1]; e++) atomic_add(&y[columns[e]], values[e] * x[row]);
    }
}
