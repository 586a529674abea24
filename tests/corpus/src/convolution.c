// Convolution: along a line with the filter in constant memory, over an image with channels as in a
// neural network, the depth-wise kind, and max pooling.

#include "gpu.h"

CONSTANT f32 line_filter[7] = {0.03f, 0.11f, 0.22f, 0.28f, 0.22f, 0.11f, 0.03f};

// launch convolve_line grid 2 block 32 args f32[64]=signed f32[64]=zero i32:60
KERNEL convolve_line(const f32 *in, f32 *out, i32 size) {
    i32 i = (i32)global_x();
    if (i >= size) return;
    f32 sum = 0.0f;
    UNROLL for (i32 k = -3; k <= 3; k++) {
        i32 at = i + k;
        if (at >= 0 && at < size) sum += in[at] * line_filter[k + 3];
    }
    out[i] = sum;
}

// launch convolve_image grid 2,2,2 block 4,4,2 args f32[192]=signed f32[108]=signed f32[4]=signed f32[256]=zero u32:3 u32:4 u32:8 u32:8
KERNEL convolve_image(const f32 *in, const f32 *filters, const f32 *bias, f32 *out, u32 in_channels, u32 out_channels, u32 width,
                      u32 height) {
    u32 x = global_x();
    u32 y = global_y();
    u32 channel = global_z();
    if (x >= width || y >= height || channel >= out_channels) return;
    f32 sum = bias[channel];
    for (u32 c = 0; c < in_channels; c++) {
        for (u32 dy = 0; dy < 3; dy++) {
            u32 row = y + dy - 1;
            if (row >= height) continue;
            for (u32 dx = 0; dx < 3; dx++) {
                u32 column = x + dx - 1;
                if (column >= width) continue;
                sum += in[(c * height + row) * width + column] * filters[((channel * in_channels + c) * 3 + dy) * 3 + dx];
            }
        }
    }
    out[(channel * height + y) * width + x] = max_f32(sum, 0.0f);
}

// launch convolve_depthwise grid 1,1,3 block 6,6 args i8[192]=bits i8[27]=bits i32[108]=zero u32:8 u32:8
KERNEL convolve_depthwise(const i8 *in, const i8 *filters, i32 *out, u32 width, u32 height) {
    u32 x = global_x();
    u32 y = global_y();
    u32 channel = block_z();
    if (x + 2 >= width || y + 2 >= height) return;
    i32 sum = 0;
    UNROLL for (u32 k = 0; k < 9; k++) {
        sum += in[(channel * height + y + k / 3) * width + x + k % 3] * filters[channel * 9 + k];
    }
    out[(channel * (height - 2) + y) * (width - 2) + x] = sum;
}

// launch pool_max grid 1 block 64 args f32[256]=signed f32[64]=zero u8[64]=zero u32:16 u32:16
KERNEL pool_max(const f32 *in, f32 *out, u8 *winners, u32 width, u32 height) {
    u32 i = global_x();
    if (i >= width / 2 * (height / 2)) return;
    u32 corner = i / (width / 2) * 2 * width + i % (width / 2) * 2;
    f32 best = in[corner];
    u8 winner = 0;
    UNROLL for (u32 k = 1; k < 4; k++) {
        f32 candidate = in[corner + k / 2 * width + k % 2];
        if (candidate > best) {
            best = candidate;
            winner = (u8)k;
        }
    }
    out[i] = best;
    winners[i] = winner;
}
