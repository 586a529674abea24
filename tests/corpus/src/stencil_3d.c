// Seven-point stencil in space: one thread a cell, and one thread a column that marches along z with
// the three neighbouring planes in registers.

#include "gpu.h"

// launch stencil_seven_point grid 2,2,3 block 4,4,2 args f64[336]=signed f64[336]=zero u32:8 u32:7 u32:6
KERNEL stencil_seven_point(const f64 *in, f64 *out, u32 nx, u32 ny, u32 nz) {
    u32 x = global_x();
    u32 y = global_y();
    u32 z = global_z();
    if (x >= nx || y >= ny || z >= nz) return;
    u32 at = (z * ny + y) * nx + x;
    f64 sum = -6.0 * in[at];
    sum += in[x > 0 ? at - 1 : at];
    sum += in[x + 1 < nx ? at + 1 : at];
    sum += in[y > 0 ? at - nx : at];
    sum += in[y + 1 < ny ? at + nx : at];
    sum += in[z > 0 ? at - nx * ny : at];
    sum += in[z + 1 < nz ? at + nx * ny : at];
    out[at] = in[at] + 0.1 * sum;
}

// launch stencil_marching grid 2,2 block 4,4 args f32[384]=signed f32[384]=zero u32:8 u32:8 u32:6 f32:0.4 f32:0.1
KERNEL stencil_marching(const f32 *restrict in, f32 *restrict out, u32 nx, u32 ny, u32 nz, f32 centre, f32 side) {
    u32 x = global_x();
    u32 y = global_y();
    if (x == 0 || y == 0 || x + 1 >= nx || y + 1 >= ny) return;
    u32 plane = nx * ny;
    u32 at = y * nx + x;
    f32 below = in[at];
    f32 here = in[at + plane];
    for (u32 z = 1; z + 1 < nz; z++) {
        at += plane;
        f32 above = in[at + plane];
        out[at] = centre * here + side * (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]);
        below = here;
        here = above;
    }
}
