// Backtracking with an explicit stack in local memory: placing queens, and subset sums.

#include "gpu.h"

// launch n_queens grid 1 block 64 args u32[64]=zero u32:6
KERNEL n_queens(u32 *solutions, u32 size) {
    // Thread t fixes the queens of the first two rows, then searches the rest.
    u32 t = global_x();
    u32 full = (1u << size) - 1;
    u32 columns[16];
    u32 left[16];
    u32 right[16];
    u32 open[16];
    u32 first = t % size;
    u32 second = t / size;
    u32 found = 0;
    if (t >= size * size || first == second || first + 1 == second || second + 1 == first) goto done;
    columns[2] = 1u << first | 1u << second;
    left[2] = (1u << first << 1 | 1u << second) << 1;
    right[2] = (1u << first >> 1 | 1u << second) >> 1;
    open[2] = full & ~(columns[2] | left[2] | right[2]);
    u32 row = 2;
    while (row >= 2) {
        if (open[row] == 0) {
            row--;
            continue;
        }
        u32 queen = open[row] & (0u - open[row]);
        open[row] ^= queen;
        if (row + 1 == size) {
            found++;
            continue;
        }
        columns[row + 1] = columns[row] | queen;
        left[row + 1] = (left[row] | queen) << 1;
        right[row + 1] = (right[row] | queen) >> 1;
        row++;
        open[row] = full & ~(columns[row] | left[row] | right[row]);
    }
done:
    solutions[t] = found;
}

// launch subset_sum grid 1 block 32 args u32[10]=below:30 u32[32]=zero u32:10
KERNEL subset_sum(const u32 *weights, u32 *ways, u32 count) {
    u32 target = global_x() * 4;
    u32 item[24];
    u32 rest[24];
    u32 depth = 1;
    u32 found = 0;
    item[0] = 0;
    rest[0] = target;
    while (depth > 0) {
        depth--;
        u32 at = item[depth];
        u32 left = rest[depth];
        if (at == count) {
            found += left == 0;
            continue;
        }
        item[depth] = at + 1;
        rest[depth++] = left;
        if (weights[at] <= left) {
            item[depth] = at + 1;
            rest[depth++] = left - weights[at];
        }
    }
    ways[global_x()] = found;
}
