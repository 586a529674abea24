// A producer warp and a consumer warp that hand a slot back and forth through two mbarriers.
// Every thread of each warp arrives, so each phase counts 32.

#include "gpu.h"

#define WIDTH 32

INLINE void wait_phase(IN_SHARED u64 *gate, u32 parity) {
    u32 done = 0;
    while (!done) {
        __asm__ volatile("{\n\t"
                         ".reg .pred done;\n\t"
                         "mbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n\t"
                         "selp.u32 %0, 1, 0, done;\n\t"
                         "}"
                         : "=r"(done)
                         : "r"((u32)(u64)gate), "r"(parity)
                         : "memory");
    }
}

// launch mbarrier_pipeline grid 1 block 64 args u32[160]=below:1000 u32[32]=zero u32:5
KERNEL mbarrier_pipeline(const u32 *in, u32 *out, u32 rounds) {
    SHARED u64 full;
    SHARED u64 empty;
    SHARED u32 slot[WIDTH];
    if (thread_x() == 0) {
        __nvvm_mbarrier_init_shared((IN_SHARED i64 *)&full, WIDTH);
        __nvvm_mbarrier_init_shared((IN_SHARED i64 *)&empty, WIDTH);
    }
    barrier();
    u32 t = thread_x() % WIDTH;
    if (thread_x() < WIDTH) {
        for (u32 i = 0; i < rounds; i++) {
            // The first wait asks for the phase before the first, which counts as over.
            wait_phase(&empty, (i + 1) & 1);
            slot[t] = in[i * WIDTH + t];
            __nvvm_mbarrier_arrive_shared((IN_SHARED i64 *)&full);
        }
    } else {
        u32 sum = 0;
        for (u32 i = 0; i < rounds; i++) {
            wait_phase(&full, i & 1);
            sum = sum * 3 + slot[WIDTH - 1 - t];
            __nvvm_mbarrier_arrive_shared((IN_SHARED i64 *)&empty);
        }
        out[t] = sum;
    }
    barrier();
    if (thread_x() == 0) {
        __nvvm_mbarrier_inval_shared((IN_SHARED i64 *)&full);
        __nvvm_mbarrier_inval_shared((IN_SHARED i64 *)&empty);
    }
}
