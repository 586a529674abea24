//! What conversions to and from pairs of floats of 8 bits and fewer make of constants, and those to `tf32`.
//!
//! Such a float is rounded to nearest, ties to even, and what is past the largest one becomes that. A NaN is left alone. Elements
//! of 6 bits lie in bytes, those of 4 bits side by side.
//!
//! # What is left alone
//! Exponents without a fraction (`.ue8m0x2`): the ISA does not say what becomes of a sign or a zero. Stochastic rounding.

use super::float::{Finish, exact, with_format};
use ptxopt_components::description::Description;
use ptxopt_components::qualifiers::{Modifiers, Rounding};
use ptxopt_components::types::{PtxType, truncate};
use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// A format of at most 8 bits, with a sign.
#[derive(Clone, Copy)]
struct Narrow {
    /// Bits of the fraction.
    fraction: u32,
    /// The exponent of the smallest normal value.
    least: i32,
    /// The largest finite value, by its bits without the sign.
    largest: u64,
    /// Bits of a value, the sign included.
    width: u32,
    /// Bits from one element of a pair to the next.
    stride: u32,
}

/// The format of the elements of a packed type, if it is narrow.
fn narrow(ty: PtxType) -> Option<Narrow> {
    let (fraction, least, largest, width, stride) = match ty {
        PtxType::E4m3x2 => (3, -6, 0x7E, 8, 8),
        PtxType::E5m2x2 => (2, -14, 0x7B, 8, 8),
        PtxType::E2m3x2 => (3, 0, 0x1F, 6, 8),
        PtxType::E3m2x2 => (2, -2, 0x1F, 6, 8),
        PtxType::E2m1x2 => (1, 0, 0x7, 4, 4),
        _ => return None,
    };
    Some(Narrow { fraction, least, largest, width, stride })
}

/// Whether a type is a pair of narrow floats that is known here.
pub(super) fn is_pair(ty: PtxType) -> bool {
    narrow(ty).is_some()
}

/// The pair of narrow floats next to two sources, the first of which is the upper one, or to both halves of one.
pub(super) fn pack(description: &Description, to: PtxType, from: PtxType, sources: &[u64]) -> Option<u64> {
    let format = narrow(to)?;
    let wanted = Modifiers::SATFINITE | Modifiers::RELU;
    let qualifiers = &description.qualifiers;
    let is_known = qualifiers.rounding == Some(Rounding::Nearest)
        && qualifiers.has(Modifiers::SATFINITE)
        && wanted.contains(qualifiers.modifiers);
    let (from, [high, low]) = match (from, sources) {
        (PtxType::F32, &[high, low]) => (from, [high, low]),
        (PtxType::F16x2, &[both]) => (PtxType::F16, [both >> 16, both]),
        (PtxType::Bf16x2, &[both]) => (PtxType::Bf16, [both >> 16, both]),
        _ => return None,
    };
    if !is_known {
        return None;
    }
    let element = |bits| with_format!(from, F => format.round(Finish::of(qualifiers, false).read::<F>(bits)));
    let clear = |bits: u64| {
        let is_negative = qualifiers.has(Modifiers::RELU) && bits & format.sign() != 0;
        // Whether a zero keeps its sign is not said.
        if !is_negative {
            Some(bits)
        } else if bits == format.sign() {
            None
        } else {
            Some(0)
        }
    };
    Some(clear(element(high)?)? << format.stride | clear(element(low)?)?)
}

/// The pair of `f16` that a pair of narrow floats is; exactly, as all are among them.
pub(super) fn unpack(description: &Description, from: PtxType, source: u64) -> Option<u64> {
    let format = narrow(from)?;
    let finish = Finish::of(&description.qualifiers, false);
    let is_known = description.types[0] == Some(PtxType::F16x2)
        && description.qualifiers.rounding == Some(Rounding::Nearest)
        && Modifiers::RELU.contains(description.qualifiers.modifiers);
    let element = |bits| finish.write(exact(format.value(truncate(bits, format.width))?));
    if is_known { Some(element(source >> format.stride)? << 16 | element(source)?) } else { None }
}

impl Narrow {
    fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    /// The bits of the value next to another one; of what is past the largest, of that.
    fn round<F: Float>(self, value: F) -> Option<u64> {
        if value.is_nan() {
            return None;
        }
        let sign = if value.is_negative() { self.sign() } else { 0 };
        if value.is_infinite() {
            return Some(sign | self.largest);
        }
        let exponent = if value.is_zero() { self.least } else { value.ilogb().max(self.least) };
        // In units of the last place there, of which a normal value has as many as its fraction and the bit before it say.
        let units = value.abs().scalbn(self.fraction as i32 - exponent);
        let units = units.round_to_integral(Round::NearestTiesToEven).value.to_u128(64).value as u64;
        let magnitude = (((exponent - self.least) as u64) << self.fraction) + units;
        Some(sign | magnitude.min(self.largest))
    }

    /// The value of some bits; none of what is no number.
    fn value(self, bits: u64) -> Option<Half> {
        let magnitude = bits & (self.sign() - 1);
        // Only `e5m2` has infinities: in other formats with two bits of fraction all bits are those of a number.
        let is_infinite = self.fraction == 2 && magnitude == self.largest + 1;
        if magnitude > self.largest && !is_infinite {
            return None;
        }
        let (exponent, fraction) = (magnitude >> self.fraction, truncate(magnitude, self.fraction));
        let (units, above) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << self.fraction, exponent as i32 - 1),
        };
        let finite = Half::from_u128(u128::from(units)).value;
        let value = finite.scalbn(self.least - self.fraction as i32 + above);
        let value = if is_infinite { Half::INFINITY } else { value };
        Some(if bits & self.sign() != 0 { -value } else { value })
    }
}

/// `tf32`: an `f32` with 10 bits of fraction.
struct TensorFloat;

impl Semantics for TensorFloat {
    const BITS: usize = 19;
    const EXP_BITS: usize = 8;
}

/// The `tf32` next to an `f32`, in the upper bits of its register. That the others are 0 is what `ptxas` 13.0 makes of constants.
pub(super) fn to_tensor_float(description: &Description, source: u64) -> Option<u64> {
    let qualifiers = &description.qualifiers;
    let known = Modifiers::SATFINITE | Modifiers::RELU;
    let round = match qualifiers.rounding? {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::Zero => Round::TowardZero,
        _ => return None,
    };
    if !known.contains(qualifiers.modifiers) {
        return None;
    }
    let finish = Finish::of(qualifiers, false);
    let value: Single = finish.read(source);
    let result: IeeeFloat<TensorFloat> = value.convert_r(round, &mut false).value;
    Some(finish.write(exact(result))? << 13)
}
