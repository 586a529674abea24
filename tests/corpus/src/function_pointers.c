// Calls whose target is data: a table of functions, a function handed down as an argument, and a tiny
// class with virtual methods.

#include "gpu.h"

typedef f32 (*unary)(f32);

HELPER f32 square(f32 x) { return x * x; }
HELPER f32 negate(f32 x) { return -x; }
HELPER f32 increment(f32 x) { return x + 1.0f; }
HELPER f32 clamp(f32 x) { return min_f32(max_f32(x, -1.0f), 1.0f); }

static const unary functions[4] = {square, negate, increment, clamp};

// launch apply_table grid 1 block 32 args u32[32]=below:4 f32[32]=signed u32:6
KERNEL apply_table(const u32 *which, f32 *values, u32 rounds) {
    f32 x = values[global_x()];
    for (u32 k = 0; k < rounds; k++) x = functions[(which[global_x()] + k) % 4](x);
    values[global_x()] = x;
}

HELPER f32 integrate(unary f, f32 from, f32 to, u32 steps) {
    f32 width = (to - from) / (f32)steps;
    f32 sum = 0.0f;
    for (u32 k = 0; k < steps; k++) sum += f(from + ((f32)k + 0.5f) * width);
    return sum * width;
}

// launch integrate_each grid 1 block 32 args f32[32]=zero u32:8
KERNEL integrate_each(f32 *out, u32 steps) {
    unary f = thread_x() % 2 ? square : increment;
    out[global_x()] = integrate(f, 0.0f, (f32)(thread_x() + 1), steps);
}

struct shape;
struct methods {
    f32 (*area)(const struct shape *);
    f32 (*edge)(const struct shape *);
};
struct shape {
    const struct methods *methods;
    f32 a;
    f32 b;
};

HELPER f32 box_area(const struct shape *s) { return s->a * s->b; }
HELPER f32 box_edge(const struct shape *s) { return 2.0f * (s->a + s->b); }
HELPER f32 disc_area(const struct shape *s) { return 3.14159265f * s->a * s->a; }
HELPER f32 disc_edge(const struct shape *s) { return 6.2831853f * s->a; }

static const struct methods box_methods = {box_area, box_edge};
static const struct methods disc_methods = {disc_area, disc_edge};

// launch virtual_shapes grid 1 block 32 args f32[64]=unit f32[32]=zero
KERNEL virtual_shapes(const f32 *sizes, f32 *out) {
    struct shape s = {thread_x() % 3 ? &box_methods : &disc_methods, sizes[2 * global_x()], sizes[2 * global_x() + 1]};
    f32 sum = s.methods->area(&s);
    s.a += 1.0f;
    out[global_x()] = sum / s.methods->edge(&s);
}
