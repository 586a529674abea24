// Rotary position embedding, in place on pairs of halves, with the angle from a power of the base.

#include "gpu.h"

// launch rotary_embedding grid 3,2 block 16 args f16[192]=signed u32[3]=list:0,5,11 u32:32 f32:13.287712
KERNEL rotary_embedding(f16 *heads, const u32 *positions, u32 width, f32 base_log) {
    u32 token = block_x();
    u32 head = block_y();
    u32 pair = thread_x();
    f32 frequency = exp2_fast(-base_log * (f32)(2 * pair) / (f32)width);
    f32 angle = (f32)positions[token] * frequency;
    f32 c = cos_fast(angle);
    f32 s = sin_fast(angle);
    f16 *x = heads + (token * 2 + head) * width;
    f32 a = (f32)x[pair];
    f32 b = (f32)x[pair + width / 2];
    x[pair] = (f16)(a * c - b * s);
    x[pair + width / 2] = (f16)(a * s + b * c);
}
