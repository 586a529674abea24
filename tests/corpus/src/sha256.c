// SHA-256 of many one-block messages, a message a thread: long straight-line integer code.

#include "gpu.h"

CONSTANT u32 round_key[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

INLINE u32 byte_swap(u32 x) { return bytes_permute(x, 0, 0x0123); }

// launch sha256 grid 2 block 32 args u8[2560]=bits u32[320]=zero u32:40
KERNEL sha256(const u8 *messages, u32 *digests, u32 count) {
    // Each message is 52 bytes of a 64-byte record, so that the padding fits in the one block.
    u32 i = global_x();
    if (i >= count) return;
    const u32 *message = (const u32 *)(messages + i * 64);
    u32 schedule[16];
    for (u32 k = 0; k < 13; k++) schedule[k] = byte_swap(message[k]);
    schedule[13] = 0x80000000;
    schedule[14] = 0;
    schedule[15] = 52 * 8;
    u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5], g = start[6], h = start[7];
    for (u32 round = 0; round < 64; round++) {
        u32 word;
        if (round < 16) {
            word = schedule[round];
        } else {
            u32 w1 = schedule[(round + 1) % 16];
            u32 w14 = schedule[(round + 14) % 16];
            u32 s0 = rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ w1 >> 3;
            u32 s1 = rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ w14 >> 10;
            word = schedule[round % 16] + s0 + schedule[(round + 9) % 16] + s1;
            schedule[round % 16] = word;
        }
        u32 big1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        u32 big0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        u32 t1 = h + big1 + ((e & f) ^ (~e & g)) + round_key[round] + word;
        u32 t2 = big0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    u32 end[8] = {a, b, c, d, e, f, g, h};
    for (u32 k = 0; k < 8; k++) digests[i * 8 + k] = byte_swap(start[k] + end[k]);
}
