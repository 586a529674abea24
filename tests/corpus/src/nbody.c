// Gravity between all pairs of bodies, a tile of bodies at a time through shared memory, and the leapfrog step.

#include "gpu.h"

#define TILE 32

// launch nbody_forces grid 2 block 32 args f32x4[60]=signed f32x4[60]=zero u32:60 f32:0.01
KERNEL nbody_forces(const f32x4 *bodies, f32x4 *pulls, u32 count, f32 softening) {
    SHARED f32x4 tile[TILE];
    u32 i = global_x();
    f32x4 me = i < count ? bodies[i] : (f32x4){};
    f32 px = 0.0f;
    f32 py = 0.0f;
    f32 pz = 0.0f;
    for (u32 base = 0; base < count; base += TILE) {
        tile[thread_x()] = base + thread_x() < count ? bodies[base + thread_x()] : (f32x4){};
        barrier();
        UNROLL for (u32 j = 0; j < TILE; j++) {
            f32x4 other = tile[j];
            f32 dx = other[0] - me[0];
            f32 dy = other[1] - me[1];
            f32 dz = other[2] - me[2];
            f32 inverse = rsqrt_fast(dx * dx + dy * dy + dz * dz + softening);
            f32 strength = other[3] * inverse * inverse * inverse;
            px += dx * strength;
            py += dy * strength;
            pz += dz * strength;
        }
        barrier();
    }
    if (i < count) pulls[i] = (f32x4){px, py, pz, 0.0f};
}

// launch nbody_step grid 1 block 64 args f32x4[60]=signed f32x4[60]=signed f32x4[60]=signed u32:60 f32:0.01
KERNEL nbody_step(f32x4 *bodies, f32x4 *speeds, const f32x4 *pulls, u32 count, f32 dt) {
    u32 i = global_x();
    if (i >= count) return;
    f32x4 speed = speeds[i] + pulls[i] * dt;
    f32x4 body = bodies[i];
    f32 mass = body[3];
    body += speed * dt;
    body[3] = mass;
    speeds[i] = speed;
    bodies[i] = body;
}
