//! Tensor instructions against naive products of matrices that are dealt out by the ISA's formulas.

mod layouts;
mod moves;
mod numbers;
mod quad_pairs;
mod scaled;
mod wmma;

use super::WarpEvaluator;
use crate::lanes::{Lanes, WARP_SIZE};

/// A matrix of small integers.
#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<i64>,
}

impl Matrix {
    /// Values between `low` and `high` without a pattern.
    fn random(rows: usize, columns: usize, low: i64, high: i64, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let values = (0..rows * columns)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                low + (state >> 33) as i64 % (high - low + 1)
            })
            .collect();
        Self { rows, columns, values }
    }

    fn at(&self, (row, column): (usize, usize)) -> i64 {
        assert!(row < self.rows && column < self.columns);
        self.values[row * self.columns + column]
    }

    /// `self * other + sum`.
    fn times_plus(&self, other: &Self, sum: &Self) -> Self {
        let element = |row, column| -> i64 {
            (0..self.columns).map(|k| self.at((row, k)) * other.at((k, column))).sum::<i64>()
                + sum.at((row, column))
        };
        let values = (0..self.rows).flat_map(|row| (0..other.columns).map(move |column| (row, column)));
        let values = values.map(|(row, column)| element(row, column)).collect();
        Self { rows: self.rows, columns: other.columns, values }
    }
}

/// How a value is written in a fragment.
#[derive(Clone, Copy)]
struct Kind {
    /// Bits from one element to the next.
    bits: usize,
    encode: fn(i64) -> u64,
}

const F16: Kind = Kind { bits: 16, encode: |value| half::f16::from_f64(value as f64).to_bits().into() };
const BF16: Kind = Kind { bits: 16, encode: |value| half::bf16::from_f64(value as f64).to_bits().into() };
const F32: Kind = Kind { bits: 32, encode: |value| (value as f32).to_bits().into() };
const F64: Kind = Kind { bits: 64, encode: |value| (value as f64).to_bits() };
/// With bits set that `tf32` ignores.
const TF32: Kind = Kind { bits: 32, encode: |value| u64::from((value as f32).to_bits() | 0x1ABC) };
const E5M2: Kind =
    Kind { bits: 8, encode: |value| u64::from(half::f16::from_f64(value as f64).to_bits() >> 8) };
const BYTE: Kind = Kind { bits: 8, encode: |value| value as u64 & 0xFF };
const NIBBLE: Kind = Kind { bits: 4, encode: |value| value as u64 & 0xF };
const BIT: Kind = Kind { bits: 1, encode: |value| value as u64 };
const WORD: Kind = Kind { bits: 32, encode: |value| value as u32 as u64 };

/// The registers of a fragment of `elements` elements a lane, element `i` of a lane being at `place(lane, i)`.
fn deal(
    matrix: &Matrix,
    kind: Kind,
    elements: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<Lanes> {
    let per_register = if kind.bits >= 32 { 1 } else { 32 / kind.bits };
    let mut registers = vec![[0; WARP_SIZE]; elements / per_register];
    for (lane, element) in places(elements) {
        let bits = (kind.encode)(matrix.at(place(lane, element)));
        registers[element / per_register][lane] |= bits << (element % per_register * kind.bits);
    }
    registers
}

/// Every lane with each of its elements.
fn places(elements: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..WARP_SIZE).flat_map(move |lane| (0..elements).map(move |element| (lane, element)))
}

/// The registers that come out.
fn evaluate(evaluator: &WarpEvaluator, sources: &[Vec<Lanes>], results: usize) -> Vec<Lanes> {
    let sources: Vec<&Lanes> = sources.iter().flatten().collect();
    let mut registers = vec![[0xDEAD_BEEF; WARP_SIZE]; results];
    evaluator(&sources, &mut registers);
    registers
}

/// The evaluator of `mma` for these sources.
#[track_caller]
fn mma(mnemonic: &str, results: usize, sources: &[Vec<Lanes>]) -> WarpEvaluator {
    let count = sources.iter().map(Vec::len).sum();
    super::mma(mnemonic, results, count)
        .unwrap_or_else(|| panic!("{mnemonic} {results} {count} is not known"))
}
