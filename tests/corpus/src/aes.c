// AES-128 of one 16-byte block a thread. The substitution box is computed from inverses in the field and
// kept in shared memory; the round keys are expanded by the first thread.

#include "gpu.h"

INLINE u32 twice(u32 x) { return (x << 1 ^ (x & 0x80 ? 0x1b : 0)) & 0xff; }

HELPER u32 field_product(u32 a, u32 b) {
    u32 sum = 0;
    for (; b; b >>= 1) {
        if (b & 1) sum ^= a;
        a = twice(a);
    }
    return sum;
}

HELPER u8 substitute(u32 x) {
    // The inverse is the 254th power; zero maps to zero.
    u32 inverse = 1;
    u32 power = x;
    for (u32 k = 1; k < 8; k++) {
        power = field_product(power, power);
        inverse = field_product(inverse, power);
    }
    u32 wide = inverse | inverse << 8;
    return (u8)(inverse ^ wide >> 4 ^ wide >> 5 ^ wide >> 6 ^ wide >> 7 ^ 0x63);
}

// launch aes128 grid 1 block 32 args u8[16]=bits u8[480]=bits u8[480]=zero u32:30
KERNEL aes128(const u8 *key, const u8 *in, u8 *out, u32 blocks) {
    SHARED u8 box[256];
    SHARED u8 keys[176];
    for (u32 k = thread_x(); k < 256; k += block_width()) box[k] = substitute(k);
    barrier();
    if (thread_x() == 0) {
        for (u32 k = 0; k < 16; k++) keys[k] = key[k];
        u32 constant = 1;
        for (u32 k = 16; k < 176; k += 4) {
            u8 word[4] = {keys[k - 4], keys[k - 3], keys[k - 2], keys[k - 1]};
            if (k % 16 == 0) {
                u8 first = word[0];
                word[0] = (u8)(box[word[1]] ^ constant);
                word[1] = box[word[2]];
                word[2] = box[word[3]];
                word[3] = box[first];
                constant = twice(constant);
            }
            for (u32 b = 0; b < 4; b++) keys[k + b] = keys[k + b - 16] ^ word[b];
        }
    }
    barrier();
    u32 i = global_x();
    if (i >= blocks) return;
    u8 state[16];
    for (u32 k = 0; k < 16; k++) state[k] = in[i * 16 + k] ^ keys[k];
    for (u32 round = 1; round <= 10; round++) {
        u8 moved[16];
        for (u32 k = 0; k < 16; k++) moved[k] = box[state[(k * 5) % 16]];
        for (u32 column = 0; column < 16; column += 4) {
            u32 all = moved[column] ^ moved[column + 1] ^ moved[column + 2] ^ moved[column + 3];
            for (u32 k = 0; k < 4; k++) {
                u32 here = moved[column + k];
                u32 mixed = round == 10 ? here : here ^ all ^ twice(here ^ moved[column + (k + 1) % 4]);
                state[column + k] = (u8)(mixed ^ keys[round * 16 + column + k]);
            }
        }
    }
    for (u32 k = 0; k < 16; k++) out[i * 16 + k] = state[k];
}
