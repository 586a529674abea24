// C = A B through square tiles in shared memory. Threads past the edge load zeros instead of leaving,
// because every thread must reach both barriers.

#include "gpu.h"

#define TILE 8

// launch matmul_tiled grid 3,2 block 8,8 args f32[260]=signed f32[400]=signed f32[260]=zero u32:13 u32:20 u32:20
KERNEL matmul_tiled(const f32 *a, const f32 *b, f32 *c, u32 rows, u32 columns, u32 inner) {
    SHARED f32 tile_a[TILE][TILE];
    SHARED f32 tile_b[TILE][TILE + 1];
    u32 x = thread_x();
    u32 y = thread_y();
    u32 row = block_y() * TILE + y;
    u32 column = block_x() * TILE + x;
    f32 sum = 0.0f;
    for (u32 base = 0; base < inner; base += TILE) {
        tile_a[y][x] = row < rows && base + x < inner ? a[row * inner + base + x] : 0.0f;
        tile_b[y][x] = column < columns && base + y < inner ? b[(base + y) * columns + column] : 0.0f;
        barrier();
        UNROLL for (u32 k = 0; k < TILE; k++) sum += tile_a[y][k] * tile_b[k][x];
        barrier();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
