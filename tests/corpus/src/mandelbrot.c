// Escape times of the Mandelbrot set: single precision, and double precision with the cardioid skipped.

#include "gpu.h"

// launch mandelbrot grid 2,2 block 8,8 args u32[256]=zero u32:16 u32:16 f32:-2.0 f32:-1.25 f32:0.17 u32:60
KERNEL mandelbrot(u32 *out, u32 width, u32 height, f32 left, f32 top, f32 step, u32 rounds_max) {
    u32 px = global_x();
    u32 py = global_y();
    if (px >= width || py >= height) return;
    f32 cx = left + (f32)px * step;
    f32 cy = top + (f32)py * step;
    f32 x = 0.0f;
    f32 y = 0.0f;
    u32 rounds = 0;
    while (x * x + y * y <= 4.0f && rounds < rounds_max) {
        f32 next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        rounds++;
    }
    out[py * width + px] = rounds;
}

// launch mandelbrot_f64 grid 2,2 block 8,8 args u16[256]=zero u32:16 u32:16 f64:-2.0 f64:-1.25 f64:0.17 u32:60
KERNEL mandelbrot_f64(u16 *out, u32 width, u32 height, f64 left, f64 top, f64 step, u32 rounds_max) {
    for (u32 at = global_y() * grid_stride() + global_x(); at < width * height; at += grid_stride() * grid_height() * block_height()) {
        f64 cx = left + (f64)(at % width) * step;
        f64 cy = top + (f64)(at / width) * step;
        f64 q = (cx - 0.25) * (cx - 0.25) + cy * cy;
        if (q * (q + (cx - 0.25)) <= 0.25 * cy * cy) {
            out[at] = (u16)rounds_max;
            continue;
        }
        f64 x = 0.0;
        f64 y = 0.0;
        u32 rounds;
        for (rounds = 0; rounds < rounds_max; rounds++) {
            f64 xx = x * x;
            f64 yy = y * y;
            if (xx + yy > 4.0) break;
            y = 2.0 * x * y + cy;
            x = xx - yy + cx;
        }
        out[at] = (u16)rounds;
    }
}
