// Tensor cores on every other number: bytes, tf32, bfloat16 and doubles. Each kernel is one warp and
// loads its fragments by hand, lane by lane, as the fragment tables prescribe.

#include "gpu.h"

// launch matmul_mma_i8 grid 1 block 32 args u32[128]=bits u32[64]=bits i32[128]=zero u32:32
KERNEL matmul_mma_i8(const u32 *a, const u32 *b_transposed, i32 *c, u32 inner) {
    u32 group = lane() / 4;
    u32 place = lane() % 4;
    u32 words = inner / 4;
    i32 sum[4] = {};
    for (u32 base = 0; base < words; base += 8) {
        u32 a0 = a[group * words + base + place];
        u32 a1 = a[(group + 8) * words + base + place];
        u32 a2 = a[group * words + base + place + 4];
        u32 a3 = a[(group + 8) * words + base + place + 4];
        u32 b0 = b_transposed[group * words + base + place];
        u32 b1 = b_transposed[group * words + base + place + 4];
        __asm__ volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    c[group * 8 + place * 2] = sum[0];
    c[group * 8 + place * 2 + 1] = sum[1];
    c[(group + 8) * 8 + place * 2] = sum[2];
    c[(group + 8) * 8 + place * 2 + 1] = sum[3];
}

INLINE u32 round_tf32(f32 x) {
    u32 bits;
    __asm__("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

// launch matmul_mma_tf32 grid 1 block 32 args f32[256]=signed f32[128]=signed f32[128]=zero u32:16
KERNEL matmul_mma_tf32(const f32 *a, const f32 *b, f32 *c, u32 inner) {
    u32 group = lane() / 4;
    u32 place = lane() % 4;
    f32 sum[4] = {};
    for (u32 base = 0; base < inner; base += 8) {
        u32 a0 = round_tf32(a[group * inner + base + place]);
        u32 a1 = round_tf32(a[(group + 8) * inner + base + place]);
        u32 a2 = round_tf32(a[group * inner + base + place + 4]);
        u32 a3 = round_tf32(a[(group + 8) * inner + base + place + 4]);
        u32 b0 = round_tf32(b[(base + place) * 8 + group]);
        u32 b1 = round_tf32(b[(base + place + 4) * 8 + group]);
        __asm__ volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    c[group * 8 + place * 2] = sum[0];
    c[group * 8 + place * 2 + 1] = sum[1];
    c[(group + 8) * 8 + place * 2] = sum[2];
    c[(group + 8) * 8 + place * 2 + 1] = sum[3];
}

INLINE u32 pack_bf16(f32 low, f32 high) {
    u32 both;
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// launch matmul_mma_bf16 grid 1 block 32 args f32[256]=signed f32[128]=signed f32[128]=zero
KERNEL matmul_mma_bf16(const f32 *a, const f32 *b, f32 *c) {
    u32 group = lane() / 4;
    u32 pair = lane() % 4 * 2;
    u32 a0 = pack_bf16(a[group * 16 + pair], a[group * 16 + pair + 1]);
    u32 a1 = pack_bf16(a[(group + 8) * 16 + pair], a[(group + 8) * 16 + pair + 1]);
    u32 a2 = pack_bf16(a[group * 16 + pair + 8], a[group * 16 + pair + 9]);
    u32 a3 = pack_bf16(a[(group + 8) * 16 + pair + 8], a[(group + 8) * 16 + pair + 9]);
    u32 b0 = pack_bf16(b[pair * 8 + group], b[(pair + 1) * 8 + group]);
    u32 b1 = pack_bf16(b[(pair + 8) * 8 + group], b[(pair + 9) * 8 + group]);
    f32 sum[4] = {};
    __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    c[group * 8 + pair] = sum[0];
    c[group * 8 + pair + 1] = sum[1];
    c[(group + 8) * 8 + pair] = sum[2];
    c[(group + 8) * 8 + pair + 1] = sum[3];
}

// launch matmul_mma_f64 grid 1 block 32 args f64[64]=signed f64[64]=signed f64[64]=zero u32:8
KERNEL matmul_mma_f64(const f64 *a, const f64 *b, f64 *c, u32 inner) {
    u32 group = lane() / 4;
    u32 place = lane() % 4;
    f64 left = 0.0;
    f64 right = 0.0;
    for (u32 base = 0; base < inner; base += 4) {
        __asm__ volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(left), "+d"(right)
                         : "d"(a[group * inner + base + place]), "d"(b[(base + place) * 8 + group]));
    }
    c[group * 8 + place * 2] = left;
    c[group * 8 + place * 2 + 1] = right;
}
