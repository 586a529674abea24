// Inline assembly that a reader of PTX must survive: scopes, labels, guards, vectors, odd operands, comments.
// needs compute_80

extern "C" __global__ void scopes(unsigned* x) {
    unsigned a = x[0], b;
    asm volatile(
        "{ // a scope inside the function\n"
        "  .reg .pred p, q; .reg .b32 t<4>, %%odd; /* a comment of\n     two lines; with a semicolon */\n"
        "  .local .align 8 .b8 room[16];\n"
        "  mov.u32 t0, room;\n"
        "  mov.u32 %%odd, %%laneid;\n"
        "  setp.lt.u32 p|q, %1, 17U;\n"
        "  @p add.u32 t1, %1, 0x1F;  @!p add.u32 t1, %1, 0b101;\n"
        "  { .reg .b32 t0; mov.b32 t0, 017; add.s32 t1, t1, t0; }\n"
        "  st.local.u32 [room+4], t1; st.local.v2.u32 [room+8], {t1, %1};\n"
        "  ld.local.u32 t2, [t0+8];\n"
        "  setp.eq.and.s32 p, t2, -1, q;\n"
        "  @p bra $skip;\n"
        "  lop3.b32 t2, t2, t1, %1, 0xe8;\n"
        "$skip: selp.b32 %0, t2, t1, q;\n"
        "}" : "=r"(b) : "r"(a));
    x[1] = b;
}

extern "C" __global__ void vectors(uint4* v, unsigned long long* l, unsigned char* c) {
    uint4 a = v[0];
    asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(a.x), "=r"(a.y) : "l"(l[0]));
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(l[1]) : "r"(a.z), "r"(a.w));
    asm volatile("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }" : "=r"(a.z) : "r"(a.x));
    asm volatile("{ .reg .b8 b<4>; mov.b32 {b0, b1, b2, b3}, %1; mov.b32 %0, {b3, b2, b1, b0}; }" : "=r"(a.w) : "r"(a.y));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4+16];" : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "l"(v));
    asm volatile("st.global.v4.f32 [%0+-32], {0f3F800000, 0fBF800000, 0f7F800000, 1.5};" ::"l"(v));
    asm volatile("st.global.f64 [%0], 0d3FF0000000000000;" ::"l"(l));
    asm volatile("ld.global.v2.u8 {%0, %1}, [%2];" : "=r"(a.x), "=r"(a.y) : "l"(c));
    asm volatile("st.weak.global.b8 [%0], %1;" ::"l"(c), "r"(a.z));
    v[1] = a;
}

extern "C" __global__ void orders(int* x, long long* y) {
    int a;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(a) : "l"(x) : "memory");
    asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(x + 1), "r"(a) : "memory");
    asm volatile("ld.relaxed.cta.s32 %0, [%1];" : "=r"(a) : "l"(x + 2) : "memory");
    asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(a) : "l"(x + 3) : "memory");
    asm volatile("st.mmio.relaxed.sys.global.u32 [%0], %1;" ::"l"(x + 4), "r"(a) : "memory");
    asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;" : "=r"(a) : "l"(x + 5), "r"(a), "r"(3) : "memory");
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(x + 6) : "memory");
    asm volatile("fence.acq_rel.gpu; fence.sc.sys; membar.gl; fence.proxy.alias;" ::: "memory");
    asm volatile("{ .reg .b128 w; mov.b128 w, {%0, %1}; mov.b128 {%0, %1}, w; }" : "+l"(y[0]), "+l"(y[1]));
    asm volatile("prefetch.global.L2 [%0]; prefetchu.L1 [%0]; discard.global.L2 [%1], 128; applypriority.global.L2::evict_normal [%1], 128;" ::"l"(x), "l"((char*)x + 128));
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.75;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(a) : "l"(x + 7), "l"(policy));
    x[8] = a;
}

extern "C" __global__ void bit_fields(unsigned* x, long long* l) {
    unsigned a = x[0], b = x[1], r;
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(a));
    asm("bfi.b32 %0, %0, %1, 8, 8;" : "+r"(r) : "r"(b));
    asm("prmt.b32.f4e %0, %0, %1, 2;" : "+r"(r) : "r"(b));
    asm("shf.l.wrap.b32 %0, %0, %1, 5;" : "+r"(r) : "r"(b));
    asm("bfind.shiftamt.u32 %0, %0;" : "+r"(r));
    asm("szext.clamp.u32 %0, %0, 9;" : "+r"(r));
    asm("bmsk.wrap.b32 %0, %0, 3;" : "+r"(r));
    asm("fns.b32 %0, %0, 0, 2;" : "+r"(r));
    asm("vadd4.u32.u32.u32.sat %0, %0, %1, %1;" : "+r"(r) : "r"(b));
    asm("vmad.u32.u32.u32.shr7 %0, %0.b1, %1.h0, %1;" : "+r"(r) : "r"(b));
    asm("dp4a.u32.s32 %0, %0, %1, %0;" : "+r"(r) : "r"(b));
    asm("mul24.hi.u32 %0, %0, %1; mad24.lo.u32 %0, %0, %1, 1; sad.u32 %0, %0, %1, 2;" : "+r"(r) : "r"(b));
    asm("slct.u32.s32 %0, %0, %1, -3; set.gt.u32.s32 %0, %0, %1; cnot.b32 %0, %0;" : "+r"(r) : "r"(b));
    float f = __uint_as_float(a);
    asm("{ .reg .pred p; testp.subnormal.f32 p, %1; @p mov.u32 %0, WARP_SZ; copysign.f32 %1, 0f80000000, %1; }" : "+r"(r), "+f"(f));
    x[3] = __float_as_uint(f);
    x[2] = r;
}
