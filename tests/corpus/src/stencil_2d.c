// Five-point and nine-point stencils on a plane: straight from memory, and through a shared tile with a halo.

#include "gpu.h"

#define TILE 8

// launch stencil_five_point grid 2,2 block 8,8 args f32[180]=signed f32[180]=zero u32:15 u32:12
KERNEL stencil_five_point(const f32 *in, f32 *out, u32 width, u32 height) {
    u32 x = global_x();
    u32 y = global_y();
    if (x >= width || y >= height) return;
    u32 at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[at] = in[at];
        return;
    }
    out[at] = 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

// launch stencil_nine_point_tiled grid 2,2 block 8,8 args f32[180]=signed f32[180]=zero u32:15 u32:12
KERNEL stencil_nine_point_tiled(const f32 *in, f32 *out, u32 width, u32 height) {
    SHARED f32 tile[TILE + 2][TILE + 2];
    i32 left = (i32)(block_x() * TILE) - 1;
    i32 top = (i32)(block_y() * TILE) - 1;
    for (u32 i = thread_y() * TILE + thread_x(); i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        i32 x = min_i32(max_i32(left + (i32)(i % (TILE + 2)), 0), (i32)width - 1);
        i32 y = min_i32(max_i32(top + (i32)(i / (TILE + 2)), 0), (i32)height - 1);
        tile[i / (TILE + 2)][i % (TILE + 2)] = in[y * (i32)width + x];
    }
    barrier();
    u32 x = global_x();
    u32 y = global_y();
    if (x >= width || y >= height) return;
    f32 sum = 0.0f;
    UNROLL for (u32 dy = 0; dy < 3; dy++) {
        UNROLL for (u32 dx = 0; dx < 3; dx++) {
            f32 weight = dx == 1 && dy == 1 ? 4.0f : dx == 1 || dy == 1 ? 2.0f : 1.0f;
            sum += weight * tile[thread_y() + dy][thread_x() + dx];
        }
    }
    out[y * width + x] = sum * 0.0625f;
}
