// One collide-and-stream step of the nine-velocity lattice Boltzmann method on a periodic plane.

#include "gpu.h"

CONSTANT i32 step_x[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
CONSTANT i32 step_y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
CONSTANT f32 weight[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                          1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
CONSTANT u8 opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};

// launch lattice_boltzmann grid 2,2 block 4,4 args f32[576]=unit f32[576]=zero u8[64]=below:5 i32:8 i32:8 f32:1.2
KERNEL lattice_boltzmann(const f32 *in, f32 *out, const u8 *solid, i32 width, i32 height, f32 relax) {
    i32 x = (i32)global_x();
    i32 y = (i32)global_y();
    if (x >= width || y >= height) return;
    i32 cells = width * height;
    i32 at = y * width + x;
    f32 f[9];
    f32 density = 0.0f;
    f32 flow_x = 0.0f;
    f32 flow_y = 0.0f;
    UNROLL for (i32 d = 0; d < 9; d++) {
        i32 from_x = (x - step_x[d] + width) % width;
        i32 from_y = (y - step_y[d] + height) % height;
        f[d] = in[d * cells + from_y * width + from_x];
        density += f[d];
        flow_x += f[d] * (f32)step_x[d];
        flow_y += f[d] * (f32)step_y[d];
    }
    if (solid[at] == 1) {
        UNROLL for (i32 d = 0; d < 9; d++) out[d * cells + at] = f[opposite[d]];
        return;
    }
    f32 ux = flow_x / density;
    f32 uy = flow_y / density;
    f32 square = ux * ux + uy * uy;
    UNROLL for (i32 d = 0; d < 9; d++) {
        f32 along = ux * (f32)step_x[d] + uy * (f32)step_y[d];
        f32 rest = weight[d] * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * square);
        out[d * cells + at] = f[d] + relax * (rest - f[d]);
    }
}
