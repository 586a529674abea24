// A sphere-traced picture of a few solids: small helper functions, vectors by value, and a loop each
// thread leaves when it hits something.

#include "gpu.h"

struct vector {
    f32 x, y, z;
};

INLINE struct vector vector(f32 x, f32 y, f32 z) { return (struct vector){x, y, z}; }
INLINE struct vector along(struct vector p, struct vector d, f32 t) { return vector(p.x + d.x * t, p.y + d.y * t, p.z + d.z * t); }
INLINE f32 dot(struct vector a, struct vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE f32 length(struct vector a) { return sqrt_f32(dot(a, a)); }
INLINE struct vector unit(struct vector a) {
    f32 scale = rsqrt_fast(dot(a, a));
    return vector(a.x * scale, a.y * scale, a.z * scale);
}

HELPER f32 distance_box(struct vector p, struct vector half) {
    f32 x = abs_f32(p.x) - half.x;
    f32 y = abs_f32(p.y) - half.y;
    f32 z = abs_f32(p.z) - half.z;
    f32 outside = length(vector(max_f32(x, 0.0f), max_f32(y, 0.0f), max_f32(z, 0.0f)));
    return outside + min_f32(max_f32(x, max_f32(y, z)), 0.0f);
}

HELPER f32 distance_torus(struct vector p, f32 large, f32 small) {
    f32 ring = sqrt_f32(p.x * p.x + p.z * p.z) - large;
    return sqrt_f32(ring * ring + p.y * p.y) - small;
}

HELPER f32 scene(struct vector p, f32 time) {
    f32 sphere = length(vector(p.x - time, p.y, p.z)) - 0.7f;
    f32 box = distance_box(vector(p.x + 1.0f, p.y, p.z), vector(0.4f, 0.4f, 0.4f));
    f32 torus = distance_torus(p, 1.6f, 0.2f);
    return min_f32(min_f32(sphere, box), min_f32(torus, p.y + 1.0f));
}

// launch ray_march grid 2,2 block 8,8 args u32[256]=zero u32:16 u32:16 f32:0.3
KERNEL ray_march(u32 *pixels, u32 width, u32 height, f32 time) {
    u32 px = global_x();
    u32 py = global_y();
    if (px >= width || py >= height) return;
    struct vector eye = vector(0.0f, 0.6f, -4.0f);
    struct vector ray = unit(vector((f32)px / (f32)width - 0.5f, 0.5f - (f32)py / (f32)height, 1.0f));
    f32 t = 0.0f;
    u32 hit = 0;
    for (u32 step = 0; step < 48 && t < 20.0f; step++) {
        f32 d = scene(along(eye, ray, t), time);
        if (d < 0.002f) {
            hit = 1;
            break;
        }
        t += d;
    }
    u32 shade = 0;
    if (hit) {
        struct vector p = along(eye, ray, t);
        f32 here = scene(p, time);
        struct vector normal = unit(vector(scene(vector(p.x + 0.01f, p.y, p.z), time) - here,
                                           scene(vector(p.x, p.y + 0.01f, p.z), time) - here,
                                           scene(vector(p.x, p.y, p.z + 0.01f), time) - here));
        f32 light = max_f32(dot(normal, unit(vector(0.5f, 1.0f, -0.7f))), 0.0f);
        shade = (u32)(min_f32(light, 1.0f) * 254.0f) + 1;
    }
    pixels[py * width + px] = shade << 16 | shade << 8 | shade;
}
