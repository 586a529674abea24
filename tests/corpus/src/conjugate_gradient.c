// The steps of the conjugate gradient method on a dense system, and the whole method in one block.

#include "gpu.h"

#define SIZE 32

INLINE f64 block_dot(IN_SHARED f64 *part, f64 value) {
    u32 t = thread_x();
    barrier();
    part[t] = value;
    barrier();
    for (u32 half = SIZE / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    return part[0];
}

// launch conjugate_gradient grid 1 block 32 args f64[1024]=unit f64[32]=signed f64[32]=zero u32[1]=zero u32:20 f64:0.000000000001
KERNEL conjugate_gradient(const f64 *half, const f64 *right, f64 *x, u32 *rounds_taken, u32 rounds_max, f64 tolerance) {
    // The matrix is half plus its transpose, with a diagonal large enough to make it positive definite.
    SHARED f64 direction[SIZE];
    SHARED f64 part[SIZE];
    u32 t = thread_x();
    f64 mine = 0.0;
    f64 residual = right[t];
    direction[t] = residual;
    f64 square = block_dot(part, residual * residual);
    u32 round = 0;
    while (round < rounds_max && square > tolerance) {
        f64 image = 2.0 * SIZE * direction[t];
        for (u32 k = 0; k < SIZE; k++) image += (half[t * SIZE + k] + half[k * SIZE + t]) * direction[k];
        f64 step = square / block_dot(part, direction[t] * image);
        mine += step * direction[t];
        residual -= step * image;
        f64 next = block_dot(part, residual * residual);
        direction[t] = residual + next / square * direction[t];
        square = next;
        round++;
        barrier();
    }
    x[t] = mine;
    if (t == 0) *rounds_taken = round;
}

// launch gradient_update grid 2 block 32 args f32[64]=signed f32[64]=signed f32[64]=signed f32[64]=signed f32[1]=unit f32[1]=unit u32:60
KERNEL gradient_update(f32 *x, f32 *residual, const f32 *direction, const f32 *image, const f32 *square, const f32 *energy, u32 size) {
    u32 i = global_x();
    if (i >= size) return;
    f32 step = *square / (*energy + 1e-6f);
    x[i] = fma_f32(step, direction[i], x[i]);
    residual[i] = fma_f32(-step, image[i], residual[i]);
}
