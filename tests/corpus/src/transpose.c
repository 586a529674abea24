// Transposing a matrix: straight, through a padded tile, and through a tile whose columns are swizzled
// instead of padded.

#include "gpu.h"

#define TILE 16
#define ROWS 4

// launch transpose_naive grid 3,2 block 8,8 args u8[320]=bits u8[320]=zero u32:20 u32:16
KERNEL transpose_naive(const u8 *in, u8 *out, u32 width, u32 height) {
    u32 x = global_x();
    u32 y = global_y();
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// launch transpose_tiled grid 2,2 block 16,4 args f32[768]=signed f32[768]=zero u32:32 u32:24
KERNEL transpose_tiled(const f32 *in, f32 *out, u32 width, u32 height) {
    SHARED f32 tile[TILE][TILE + 1];
    u32 x = block_x() * TILE + thread_x();
    u32 y = block_y() * TILE + thread_y();
    for (u32 k = 0; k < TILE; k += ROWS) {
        if (x < width && y + k < height) tile[thread_y() + k][thread_x()] = in[(y + k) * width + x];
    }
    barrier();
    x = block_y() * TILE + thread_x();
    y = block_x() * TILE + thread_y();
    for (u32 k = 0; k < TILE; k += ROWS) {
        if (x < height && y + k < width) out[(y + k) * height + x] = tile[thread_x()][thread_y() + k];
    }
}

// launch transpose_swizzled grid 2,2 block 16,16 args u64[1024]=bits u64[1024]=zero u32:32
KERNEL transpose_swizzled(const u64 *in, u64 *out, u32 size) {
    SHARED u64 tile[TILE][TILE];
    u32 x = thread_x();
    u32 y = thread_y();
    tile[y][x ^ y] = in[(block_y() * TILE + y) * size + block_x() * TILE + x];
    barrier();
    out[(block_x() * TILE + y) * size + block_y() * TILE + x] = tile[x][x ^ y];
}
