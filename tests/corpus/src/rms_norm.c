// Root-mean-square normalisation with the residual added on the way, in half precision in memory and
// single precision in registers, as language models run it.

#include "gpu.h"

// launch rms_norm_residual grid 3 block 64 args f16[288]=signed f16[288]=signed f16[96]=unit f16[288]=zero u32:96 f32:0.000001
KERNEL rms_norm_residual(const f16 *in, f16 *residual, const f16 *gain, f16 *out, u32 columns, f32 epsilon) {
    SHARED f32 of_warp[2];
    u32 base = block_x() * columns;
    f32 squares = 0.0f;
    for (u32 i = thread_x(); i < columns; i += block_width()) {
        f16 x = in[base + i] + residual[base + i];
        residual[base + i] = x;
        squares += (f32)x * (f32)x;
    }
    for (u32 flip = 16; flip > 0; flip /= 2) squares += shuffle_xor_f32(WHOLE_WARP, squares, flip);
    if (lane() == 0) of_warp[thread_x() / 32] = squares;
    barrier();
    f32 scale = rsqrt_fast((of_warp[0] + of_warp[1]) / (f32)columns + epsilon);
    for (u32 i = thread_x(); i < columns; i += block_width()) {
        out[base + i] = (f16)((f32)residual[base + i] * scale * (f32)gain[i]);
    }
}
