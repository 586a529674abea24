// Dense factorisations in one block: LU with row pivoting, Cholesky, and the triangular solve that uses them.

#include "gpu.h"

#define SIZE 16

// launch lu_decompose grid 1 block 16 args f32[256]=signed u32[16]=zero
KERNEL lu_decompose(f32 *matrix, u32 *pivots) {
    SHARED f32 a[SIZE][SIZE + 1];
    SHARED u32 pivot_shared;
    u32 t = thread_x();
    for (u32 r = 0; r < SIZE; r++) a[r][t] = matrix[r * SIZE + t];
    barrier();
    for (u32 k = 0; k < SIZE; k++) {
        if (t == 0) {
            u32 pivot = k;
            for (u32 r = k + 1; r < SIZE; r++) {
                if (abs_f32(a[r][k]) > abs_f32(a[pivot][k])) pivot = r;
            }
            pivot_shared = pivot;
            pivots[k] = pivot;
        }
        barrier();
        u32 pivot = pivot_shared;
        f32 kept = a[k][t];
        a[k][t] = a[pivot][t];
        a[pivot][t] = kept;
        barrier();
        if (t > k && a[k][k] != 0.0f) a[t][k] /= a[k][k];
        barrier();
        if (t > k) {
            for (u32 r = k + 1; r < SIZE; r++) a[r][t] -= a[r][k] * a[k][t];
        }
        barrier();
    }
    for (u32 r = 0; r < SIZE; r++) matrix[r * SIZE + t] = a[r][t];
}

// launch cholesky grid 1 block 16 args f64[256]=unit f64[256]=zero
KERNEL cholesky(const f64 *in, f64 *out) {
    SHARED f64 a[SIZE][SIZE];
    u32 t = thread_x();
    for (u32 r = 0; r < SIZE; r++) a[r][t] = in[r * SIZE + t] + in[t * SIZE + r] + (r == t ? 2.0 * SIZE : 0.0);
    barrier();
    for (u32 k = 0; k < SIZE; k++) {
        if (t == k) a[k][k] = sqrt_f64(a[k][k]);
        barrier();
        if (t > k) a[t][k] /= a[k][k];
        barrier();
        if (t > k) {
            for (u32 c = k + 1; c <= t; c++) a[t][c] -= a[t][k] * a[c][k];
        }
        barrier();
    }
    for (u32 c = 0; c < SIZE; c++) out[t * SIZE + c] = c <= t ? a[t][c] : 0.0;
}

// launch solve_lower grid 1 block 16 args f64[256]=unit f64[256]=signed u32:16
KERNEL solve_lower(const f64 *lower, f64 *columns, u32 size) {
    u32 column = global_x();
    if (column >= size) return;
    for (u32 r = 0; r < size; r++) {
        f64 sum = columns[r * size + column];
        for (u32 k = 0; k < r; k++) sum -= lower[r * size + k] * columns[k * size + column];
        columns[r * size + column] = sum / (1.0 + lower[r * size + r]);
    }
}
