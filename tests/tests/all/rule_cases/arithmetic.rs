//! What adds, multiplies and divides, and constants.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "fold",
        &[
            "mov.u32 %w4, 40; mov.u32 %w5, 2; add.s32 %w6, %w4, %w5; mad.lo.s32 %w0, %w6, %w1, %w2;",
            "mov.u32 %w4, -7; shr.s32 %w5, %w4, 33; xor.b32 %w0, %w5, %w1;",
            "mov.u64 %d4, -7; rem.s64 %d5, %d4, 4; add.s64 %d0, %d5, %d1;",
            "mov.u32 %w4, 384; cvt.s8.u32 %w5, %w4; cvt.sat.s16.u32 %d4, %w4; mad.wide.s32 %d0, %w5, %w1, %d4;",
            "mov.u32 %w4, 0x7FFFFFFF; add.sat.s32 %w5, %w4, 9; slct.u32.s32 %w6, %w5, 3, -1; add.u32 %w0, %w6, %w1;",
        ],
    ),
    (
        "address-of-a-sum",
        &[
            "add.s64 %d4, %d9, 8; ld.global.u64 %d0, [%d4+-8];",
            "sub.s64 %d4, %d9, 16; ld.global.u32 %w0, [%d4+20];",
            "{ .local .align 4 .b8 buffer[128]; mov.u32 %w4, buffer; and.b32 %w5, %w1, 60; add.s32 %w6, %w5, %w4; add.s32 %w7, %w6, 16; \
             st.local.u32 [%w7], %w2; ld.local.u32 %w0, [%w7]; }",
        ],
    ),
    (
        "sum-of-a-sum",
        &[
            "add.s32 %w4, %w1, 2147483647; add.s32 %w0, %w4, 2147483647;",
            "sub.s64 %d4, %d1, 3; add.s64 %d0, %d4, -9;",
            "add.s16 %h4, %h1, 30000; sub.s16 %h0, %h4, -30000;",
        ],
    ),
    (
        "terms-that-cancel",
        &[
            "add.s16 %h4, %h1, %h2; sub.s16 %h0, %h4, %h1;",
            "add.s32 %w4, %w2, %w1; sub.u32 %w0, %w4, %w1;",
            "sub.s64 %d4, %d1, %d2; sub.s64 %d0, %d4, %d1;",
            "sub.s16 %h4, %h1, %h2; add.u16 %h0, %h2, %h4;",
            "add.s32 %w4, %w1, %w2; sub.s32 %w0, %w1, %w4;",
            "add.s16 %h4, %h2, %h1; sub.s16 %h0, %h1, %h4;",
            "sub.s32 %w4, %w1, %w2; sub.s32 %w0, %w1, %w4;",
            "sub.s16 %h4, 77, %h1; sub.s16 %h0, 77, %h4;",
        ],
    ),
    (
        "sum-with-a-negation",
        &[
            "neg.s16 %h4, %h1; add.s16 %h0, %h4, %h2;",
            "neg.s32 %w4, %w1; add.u32 %w0, %w2, %w4;",
            "neg.s64 %d4, %d1; sub.s64 %d0, %d2, %d4;",
            "neg.s16 %h4, %h1; add.s16 %h0, %h4, -3;",
        ],
    ),
    (
        "literal-minus",
        &[
            "add.s16 %h4, %h1, 30000; sub.s16 %h0, -30000, %h4;",
            "sub.s32 %w4, -2147483647, %w1; sub.s32 %w0, 9, %w4;",
            "sub.s64 %d4, 5, %d1; add.s64 %d0, %d4, 7;",
            "sub.s16 %h4, 30000, %h1; sub.s16 %h0, %h4, -30000;",
            "sub.u32 %w4, %w1, 8; sub.u32 %w0, 3, %w4;",
        ],
    ),
    (
        "known-carry",
        &[
            "add.cc.u32 %w4, %w1, 0; addc.cc.u32 %w5, %w2, %w3; addc.u32 %w6, %w4, 0; xor.b32 %w0, %w5, %w6;",
            "sub.cc.u64 %d4, %d1, 0; subc.cc.u64 %d5, %d2, %d3; subc.u64 %d6, %d4, 0; xor.b64 %d0, %d5, %d6;",
            "mad.hi.cc.u32 %w4, %w1, %w2, 0; madc.lo.cc.u32 %w5, %w1, %w2, %w3; madc.hi.cc.u32 %w6, %w1, %w2, 0; \
             addc.u32 %w7, %w4, %w5; xor.b32 %w0, %w6, %w7;",
            "mad.hi.cc.s32 %w4, %w1, %w2, 0; addc.cc.s32 %w5, %w2, 0x7FFFFFFF; madc.hi.s64 %d4, %d1, %d2, 7; cvt.u64.u32 %d5, %w5; \
             xor.b64 %d0, %d4, %d5;",
            "add.cc.u32 %w4, -1, 1; addc.cc.u32 %w5, %w1, 0xFFFFFFFE; addc.u32 %w6, %w2, 0; xor.b32 %w0, %w5, %w6;",
            "add.cc.u64 %d4, -1, 1; addc.u64 %d0, 0xFFFFFFFFFFFFFFFF, %d1;",
            "add.cc.u32 %w4, 1, 2; subc.cc.u32 %w5, %w1, 0xFFFFFFFE; subc.cc.u32 %w6, 1, %w2; addc.u32 %w7, %w5, 0; xor.b32 %w0, %w6, %w7;",
            "add.cc.u32 %w4, 1, 2; subc.cc.u32 %w5, 1, %w1; subc.u32 %w6, %w2, 3; xor.b32 %w0, %w5, %w6;",
            "sub.cc.s32 %w4, 5, 5; madc.lo.cc.s32 %w5, %w1, %w2, 0x7FFFFFFF; addc.u32 %w6, %w3, 1; xor.b32 %w0, %w5, %w6;",
            "and.b32 %w4, %w1, 0xFFFF; and.b32 %w5, %w2, 0x7FFFFFFF; add.cc.u32 %w6, %w4, %w5; addc.u32 %w7, %w3, 1; xor.b32 %w0, %w6, %w7;",
            "or.b32 %w4, %w1, 0x80000000; or.b32 %w5, %w2, 0x80000000; add.cc.u32 %w6, %w4, %w5; addc.u32 %w7, %w3, 1; xor.b32 %w0, %w6, %w7;",
        ],
    ),
    (
        "difference-with-its-bits",
        &[
            "and.b16 %h4, %h1, 0xFFF1; sub.s16 %h0, %h1, %h4;",
            "and.b32 %w4, %w1, -8; sub.u32 %w0, %w1, %w4;",
            "and.b64 %d4, %d1, 7; sub.s64 %d0, %d1, %d4;",
            "and.b16 %h4, %h1, 0x7FFE; and.b16 %h5, %h1, 0x1230; sub.s16 %h0, %h4, %h5;",
            "and.b32 %w4, %w1, -2; and.b32 %w5, %w1, 0xFF00; sub.s32 %w0, %w4, %w5;",
        ],
    ),
    (
        "shift-there-and-back",
        &[
            "shr.u16 %h4, %h1, 3; shl.b16 %h0, %h4, 3;",
            "shr.s16 %h4, %h1, 15; shl.b16 %h0, %h4, 15;",
            "shl.b32 %w4, %w1, 16; shr.u32 %w0, %w4, 16;",
            "shr.s64 %d4, %d1, 40; shl.b64 %d0, %d4, 40;",
        ],
    ),
    (
        "factor-of-one",
        &[
            "mad.lo.s16 %h0, %h1, 1, %h2;",
            "mad.lo.u32 %w0, -1, %w1, %w2;",
            "mad.lo.s64 %d0, %d1, -1, 12;",
            "mad.lo.s16 %h4, %h1, 0, %h2; xor.b16 %h0, %h4, %h1;",
        ],
    ),
    (
        "sum-with-zero",
        &[
            "mad.lo.s16 %h0, %h1, %h2, 0;",
            "mad.hi.s32 %w0, %w1, %w2, 0;",
            "mad.wide.u32 %d0, %w1, 12, 0;",
            "mad.wide.s16 %w0, %h1, %h2, 0;",
        ],
    ),
    (
        "mad-of-extensions",
        &[
            "cvt.s64.s32 %d4, %w1; mad.lo.s64 %d0, %d4, -4, %d2;",
            "cvt.u64.u32 %d4, %w1; cvt.u64.u32 %d5, %w2; mad.lo.s64 %d0, %d4, %d5, %d2;",
            "cvt.s32.s16 %w4, %h1; mad.lo.u32 %w0, -32768, %w4, %w2;",
            "cvt.u32.u16 %w4, %h1; mad.lo.s32 %w0, %w4, 65535, %w2;",
        ],
    ),
    (
        "neutral-operand",
        &[
            "or.b32 %w4, %w1, 0; mul.lo.s32 %w5, %w4, 1; add.s32 %w0, %w5, %w2;",
            "min.u16 %h4, %h1, 65535; max.s16 %h5, %h4, -32768; xor.b16 %h0, %h5, %h2;",
            "min.s64 %d4, %d1, 9223372036854775807; shr.s64 %d5, %d4, 0; xor.b64 %d0, %d5, %d2;",
        ],
    ),
    (
        "absorbing-operand",
        &[
            "shl.b16 %h4, %h1, 16; shr.u16 %h5, %h1, 17; or.b16 %h6, %h4, %h5; xor.b16 %h0, %h6, %h2;",
            "max.s32 %w4, %w1, 2147483647; xor.b32 %w0, %w4, %w2;",
            "or.b64 %d4, %d1, -1; min.u64 %d5, %d1, 0; sub.s64 %d6, %d4, %d5; xor.b64 %d0, %d6, %d2;",
        ],
    ),
    (
        "equal-operands",
        &[
            "sub.s16 %h4, %h1, %h1; max.s16 %h5, %h1, %h1; or.b16 %h0, %h4, %h5;",
            "xor.b64 %d4, %d1, %d1; and.b64 %d5, %d1, %d1; add.s64 %d0, %d4, %d5;",
        ],
    ),
    (
        "literal-last",
        &[
            "mov.u32 %w4, 77; mul.lo.s32 %w0, %w4, %w1;",
            "mul.wide.s16 %w0, -3, %h1;",
            "add.s16 %h0, 77, %h1;",
            "or.b32 %w0, 77, %w1;",
            "xor.b64 %d0, -3, %d1;",
            "min.s16 %h0, -3, %h1;",
            "max.u32 %w0, 77, %w1;",
        ],
    ),
    (
        "operation-twice",
        &[
            "and.b16 %h4, %h1, 4080; and.b16 %h0, %h4, 255;",
            "xor.b32 %w4, %w1, -5; xor.b32 %w0, %w4, 77;",
            "or.b16 %h4, %h1, 4080; or.b16 %h0, %h4, 255;",
            "shl.b16 %h4, %h1, 9; shl.b16 %h0, %h4, 9;",
            "shr.s16 %h4, %h1, 9; shr.s16 %h0, %h4, 9;",
            "shr.u64 %d4, %d1, 40; shr.u64 %d0, %d4, 30;",
            "mul.lo.s64 %d4, %d1, 3037000500; mul.lo.s64 %d0, %d4, 3037000500;",
            "min.s16 %h4, %h1, 3; min.s16 %h0, %h4, -3;",
            "max.u16 %h4, %h1, 65533; max.u16 %h0, %h4, 3;",
        ],
    ),
    (
        "product-with-a-power",
        &[
            "mul.lo.s16 %h0, %h1, 32;",
            "mul.lo.u16 %h0, %h1, 32768;",
            "mul.lo.s32 %w0, %w1, -2147483648;",
            "mul.lo.s64 %d0, %d1, 4294967296;",
        ],
    ),
    (
        "negation",
        &["mul.lo.s16 %h0, %h1, -1;", "sub.u16 %h0, 0, %h1;", "mul.lo.u64 %d0, %d1, 18446744073709551615;"],
    ),
    (
        "quotient-by-a-power",
        &[
            "div.u16 %h0, %h1, 8;",
            "div.u64 %d0, %d1, 4294967296;",
            "div.s32 %w4, %w1, 1; xor.b32 %w0, %w4, %w2;",
        ],
    ),
    (
        "remainder-by-a-power",
        &[
            "rem.u16 %h0, %h1, 32768;",
            "rem.u64 %d0, %d1, 4294967296;",
            "rem.s32 %w4, %w1, 1; xor.b32 %w0, %w4, %w2;",
        ],
    ),
    (
        "shift-of-an-extension",
        &[
            "cvt.s32.s16 %w4, %h1; shl.b32 %w0, %w4, 14;",
            "cvt.u32.u16 %w4, %h1; shl.b32 %w0, %w4, 15;",
            "cvt.s64.s32 %d4, %w1; shl.b64 %d0, %d4, 30;",
            "cvt.u64.u32 %d4, %w1; shl.b64 %d0, %d4, 31;",
        ],
    ),
    (
        "product-of-extensions",
        &[
            "cvt.s32.s16 %w4, %h1; mul.lo.s32 %w0, %w4, -32767;",
            "cvt.u32.u16 %w4, %h1; cvt.u32.u16 %w5, %h2; mul.lo.s32 %w0, %w4, %w5;",
            "cvt.s64.s32 %d4, %w1; cvt.s64.s32 %d5, %w2; mul.lo.u64 %d0, %d4, %d5;",
            "cvt.u64.u32 %d4, %w1; mul.lo.s64 %d0, %d4, 4294967295;",
        ],
    ),
    (
        "sum-against-its-term",
        &[
            "or.b16 %h4, %h1, 256; add.u16 %h5, %h4, -256; setp.lt.u16 %p0, %h5, %h4;",
            "or.b16 %h4, %h1, 256; sub.u16 %h5, %h4, 256; setp.gt.u16 %p0, %h5, %h4;",
            "and.b16 %h4, %h1, 32767; add.s16 %h5, %h4, -5; setp.ge.s16 %p0, %h4, %h5;",
            "and.b32 %w4, %w1, 65535; and.b32 %w5, %w2, 65535; add.u32 %w6, %w5, %w4; setp.ge.u32 %p0, %w6, %w5;",
            "cvt.s32.s16 %w4, %h1; cvt.s32.s16 %w5, %h2; and.b32 %w5, %w5, 4095; sub.s32 %w6, %w4, %w5; setp.gt.s32 %p0, %w6, %w4;",
            "or.b64 %d4, %d2, 1; add.s64 %d5, %d1, %d4; setp.ne.s64 %p0, %d5, %d1;",
        ],
    ),
    (
        "quotient-of-a-quotient",
        &[
            "div.u16 %h4, %h1, 7; div.u16 %h0, %h4, 11;",
            "div.u32 %w4, %w1, 65535; div.u32 %w0, %w4, 65537;",
            "div.u64 %d4, %d1, 3; div.u64 %d0, %d4, 5;",
        ],
    ),
    (
        "divide-by-a-product",
        &[
            "cvt.u32.u16 %w4, %h1; div.u32 %w0, %w4, 7;",
            "cvt.u32.u16 %w4, %h1; div.u32 %w0, %w4, 65535;",
            "shr.u16 %h4, %h1, 6; div.u16 %h0, %h4, 11;",
            "div.u32 %w0, %w1, 641;",
            "cvt.u64.u32 %d4, %w1; div.u64 %d0, %d4, 1000000007;",
        ],
    ),
    (
        "shift-of-zero",
        &[
            "shl.b16 %h4, 0, %w1; or.b16 %h0, %h4, %h1;",
            "shr.s32 %w4, 0, %w1; add.s32 %w0, %w4, %w2;",
            "shr.u64 %d4, 0, %w1; xor.b64 %d0, %d4, %d1;",
        ],
    ),
];
