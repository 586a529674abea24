// The loss at the end of a classifier, and its gradient, a warp a row; targets out of range are ignored.

#include "gpu.h"

// launch cross_entropy grid 2 block 64 args f32[160]=signed i32[4]=list:3,-100,39,0 f32[4]=zero f32[160]=zero i32:40
KERNEL cross_entropy(const f32 *scores, const i32 *targets, f32 *losses, f32 *gradient, i32 classes) {
    i32 row = (i32)(global_x() / 32);
    i32 target = targets[row];
    const f32 *mine = scores + row * classes;
    f32 *change = gradient + row * classes;
    if (target < 0 || target >= classes) {
        for (i32 i = (i32)lane(); i < classes; i += 32) change[i] = 0.0f;
        if (lane() == 0) losses[row] = 0.0f;
        return;
    }
    f32 high = -__builtin_inff();
    for (i32 i = (i32)lane(); i < classes; i += 32) high = max_f32(high, mine[i]);
    for (u32 flip = 16; flip > 0; flip /= 2) high = max_f32(high, shuffle_xor_f32(WHOLE_WARP, high, flip));
    f32 sum = 0.0f;
    for (i32 i = (i32)lane(); i < classes; i += 32) sum += exp_fast(mine[i] - high);
    for (u32 flip = 16; flip > 0; flip /= 2) sum += shuffle_xor_f32(WHOLE_WARP, sum, flip);
    for (i32 i = (i32)lane(); i < classes; i += 32) change[i] = exp_fast(mine[i] - high) / sum - (i == target ? 1.0f : 0.0f);
    if (lane() == 0) losses[row] = log_fast(sum) + high - mine[target];
}
