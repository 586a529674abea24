// Reductions, scans, histograms and run-length decoding of warps and blocks, from the library headers.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

struct Moments { float sum, squares; int count; };
struct Join {
    __device__ Moments operator()(const Moments& a, const Moments& b) const {
        return {a.sum + b.sum, a.squares + b.squares, a.count + b.count};
    }
};
struct Differ { __device__ bool operator()(int a, int b) const { return a != b; } };
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };

extern "C" __global__ void moments(const float* x, Moments* out) {
    using Reduce = cub::BlockReduce<Moments, 256, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename Reduce::TempStorage s;
    float v = x[blockIdx.x * 256 + threadIdx.x];
    Moments m = Reduce(s).Reduce(Moments{v, v * v, 1}, Join());
    if (threadIdx.x == 0) out[blockIdx.x] = m;
}

template <typename T, cub::BlockReduceAlgorithm HOW>
__global__ void sums(const T* x, T* out) {
    using Reduce = cub::BlockReduce<T, 128, HOW>;
    __shared__ typename Reduce::TempStorage s;
    T v[4];
    for (int i = 0; i < 4; ++i) v[i] = x[i * 128 + threadIdx.x];
    T total = Reduce(s).Sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
template __global__ void sums<int, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const int*, int*);
template __global__ void sums<double, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const double*, double*);

template <typename T, cub::BlockScanAlgorithm HOW>
__global__ void scans(T* x) {
    using Scan = cub::BlockScan<T, 128, HOW>;
    __shared__ typename Scan::TempStorage s;
    T v[3], total;
    for (int i = 0; i < 3; ++i) v[i] = x[threadIdx.x * 3 + i];
    Scan(s).ExclusiveSum(v, v, total);
    for (int i = 0; i < 3; ++i) x[threadIdx.x * 3 + i] = v[i] + total;
}
template __global__ void scans<int, cub::BLOCK_SCAN_WARP_SCANS>(int*);
template __global__ void scans<float, cub::BLOCK_SCAN_RAKING>(float*);
template __global__ void scans<unsigned long long, cub::BLOCK_SCAN_RAKING_MEMOIZE>(unsigned long long*);

extern "C" __global__ void edges(const int* x, int* out) {
    using Heads = cub::BlockDiscontinuity<int, 128>;
    using Steps = cub::BlockAdjacentDifference<int, 128>;
    __shared__ union { typename Heads::TempStorage heads; typename Steps::TempStorage steps; } s;
    int v[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]}, head[2], step[2];
    Heads(s.heads).FlagHeads(head, v, Differ());
    __syncthreads();
    Steps(s.steps).SubtractLeft(v, step, Minus());
    out[threadIdx.x] = head[0] + head[1] * 2 + step[0] + step[1];
}

extern "C" __global__ void counts(const unsigned char* x, unsigned* out) {
    using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
    __shared__ typename Histogram::TempStorage s;
    __shared__ unsigned bins[256];
    unsigned char v[4];
    for (int i = 0; i < 4; ++i) v[i] = x[threadIdx.x * 4 + i];
    Histogram(s).Histogram(v, bins);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(out + i, bins[i]);
}

extern "C" __global__ void warps(const float* x, float* out) {
    __shared__ typename cub::WarpReduce<float>::TempStorage r[4];
    __shared__ typename cub::WarpScan<double, 16>::TempStorage s[8];
    float sum = cub::WarpReduce<float>(r[threadIdx.x / 32]).HeadSegmentedSum(x[threadIdx.x], x[threadIdx.x] > 1);
    double scan;
    cub::WarpScan<double, 16>(s[threadIdx.x / 16]).InclusiveSum(x[threadIdx.x], scan);
    out[threadIdx.x] = sum + (float)scan;
}
