// PageRank by pulling along incoming edges, and the error between two rounds.

#include "gpu.h"

// launch pagerank_pull grid 2 block 32 args u32[51]=step:4 u32[200]=below:50 f32[50]=unit u32[50]=step:1 f32[50]=zero u32:50 f32:0.85
KERNEL pagerank_pull(const u32 *starts, const u32 *sources, const f32 *rank, const u32 *out_degree, f32 *next, u32 vertices,
                     f32 damping) {
    u32 v = global_x();
    if (v >= vertices) return;
    f32 sum = 0.0f;
    for (u32 e = starts[v]; e < starts[v + 1]; e++) {
        u32 w = sources[e];
        u32 degree = out_degree[w];
        if (degree != 0) sum += rank[w] / (f32)degree;
    }
    next[v] = (1.0f - damping) / (f32)vertices + damping * sum;
}

// launch pagerank_error grid 1 block 64 args f32[50]=unit f32[50]=unit f32[1]=zero u32:50
KERNEL pagerank_error(const f32 *old, const f32 *new, f32 *error, u32 vertices) {
    SHARED f32 part[64];
    u32 t = thread_x();
    part[t] = t < vertices ? abs_f32(old[t] - new[t]) : 0.0f;
    barrier();
    for (u32 half = 32; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        barrier();
    }
    if (t == 0) *error = part[0];
}
