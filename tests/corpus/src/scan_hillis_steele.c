// Inclusive prefix sum of one block, doubling the reach each round, in two buffers that swap roles.

#include "gpu.h"

#define WIDTH 128

// launch scan_hillis_steele grid 2 block 128 args u32[256]=below:100 u32[256]=zero
KERNEL scan_hillis_steele(const u32 *in, u32 *out) {
    SHARED u32 buffer[2][WIDTH];
    u32 t = thread_x();
    u32 from = 0;
    buffer[from][t] = in[global_x()];
    barrier();
    for (u32 reach = 1; reach < WIDTH; reach *= 2) {
        u32 sum = buffer[from][t];
        if (t >= reach) sum += buffer[from][t - reach];
        buffer[1 - from][t] = sum;
        from = 1 - from;
        barrier();
    }
    out[global_x()] = buffer[from][t];
}
