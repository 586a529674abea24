//! Products of matrices in registers.

use super::WarpEvaluator;
use super::element::Element;
use super::fragment::Fragment;
use super::scale::Scales;
use crate::arith::float::exact::fused_double;
use crate::arith::float::format::{Format, Rounding, double_bits};
use crate::lanes::Lanes;

/// The operands of a product.
#[derive(Clone, Debug)]
pub struct Product {
    /// A, or several matrices A below one another.
    pub left: Fragment,
    /// B, or several matrices B below one another.
    pub right: Fragment,
    /// C.
    pub sum: Fragment,
    /// D.
    pub result: Fragment,
    /// How many products there are.
    pub batches: usize,
    /// Element types of A, B, C, D.
    pub elements: [Element; 4],
    /// Factors of the elements of A and B.
    pub scales: Option<Scales>,
}

/// How elements are multiplied and added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Exact products, summed in `f64`, rounded at the end.
    Real,
    /// Fused multiply-adds in `f64`.
    Double(Rounding),
    /// Integers; clamped to 32 bits at the end, or wrapping.
    Integer {
        /// `.satfinite`.
        clamp: bool,
    },
    /// Counts of common (`.and`) or different (`.xor`) bits.
    Bits {
        /// `.xor`.
        different: bool,
    },
}

/// The registers of a product's sources.
struct Sources<'a> {
    left: &'a [&'a Lanes],
    right: &'a [&'a Lanes],
    sum: &'a [&'a Lanes],
    rest: &'a [&'a Lanes],
}

impl Product {
    /// Registers of the sources in the text, block scales included.
    #[must_use]
    pub fn sources(&self) -> usize {
        let scales = if self.scales.is_some() { Scales::SOURCES } else { 0 };
        self.left.registers + self.right.registers + self.sum.registers + scales
    }

    /// The evaluator, if so many results and sources stand in the text.
    #[must_use]
    pub fn evaluator(self, arithmetic: Arithmetic, results: usize, sources: usize) -> Option<WarpEvaluator> {
        if results != self.result.registers || sources != self.sources() {
            return None;
        }
        Some(match arithmetic {
            Arithmetic::Real => Box::new(move |sources, results| self.real(sources, results)),
            Arithmetic::Double(Rounding::NearestEven) => {
                Box::new(move |sources, results| self.double(sources, results, f64::mul_add))
            }
            Arithmetic::Double(rounding) => Box::new(move |sources, results| {
                self.double(sources, results, |a, b, c| fused_double(a, b, c, rounding));
            }),
            Arithmetic::Integer { clamp } => {
                Box::new(move |sources, results| self.integer(sources, results, clamp))
            }
            Arithmetic::Bits { different } => {
                Box::new(move |sources, results| self.bits(sources, results, different))
            }
        })
    }

    fn split<'a>(&self, sources: &'a [&'a Lanes]) -> Sources<'a> {
        let (left, rest) = sources.split_at(self.left.registers);
        let (right, rest) = rest.split_at(self.right.registers);
        let (sum, rest) = rest.split_at(self.sum.registers);
        Sources { left, right, sum, rest }
    }

    fn real(&self, sources: &[&Lanes], results: &mut [Lanes]) {
        let sources = self.split(sources);
        let [left_type, right_type, sum_type, result_type] = self.elements;
        let mut left = reals(&self.left, sources.left, left_type);
        let mut right = reals(&self.right, sources.right, right_type);
        let mut sum = reals(&self.sum, sources.sum, sum_type);
        if let Some(scales) = self.scales {
            scales.apply(sources.rest, &mut left, &mut right, self.left.columns);
        }
        self.accumulate(&left, &right, &mut sum, |sum, a, b| sum + a * b);
        let Element::Float(format) = result_type else { return };
        self.result.scatter(sum.iter().map(|&value| format.encode(value, Rounding::NearestEven)), results);
    }

    fn double(&self, sources: &[&Lanes], results: &mut [Lanes], fused: impl Fn(f64, f64, f64) -> f64) {
        let sources = self.split(sources);
        let left = self.left.gather(sources.left, f64::from_bits);
        let right = self.right.gather(sources.right, f64::from_bits);
        let mut sum = self.sum.gather(sources.sum, f64::from_bits);
        self.accumulate(&left, &right, &mut sum, |sum, a, b| fused(a, b, sum));
        self.result.scatter(sum.iter().map(|&value| double_bits(value)), results);
    }

    fn integer(&self, sources: &[&Lanes], results: &mut [Lanes], clamp: bool) {
        let sources = self.split(sources);
        let [left_type, right_type, sum_type, _] = self.elements;
        // Products of bytes and their sums with words are exact in f64, which most processors multiply faster.
        let left = reals(&self.left, sources.left, left_type);
        let right = reals(&self.right, sources.right, right_type);
        let mut sum = reals(&self.sum, sources.sum, sum_type);
        self.accumulate(&left, &right, &mut sum, |sum, a, b| sum + a * b);
        let word = |&value: &f64| {
            let value = value as i64;
            let value = if clamp { value.clamp(i32::MIN.into(), i32::MAX.into()) } else { value };
            u64::from(value as u32)
        };
        self.result.scatter(sum.iter().map(word), results);
    }

    fn bits(&self, sources: &[&Lanes], results: &mut [Lanes], different: bool) {
        let sources = self.split(sources);
        let left = self.left.gather(sources.left, |bits| bits as u32);
        let right = self.right.gather(sources.right, |bits| bits as u32);
        let mut sum = self.sum.gather(sources.sum, |bits| bits as u32);
        self.accumulate(&left, &right, &mut sum, |sum, a, b| {
            sum.wrapping_add(if different { a ^ b } else { a & b }.count_ones())
        });
        self.result.scatter(sum.iter().map(|&value| u64::from(value)), results);
    }

    /// Adds the products to `sum`, each element by ascending depth. Eight columns go together, which the processor does
    /// by few instructions; every shape has a multiple of eight.
    fn accumulate<T: Copy>(&self, left: &[T], right: &[T], sum: &mut [T], step: impl Fn(T, T, T) -> T) {
        let (depth, columns) = (self.left.columns, self.right.columns);
        let rows = left.len() / depth / self.batches;
        for (index, sums) in sum.chunks_exact_mut(columns).enumerate() {
            let row = &left[index * depth..][..depth];
            let right = &right[index / rows * depth * columns..][..depth * columns];
            for (block, sums) in sums.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                for (&a, row) in row.iter().zip(right.chunks_exact(columns)) {
                    let row = &row.as_chunks::<8>().0[block];
                    for (sum, &b) in sums.iter_mut().zip(row) {
                        *sum = step(*sum, a, b);
                    }
                }
            }
        }
    }
}

/// Whether `element` can be the type of C and D of a product that is not of `f64`.
#[must_use]
pub fn is_sum(element: Element) -> bool {
    matches!(element, Element::Float(Format::F16 | Format::F32))
}

/// The values of a matrix, with the frequent types as constants.
fn reals(fragment: &Fragment, registers: &[&Lanes], element: Element) -> Vec<f64> {
    match element {
        Element::Float(Format::F16) => fragment.gather(registers, |bits| Format::F16.decode(bits)),
        Element::Float(Format::BF16) => fragment.gather(registers, |bits| Format::BF16.decode(bits)),
        Element::Float(Format::F32) => fragment.gather(registers, |bits| Format::F32.decode(bits)),
        _ => fragment.gather(registers, |bits| element.real(bits)),
    }
}
