//! The rules of general optimization against the emulator: small kernels for each of them, with one set of operands a
//! thread, before and after.
//!
//! A kernel runs twice: with 10,240 sets of edges and random bits, and with 65,536 sets of which the first operand is each
//! number of 16 bits, repeated in the bits above. So what a rule does to one operand of 16 bits is tried on all of them.

use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{Options, RemarkKind, optimize};
use ptxopt_systems::values::general_optimize::rules::FAMILIES;
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::say::say;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A rule, and instructions to which it applies.
///
/// `%h1`, `%w1` and `%d1` hold 16, 32 and 64 bits of the first operand, as they come from memory; those of the second and
/// third end in 2 and 3. Results are `%h0`, `%w0`, `%d0` and `%p0`. `%d9` is where the first operand lies.
const CASES: &[(&str, &[&str])] = &[
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
        "access-in-its-space",
        &[
            "{ .local .align 16 .b8 own[32]; mov.u64 %d4, own; and.b32 %w4, %w1, 12; cvt.u64.u32 %d5, %w4; \
             add.s64 %d6, %d4, %d5; cvta.local.u64 %d7, %d6; st.u32 [%d7+4], %w2; ld.u32 %w0, [%d7+4]; }",
            "{ .shared .align 16 .b8 all[2048]; mov.u32 %w4, %tid.x; mul.wide.u32 %d4, %w4, 8; mov.u64 %d5, all; \
             add.s64 %d6, %d5, %d4; cvta.shared.u64 %d7, %d6; st.v2.u32 [%d7], {%w1, %w2}; ld.u32 %w0, [%d7+4]; }",
            "cvta.global.u64 %d4, %d9; ld.u16 %h0, [%d4+2];",
        ],
    ),
    (
        "store-low-bits",
        &[
            "{ .local .align 16 .b8 own[32]; mov.u32 %w4, own; and.b32 %w5, %w2, 12; add.s32 %w4, %w4, %w5; \
             cvt.s64.s32 %d4, %w1; st.local.u32 [%w4], %d4; ld.local.u32 %w0, [%w4]; }",
            "{ .local .align 16 .b8 own[32]; mov.u32 %w4, own; and.b32 %w5, %w2, 12; add.s32 %w4, %w4, %w5; \
             cvt.u32.u8 %w6, %h1; st.local.u8 [%w4], %w6; ld.local.s8 %w0, [%w4]; }",
            "{ .local .align 16 .b8 own[32]; mov.u32 %w4, own; and.b32 %w5, %w2, 12; add.s32 %w4, %w4, %w5; \
             and.b64 %d4, %d1, 65535; st.local.u16 [%w4], %d4; ld.local.u16 %w0, [%w4]; }",
        ],
    ),
    (
        "store-what-was-copied",
        &[
            "{ .local .align 16 .b8 own[32]; mov.u32 %w4, own; and.b32 %w5, %w2, 12; add.s32 %w4, %w4, %w5; mov.b32 %f1, %w1; \
             neg.f32 %f2, %f1; mov.b32 %w6, %f2; st.local.u32 [%w4], %w6; ld.local.u32 %w0, [%w4]; }",
            "{ .local .align 16 .b8 own[64]; .reg .f64 %e<2>; mov.u32 %w4, own; and.b32 %w5, %w2, 24; add.s32 %w4, %w4, %w5; \
             mov.b64 %e0, %d1; neg.f64 %e1, %e0; mov.b64 %d5, %e1; st.local.s64 [%w4], %d5; ld.local.u64 %d0, [%w4]; }",
        ],
    ),
    (
        "there-and-back-to-a-space",
        &[
            "cvta.to.global.u64 %d4, %d9; cvta.global.u64 %d5, %d4; ld.u32 %w0, [%d5+4];",
            "cvta.global.u64 %d4, %d9; cvta.to.global.u64 %d5, %d4; ld.global.u32 %w0, [%d5];",
        ],
    ),
    (
        "there-and-back-past-a-sum",
        &[
            "cvta.global.u64 %d4, %d9; add.s64 %d5, %d4, 4; cvta.to.global.u64 %d6, %d5; ld.global.u32 %w0, [%d6];",
            "cvta.to.global.u64 %d4, %d9; sub.u64 %d5, %d4, -4; cvta.global.u64 %d6, %d5; ld.u32 %w0, [%d6];",
            "{ .local .align 16 .b8 own[256]; mov.u64 %d5, own; cvta.local.u64 %d6, %d5; and.b64 %d4, %d1, 120; add.s64 %d7, %d4, %d6; \
             cvta.to.local.u64 %d8, %d7; st.local.u32 [%d8+4], %w2; ld.local.u32 %w0, [%d8+4]; }",
            "{ .local .align 16 .b8 own[256]; mov.u64 %d5, own; add.u64 %d5, %d5, 128; cvta.local.u64 %d6, %d5; and.b64 %d4, %d1, 120; \
             sub.s64 %d7, %d6, %d4; cvta.to.local.u64 %d8, %d7; st.local.u32 [%d8], %w2; ld.local.u32 %w0, [%d8]; }",
        ],
    ),
    (
        "funnel-shift",
        &[
            "shl.b32 %w4, %w1, 5; shr.u32 %w5, %w2, 27; or.b32 %w0, %w4, %w5;",
            "shr.u32 %w5, %w1, 1; shl.b32 %w4, %w1, 31; xor.b32 %w0, %w5, %w4;",
            "mul.lo.u32 %w4, %w1, 512; shr.b32 %w5, %w2, 23; add.s32 %w0, %w5, %w4;",
            "and.b32 %w3, %w3, 31; sub.s32 %w6, 32, %w3; shl.b32 %w4, %w1, %w3; shr.u32 %w5, %w2, %w6; \
             add.u32 %w0, %w4, %w5;",
            "min.u32 %w3, %w3, 32; sub.u32 %w6, 32, %w3; shl.b32 %w4, %w1, %w3; shr.u32 %w5, %w2, %w6; \
             or.b32 %w0, %w4, %w5;",
            "min.u32 %w3, %w3, 32; sub.u32 %w6, 32, %w3; shl.b32 %w4, %w1, %w6; shr.u32 %w5, %w2, %w3; \
             xor.b32 %w0, %w5, %w4;",
            "rem.u32 %w3, %w3, 33; sub.u32 %w6, 32, %w3; shl.b32 %w4, %w1, %w3; shr.u32 %w5, %w1, %w6; \
             or.b32 %w0, %w5, %w4;",
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
        "mask-of-a-change",
        &[
            "add.s16 %h4, %h1, 0x3E0; and.b16 %h0, %h4, 31;",
            "sub.s16 %h4, %h1, -128; and.b16 %h0, %h4, 0x65;",
            "add.s32 %w4, %w1, 0x80000000; and.b32 %w0, %w4, 0x7FFFFFFF;",
            "sub.s64 %d4, %d1, 0x100000000; and.b64 %d0, %d4, 0xFFFFFFFF;",
            "or.b16 %h4, %h1, 0x5050; and.b16 %h0, %h4, 0x0A0F;",
            "xor.b32 %w4, %w1, 0xF0; and.b32 %w0, %w4, -241;",
        ],
    ),
    (
        "bytes-beside-zeros",
        &[
            "prmt.b32 %w0, %w1, 0, 0x7770;",
            "prmt.b32 %w0, %w1, 0, 0x7610;",
            "prmt.b32 %w0, %w1, 0, 0x3454;",
            "prmt.b32 %w0, 0, %w1, 0x0654;",
            "prmt.b32 %w0, 0, %w1, 0x7123;",
        ],
    ),
    (
        "field-up-to-the-sign",
        &[
            "bfe.s32 %w0, %w1, 32, 1;",
            "bfe.s32 %w0, %w1, 255, 7;",
            "bfe.u32 %w0, %w1, 9, 23;",
            "bfe.s64 %d0, %d1, 63, 200;",
            "bfe.u64 %d0, %d1, 50, 14;",
            "bfe.u32 %w0, %w1, 31, 1;",
            "mov.u32 %w4, 300; bfe.s32 %w0, %w1, %w4, 8;",
            "and.b32 %w4, %w2, 128; or.b32 %w5, %w4, 127; bfe.s32 %w0, %w1, %w5, 1;",
            "and.b32 %w4, %w2, 32; or.b32 %w5, %w4, 31; bfe.s32 %w0, %w1, %w5, 1;",
            "and.b32 %w4, %w2, 15; or.b32 %w5, %w4, 64; and.b32 %w6, %w3, 7; or.b32 %w7, %w6, 1; bfe.s32 %w0, %w1, %w5, %w7;",
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
        "mask-of-zeros",
        &[
            "shr.u16 %h4, %h1, 5; and.b16 %h0, %h4, 2047;",
            "shl.b16 %h4, %h1, 5; and.b16 %h0, %h4, 31;",
            "ld.global.u8 %w4, [%d9+1]; shl.b32 %w5, %w4, 3; and.b32 %w0, %w5, 2047;",
            "popc.b64 %w4, %d1; and.b32 %w0, %w4, 127;",
            "clz.b32 %w4, %w1; and.b32 %w0, %w4, 63;",
            "bfe.u32 %w4, %w1, 3, 5; and.b32 %w0, %w4, 31;",
            "and.b32 %w4, %w1, 12; and.b32 %w5, %w2, 3; or.b32 %w6, %w4, %w5; and.b32 %w0, %w6, 15;",
            "cvt.u32.u8 %w4, %w1; and.b32 %w0, %w4, 255;",
        ],
    ),
    (
        "pack-of-halves",
        &[
            "cvt.u64.u32 %d4, %w1; cvt.u64.u32 %d5, %w2; shl.b64 %d6, %d5, 32; or.b64 %d0, %d4, %d6;",
            "cvt.u64.u32 %d4, %w1; cvt.s64.s32 %d5, %w2; shl.b64 %d6, %d5, 32; add.s64 %d0, %d6, %d4;",
        ],
    ),
    (
        "lowest-part",
        &[
            "mov.b64 {%w4, _}, %d1; add.s32 %w0, %w4, 1;",
            "mov.b64 {%h4, _, _, _}, %d1; add.s16 %h0, %h4, 1;",
            "mov.b32 {%h4, _}, %w1; add.s16 %h0, %h4, 1;",
        ],
    ),
    (
        "parts-put-together",
        &[
            "and.b32 %w4, %w1, 255; and.b32 %w5, %w1, -256; or.b32 %w6, %w4, %w5; add.s32 %w0, %w6, 1;",
            "bfe.u32 %w4, %w1, 5, 11; bfi.b32 %w5, %w4, %w1, 5, 11; add.s32 %w0, %w5, 1;",
            "shr.u32 %w4, %w1, 24; shl.b32 %w5, %w4, 24; shl.b32 %w6, %w1, 8; shr.u32 %w7, %w6, 8; xor.b32 %w4, %w5, %w7; add.s32 %w0, %w4, 1;",
            "shr.u32 %w4, %w1, 16; prmt.b32 %w5, %w4, %w1, 0x1054; add.s32 %w0, %w5, 1;",
            "prmt.b32 %w4, %w1, %w2, 0x6240; prmt.b32 %w5, %w4, %w1, 0x7250; add.s32 %w0, %w5, 1;",
            "cvt.u64.u16 %d4, %w1; shr.u32 %w4, %w1, 16; mul.wide.u32 %d5, %w4, 65536; or.b64 %d6, %d5, %d4; add.s64 %d0, %d6, 1;",
            "cvt.u64.u32 %d4, %w1; cvt.u64.u32 %d5, %w2; bfi.b64 %d6, %d5, %d4, 32, 32; add.s64 %d0, %d6, 1;",
            "and.b64 %d4, %d1, 0xFF00FF00; and.b64 %d5, %d1, 0x00FF00FF; or.b64 %d6, %d4, %d5; add.s64 %d0, %d6, 1;",
            "shl.b16 %h4, %h1, 4; shr.u16 %h5, %h4, 4; and.b16 %h6, %h1, -4096; or.b16 %h7, %h5, %h6; add.s16 %h0, %h7, 1;",
        ],
    ),
    (
        "part-of-parts",
        &[
            "mov.b64 %d4, {%w1, %w2}; cvt.u32.u64 %w4, %d4; shr.u64 %d5, %d4, 32; cvt.u32.u64 %w5, %d5; \
             sub.s32 %w0, %w5, %w4;",
            "mov.b64 %d4, {%w1, %w2}; shr.s64 %d5, %d4, 32; cvt.u32.s64 %w5, %d5; add.s32 %w0, %w5, 1;",
            "mov.b64 %d4, {-7, %w2}; cvt.u32.u64 %w4, %d4; add.s32 %w0, %w4, %w2;",
            "mov.b64 %d4, {%w1, 1072693248}; shr.u64 %d5, %d4, 32; cvt.u32.u64 %w5, %d5; add.s32 %w0, %w5, %w1;",
            "bfi.b32 %w4, %w1, %w2, 8, 8; bfe.u32 %w5, %w4, 8, 8; xor.b32 %w6, %w4, %w5; add.s32 %w0, %w6, %w5;",
            "bfi.b32 %w4, %w1, %w2, 8, 8; shr.u32 %w5, %w4, 16; mad.lo.s32 %w0, %w4, 3, %w5;",
            "bfi.b32 %w4, %w1, %w2, 3, 7; and.b32 %w5, %w4, -1024; mad.lo.s32 %w0, %w4, 3, %w5;",
            "bfi.b32 %w4, %w1, %w2, 8, 8; cvt.u32.u8 %w5, %w4; mad.lo.s32 %w0, %w4, 3, %w5;",
            "prmt.b32 %w4, %w1, %w2, 0x7216; bfe.u32 %w5, %w4, 8, 16; mad.lo.s32 %w0, %w4, 3, %w5;",
            "cvt.u64.u32 %d4, %w1; shl.b64 %d5, %d4, 48; cvt.u64.u8 %d6, %w2; or.b64 %d7, %d5, %d6; shr.u64 %d8, %d7, 48; mad.lo.s64 %d0, %d7, 3, %d8;",
            "bfi.b64 %d4, %d1, %d2, 32, 32; mov.b64 {_, %w4}, %d4; cvt.u32.u64 %w5, %d4; mad.lo.s32 %w0, %w4, 3, %w5;",
            "bfi.b32 %w4, %w1, %w2, 0, 12; shl.b32 %w5, %w4, 20; mad.lo.s32 %w0, %w4, 3, %w5;",
        ],
    ),
    (
        "part-that-is-stored",
        &[
            "bfi.b32 %w4, %w1, %w2, 0, 8; st.global.u8 [%d9], %w4; ld.global.u8 %w5, [%d9]; mad.lo.s32 %w0, %w4, 3, %w5;",
            "bfi.b64 %d4, %d1, %d2, 16, 48; st.global.u16 [%d9], %d4; ld.global.u16 %d5, [%d9]; mad.lo.s64 %d0, %d4, 3, %d5;",
        ],
    ),
    (
        "pack-of-parts",
        &[
            "mov.b64 {%w4, %w5}, %d1; mov.b64 %d4, {%w4, %w5}; add.s64 %d0, %d4, 1;",
            "cvt.u32.u64 %w4, %d1; mov.b64 {_, %w5}, %d1; mov.b64 %d4, {%w4, %w5}; add.s64 %d0, %d4, 1;",
            "mov.b64 {%h4, %h5, %h6, %h7}, %d1; mov.b64 %d4, {%h4, %h5, %h6, %h7}; add.s64 %d0, %d4, 1;",
            "mov.b32 {%h4, %h5}, %w1; mov.b32 %w4, {%h4, %h5}; add.s32 %w0, %w4, 1;",
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
    (
        "shift-of-zero",
        &[
            "shl.b16 %h4, 0, %w1; or.b16 %h0, %h4, %h1;",
            "shr.s32 %w4, 0, %w1; add.s32 %w0, %w4, %w2;",
            "shr.u64 %d4, 0, %w1; xor.b64 %d0, %d4, %d1;",
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
        "convert-to-the-same",
        &["cvt.u32.s32 %w4, %w1; xor.b32 %w0, %w4, %w2;", "cvt.s16.u16 %h4, %h1; xor.b16 %h0, %h4, %h2;"],
    ),
    (
        "convert-twice",
        &[
            "cvt.s32.s16 %w4, %h1; cvt.s64.s32 %d0, %w4;",
            "cvt.u32.u16 %w4, %h1; cvt.s64.s32 %d0, %w4;",
            "cvt.s64.s16 %d4, %h1; cvt.u32.u64 %w0, %d4;",
            "cvt.s64.s16 %d4, %h1; cvt.u16.u64 %h5, %d4; add.s16 %h0, %h5, 1;",
            "cvt.u32.u64 %w4, %d1; cvt.u16.u32 %h0, %w4;",
            "cvt.s32.s8 %w4, %h1; cvt.s64.s32 %d0, %w4;",
            "cvt.u32.u8 %w4, %h1; cvt.s64.s32 %d0, %w4;",
        ],
    ),
    (
        "cut-and-extend",
        &[
            "cvt.u16.u32 %h4, %w1; cvt.u32.u16 %w0, %h4;",
            "cvt.u32.u64 %w4, %d1; cvt.u64.u32 %d0, %w4;",
            "shr.u32 %w4, %w1, 16; cvt.u16.u32 %h4, %w4; cvt.u32.u16 %w5, %h4; add.s32 %w0, %w5, 1;",
        ],
    ),
    (
        "mask-of-a-conversion",
        &[
            "cvt.u32.u16 %w4, %h1; and.b32 %w0, %w4, 255;",
            "cvt.s32.s16 %w4, %h1; and.b32 %w0, %w4, 65535;",
            "cvt.s32.s8 %w4, %h1; and.b32 %w0, %w4, 255;",
            "cvt.u16.u32 %h4, %w1; and.b16 %h0, %h4, 255;",
            "cvt.u32.u64 %w4, %d1; and.b32 %w0, %w4, 65535;",
            "cvt.s64.s32 %d4, %w1; and.b64 %d0, %d4, 4294967295;",
            "cvt.s64.s16 %d4, %h1; and.b64 %d0, %d4, 255;",
        ],
    ),
    (
        "conversion-of-a-mask",
        &[
            "and.b16 %h4, %h1, 255; cvt.u32.u16 %w0, %h4;",
            "and.b16 %h4, %h1, 255; cvt.s32.s16 %w0, %h4;",
            "and.b16 %h4, %h1, 255; cvt.s32.s8 %w0, %h4;",
            "and.b32 %w4, %w1, 65535; cvt.s64.s32 %d0, %w4;",
            "and.b32 %w4, %w1, 255; cvt.u16.u32 %h0, %w4;",
            "and.b32 %w4, %w1, 65535; cvt.u16.u32 %h0, %w4;",
            "and.b64 %d4, %d1, 4294967295; cvt.u32.u64 %w0, %d4;",
            "and.b64 %d4, %d1, 255; cvt.s32.s16 %w0, %d4;",
        ],
    ),
    (
        "convert-low-bits",
        &[
            "cvt.u32.u8 %w4, %h1; cvt.s32.s8 %w0, %w4;",
            "cvt.u32.u16 %w4, %h1; cvt.s32.s8 %w0, %w4;",
            "cvt.s64.s32 %d4, %w1; cvt.u32.u8 %w0, %d4;",
            "cvt.u16.u32 %h4, %w1; cvt.s64.s8 %d0, %h4;",
            "cvt.s32.s16 %w4, %h1; cvt.u64.u8 %d0, %w4;",
        ],
    ),
    (
        "float-of-what-was-cut",
        &[
            "shr.s32 %w4, %w1, 24; cvt.s8.s32 %h4, %w4; cvt.rn.f32.s16 %f4, %h4; mov.b32 %w0, %f4;",
            "shr.s32 %w4, %w1, 16; cvt.s16.s32 %h4, %w4; cvt.rn.sat.f32.s16 %f4, %h4; mov.b32 %w0, %f4;",
            "shr.u32 %w4, %w1, 16; cvt.u16.u32 %h4, %w4; cvt.rz.f32.u16 %f4, %h4; mov.b32 %w0, %f4;",
            "and.b32 %w4, %w1, 127; cvt.s8.s32 %h4, %w4; cvt.rn.f32.u16 %f4, %h4; mov.b32 %w0, %f4;",
            "and.b32 %w4, %w1, 255; cvt.u8.u32 %h4, %w4; cvt.rn.f16.s16 %h0, %h4;",
        ],
    ),
    (
        "convert-what-was-rounded",
        &[
            "mov.b32 %f1, %w1; cvt.rmi.f32.f32 %f2, %f1; cvt.rzi.s32.f32 %w0, %f2;",
            "mov.b32 %f1, %w1; cvt.rpi.ftz.f32.f32 %f2, %f1; cvt.rni.u32.f32 %w0, %f2;",
            "mov.b32 %f1, %w1; cvt.rzi.f32.f32 %f2, %f1; cvt.rmi.ftz.u64.f32 %d0, %f2;",
            "mov.b32 %f1, %w1; cvt.rni.f32.f32 %f2, %f1; cvt.rzi.s8.f32 %w0, %f2;",
            "cvt.rni.f64.f64 %d4, %d1; cvt.rzi.s64.f64 %d0, %d4;",
            "cvt.rmi.f64.f64 %d4, %d1; cvt.rpi.u32.f64 %w0, %d4;",
            "cvt.rpi.f16.f16 %h4, %h1; cvt.rzi.s16.f16 %h0, %h4;",
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
        "compare-extensions",
        &[
            "cvt.s64.s16 %d4, %h1; setp.lt.s64 %p0, %d4, -77;",
            "cvt.s64.s16 %d4, %h1; setp.ge.u64 %p0, %d4, -77;",
            "cvt.s64.s16 %d4, %h1; setp.gt.u64 %p0, %d4, 77;",
            "cvt.u64.u16 %d4, %h1; setp.gt.s64 %p0, %d4, 40000;",
            "cvt.s64.s32 %d4, %w1; cvt.s64.s32 %d5, %w2; setp.le.u64 %p0, %d4, %d5;",
            "cvt.s64.s32 %d4, %w1; cvt.s64.s32 %d5, %w2; setp.le.s64 %p0, %d4, %d5;",
            "cvt.u64.u32 %d4, %w1; cvt.u64.u32 %d5, %w2; setp.lt.s64 %p0, %d4, %d5;",
            "cvt.u64.u32 %d4, %w1; cvt.u64.u32 %d5, %w2; setp.ne.b64 %p0, %d4, %d5;",
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

/// Sets of operands in the first launch.
const RANDOM_SETS: u64 = 10_240;
/// In the second one: each number of 16 bits.
const WHOLE_SETS: u64 = 1 << 16;

/// A kernel in which each thread applies `body` to its operands.
fn kernel(body: &str) -> String {
    let results = [("%h0", "b16", 0), ("%w0", "b32", 4), ("%d0", "b64", 8)];
    let written = results.iter().filter(|(register, ..)| body.contains(&format!(" {register},")));
    let mut stores: String =
        written.map(|(register, ty, at)| format!("st.global.{ty} [%o+{at}], {register};\n")).collect();
    if body.contains(" %p0,") {
        stores.push_str("selp.u32 %w8, 11, 22, %p0;\nst.global.u32 [%o+4], %w8;\n");
    }
    let mut loads = String::new();
    for operand in 1..=3 {
        writeln!(loads, "ld.param.u64 %q, [in{operand}];\nadd.s64 %a, %q, %i;").unwrap();
        for (register, ty) in [("h", "u16"), ("w", "u32"), ("d", "u64")] {
            writeln!(loads, "ld.global.{ty} %{register}{operand}, [%a];").unwrap();
        }
    }
    // So that what lies around the operand can be addressed by 64 bits of which nothing is known.
    loads.push_str("ld.param.u64 %q, [in1];\nadd.s64 %d9, %q, %i;\n");
    format!(
        "{}.version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in1, .param .u64 in2, .param .u64 in3)\n{{\n\
         .reg .b16 %h<10>;\n.reg .f32 %f<5>;\n.reg .b32 %w<10>;\n.reg .b64 %d<10>;\n.reg .pred %p<10>;\n.reg .b64 %o, %i, %a, %q;\n\
         .reg .b32 %x, %y, %z;\n\
         mov.u32 %x, %ctaid.x;\nmov.u32 %y, %ntid.x;\nmov.u32 %z, %tid.x;\nmad.lo.s32 %x, %x, %y, %z;\n\
         mul.wide.u32 %i, %x, 16;\nld.param.u64 %q, [out];\nadd.s64 %o, %q, %i;\nmul.wide.u32 %i, %x, 8;\n{loads}\
         {body}\n{stores}ret;\n}}\n",
        launch_lines()
    )
}

/// The two launches.
fn launch_lines() -> String {
    let mut random = super::splitmix::Random(7);
    let mut operands =
        || (0..RANDOM_SETS).map(|_| random.operand().to_string()).collect::<Vec<_>>().join(",");
    let n = RANDOM_SETS;
    let first = format!(
        "// launch k grid {} block 256 args u64[{}]=zero u64[{n}]=list:{} u64[{n}]=list:{} u64[{n}]=list:{}\n",
        n / 256,
        2 * n,
        operands(),
        operands(),
        operands()
    );
    let n = WHOLE_SETS;
    // 0x0001000100010001, and two odd numbers without a pattern.
    format!(
        "{first}// launch k grid {} block 256 args u64[{}]=zero u64[{n}]=step:281479271743489 \
         u64[{n}]=step:11400714819323198485 u64[{n}]=bits\n",
        n / 256,
        2 * n
    )
}

/// Runs a kernel before and after; says what is wrong.
fn judge(rule: &str, reason: &str, body: &str) -> Result<(), String> {
    let text = kernel(body);
    let options = Options { threads: 1, remarks: true, ..Options::default() };
    let after = optimize(text.as_bytes(), &options).map_err(|error| format!("{body}: {error}"))?;
    if !after.remarks.iter().any(|remark| remark.kind == RemarkKind::Passed && remark.reason == reason) {
        return Err(format!("{rule} is not applied to `{body}`: {:?}", after.remarks));
    }
    let lines = launches::in_text(text.as_bytes()).map_err(|error| error.to_string())?;
    // Threads write places of their own.
    let options = CheckOptions { seeds: 1, races: false, ..CheckOptions::default() };
    let reference = Reference::new(text.as_bytes(), &lines, options);
    let reference = reference.map_err(|error| format!("{body}: {error:?}"))?;
    for kernel in reference.compare(&after.text).map_err(|error| format!("{body}: {error:?}"))? {
        if !matches!(kernel.verdict, Verdict::Same) {
            return Err(format!("{rule} on `{body}`: {:?}", kernel.verdict));
        }
    }
    Ok(())
}

#[test]
fn every_rule_leaves_the_same_results() {
    let rules: Vec<_> = FAMILIES.iter().flat_map(|family| family.rules).collect();
    let wanted: BTreeSet<&str> = rules.iter().map(|rule| rule.name).collect();
    let tried: BTreeSet<&str> = CASES.iter().map(|&(rule, _)| rule).collect();
    assert_eq!(wanted, tried, "each rule has kernels here");
    let kernels: Vec<(&str, &str)> =
        CASES.iter().flat_map(|&(rule, bodies)| bodies.iter().map(move |&body| (rule, body))).collect();
    let verdicts = in_parallel(&kernels, |&(name, body)| {
        let rule = rules.iter().find(|rule| rule.name == name).expect("compared above");
        judge(name, rule.reason, body)
    });
    say(&format!("rules: {} kernels for {} rules", kernels.len(), CASES.len()));
    expect_none("rules are wrong", &verdicts.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}
