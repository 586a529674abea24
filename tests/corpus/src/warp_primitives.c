// What lanes of a warp can ask one another: votes, shuffles of each kind, matches, reductions, and the
// mask of who is here, also from inside divergent code.

#include "gpu.h"

// launch warp_votes grid 1 block 64 args u32[64]=below:8 u32[64]=zero
KERNEL warp_votes(const u32 *in, u32 *out) {
    u32 x = in[global_x()];
    u32 ballot = vote_ballot(WHOLE_WARP, x > 3);
    u32 any = (u32)vote_any(WHOLE_WARP, x == 7);
    u32 all = (u32)vote_all(WHOLE_WARP, x < 8);
    u32 place = bits_set(ballot & lanes_below());
    out[global_x()] = ballot ^ any << 1 ^ all << 2 ^ place << 3;
}

// launch warp_shuffles grid 1 block 32 args u32[32]=bits u32[192]=zero
KERNEL warp_shuffles(const u32 *in, u32 *out) {
    u32 x = in[lane()];
    u32 *mine = out + lane() * 6;
    mine[0] = shuffle_up(WHOLE_WARP, x, 3);
    mine[1] = shuffle_down(WHOLE_WARP, x, 5);
    mine[2] = shuffle_xor(WHOLE_WARP, x, 21);
    mine[3] = shuffle_from(WHOLE_WARP, x, x & 31);
    mine[4] = __nvvm_shfl_sync_idx_i32(WHOLE_WARP, x, lane() + 1, SEGMENT(8));
    mine[5] = __nvvm_shfl_sync_down_i32(WHOLE_WARP, x, 2, SEGMENT(16));
}

// launch warp_match_redux grid 1 block 32 args u32[32]=below:6 u32[160]=zero
KERNEL warp_match_redux(const u32 *in, u32 *out) {
    u32 x = in[lane()];
    u32 *mine = out + lane() * 5;
    u32 same = match_any(WHOLE_WARP, x);
    mine[0] = same;
    mine[1] = redux_add(WHOLE_WARP, x);
    mine[2] = redux_min(WHOLE_WARP, x) << 16 | redux_max(WHOLE_WARP, x);
    mine[3] = redux_or(WHOLE_WARP, 1u << x);
    int uniform;
    mine[4] = __nvvm_match_all_sync_i32p(WHOLE_WARP, (i32)(x / 8), &uniform) + (u32)uniform;
}

// launch warp_divergent grid 1 block 32 args u32[32]=below:100 u32[32]=zero
KERNEL warp_divergent(const u32 *in, u32 *out) {
    u32 x = in[lane()];
    u32 odd_lanes = vote_ballot(WHOLE_WARP, x & 1);
    u32 result;
    if (x & 1) {
        result = redux_add(odd_lanes, x);
        warp_barrier(odd_lanes);
    } else {
        u32 even_lanes = ~odd_lanes;
        u32 first = (u32)__builtin_ctz(even_lanes);
        result = shuffle_from(even_lanes, x, first) * 1000;
    }
    warp_barrier(WHOLE_WARP);
    out[lane()] = result;
}

// launch warp_reduce_by_key grid 1 block 32 args u32[32]=below:5 u32[32]=below:100 u32[5]=zero
KERNEL warp_reduce_by_key(const u32 *keys, const u32 *values, u32 *sums) {
    u32 key = keys[lane()];
    u32 left = WHOLE_WARP;
    // Every round serves the key of the first lane not yet served; the loop is the same for all lanes.
    while (left) {
        u32 leader = (u32)__builtin_ctz(left);
        u32 served = shuffle_from(WHOLE_WARP, key, leader);
        u32 sum = redux_add(WHOLE_WARP, key == served ? values[lane()] : 0);
        if (lane() == leader) sums[served] = sum;
        left &= ~vote_ballot(WHOLE_WARP, key == served);
    }
}
