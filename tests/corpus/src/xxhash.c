// A 32-bit and a 64-bit multiply-rotate hash over byte strings of uneven length, with the tail by bytes.

#include "gpu.h"

#define PRIME1 2654435761u
#define PRIME2 2246822519u
#define PRIME3 3266489917u
#define PRIME4 668265263u
#define PRIME5 374761393u

INLINE u32 read32(const u8 *p) { return (u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24; }
HELPER u32 stir(u32 lane_sum, u32 word) { return rotate_left(lane_sum + word * PRIME2, 13) * PRIME1; }

// launch hash_strings32 grid 1 block 32 args u8[600]=bits u32[21]=step:27 u32[20]=zero u32:20 u32:42
KERNEL hash_strings32(const u8 *bytes, const u32 *starts, u32 *out, u32 count, u32 seed) {
    u32 i = global_x();
    if (i >= count) return;
    const u8 *p = bytes + starts[i];
    const u8 *end = bytes + starts[i + 1];
    u32 length = (u32)(end - p);
    u32 h;
    if (length >= 16) {
        u32 a = seed + PRIME1 + PRIME2;
        u32 b = seed + PRIME2;
        u32 c = seed;
        u32 d = seed - PRIME1;
        for (; end - p >= 16; p += 16) {
            a = stir(a, read32(p));
            b = stir(b, read32(p + 4));
            c = stir(c, read32(p + 8));
            d = stir(d, read32(p + 12));
        }
        h = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
    } else {
        h = seed + PRIME5;
    }
    h += length;
    for (; end - p >= 4; p += 4) h = rotate_left(h + read32(p) * PRIME3, 17) * PRIME4;
    for (; p != end; p++) h = rotate_left(h + *p * PRIME5, 11) * PRIME1;
    h = (h ^ h >> 15) * PRIME2;
    h = (h ^ h >> 13) * PRIME3;
    out[i] = h ^ h >> 16;
}

// launch hash_words64 grid 2 block 32 args u64[64]=bits u64[64]=zero u64:0x9e3779b97f4a7c15
KERNEL hash_words64(const u64 *in, u64 *out, u64 seed) {
    u64 h = in[global_x()] + seed;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    out[global_x()] = h ^ h >> 31;
}

// launch siphash grid 1 block 32 args u64[64]=bits u64[32]=zero u64:0x0706050403020100 u64:0x0f0e0d0c0b0a0908
KERNEL siphash(const u64 *pairs, u64 *out, u64 key0, u64 key1) {
    u64 v0 = key0 ^ 0x736f6d6570736575ull;
    u64 v1 = key1 ^ 0x646f72616e646f6dull;
    u64 v2 = key0 ^ 0x6c7967656e657261ull;
    u64 v3 = key1 ^ 0x7465646279746573ull;
    for (u32 step = 0; step < 4; step++) {
        u64 word = step < 2 ? pairs[global_x() * 2 + step] : step == 2 ? 16ull << 56 : 0;
        if (step == 3) v2 ^= 0xff;
        else v3 ^= word;
        u32 rounds = step == 3 ? 4 : 2;
        ROLLED for (u32 round = 0; round < rounds; round++) {
            v0 += v1;
            v1 = __builtin_rotateleft64(v1, 13) ^ v0;
            v0 = __builtin_rotateleft64(v0, 32);
            v2 += v3;
            v3 = __builtin_rotateleft64(v3, 16) ^ v2;
            v0 += v3;
            v3 = __builtin_rotateleft64(v3, 21) ^ v0;
            v2 += v1;
            v1 = __builtin_rotateleft64(v1, 17) ^ v2;
            v2 = __builtin_rotateleft64(v2, 32);
        }
        if (step != 3) v0 ^= word;
    }
    out[global_x()] = v0 ^ v1 ^ v2 ^ v3;
}
