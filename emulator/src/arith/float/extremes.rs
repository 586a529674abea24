//! `min` and `max` of floats.
//!
//! `-0` is less than `+0`. Without `.NaN` a NaN loses against a number; with it, or where every source is NaN, the
//! result is the canonical NaN. `.abs` takes absolute values first, and `.xorsign` gives the result the exclusive or of
//! the sources' signs, NaN sources included, unless it is NaN itself.

use super::format::{Format, for_format};
use super::map::{FloatType, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of `min` and `max`.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let float = qualifiers.take_first(FloatType::parse)?;
    let flushes = request.dialect.flushes && float.format == Format::F32;
    let extreme = Extreme {
        greatest: qualifiers.root == "max",
        flush: qualifiers.take("ftz") || flushes,
        nan: qualifiers.take("NaN"),
        xor_sign: qualifiers.take("xorsign"),
        absolute: qualifiers.take("abs"),
    };
    if !qualifiers.is_empty() || request.results != 1 {
        return None;
    }
    // `.xorsign` comes with `.abs`, and of two sources `.abs` with `.xorsign`.
    let pair = extreme.absolute == extreme.xor_sign;
    let three = float.format == Format::F32 && !extreme.xor_sign;
    for_format!(float.format, FORMAT => match request.sources {
        2 if pair => Some(map(float.packing, move |[a, b]: [u64; 2]| extreme.of(FORMAT, a, b))),
        3 if three => Some(map(float.packing, move |[a, b, c]: [u64; 3]| {
            extreme.of(FORMAT, extreme.of(FORMAT, a, b), c)
        })),
        _ => None,
    })
}

/// Which extreme, and how.
#[derive(Clone, Copy)]
struct Extreme {
    greatest: bool,
    flush: bool,
    nan: bool,
    xor_sign: bool,
    absolute: bool,
}

impl Extreme {
    /// The extreme of two sources. A NaN that this gives is canonical, and stays one when it is a source again.
    #[inline(always)]
    fn of(self, format: Format, a: u64, b: u64) -> u64 {
        let sign = format.sign();
        let read = |bits: u64| if self.flush { format.flush(bits) } else { bits & format.mask() };
        let (a, b) = (read(a), read(b));
        let signs = (a ^ b) & sign;
        let (a, b) = if self.absolute { (a & !sign, b & !sign) } else { (a, b) };
        let (a_nan, b_nan) = (format.is_nan(a), format.is_nan(b));
        let first = (rank(format, a) > rank(format, b)) == self.greatest;
        let number = if first & !a_nan | b_nan { a } else { b };
        let signed = if self.xor_sign { number & !sign | signs } else { number };
        let nan = if self.nan { a_nan | b_nan } else { a_nan & b_nan };
        if nan { format.nan() } else { signed }
    }
}

/// An integer that orders like the numbers do, with `-0` below `+0`.
#[inline(always)]
fn rank(format: Format, bits: u64) -> u64 {
    let sign = format.sign();
    if bits & sign == 0 { bits | sign } else { !bits & format.mask() }
}
