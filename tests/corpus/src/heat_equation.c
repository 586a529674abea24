// Heat on a rod, many steps in one launch between barriers, and the alternating-direction half step.

#include "gpu.h"

#define WIDTH 64

// launch heat_explicit grid 2 block 64 args f32[128]=unit f32:0.2 u32:9
KERNEL heat_explicit(f32 *rods, f32 rate, u32 steps) {
    SHARED f32 rod[2][WIDTH + 2];
    u32 t = thread_x();
    f32 *mine = rods + block_x() * WIDTH;
    rod[0][t + 1] = mine[t];
    if (t == 0) rod[0][0] = rod[1][0] = 0.0f;
    if (t == WIDTH - 1) rod[0][WIDTH + 1] = rod[1][WIDTH + 1] = 1.0f;
    barrier();
    for (u32 step = 0; step < steps; step++) {
        IN_SHARED f32 *from = rod[step & 1];
        IN_SHARED f32 *to = rod[~step & 1];
        to[t + 1] = from[t + 1] + rate * (from[t] - 2.0f * from[t + 1] + from[t + 2]);
        barrier();
    }
    mine[t] = rod[steps & 1][t + 1];
}

// launch heat_implicit_rows grid 1 block 8 args f64[96]=unit f64[96]=zero f64[96]=zero u32:8 u32:12 f64:0.5
KERNEL heat_implicit_rows(const f64 *in, f64 *scratch, f64 *out, u32 rows, u32 columns, f64 rate) {
    u32 row = global_x();
    if (row >= rows) return;
    const f64 *right = in + row * columns;
    f64 *upper = scratch + row * columns;
    f64 *x = out + row * columns;
    f64 diagonal = 1.0 + 2.0 * rate;
    upper[0] = -rate / diagonal;
    x[0] = right[0] / diagonal;
    for (u32 i = 1; i < columns; i++) {
        f64 scale = 1.0 / (diagonal + rate * upper[i - 1]);
        upper[i] = -rate * scale;
        x[i] = (right[i] + rate * x[i - 1]) * scale;
    }
    for (u32 i = columns - 1; i > 0; i--) x[i - 1] -= upper[i - 1] * x[i];
}
