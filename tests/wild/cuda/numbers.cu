// Arithmetic in every type: rounding modes, conversions, saturation, 128 bits, halves, video-style SIMD, special values.
// needs compute_80
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void rounding(float* f, double* d) {
    float a = f[0], b = f[1];
    f[2] = __fadd_rz(a, b) + __fmul_ru(a, b) + __fdiv_rd(a, b) + __fsqrt_rn(a) + __fmaf_rz(a, b, a) + __frcp_ru(a) + __frsqrt_rn(b);
    f[3] = __saturatef(a) + __fdividef(a, b) + __sinf(a) * __cosf(b) + __tanf(a) + __expf(a) + __exp10f(b) + __logf(a) + __log2f(b) + __powf(a, b);
    d[2] = __dadd_rd(d[0], d[1]) + __dmul_rz(d[0], d[1]) + __ddiv_ru(d[0], d[1]) + __dsqrt_rz(d[0]) + __fma_rd(d[0], d[1], d[0]) + __drcp_rn(d[1]);
}

extern "C" __global__ void conversions(float* f, double* d, int* i, long long* l, unsigned char* c) {
    float a = f[0];
    double b = d[0];
    i[0] = __float2int_rn(a) + __float2int_rz(a) + __float2int_ru(a) + __float2int_rd(a) + __double2int_rn(b) + __float2uint_rz(a);
    l[0] = __float2ll_rn(a) + __double2ll_rd(b) + __double2ull_ru(b) + (long long)a;
    f[1] = __int2float_rd(i[1]) + __ll2float_ru(l[1]) + __double2float_rz(b) + (float)c[0] + (float)(signed char)c[1] + __uint2float_rn(i[2]);
    d[1] = __hiloint2double(i[3], i[4]) + __ll2double_rz(l[2]) + __double2hiint(b) + rint(b) + trunc(b) + ceil(b) + floor(b) + nearbyint(a);
    c[2] = (unsigned char)a;
    c[3] = (signed char)b;
    ((short*)c)[2] = (short)i[5];
    ((unsigned short*)c)[3] = (unsigned short)a;
    ((bool*)c)[8] = a != 0;
}

extern "C" __global__ void integers(int* x, unsigned* u, long long* l) {
    int a = x[0], b = x[1];
    unsigned p = u[0], q = u[1];
    x[2] = a / b + a % b + (a << (b & 31)) + (a >> (b & 31)) + __mulhi(a, b) + __mul24(a, b) + __sad(a, b, p) + __hadd(a, b) + __rhadd(a, b) + abs(a);
    u[2] = p / 10 + p % 1000003u + __umulhi(p, q) + __umul24(p, q) + __usad(p, q, 3) + __brev(p) + __clz(p) + __ffs(p) + __popc(q);
    u[3] = __funnelshift_l(p, q, a) + __funnelshift_rc(p, q, a) + __byte_perm(p, q, 0x3715) + __dp4a((int)p, (int)q, a) + __dp2a_lo((int)p, (int)q, a);
    l[0] = l[1] / l[2] + (unsigned long long)l[1] % 17 + __mul64hi(l[1], l[2]) + __umul64hi(l[1], l[2]) + __clzll(l[1]) + __popcll(l[2]) + __brevll(l[1]);
    u[4] = __vadd2(p, q) + __vabsdiffu4(p, q) + __vmaxs4(p, q) + __vcmpgtu4(p, q) + __vsubss2(p, q) + __vavgu4(p, q) + __viaddmax_s32(a, b, 3) + __vimin3_s32(a, b, 9);
}

extern "C" __global__ void wide(unsigned long long* x, int n) {
    __int128 a = ((__int128)x[0] << 64) | x[1];
    unsigned __int128 b = x[2];
    b = b * b + (unsigned __int128)a;
    a = a * 3 - (a >> n);
    x[3] = (unsigned long long)(b / 1000000007ull);
    x[4] = (unsigned long long)(a % 12345);
    x[5] = a < (__int128)b ? 1 : (unsigned long long)(b >> 64);
}

