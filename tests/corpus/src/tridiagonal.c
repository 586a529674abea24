// Tridiagonal systems: cyclic reduction in a block, and red-black relaxation on a plane.

#include "gpu.h"

#define SIZE 32

// launch tridiagonal_reduction grid 2 block 32 args f32[64]=signed f32[64]=signed f32[64]=signed f32[64]=zero
KERNEL tridiagonal_reduction(const f32 *lower, const f32 *upper, const f32 *right, f32 *out) {
    SHARED f32 a[SIZE];
    SHARED f32 b[SIZE];
    SHARED f32 c[SIZE];
    SHARED f32 d[SIZE];
    u32 t = thread_x();
    u32 i = global_x();
    a[t] = t > 0 ? lower[i] : 0.0f;
    b[t] = 4.0f;
    c[t] = t + 1 < SIZE ? upper[i] : 0.0f;
    d[t] = right[i];
    barrier();
    for (u32 reach = 1; reach < SIZE; reach *= 2) {
        f32 na = 0.0f, nb = b[t], nc = 0.0f, nd = d[t];
        if (t >= reach) {
            f32 k = a[t] / b[t - reach];
            na = -a[t - reach] * k;
            nb -= c[t - reach] * k;
            nd -= d[t - reach] * k;
        }
        if (t + reach < SIZE) {
            f32 k = c[t] / b[t + reach];
            nc = -c[t + reach] * k;
            nb -= a[t + reach] * k;
            nd -= d[t + reach] * k;
        }
        barrier();
        a[t] = na;
        b[t] = nb;
        c[t] = nc;
        d[t] = nd;
        barrier();
    }
    out[i] = d[t] / b[t];
}

// launch relax_red_black grid 2,2 block 4,8 args f64[240]=signed f64[240]=signed u32:16 u32:15 u32:1 f64:1.5
KERNEL relax_red_black(f64 *field, const f64 *source, u32 width, u32 height, u32 colour, f64 over) {
    u32 y = global_y();
    u32 x = 2 * global_x() + ((y + colour) & 1);
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) return;
    u32 at = y * width + x;
    f64 around = field[at - 1] + field[at + 1] + field[at - width] + field[at + width];
    field[at] += over * (0.25 * (around - source[at]) - field[at]);
}
