//! Block scaling.

use super::{F32, Kind, Matrix, deal, evaluate, mma};
use crate::lanes::Lanes;

/// Factors of `ue8m0` by block: 1, 2, 4, ..., other ones in other lanes and bytes.
fn factors(select: impl Fn(usize) -> bool, first_byte: usize, row: impl Fn(usize) -> usize) -> Lanes {
    std::array::from_fn(|lane| {
        (0..4).fold(0, |word, byte| {
            let used = select(lane) && byte >= first_byte;
            let factor = if used { 127 + (row(lane) % 3 + byte - first_byte) as u64 } else { 3 };
            word | factor << (8 * byte)
        })
    })
}

/// The factor of a row (or column) and block that [`factors`] gives.
fn factor(row: usize, block: usize) -> i64 {
    1 << (row % 3 + block)
}

/// Checks a product of `depth` in `blocks` blocks.
fn check(mnemonic: &str, kind: Kind, depth: usize, blocks: usize, bytes: [usize; 2], threads: [usize; 2]) {
    let per = 32 / kind.bits;
    let left = |lane: usize, i: usize| {
        let (register, element) = (i / per, i % per);
        (lane / 4 + 8 * (register % 2), lane % 4 * per + element + 4 * per * (register / 2))
    };
    let right = |lane: usize, i: usize| (lane % 4 * per + i % per + 4 * per * (i / per), lane / 4);
    let sum = |lane: usize, i: usize| (if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + (i & 1));
    let a = Matrix::random(16, depth, -3, 3, 4);
    let b = Matrix::random(depth, 8, -3, 3, 5);
    let c = Matrix::random(16, 8, -20, 20, 6);
    let block = depth / blocks;
    let mut scaled = [a.clone(), b.clone()];
    for (index, value) in scaled[0].values.iter_mut().enumerate() {
        *value *= factor(index / depth, index % depth / block);
    }
    for (index, value) in scaled[1].values.iter_mut().enumerate() {
        *value *= factor(index % 8, index / 8 / block);
    }
    let uniform = |value: usize| [value as u64; 32];
    // Row r is in lane 4 * (r % 8) + 2 * pair + r / 8, column c in lane 4 * c + thread.
    let left_factors = factors(|lane| lane % 4 / 2 == threads[0], bytes[0], |lane| lane / 4 + lane % 2 * 8);
    let right_factors = factors(|lane| lane % 4 == threads[1], bytes[1], |lane| lane / 4);
    let sources = [
        deal(&a, kind, depth / 2, left),
        deal(&b, kind, depth / 4, right),
        deal(&c, F32, 4, sum),
        vec![left_factors, uniform(bytes[0]), uniform(threads[0])],
        vec![right_factors, uniform(bytes[1]), uniform(threads[1])],
    ];
    let want = deal(&scaled[0].times_plus(&scaled[1], &c), F32, 4, sum);
    assert_eq!(evaluate(&mma(mnemonic, 4, &sources), &sources, 4), want, "{mnemonic}");
}

fn nibble(value: i64) -> u64 {
    let magnitude = [0, 2, 4, 5][value.unsigned_abs() as usize];
    if value < 0 { magnitude | 8 } else { magnitude }
}

const E2M1: Kind = Kind { bits: 4, encode: nibble };
const E4M3: Kind = Kind {
    bits: 8,
    encode: |value| {
        let magnitude = [0, 0x38, 0x40, 0x44][value.unsigned_abs() as usize];
        if value < 0 { magnitude | 0x80 } else { magnitude }
    },
};

#[test]
fn one_block_of_bytes() {
    let name =
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0";
    for (bytes, threads) in [([0, 0], [0, 0]), ([1, 3], [1, 2]), ([3, 0], [0, 3])] {
        check(name, E4M3, 32, 1, bytes, threads);
    }
    check(&name.replace(".scale_vec::1X", ""), E4M3, 32, 1, [2, 1], [1, 1]);
}

#[test]
fn two_and_four_blocks_of_nibbles() {
    let name =
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    for (bytes, threads) in [([0, 0], [0, 0]), ([2, 0], [1, 3]), ([0, 2], [0, 1])] {
        check(name, E2M1, 64, 2, bytes, threads);
        check(&name.replace("mxf4", "mxf4nvf4"), E2M1, 64, 2, bytes, threads);
    }
    let name = name.replace("mxf4", "mxf4nvf4").replace("2X", "4X");
    for threads in [[0, 0], [1, 2]] {
        check(&name, E2M1, 64, 4, [0, 0], threads);
    }
}

#[test]
fn factors_with_a_fraction() {
    let name =
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
    let uniform = |cell: u64, count: usize| vec![[cell; 32]; count];
    // Ones everywhere: 16 in each of four blocks, with factors 1, 2, 3, 1.5 of A and 1, 0.5, 1, 2 of B. The sign of
    // a factor does not exist.
    let sources = [
        uniform(0x2222_2222, 4),
        uniform(0x2222_2222, 2),
        uniform(0, 4),
        vec![[0x3C44_4038; 32], [0; 32], [0; 32], [0xC038_B038; 32], [0; 32], [0; 32]],
    ];
    let got = evaluate(&mma(name, 4, &sources), &sources, 4);
    let want = 16.0 * (1.0 + 2.0 * 0.5 + 3.0 + 1.5 * 2.0_f32);
    assert_eq!(got, uniform(want.to_bits().into(), 4));
}

#[test]
fn nan_factors() {
    let name = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0";
    let uniform = |cell: u64, count: usize| vec![[cell; 32]; count];
    let factors = vec![[0xFF; 32], [0; 32], [0; 32], [127; 32], [0; 32], [0; 32]];
    let sources = [uniform(0, 4), uniform(0, 2), uniform(0, 4), factors];
    assert_eq!(evaluate(&mma(name, 4, &sources), &sources, 4), uniform(0x7FFF_FFFF, 4));
}
