// C = A B with a 4 by 4 patch of C in the registers of each thread: the shape that fills a register file.

#include "gpu.h"

#define TILE 32
#define DEPTH 8
#define PATCH 4

// launch matmul_register_blocked grid 2,1 block 8,8 args f32[512]=signed f32[1024]=signed f32[2048]=zero u32:64 u32:16
KERNEL matmul_register_blocked(const f32 *a, const f32 *b, f32 *c, u32 columns, u32 inner) {
    SHARED f32 tile_a[DEPTH][TILE];
    SHARED f32 tile_b[DEPTH][TILE];
    u32 t = thread_y() * 8 + thread_x();
    u32 row = block_y() * TILE;
    u32 column = block_x() * TILE;
    f32 sum[PATCH][PATCH] = {};
    for (u32 base = 0; base < inner; base += DEPTH) {
        UNROLL for (u32 i = 0; i < TILE * DEPTH / 64; i++) {
            u32 at = i * 64 + t;
            tile_a[at % DEPTH][at / DEPTH] = a[(row + at / DEPTH) * inner + base + at % DEPTH];
            tile_b[at / TILE][at % TILE] = b[(base + at / TILE) * columns + column + at % TILE];
        }
        barrier();
        for (u32 k = 0; k < DEPTH; k++) {
            f32 left[PATCH];
            f32 right[PATCH];
            UNROLL for (u32 i = 0; i < PATCH; i++) {
                left[i] = tile_a[k][thread_y() * PATCH + i];
                right[i] = tile_b[k][thread_x() * PATCH + i];
            }
            UNROLL for (u32 i = 0; i < PATCH; i++) {
                UNROLL for (u32 j = 0; j < PATCH; j++) sum[i][j] = fma_f32(left[i], right[j], sum[i][j]);
            }
        }
        barrier();
    }
    UNROLL for (u32 i = 0; i < PATCH; i++) {
        UNROLL for (u32 j = 0; j < PATCH; j++) {
            c[(row + thread_y() * PATCH + i) * columns + column + thread_x() * PATCH + j] = sum[i][j];
        }
    }
}
