// A whole-array sum in one launch: each block publishes its part, and the block that arrives last
// adds the parts up. The fence before the ticket is what makes the other blocks' parts visible.

#include "gpu.h"

#define WIDTH 64

// launch reduce_last_block grid 5 block 64 args f64[400]=signed f64[5]=zero u32[1]=zero f64[1]=zero u32:400
KERNEL reduce_last_block(const f64 *in, volatile f64 *parts, u32 *ticket, f64 *total, u32 size) {
    SHARED f64 part[WIDTH];
    SHARED u32 is_last;
    u32 t = thread_x();
    f64 sum = 0.0;
    for (u32 i = global_x(); i < size; i += grid_stride()) sum += in[i];
    part[t] = sum;
    barrier();
    for (u32 half = WIDTH / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    if (t == 0) {
        parts[block_x()] = part[0];
        fence_device();
        is_last = atomic_add(ticket, 1u) == grid_width() - 1;
    }
    barrier();
    if (!is_last || t != 0) return;
    fence_device();
    f64 all = 0.0;
    for (u32 b = 0; b < grid_width(); b++) all += parts[b];
    *total = all;
    *ticket = 0;
}
