//! What moves and masks bits.

use super::Case;

pub(super) const CASES: &[Case] = &[
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
];