// Carries across registers: a 256-bit sum.
extern "C" __global__ void carries(unsigned* a, const unsigned* b) {
    asm volatile("add.cc.u32 %0, %0, %4; addc.cc.u32 %1, %1, %5; addc.cc.u32 %2, %2, %6; addc.u32 %3, %3, %7;"
                 : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]) : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    asm volatile("{\n\t.reg .u64 t;\n\tmad.lo.cc.u64 t, %1, %1, %0;\n\tmadc.hi.u64 %0, %1, %1, t;\n\t}"
                 : "+l"(((unsigned long long*)a)[2]) : "l"(((unsigned long long*)b)[2]));
    asm volatile("sub.cc.s32 %0, %0, %1; subc.s32 %0, %0, 0;" : "+r"(a[8]) : "r"(b[8]));
}

extern "C" __global__ void halves(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, float* f) {
    __half x = h[0], y = h[1];
    h[2] = __hadd(x, y) * __hfma(x, y, x) / hsqrt(y) + hexp(x) - hlog2(y) + hsin(x) + htanh(y) + __hmax_nan(x, y) + __habs(x) + hrcp(y);
    h2[1] = __hfma2_relu(h2[0], h2[0], __hmul2_sat(h2[0], h2[0])) + h2exp2(h2[0]) + __hmin2(h2[0], __high2half2(h2[0]));
    b[2] = __hfma(b[0], b[1], b[0]) + hexp2(b[1]) + __hmax(b[0], b[1]) + __float2bfloat16_rd(f[0]);
    b2[1] = __hadd2(b2[0], __hmul2(b2[0], b2[0])) - __hneg2(b2[0]);
    f[1] = __half2float(x) + __bfloat162float(b[0]) + __low2float(h2[0]) + (__hgt(x, y) ? 1 : 2) + (__hbeq2(h2[0], h2[1]) ? 4 : 8);
    h[3] = __float2half_rz(f[2]);
    h[4] = __int2half_rn((int)f[3]);
    ((int*)f)[4] = __half2int_rd(x) + __hisnan(y) + __half2ushort_ru(y);
    atomicAdd(h2, h2[1]);
    atomicAdd(b, b[1]);
}

extern "C" __global__ void eighths(__nv_fp8_e4m3* a, __nv_fp8_e5m2* b, __nv_fp8x4_e4m3* c, float* f) {
    f[0] = (float)a[0] + (float)b[0];
    a[1] = __nv_fp8_e4m3(f[1]);
    b[1] = __nv_fp8_e5m2(f[2]);
    c[0] = __nv_fp8x4_e4m3(make_float4(f[3], f[4], f[5], f[6]));
}

extern "C" __global__ void special(float* f, double* d, int* out) {
    float a = f[0];
    double b = d[0];
    out[0] = isnan(a) + isinf(b) + signbit(a) + isfinite(b) + ilogb(b) + (a <= a) + !(b < b) + (a != 0.0f && !(a > 1));
    f[1] = fminf(a, __int_as_float(0x7f800000)) + fmaxf(a, -0.0f) + copysignf(a, -1) + nextafterf(a, 2) + fmodf(a, 3) + remainderf(a, 5) + fdimf(a, 1) + a * 1e-45f;
    d[1] = fmin(b, 5e-324) + b * 1.7976931348623157e308 + scalbn(b, 5) + frexp(b, out + 1) + modf(b, d + 2) + hypot(b, 2.0) + cbrt(b) + rsqrt(b);
}

extern "C" __global__ void functions(float* f, double* d) {
    float a = f[threadIdx.x], s, c;
    sincosf(a, &s, &c);
    f[1] = s * c + sinf(a) + tanf(a) + asinf(a) + atan2f(a, s) + sinhf(a) + atanhf(a) + expf(a) + log1pf(a) + powf(a, s) + erff(a) + erfcinvf(a)
         + tgammaf(a) + lgammaf(a) + j0f(a) + jnf(3, a) + y1f(a) + cyl_bessel_i0f(a) + normcdff(a) + rcbrtf(a) + sinpif(a) + norm3df(a, s, c) + exp10f(a);
    double b = d[threadIdx.x];
    d[1] = sin(b) + cos(b) * tan(b) + acos(b) + exp(b) + log(b) + pow(b, 0.3) + erfc(b) + erfinv(b) + tgamma(b) + lgamma(b) + yn(2, b) + normcdfinv(b) + sinpi(b);
}
