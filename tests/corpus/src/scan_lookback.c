// Prefix sum of the whole array in one launch: a block takes a ticket, publishes its own sum, then
// looks back over the tiles before it until it meets one whose prefix is already complete.
// The ticket, not the block index, names the tile, so a tile only ever waits for a running block.

#include "gpu.h"

#define WIDTH 32
#define STATE_EMPTY 0ull
#define STATE_PART 1ull
#define STATE_DONE 2ull

INLINE u64 pack(u64 state, u32 value) { return state << 32 | value; }

// launch scan_lookback grid 6 block 32 args u32[180]=below:9 u32[180]=zero u64[6]=zero u32[1]=zero u32:180
KERNEL scan_lookback(const u32 *in, u32 *out, u64 *status, u32 *ticket, u32 size) {
    SHARED u32 tile_shared;
    SHARED u32 before_shared;
    u32 t = thread_x();
    if (t == 0) tile_shared = atomic_add(ticket, 1u);
    barrier();
    u32 tile = tile_shared;
    u32 i = tile * WIDTH + t;
    u32 mine = i < size ? in[i] : 0;
    u32 sum = mine;
    for (u32 by = 1; by < 32; by *= 2) {
        u32 other = shuffle_up(WHOLE_WARP, sum, by);
        if (t >= by) sum += other;
    }
    u32 whole = shuffle_from(WHOLE_WARP, sum, 31);
    if (t == 0) {
        u32 before = 0;
        if (tile > 0) {
            atomic_swap(&status[tile], pack(STATE_PART, whole));
            u32 look = tile - 1;
            for (;;) {
                u64 seen = atomic_load(&status[look]);
                u64 state = seen >> 32;
                if (state == STATE_EMPTY) continue;
                before += (u32)seen;
                if (state == STATE_DONE) break;
                look--;
            }
        }
        atomic_swap(&status[tile], pack(STATE_DONE, before + whole));
        before_shared = before;
    }
    barrier();
    if (i < size) out[i] = before_shared + sum;
}
