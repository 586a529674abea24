// The k largest of each row: a small sorted list in registers a thread, merged by picking the winner
// over and over; and beam search's choice among scored continuations.

#include "gpu.h"

#define KEEP 4

// launch top_k grid 2 block 32 args f32[400]=signed f32[8]=zero u32[8]=zero u32:200
KERNEL top_k(const f32 *in, f32 *values, u32 *places, u32 columns) {
    f32 best[KEEP];
    u32 place[KEEP];
    UNROLL for (u32 k = 0; k < KEEP; k++) {
        best[k] = -__builtin_inff();
        place[k] = 0xffffffffu;
    }
    for (u32 i = lane(); i < columns; i += 32) {
        f32 x = in[block_x() * columns + i];
        u32 at = i;
        UNROLL for (u32 k = 0; k < KEEP; k++) {
            if (x > best[k]) {
                f32 kept = best[k];
                u32 kept_at = place[k];
                best[k] = x;
                place[k] = at;
                x = kept;
                at = kept_at;
            }
        }
    }
    for (u32 rank = 0; rank < KEEP; rank++) {
        f32 high = best[0];
        for (u32 flip = 16; flip > 0; flip /= 2) high = max_f32(high, shuffle_xor_f32(WHOLE_WARP, high, flip));
        u32 winner = redux_min(WHOLE_WARP, best[0] == high ? place[0] : 0xffffffffu);
        if (lane() == 0) {
            values[block_x() * KEEP + rank] = high;
            places[block_x() * KEEP + rank] = winner;
        }
        if (place[0] == winner) {
            UNROLL for (u32 k = 0; k + 1 < KEEP; k++) {
                best[k] = best[k + 1];
                place[k] = place[k + 1];
            }
            best[KEEP - 1] = -__builtin_inff();
            place[KEEP - 1] = 0xffffffffu;
        }
    }
}

// launch sample_token grid 1 block 32 args f32[128]=unit f32[4]=unit u32[4]=zero u32:32
KERNEL sample_token(const f32 *weights, const f32 *chances, u32 *tokens, u32 columns) {
    // Every row: the first column where the running sum passes the chance times the whole.
    for (u32 row = 0; row < 4; row++) {
        f32 sum = lane() < columns ? weights[row * columns + lane()] : 0.0f;
        for (u32 by = 1; by < 32; by *= 2) {
            f32 other = __nvvm_shfl_sync_up_f32(WHOLE_WARP, sum, by, 0);
            if (lane() >= by) sum += other;
        }
        f32 whole = shuffle_from_f32(WHOLE_WARP, sum, 31);
        u32 passed = vote_ballot(WHOLE_WARP, sum > chances[row] * whole);
        if (lane() == 0) tokens[row] = passed ? (u32)__builtin_ctz(passed) : columns - 1;
    }
}
