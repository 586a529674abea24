// Exclusive prefix sum, work-efficient: an up-sweep builds a tree of sums, a down-sweep hands each
// node the sum of everything to its left. One pad word in 32 keeps the banks apart.

#include "gpu.h"

#define COUNT 128
#define PAD(i) ((i) + (i) / 32)

// launch scan_blelloch grid 2 block 64 args i32[256]=below:50 i32[256]=zero i32[2]=zero
KERNEL scan_blelloch(const i32 *in, i32 *out, i32 *block_sums) {
    SHARED i32 tree[PAD(COUNT)];
    u32 t = thread_x();
    u32 base = block_x() * COUNT;
    tree[PAD(t)] = in[base + t];
    tree[PAD(t + COUNT / 2)] = in[base + t + COUNT / 2];
    u32 stride = 1;
    for (u32 active = COUNT / 2; active > 0; active /= 2) {
        barrier();
        if (t < active) {
            u32 left = stride * (2 * t + 1) - 1;
            u32 right = stride * (2 * t + 2) - 1;
            tree[PAD(right)] += tree[PAD(left)];
        }
        stride *= 2;
    }
    if (t == 0) {
        block_sums[block_x()] = tree[PAD(COUNT - 1)];
        tree[PAD(COUNT - 1)] = 0;
    }
    for (u32 active = 1; active < COUNT; active *= 2) {
        stride /= 2;
        barrier();
        if (t < active) {
            u32 left = stride * (2 * t + 1) - 1;
            u32 right = stride * (2 * t + 2) - 1;
            i32 kept = tree[PAD(left)];
            tree[PAD(left)] = tree[PAD(right)];
            tree[PAD(right)] += kept;
        }
    }
    barrier();
    out[base + t] = tree[PAD(t)];
    out[base + t + COUNT / 2] = tree[PAD(t + COUNT / 2)];
}
