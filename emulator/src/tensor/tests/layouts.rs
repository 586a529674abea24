//! Every shape of `mma`, with the ISA's formulas for the elements `a_i`, `b_i`, `c_i` of a lane.

use super::{BF16, BIT, BYTE, E5M2, F16, F32, F64, Kind, Matrix, NIBBLE, TF32, WORD, deal, evaluate, mma};

type Place = fn(usize, usize, usize) -> (usize, usize);

/// A shape: rows and depth, the places of `a_i` and `b_i` of lane `4 * g + t`.
struct Shape {
    rows: usize,
    depth: usize,
    left: Place,
    right: Place,
}

/// Checks a product: `kinds` of A, B, C and D, the range of values in A and B.
fn check(mnemonic: &str, shape: &Shape, kinds: [Kind; 4], ranges: [(i64, i64); 2]) {
    let Shape { rows, depth, left, right } = *shape;
    let a = Matrix::random(rows, depth, ranges[0].0, ranges[0].1, 1);
    let b = Matrix::random(depth, 8, ranges[1].0, ranges[1].1, 2);
    let c = Matrix::random(rows, 8, -20, 20, 3);
    let sum = |lane: usize, i: usize| (if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + (i & 1));
    let sources = [
        deal(&a, kinds[0], rows * depth / 32, |lane, i| left(lane / 4, lane % 4, i)),
        deal(&b, kinds[1], depth / 4, |lane, i| right(lane / 4, lane % 4, i)),
        deal(&c, kinds[2], rows / 4, sum),
    ];
    let want = deal(&a.times_plus(&b, &c), kinds[3], rows / 4, sum);
    let got = evaluate(&mma(mnemonic, want.len(), &sources), &sources, want.len());
    assert_eq!(got, want, "{mnemonic}");
}

const SMALL: [(i64, i64); 2] = [(-3, 3), (-3, 3)];

/// `g` or `g + 8`.
fn row(g: usize, first: bool) -> usize {
    if first { g } else { g + 8 }
}

const HALVES_8: Shape = Shape {
    rows: 16,
    depth: 8,
    left: |g, t, i| (row(g, i < 2), t * 2 + (i & 1)),
    right: |g, t, i| (t * 2 + i, g),
};
const HALVES_16: Shape = Shape {
    rows: 16,
    depth: 16,
    left: |g, t, i| (row(g, i < 2 || (4..6).contains(&i)), t * 2 + (i & 1) + if i < 4 { 0 } else { 8 }),
    right: |g, t, i| (t * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, g),
};

#[test]
fn halves() {
    for (name, sum) in [("f16", F16), ("f32", F32)] {
        for (shape, depth) in [(&HALVES_8, 8), (&HALVES_16, 16)] {
            let mnemonic = format!("mma.sync.aligned.m16n8k{depth}.row.col.{name}.f16.f16.{name}");
            check(&mnemonic, shape, [F16, F16, sum, sum], SMALL);
        }
    }
    check("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", &HALVES_8, [BF16, BF16, F32, F32], SMALL);
    check("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", &HALVES_16, [BF16, BF16, F32, F32], SMALL);
}

const WORDS_4: Shape =
    Shape { rows: 16, depth: 4, left: |g, t, i| (row(g, i == 0), t), right: |g, t, _| (t, g) };
