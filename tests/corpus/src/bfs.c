// Breadth-first search, one level a launch: every vertex looks whether it is on the frontier, or a
// queue holds the frontier and threads append to the next one.

#include "gpu.h"

#define UNSEEN 1u

// launch bfs_level grid 2 block 32 args u32[51]=step:3 u32[150]=below:50 u32[50]=below:2 u32[1]=zero u32:50 u32:0
KERNEL bfs_level(const u32 *starts, const u32 *targets, volatile u32 *depth, u32 *changed, u32 vertices, u32 level) {
    u32 v = global_x();
    if (v >= vertices || depth[v] != level) return;
    for (u32 e = starts[v]; e < starts[v + 1]; e++) {
        u32 w = targets[e];
        if (depth[w] == UNSEEN) {
            // Racing writers all store the same number. Levels are even, so that none looks unseen.
            depth[w] = level + 2;
            *changed = 1;
        }
    }
}

// launch bfs_queue grid 1 block 32 args u32[51]=step:3 u32[150]=below:50 u32[50]=zero u32[4]=list:3,9,11,30 u32[50]=zero u32[1]=zero u32:4 u32:5
KERNEL bfs_queue(const u32 *starts, const u32 *targets, u32 *depth, const u32 *queue, u32 *next, u32 *next_size, u32 size,
                 u32 level) {
    for (u32 i = global_x(); i < size; i += grid_stride()) {
        u32 v = queue[i];
        for (u32 e = starts[v]; e < starts[v + 1]; e++) {
            u32 w = targets[e];
            if (atomic_cas(&depth[w], 0u, level) == 0) next[atomic_add(next_size, 1u)] = w;
        }
    }
}

// launch shortest_path_relax grid 2 block 32 args u32[51]=step:3 u32[150]=below:50 u32[150]=below:20 u32[50]=below:100 u32[50]=below:100 u32[1]=zero u32:50
KERNEL shortest_path_relax(const u32 *starts, const u32 *targets, const u32 *lengths, const u32 *old, u32 *distance, u32 *changed,
                           u32 vertices) {
    u32 v = global_x();
    if (v >= vertices) return;
    u32 mine = old[v];
    for (u32 e = starts[v]; e < starts[v + 1]; e++) {
        u32 reached = mine + lengths[e] + 1;
        if (atomic_min(&distance[targets[e]], reached) > reached) atomic_or(changed, 1u);
    }
}
