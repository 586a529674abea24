// printf and assert: variable arguments, string constants, calls out of the module.

extern "C" __device__ __noinline__ void __assertfail(const char*, const char*, unsigned, const char*, unsigned long);
#define assert(x) ((x) ? (void)0 : __assertfail(#x, "printing.cu", __LINE__, __func__, 1))

extern "C" __global__ void report(const float* x, const int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n);
    if (x[i] < 0) printf("thread %d of block %u: %f is negative, %s\n", threadIdx.x, blockIdx.x, x[i], y[i] ? "twice" : "once");
    if (y[i] == 42) printf("%c%5d%%|%llx|%p\n", 'a' + i % 26, y[i], (unsigned long long)i << 40, x);
}

template <typename... T>
__device__ __noinline__ int count(const char* text, T... values) {
    int n = 0;
    ((n += (int)values), ...);
    printf("%s %d\n", text, n);
    return n;
}

extern "C" __global__ void variadic(int* out, double d) {
    out[threadIdx.x] = count("three", 1, 2.5f, d) + count("none") + count("chars", 'x', (short)-3, true, 5ull);
}
