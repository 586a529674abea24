// Counting bytes: straight into global memory, through a private copy in shared memory, and with the
// lanes of a warp that hold the same byte adding once.

#include "gpu.h"

#define BINS 256

// launch histogram_global grid 2 block 64 args u8[500]=bits u32[256]=zero u32:500
KERNEL histogram_global(const u8 *in, u32 *bins, u32 size) {
    for (u32 i = global_x(); i < size; i += grid_stride()) atomic_add(&bins[in[i]], 1u);
}

// launch histogram_shared grid 2 block 64 args u32[125]=bits u32[256]=zero u32:125
KERNEL histogram_shared(const u32 *words, u32 *bins, u32 size) {
    SHARED u32 mine[BINS];
    for (u32 b = thread_x(); b < BINS; b += block_width()) mine[b] = 0;
    barrier();
    for (u32 i = global_x(); i < size; i += grid_stride()) {
        u32 word = words[i];
        atomic_add(&mine[word & 0xff], 1u);
        atomic_add(&mine[word >> 8 & 0xff], 1u);
        atomic_add(&mine[word >> 16 & 0xff], 1u);
        atomic_add(&mine[word >> 24], 1u);
    }
    barrier();
    for (u32 b = thread_x(); b < BINS; b += block_width()) {
        if (mine[b]) atomic_add(&bins[b], mine[b]);
    }
}

// launch histogram_matched grid 2 block 64 args u32[128]=below:10 u32[10]=zero
KERNEL histogram_matched(const u32 *in, u32 *bins) {
    u32 value = in[global_x()];
    u32 same = match_any(WHOLE_WARP, value);
    if ((same & lanes_below()) == 0) atomic_add(&bins[value], bits_set(same));
}
