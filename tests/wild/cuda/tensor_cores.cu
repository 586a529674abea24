// Matrix products by the warp-wide interface and by inline assembly, asynchronous copies, matrix loads.
// needs compute_80
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

template <typename A, typename C, int M, int N, int K, typename LA, typename LB>
__global__ void product(const A* a, const A* b, C* c, int k) {
    wmma::fragment<wmma::matrix_a, M, N, K, A, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, A, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fill_fragment(fc, (C)0);
    for (int i = 0; i < k; i += K) {
        wmma::load_matrix_sync(fa, a + i, k);
        wmma::load_matrix_sync(fb, b + i, k);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * (C)2;
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

using R = wmma::row_major;
using L = wmma::col_major;
template __global__ void product<half, float, 16, 16, 16, R, L>(const half*, const half*, float*, int);
template __global__ void product<half, half, 32, 8, 16, L, R>(const half*, const half*, half*, int);
template __global__ void product<__nv_bfloat16, float, 8, 32, 16, R, R>(const __nv_bfloat16*, const __nv_bfloat16*, float*, int);
template __global__ void product<signed char, int, 16, 16, 16, R, L>(const signed char*, const signed char*, int*, int);
template __global__ void product<double, double, 8, 8, 4, R, L>(const double*, const double*, double*, int);

extern "C" __global__ void pipelined(const half* a, const half* b, float* out, int tiles) {
    __shared__ __align__(128) half sa[2][16 * 32], sb[2][16 * 32];
    float d[4] = {0, 0, 0, 0};
    int lane = threadIdx.x & 31;
    auto copy = [&](int tile) {
        unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[tile & 1][lane * 16]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[tile & 1][lane * 16]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(pa), "l"(a + tile * 512 + lane * 16));
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(pb), "l"(b + tile * 512 + lane * 16), "r"(lane < 20 ? 16 : 0));
        asm volatile("cp.async.commit_group;");
    };
    copy(0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) copy(tile + 1);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncwarp();
        unsigned ra[4], rb[2];
        unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[tile & 1][(lane & 15) * 32 + (lane >> 4) * 8]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[tile & 1][(lane & 15) * 32]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[lane * 4 + i] = d[i];
}

extern "C" __global__ void more_shapes(unsigned* r, int* c, float* f) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32.satfinite {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
                 : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "f"(0.f));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%8,%9}, {%0,%1,%2,%3}, %10, 0x0;"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]));
}
