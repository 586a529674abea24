// What threads of a warp, block and grid do together: votes, shuffles, matches, barriers, atomics in every scope and size.
// needs compute_80

extern "C" __global__ void votes(int* x) {
    unsigned full = 0xffffffffu;
    int v = x[threadIdx.x];
    unsigned b = __ballot_sync(full, v > 3);
    int all = __all_sync(b, v > 4), any = __any_sync(b, v > 5);
    v += __shfl_sync(full, v, 7) + __shfl_up_sync(full, v, 1, 16) + __shfl_down_sync(full, v, 2) + __shfl_xor_sync(full, v, 4);
    double d = __shfl_xor_sync(full, (double)v, 8);
    v += __reduce_add_sync(full, v) + __reduce_max_sync(full, v) ^ __reduce_xor_sync(full, (unsigned)v);
    int same;
    unsigned m = __match_any_sync(full, v) + __match_all_sync(full, (long long)v, &same);
    __syncwarp(m);
    unsigned lanes;
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(lanes));
    x[threadIdx.x] = v + __popc(b) + all + any + m + same + (int)d + __activemask() + __fns(b, 0, 3) + lanes;
}

extern "C" __global__ void __launch_bounds__(256, 2) barriers(int* x) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    int n = __syncthreads_count(s[t ^ 1] > 0);
    int a = __syncthreads_and(s[t] > 0), o = __syncthreads_or(s[t] < 0);
    asm volatile("bar.sync 1, 128;" ::: "memory");
    asm volatile("barrier.cta.arrive 2, 256;" ::: "memory");
    asm volatile("barrier.cta.sync.aligned 2, 256;" ::: "memory");
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    __nanosleep(20);
    x[t] = n + a + o + (int)clock() + (int)clock64();
    if (n == 7) __trap();
    if (n == 8) __brkpt();
    if (n == 9) asm volatile("exit;");
    __prof_trigger(3);
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, unsigned short* h) {
    int v = i[0];
    atomicAdd(i, v); atomicSub(i + 1, v); atomicExch(i + 2, v); atomicMin(i + 3, v); atomicMax(i + 4, v);
    atomicInc(u, 17u); atomicDec(u + 1, 17u); atomicAnd(u + 2, 3u); atomicOr(u + 3, 4u); atomicXor(u + 4, 5u);
    atomicCAS(u + 5, 6u, 7u); atomicCAS(h, (unsigned short)1, (unsigned short)2);
    atomicAdd(l, 1ull); atomicMax(l + 1, 3ull); atomicCAS(l + 2, 0ull, 1ull); atomicMin((long long*)l + 3, -4ll);
    f[1] = atomicAdd(f, 1.5f); f[3] = atomicExch(f + 2, 2.5f);
    d[1] = atomicAdd(d, 0.25);
    atomicAdd_block(i + 6, 1); atomicAdd_system(i + 7, 1); atomicCAS_system(i + 8, 1, 2); atomicOr_block(u + 9, 1u);
    __shared__ int s[4];
    s[threadIdx.x & 3] = 0;
    __syncthreads();
    i[9] = atomicAdd(&s[0], v) + atomicMax(&s[1], v) + atomicCAS(&s[2], 1, v);
}

// Atomic updates that no instruction does: a compare-and-swap loop.
__device__ float atomic_multiply(float* at, float by) {
    int old = __float_as_int(*at), seen;
    do {
        seen = old;
        old = atomicCAS((int*)at, seen, __float_as_int(__int_as_float(seen) * by));
    } while (seen != old);
    return __int_as_float(old);
}

extern "C" __global__ void product(float* x, float* out, int n) {
    float mine = 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine *= x[i];
    for (int step = 16; step; step /= 2) mine *= __shfl_down_sync(~0u, mine, step);
    if ((threadIdx.x & 31) == 0) atomic_multiply(out, mine);
}

extern "C" __global__ void grid_lock(int* lock, int* value) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1)) __nanosleep(32);
        __threadfence();
        *(volatile int*)value += blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}
