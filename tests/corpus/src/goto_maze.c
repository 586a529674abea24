// Control flow that no loop statement makes: loops with two entries, jumps between loop bodies, and a
// state machine through computed labels.

#include "gpu.h"

// launch two_entries grid 1 block 32 args u32[32]=below:100 u32[32]=zero
KERNEL two_entries(const u32 *in, u32 *out) {
    u32 x = in[global_x()];
    u32 digest = 0;
    u32 fuel = 60;
    if (x & 1) goto inside;
top:
    digest = digest * 3 + x;
    if (fuel == 0) goto done;
    x = x * 5 + 1;
inside:
    fuel--;
    digest ^= x << (fuel & 7);
    if (fuel > 0 && x % 4 != 3) {
        x += fuel;
        goto top;
    }
    if (fuel > 10) {
        x = x / 2 + 1;
        goto inside;
    }
done:
    out[global_x()] = digest + fuel;
}

// launch crossing_loops grid 1 block 32 args u32[32]=below:64 u32[32]=zero
KERNEL crossing_loops(const u32 *in, u32 *out) {
    u32 x = in[global_x()];
    u32 a = 0;
    u32 b = 0;
    u32 fuel = 80;
first:
    a += x;
    if (fuel-- == 0) goto done;
    if (a % 3 == 0) goto second_middle;
    if (a % 5 == 1) goto first_middle;
    goto second;
first_middle:
    b ^= a;
    if (b % 7 < 3) goto first;
second:
    b += 2 * x + 1;
    if (fuel-- == 0) goto done;
    if (b % 2 == 0) goto first_middle;
second_middle:
    a = a * 2 + b % 5;
    if (a % 11 < 6) goto second;
    if (fuel > 5) goto first;
done:
    out[global_x()] = a ^ b << 16;
}

// launch computed_labels grid 1 block 32 args u8[16]=list:0,1,2,3,1,1,4,0,2,5,3,0,1,4,5,6 u32[32]=below:1000 u32[32]=zero u32:16
KERNEL computed_labels(const u8 *program, const u32 *in, u32 *out, u32 size) {
    // A threaded interpreter: every operation jumps straight to the next one's code.
    u32 x = in[global_x()];
    u32 at = 0;
#define NEXT                          \
    if (at >= size) goto finished;    \
    switch (program[at++]) {          \
    case 0: goto op_add;              \
    case 1: goto op_double;           \
    case 2: goto op_turn;             \
    case 3: goto op_skip;             \
    case 4: goto op_mix;              \
    case 5: goto op_shrink;           \
    default: goto finished;           \
    }
    NEXT
op_add:
    x += 17;
    NEXT
op_double:
    x *= 2;
    NEXT
op_turn:
    x = rotate_left(x, 5);
    NEXT
op_skip:
    at += x & 1;
    NEXT
op_mix:
    x ^= x >> 3;
    NEXT
op_shrink:
    x /= 3;
    NEXT
finished:
    out[global_x()] = x;
}
