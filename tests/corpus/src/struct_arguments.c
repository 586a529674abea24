// Records by value: as kernel parameters, into and out of functions, arrays of records, unions and bit fields.

#include "gpu.h"

struct small {
    u8 tag;
    u16 width;
};
struct large {
    f64 scale;
    i32 offsets[5];
    struct small head;
    f32 *out;
};
struct packed {
    u32 low : 5;
    i32 middle : 9;
    u32 high : 18;
};
union number {
    f32 real;
    u32 bits;
    u8 bytes[4];
};

HELPER struct large shifted(struct large r, i32 by) {
    for (u32 k = 0; k < 5; k++) r.offsets[k] += by * (i32)k;
    r.scale *= 2.0;
    return r;
}

HELPER struct small made(u8 tag, u16 width) { return (struct small){(u8)(tag + 1), (u16)(width * 3)}; }

// launch record_by_value grid 1 block 32 args value[40]=list:0,0,0,0,0,0,248,63,1,0,0,0,2,0,0,0,3,0,0,0,4,0,0,0,5,0,0,0,7,0,9,0 value[4]=list:3,0,44,1 f32[32]=zero
KERNEL record_by_value(struct large r, struct small s, f32 *out) {
    struct large moved = shifted(r, (i32)thread_x());
    struct small head = made(s.tag, s.width);
    out[global_x()] = (f32)(moved.scale * moved.offsets[thread_x() % 5]) + head.tag + head.width;
}

// launch record_fields grid 1 block 32 args u32[32]=bits i32[96]=zero
KERNEL record_fields(const struct packed *in, i32 *out) {
    struct packed p = in[global_x()];
    out[3 * global_x()] = (i32)p.low;
    out[3 * global_x() + 1] = p.middle;
    p.high += 7;
    p.middle = (i32)(p.low & 3) - 2;
    out[3 * global_x() + 2] = (i32)__builtin_bit_cast(u32, p);
}

// launch record_union grid 1 block 32 args f32[32]=signed u32[32]=zero
KERNEL record_union(const f32 *in, u32 *out) {
    union number n;
    n.real = in[global_x()];
    n.bytes[thread_x() % 3] ^= 0x5a;
    out[global_x()] = n.bits;
}

struct particle {
    f32 place[3];
    f32 speed[3];
    u8 alive;
    i16 kind;
};

// launch record_array grid 1 block 16 args u8[448]=bits f32:0.5 u32:16
KERNEL record_array(struct particle *particles, f32 dt, u32 count) {
    u32 i = global_x();
    if (i >= count) return;
    struct particle p = particles[i];
    if (p.kind < 0) p.alive = 0;
    // Fill patterns may be any bits, so work on a clean copy.
    UNROLL for (u32 a = 0; a < 3; a++) {
        f32 speed = (f32)(bits_of_f32(p.speed[a]) & 0xff) * 0.01f;
        p.place[a] = (f32)(bits_of_f32(p.place[a]) & 0xff) + speed * dt;
        p.speed[a] = speed;
    }
    particles[i] = p;
}
