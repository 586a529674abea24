// All shortest paths: one round of Floyd-Warshall over the matrix, and all rounds of a small graph in
// shared memory with the first step of each path.

#include "gpu.h"

#define SIZE 12
#define FAR 1000000u

// launch floyd_round grid 2,2 block 8,8 args u32[196]=below:100 u32:14 u32:3
KERNEL floyd_round(u32 *distance, u32 size, u32 middle) {
    u32 to = global_x();
    u32 from = global_y();
    // Row and column `middle` do not change in this round, so nobody reads what another writes.
    if (to >= size || from >= size || to == middle || from == middle) return;
    u32 round = distance[from * size + middle] + distance[middle * size + to];
    if (round < distance[from * size + to]) distance[from * size + to] = round;
}

// launch floyd_block grid 1 block 12,12 args u32[144]=below:60 u32[144]=zero u8[144]=zero
KERNEL floyd_block(const u32 *edges, u32 *distance, u8 *next) {
    SHARED u32 d[SIZE][SIZE];
    SHARED u8 step[SIZE][SIZE];
    u32 to = thread_x();
    u32 from = thread_y();
    u32 edge = edges[from * SIZE + to];
    d[from][to] = from == to ? 0 : edge < 30 ? edge + 1 : FAR;
    step[from][to] = (u8)to;
    barrier();
    for (u32 middle = 0; middle < SIZE; middle++) {
        u32 round = d[from][middle] + d[middle][to];
        u8 first = step[from][middle];
        barrier();
        if (round < d[from][to]) {
            d[from][to] = round;
            step[from][to] = first;
        }
        barrier();
    }
    distance[from * SIZE + to] = d[from][to];
    next[from * SIZE + to] = step[from][to];
}
