//! What conversions with a float on either side make of constants.
//!
//! Integers that are too large for their type clamp, with and without `.sat`. A NaN is left alone, whatever it is
//! converted to.

use super::float::{Finish, round, with_format};
use super::narrow;
use crate::values::known_bits::is_integer;
use ptxopt_components::description::Description;
use ptxopt_components::qualifiers::{Modifiers, Rounding};
use ptxopt_components::types::{PtxType, extend, truncate};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

/// The result of a conversion.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let [Some(to), Some(from), None, ..] = description.types else { return None };
    let are_floats = !is_integer(to) && !is_integer(from);
    let known = Modifiers::FTZ | Modifiers::SAT | Modifiers::RELU | Modifiers::SATFINITE;
    let known = if are_floats { known } else { known - Modifiers::SATFINITE };
    if !known.contains(description.qualifiers.modifiers) {
        return None;
    }
    match (to, sources) {
        (PtxType::Tf32, &[source]) if from == PtxType::F32 => narrow::to_tensor_float(description, source),
        (_, &[source]) if narrow::is_pair(from) => narrow::unpack(description, from, source),
        _ if narrow::is_pair(to) => narrow::pack(description, to, from, sources),
        // The first source is the upper half.
        (PtxType::F16x2, &[high, low]) => pair(description, PtxType::F16, from, high, low),
        (PtxType::Bf16x2, &[high, low]) => pair(description, PtxType::Bf16, from, high, low),
        (_, &[source]) if is_integer(from) => {
            with_format!(to, To => of_integer::<To>(description, from, source))
        }
        (_, &[source]) if is_integer(to) => {
            with_format!(from, From => to_integer::<From>(description, to, source))
        }
        (_, &[source]) => of_float(description, to, from, source),
        _ => None,
    }
}

fn pair(description: &Description, to: PtxType, from: PtxType, high: u64, low: u64) -> Option<u64> {
    let high = of_float(description, to, from, high)?;
    Some(high << 16 | of_float(description, to, from, low)?)
}

/// A float of another type, or the integral value next to one.
fn of_float(description: &Description, to: PtxType, from: PtxType, source: u64) -> Option<u64> {
    with_format!(from, From => with_format!(to, To => convert::<From, To>(description, source)))
}

fn convert<From: FloatConvert<To>, To: Float>(description: &Description, source: u64) -> Option<u64> {
    let rounding = description.qualifiers.rounding;
    let value: From = finish::<From>(description).read(source);
    let is_same = description.types[0] == description.types[1];
    let result = match rounding.map(|rounding| (integral(rounding), round(rounding))) {
        // Without a rounding only what is exact is known.
        None => {
            let result = value.convert_r(Round::NearestTiesToEven, &mut false);
            Some(result).filter(|result| result.status == Status::OK)?
        }
        Some((Some(integral), _)) if is_same => {
            let integral = value.round_to_integral(integral).value;
            integral.convert_r(Round::NearestTiesToEven, &mut false)
        }
        Some((_, Some(round))) => value.convert_r(round, &mut false),
        Some(_) => return None,
    };
    finish::<To>(description).write(result)
}

fn of_integer<To: Float>(description: &Description, from: PtxType, source: u64) -> Option<u64> {
    let round = round(description.qualifiers.rounding?)?;
    let value = if from.is_signed() {
        i128::from(extend(source, from.bits()))
    } else {
        i128::from(truncate(source, from.bits()))
    };
    finish::<To>(description).write(To::from_i128_r(value, round))
}

fn to_integer<From: Float>(description: &Description, to: PtxType, source: u64) -> Option<u64> {
    let round = integral(description.qualifiers.rounding?)?;
    let value: From = finish::<From>(description).read(source);
    if value.is_nan() || description.qualifiers.has(Modifiers::RELU) {
        return None;
    }
    let width = to.bits() as usize;
    let bits = if to.is_signed() {
        value.to_i128_r(width, round, &mut false).value as u64
    } else {
        value.to_u128_r(width, round, &mut false).value as u64
    };
    Some(truncate(bits, to.bits()))
}

/// What is done before and after: `.ftz` concerns `f32` alone.
fn finish<F: Float>(description: &Description) -> Finish {
    let is_single = (F::BITS, F::PRECISION) == (Single::BITS, Single::PRECISION);
    Finish::of(&description.qualifiers, description.flushes() && is_single)
}

/// A rounding to an integer in the words of the library.
fn integral(rounding: Rounding) -> Option<Round> {
    Some(match rounding {
        Rounding::IntegerNearest => Round::NearestTiesToEven,
        Rounding::IntegerZero => Round::TowardZero,
        Rounding::IntegerDown => Round::TowardNegative,
        Rounding::IntegerUp => Round::TowardPositive,
        _ => return None,
    })
}