const WORDS_8: Shape = Shape {
    rows: 16,
    depth: 8,
    left: |g, t, i| (row(g, i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
    right: |g, t, i| (if i == 0 { t } else { t + 4 }, g),
};

#[test]
fn tensor_floats() {
    let kinds = [TF32, TF32, F32, F32];
    check("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", &WORDS_4, kinds, SMALL);
    check("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", &WORDS_8, kinds, SMALL);
}

#[test]
fn doubles() {
    let kinds = [F64; 4];
    let square = Shape { rows: 8, depth: 4, left: |g, t, _| (g, t), right: |g, t, _| (t, g) };
    check("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", &square, kinds, SMALL);
    check("mma.sync.aligned.m16n8k4.row.col.rn.f64.f64.f64.f64", &WORDS_4, kinds, SMALL);
    check("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", &WORDS_8, kinds, SMALL);
    let deep = Shape {
        rows: 16,
        depth: 16,
        left: |g, t, i| (row(g, i % 2 == 0), if i % 2 == 0 { i * 2 + t } else { i * 2 - 2 + t }),
        right: |g, t, i| (t + i * 4, g),
    };
    check("mma.sync.aligned.m16n8k16.row.col.rz.f64.f64.f64.f64", &deep, kinds, SMALL);
}

const BYTES_16: Shape = Shape {
    rows: 16,
    depth: 16,
    left: |g, t, i| (row(g, i < 4), t * 4 + (i & 3)),
    right: |g, t, i| (t * 4 + i, g),
};
const BYTES_32: Shape = Shape {
    rows: 16,
    depth: 32,
    left: |g, t, i| (row(g, i < 4 || (8..12).contains(&i)), t * 4 + (i & 3) + if i < 8 { 0 } else { 16 }),
    right: |g, t, i| (t * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, g),
};

#[test]
fn bytes() {
    let square =
        Shape { rows: 8, depth: 16, left: |g, t, i| (g, t * 4 + i), right: |g, t, i| (t * 4 + i, g) };
    let kinds = [BYTE, BYTE, WORD, WORD];
    for (name, range) in [("s8", (-128, 127)), ("u8", (0, 255))] {
        for (other, other_range) in [("s8", (-128, 127)), ("u8", (0, 255))] {
            for (shape, text) in [(&square, "m8n8k16"), (&BYTES_16, "m16n8k16"), (&BYTES_32, "m16n8k32")] {
                let mnemonic = format!("mma.sync.aligned.{text}.row.col.s32.{name}.{other}.s32");
                check(&mnemonic, shape, kinds, [range, other_range]);
            }
        }
    }
}

#[test]
fn small_floats_in_bytes() {
    let kinds = [E5M2, E5M2, F32, F32];
    check("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", &BYTES_32, kinds, SMALL);
    check("mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16", &BYTES_16, [E5M2, E5M2, F16, F16], SMALL);
    check("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e5m2.f32", &BYTES_32, kinds, SMALL);
}

#[test]
fn floats_below_eight_bits_lie_in_bytes() {
    // 0, 1, 2, 3 and their negatives: e2m1 in the middle of the byte, the others at its bottom.
    const fn signed(value: i64, sign: u64, bits: [u64; 4]) -> u64 {
        let magnitude = bits[value.unsigned_abs() as usize];
        if value < 0 { magnitude | sign } else { magnitude }
    }
    let kinds = [
        ("e2m1", Kind { bits: 8, encode: |value| signed(value, 8, [0, 2, 4, 5]) << 2 }),
        ("e2m3", Kind { bits: 8, encode: |value| signed(value, 0x20, [0, 0x08, 0x10, 0x14]) }),
        ("e3m2", Kind { bits: 8, encode: |value| signed(value, 0x20, [0, 0x0C, 0x10, 0x12]) }),
        ("e4m3", Kind { bits: 8, encode: |value| signed(value, 0x80, [0, 0x38, 0x40, 0x44]) }),
        ("e5m2", E5M2),
    ];
    for (a, left) in kinds {
        for (b, right) in kinds {
            let mnemonic = format!("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32");
            check(&mnemonic, &BYTES_32, [left, right, F32, F32], SMALL);
        }
    }
}

#[test]
fn nibbles() {
    let square =
        Shape { rows: 8, depth: 32, left: |g, t, i| (g, t * 8 + i), right: |g, t, i| (t * 8 + i, g) };
    let middle = Shape {
        rows: 16,
        depth: 32,
        left: |g, t, i| (row(g, i < 8), t * 8 + (i & 7)),
        right: |g, t, i| (t * 8 + i, g),
    };
    let deep = Shape {
        rows: 16,
        depth: 64,
        left: |g, t, i| {
            (row(g, i < 8 || (16..24).contains(&i)), t * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
        },
        right: |g, t, i| (t * 8 + (i & 7) + if i < 8 { 0 } else { 32 }, g),
    };
    let kinds = [NIBBLE, NIBBLE, WORD, WORD];
    for (shape, text) in [(&square, "m8n8k32"), (&middle, "m16n8k32"), (&deep, "m16n8k64")] {
        for (types, ranges) in [("u4.s4", [(0, 15), (-8, 7)]), ("s4.u4", [(-8, 7), (0, 15)])] {
            check(
                &format!("mma.sync.aligned.{text}.row.col.satfinite.s32.{types}.s32"),
                shape,
                kinds,
                ranges,
            );
        }
    }
}

#[test]
fn bits() {
    let square =
        Shape { rows: 8, depth: 128, left: |g, t, i| (g, t * 32 + i), right: |g, t, i| (t * 32 + i, g) };
    let middle = Shape {
        rows: 16,
        depth: 128,
        left: |g, t, i| (row(g, i < 32), t * 32 + (i & 31)),
        right: |g, t, i| (t * 32 + i, g),
    };
    let deep = Shape {
        rows: 16,
        depth: 256,
        left: |g, t, i| {
            (row(g, i < 32 || (64..96).contains(&i)), t * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
        },
        right: |g, t, i| (t * 32 + (i & 31) + if i < 32 { 0 } else { 128 }, g),
    };
    // The count of common bits is a product of zeros and ones.
    for (shape, text) in [(&square, "m8n8k128"), (&middle, "m16n8k128"), (&deep, "m16n8k256")] {
        let mnemonic = format!("mma.sync.aligned.{text}.row.col.s32.b1.b1.s32.and.popc");
        check(&mnemonic, shape, [BIT, BIT, WORD, WORD], [(0, 1), (0, 1)]);
    }
}

#[test]
fn different_bits_are_counted() {
    let ones = vec![[0xFFFF_0000; 32]];
    let sources = [ones.clone(), vec![[0x0000_FFFF; 32]], vec![[5; 32], [u64::from(u32::MAX); 32]]];
    let evaluator = mma("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, &sources);
    assert_eq!(evaluate(&evaluator, &sources, 2), [[133; 32], [127; 32]]);
}

#[test]
fn what_does_not_exist_is_not_known() {
    for mnemonic in [
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k16.row.col.s32.f16.f16.s32",
        "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ] {
        assert!(crate::tensor::mma(mnemonic, 4, 10).is_none(), "{mnemonic}");
    }
    // Doubles go with doubles, and have no limit to be cut to.
    for mnemonic in [
        "mma.sync.aligned.m8n8k4.row.col.satfinite.f64.f64.f64.f64",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f32",
    ] {
        assert!(crate::tensor::mma(mnemonic, 2, 4).is_none(), "{mnemonic}");
    }
    let deep = "mma.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32";
    assert!(crate::tensor::mma(deep, 4, 16).is_none());
    let bits = "mma.sync.aligned.m8n8k128.row.col.f32.b1.b1.s32.xor.popc";
    assert!(crate::tensor::mma(bits, 2, 4).is_none());
    // Factors come with `.block_scale`, and it with them.
    for scaled in ["scale_vec::1X", "block_scale", "block_scale.scale_vec::1X"] {
        let mnemonic = format!("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{scaled}.f32.e4m3.e4m3.f32");
        assert!(crate::tensor::mma(&mnemonic, 4, 10).is_none(), "{mnemonic}");
    }
    let known = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    assert!(crate::tensor::mma(known, 4, 10).is_some());
    assert!(crate::tensor::mma(known, 4, 9).is_none() && crate::tensor::mma(known, 2, 10).is_none());
}
