// Where is the largest element? Value and place travel together, and ties go to the smaller place.

#include "gpu.h"

struct candidate {
    f32 value;
    u32 place;
};

INLINE struct candidate better(struct candidate a, struct candidate b) {
    if (a.value != b.value) return a.value > b.value ? a : b;
    return a.place < b.place ? a : b;
}

// launch reduce_argmax grid 1 block 128 args f32[1000]=signed f32[1]=zero u32[1]=zero u32:1000
KERNEL reduce_argmax(const f32 *in, f32 *best_value, u32 *best_place, u32 size) {
    SHARED f32 value_of_warp[32];
    SHARED u32 place_of_warp[32];
    u32 t = thread_x();
    struct candidate mine = {-__builtin_inff(), 0xffffffffu};
    for (u32 i = t; i < size; i += block_width()) mine = better(mine, (struct candidate){in[i], i});
    for (u32 by = 16; by > 0; by /= 2) {
        struct candidate other = {shuffle_down_f32(WHOLE_WARP, mine.value, by), shuffle_down(WHOLE_WARP, mine.place, by)};
        mine = better(mine, other);
    }
    if (lane() == 0) {
        value_of_warp[t / 32] = mine.value;
        place_of_warp[t / 32] = mine.place;
    }
    barrier();
    if (t == 0) {
        for (u32 w = 1; w < block_width() / 32; w++) mine = better(mine, (struct candidate){value_of_warp[w], place_of_warp[w]});
        *best_value = mine.value;
        *best_place = mine.place;
    }
}
