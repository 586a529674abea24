// One of each atomic the machine has, by width and by memory space. The old values are summed in ways
// that do not depend on who came first.

#include "gpu.h"

// launch atomics_global grid 2 block 32 args u32[64]=bits u32[8]=zero u64[6]=zero i32[4]=zero
KERNEL atomics_global(const u32 *in, u32 *words, u64 *wides, i32 *signeds) {
    u32 x = in[global_x()];
    atomic_add(&words[0], x);
    atomic_max(&words[1], x);
    atomic_min(&words[2], x);
    atomic_or(&words[3], 1u << (x & 31));
    atomic_and(&words[4], ~x);
    atomic_xor(&words[5], x);
    u32 old = atomic_add(&words[6], 1u);
    atomic_add(&words[7], old);
    atomic_add(&wides[0], (u64)x * x);
    atomic_max(&wides[1], (u64)x << 20);
    atomic_min(&wides[2], (u64)x);
    atomic_or(&wides[3], 1ull << (x & 63));
    atomic_xor(&wides[4], (u64)x * 0x9e3779b97f4a7c15ull);
    atomic_and(&wides[5], (u64)x);
    atomic_max(&signeds[0], (i32)x);
    atomic_min(&signeds[1], (i32)x);
    __scoped_atomic_fetch_sub(&signeds[2], (i32)(x & 0xff), __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
    __scoped_atomic_fetch_add(&signeds[3], 3, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_WRKGRP);
}

// launch atomics_shared grid 2 block 32 args u32[64]=below:100 u32[12]=zero f32[2]=zero f64[2]=zero
KERNEL atomics_shared(const u32 *in, u32 *words, f32 *singles, f64 *doubles) {
    SHARED u32 cells[6];
    SHARED f32 single;
    SHARED f64 wide;
    u32 t = thread_x();
    if (t < 6) cells[t] = t == 2 ? 1000 : t;
    if (t == 6) single = 0.0f;
    if (t == 7) wide = 0.0;
    barrier();
    u32 x = in[global_x()];
    atomic_add(&cells[0], x);
    atomic_max(&cells[1], x);
    atomic_min(&cells[2], x);
    atomic_xor(&cells[3], x);
    // Small whole numbers add up exactly, in any order.
    atomic_add(&single, (f32)x);
    atomic_add(&wide, (f64)x * 0.5);
    u32 seen = cells[4];
    for (;;) {
        u32 old = atomic_cas(&cells[4], seen, seen * 3 + 1);
        if (old == seen) break;
        seen = old;
    }
    atomic_swap(&cells[5], 77u);
    barrier();
    if (t < 6) words[block_x() * 6 + t] = cells[t];
    if (t == 0) {
        singles[block_x()] = single;
        doubles[block_x()] = wide;
    }
}
