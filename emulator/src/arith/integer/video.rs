//! Scalar video instructions: byte and half-word selectors, saturation, a second operation or a merge.
//!
//! All is computed exactly in 64 or 128 bits. Where nothing saturates, the intermediate result is cut to the ISA's
//! `.s33` before the second operation, so that a difference below zero stays negative even for an unsigned
//! destination.

use super::compare::Comparison;
use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::products::field;
use super::shifts::Amount;
use super::types::{Type, ones};

/// The bits of a register that a selector chooses.
#[derive(Clone, Copy)]
struct Part {
    from: u32,
    width: u32,
}

impl Part {
    const WHOLE: Self = Self { from: 0, width: 32 };

    fn named(selector: &str) -> Option<Self> {
        Some(match selector {
            "b0" => Self { from: 0, width: 8 },
            "b1" => Self { from: 8, width: 8 },
            "b2" => Self { from: 16, width: 8 },
            "b3" => Self { from: 24, width: 8 },
            "h0" => Self { from: 0, width: 16 },
            "h1" => Self { from: 16, width: 16 },
            _ => return None,
        })
    }
}

/// A source: its part, and the sign it is read with.
#[derive(Clone, Copy)]
struct Source {
    part: Part,
    signed: bool,
}

impl Source {
    fn taken(d: &mut Decoder, index: usize, signed: bool) -> Option<Self> {
        let part = match d.take_source_selector(index) {
            Some(selector) => Part::named(selector)?,
            None => Part::WHOLE,
        };
        Some(Self { part, signed })
    }

    #[inline]
    fn read(self, cell: u64) -> i64 {
        field(cell, self.part.from, self.part.width, self.signed)
    }
}

/// What happens to the intermediate result.
#[derive(Clone, Copy)]
enum Finish {
    Store,
    Add,
    Min,
    Max,
    Merge(Part),
}

impl Finish {
    /// A merge by the selector of the result, or a second operation, or neither; never both.
    fn taken(d: &mut Decoder) -> Option<Self> {
        let second = d.take_known(|word| match word {
            "add" => Some(Self::Add),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            _ => None,
        });
        match (second, d.take_result_selector(0)) {
            (None, None) => Some(Self::Store),
            (Some(second), None) => Some(second),
            (None, Some(selector)) => Some(Self::Merge(Part::named(selector)?)),
            (Some(_), Some(_)) => None,
        }
    }
}

/// Saturation and finish of a destination.
#[derive(Clone, Copy)]
struct Destination {
    signed: bool,
    saturates: bool,
    finish: Finish,
}

impl Destination {
    fn taken(d: &mut Decoder, signed: bool) -> Option<Self> {
        Some(Self { signed, saturates: d.take("sat"), finish: Finish::taken(d)? })
    }

    #[inline]
    fn saturate(self, exact: i128) -> i64 {
        if !self.saturates {
            return field(exact as u64, 0, 33, true);
        }
        let width = match self.finish {
            Finish::Merge(part) => part.width,
            _ => 32,
        };
        clamp(exact, width, self.signed)
    }

    #[inline]
    fn finish(self, exact: i128, c: u64) -> u64 {
        let value = self.saturate(exact);
        let third = field(c, 0, 32, self.signed);
        let bits = match self.finish {
            Finish::Store => value as u64,
            Finish::Add => (value + third) as u64,
            Finish::Min => value.min(third) as u64,
            Finish::Max => value.max(third) as u64,
            Finish::Merge(part) => {
                let hole = ones(part.width) << part.from;
                c & !hole | (value as u64) << part.from & hole
            }
        };
        bits & ones(32)
    }

    /// The lanes of an instruction whose intermediate result is `exact(a, b)`.
    fn lift(self, exact: impl Fn(u64, u64) -> i128 + Send + Sync + 'static) -> Shaped {
        match self.finish {
            Finish::Store => lift(move |[a, b]| [self.finish(exact(a, b), 0)]),
            _ => lift(move |[a, b, c]| [self.finish(exact(a, b), c)]),
        }
    }
}

