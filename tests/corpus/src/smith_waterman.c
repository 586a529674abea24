// Local alignment with affine gaps: the scores of a row flow from lane to lane by shuffles, so that the
// warp sweeps the matrix as a slanted front.

#include "gpu.h"

#define MATCH 3
#define MISMATCH (-2)
#define GAP_OPEN 5
#define GAP_EXTEND 1

// launch smith_waterman grid 2 block 32 args u8[64]=below:4 u8[80]=below:4 i32[2]=zero u32:40
KERNEL smith_waterman(const u8 *queries, const u8 *targets, i32 *out, u32 target_length) {
    u32 l = lane();
    u8 mine = queries[block_x() * 32 + l];
    const u8 *target = targets + block_x() * target_length;
    i32 here = 0;
    i32 corner = 0;
    i32 gap_left = -1000;
    i32 gap_above = -1000;
    i32 best = 0;
    for (u32 step = 0; step < target_length + 31; step++) {
        i32 above = (i32)shuffle_up(WHOLE_WARP, (u32)here, 1);
        i32 gap_in = (i32)shuffle_up(WHOLE_WARP, (u32)gap_above, 1);
        if (l == 0) {
            above = 0;
            gap_in = -1000;
        }
        u32 column = step - l;
        if (l <= step && column < target_length) {
            i32 score = corner + (mine == target[column] ? MATCH : MISMATCH);
            gap_left = max_i32(here - GAP_OPEN, gap_left - GAP_EXTEND);
            gap_above = max_i32(above - GAP_OPEN, gap_in - GAP_EXTEND);
            here = max_i32(max_i32(score, 0), max_i32(gap_left, gap_above));
            best = max_i32(best, here);
            corner = above;
        }
    }
    for (u32 flip = 16; flip > 0; flip /= 2) best = max_i32(best, (i32)shuffle_xor(WHOLE_WARP, (u32)best, flip));
    if (l == 0) out[block_x()] = best;
}
