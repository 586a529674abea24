// Functions that call themselves and each other, with a depth the arguments bound.

#include "gpu.h"

HELPER u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

HELPER u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

HELPER int is_odd(u32 n);
HELPER int is_even(u32 n) { return n == 0 ? 1 : is_odd(n - 1); }
HELPER int is_odd(u32 n) { return n == 0 ? 0 : is_even(n - 1); }

HELPER u32 hanoi(u32 discs, u32 from, u32 to, u32 digest) {
    if (discs == 0) return digest;
    digest = hanoi(discs - 1, from, 3 - from - to, digest);
    digest = digest * 31 + from * 3 + to;
    return hanoi(discs - 1, 3 - from - to, to, digest);
}

// launch recursion grid 1 block 32 args u32[128]=zero
KERNEL recursion(u32 *out) {
    u32 t = thread_x();
    u32 *mine = out + global_x() * 4;
    mine[0] = fibonacci(t % 9);
    mine[1] = ackermann(t % 3, t % 4);
    mine[2] = (u32)is_even(t);
    mine[3] = hanoi(t % 5, 0, 2, t);
}

HELPER void sort_range(i32 *keys, i32 low, i32 high) {
    while (low < high) {
        i32 pivot = keys[(low + high) / 2];
        i32 i = low;
        i32 j = high;
        while (i <= j) {
            while (keys[i] < pivot) i++;
            while (keys[j] > pivot) j--;
            if (i <= j) {
                i32 kept = keys[i];
                keys[i++] = keys[j];
                keys[j--] = kept;
            }
        }
        // Recurse into the smaller side only, so that the stack stays as deep as the logarithm.
        if (j - low < high - i) {
            sort_range(keys, low, j);
            low = i;
        } else {
            sort_range(keys, i, high);
            high = j;
        }
    }
}

// launch quicksort_recursive grid 1 block 16 args i32[512]=bits i32:32
KERNEL quicksort_recursive(i32 *keys, i32 each) { sort_range(keys + (i32)global_x() * each, 0, each - 1); }
