// What training does to each weight: Adam with decoupled decay, momentum, and clipping by the norm.

#include "gpu.h"

// launch adam_step grid 2 block 32 args f32[60]=signed f32[60]=signed f32[60]=signed f32[60]=unit u32:60 f32:0.001 f32:0.9 f32:0.999 f32:0.00000001 f32:0.01 f32:0.271 f32:0.002997
KERNEL adam_step(f32 *restrict weights, const f32 *restrict gradient, f32 *restrict mean, f32 *restrict square, u32 size, f32 rate,
                 f32 beta1, f32 beta2, f32 epsilon, f32 decay, f32 bias1, f32 bias2) {
    for (u32 i = global_x(); i < size; i += grid_stride()) {
        f32 g = gradient[i];
        f32 m = beta1 * mean[i] + (1.0f - beta1) * g;
        f32 v = beta2 * square[i] + (1.0f - beta2) * g * g;
        mean[i] = m;
        square[i] = v;
        f32 step = m / bias1 / (sqrt_f32(v / bias2) + epsilon);
        weights[i] -= rate * (step + decay * weights[i]);
    }
}

// launch momentum_step grid 2 block 32 args f16[60]=signed f16[60]=signed f32[60]=signed u32:60 f32:0.1 f32:0.9 u32:1
KERNEL momentum_step(f16 *weights, const f16 *gradient, f32 *speed, u32 size, f32 rate, f32 keep, u32 look_ahead) {
    u32 i = global_x();
    if (i >= size) return;
    f32 g = (f32)gradient[i];
    f32 v = keep * speed[i] + g;
    speed[i] = v;
    weights[i] = (f16)((f32)weights[i] - rate * (look_ahead ? g + keep * v : v));
}

// launch clip_by_norm grid 1 block 64 args f32[200]=signed u32:200 f32:1.0
KERNEL clip_by_norm(f32 *gradient, u32 size, f32 limit) {
    SHARED f32 part[64];
    u32 t = thread_x();
    f32 sum = 0.0f;
    for (u32 i = t; i < size; i += 64) sum += gradient[i] * gradient[i];
    part[t] = sum;
    barrier();
    for (u32 half = 32; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    f32 norm = sqrt_f32(part[0]);
    if (norm <= limit) return;
    for (u32 i = t; i < size; i += 64) gradient[i] *= limit / norm;
}
