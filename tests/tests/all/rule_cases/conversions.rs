//! What converts and stores.

use super::Case;

pub(super) const CASES: &[Case] = &[
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
];
