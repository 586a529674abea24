// Number theory in 64 bits: modular powers through 128-bit products, a Miller-Rabin test, Euclid, and
// the division the machine does not have.

#include "gpu.h"

INLINE u64 multiply_modulo(u64 a, u64 b, u64 m) {
    // Double and add, so that no 128-bit remainder is needed. All values stay below m, and m below 2^63.
    u64 sum = 0;
    while (b) {
        if (b & 1) sum = sum + a >= m ? sum + a - m : sum + a;
        a = a + a >= m ? a + a - m : a + a;
        b >>= 1;
    }
    return sum;
}

HELPER u64 power_modulo(u64 base, u64 exponent, u64 m) {
    u64 result = 1 % m;
    for (base %= m; exponent; exponent >>= 1) {
        if (exponent & 1) result = multiply_modulo(result, base, m);
        base = multiply_modulo(base, base, m);
    }
    return result;
}

// launch miller_rabin grid 1 block 32 args u64[32]=step:2 u64:1000000007 u32[32]=zero
KERNEL miller_rabin(const u64 *offsets, u64 start, u32 *verdicts) {
    u64 n = start + offsets[global_x()];
    u64 odd = n - 1;
    u32 twos = 0;
    while ((odd & 1) == 0) {
        odd >>= 1;
        twos++;
    }
    u32 prime = 1;
    for (u64 witness = 2; witness < 8 && prime; witness++) {
        u64 x = power_modulo(witness, odd, n);
        if (x == 1 || x == n - 1) continue;
        prime = 0;
        for (u32 k = 1; k < twos; k++) {
            x = multiply_modulo(x, x, n);
            if (x == n - 1) {
                prime = 1;
                break;
            }
        }
    }
    verdicts[global_x()] = prime;
}

// launch divide_wide grid 1 block 32 args u64[32]=bits u64[32]=below:100000 i64[32]=bits u64[96]=zero
KERNEL divide_wide(const u64 *a, const u64 *b, const i64 *c, u64 *out) {
    u32 i = global_x();
    u64 divisor = b[i] + 1;
    out[3 * i] = a[i] / divisor;
    out[3 * i + 1] = a[i] % divisor;
    out[3 * i + 2] = (u64)(c[i] / (i64)divisor - c[i] % 1000);
}

// launch greatest_divisor grid 1 block 32 args u32[32]=bits u32[32]=bits u32[32]=zero
KERNEL greatest_divisor(const u32 *a, const u32 *b, u32 *out) {
    u32 x = a[global_x()];
    u32 y = b[global_x()];
    while (y) {
        u32 rest = x % y;
        x = y;
        y = rest;
    }
    out[global_x()] = x;
}
