//! Functions of cells become evaluators over lanes, single or packed.

use std::array::from_fn;

use super::format::Format;
use crate::arith::Evaluator;
use crate::lanes::{Lanes, WARP_SIZE};

/// How many values of a type lie in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One value; bits above it are ignored where it is decoded.
    Single,
    /// Two values of so many bits each, the first in the low half.
    Pair(u32),
}

/// A floating-point type of an instruction: its format, and how many of its values a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatType {
    /// Format of one value.
    pub format: Format,
    /// Values in a register.
    pub packing: Packing,
}

impl FloatType {
    /// The arithmetic type named `word`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (format, packing) = match word {
            "f16" => (Format::F16, Packing::Single),
            "bf16" => (Format::BF16, Packing::Single),
            "f32" => (Format::F32, Packing::Single),
            "f64" => (Format::F64, Packing::Single),
            "f16x2" => (Format::F16, Packing::Pair(16)),
            "bf16x2" => (Format::BF16, Packing::Pair(16)),
            "f32x2" => (Format::F32, Packing::Pair(32)),
            _ => return None,
        };
        Some(Self { format, packing })
    }
}

/// The evaluator of one result that is `function` of the value in each of `N` sources.
#[must_use]
pub fn map<const N: usize>(
    packing: Packing,
    function: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
) -> Evaluator {
    match packing {
        Packing::Single => Box::new(move |sources, results| {
            let sources: [&Lanes; N] = from_fn(|index| sources[index]);
            let result = &mut results[0];
            for lane in 0..WARP_SIZE {
                result[lane] = function(from_fn(|index| sources[index][lane]));
            }
        }),
        Packing::Pair(bits) => Box::new(move |sources, results| {
            let mask = (1 << bits) - 1;
            let sources: [&Lanes; N] = from_fn(|index| sources[index]);
            let result = &mut results[0];
            for lane in 0..WARP_SIZE {
                let low = function(from_fn(|index| sources[index][lane] & mask));
                let high = function(from_fn(|index| sources[index][lane] >> bits & mask));
                result[lane] = low | high << bits;
            }
        }),
    }
}
