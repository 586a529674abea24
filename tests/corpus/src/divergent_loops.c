// Loops whose length differs in every lane, nested, with breaks, continues and returns from the inside.

#include "gpu.h"

// launch collatz grid 2 block 32 args u32[64]=below:1000 u32[64]=zero u32:400
KERNEL collatz(const u32 *in, u32 *steps, u32 steps_max) {
    u64 n = in[global_x()] + 1;
    u32 step = 0;
    while (n != 1 && step < steps_max) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        step++;
    }
    steps[global_x()] = step;
}

// launch nested_escape grid 1 block 32 args u32[32]=below:200 u32[32]=zero
KERNEL nested_escape(const u32 *in, u32 *out) {
    u32 x = in[global_x()];
    u32 sum = 0;
    for (u32 i = 1; i < 12; i++) {
        if (i % 3 == x % 3) continue;
        for (u32 j = i; j < 12; j++) {
            if ((i * j) % 7 == x % 7) break;
            for (u32 k = j; k < 12; k++) {
                u32 volume = i * j * k;
                if (volume == x) {
                    out[global_x()] = i << 16 | j << 8 | k;
                    return;
                }
                if (volume > x) goto next_row;
                sum += volume;
            }
        }
    next_row:
        sum ^= i;
    }
    out[global_x()] = sum | 0x80000000u;
}

// launch sieve grid 1 block 32 args u32[32]=zero u32:200
KERNEL sieve(u32 *counts, u32 each) {
    u32 start = 2 + global_x() * each;
    u32 count = 0;
    for (u32 n = start; n < start + each; n++) {
        u32 prime = 1;
        for (u32 d = 2; d * d <= n; d++) {
            if (n % d == 0) {
                prime = 0;
                break;
            }
        }
        count += prime;
    }
    counts[global_x()] = count;
}

// launch ladder grid 1 block 32 args i32[32]=bits u32[32]=zero
KERNEL ladder(const i32 *in, u32 *out) {
    i32 x = in[global_x()] >> 20;
    u32 r = 0;
    if (x < 0) {
        if (x < -1000) r = x & 1 ? 1 : 2;
        else if (x < -500) r = 3;
        else {
            do {
                r += 5;
                x += 37;
            } while (x < 0);
        }
    } else if (x & 4) {
        r = x > 700 && (x & 2 || x % 5 == 0) ? 6 : 7;
    } else {
        for (r = 8; x > 0; x -= (i32)r) r++;
    }
    out[global_x()] = r;
}
