// Option prices: European ones in closed form, American ones by a binomial tree in a local array.

#include "gpu.h"

INLINE f32 normal_below(f32 d) {
    f32 k = 1.0f / (1.0f + 0.2316419f * abs_f32(d));
    f32 sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    f32 tail = 0.39894228f * exp_fast(-0.5f * d * d) * sum;
    return d > 0.0f ? 1.0f - tail : tail;
}

// launch black_scholes grid 2 block 32 args f32[60]=unit f32[60]=unit f32[60]=unit f32[60]=zero f32[60]=zero f32:0.02 f32:0.3 u32:60
KERNEL black_scholes(const f32 *prices, const f32 *strikes, const f32 *years, f32 *calls, f32 *puts, f32 rate, f32 volatility,
                     u32 count) {
    u32 i = global_x();
    if (i >= count) return;
    f32 price = 5.0f + 25.0f * prices[i];
    f32 strike = 1.0f + 99.0f * strikes[i];
    f32 time = 0.25f + 9.75f * years[i];
    f32 root = volatility * sqrt_f32(time);
    f32 d1 = (log_fast(price / strike) + (rate + 0.5f * volatility * volatility) * time) / root;
    f32 n1 = normal_below(d1);
    f32 n2 = normal_below(d1 - root);
    f32 discounted = strike * exp_fast(-rate * time);
    calls[i] = price * n1 - discounted * n2;
    puts[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}

#define STEPS 16

// launch binomial_american grid 1 block 32 args f32[32]=unit f32[32]=zero f32:1.05 f32:0.998 f32:0.51
KERNEL binomial_american(const f32 *strikes, f32 *out, f32 up, f32 discount, f32 chance) {
    f32 values[STEPS + 1];
    f32 strike = 90.0f + 20.0f * strikes[global_x()];
    f32 down = 1.0f / up;
    f32 price = 100.0f;
    for (u32 k = 0; k < STEPS; k++) price *= down;
    for (u32 k = 0; k <= STEPS; k++) {
        values[k] = max_f32(strike - price, 0.0f);
        price *= up * up;
    }
    for (u32 step = STEPS; step > 0; step--) {
        f32 at = 100.0f;
        for (u32 k = 1; k < step; k++) at *= down;
        for (u32 k = 0; k < step; k++) {
            f32 wait = discount * (chance * values[k + 1] + (1.0f - chance) * values[k]);
            values[k] = max_f32(wait, strike - at);
            at *= up * up;
        }
    }
    out[global_x()] = values[0];
}
