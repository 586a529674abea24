// Every state space, alignment and width: constant tables, shared arrays, locals, structures by value, textures, heap.
#include <cuda_fp16.h>

__constant__ float filter[64];
__constant__ int lookup[4] = {7, -3, 1 << 20, 0x7fffffff};
__device__ unsigned long long counter = 5;
__device__ double matrix[3][3] = {{1, 0, 0}, {0, 0.5, 0}, {0, 0, 1e-300}};
__device__ const char message[] = "a \"quoted\" text\twith\\escapes\n";
__device__ volatile int flag;
__managed__ int shared_with_host = 3;
static __device__ float hidden[100];
__device__ struct { char c; short s; int i; double d; float* p; } mixed = {1, 2, 3, 4.5, hidden};

struct Particle { float3 at; unsigned char kind; double mass; int links[5]; };
struct __align__(16) Pair { float2 a, b; };
struct Big { int values[40]; };
union Bits { float f; unsigned u; unsigned char b[4]; };

extern "C" __global__ void by_value(Particle p, Pair q, const __grid_constant__ Big big, char c, bool yes, float* out) {
    int i = threadIdx.x;
    out[i] = p.at.x + p.links[i % 5] + (float)p.mass + q.b.y + big.values[i % 40] + c + yes + p.kind;
}

__device__ __noinline__ Particle moved(Particle p, float dt) {
    p.at.x += dt;
    p.links[2] ^= 1;
    return p;
}

extern "C" __global__ void structures(Particle* p, float dt) {
    Particle mine = p[threadIdx.x];
    mine = moved(mine, dt);
    mine = moved(mine, -dt * 0.5f);
    p[threadIdx.x] = mine;
}

extern "C" __global__ void spaces(float* x, int n) {
    extern __shared__ double4 dynamic[];
    __shared__ float tile[32][33];
    __shared__ int hits;
    float local[24];
    int t = threadIdx.x;
    if (t == 0) hits = 0;
    __syncthreads();
    for (int i = 0; i < 24; ++i) local[i] = x[i * n + t];
    tile[t & 31][t >> 5] = local[(t * 7) % 24] + filter[t & 63] + lookup[t & 3];
    dynamic[t].z = matrix[t % 3][1];
    atomicAdd(&hits, local[t % 24] > 0);
    __syncthreads();
    atomicAdd(&counter, (unsigned long long)hits);
    flag = 1;
    while (flag == 0) {}
    hidden[t] = tile[t >> 5][t & 31] + (float)dynamic[(t + 1) & 31].z + message[t % 20] + shared_with_host;
    mixed.i = t;
    x[t] = hidden[(t + 3) % 100] + mixed.d;
}

extern "C" __global__ void widths(const char* b, const short* h, const int4* q, const double2* d, const uchar4* c, long long* out) {
    int i = threadIdx.x;
    int4 v = q[i];
    double2 w = d[i];
    uchar4 u = c[i];
    out[i] = b[i] + h[i] + v.x + v.w + (long long)(w.x * w.y) + u.x * u.w + (signed char)(v.y) + (unsigned short)v.z;
    ((int4*)out)[i + 100] = make_int4(v.w, v.z, v.y, v.x);
    ((short2*)out)[i] = make_short2(h[i], h[i + 1]);
    ((ulonglong2*)out)[i + 50] = make_ulonglong2(out[i], v.x);
}

extern "C" __global__ void hints(const float* __restrict__ x, float* out, const int2* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = __ldg(x + i) + __ldcg(x + i + 1) + __ldca(x + i + 2) + __ldcs(x + i + 3) + __ldlu(x + i + 4) + __ldcv(x + i + 5);
    int2 w = __ldg(y + i);
    __stcg(out + i, v);
    __stcs(out + i + 1, v + w.x);
    __stwt(out + i + 2, v + w.y);
    __stwb(out + i + 3, v);
}

extern "C" __global__ void punning(float* x, const unsigned char* raw) {
    Bits u;
    u.f = x[threadIdx.x];
    unsigned swapped = __byte_perm(u.u, 0, 0x0123);
    unsigned char b = u.b[raw[threadIdx.x] & 3];
    float f;
    memcpy(&f, raw + 4 * threadIdx.x, 4);
    x[threadIdx.x] = __uint_as_float(swapped) + b + f + __int_as_float(0x7f800001) + __longlong_as_double(0x7ff0000000000001ll);
}

extern "C" __global__ void heap(int** lists, int n) {
    int* mine = (int*)malloc(n * sizeof(int));
    if (mine) {
        for (int i = 0; i < n; ++i) mine[i] = i * threadIdx.x;
        memset(mine + n / 2, 0, 8);
    }
    if (lists[threadIdx.x]) free(lists[threadIdx.x]);
    lists[threadIdx.x] = mine;
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out, float u, float v) {
    float4 a = tex2D<float4>(t, u, v);
    float b = tex1Dfetch<float>(t, (int)u);
    float2 c = tex3D<float2>(t, u, v, u * v);
    float4 d = tex2DLod<float4>(t, u, v, 1.5f);
    float4 e = tex2Dgather<float4>(t, u, v, 2);
    float4 g = texCubemap<float4>(t, u, v, 0.5f);
    int4 h = tex2DLayered<int4>(t, u, v, 3);
    uchar4 k;
    surf2Dread(&k, s, 4, 5);
    surf2Dwrite(make_uchar4(k.w, k.z, k.y, h.x), s, 4, 6, cudaBoundaryModeClamp);
    surf1Dwrite(b, s, 16, cudaBoundaryModeZero);
    out[threadIdx.x] = make_float4(a.x + b, c.y + d.z, e.w + g.x, h.y);
}

extern "C" __global__ void address_spaces(float* p, int* which) {
    __shared__ float s[32];
    float l[4] = {1, 2, 3, 4};
    float* q = which[0] == 0 ? p : which[0] == 1 ? s : l;
    *q += 1;
    if (__isGlobal(q)) which[1] = 1;
    if (__isShared(q)) which[2] = (int)__cvta_generic_to_shared(q);
    if (__isLocal(q)) which[3] = 1;
    p[1] = l[which[4] & 3] + s[0];
}
