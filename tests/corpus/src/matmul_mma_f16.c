// Half-precision matrix product on the tensor cores: asynchronous copies fill shared memory,
// ldmatrix spreads the fragments over the warp, mma.sync multiplies. One warp makes a 16 by 8 tile.

#include "gpu.h"

INLINE u32 shared_address(const IN_SHARED void *place) { return (u32)(u64)place; }

INLINE void copy_async_16(IN_SHARED void *to, const void *from) {
    __asm__ volatile("{\n\t"
                     ".reg .u64 from;\n\t"
                     "cvta.to.global.u64 from, %1;\n\t"
                     "cp.async.cg.shared.global [%0], [from], 16;\n\t"
                     "}" ::"r"(shared_address(to)), "l"(from) : "memory");
}

INLINE void copy_async_wait(void) {
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
    __asm__ volatile("cp.async.wait_group 0;" ::: "memory");
}

// launch matmul_mma_f16 grid 3,2 block 32 args f16[1536]=signed f16[1152]=signed f32[768]=zero u32:24 u32:48
KERNEL matmul_mma_f16(const f16 *a, const f16 *b, f32 *c, u32 columns, u32 inner) {
    SHARED f16 tile_a[16][16] __attribute__((aligned(16)));
    SHARED f16 tile_b[16][8] __attribute__((aligned(16)));
    u32 l = lane();
    u32 row = block_y() * 16;
    u32 column = block_x() * 8;
    f32 sum[4] = {};
    for (u32 base = 0; base < inner; base += 16) {
        copy_async_16(&tile_a[l / 2][l % 2 * 8], a + (row + l / 2) * inner + base + l % 2 * 8);
        if (l < 16) copy_async_16(&tile_b[l][0], b + (base + l) * columns + column);
        copy_async_wait();
        barrier();
        u32 fa[4];
        u32 fb[2];
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                         : "r"(shared_address(&tile_a[l % 16][l / 16 * 8]))
                         : "memory");
        __asm__ volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                         : "=r"(fb[0]), "=r"(fb[1])
                         : "r"(shared_address(&tile_b[l % 16][0]))
                         : "memory");
        __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                         : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        barrier();
    }
    u32 out = (row + l / 4) * columns + column + l % 4 * 2;
    c[out] = sum[0];
    c[out + 1] = sum[1];
    c[out + 8 * columns] = sum[2];
    c[out + 8 * columns + 1] = sum[3];
}
