// Bit fiddling: counts, reversals, Gray codes, Morton codes, field extraction, funnel shifts, bit
// permutations, and a bit matrix transposed across the warp.

#include "gpu.h"

INLINE u32 spread2(u32 x) {
    x &= 0xffff;
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

// launch bit_counts grid 1 block 32 args u32[32]=bits u64[32]=bits u32[256]=zero
KERNEL bit_counts(const u32 *words, const u64 *wides, u32 *out) {
    u32 x = words[global_x()];
    u64 w = wides[global_x()];
    u32 *mine = out + global_x() * 8;
    mine[0] = bits_set(x);
    mine[1] = bits_leading_zero(x);
    mine[2] = bits_reverse(x);
    mine[3] = (u32)__builtin_popcountll(w);
    mine[4] = w ? (u32)__builtin_clzll(w) : 64;
    mine[5] = x ? (u32)__builtin_ctz(x) : 32;
    mine[6] = (u32)__builtin_bitreverse64(w) ^ __builtin_bswap32(x);
    mine[7] = x & (0u - x);
}

// launch bit_codes grid 1 block 32 args u32[32]=bits u32[160]=zero u32:5 u32:11
KERNEL bit_codes(const u32 *words, u32 *out, u32 at, u32 width) {
    u32 x = words[global_x()];
    u32 *mine = out + global_x() * 5;
    mine[0] = x ^ x >> 1;
    mine[1] = spread2(x) | spread2(x >> 16) << 1;
    mine[2] = x >> (at & 31) & ((1u << (width & 31)) - 1);
    mine[3] = (u32)((i32)(x << (32 - (at & 15) - 8)) >> 24);
    u32 mask = ((1u << (width & 31)) - 1) << (at & 31);
    mine[4] = (x & ~mask) | (mine[0] & mask);
}

// launch bit_funnel grid 1 block 32 args u64[32]=bits u32[32]=below:100 u64[96]=zero
KERNEL bit_funnel(const u64 *wides, const u32 *amounts, u64 *out) {
    u64 w = wides[global_x()];
    u32 by = amounts[global_x()];
    out[global_x() * 3] = __builtin_rotateleft64(w, by & 63);
    out[global_x() * 3 + 1] = (u64)(u32)(w << (by & 31) >> 32) << 32 | __builtin_rotateright32((u32)w, by & 31);
    out[global_x() * 3 + 2] = (u64)((i64)w >> (by & 63)) ^ w >> (by & 63);
}

// launch bit_matrix_transpose grid 1 block 64 args u32[64]=bits u32[64]=zero
KERNEL bit_matrix_transpose(const u32 *in, u32 *out) {
    u32 row = in[global_x()];
    u32 mask = 0xffff;
    UNROLL for (u32 by = 16; by > 0; by /= 2) {
        u32 other = shuffle_xor(WHOLE_WARP, row, by);
        row = lane() & by ? (row & ~mask) | (other >> by & mask) : (row & mask) | (other & mask) << by;
        mask ^= mask << (by / 2);
    }
    out[global_x()] = row;
}
