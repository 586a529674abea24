// Counter-based random numbers (Philox, ten rounds of two wide multiplications) and normals by Box-Muller.

#include "gpu.h"

INLINE u32x4 philox(u32x4 counter, u32 key0, u32 key1) {
    for (u32 round = 0; round < 10; round++) {
        u64 a = (u64)counter[0] * 0xd2511f53u;
        u64 b = (u64)counter[2] * 0xcd9e8d57u;
        counter = (u32x4){(u32)(b >> 32) ^ counter[1] ^ key0, (u32)b, (u32)(a >> 32) ^ counter[3] ^ key1, (u32)a};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

// launch philox_bits grid 2 block 32 args u32x4[64]=zero u64:0x123456789abcdef0 u32:7
KERNEL philox_bits(u32x4 *out, u64 seed, u32 offset) {
    out[global_x()] = philox((u32x4){global_x(), offset, 0, 0}, (u32)seed, (u32)(seed >> 32));
}

// launch philox_normals grid 1 block 32 args f32[128]=zero u64:99 f32:1.0 f32:0.5
KERNEL philox_normals(f32 *out, u64 seed, f32 mean, f32 deviation) {
    u32x4 bits = philox((u32x4){global_x(), 0, 0, 1}, (u32)seed, (u32)(seed >> 32));
    for (u32 k = 0; k < 4; k += 2) {
        f32 u = ((f32)(bits[k] >> 8) + 0.5f) * 0x1p-24f;
        f32 angle = (f32)(bits[k + 1] >> 8) * (0x1p-24f * 6.2831853f);
        f32 radius = sqrt_f32(-2.0f * log_fast(u));
        out[global_x() * 4 + k] = mean + deviation * radius * cos_fast(angle);
        out[global_x() * 4 + k + 1] = mean + deviation * radius * sin_fast(angle);
    }
}
