// The ChaCha20 stream cipher, a 64-byte block a thread.

#include "gpu.h"

INLINE void quarter(u32 *a, u32 *b, u32 *c, u32 *d) {
    *a += *b, *d = rotate_left(*d ^ *a, 16);
    *c += *d, *b = rotate_left(*b ^ *c, 12);
    *a += *b, *d = rotate_left(*d ^ *a, 8);
    *c += *d, *b = rotate_left(*b ^ *c, 7);
}

// launch chacha20 grid 1 block 32 args u32[8]=bits u32[3]=bits u32x4[128]=bits u32x4[128]=zero u32:1
KERNEL chacha20(const u32 *key, const u32 *nonce, const u32x4 *in, u32x4 *out, u32 counter) {
    u32 start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (u32 k = 0; k < 8; k++) start[4 + k] = key[k];
    start[12] = counter + global_x();
    for (u32 k = 0; k < 3; k++) start[13 + k] = nonce[k];
    u32 x[16];
    UNROLL for (u32 k = 0; k < 16; k++) x[k] = start[k];
    ROLLED for (u32 round = 0; round < 10; round++) {
        quarter(&x[0], &x[4], &x[8], &x[12]);
        quarter(&x[1], &x[5], &x[9], &x[13]);
        quarter(&x[2], &x[6], &x[10], &x[14]);
        quarter(&x[3], &x[7], &x[11], &x[15]);
        quarter(&x[0], &x[5], &x[10], &x[15]);
        quarter(&x[1], &x[6], &x[11], &x[12]);
        quarter(&x[2], &x[7], &x[8], &x[13]);
        quarter(&x[3], &x[4], &x[9], &x[14]);
    }
    UNROLL for (u32 k = 0; k < 4; k++) {
        u32x4 stream = {x[4 * k] + start[4 * k], x[4 * k + 1] + start[4 * k + 1], x[4 * k + 2] + start[4 * k + 2],
                        x[4 * k + 3] + start[4 * k + 3]};
        out[global_x() * 4 + k] = in[global_x() * 4 + k] ^ stream;
    }
}
