// Picture filters on bytes: Gaussian blur along rows, Sobel edges, a median of nine by a sorting network,
// bilinear resizing, and the luminance of packed pixels.

#include "gpu.h"

INLINE i32 clamp_to(i32 x, i32 size) { return min_i32(max_i32(x, 0), size - 1); }

// launch blur_rows grid 2,2 block 8,8 args u8[208]=bits u8[208]=zero i32:16 i32:13
KERNEL blur_rows(const u8 *in, u8 *out, i32 width, i32 height) {
    i32 x = (i32)global_x();
    i32 y = (i32)global_y();
    if (x >= width || y >= height) return;
    u32 sum = 8;
    const u8 *row = in + y * width;
    sum += row[clamp_to(x - 2, width)] + row[clamp_to(x + 2, width)];
    sum += 4u * (row[clamp_to(x - 1, width)] + row[clamp_to(x + 1, width)]);
    sum += 6u * row[x];
    out[y * width + x] = (u8)(sum >> 4);
}

// launch sobel grid 2,2 block 8,8 args u8[208]=bits u8[208]=zero i32:16 i32:13
KERNEL sobel(const u8 *in, u8 *out, i32 width, i32 height) {
    i32 x = (i32)global_x();
    i32 y = (i32)global_y();
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const u8 *p = in + y * width + x;
    i32 gx = p[1 - width] - p[-1 - width] + 2 * (p[1] - p[-1]) + p[1 + width] - p[width - 1];
    i32 gy = p[width - 1] - p[-1 - width] + 2 * (p[width] - p[-width]) + p[width + 1] - p[1 - width];
    f32 edge = sqrt_f32((f32)(gx * gx + gy * gy));
    out[y * width + x] = (u8)min_f32(edge, 255.0f);
}

#define ORDER(a, b)                \
    {                              \
        u32 low = min_u32(a, b);   \
        b = max_u32(a, b);         \
        a = low;                   \
    }

// launch median_nine grid 2,2 block 8,8 args u8[208]=bits u8[208]=zero i32:16 i32:13
KERNEL median_nine(const u8 *in, u8 *out, i32 width, i32 height) {
    i32 x = (i32)global_x();
    i32 y = (i32)global_y();
    if (x >= width || y >= height) return;
    u32 v[9];
    UNROLL for (i32 k = 0; k < 9; k++) v[k] = in[clamp_to(y + k / 3 - 1, height) * width + clamp_to(x + k % 3 - 1, width)];
    ORDER(v[1], v[2]) ORDER(v[4], v[5]) ORDER(v[7], v[8])
    ORDER(v[0], v[1]) ORDER(v[3], v[4]) ORDER(v[6], v[7])
    ORDER(v[1], v[2]) ORDER(v[4], v[5]) ORDER(v[7], v[8])
    ORDER(v[0], v[3]) ORDER(v[5], v[8]) ORDER(v[4], v[7])
    ORDER(v[3], v[6]) ORDER(v[1], v[4]) ORDER(v[2], v[5])
    ORDER(v[4], v[7]) ORDER(v[4], v[2]) ORDER(v[6], v[4])
    ORDER(v[4], v[2])
    out[y * width + x] = (u8)v[4];
}

// launch resize_bilinear grid 2,2 block 8,8 args f32[80]=unit f32[208]=zero i32:10 i32:8 i32:16 i32:13
KERNEL resize_bilinear(const f32 *in, f32 *out, i32 in_width, i32 in_height, i32 width, i32 height) {
    i32 x = (i32)global_x();
    i32 y = (i32)global_y();
    if (x >= width || y >= height) return;
    f32 sx = ((f32)x + 0.5f) * (f32)in_width / (f32)width - 0.5f;
    f32 sy = ((f32)y + 0.5f) * (f32)in_height / (f32)height - 0.5f;
    f32 fx = floor_f32(sx);
    f32 fy = floor_f32(sy);
    i32 x0 = clamp_to((i32)fx, in_width);
    i32 x1 = clamp_to((i32)fx + 1, in_width);
    i32 y0 = clamp_to((i32)fy, in_height);
    i32 y1 = clamp_to((i32)fy + 1, in_height);
    f32 top = in[y0 * in_width + x0] + (sx - fx) * (in[y0 * in_width + x1] - in[y0 * in_width + x0]);
    f32 low = in[y1 * in_width + x0] + (sx - fx) * (in[y1 * in_width + x1] - in[y1 * in_width + x0]);
    out[y * width + x] = top + (sy - fy) * (low - top);
}

// launch luminance grid 1 block 64 args u32[64]=bits u8[64]=zero u32:60
KERNEL luminance(const u32 *pixels, u8 *out, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    u32 p = pixels[i];
    out[i] = (u8)(((p & 0xff) * 77 + (p >> 8 & 0xff) * 150 + (p >> 16 & 0xff) * 29) >> 8);
}
