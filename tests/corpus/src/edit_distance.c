// Distances between strings by dynamic programming: one pair a thread with a row in local memory, and
// one pair a block that sweeps along anti-diagonals.

#include "gpu.h"

#define LENGTH 12

// launch edit_distance grid 1 block 32 args u8[384]=below:4 u8[384]=below:4 u32[32]=zero u32:30
KERNEL edit_distance(const u8 *a, const u8 *b, u32 *out, u32 pairs) {
    u32 i = global_x();
    if (i >= pairs) return;
    u8 row[LENGTH + 1];
    for (u32 k = 0; k <= LENGTH; k++) row[k] = (u8)k;
    for (u32 r = 0; r < LENGTH; r++) {
        u8 diagonal = row[0];
        row[0] = (u8)(r + 1);
        for (u32 c = 0; c < LENGTH; c++) {
            u8 above = row[c + 1];
            u32 best = diagonal + (u32)(a[i * LENGTH + r] != b[i * LENGTH + c]);
            best = min_u32(best, min_u32(row[c] + 1u, above + 1u));
            diagonal = above;
            row[c + 1] = (u8)best;
        }
    }
    out[i] = row[LENGTH];
}

#define SIZE 32

// launch common_subsequence grid 2 block 32 args u8[64]=below:5 u8[64]=below:5 u32[2]=zero
KERNEL common_subsequence(const u8 *a, const u8 *b, u32 *out) {
    SHARED u32 diagonals[3][SIZE + 1];
    u32 t = thread_x();
    const u8 *mine = a + block_x() * SIZE;
    const u8 *other = b + block_x() * SIZE;
    for (u32 k = 0; k < 3; k++) {
        diagonals[k][t + 1] = 0;
        if (t == 0) diagonals[k][0] = 0;
    }
    barrier();
    for (u32 d = 0; d < 2 * SIZE - 1; d++) {
        IN_SHARED u32 *now = diagonals[d % 3];
        IN_SHARED u32 *last = diagonals[(d + 2) % 3];
        IN_SHARED u32 *before = diagonals[(d + 1) % 3];
        u32 column = d - t;
        if (t <= d && column < SIZE) {
            u32 left = column > 0 ? last[t + 1] : 0;
            u32 above = last[t];
            u32 corner = column > 0 ? before[t] : 0;
            now[t + 1] = mine[t] == other[column] ? corner + 1 : max_u32(left, above);
        }
        barrier();
    }
    if (t == SIZE - 1) out[block_x()] = diagonals[(2 * SIZE - 2) % 3][SIZE];
}
