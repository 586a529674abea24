// Keeping only some elements: in order through warp votes and a shared prefix, run-length encoding, and
// dropping repeats from a sorted list.

#include "gpu.h"

#define WIDTH 128

INLINE u32 place_in_block(int keep, IN_SHARED u32 *of_warp, u32 *total) {
    u32 ballot = vote_ballot(WHOLE_WARP, keep);
    u32 warp = thread_x() / 32;
    u32 warps = block_width() / 32;
    if (lane() == 0) of_warp[warp] = bits_set(ballot);
    barrier();
    u32 before = 0;
    u32 all = 0;
    for (u32 w = 0; w < warps; w++) {
        if (w < warp) before += of_warp[w];
        all += of_warp[w];
    }
    barrier();
    *total = all;
    return before + bits_set(ballot & lanes_below());
}

// launch compact grid 1 block 128 args i32[500]=bits i32[500]=zero u32[1]=zero u32:500
KERNEL compact(const i32 *in, i32 *out, u32 *out_size, u32 size) {
    SHARED u32 of_warp[WIDTH / 32];
    u32 base = 0;
    for (u32 start = 0; start < size; start += block_width()) {
        u32 i = start + thread_x();
        i32 x = i < size ? in[i] : -1;
        int keep = x >= 0;
        u32 total;
        u32 place = place_in_block(keep, of_warp, &total);
        if (keep) out[base + place] = x;
        base += total;
    }
    if (thread_x() == 0) *out_size = base;
}

// launch run_lengths grid 1 block 128 args u8[120]=below:2 u8[120]=zero u32[121]=zero u32[1]=zero u32:120
KERNEL run_lengths(const u8 *in, u8 *values, u32 *starts, u32 *runs, u32 size) {
    SHARED u32 of_warp[WIDTH / 32];
    u32 i = thread_x();
    int head = i < size && (i == 0 || in[i] != in[i - 1]);
    u32 total;
    u32 place = place_in_block(head, of_warp, &total);
    if (head) {
        values[place] = in[i];
        starts[place] = i;
    }
    if (i == 0) {
        starts[total] = size;
        *runs = total;
    }
}
