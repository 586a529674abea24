// A kernel that is mostly calls: many small functions that are kept as functions, several levels deep,
// with parameters of every width and a struct going in and coming out.

#include "gpu.h"

struct pair {
    i32 low;
    i64 high;
};

HELPER u8 low_byte(u32 x) { return (u8)x; }
HELPER i16 narrow(i32 x) { return (i16)(x >> 3); }
HELPER u64 widen(u32 x, u8 by) { return (u64)x << (by & 31); }
HELPER f32 halve(f32 x) { return x * 0.5f; }
HELPER f64 to_double(f32 x, i16 scale) { return (f64)x * (f64)scale; }
HELPER int is_even(u32 x) { return (x & 1) == 0; }
HELPER struct pair make_pair(i32 a, i64 b) { return (struct pair){a ^ 0x55, b + a}; }
HELPER i64 total(struct pair p) { return p.low + p.high; }
HELPER void store_if(int condition, i64 *place, i64 value) {
    if (condition) *place = value;
}
HELPER u32 mix(u32 a, u32 b) { return (a ^ b) * 0x9e3779b1u; }
HELPER u32 mix3(u32 a, u32 b, u32 c) { return mix(mix(a, b), c); }
HELPER u32 mix7(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g) { return mix3(mix3(a, b, c), mix3(d, e, f), g); }
HELPER i64 middle(u32 x, f32 y) {
    struct pair p = make_pair(narrow((i32)x), (i64)widen(x, low_byte(x)));
    return total(p) + (i64)to_double(halve(y), narrow((i32)x));
}

// launch helper_chain grid 2 block 32 args u32[64]=bits f32[64]=signed i64[64]=zero u32:60
KERNEL helper_chain(const u32 *x, const f32 *y, i64 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    i64 value = middle(x[i], y[i]);
    store_if(is_even(x[i]), &out[i], value);
    store_if(!is_even(x[i]), &out[i], (i64)mix7(x[i], i, 3, 4, 5, 6, (u32)value));
}