/// The nearest number of `width` bits.
#[inline]
pub(super) fn clamp(exact: i128, width: u32, signed: bool) -> i64 {
    let (least, most) =
        if signed { (-1i128 << (width - 1), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    exact.clamp(least, most) as i64
}

/// Takes `.u32` or `.s32`: whether it is signed.
pub(super) fn take_sign(d: &mut Decoder) -> Option<bool> {
    match d.take_type()? {
        Type::U32 => Some(false),
        Type::S32 => Some(true),
        _ => None,
    }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`.
pub(super) fn arithmetic(d: &mut Decoder) -> Option<Shaped> {
    let operation: fn(i64, i64) -> i64 = match d.root() {
        "vadd" => |a, b| a + b,
        "vsub" => |a, b| a - b,
        "vabsdiff" => |a, b| (a - b).abs(),
        "vmin" => i64::min,
        "vmax" => i64::max,
        _ => return None,
    };
    let signs = [take_sign(d)?, take_sign(d)?, take_sign(d)?];
    let (a, b) = (Source::taken(d, 0, signs[1])?, Source::taken(d, 1, signs[2])?);
    let destination = Destination::taken(d, signs[0])?;
    Some(destination.lift(move |x, y| operation(a.read(x), b.read(y)).into()))
}

/// `vshl`, `vshr`: by an unsigned amount.
pub(super) fn shift(d: &mut Decoder) -> Option<Shaped> {
    let to_left = d.root() == "vshl";
    let signs = [take_sign(d)?, take_sign(d)?];
    if take_sign(d)? {
        return None;
    }
    let amount = Amount::taken(d)?;
    let (a, b) = (Source::taken(d, 0, signs[1])?, Source::taken(d, 1, false)?);
    let destination = Destination::taken(d, signs[0])?;
    Some(destination.lift(move |x, y| {
        let (value, by) = (i128::from(a.read(x)), amount.below_33(b.read(y) as u64));
        if to_left { value << by } else { value >> by }
    }))
}

/// `vset`: 1 or 0, always unsigned.
pub(super) fn compare(d: &mut Decoder) -> Option<Shaped> {
    let signs = [take_sign(d)?, take_sign(d)?];
    let comparison = Comparison::taken_plain(d)?;
    let (a, b) = (Source::taken(d, 0, signs[0])?, Source::taken(d, 1, signs[1])?);
    let destination = Destination { signed: false, saturates: false, finish: Finish::taken(d)? };
    Some(destination.lift(move |x, y| comparison.holds(a.read(x), b.read(y)).into()))
}

/// `vmad`: `(a * b) + c`, one of both negated, or plus one, and scaled.
///
/// The final result is signed where a source is or where anything is negated; `c` is then read as signed.
pub(super) fn multiply_add(d: &mut Decoder) -> Option<Shaped> {
    take_sign(d)?;
    let signs = [take_sign(d)?, take_sign(d)?];
    let (a, b) = (Source::taken(d, 0, signs[0])?, Source::taken(d, 1, signs[1])?);
    let product_negated = d.take_negated(0) != d.take_negated(1);
    let third_negated = d.take_negated(2);
    let plus_one = d.take("po");
    let scale = d
        .take_known(|word| match word {
            "shr7" => Some(7),
            "shr15" => Some(15),
            _ => None,
        })
        .unwrap_or(0);
    let saturates = d.take("sat");
    if usize::from(product_negated) + usize::from(third_negated) + usize::from(plus_one) > 1 {
        return None;
    }
    let signed = signs[0] || signs[1] || product_negated || third_negated;
    Some(lift(move |[x, y, z]| {
        let product = i128::from(a.read(x)) * i128::from(b.read(y));
        let third = i128::from(field(z, 0, 32, signed));
        let sum = match (product_negated, third_negated) {
            (true, _) => third - product,
            // The ISA complements the 32 bits of c and adds one, so the smallest number does become positive.
            (false, true) => product - third,
            (false, false) => product + third + i128::from(plus_one),
        };
        let scaled = sum >> scale;
        let value = if saturates { clamp(scaled, 32, signed) } else { scaled as i64 };
        [value as u64 & ones(32)]
    }))
}
