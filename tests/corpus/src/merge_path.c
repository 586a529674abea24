// Merge of two sorted arrays: each thread finds its diagonal by bisection, then merges its few elements.

#include "gpu.h"

#define EACH 5

INLINE u32 split_at(const u32 *a, u32 a_size, const u32 *b, u32 b_size, u32 diagonal) {
    u32 low = diagonal > b_size ? diagonal - b_size : 0;
    u32 high = min_u32(diagonal, a_size);
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    return low;
}

// launch merge_path grid 2 block 32 args u32[100]=step:7 u32[70]=step:11 u32[170]=zero u32:100 u32:70
KERNEL merge_path(const u32 *a, const u32 *b, u32 *out, u32 a_size, u32 b_size) {
    u32 diagonal = global_x() * EACH;
    if (diagonal >= a_size + b_size) return;
    u32 i = split_at(a, a_size, b, b_size, diagonal);
    u32 j = diagonal - i;
    u32 stop = min_u32(diagonal + EACH, a_size + b_size);
    for (u32 k = diagonal; k < stop; k++) {
        int take_a = i < a_size && (j >= b_size || a[i] <= b[j]);
        out[k] = take_a ? a[i++] : b[j++];
    }
}

// launch merge_sort_pass grid 1 block 32 args i32[100]=bits i32[100]=zero u32:100 u32:1
KERNEL merge_sort_pass(const i32 *in, i32 *out, u32 size, u32 run) {
    u32 start = global_x() * 2 * run;
    if (start >= size) return;
    u32 middle = min_u32(start + run, size);
    u32 stop = min_u32(start + 2 * run, size);
    u32 i = start;
    u32 j = middle;
    for (u32 k = start; k < stop; k++) {
        if (i < middle && (j >= stop || in[i] <= in[j])) out[k] = in[i++];
        else out[k] = in[j++];
    }
}
