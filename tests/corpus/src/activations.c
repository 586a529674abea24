// Neural activations chosen by a run-time switch, their gradients, a gated pair, and dropout by a hash.

#include "gpu.h"

INLINE f32 sigmoid(f32 x) { return 1.0f / (1.0f + exp_fast(-x)); }
INLINE f32 tanh_fast(f32 x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// launch activate grid 2 block 32 args f32[60]=signed f32[60]=zero u32:60 u32:6
KERNEL activate(const f32 *in, f32 *out, u32 size, u32 kind) {
    u32 i = global_x();
    if (i >= size) return;
    f32 x = 4.0f * in[i];
    f32 y;
    switch (kind) {
    case 0: y = x; break;
    case 1: y = max_f32(x, 0.0f); break;
    case 2: y = x > 0.0f ? x : 0.01f * x; break;
    case 3: y = sigmoid(x); break;
    case 4: y = tanh_fast(x); break;
    case 5: y = x * sigmoid(x); break;
    case 6: y = 0.5f * x * (1.0f + tanh_fast(0.79788456f * (x + 0.044715f * x * x * x))); break;
    case 7: y = x > 0.0f ? x : exp_fast(x) - 1.0f; break;
    case 8: y = x * min_f32(max_f32(x + 3.0f, 0.0f), 6.0f) / 6.0f; break;
    default: y = x / (1.0f + abs_f32(x)); break;
    }
    out[i] = y;
}

// launch gated_dropout grid 2 block 32 args f16[120]=signed f16[60]=zero u32:60 u32:1234 f32:0.25
KERNEL gated_dropout(const f16 *in, f16 *out, u32 size, u32 seed, f32 rate) {
    u32 i = global_x();
    if (i >= size) return;
    f32 gate = (f32)in[2 * i];
    f32 value = (f32)in[2 * i + 1];
    u32 h = (i + seed) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca77u;
    f32 chance = (f32)(h >> 8) * 0x1p-24f;
    out[i] = chance < rate ? (f16)0.0f : (f16)(gate * sigmoid(gate) * value / (1.0f - rate));
}
