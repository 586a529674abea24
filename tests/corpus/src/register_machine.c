// A register machine with three-operand words: operation, target and two sources in one 32-bit word,
// registers in a local array, a second switch inside one of the operations.

#include "gpu.h"

// launch register_machine grid 1 block 32 args u32[24]=bits f32[32]=signed f32[32]=zero u32:24
KERNEL register_machine(const u32 *words, const f32 *input, f32 *out, u32 count) {
    f32 r[8] = {};
    r[0] = input[global_x()];
    r[1] = 1.0f;
    for (u32 at = 0; at < count; at++) {
        u32 word = words[at];
        u32 target = word >> 8 & 7;
        f32 a = r[word >> 16 & 7];
        f32 b = r[word >> 24 & 7];
        f32 result;
        switch (word & 15) {
        case 0: result = a + b; break;
        case 1: result = a - b; break;
        case 2: result = a * b; break;
        case 3: result = b != 0.0f ? a / b : 0.0f; break;
        case 4: result = min_f32(a, b); break;
        case 5: result = max_f32(a, b); break;
        case 6: result = -a; break;
        case 7: result = abs_f32(a); break;
        case 8: result = sqrt_f32(abs_f32(a)); break;
        case 9: result = floor_f32(a); break;
        case 10: result = fma_f32(a, b, r[target]); break;
        case 11: result = a < b ? 1.0f : 0.0f; break;
        case 12: result = (f32)(word >> 27) * 0.125f; break;
        case 13:
            switch (word >> 28) {
            case 0: result = exp_fast(-abs_f32(a)); break;
            case 1: result = sin_fast(a); break;
            case 2: result = cos_fast(a); break;
            case 3: result = rsqrt_fast(1.0f + a * a); break;
            case 4: result = a * a * a; break;
            case 5: result = 1.0f / (1.0f + abs_f32(a)); break;
            default: result = a; break;
            }
            break;
        default: result = r[7]; break;
        }
        r[target] = result;
        if ((word >> 4 & 15) == 15 && result > 4.0f) break;
    }
    f32 sum = 0.0f;
    for (u32 k = 0; k < 8; k++) sum += r[k];
    out[global_x()] = sum;
}
