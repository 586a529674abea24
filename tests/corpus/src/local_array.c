// Arrays that live in a thread's own memory because they are indexed by data: an insertion sort, a
// matrix inverse by elimination with pivoting, a permutation followed round its cycles.

#include "gpu.h"

#define EACH 16
#define SIZE 4

// launch insertion_sort grid 1 block 32 args u16[512]=bits u16[512]=zero
KERNEL insertion_sort(const u16 *in, u16 *out) {
    u16 keys[EACH];
    u32 base = global_x() * EACH;
    for (u32 k = 0; k < EACH; k++) {
        u16 key = in[base + k];
        u32 at = k;
        while (at > 0 && keys[at - 1] > key) {
            keys[at] = keys[at - 1];
            at--;
        }
        keys[at] = key;
    }
    for (u32 k = 0; k < EACH; k++) out[base + k] = keys[k];
}

// launch invert_small grid 1 block 16 args f64[256]=signed f64[256]=zero u32[16]=zero
KERNEL invert_small(const f64 *in, f64 *out, u32 *singular) {
    f64 m[SIZE][2 * SIZE];
    for (u32 r = 0; r < SIZE; r++) {
        for (u32 c = 0; c < SIZE; c++) {
            m[r][c] = in[(global_x() * SIZE + r) * SIZE + c];
            m[r][SIZE + c] = r == c ? 1.0 : 0.0;
        }
    }
    for (u32 c = 0; c < SIZE; c++) {
        u32 pivot = c;
        for (u32 r = c + 1; r < SIZE; r++) {
            if (abs_f64(m[r][c]) > abs_f64(m[pivot][c])) pivot = r;
        }
        if (m[pivot][c] == 0.0) {
            singular[global_x()] = 1;
            return;
        }
        f64 scale = 1.0 / m[pivot][c];
        for (u32 k = 0; k < 2 * SIZE; k++) {
            f64 kept = m[pivot][k] * scale;
            m[pivot][k] = m[c][k];
            m[c][k] = kept;
        }
        for (u32 r = 0; r < SIZE; r++) {
            if (r == c) continue;
            f64 factor = m[r][c];
            for (u32 k = 0; k < 2 * SIZE; k++) m[r][k] -= factor * m[c][k];
        }
    }
    for (u32 r = 0; r < SIZE; r++) {
        for (u32 c = 0; c < SIZE; c++) out[(global_x() * SIZE + r) * SIZE + c] = m[r][SIZE + c];
    }
}

// launch shuffle_and_cycle grid 1 block 32 args u32[32]=bits u32[64]=zero
KERNEL shuffle_and_cycle(const u32 *seeds, u32 *out) {
    u8 deck[32];
    u8 seen[32] = {};
    u32 state = seeds[global_x()] | 1;
    for (u32 k = 0; k < 32; k++) deck[k] = (u8)k;
    for (u32 k = 31; k > 0; k--) {
        state = state * 1664525u + 1013904223u;
        u32 other = multiply_high(state, k + 1);
        u8 kept = deck[k];
        deck[k] = deck[other];
        deck[other] = kept;
    }
    u32 cycles = 0;
    u32 longest = 0;
    for (u32 start = 0; start < 32; start++) {
        u32 length = 0;
        for (u32 at = start; !seen[at]; at = deck[at]) {
            seen[at] = 1;
            length++;
        }
        cycles += length > 0;
        longest = max_u32(longest, length);
    }
    out[2 * global_x()] = cycles;
    out[2 * global_x() + 1] = longest;
}
