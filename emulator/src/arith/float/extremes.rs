//! `min` and `max` of floats.
//!
//! `-0` is less than `+0`. Without `.NaN` a NaN loses against a number; with it, or where every source is NaN, the
//! result is the canonical NaN. `.abs` takes absolute values first, and `.xorsign` gives the result the exclusive or of
//! the sources' signs, NaN sources included, unless it is NaN itself.

use super::format::Format;
use super::map::{FloatType, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of `min` and `max`.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let float = qualifiers.take_first(FloatType::parse)?;
    let flushes = request.dialect.flushes && float.format == Format::F32;
    let extreme = Extreme {
        format: float.format,
        greatest: qualifiers.root == "max",
        flush: qualifiers.take("ftz") || flushes,
        nan: qualifiers.take("NaN"),
        xor_sign: qualifiers.take("xorsign"),
        absolute: qualifiers.take("abs"),
    };
    if !qualifiers.is_empty() || request.results != 1 || extreme.xor_sign && !extreme.absolute {
        return None;
    }
    match request.sources {
        2 if extreme.absolute == extreme.xor_sign => {
            Some(map(float.packing, move |[a, b]: [u64; 2]| extreme.of(&[a, b])))
        }
        3 if float.format == Format::F32 && !extreme.xor_sign => {
            Some(map(float.packing, move |[a, b, c]: [u64; 3]| extreme.of(&[a, b, c])))
        }
        _ => None,
    }
}

/// Which extreme, and how.
#[derive(Clone, Copy)]
struct Extreme {
    format: Format,
    greatest: bool,
    flush: bool,
    nan: bool,
    xor_sign: bool,
    absolute: bool,
}

impl Extreme {
    #[inline]
    fn of(self, sources: &[u64]) -> u64 {
        let sign = self.format.sign();
        let mut signs = 0;
        let mut nans = 0;
        let mut best: Option<u64> = None;
        for &source in sources {
            let source = if self.flush { self.format.flush(source) } else { source & (sign | sign - 1) };
            signs ^= source & sign;
            let source = if self.absolute { source & !sign } else { source };
            if self.format.is_nan(source) {
                nans += 1;
                continue;
            }
            let better = |other| (self.rank(source) > self.rank(other)) == self.greatest;
            best = Some(best.filter(|&other| !better(other)).unwrap_or(source));
        }
        match best {
            Some(best) if nans == 0 || !self.nan => {
                if self.xor_sign {
                    best & !sign | signs
                } else {
                    best
                }
            }
            _ => self.format.nan(),
        }
    }

    /// An integer that orders like the numbers do, with `-0` below `+0`.
    fn rank(self, bits: u64) -> u64 {
        let sign = self.format.sign();
        if bits & sign == 0 { bits | sign } else { !bits & (sign | sign - 1) }
    }
}
