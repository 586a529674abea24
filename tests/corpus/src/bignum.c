// Integers of many words: addition with carry, subtraction with borrow, schoolbook product, and
// Montgomery multiplication, each number in one thread.

#include "gpu.h"

#define WORDS 8

// launch bignum_add_subtract grid 1 block 32 args u32[256]=bits u32[256]=bits u32[256]=zero u32[256]=zero u32[32]=zero
KERNEL bignum_add_subtract(const u32 *a, const u32 *b, u32 *sum, u32 *difference, u32 *flags) {
    u32 base = global_x() * WORDS;
    u32 carry = 0;
    u32 borrow = 0;
    UNROLL for (u32 k = 0; k < WORDS; k++) {
        sum[base + k] = __builtin_addc(a[base + k], b[base + k], carry, &carry);
        difference[base + k] = __builtin_subc(a[base + k], b[base + k], borrow, &borrow);
    }
    flags[global_x()] = carry | borrow << 1;
}

// launch bignum_multiply grid 1 block 32 args u32[256]=bits u32[256]=bits u32[512]=zero
KERNEL bignum_multiply(const u32 *a, const u32 *b, u32 *product) {
    u32 base = global_x() * WORDS;
    u32 result[2 * WORDS] = {};
    UNROLL for (u32 i = 0; i < WORDS; i++) {
        u64 carry = 0;
        UNROLL for (u32 j = 0; j < WORDS; j++) {
            u64 wide = (u64)a[base + i] * b[base + j] + result[i + j] + carry;
            result[i + j] = (u32)wide;
            carry = wide >> 32;
        }
        result[i + WORDS] = (u32)carry;
    }
    for (u32 k = 0; k < 2 * WORDS; k++) product[2 * base + k] = result[k];
}

// launch bignum_montgomery grid 1 block 32 args u64[128]=bits u64[128]=bits u64[4]=list:0xffffffffffffffed,0xffffffffffffffff,0xffffffffffffffff,0x7fffffffffffffff u64[128]=zero u64:0x86bca1af286bca1b
KERNEL bignum_montgomery(const u64 *a, const u64 *b, const u64 *modulus, u64 *out, u64 inverse) {
    // The product of a and b over two to the 256, modulo `modulus`; `inverse` is its negated inverse in 64 bits.
    u64 t[6] = {};
    const u64 *x = a + global_x() * 4;
    const u64 *y = b + global_x() * 4;
    for (u32 i = 0; i < 4; i++) {
        unsigned __int128 wide = 0;
        for (u32 j = 0; j < 4; j++) {
            wide = (unsigned __int128)x[j] * y[i] + t[j] + (u64)(wide >> 64);
            t[j] = (u64)wide;
        }
        wide = (unsigned __int128)t[4] + (u64)(wide >> 64);
        t[4] = (u64)wide;
        t[5] = (u64)(wide >> 64);
        u64 factor = t[0] * inverse;
        wide = (unsigned __int128)factor * modulus[0] + t[0];
        for (u32 j = 1; j < 4; j++) {
            wide = (unsigned __int128)factor * modulus[j] + t[j] + (u64)(wide >> 64);
            t[j - 1] = (u64)wide;
        }
        wide = (unsigned __int128)t[4] + (u64)(wide >> 64);
        t[3] = (u64)wide;
        t[4] = t[5] + (u64)(wide >> 64);
    }
    u64 reduced[4];
    unsigned long long borrow = 0;
    for (u32 k = 0; k < 4; k++) reduced[k] = __builtin_subcll(t[k], modulus[k], borrow, &borrow);
    int keep = t[4] < borrow;
    for (u32 k = 0; k < 4; k++) out[global_x() * 4 + k] = keep ? t[k] : reduced[k];
}
