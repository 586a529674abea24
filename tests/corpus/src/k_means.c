// One round of k-means: assign each point to its nearest centre, then move the centres. Coordinates are
// summed in fixed point, so that the order of the atomics does not show.

#include "gpu.h"

#define AXES 3
#define CENTRES_MAX 8
#define FIXED 65536.0f

// launch k_means_assign grid 2 block 32 args f32[180]=signed f32[15]=signed u32[60]=zero i32[15]=zero u32[5]=zero u32:60 u32:5
KERNEL k_means_assign(const f32 *points, const f32 *centres, u32 *assigned, i32 *sums, u32 *counts, u32 size, u32 centre_count) {
    SHARED f32 centre[CENTRES_MAX * AXES];
    trap_unless(centre_count <= CENTRES_MAX);
    if (thread_x() < centre_count * AXES) centre[thread_x()] = centres[thread_x()];
    barrier();
    u32 i = global_x();
    if (i >= size) return;
    u32 best = 0;
    f32 nearest = __builtin_inff();
    for (u32 c = 0; c < centre_count; c++) {
        f32 distance = 0.0f;
        UNROLL for (u32 a = 0; a < AXES; a++) {
            f32 away = points[i * AXES + a] - centre[c * AXES + a];
            distance += away * away;
        }
        if (distance < nearest) {
            nearest = distance;
            best = c;
        }
    }
    assigned[i] = best;
    atomic_add(&counts[best], 1u);
    UNROLL for (u32 a = 0; a < AXES; a++) atomic_add(&sums[best * AXES + a], (i32)(points[i * AXES + a] * FIXED));
}

// launch k_means_move grid 1 block 32 args f32[15]=signed i32[15]=below:100000 u32[5]=below:9 u32:5
KERNEL k_means_move(f32 *centres, const i32 *sums, const u32 *counts, u32 centre_count) {
    u32 i = global_x();
    if (i >= centre_count * AXES) return;
    u32 count = counts[i / AXES];
    if (count > 0) centres[i] = (f32)sums[i] / (FIXED * (f32)count);
}
