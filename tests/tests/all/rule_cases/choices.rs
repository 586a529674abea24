//! What compares and selects.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "compare-what-was-cut",
        &[
            "and.b32 %w4, %w1, 32767; cvt.u16.u32 %h4, %w4; setp.lt.u16 %p0, %h4, 1234;",
            "ld.global.s8 %w4, [%d9]; cvt.u16.u32 %h4, %w4; setp.ge.s16 %p0, %h4, -3;",
            "ld.global.s8 %w4, [%d9]; ld.global.s8 %w5, [%d9+1]; cvt.u16.u32 %h4, %w4; cvt.u16.u32 %h5, %w5; setp.eq.u16 %p0, %h4, %h5;",
            "shr.u64 %d4, %d1, 48; cvt.u16.u64 %h4, %d4; setp.hi.u16 %p0, %h4, 60000;",
            "ld.global.u16 %w4, [%d9]; cvt.u16.u32 %h4, %w4; setp.ne.b16 %p0, %h4, -1;",
        ],
    ),
    (
        "compare-an-extended-byte",
        &[
            "shr.u16 %h4, %h1, 8; cvt.s16.s8 %h5, %h4; setp.eq.s16 %p0, %h5, -7;",
            "and.b16 %h4, %h1, 127; cvt.s16.s8 %h5, %h4; setp.lt.s16 %p0, %h5, 9;",
            "ld.global.u8 %h4, [%d9]; cvt.u32.u8 %w4, %h4; setp.gt.s32 %p0, %w4, 99;",
            "ld.global.u8 %w4, [%d9]; cvt.u64.u8 %d4, %w4; setp.ls.u64 %p0, %d4, 200;",
            "ld.global.s8 %w4, [%d9]; cvt.s64.s8 %d4, %w4; setp.lt.s64 %p0, %d4, -7;",
        ],
    ),
    (
        "there-and-back",
        &[
            "not.b16 %h4, %h1; not.b16 %h0, %h4;",
            "not.b64 %d4, %d1; not.b64 %d0, %d4;",
            "neg.s32 %w4, %w1; neg.s32 %w0, %w4;",
            "brev.b32 %w4, %w1; brev.b32 %w0, %w4;",
            "mov.b32 %f1, %w1; neg.f32 %f2, %f1; neg.f32 %f3, %f2; mov.b32 %w0, %f3;",
        ],
    ),
    (
        "decided-comparison",
        &[
            "cvt.u32.u16 %w4, %h1; setp.lt.u32 %p0, %w4, 65536;",
            "cvt.s32.s16 %w4, %h1; setp.ge.s32 %p0, %w4, 32768;",
            "cvt.s32.s16 %w4, %h1; set.gt.u32.s32 %w0, %w4, -32769;",
            "or.b32 %w4, %w1, 1; setp.eq.u32 %p0, %w4, 8;",
            "setp.ge.u16 %p1, %h1, 5; @%p1 bra.uni OUT; setp.gt.u16 %p0, %h1, 4; OUT:",
            "setp.ge.s32 %p1, %w1, %w2; @%p1 bra.uni OUT; add.s32 %w4, %w1, 1; setp.eq.s32 %p0, %w4, -2147483648; OUT:",
            "setp.ne.s64 %p1, %d1, %d2; @!%p1 bra.uni OUT; setp.eq.s64 %p0, %d1, %d2; OUT: or.b64 %d4, %d1, 1; setp.eq.s64 %p0, %d4, 8;",
        ],
    ),
    (
        "only-one-result",
        &[
            "cvt.u32.u16 %w4, %h1; shr.u32 %w5, %w4, 16; xor.b32 %w0, %w5, %w2;",
            "cvt.u32.u16 %w4, %h1; div.u32 %w5, %w4, 65537; xor.b32 %w0, %w5, %w2;",
            "and.b32 %w4, %w1, 255; mul.hi.u32 %w5, %w4, 16777217; xor.b32 %w0, %w5, %w2;",
            "and.b32 %w4, %w1, 15; bfe.u32 %w5, %w4, 4, 20; xor.b32 %w0, %w5, %w2;",
        ],
    ),
    (
        "remainder-of-less",
        &[
            "cvt.u32.u16 %w4, %h1; rem.u32 %w5, %w4, 65537; xor.b32 %w0, %w5, %w2;",
            "and.b32 %w4, %w1, 255; or.b32 %w5, %w2, 256; rem.u32 %w6, %w4, %w5; xor.b32 %w0, %w6, %w3;",
            "and.b32 %w4, %w1, 255; rem.s32 %w5, %w4, 1000; xor.b32 %w0, %w5, %w2;",
        ],
    ),
    (
        "extreme-of-ordered",
        &[
            "cvt.u32.u16 %w4, %h1; min.u32 %w5, %w4, 65535; add.s32 %w0, %w5, 1;",
            "cvt.s32.s16 %w4, %h1; max.s32 %w5, %w4, -32768; xor.b32 %w0, %w5, %w2;",
            "cvt.u32.u16 %w4, %h1; max.s32 %w5, %w4, 65536; xor.b32 %w0, %w5, %w2;",
        ],
    ),
    (
        "no-sign",
        &[
            "shr.u32 %w4, %w1, 1; shr.s32 %w0, %w4, %w2;",
            "cvt.u32.u16 %w4, %h1; div.s32 %w0, %w4, 7;",
            "shr.u64 %d4, %d1, 1; cvt.u64.u16 %d5, %h2; or.b64 %d6, %d5, 1; rem.s64 %d0, %d4, %d6;",
        ],
    ),
    (
        "select-by-a-constant",
        &[
            "mov.pred %p1, 1; selp.b32 %w4, %w2, %w3, %p1; add.s32 %w0, %w4, 1;",
            "cvt.u32.u16 %w4, %h1; setp.gt.u32 %p1, %w4, 65535; selp.b32 %w5, %w2, %w3, %p1; add.s32 %w0, %w5, 1;",
        ],
    ),
    ("select-equal", &["setp.lt.s32 %p1, %w1, %w2; selp.b32 %w4, %w3, %w3, %p1; add.s32 %w0, %w4, 1;"]),
    (
        "extreme-twice",
        &[
            "mov.b32 %f1, %w1; max.f32 %f2, %f1, 0f3F800000; max.f32 %f3, %f2, 0f3F800000; mov.b32 %w0, %f3;",
            "mov.b32 %f1, %w1; min.ftz.f32 %f2, %f1, 0f00000000; min.ftz.f32 %f3, %f2, 0f00000000; mov.b32 %w0, %f3;",
            "mov.b32 %f1, %w1; max.NaN.f32 %f2, %f1, 0f00000000; max.NaN.f32 %f3, %f2, 0f00000000; mov.b32 %w0, %f3;",
        ],
    ),
    (
        "selection-of-a-selection",
        &[
            "setp.lt.s32 %p1, %w1, %w2; selp.b32 %w4, %w1, %w2, %p1; selp.b32 %w0, %w4, %w3, %p1;",
            "setp.lt.u64 %p1, %d1, %d2; selp.b64 %d4, %d1, %d2, %p1; selp.u64 %d0, %d3, %d4, %p1;",
        ],
    ),
    (
        "condition-of-a-set",
        &[
            "set.lt.u32.s16 %w4, %h1, %h2; setp.ne.s32 %p0, %w4, 0;",
            "set.hs.s32.u32 %w4, %w1, %w2; setp.eq.b32 %p0, %w4, 0;",
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; set.gt.f32.f32 %w4, %f1, %f2; setp.eq.s32 %p0, %w4, 0;",
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; set.neu.ftz.u32.f32 %w4, %f1, %f2; setp.eq.s32 %p0, %w4, 0;",
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; set.num.u32.f32 %w4, %f1, %f2; setp.eq.u32 %p0, %w4, 0;",
            "mov.b32 %f1, %w1; set.leu.u32.f32 %w4, %f1, 0f3F800000; setp.ne.u32 %p0, %w4, 0;",
            "set.nan.f16.f16 %h4, %h1, %h2; setp.ne.b16 %p0, %h4, 0;",
            "set.ge.ftz.f16.f16 %h4, %h1, %h2; setp.eq.s16 %p0, %h4, 0;",
            "set.lt.bf16.bf16 %h4, %h1, %h2; setp.ne.u16 %p0, %h4, 0;",
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; set.lt.f16.f32 %h4, %f1, %f2; setp.ne.s16 %p0, %h4, 0;",
        ],
    ),
    ("select-by-a-negation", &["setp.lt.s32 %p1, %w1, %w2; selp.b32 %w0, %w2, %w3, !%p1;"]),
    (
        "predicate-logic",
        &[
            "setp.lt.s32 %p1, %w1, %w2; xor.pred %p0, %p1, 1;",
            "setp.lt.s32 %p1, %w1, %w2; or.pred %p0, !%p1, !%p1;",
            "setp.lt.s32 %p1, %w1, %w2; and.pred %p2, %p1, 1; or.pred %p0, %p2, 0;",
            "setp.lt.s32 %p1, %w1, %w2; mov.pred %p2, 0; or.pred %p3, %p1, !%p2; and.pred %p0, !%p2, %p1;",
            "setp.lt.s32 %p1, %w1, %w2; xor.pred %p2, !%p1, %p1; mov.pred %p3, 1; xor.pred %p0, %p3, %p1;",
            "setp.lt.s32 %p1, %w1, %w2; or.pred %p2, %p1, !%p1; xor.pred %p3, %p1, %p1; or.pred %p0, %p2, %p3;",
        ],
    ),
    (
        "comparison-with-a-constant",
        &[
            "mov.pred %p1, 1; setp.lt.and.s32 %p2, %w1, %w2, %p1; setp.gt.or.u32 %p3, %w1, 7, !%p1; xor.pred %p0, %p2, %p3;",
            "mov.pred %p1, 0; setp.eq.xor.s32 %p2, %w1, %w2, %p1; setp.gt.and.u32 %p3, %w1, 7, %p1; or.pred %p0, %p2, %p3;",
            "mov.pred %p1, 1; setp.lt.or.s32 %p2, %w1, %w2, %p1; setp.gt.u32 %p3, %w1, 7; and.pred %p0, %p2, %p3;",
            "mov.pred %p1, 1; setp.lt.xor.s32 %p2, %w1, %w2, %p1; mov.b32 %f1, %w1; mov.b32 %f2, %w2; setp.le.xor.f32 %p3, %f1, %f2, %p1; \
             xor.pred %p0, %p2, %p3;",
        ],
    ),
    (
        "decided-comparison-beside-a-predicate",
        &[
            "setp.lt.s32 %p1, %w1, %w2; cvt.u32.u16 %w4, %h1; setp.lt.and.u32 %p0, %w4, 65536, %p1;",
            "setp.lt.s32 %p1, %w1, %w2; cvt.u32.u16 %w4, %h1; setp.lt.xor.u32 %p0, %w4, 65536, %p1;",
            "setp.lt.s32 %p1, %w1, %w2; cvt.u32.u16 %w4, %h1; setp.ge.or.u32 %p0, %w4, 65536, !%p1;",
            "setp.lt.s32 %p1, %w1, %w2; mov.f32 %f1, 0f7FC00000; setp.num.or.f32 %p2, %f1, 0f3F800000, %p1; setp.nan.or.f32 %p3, %f1, %f1, %p1; \
             xor.pred %p0, %p2, %p3;",
        ],
    ),
    (
        "nan-of-a-magnitude",
        &[
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; abs.f32 %f3, %f1; abs.f32 %f4, %f2; setp.nan.f32 %p0, %f3, %f4;",
            "mov.b32 %f1, %w1; abs.ftz.f32 %f3, %f1; setp.num.ftz.f32 %p0, %f3, %f3;",
            "mov.b32 %f1, %w1; mov.b32 %f2, %w2; neg.f32 %f3, %f2; setp.lt.s32 %p1, %w1, 7; setp.nan.and.f32 %p0, %f1, %f3, %p1;",
            "abs.f16 %h4, %h1; neg.f16 %h5, %h2; setp.num.f16 %p0, %h4, %h5;",
            "abs.f64 %d4, %d1; set.nan.u32.f64 %w0, %d4, %d2;",
        ],
    ),
    (
        "condition-of-a-number",
        &[
            "setp.lt.s32 %p1, %w1, %w2; selp.u32 %w4, 1, 0, %p1; setp.eq.s32 %p0, %w4, 0;",
            "setp.lt.s32 %p1, %w1, %w2; selp.u16 %h4, 0, 1, %p1; cvt.u32.u16 %w4, %h4; and.b32 %w5, %w4, 1; \
             setp.ne.b32 %p0, %w5, 0;",
        ],
    ),
];
