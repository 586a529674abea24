//! `cvt` with a floating-point type on either side.
//!
//! | from | to | here |
//! |---|---|---|
//! | a float | a float | [`scalar`] |
//! | an integer | a float | [`integer`] |
//! | a float | an integer | [`integer`] |
//! | floats | pairs and quadruples of narrow floats | [`packed`] |
//! | pairs of narrow floats | pairs of wider ones | [`packed`] |

mod integer;
mod packed;
mod scalar;

use super::finish::Finish;
use super::format::{Format, Rounding};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of `cvt`.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let mut modifiers = Modifiers::take(&mut qualifiers);
    let &[target, source] = qualifiers.rest() else { return None };
    let is_wide = [target, source].iter().any(|ty| ty.ends_with("64"));
    modifiers.flush |= request.dialect.flushes && !(is_wide && request.dialect.wide_conversions_keep);
    if request.results != 1 {
        return None;
    }
    match (Number::parse(target), Number::parse(source)) {
        (Some(target), Some(source)) if request.sources == 1 => match (target, source) {
            (Number::Float(target), Number::Float(source)) => scalar::convert(modifiers, target, source),
            (Number::Float(target), Number::Integer(source)) => {
                integer::into_float(modifiers, target, source)
            }
            (Number::Integer(target), Number::Float(source)) => {
                integer::from_float(modifiers, target, source)
            }
            (Number::Integer(_), Number::Integer(_)) => None,
        },
        _ if target == "tf32" => {
            (source == "f32" && request.sources == 1).then(|| scalar::to_tf32(modifiers)).flatten()
        }
        _ => packed::evaluator(modifiers, target, source, request.sources),
    }
}

/// Rounding to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Integral {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Integral {
    #[inline(always)]
    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Nearest => value.round_ties_even(),
            Self::Zero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }
}

/// The modifiers of a conversion.
#[derive(Clone, Copy, Debug)]
struct Modifiers {
    rounding: Option<Rounding>,
    integral: Option<Integral>,
    /// `.rs`.
    stochastic: bool,
    /// `.ftz`, which concerns `f32` sources and results alone.
    flush: bool,
    saturate: bool,
    /// `.satfinite`: what is past the largest value becomes that value; NaN stays.
    finite: bool,
    relu: bool,
}

impl Modifiers {
    fn take(qualifiers: &mut Qualifiers) -> Self {
        let integral = |word: &str| match word {
            "rni" => Some(Integral::Nearest),
            "rzi" => Some(Integral::Zero),
            "rmi" => Some(Integral::Down),
            "rpi" => Some(Integral::Up),
            _ => None,
        };
        Self {
            rounding: qualifiers.take_rounding(),
            integral: qualifiers.take_first(integral),
            stochastic: qualifiers.take("rs"),
            flush: qualifiers.take("ftz"),
            saturate: qualifiers.take("sat"),
            finite: qualifiers.take("satfinite"),
            relu: qualifiers.take("relu"),
        }
    }

    /// The value of a source.
    #[inline(always)]
    fn read(self, format: Format, bits: u64) -> f64 {
        let value =
            format.decode(if self.flush && format == Format::F32 { format.flush(bits) } else { bits });
        match self.integral {
            Some(integral) => integral.apply(value),
            None => value,
        }
    }

    /// The bits of `value` in `format`, rounded as `rounding` says.
    #[inline(always)]
    fn write(self, format: Format, value: f64, rounding: Rounding) -> u64 {
        let flush = self.flush && format == Format::F32;
        let finish = Finish { rounding, flush, saturate: self.saturate, relu: self.relu };
        let largest = format.decode(format.largest());
        // Comparisons with NaN are false, so NaN stays.
        let value = match self.finite {
            true if value > largest => largest,
            true if value < -largest => -largest,
            _ => value,
        };
        finish.write(format, value)
    }
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integer {
    signed: bool,
    bits: u32,
}

/// A type of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Float(Format),
    Integer(Integer),
}

impl Number {
    fn parse(word: &str) -> Option<Self> {
        let integer = |signed, bits| Some(Self::Integer(Integer { signed, bits }));
        match word {
            "f16" => Some(Self::Float(Format::F16)),
            "bf16" => Some(Self::Float(Format::BF16)),
            "f32" => Some(Self::Float(Format::F32)),
            "f64" => Some(Self::Float(Format::F64)),
            "u8" => integer(false, 8),
            "u16" => integer(false, 16),
            "u32" => integer(false, 32),
            "u64" => integer(false, 64),
            "s8" => integer(true, 8),
            "s16" => integer(true, 16),
            "s32" => integer(true, 32),
            "s64" => integer(true, 64),
            _ => None,
        }
    }
}
