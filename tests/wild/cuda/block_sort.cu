// Sorts of a block, from the library headers: large bodies, much shared memory.
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>

struct Less {
    template <typename T>
    __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};

template <typename K, typename V, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS) radix(const K* keys, const V* values, K* out_keys, V* out_values) {
    using Load = cub::BlockLoad<K, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<K, THREADS, ITEMS, V>;
    using Store = cub::BlockStore<K, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union { typename Load::TempStorage load; typename Sort::TempStorage sort; typename Store::TempStorage store; } s;
    K k[ITEMS];
    V v[ITEMS];
    Load(s.load).Load(keys + blockIdx.x * THREADS * ITEMS, k);
    for (int i = 0; i < ITEMS; ++i) v[i] = values[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i];
    __syncthreads();
    Sort(s.sort).Sort(k, v);
    __syncthreads();
    Store(s.store).Store(out_keys + blockIdx.x * THREADS * ITEMS, k);
    for (int i = 0; i < ITEMS; ++i) out_values[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i] = v[i];
}

template <typename K, int THREADS, int ITEMS>
__global__ void merge(K* keys, int valid, K last) {
    using Sort = cub::BlockMergeSort<K, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage s;
    K k[ITEMS];
    for (int i = 0; i < ITEMS; ++i) k[i] = keys[threadIdx.x * ITEMS + i];
    Sort(s).Sort(k, Less(), valid, last);
    for (int i = 0; i < ITEMS; ++i) keys[threadIdx.x * ITEMS + i] = k[i];
}

template __global__ void radix<unsigned, int, 128, 4>(const unsigned*, const int*, unsigned*, int*);
template __global__ void radix<double, long long, 64, 3>(const double*, const long long*, double*, long long*);
template __global__ void merge<float, 128, 4>(float*, int, float);
template __global__ void merge<short, 64, 8>(short*, int, short);
