// Reductions that stay in registers: butterfly shuffles in the warp, one shared slot a warp, and an
// integer atomic at the end so that the answer does not depend on the order of the blocks.

#include "gpu.h"

INLINE u32 warp_sum(u32 value) {
    UNROLL for (u32 flip = 16; flip > 0; flip /= 2) value += shuffle_xor(WHOLE_WARP, value, flip);
    return value;
}

// launch reduce_warp_sum grid 3 block 96 args u32[500]=below:1000 u32[1]=zero u32:500
KERNEL reduce_warp_sum(const u32 *in, u32 *total, u32 size) {
    SHARED u32 of_warp[32];
    u32 t = thread_x();
    u32 sum = 0;
    for (u32 i = global_x(); i < size; i += grid_stride()) sum += in[i];
    sum = warp_sum(sum);
    if (lane() == 0) of_warp[t / 32] = sum;
    barrier();
    if (t < 32) {
        u32 warps = block_width() / 32;
        sum = warp_sum(t < warps ? of_warp[t] : 0);
        if (t == 0) atomic_add(total, sum);
    }
}

// launch reduce_warp_redux grid 2 block 64 args u32[128]=bits u32[4]=zero u32:128
KERNEL reduce_warp_redux(const u32 *in, u32 *out, u32 size) {
    u32 i = global_x();
    u32 value = i < size ? in[i] : 0;
    u32 high = redux_max(WHOLE_WARP, value);
    u32 all = redux_or(WHOLE_WARP, value);
    u32 sum = redux_add(WHOLE_WARP, value & 0xffff);
    if (lane() == 0) {
        atomic_max(&out[0], high);
        atomic_or(&out[1], all);
        atomic_add(&out[2], sum);
        atomic_xor(&out[3], all);
    }
}
