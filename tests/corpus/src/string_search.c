// Looking for words in a text: straight comparison at each place, a Rabin-Karp rolling hash over each
// thread's stretch, and the bit-parallel shift-or machine.

#include "gpu.h"

// launch search_naive grid 2 block 64 args u8[400]=below:2 u8[8]=below:2 u32[1]=zero u32:400 u32:5
KERNEL search_naive(const u8 *text, const u8 *word, u32 *found, u32 text_size, u32 word_size) {
    for (u32 i = global_x(); i + word_size <= text_size; i += grid_stride()) {
        u32 k = 0;
        while (k < word_size && text[i + k] == word[k]) k++;
        if (k == word_size) atomic_add(found, 1u);
    }
}

// launch search_rolling grid 1 block 32 args u8[400]=below:3 u8[4]=below:3 u32[32]=zero u32:400 u32:4 u32:12
KERNEL search_rolling(const u8 *text, const u8 *word, u32 *counts, u32 text_size, u32 word_size, u32 each) {
    u32 start = global_x() * each;
    u32 stop = min_u32(start + each + word_size - 1, text_size);
    u32 wanted = 0;
    u32 power = 1;
    for (u32 k = 0; k < word_size; k++) {
        wanted = wanted * 257 + word[k];
        if (k > 0) power *= 257;
    }
    u32 hash = 0;
    u32 count = 0;
    for (u32 i = start; i < stop; i++) {
        if (i - start >= word_size) hash -= text[i - word_size] * power;
        hash = hash * 257 + text[i];
        count += i - start + 1 >= word_size && hash == wanted;
    }
    counts[global_x()] = count;
}

// launch search_shift_or grid 1 block 32 args u8[512]=below:4 u8[8]=below:4 u32[32]=zero u32:16 u32:3
KERNEL search_shift_or(const u8 *texts, const u8 *word, u32 *first, u32 each, u32 word_size) {
    SHARED u32 masks[256];
    for (u32 c = thread_x(); c < 256; c += block_width()) {
        u32 mask = 0xffffffffu;
        for (u32 k = 0; k < word_size; k++) mask &= ~((u32)(word[k] == c) << k);
        masks[c] = mask;
    }
    barrier();
    u32 state = 0xffffffffu;
    u32 place = each;
    for (u32 k = 0; k < each; k++) {
        state = state << 1 | masks[texts[global_x() * each + k]];
        if ((state >> (word_size - 1) & 1) == 0) {
            place = k + 1 - word_size;
            break;
        }
    }
    first[global_x()] = place;
}
