// The game of life: a byte a cell, and 32 cells in a word with the neighbours counted by adders made of
// bit operations.

#include "gpu.h"

// launch life_bytes grid 2,2 block 8,8 args u8[256]=below:2 u8[256]=zero u32:16 u32:16
KERNEL life_bytes(const u8 *in, u8 *out, u32 width, u32 height) {
    u32 x = global_x();
    u32 y = global_y();
    if (x >= width || y >= height) return;
    u32 neighbours = 0;
    for (u32 dy = height - 1; dy <= height + 1; dy++) {
        for (u32 dx = width - 1; dx <= width + 1; dx++) {
            if (dx != width || dy != height) neighbours += in[(y + dy) % height * width + (x + dx) % width];
        }
    }
    u8 alive = in[y * width + x];
    out[y * width + x] = neighbours == 3 || (alive && neighbours == 2);
}

// launch life_words grid 1 block 32 args u32[32]=bits u32[32]=zero u32:32 u32:3
KERNEL life_words(const u32 *in, u32 *out, u32 height, u32 steps) {
    u32 row = lane();
    u32 cells = row < height ? in[row] : 0;
    for (u32 step = 0; step < steps; step++) {
        u32 above = shuffle_from(WHOLE_WARP, cells, row == 0 ? height - 1 : row - 1);
        u32 below = shuffle_from(WHOLE_WARP, cells, row + 1 == height ? 0 : row + 1);
        u32 group[8] = {rotate_left(above, 1), above, rotate_right(above, 1), rotate_left(cells, 1),
                        rotate_right(cells, 1), rotate_left(below, 1), below, rotate_right(below, 1)};
        u32 ones = 0;
        u32 twos = 0;
        u32 fours = 0;
        UNROLL for (u32 k = 0; k < 8; k++) {
            u32 carry = ones & group[k];
            ones ^= group[k];
            u32 carry2 = twos & carry;
            twos ^= carry;
            fours |= carry2;
        }
        cells = ~fours & twos & (ones | cells);
    }
    if (row < height) out[row] = cells;
}
