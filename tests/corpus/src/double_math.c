// Double precision without a library: exponential, logarithm and sine from their
// series and bit patterns, and compensated summation.

#include "gpu.h"

HELPER f64 exponential(f64 x) {
    f64 n = __builtin_rint(x * 1.4426950408889634);
    f64 r = fma_f64(-n, 0.6931471805599453, x);
    f64 sum = 0.0;
    for (u32 k = 14; k > 0; k--) sum = (sum + 1.0) * r / (f64)k;
    i64 exponent = (i64)n + 1023;
    if (exponent <= 0) return 0.0;
    if (exponent >= 2047) return __builtin_inf();
    return (sum + 1.0) * __builtin_bit_cast(f64, exponent << 52);
}

HELPER f64 logarithm(f64 x) {
    u64 bits = __builtin_bit_cast(u64, x);
    i32 exponent = (i32)(bits >> 52) - 1023;
    f64 m = __builtin_bit_cast(f64, (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    f64 z = (m - 1.0) / (m + 1.0);
    f64 zz = z * z;
    f64 sum = 0.0;
    for (i32 k = 41; k > 0; k -= 2) sum = sum * zz + 1.0 / (f64)k;
    return 2.0 * z * sum + (f64)exponent * 0.6931471805599453;
}

HELPER f64 sine(f64 x) {
    f64 turns = __builtin_rint(x * 0.15915494309189535);
    f64 r = fma_f64(-turns, 6.283185307179586, x);
    f64 term = r;
    f64 sum = r;
    for (u32 k = 1; k < 14; k++) {
        term *= -r * r / (f64)(2 * k * (2 * k + 1));
        sum += term;
    }
    return sum;
}

// launch double_functions grid 1 block 32 args f64[32]=signed f64[96]=zero
KERNEL double_functions(const f64 *in, f64 *out) {
    f64 x = in[global_x()];
    out[3 * global_x()] = exponential(5.0 * x);
    out[3 * global_x() + 1] = logarithm(abs_f64(x) + 0.5);
    out[3 * global_x() + 2] = sine(20.0 * x);
}

// launch compensated_sum grid 1 block 32 args f64[320]=signed f64[32]=zero u32:10
KERNEL compensated_sum(const f64 *in, f64 *out, u32 each) {
    f64 sum = 0.0;
    f64 lost = 0.0;
    for (u32 k = 0; k < each; k++) {
        f64 x = in[global_x() * each + k] * (f64)(1u << (k % 20));
        f64 next = sum + x;
        lost += abs_f64(sum) >= abs_f64(x) ? (sum - next) + x : (x - next) + sum;
        sum = next;
    }
    out[global_x()] = sum + lost;
}
