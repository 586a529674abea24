// Connected components: hook the larger root under the smaller by compare-and-swap, then flatten.

#include "gpu.h"

INLINE u32 find_root(u32 *parents, u32 v) {
    u32 parent = atomic_load(&parents[v]);
    while (parent != v) {
        u32 grand = atomic_load(&parents[parent]);
        if (grand != parent) atomic_cas(&parents[v], parent, grand);
        v = parent;
        parent = grand;
    }
    return v;
}

// launch union_edges grid 1 block 64 args u32[60]=index u32[50]=below:60 u32[50]=below:60 u32:50
KERNEL union_edges(u32 *parents, const u32 *from, const u32 *to, u32 edges) {
    u32 e = global_x();
    if (e >= edges) return;
    u32 a = from[e];
    u32 b = to[e];
    for (;;) {
        a = find_root(parents, a);
        b = find_root(parents, b);
        if (a == b) break;
        u32 high = max_u32(a, b);
        u32 low = min_u32(a, b);
        if (atomic_cas(&parents[high], high, low) == high) break;
    }
}

// launch union_flatten grid 1 block 64 args u32[60]=list:0,0,1,2,3,4,5,6,7,8,9,10 u32:60
KERNEL union_flatten(u32 *parents, u32 size) {
    u32 v = global_x();
    if (v >= size) return;
    u32 root = v;
    // Parents only ever shrink toward the root, so racing flatteners see a valid chain.
    for (;;) {
        u32 parent = atomic_load(&parents[root]);
        if (parent == root) break;
        root = parent;
    }
    atomic_swap(&parents[v], root);
}
