// Two sorts with no cleverness: odd-even transposition in shared memory, and counting how many keys
// are smaller than mine.

#include "gpu.h"

#define COUNT 64

// launch odd_even_sort grid 2 block 32 args f32[128]=signed
KERNEL odd_even_sort(f32 *keys) {
    SHARED f32 key[COUNT];
    u32 t = thread_x();
    f32 *mine = keys + block_x() * COUNT;
    key[t] = mine[t];
    key[t + COUNT / 2] = mine[t + COUNT / 2];
    barrier();
    for (u32 round = 0; round < COUNT; round++) {
        u32 low = 2 * t + (round & 1);
        if (low + 1 < COUNT && key[low] > key[low + 1]) {
            f32 kept = key[low];
            key[low] = key[low + 1];
            key[low + 1] = kept;
        }
        barrier();
    }
    mine[t] = key[t];
    mine[t + COUNT / 2] = key[t + COUNT / 2];
}

// launch rank_sort grid 3 block 32 args i64[80]=bits i64[80]=zero u32:80
KERNEL rank_sort(const i64 *in, i64 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    i64 mine = in[i];
    u32 rank = 0;
    for (u32 j = 0; j < size; j++) rank += in[j] < mine || (in[j] == mine && j < i);
    out[rank] = mine;
}
