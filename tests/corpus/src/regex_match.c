// Finite automata run over bytes: a hand-made lexer as nested switches, and one driven by a table.

#include "gpu.h"

enum { START, SIGN, DIGITS, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, EXPONENT_DIGITS, REJECT };

// launch match_number grid 1 block 32 args u8[320]=list:49,50,46,53,101,45,51,0,0,0,43,55,0,0,0,0,0,0,0,0,46,53,0,0,0,0,0,0,0,0,49,101,0,0,0,0,0,0,0,0,120 u32[32]=zero u32:32 u32:10
KERNEL match_number(const u8 *text, u32 *verdicts, u32 count, u32 length) {
    u32 i = global_x();
    if (i >= count) return;
    u32 state = START;
    for (u32 k = 0; k < length; k++) {
        u8 c = text[i * length + k];
        if (c == 0) break;
        int digit = c >= '0' && c <= '9';
        switch (state) {
        case START: state = digit ? DIGITS : c == '.' ? POINT : c == '+' || c == '-' ? SIGN : REJECT; break;
        case SIGN: state = digit ? DIGITS : c == '.' ? POINT : REJECT; break;
        case DIGITS: state = digit ? DIGITS : c == '.' ? FRACTION : (c | 32) == 'e' ? EXPONENT : REJECT; break;
        case POINT: state = digit ? FRACTION : REJECT; break;
        case FRACTION: state = digit ? FRACTION : (c | 32) == 'e' ? EXPONENT : REJECT; break;
        case EXPONENT: state = digit ? EXPONENT_DIGITS : c == '+' || c == '-' ? EXPONENT_SIGN : REJECT; break;
        case EXPONENT_SIGN: state = digit ? EXPONENT_DIGITS : REJECT; break;
        case EXPONENT_DIGITS: state = digit ? EXPONENT_DIGITS : REJECT; break;
        default: break;
        }
        if (state == REJECT) break;
    }
    verdicts[i] = state == DIGITS || state == FRACTION || state == EXPONENT_DIGITS;
}

// launch match_table grid 1 block 32 args u8[512]=bits u8[256]=below:4 u8[32]=below:8 u32[32]=zero u32:16
KERNEL match_table(const u8 *text, const u8 *class_of_byte, const u8 *next, u32 *ends, u32 length) {
    SHARED u8 table[32];
    table[thread_x() % 32] = next[thread_x() % 32];
    barrier();
    u32 state = 0;
    for (u32 k = 0; k < length; k++) state = table[state * 4 + class_of_byte[text[global_x() * length + k]]];
    ends[global_x()] = state;
}
