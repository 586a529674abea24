// A Bloom filter of 1024 bits: insert by atomic or, query by k probes with an early way out.

#include "gpu.h"

#define WORDS 32
#define PROBES 4

INLINE u32 probe(u32 key, u32 k) {
    u32 a = key * 0x85ebca6bu;
    u32 b = (key ^ key >> 16) * 0xc2b2ae35u | 1;
    return ((a ^ a >> 13) + k * b) % (WORDS * 32);
}

// launch bloom_insert grid 2 block 32 args u32[64]=bits u32[32]=zero u32:50
KERNEL bloom_insert(const u32 *keys, u32 *filter, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    for (u32 k = 0; k < PROBES; k++) {
        u32 bit = probe(keys[i], k);
        atomic_or(&filter[bit / 32], 1u << (bit % 32));
    }
}

// launch bloom_query grid 2 block 32 args u32[64]=bits u32[32]=bits u8[64]=zero u32:60
KERNEL bloom_query(const u32 *keys, const u32 *filter, u8 *maybe, u32 size) {
    SHARED u32 copy[WORDS];
    copy[thread_x() % WORDS] = filter[thread_x() % WORDS];
    barrier();
    u32 i = global_x();
    if (i >= size) return;
    u8 found = 1;
    for (u32 k = 0; k < PROBES && found; k++) {
        u32 bit = probe(keys[i], k);
        found = copy[bit / 32] >> (bit % 32) & 1;
    }
    maybe[i] = found;
}
