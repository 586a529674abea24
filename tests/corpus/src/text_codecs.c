// Text and packing: base64 both ways, UTF-8 checking, variable-length integers, and a small LZ decoder.

#include "gpu.h"

CONSTANT u8 digits64[64] = {'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P',
                            'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'a', 'b', 'c', 'd', 'e', 'f',
                            'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
                            'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '/'};

// launch base64_encode grid 1 block 32 args u8[80]=bits u8[108]=zero u32:80
KERNEL base64_encode(const u8 *in, u8 *out, u32 size) {
    u32 i = global_x();
    if (3 * i >= size) return;
    u32 left = size - 3 * i;
    u32 word = (u32)in[3 * i] << 16 | (left > 1 ? (u32)in[3 * i + 1] << 8 : 0) | (left > 2 ? in[3 * i + 2] : 0);
    out[4 * i] = digits64[word >> 18];
    out[4 * i + 1] = digits64[word >> 12 & 63];
    out[4 * i + 2] = left > 1 ? digits64[word >> 6 & 63] : '=';
    out[4 * i + 3] = left > 2 ? digits64[word & 63] : '=';
}

HELPER u32 value64(u8 c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

// launch base64_decode grid 1 block 32 args u8[128]=bits u8[96]=zero u32[1]=zero
KERNEL base64_decode(const u8 *in, u8 *out, u32 *errors) {
    u32 word = 0;
    for (u32 k = 0; k < 4; k++) {
        u32 value = value64(in[4 * global_x() + k] & 0x7f);
        if (value == 64) {
            atomic_add(errors, 1u);
            return;
        }
        word = word << 6 | value;
    }
    for (u32 k = 0; k < 3; k++) out[3 * global_x() + k] = (u8)(word >> (16 - 8 * k));
}

// launch utf8_check grid 1 block 32 args u8[256]=bits u8[32]=zero u32:8
KERNEL utf8_check(const u8 *texts, u8 *valid, u32 length) {
    const u8 *p = texts + global_x() * length;
    u32 k = 0;
    u8 good = 1;
    while (k < length && good) {
        u8 c = p[k];
        // Half of the lanes read plain letters, or random bytes would hardly ever pass.
        if (global_x() & 1) c &= 0x7f;
        u32 more = c < 0x80 ? 0 : c < 0xc2 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 9;
        if (more == 9 || k + more >= length) {
            good = 0;
            break;
        }
        for (u32 j = 1; j <= more; j++) good &= (p[k + j] & 0xc0) == 0x80;
        k += more + 1;
    }
    valid[global_x()] = good;
}

// launch varint_decode grid 1 block 32 args u8[320]=bits u64[32]=zero u8[32]=zero
KERNEL varint_decode(const u8 *in, u64 *values, u8 *lengths) {
    u64 value = 0;
    u32 k = 0;
    u8 byte;
    do {
        byte = in[global_x() * 10 + k];
        if (k < 9) value |= (u64)(byte & 0x7f) << (7 * k);
        k++;
    } while (byte & 0x80 && k < 10);
    values[global_x()] = value;
    lengths[global_x()] = (u8)k;
}

// launch lz_decode grid 1 block 32 args u8[512]=bits u8[1024]=zero u8[32]=zero u32:16 u32:32
KERNEL lz_decode(const u8 *in, u8 *out, u8 *sizes, u32 in_each, u32 out_each) {
    const u8 *from = in + global_x() * in_each;
    u8 *to = out + global_x() * out_each;
    u32 size = 0;
    for (u32 at = 0; at + 1 < in_each && size < out_each;) {
        u8 token = from[at++];
        u32 literals = min_u32(token >> 6, in_each - at);
        for (u32 k = 0; k < literals && size < out_each; k++) to[size++] = from[at++];
        u32 back = (token & 7) + 1;
        u32 length = (token >> 3 & 7) + 2;
        if (back > size) continue;
        for (u32 k = 0; k < length && size < out_each; k++, size++) to[size] = to[size - back];
    }
    sizes[global_x()] = (u8)size;
}
