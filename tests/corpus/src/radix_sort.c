// Radix sort of one block's keys, four bits a round: each thread ranks its key by votes, warps add
// their digit counts up in shared memory, and everything scatters stably.

#include "gpu.h"

#define WIDTH 64
#define WARPS (WIDTH / 32)
#define DIGITS 16

// launch radix_sort_block grid 2 block 64 args u32[128]=bits u32[128]=zero
KERNEL radix_sort_block(const u32 *in, u32 *out) {
    SHARED u32 keys[WIDTH];
    SHARED u32 counts[DIGITS][WARPS];
    SHARED u32 starts[DIGITS][WARPS];
    u32 t = thread_x();
    u32 warp = t / 32;
    u32 key = in[global_x()];
    for (u32 shift = 0; shift < 32; shift += 4) {
        u32 digit = key >> shift & (DIGITS - 1);
        if (t < DIGITS * WARPS) counts[t / WARPS][t % WARPS] = 0;
        barrier();
        u32 same = WHOLE_WARP;
        UNROLL for (u32 bit = 0; bit < 4; bit++) {
            u32 set = vote_ballot(WHOLE_WARP, digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        u32 rank = bits_set(same & lanes_below());
        if (rank == 0) counts[digit][warp] = bits_set(same);
        barrier();
        if (t == 0) {
            u32 sum = 0;
            for (u32 d = 0; d < DIGITS; d++) {
                for (u32 w = 0; w < WARPS; w++) {
                    starts[d][w] = sum;
                    sum += counts[d][w];
                }
            }
        }
        barrier();
        keys[starts[digit][warp] + rank] = key;
        barrier();
        key = keys[t];
    }
    out[global_x()] = key;
}

// launch radix_count grid 2 block 64 args u32[300]=bits u32[16]=zero u32:300 u32:12
KERNEL radix_count(const u32 *in, u32 *counts, u32 size, u32 shift) {
    SHARED u32 mine[DIGITS];
    if (thread_x() < DIGITS) mine[thread_x()] = 0;
    barrier();
    for (u32 i = global_x(); i < size; i += grid_stride()) atomic_add(&mine[in[i] >> shift & (DIGITS - 1)], 1u);
    barrier();
    if (thread_x() < DIGITS) atomic_add(&counts[thread_x()], mine[thread_x()]);
}
