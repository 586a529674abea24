// A 16-point Fourier transform held wholly in one thread's registers, two rounds of radix 4, fully unrolled.

#include "gpu.h"

struct complex {
    f32 re;
    f32 im;
};

CONSTANT f32 cosines[16] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f, -0.38268343f, -0.70710678f, -0.92387953f,
                            -1.0f, -0.92387953f, -0.70710678f, -0.38268343f, 0.0f, 0.38268343f, 0.70710678f, 0.92387953f};

INLINE struct complex add(struct complex a, struct complex b) { return (struct complex){a.re + b.re, a.im + b.im}; }
INLINE struct complex subtract(struct complex a, struct complex b) { return (struct complex){a.re - b.re, a.im - b.im}; }
INLINE struct complex quarter_turn(struct complex a) { return (struct complex){a.im, -a.re}; }
INLINE struct complex turn(struct complex a, u32 sixteenths) {
    f32 c = cosines[sixteenths % 16];
    f32 s = -cosines[(sixteenths + 12) % 16];
    return (struct complex){a.re * c - a.im * s, a.re * s + a.im * c};
}

INLINE void butterfly4(struct complex *x0, struct complex *x1, struct complex *x2, struct complex *x3) {
    struct complex a = add(*x0, *x2);
    struct complex b = subtract(*x0, *x2);
    struct complex c = add(*x1, *x3);
    struct complex d = quarter_turn(subtract(*x1, *x3));
    *x0 = add(a, c);
    *x1 = add(b, d);
    *x2 = subtract(a, c);
    *x3 = subtract(b, d);
}

// launch fft_registers grid 1 block 32 args f32[1024]=signed f32[1024]=zero u32:32
KERNEL fft_registers(const f32 *in, f32 *out, u32 count) {
    u32 i = global_x();
    if (i >= count) return;
    struct complex x[16];
    UNROLL for (u32 k = 0; k < 16; k++) x[k] = (struct complex){in[(i * 16 + k) * 2], in[(i * 16 + k) * 2 + 1]};
    UNROLL for (u32 k = 0; k < 4; k++) butterfly4(&x[k], &x[k + 4], &x[k + 8], &x[k + 12]);
    UNROLL for (u32 k = 0; k < 4; k++) {
        UNROLL for (u32 j = 1; j < 4; j++) x[4 * j + k] = turn(x[4 * j + k], j * k);
    }
    UNROLL for (u32 k = 0; k < 4; k++) butterfly4(&x[4 * k], &x[4 * k + 1], &x[4 * k + 2], &x[4 * k + 3]);
    // Element 4 j + k now holds frequency 4 k + j.
    UNROLL for (u32 k = 0; k < 16; k++) {
        u32 frequency = k % 4 * 4 + k / 4;
        out[(i * 16 + frequency) * 2] = x[k].re;
        out[(i * 16 + frequency) * 2 + 1] = x[k].im;
    }
}
