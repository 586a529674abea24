// The older tensor-core interface: whole 16 by 16 fragments loaded, multiplied and stored by the warp.

#include "gpu.h"

#define ROW_MAJOR 0

// launch matmul_wmma_f16 grid 2,1 block 32 args f16[768]=signed f16[1536]=signed f32[512]=signed u32:32 u32:48
KERNEL matmul_wmma_f16(const f16 *a, const f16 *b, f32 *c, u32 columns, u32 inner) {
    u32 row = block_y() * 16;
    u32 column = block_x() * 16;
    i32 fa[8];
    i32 fb[8];
    f32 sum[8];
    f32 *out = c + row * columns + column;
    __hmma_m16n16k16_ld_c_f32(sum, out, columns, ROW_MAJOR);
    for (u32 base = 0; base < inner; base += 16) {
        __hmma_m16n16k16_ld_a(fa, (const i32 *)(a + row * inner + base), inner, ROW_MAJOR);
        __hmma_m16n16k16_ld_b(fb, (const i32 *)(b + base * columns + column), columns, ROW_MAJOR);
        __hmma_m16n16k16_mma_f32f32(sum, fa, fb, sum, 0, 0);
    }
    __hmma_m16n16k16_st_c_f32(out, sum, columns, ROW_MAJOR);
}

// launch matmul_wmma_u8 grid 1 block 32 args u8[512]=bits u8[512]=bits i32[256]=zero u32:32
KERNEL matmul_wmma_u8(const u8 *a, const u8 *b, i32 *c, u32 inner) {
    i32 fa[2];
    i32 fb[2];
    i32 sum[8] = {};
    for (u32 base = 0; base < inner; base += 16) {
        __imma_m16n16k16_ld_a_u8(fa, (const i32 *)(a + base), inner, ROW_MAJOR);
        __imma_m16n16k16_ld_b_u8(fb, (const i32 *)(b + base * 16), 16, ROW_MAJOR);
        __imma_m16n16k16_mma_u8(sum, fa, fb, sum, 0, 0);
    }
    __imma_m16n16k16_st_c_i32(c, sum, 16, ROW_MAJOR);
}
