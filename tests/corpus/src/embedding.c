// Looking rows up in a table: one row a token, bags of rows averaged, and the gradient scattered back.

#include "gpu.h"

// launch embedding_gather grid 5 block 16 args u32[5]=below:20 f32x4[320]=signed f32x4[80]=zero u32:16 u32:20
KERNEL embedding_gather(const u32 *tokens, const f32x4 *table, f32x4 *out, u32 width, u32 rows) {
    u32 token = tokens[block_x()];
    f32x4 value = token < rows ? table[token * width + thread_x()] : (f32x4){};
    out[block_x() * width + thread_x()] = value;
}

// launch embedding_bag grid 4 block 32 args u32[5]=step:3 u32[12]=below:10 f16[320]=signed f16[128]=zero
KERNEL embedding_bag(const u32 *starts, const u32 *tokens, const f16 *table, f16 *out) {
    u32 bag = block_x();
    u32 start = starts[bag];
    u32 stop = starts[bag + 1];
    f32 sum = 0.0f;
    for (u32 k = start; k < stop; k++) sum += (f32)table[tokens[k] * 32 + lane()];
    out[bag * 32 + lane()] = (f16)(stop > start ? sum / (f32)(stop - start) : 0.0f);
}

// launch embedding_scatter grid 6 block 8 args u32[6]=below:4 i32[48]=below:100 i32[32]=zero u32:8
KERNEL embedding_scatter(const u32 *tokens, const i32 *gradient, i32 *table_gradient, u32 width) {
    atomic_add(&table_gradient[tokens[block_x()] * width + thread_x()], gradient[block_x() * width + thread_x()]);
}
