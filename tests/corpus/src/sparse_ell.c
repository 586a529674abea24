// Sparse matrix times vector in the padded formats: ELL (column by column, padded to the longest row)
// and 2 by 2 blocks.

#include "gpu.h"

#define EMPTY 7u

// launch spmv_ell grid 2 block 32 args u32[200]=below:40 f32[200]=signed f32[40]=signed f32[50]=zero u32:50 u32:4
KERNEL spmv_ell(const u32 *columns, const f32 *values, const f32 *x, f32 *y, u32 rows, u32 longest) {
    u32 row = global_x();
    if (row >= rows) return;
    f32 sum = 0.0f;
    for (u32 k = 0; k < longest; k++) {
        u32 column = columns[k * rows + row];
        if (column == EMPTY) break;
        sum = fma_f32(values[k * rows + row], x[column], sum);
    }
    y[row] = sum;
}

// launch spmv_blocks grid 1 block 32 args u32[33]=step:3 u32[96]=below:32 f32x4[96]=signed f32x2[32]=signed f32x2[32]=zero u32:32
KERNEL spmv_blocks(const u32 *starts, const u32 *columns, const f32x4 *blocks, const f32x2 *x, f32x2 *y, u32 rows) {
    u32 row = global_x();
    if (row >= rows) return;
    f32 top = 0.0f;
    f32 bottom = 0.0f;
    for (u32 e = starts[row]; e < starts[row + 1]; e++) {
        f32x4 block = blocks[e];
        f32x2 v = x[columns[e]];
        top += block[0] * v[0] + block[1] * v[1];
        bottom += block[2] * v[0] + block[3] * v[1];
    }
    y[row] = (f32x2){top, bottom};
}
