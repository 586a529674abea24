// Procedural textures: gradient noise on a hashed lattice, summed over octaves, and the nearest-point kind.

#include "gpu.h"

INLINE u32 lattice(i32 x, i32 y) {
    u32 h = (u32)x * 0x27d4eb2du ^ (u32)y * 0x165667b1u;
    h = (h ^ h >> 15) * 0x85ebca6bu;
    return h ^ h >> 13;
}

INLINE f32 slope(u32 h, f32 x, f32 y) {
    f32 u = h & 4 ? y : x;
    f32 v = h & 4 ? x : y;
    return (h & 1 ? -u : u) + (h & 2 ? -2.0f * v : 2.0f * v);
}

INLINE f32 fade(f32 t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
INLINE f32 mix(f32 a, f32 b, f32 t) { return a + t * (b - a); }

HELPER f32 gradient_noise(f32 x, f32 y) {
    f32 fx = floor_f32(x);
    f32 fy = floor_f32(y);
    i32 ix = (i32)fx;
    i32 iy = (i32)fy;
    x -= fx;
    y -= fy;
    f32 u = fade(x);
    f32 v = fade(y);
    f32 top = mix(slope(lattice(ix, iy), x, y), slope(lattice(ix + 1, iy), x - 1.0f, y), u);
    f32 low = mix(slope(lattice(ix, iy + 1), x, y - 1.0f), slope(lattice(ix + 1, iy + 1), x - 1.0f, y - 1.0f), u);
    return mix(top, low, v);
}

// launch noise_octaves grid 2,2 block 8,8 args f32[256]=zero u32:16 u32:4 f32:0.21
KERNEL noise_octaves(f32 *out, u32 width, u32 octaves, f32 step) {
    f32 sum = 0.0f;
    f32 weight = 1.0f;
    f32 x = (f32)global_x() * step - 1.5f;
    f32 y = (f32)global_y() * step - 0.7f;
    for (u32 k = 0; k < octaves; k++) {
        sum += weight * gradient_noise(x, y);
        weight *= 0.5f;
        x *= 2.0f;
        y *= 2.0f;
    }
    out[global_y() * width + global_x()] = sum;
}

// launch noise_cells grid 2,2 block 8,8 args f32[256]=zero u32:16 f32:0.3
KERNEL noise_cells(f32 *out, u32 width, f32 step) {
    f32 x = (f32)global_x() * step;
    f32 y = (f32)global_y() * step;
    i32 ix = (i32)x;
    i32 iy = (i32)y;
    f32 nearest = 8.0f;
    for (i32 dy = -1; dy <= 1; dy++) {
        for (i32 dx = -1; dx <= 1; dx++) {
            u32 h = lattice(ix + dx, iy + dy);
            f32 px = (f32)(ix + dx) + (f32)(h & 0xff) / 256.0f - x;
            f32 py = (f32)(iy + dy) + (f32)(h >> 8 & 0xff) / 256.0f - y;
            nearest = min_f32(nearest, px * px + py * py);
        }
    }
    out[global_y() * width + global_x()] = sqrt_f32(nearest);
}
