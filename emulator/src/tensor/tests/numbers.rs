//! What products do at the limits of their types.

use super::{evaluate, mma};
use crate::lanes::Lanes;

/// Registers that hold one value in all lanes.
fn uniform(cells: &[u64]) -> Vec<Lanes> {
    cells.iter().map(|&cell| [cell; 32]).collect()
}

/// The element of D where A, B and C are uniform: `a` and `b` are the registers of A and B.
fn element(mnemonic: &str, counts: [usize; 4], [a, b, c]: [u64; 3]) -> u64 {
    let [left, right, sum, result] = counts;
    let sources = [uniform(&vec![a; left]), uniform(&vec![b; right]), uniform(&vec![c; sum])];
    let results = evaluate(&mma(mnemonic, result, &sources), &sources, result);
    assert!(results.iter().flatten().all(|&cell| cell == results[0][0]));
    results[0][0]
}

const HALVES: &str = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
const COUNTS: [usize; 4] = [2, 1, 4, 4];

fn single(value: f32) -> u64 {
    value.to_bits().into()
}

#[test]
fn sums_are_rounded_once() {
    // Eight products of 2^-24 * 2^-2 beside 1: each alone is an eighth of a place and would be lost.
    assert_eq!(
        element(HALVES, COUNTS, [0x0001_0001, 0x3400_3400, single(1.0)]),
        single(1.0 + 2.0_f32.powi(-23))
    );
    // Halves go through the sum in full and are rounded at the end: 8 * 2^-11 + 1 in f16.
    let name = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";
    assert_eq!(element(name, [2, 1, 2, 2], [0x1000_1000, 0x3C00_3C00, 0x3C00_3C00]), 0x3C04_3C04);
}

#[test]
fn special_values() {
    assert_eq!(element(HALVES, COUNTS, [0x7C00_7C00, 0, 0]), 0x7FFF_FFFF);
    assert_eq!(element(HALVES, COUNTS, [0x7C00_7C00, 0x3C00_3C00, 0]), single(f32::INFINITY));
    assert_eq!(element(HALVES, COUNTS, [0x7C00_7C00, 0x3C00_3C00, single(f32::NEG_INFINITY)]), 0x7FFF_FFFF);
    assert_eq!(element(HALVES, COUNTS, [0, 0, single(f32::from_bits(0x7F80_0001))]), 0x7FFF_FFFF);
    // 8 * 65504^2 overflows f16.
    let name = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";
    assert_eq!(element(name, [2, 1, 2, 2], [0x7BFF_7BFF, 0xFBFF_FBFF, 0]), 0xFC00_FC00);
    // Subnormals count: 8 * 2^-24 * 2^-24.
    assert_eq!(element(HALVES, COUNTS, [0x0001_0001, 0x0001_0001, 0]), single(2.0_f32.powi(-45)));
}

#[test]
fn integers_wrap_or_clamp() {
    let counts = [2, 1, 4, 4];
    let wrapping = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32";
    let clamping = "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32";
    // 16 * 127 * 127 beside the largest word.
    let sources = [0x7F7F_7F7F, 0x7F7F_7F7F, 0x7FFF_FFFF];
    assert_eq!(element(wrapping, counts, sources), 0x7FFF_FFFF + 16 * 127 * 127);
    assert_eq!(element(clamping, counts, sources), 0x7FFF_FFFF);
    let sources = [0x8080_8080, 0x7F7F_7F7F, 0x8000_0000];
    assert_eq!(element(clamping, counts, sources), 0x8000_0000);
    // The qualifier may stand at the end.
    let clamping = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32.satfinite";
    assert_eq!(element(clamping, counts, sources), 0x8000_0000);
}

#[test]
fn double_products_are_chained() {
    // fma(1, 2^-53, 1) is a tie to even in each of four steps, and rounds up in each with .rp.
    let sources = [1.0_f64.to_bits(), 2.0_f64.powi(-53).to_bits(), 1.0_f64.to_bits()];
    let nearest = "mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64";
    assert_eq!(element(nearest, [1, 1, 2, 2], sources), 1.0_f64.to_bits());
    let up = "mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64";
    assert_eq!(element(up, [1, 1, 2, 2], sources), (1.0 + 4.0 * 2.0_f64.powi(-52)).to_bits());
}
