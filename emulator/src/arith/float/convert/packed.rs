//! Pairs and quadruples of narrow floats.
//!
//! The first source, and the upper element of a packed source, goes to the upper element of the result. Elements of
//! six bits lie in bytes whose two upper bits are zero.
//!
//! # Stochastic rounding
//! `.rs` adds random bits to the bits after the last place and truncates. `f16x2` takes 13 bits and `bf16x2` 16 bits
//! from each half of the random operand, the upper half for the first source. Quadruples of bytes take 16 bits: the
//! upper half for the first two sources, the lower for the others. `e2m1x4` takes 8 bits: the upper byte of each half
//! for the first two sources, the lower for the others; the ISA does not say which half goes to which of the two, here
//! the upper one goes to the first. The random bits are added right after the last place of the result.

use std::array::from_fn;

use super::{Evaluator, Format, Modifiers, Rounding};
use crate::arith::float::map::{Packing, map};

/// Elements of a packed type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Float(Format),
    /// An exponent alone, without sign and zero: `2^(bits - 127)`, all ones is NaN.
    Exponent,
}

/// A packed type: its elements, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    element: Element,
    count: usize,
    stride: u32,
}

impl Packed {
    fn parse(word: &str) -> Option<Self> {
        let (name, count) = word.split_at_checked(word.len().checked_sub(2)?)?;
        let count = match count {
            "x2" => 2,
            "x4" => 4,
            _ => return None,
        };
        let (element, stride) = match name {
            "f16" => (Element::Float(Format::F16), 16),
            "bf16" => (Element::Float(Format::BF16), 16),
            "e4m3" => (Element::Float(Format::E4M3), 8),
            "e5m2" => (Element::Float(Format::E5M2), 8),
            "e2m3" => (Element::Float(Format::E2M3), 8),
            "e3m2" => (Element::Float(Format::E3M2), 8),
            "e2m1" => (Element::Float(Format::E2M1), 4),
            "ue8m0" => (Element::Exponent, 8),
            _ => return None,
        };
        Some(Self { element, count, stride })
    }

    /// Whether the elements are narrower than 16 bits.
    fn is_narrow(self) -> bool {
        self.stride < 16
    }

    #[inline]
    fn decode(self, bits: u64) -> f64 {
        match self.element {
            Element::Float(format) => format.decode(bits),
            Element::Exponent => decode_exponent(bits),
        }
    }

    #[inline]
    fn encode(self, modifiers: Modifiers, value: f64, rounding: Rounding) -> u64 {
        match self.element {
            // The frequent ones by themselves, so that their formats are constants.
            Element::Float(Format::F16) => modifiers.write(Format::F16, value, rounding),
            Element::Float(Format::BF16) => modifiers.write(Format::BF16, value, rounding),
            Element::Float(format) => modifiers.write(format, value, rounding),
            Element::Exponent => encode_exponent(value, rounding == Rounding::Up, modifiers.finite),
        }
    }

    /// How many random bits `.rs` takes for an element of this type.
    fn random_width(self) -> u32 {
        match (self.element, self.stride) {
            (Element::Float(Format::F16), _) => 13,
            (_, 4) => 8,
            _ => 16,
        }
    }

    /// The random bits in `bits` for the element that comes from source `index`.
    #[inline]
    fn random(self, bits: u64, index: usize) -> Rounding {
        let width = self.random_width();
        let shift = match (self.count, self.stride) {
            (2, _) => 16 * (1 - index),
            (_, 4) => 16 * (1 - index % 2) + 8 * (1 - index / 2),
            _ => 16 * (1 - index / 2),
        };
        Rounding::Random { bits: (bits >> shift) as u32 & ((1 << width) - 1), width }
    }
}

