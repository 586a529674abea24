// Every kind of number into every other, with the rounding each needs, and narrow arithmetic that wraps.

#include "gpu.h"

// launch convert_floats grid 1 block 32 args f32[32]=signed f64[32]=signed i64[320]=zero
KERNEL convert_floats(const f32 *single, const f64 *wide, i64 *out) {
    f32 x = single[global_x()] * 30000.0f;
    f64 y = wide[global_x()] * 1e15;
    i64 *mine = out + global_x() * 10;
    mine[0] = (i32)x;
    mine[1] = (u32)abs_f32(x);
    mine[2] = (i64)y;
    mine[3] = (i64)(u64)abs_f64(y);
    mine[4] = (i16)x;
    mine[5] = __builtin_bit_cast(i32, (f32)y);
    mine[6] = __builtin_bit_cast(i64, (f64)x);
    mine[7] = (i64)__builtin_bit_cast(u16, (f16)(x * 0.01f));
    mine[8] = (i64)__builtin_rint(y * 1e-9) + (i64)__builtin_truncf(x) + (i64)__builtin_ceilf(x) + (i64)__builtin_floor(y);
    mine[9] = (u8)(u32)abs_f32(x * 0.008f);
}

// launch convert_integers grid 1 block 32 args i64[32]=bits f64[224]=zero
KERNEL convert_integers(const i64 *in, f64 *out) {
    i64 x = in[global_x()];
    f64 *mine = out + global_x() * 7;
    mine[0] = (f64)x;
    mine[1] = (f64)(u64)x;
    mine[2] = (f32)(i32)x;
    mine[3] = (f32)(u64)x;
    mine[4] = (f64)(i8)x + (f64)(u16)x;
    mine[5] = (f64)(f16)(i8)(x >> 8);
    mine[6] = (f32)x;
}

// launch narrow_arithmetic grid 1 block 32 args i8[32]=bits u16[32]=bits i16[128]=zero
KERNEL narrow_arithmetic(const i8 *bytes, const u16 *halves, i16 *out) {
    i8 b = bytes[global_x()];
    u16 h = halves[global_x()];
    i16 *mine = out + global_x() * 4;
    mine[0] = (i16)(u16)(b * 300u + h);
    mine[1] = (i16)((i16)h >> 3) + (i16)(h >> 9);
    mine[2] = (i16)(b / 3 + b % 5);
    mine[3] = (i16)(min_i32(max_i32(b * (i32)h, -32768), 32767));
}
