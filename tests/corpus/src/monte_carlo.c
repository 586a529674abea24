// Monte Carlo: pi by throwing points, an integral with antithetic pairs, and a random walk that may be absorbed.

#include "gpu.h"

INLINE u32 next_random(u32 *state) {
    u32 x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

// launch monte_carlo_pi grid 2 block 64 args u32[1]=zero u32:50 u32:2024
KERNEL monte_carlo_pi(u32 *inside, u32 throws, u32 seed) {
    u32 state = (global_x() + 1) * 0x9e3779b9u ^ seed;
    if (state == 0) state = 1;
    u32 hits = 0;
    for (u32 k = 0; k < throws; k++) {
        u32 bits = next_random(&state);
        u32 x = bits & 0xffff;
        u32 y = bits >> 16;
        hits += (u64)x * x + (u64)y * y < 0xffffull * 0xffff;
    }
    u32 sum = redux_add(WHOLE_WARP, hits);
    if (lane() == 0) atomic_add(inside, sum);
}

// launch monte_carlo_integral grid 1 block 32 args f64[32]=zero u32:20 u32:7
KERNEL monte_carlo_integral(f64 *out, u32 pairs, u32 seed) {
    u32 state = seed + 77 * (global_x() + 1);
    f64 sum = 0.0;
    for (u32 k = 0; k < pairs; k++) {
        f64 u = (f64)next_random(&state) * 0x1p-32;
        f64 v = 1.0 - u;
        sum += 1.0 / (1.0 + u * u) + 1.0 / (1.0 + v * v);
    }
    out[global_x()] = 2.0 * sum / (f64)pairs;
}

// launch random_walk grid 1 block 32 args i32[32]=zero u32[32]=zero u32:80 u32:5
KERNEL random_walk(i32 *ends, u32 *lives, u32 steps_max, u32 seed) {
    u32 state = seed ^ (global_x() + 1) * 2654435761u;
    i32 x = 0;
    i32 y = 0;
    u32 life = 0;
    while (life < steps_max) {
        life++;
        u32 direction = next_random(&state) >> 30;
        if (direction == 0) x++;
        else if (direction == 1) x--;
        else if (direction == 2) y++;
        else y--;
        if (x * x + y * y > 30) break;
    }
    ends[global_x()] = x * 100 + y;
    lives[global_x()] = life;
}
