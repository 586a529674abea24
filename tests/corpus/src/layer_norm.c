// Layer normalisation of each row, with Welford's running mean so that one pass is enough.

#include "gpu.h"

struct moments {
    f32 count;
    f32 mean;
    f32 squares;
};

INLINE struct moments merge(struct moments a, struct moments b) {
    f32 count = a.count + b.count;
    if (count == 0.0f) return a;
    f32 away = b.mean - a.mean;
    f32 share = b.count / count;
    return (struct moments){count, a.mean + away * share, a.squares + b.squares + away * away * a.count * share};
}

// launch layer_norm grid 4 block 32 args f32[200]=signed f32[50]=unit f32[50]=signed f32[200]=zero u32:50 f32:0.00001
KERNEL layer_norm(const f32 *in, const f32 *gain, const f32 *bias, f32 *out, u32 columns, f32 epsilon) {
    u32 row = block_x();
    struct moments m = {0.0f, 0.0f, 0.0f};
    for (u32 i = lane(); i < columns; i += 32) m = merge(m, (struct moments){1.0f, in[row * columns + i], 0.0f});
    for (u32 flip = 16; flip > 0; flip /= 2) {
        struct moments other = {
            shuffle_xor_f32(WHOLE_WARP, m.count, flip),
            shuffle_xor_f32(WHOLE_WARP, m.mean, flip),
            shuffle_xor_f32(WHOLE_WARP, m.squares, flip),
        };
        // Both partners must merge in the same order, or they would round differently.
        m = lane() & flip ? merge(other, m) : merge(m, other);
    }
    f32 scale = rsqrt_fast(m.squares / m.count + epsilon);
    for (u32 i = lane(); i < columns; i += 32) {
        u32 at = row * columns + i;
        out[at] = (in[at] - m.mean) * scale * gain[i] + bias[i];
    }
}

// launch layer_norm_gradient grid 4 block 32 args f32[200]=signed f32[200]=signed f32[50]=unit f32[4]=signed f32[4]=unit f32[200]=zero u32:50
KERNEL layer_norm_gradient(const f32 *upstream, const f32 *in, const f32 *gain, const f32 *mean, const f32 *scale, f32 *out,
                           u32 columns) {
    u32 row = block_x();
    f32 sum = 0.0f;
    f32 sum_scaled = 0.0f;
    for (u32 i = lane(); i < columns; i += 32) {
        f32 normal = (in[row * columns + i] - mean[row]) * scale[row];
        f32 g = upstream[row * columns + i] * gain[i];
        sum += g;
        sum_scaled += g * normal;
    }
    for (u32 flip = 16; flip > 0; flip /= 2) {
        sum += shuffle_xor_f32(WHOLE_WARP, sum, flip);
        sum_scaled += shuffle_xor_f32(WHOLE_WARP, sum_scaled, flip);
    }
    f32 per_column = 1.0f / (f32)columns;
    for (u32 i = lane(); i < columns; i += 32) {
        f32 normal = (in[row * columns + i] - mean[row]) * scale[row];
        f32 g = upstream[row * columns + i] * gain[i];
        out[row * columns + i] = scale[row] * (g - per_column * (sum + normal * sum_scaled));
    }
}
