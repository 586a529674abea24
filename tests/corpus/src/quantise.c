// Eight-bit inference: find the scale of a row, round to bytes, multiply with four products at a time,
// and go back to floats; also the four-bit weights packed two a byte.

#include "gpu.h"

// launch quantise_rows grid 3 block 32 args f32[192]=signed u32[48]=zero f32[3]=zero u32:64
KERNEL quantise_rows(const f32 *in, u32 *packed, f32 *scales, u32 columns) {
    u32 row = block_x();
    f32 high = 0.0f;
    for (u32 i = lane(); i < columns; i += 32) high = max_f32(high, abs_f32(in[row * columns + i]));
    for (u32 flip = 16; flip > 0; flip /= 2) high = max_f32(high, shuffle_xor_f32(WHOLE_WARP, high, flip));
    f32 scale = high > 0.0f ? 127.0f / high : 0.0f;
    for (u32 i = lane(); i < columns / 4; i += 32) {
        u32 word = 0;
        UNROLL for (u32 k = 0; k < 4; k++) {
            i32 q = (i32)__builtin_rintf(in[row * columns + 4 * i + k] * scale);
            word |= (u32)(min_i32(max_i32(q, -127), 127) & 0xff) << (8 * k);
        }
        packed[row * (columns / 4) + i] = word;
    }
    if (lane() == 0) scales[row] = high / 127.0f;
}

// launch matmul_dp4a grid 2,2 block 8,4 args u32[128]=bits u32[256]=bits f32[8]=unit f32[16]=unit f32[128]=zero u32:16 u32:16
KERNEL matmul_dp4a(const u32 *a, const u32 *b, const f32 *scale_a, const f32 *scale_b, f32 *c, u32 columns, u32 words) {
    u32 row = global_y();
    u32 column = global_x();
    i32 sum = 0;
    for (u32 k = 0; k < words; k++) sum = dot4_i8(a[row * words + k], b[column * words + k], sum);
    c[row * columns + column] = (f32)sum * scale_a[row] * scale_b[column];
}

// launch unpack_four_bits grid 1 block 32 args u8[64]=bits f16[4]=unit f16[128]=zero u32:64
KERNEL unpack_four_bits(const u8 *packed, const f16 *scales, f16 *out, u32 size) {
    for (u32 i = global_x(); i < size; i += grid_stride()) {
        f16 scale = scales[i / 16];
        out[2 * i] = (f16)((i32)(packed[i] & 15) - 8) * scale;
        out[2 * i + 1] = (f16)((i32)(packed[i] >> 4) - 8) * scale;
    }
}