/// The evaluator of a conversion to or from packed types.
pub fn evaluator(modifiers: Modifiers, target: &str, source: &str, sources: usize) -> Option<Evaluator> {
    let packed = Packed::parse(target)?;
    let rounding = modifiers.rounding.filter(|_| !modifiers.stochastic);
    if modifiers.integral.is_some() || modifiers.saturate || !rounds(packed, rounding, modifiers) {
        return None;
    }
    if source == "f32" {
        return match (packed.count, sources, rounding) {
            (2, 2, Some(rounding)) => Some(map(Packing::Single, pack::<2>(modifiers, packed, rounding))),
            (2, 3, None) => Some(map(Packing::Single, pack_stochastic::<2, 3>(modifiers, packed))),
            (4, 5, None) => Some(map(Packing::Single, pack_stochastic::<4, 5>(modifiers, packed))),
            _ => None,
        };
    }
    let source = Packed::parse(source)?;
    let rounding = rounding?;
    let paired = packed.count == 2 && source.count == 2 && sources == 1;
    (paired && converts(packed, source)).then(|| {
        map(Packing::Single, move |[a]: [u64; 1]| {
            let mask = (1 << source.stride) - 1;
            let convert = |bits| packed.encode(modifiers, source.decode(bits & mask), rounding);
            convert(a) | convert(a >> source.stride) << packed.stride
        })
    })
}

/// Whether pairs of type `source` convert to pairs of type `target`: between 16 bits and fewer. Narrow floats come from
/// both types of 16 bits and go to `f16`, exponents alone come from `bf16` and go there.
fn converts(target: Packed, source: Packed) -> bool {
    let (half, brain) = (Element::Float(Format::F16), Element::Float(Format::BF16));
    let narrowing = target.is_narrow() && !source.is_narrow();
    let widening = source.is_narrow() && !target.is_narrow();
    match (target.element, source.element) {
        (Element::Exponent, wide) | (wide, Element::Exponent) => (narrowing || widening) && wide == brain,
        _ => narrowing || widening && target.element == half,
    }
}

/// Whether `rounding` exists for results of type `packed`; without one the rounding is stochastic.
fn rounds(packed: Packed, rounding: Option<Rounding>, modifiers: Modifiers) -> bool {
    match (packed.element, rounding) {
        (Element::Exponent, rounding) => {
            matches!(rounding, Some(Rounding::Zero | Rounding::Up)) && !modifiers.relu
        }
        (_, Some(Rounding::Zero)) => !packed.is_narrow(),
        (_, Some(rounding)) => rounding == Rounding::NearestEven,
        (_, None) => modifiers.stochastic,
    }
}

/// The `N` elements of a result, each from an `f32`.
fn pack<const N: usize>(
    modifiers: Modifiers,
    packed: Packed,
    rounding: Rounding,
) -> impl Fn([u64; N]) -> u64 + Send + Sync + 'static {
    move |sources| {
        let encode = |&bits: &u64| packed.encode(modifiers, modifiers.read(Format::F32, bits), rounding);
        sources.iter().fold(0, |result, bits| result << packed.stride | encode(bits))
    }
}

/// The `N` elements of a result, each from an `f32`; the last of the `M` sources holds random bits.
fn pack_stochastic<const N: usize, const M: usize>(
    modifiers: Modifiers,
    packed: Packed,
) -> impl Fn([u64; M]) -> u64 + Send + Sync + 'static {
    move |sources| {
        let random = sources[M - 1];
        let elements: [u64; N] = from_fn(|index| {
            let value = modifiers.read(Format::F32, sources[index]);
            packed.encode(modifiers, value, packed.random(random, index))
        });
        elements.iter().fold(0, |result, bits| result << packed.stride | bits)
    }
}

/// The value of an exponent byte.
#[must_use]
pub fn decode_exponent(bits: u64) -> f64 {
    match bits & 0xFF {
        0xFF => f64::NAN,
        exponent => f64::from_bits((exponent + 1023 - 127) << 52),
    }
}

/// `value` as an exponent byte. The sign is dropped, and zero becomes the smallest power; what is past the largest one
/// becomes NaN, or the largest if `finite`.
fn encode_exponent(value: f64, up: bool, finite: bool) -> u64 {
    if value.is_nan() {
        return 0xFF;
    }
    let bits = value.abs().to_bits();
    let power = (bits >> 52) as i64 - 1023;
    let rest = bits & ((1 << 52) - 1) != 0;
    let exponent = (power + 127 + i64::from(up && rest)).max(0) as u64;
    match exponent {
        0..=254 => exponent,
        _ if finite => 254,
        _ => 255,
    }
}
