// Walking trees: boxes hit by a ray with a stack, a binary search tree by descent, and a heap repaired downward.

#include "gpu.h"

#define STACK 16

// launch box_tree grid 1 block 32 args f32[124]=unit f32[64]=unit u32[32]=zero u32:31
KERNEL box_tree(const f32 *boxes, const f32 *points, u32 *hits, u32 nodes) {
    // Node n has children 2 n + 1 and 2 n + 2; a box is its centre and half size, deep boxes are smaller.
    f32 x = points[2 * global_x()];
    f32 y = points[2 * global_x() + 1];
    u32 stack[STACK];
    u32 top = 0;
    u32 count = 0;
    stack[top++] = 0;
    while (top > 0) {
        u32 node = stack[--top];
        const f32 *box = boxes + 4 * node;
        if (abs_f32(x - box[0]) > 0.3f + box[2] || abs_f32(y - box[1]) > 0.3f + box[3]) continue;
        if (2 * node + 2 >= nodes) {
            count += node;
            continue;
        }
        trap_unless(top + 2 <= STACK);
        stack[top++] = 2 * node + 1;
        stack[top++] = 2 * node + 2;
    }
    hits[global_x()] = count;
}

// launch tree_search grid 1 block 32 args u32[64]=step:5 u32[32]=below:330 u32[32]=zero u32:64
KERNEL tree_search(const u32 *sorted, const u32 *wanted, u32 *places, u32 size) {
    u32 key = wanted[global_x()];
    u32 low = 0;
    u32 count = size;
    while (count > 0) {
        u32 half = count / 2;
        if (sorted[low + half] < key) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    places[global_x()] = low;
}

// launch heap_sort grid 1 block 16 args u32[320]=bits u32:20
KERNEL heap_sort(u32 *keys, u32 each) {
    u32 *heap = keys + global_x() * each;
    for (u32 round = 0; round < each / 2 + each - 1; round++) {
        u32 root = round < each / 2 ? each / 2 - 1 - round : 0;
        u32 size = round < each / 2 ? each : each - 1 - (round - each / 2);
        if (round >= each / 2) {
            u32 kept = heap[0];
            heap[0] = heap[size];
            heap[size] = kept;
        }
        u32 value = heap[root];
        for (;;) {
            u32 child = 2 * root + 1;
            if (child >= size) break;
            if (child + 1 < size && heap[child + 1] > heap[child]) child++;
            if (heap[child] <= value) break;
            heap[root] = heap[child];
            root = child;
        }
        heap[root] = value;
    }
}
