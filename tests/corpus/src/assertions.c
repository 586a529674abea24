// Checks that trap: bounds, overflow found by the builtins, and code after which nothing can follow.

#include "gpu.h"

HELPER u32 checked_index(u32 i, u32 size) {
    trap_unless(i < size);
    return i;
}

// launch checked_gather grid 1 block 32 args u32[32]=below:20 i32[20]=bits i32[32]=zero u32:20
KERNEL checked_gather(const u32 *places, const i32 *table, i32 *out, u32 size) {
    out[global_x()] = table[checked_index(places[global_x()], size)];
}

// launch checked_arithmetic grid 1 block 32 args i32[32]=bits i32[32]=below:1000 i32[96]=zero
KERNEL checked_arithmetic(const i32 *a, const i32 *b, i32 *out) {
    i32 x = a[global_x()];
    i32 y = b[global_x()];
    i32 sum;
    i32 product;
    i32 overflowed = __builtin_add_overflow(x, y, &sum);
    overflowed |= __builtin_mul_overflow(x, y, &product) << 1;
    trap_unless(y >= 0);
    out[3 * global_x()] = overflowed & 1 ? (x < 0 ? (-0x7fffffff - 1) : 0x7fffffff) : sum;
    out[3 * global_x() + 1] = product;
    out[3 * global_x() + 2] = overflowed;
}

// launch impossible_case grid 1 block 32 args u32[32]=below:4 u32[32]=zero
KERNEL impossible_case(const u32 *in, u32 *out) {
    u32 x = in[global_x()];
    switch (x) {
    case 0: out[global_x()] = 10; return;
    case 1: out[global_x()] = 11; return;
    case 2: out[global_x()] = 22; return;
    case 3: out[global_x()] = 33; return;
    }
    __builtin_trap();
}
