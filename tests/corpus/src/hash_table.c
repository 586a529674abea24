// An open-addressing hash table: threads insert by compare-and-swap with linear probing, and count how
// often each key came.

#include "gpu.h"

#define FREE 0u

INLINE u32 slot_of(u32 key, u32 mask) {
    key ^= key >> 16;
    key *= 0x7feb352du;
    return (key ^ key >> 15) & mask;
}

// launch hash_insert grid 2 block 32 args u32[64]=below:25 u32[64]=zero u32[64]=zero u32:60 u32:63
KERNEL hash_insert(const u32 *keys, u32 *slots, u32 *counts, u32 size, u32 mask) {
    u32 i = global_x();
    if (i >= size) return;
    u32 key = keys[i] + 1;
    u32 at = slot_of(key, mask);
    for (u32 tries = 0; tries <= mask; tries++) {
        u32 seen = atomic_cas(&slots[at], FREE, key);
        if (seen == FREE || seen == key) {
            atomic_add(&counts[at], 1u);
            return;
        }
        at = (at + 1) & mask;
    }
    __builtin_trap();
}

// launch hash_find grid 1 block 32 args u32[32]=below:40 u32[64]=below:40 u32[32]=zero u32:63
KERNEL hash_find(const u32 *keys, const u32 *slots, u32 *places, u32 mask) {
    u32 key = keys[global_x()] + 1;
    u32 at = slot_of(key, mask);
    u32 place = 0xffffffffu;
    for (u32 tries = 0; tries <= mask; tries++) {
        u32 seen = slots[at];
        if (seen == key) {
            place = at;
            break;
        }
        if (seen == FREE) break;
        at = (at + 1) & mask;
    }
    places[global_x()] = place;
}
