// The k-th smallest element: partitioning in a thread's own memory, and bit by bit with votes in a block.

#include "gpu.h"

#define EACH 24

// launch quickselect grid 1 block 32 args u32[768]=bits u32[32]=below:24 u32[32]=zero
KERNEL quickselect(const u32 *in, const u32 *ranks, u32 *out) {
    u32 keys[EACH];
    for (u32 k = 0; k < EACH; k++) keys[k] = in[global_x() * EACH + k];
    u32 rank = ranks[global_x()];
    u32 low = 0;
    u32 high = EACH - 1;
    while (low < high) {
        u32 pivot = keys[high];
        u32 store = low;
        for (u32 k = low; k < high; k++) {
            if (keys[k] < pivot) {
                u32 kept = keys[store];
                keys[store] = keys[k];
                keys[k] = kept;
                store++;
            }
        }
        keys[high] = keys[store];
        keys[store] = pivot;
        if (store == rank) break;
        if (rank < store) high = store - 1;
        else low = store + 1;
    }
    out[global_x()] = keys[rank];
}

// launch radix_select grid 1 block 64 args u32[200]=bits u32[1]=zero u32:200 u32:77
KERNEL radix_select(const u32 *in, u32 *out, u32 size, u32 rank) {
    SHARED u32 zeros;
    u32 prefix = 0;
    for (u32 bit = 31; bit < 32; bit--) {
        if (thread_x() == 0) zeros = 0;
        barrier();
        u32 mine = 0;
        for (u32 i = thread_x(); i < size; i += block_width()) mine += in[i] >> bit == prefix << 1;
        mine = redux_add(WHOLE_WARP, mine);
        if (lane() == 0) atomic_add(&zeros, mine);
        barrier();
        u32 below = zeros;
        prefix <<= 1;
        if (rank >= below) {
            rank -= below;
            prefix |= 1;
        }
        barrier();
    }
    if (thread_x() == 0) *out = prefix;
}
