// Powers of small matrices by squaring: Fibonacci numbers modulo a prime, and a Markov chain's far future.

#include "gpu.h"

struct matrix2 {
    u32 a, b, c, d;
};

#define PRIME 1000000007u

INLINE u32 product(u32 x, u32 y) { return (u32)((u64)x * y % PRIME); }

HELPER struct matrix2 multiply(struct matrix2 m, struct matrix2 n) {
    return (struct matrix2){(product(m.a, n.a) + product(m.b, n.c)) % PRIME, (product(m.a, n.b) + product(m.b, n.d)) % PRIME,
                            (product(m.c, n.a) + product(m.d, n.c)) % PRIME, (product(m.c, n.b) + product(m.d, n.d)) % PRIME};
}

// launch fibonacci_power grid 1 block 32 args u32[32]=below:1000000 u32[32]=zero
KERNEL fibonacci_power(const u32 *places, u32 *out) {
    struct matrix2 result = {1, 0, 0, 1};
    struct matrix2 base = {1, 1, 1, 0};
    for (u32 n = places[global_x()]; n; n >>= 1) {
        if (n & 1) result = multiply(result, base);
        base = multiply(base, base);
    }
    out[global_x()] = result.b;
}

#define SIZE 8

// launch markov_power grid 1 block 8,8 args f32[64]=unit f32[64]=zero u32:13
KERNEL markov_power(const f32 *weights, f32 *out, u32 exponent) {
    SHARED f32 base[SIZE][SIZE];
    SHARED f32 result[SIZE][SIZE];
    u32 x = thread_x();
    u32 y = thread_y();
    f32 sum = 0.0f;
    for (u32 k = 0; k < SIZE; k++) sum += weights[y * SIZE + k] + 0.01f;
    base[y][x] = (weights[y * SIZE + x] + 0.01f) / sum;
    result[y][x] = x == y ? 1.0f : 0.0f;
    barrier();
    while (exponent) {
        f32 multiplied = 0.0f;
        f32 squared = 0.0f;
        for (u32 k = 0; k < SIZE; k++) {
            multiplied += result[y][k] * base[k][x];
            squared += base[y][k] * base[k][x];
        }
        barrier();
        if (exponent & 1) result[y][x] = multiplied;
        base[y][x] = squared;
        exponent >>= 1;
        barrier();
    }
    out[y * SIZE + x] = result[y][x];
}
