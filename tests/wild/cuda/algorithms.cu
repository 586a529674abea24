// Whole kernels as people write them: sha-256, fast Fourier transform, ray marching, matrix product, Life, Levenshtein.

__constant__ unsigned sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned x, int by) { return __funnelshift_r(x, x, by); }

extern "C" __global__ void sha256(const unsigned* blocks, unsigned* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned w[64];
#pragma unroll
    for (int t = 0; t < 16; ++t) w[t] = __byte_perm(blocks[i * 16 + t], 0, 0x0123);
#pragma unroll
    for (int t = 16; t < 64; ++t)
        w[t] = w[t - 16] + (rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3)) + w[t - 7] +
               (rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10));
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], k = h[7];
#pragma unroll
    for (int t = 0; t < 64; ++t) {
        unsigned t1 = k + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + sha_constants[t] + w[t];
        unsigned t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        k = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    unsigned r[8] = {a, b, c, d, e, f, g, k};
    for (int t = 0; t < 8; ++t) out[i * 8 + t] = h[t] + r[t];
}

template <int N>
__device__ void butterflies(float2* v, float sign) {
    if constexpr (N > 1) {
        float2 even[N / 2], odd[N / 2];
        for (int i = 0; i < N / 2; ++i) { even[i] = v[2 * i]; odd[i] = v[2 * i + 1]; }
        butterflies<N / 2>(even, sign);
        butterflies<N / 2>(odd, sign);
        for (int i = 0; i < N / 2; ++i) {
            float s, c;
            sincospif(sign * 2 * i / N, &s, &c);
            float2 t = {c * odd[i].x - s * odd[i].y, c * odd[i].y + s * odd[i].x};
            v[i] = {even[i].x + t.x, even[i].y + t.y};
            v[i + N / 2] = {even[i].x - t.x, even[i].y - t.y};
        }
    }
}

extern "C" __global__ void fourier(float2* x, float sign) {
    float2 v[16];
    for (int i = 0; i < 16; ++i) v[i] = x[i * blockDim.x + threadIdx.x];
    butterflies<16>(v, sign);
    for (int i = 0; i < 16; ++i) x[i * blockDim.x + threadIdx.x] = v[i];
}

__device__ float distance_to(float3 p) {
    float x = fmodf(fabsf(p.x) + 2, 4) - 2, z = fmodf(fabsf(p.z) + 2, 4) - 2;
    float ball = sqrtf(x * x + p.y * p.y + z * z) - 1;
    float floor = p.y + 1;
    return fminf(ball, floor);
}

extern "C" __global__ void ray_march(uchar4* image, int width, int height, float time) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float3 at = {sinf(time), 0.5f, time}, way = {(px - width * 0.5f) / height, (height * 0.5f - py) / height, 1};
    float inv = rsqrtf(way.x * way.x + way.y * way.y + way.z * way.z), travelled = 0;
    int steps = 0;
    for (; steps < 128; ++steps) {
        float d = distance_to({at.x + way.x * inv * travelled, at.y + way.y * inv * travelled, at.z + way.z * inv * travelled});
        if (d < 1e-3f || travelled > 100) break;
        travelled += d;
    }
    unsigned char shade = travelled > 100 ? 0 : (unsigned char)(255 - 2 * steps);
    image[py * width + px] = make_uchar4(shade, shade / 2, 255 - shade, 255);
}

template <int TILE>
__device__ void matrix_tile(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE + 1];
    int r = blockIdx.y * TILE + threadIdx.y, q = blockIdx.x * TILE + threadIdx.x;
    float acc[4] = {};
    for (int k = 0; k < n; k += TILE) {
        sa[threadIdx.y][threadIdx.x] = a[r * n + k + threadIdx.x];
        sb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + q];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < TILE; ++i) acc[i & 3] += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    c[r * n + q] = acc[0] + acc[1] + acc[2] + acc[3];
}
extern "C" __global__ void __maxnreg__(64) matrix_16(const float* a, const float* b, float* c, int n) { matrix_tile<16>(a, b, c, n); }
extern "C" __global__ void __launch_bounds__(1024, 1) matrix_32(const float* a, const float* b, float* c, int n) { matrix_tile<32>(a, b, c, n); }

extern "C" __global__ void life(const unsigned* in, unsigned* out, int words, int rows) {
    int w = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (w >= words) return;
    unsigned ones = 0, twos = 0, fours = 0;
    for (int dr = -1; dr <= 1; ++dr) {
        int rr = (r + dr + rows) % rows;
        unsigned here = in[rr * words + w], left = in[rr * words + (w + words - 1) % words], right = in[rr * words + (w + 1) % words];
        unsigned shifted[3] = {here << 1 | left >> 31, here, here >> 1 | right << 31};
        for (int k = 0; k < 3; ++k) {
            if (dr == 0 && k == 1) continue;
            unsigned carry = ones & shifted[k];
            ones ^= shifted[k];
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    out[r * words + w] = twos & ~fours & (ones | in[r * words + w]);
}

extern "C" __global__ void levenshtein(const char* a, const char* b, int la, int lb, int* out) {
    extern __shared__ int diagonal[];
    int* cur = diagonal;
    int* one = diagonal + blockDim.x + 1;
    int* two = one + blockDim.x + 1;
    for (int d = 0; d <= la + lb; ++d) {
        int i = threadIdx.x, j = d - i;
        if (i <= la && j >= 0 && j <= lb) {
            int best = i == 0 ? j : j == 0 ? i : min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != b[j - 1]));
            cur[i] = best;
            if (i == la && j == lb) *out = best;
        }
        __syncthreads();
        int* t = two;
        two = one;
        one = cur;
        cur = t;
    }
}
