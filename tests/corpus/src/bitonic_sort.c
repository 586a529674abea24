// Bitonic sort: of a block's keys with their payload in shared memory, and of a warp's keys by shuffles.

#include "gpu.h"

#define COUNT 128

// launch bitonic_sort_block grid 2 block 64 args u32[256]=bits u32[256]=index
KERNEL bitonic_sort_block(u32 *keys, u32 *payload) {
    SHARED u32 key[COUNT];
    SHARED u32 load[COUNT];
    u32 t = thread_x();
    u32 base = block_x() * COUNT;
    for (u32 i = t; i < COUNT; i += COUNT / 2) {
        key[i] = keys[base + i];
        load[i] = payload[base + i];
    }
    for (u32 run = 2; run <= COUNT; run *= 2) {
        for (u32 reach = run / 2; reach > 0; reach /= 2) {
            barrier();
            u32 low = 2 * t - (t & (reach - 1));
            u32 high = low + reach;
            int upward = (low & run) == 0;
            u32 a = key[low];
            u32 b = key[high];
            if ((a > b) == upward) {
                key[low] = b;
                key[high] = a;
                u32 kept = load[low];
                load[low] = load[high];
                load[high] = kept;
            }
        }
    }
    barrier();
    for (u32 i = t; i < COUNT; i += COUNT / 2) {
        keys[base + i] = key[i];
        payload[base + i] = load[i];
    }
}

// launch bitonic_sort_warp grid 2 block 64 args i32[128]=bits
KERNEL bitonic_sort_warp(i32 *keys) {
    u32 i = global_x();
    u32 l = lane();
    i32 mine = keys[i];
    UNROLL for (u32 run = 2; run <= 32; run *= 2) {
        UNROLL for (u32 reach = run / 2; reach > 0; reach /= 2) {
            i32 other = (i32)shuffle_xor(WHOLE_WARP, (u32)mine, reach);
            int upward = (l & run) == 0;
            int is_low = (l & reach) == 0;
            mine = upward == is_low ? min_i32(mine, other) : max_i32(mine, other);
        }
    }
    keys[i] = mine;
}
