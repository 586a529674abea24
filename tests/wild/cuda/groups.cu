// Cooperative groups and block-wide algorithms from the library headers: deep templates, long functions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const float* x, float* out, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    float v = x[block.thread_rank()];
    float sum = cg::reduce(tile, v, cg::plus<float>());
    float scan = cg::inclusive_scan(tile, v);
    int top = cg::reduce(tile, (int)v, cg::greater<int>());
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum + top;
    block.sync();
    out[block.thread_rank()] = scan + tile.shfl(v, 3) + tile.any(v > 0);
}

extern "C" __global__ void coalesced(int* counter, const int* x, int* out) {
    if (x[threadIdx.x] > 0) {
        auto active = cg::coalesced_threads();
        int base;
        if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
        out[active.shfl(base, 0) + active.thread_rank()] = x[threadIdx.x];
    }
}

extern "C" __global__ void labelled(const int* x, int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, x[threadIdx.x]);
    out[threadIdx.x] = same.size() * cg::reduce(same, 1, cg::plus<int>());
}
