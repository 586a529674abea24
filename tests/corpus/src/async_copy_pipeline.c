// A running average over tiles that arrive through asynchronous copies, two tiles in flight, so that
// the load of the next tile overlaps the work on this one.

#include "gpu.h"

#define WIDTH 32
#define STAGES 2

INLINE void fetch(IN_SHARED f32x4 *slot, const f32x4 *from) {
    __asm__ volatile("{\n\t"
                     ".reg .u64 from;\n\t"
                     "cvta.to.global.u64 from, %1;\n\t"
                     "cp.async.ca.shared.global [%0], [from], 16;\n\t"
                     "}" ::"r"((u32)(u64)slot), "l"(from) : "memory");
}

// launch async_copy_pipeline grid 2 block 32 args f32x4[320]=signed f32x4[64]=zero u32:5
KERNEL async_copy_pipeline(const f32x4 *in, f32x4 *out, u32 tiles) {
    SHARED f32x4 stage[STAGES][WIDTH];
    u32 t = thread_x();
    const f32x4 *mine = in + block_x() * tiles * WIDTH;
    f32x4 sum = {};
    fetch(&stage[0][t], mine + t);
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
    for (u32 tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            fetch(&stage[(tile + 1) % STAGES][t], mine + (tile + 1) * WIDTH + t);
        }
        __asm__ volatile("cp.async.commit_group;" ::: "memory");
        __asm__ volatile("cp.async.wait_group 1;" ::: "memory");
        barrier();
        // Read a neighbour's slot, so that the barrier is needed.
        sum += stage[tile % STAGES][(t + 1) % WIDTH];
        barrier();
    }
    out[block_x() * WIDTH + t] = sum / (f32)tiles;
}
