// Prefix maximum that starts again at every flagged head, done by shuffles with a flag beside each value.

#include "gpu.h"

// launch scan_segmented grid 2 block 32 args i32[64]=below:1000 u32[64]=below:4 i32[64]=zero
KERNEL scan_segmented(const i32 *in, const u32 *heads, i32 *out) {
    u32 i = global_x();
    i32 value = in[i];
    u32 head = heads[i] == 0 || lane() == 0;
    UNROLL for (u32 by = 1; by < 32; by *= 2) {
        i32 other = (i32)shuffle_up(WHOLE_WARP, (u32)value, by);
        u32 other_head = shuffle_up(WHOLE_WARP, head, by);
        if (lane() >= by && !head) {
            value = max_i32(value, other);
            head = other_head;
        }
    }
    out[i] = value;
}
