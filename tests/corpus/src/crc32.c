// CRC-32 of byte strings: bit by bit, and with a table the block builds in shared memory first.

#include "gpu.h"

#define POLYNOMIAL 0xedb88320u

// launch crc32_bitwise grid 1 block 32 args u8[320]=bits u32[32]=zero u32:32 u32:10
KERNEL crc32_bitwise(const u8 *bytes, u32 *out, u32 count, u32 length) {
    u32 i = global_x();
    if (i >= count) return;
    u32 crc = 0xffffffffu;
    for (u32 k = 0; k < length; k++) {
        crc ^= bytes[i * length + k];
        for (u32 bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (POLYNOMIAL & (0u - (crc & 1)));
    }
    out[i] = ~crc;
}

// launch crc32_table grid 2 block 32 args u8[1000]=bits u32[50]=zero u32:50 u32:20
KERNEL crc32_table(const u8 *bytes, u32 *out, u32 count, u32 length) {
    SHARED u32 table[256];
    for (u32 b = thread_x(); b < 256; b += block_width()) {
        u32 crc = b;
        for (u32 bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        table[b] = crc;
    }
    barrier();
    u32 i = global_x();
    if (i >= count) return;
    u32 crc = 0xffffffffu;
    for (u32 k = 0; k < length; k++) crc = crc >> 8 ^ table[(crc ^ bytes[i * length + k]) & 0xff];
    out[i] = ~crc;
}
