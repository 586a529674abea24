// Polynomials: Horner and Estrin, coefficients in constant memory or passed by value, Chebyshev's
// recurrence, and roots by Newton's method.

#include "gpu.h"

struct coefficients {
    f32 c[8];
};

CONSTANT f64 sine_series[6] = {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800};

// launch polynomial_horner grid 1 block 32 args f64[30]=signed f64[30]=zero u32:30
KERNEL polynomial_horner(const f64 *in, f64 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    f64 x = in[i];
    f64 xx = x * x;
    f64 sum = 0.0;
    UNROLL for (u32 k = 6; k > 0; k--) sum = fma_f64(sum, xx, sine_series[k - 1]);
    out[i] = sum * x;
}

// launch polynomial_estrin grid 1 block 32 args value[32]=list:0,0,128,63,0,0,0,63,0,0,128,62,0,0,0,62,0,0,128,61,0,0,0,61,0,0,128,60,0,0,0,60 f32[30]=signed f32[30]=zero u32:30
KERNEL polynomial_estrin(struct coefficients p, const f32 *in, f32 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    f32 x = in[i];
    f32 x2 = x * x;
    f32 low = fma_f32(fma_f32(p.c[3], x, p.c[2]), x2, fma_f32(p.c[1], x, p.c[0]));
    f32 high = fma_f32(fma_f32(p.c[7], x, p.c[6]), x2, fma_f32(p.c[5], x, p.c[4]));
    out[i] = fma_f32(high, x2 * x2, low);
}

// launch polynomial_chebyshev grid 1 block 32 args f32[32]=signed f32[12]=signed f32[32]=zero u32:12
KERNEL polynomial_chebyshev(const f32 *in, const f32 *weights, f32 *out, u32 terms) {
    f32 x = in[global_x()];
    f32 next = 0.0f;
    f32 after = 0.0f;
    for (u32 k = terms; k > 1; k--) {
        f32 now = 2.0f * x * next - after + weights[k - 1];
        after = next;
        next = now;
    }
    out[global_x()] = x * next - after + weights[0];
}

// launch newton_root grid 1 block 32 args f64[32]=unit f64[32]=zero u8[32]=zero u32:40
KERNEL newton_root(const f64 *targets, f64 *out, u8 *rounds_taken, u32 rounds_max) {
    f64 target = 1.0 + 9.0 * targets[global_x()];
    f64 x = 3.0;
    u32 round = 0;
    for (; round < rounds_max; round++) {
        f64 step = (x * x * x - target) / (3.0 * x * x);
        x -= step;
        if (abs_f64(step) < 1e-12) break;
    }
    out[global_x()] = x;
    rounds_taken[global_x()] = (u8)round;
}
