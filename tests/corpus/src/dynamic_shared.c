// Shared memory whose size the launch decides, carved into arrays of different types by hand.

#include "gpu.h"

extern IN_SHARED u8 dynamic[] __attribute__((aligned(16)));

// launch dynamic_shared grid 2 block 32 shared 512 args f32[64]=signed u8[64]=bits f64[64]=zero u32:32
KERNEL dynamic_shared(const f32 *reals, const u8 *bytes, f64 *out, u32 width) {
    IN_SHARED f64 *wide = (IN_SHARED f64 *)dynamic;
    IN_SHARED f32 *narrow = (IN_SHARED f32 *)(wide + width);
    IN_SHARED u8 *small = (IN_SHARED u8 *)(narrow + width);
    u32 t = thread_x();
    narrow[t] = reals[global_x()];
    small[t] = bytes[global_x()];
    barrier();
    wide[t] = (f64)narrow[width - 1 - t] * small[(t * 7) % width];
    barrier();
    f64 sum = 0.0;
    for (u32 k = t; k < width; k++) sum += wide[k];
    out[global_x()] = sum;
}

HELPER f32 through_generic(const f32 *values, u32 count) {
    f32 sum = 0.0f;
    for (u32 k = 0; k < count; k++) sum += values[k];
    return sum;
}

// launch generic_pointers grid 1 block 32 args f32[32]=signed f32[32]=zero
KERNEL generic_pointers(const f32 *in, f32 *out) {
    SHARED f32 tile[32];
    f32 own[4];
    tile[thread_x()] = in[thread_x()];
    for (u32 k = 0; k < 4; k++) own[k] = in[(thread_x() + k) % 32] * 2.0f;
    barrier();
    // One function reads three memories; which one is known only when it runs.
    const f32 *which = thread_x() % 3 == 0 ? in : thread_x() % 3 == 1 ? (const f32 *)tile : own;
    out[thread_x()] = through_generic(which, thread_x() % 3 == 2 ? 4 : 8);
}
