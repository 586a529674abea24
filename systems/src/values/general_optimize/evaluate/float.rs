//! What arithmetic on floats makes of constants: the exact result, rounded once, as IEEE 754 says.
//!
//! # What is left alone
//! Everything of which the ISA does not say each bit: results that are NaN (its payload), approximations (`.approx`,
//! `.full`, forms without a rounding that old targets approximate), a zero with a minus sign that `.sat` or `.relu` could
//! clear, and where `.ftz` meets a result that only rounding makes normal.
//!
//! `mul` and `add` without a rounding may be contracted to `fma` by the assembler, which then has one rounding less. Each
//! of them rounded by itself is one of the results that the ISA allows.

use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{FloatClass, Modifiers, Qualifiers, Rounding};
use ptxopt_components::types::PtxType;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Category, Float, Round, Status, StatusAnd};

/// Expands to `$body`, a block that gives an option, with `$name` as the library's type for `$format`.
macro_rules! with_format {
    ($format:expr, $name:ident => $body:expr) => {
        match $format {
            PtxType::F16 => {
                type $name = Half;
                $body
            }
            PtxType::Bf16 => {
                type $name = BFloat;
                $body
            }
            PtxType::F32 => {
                type $name = Single;
                $body
            }
            PtxType::F64 => {
                type $name = Double;
                $body
            }
            _ => None,
        }
    };
}
pub(super) use with_format;

/// The result of arithmetic; of a pair of floats, lane by lane.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let ty = description.types[0].filter(|_| description.types[1].is_none())?;
    let (format, lanes) = lanes(ty);
    let width = format.bits();
    let mut result = 0;
    for lane in 0..lanes {
        let mut of_lane = [0; 3];
        let of_lane = of_lane.get_mut(..sources.len())?;
        of_lane.iter_mut().zip(sources).for_each(|(part, whole)| *part = whole >> (lane * width));
        let bits = with_format!(format, F => compute::<F>(description, of_lane))?;
        result |= bits << (lane * width);
    }
    Some(result)
}

/// Whether a float is of a class, as `testp` asks. Zeros are normal numbers there, and nothing is flushed.
pub(super) fn classify(description: &Description, sources: &[u64]) -> Option<u64> {
    let (&[bits], class) = (sources, description.qualifiers.class?) else { return None };
    let as_it_is = Finish::of(&description.qualifiers, false);
    let category = with_format!(description.types[0]?, F => {
        let value: F = as_it_is.read(bits);
        Some((value.category(), value.is_denormal()))
    });
    let (category, is_subnormal) = category?;
    let (is_nan, is_infinite) = (category == Category::NaN, category == Category::Infinity);
    Some(u64::from(match class {
        FloatClass::Finite => !is_nan && !is_infinite,
        FloatClass::Infinite => is_infinite,
        FloatClass::Number => !is_nan,
        FloatClass::NotANumber => is_nan,
        FloatClass::Normal => !is_nan && !is_infinite && !is_subnormal,
        FloatClass::Subnormal => is_subnormal,
    }))
}

/// The format of a value's parts, and how many there are.
pub(super) fn lanes(ty: PtxType) -> (PtxType, u32) {
    match ty {
        PtxType::F16x2 => (PtxType::F16, 2),
        PtxType::Bf16x2 => (PtxType::Bf16, 2),
        PtxType::F32x2 => (PtxType::F32, 2),
        _ => (ty, 1),
    }
}

/// The result of one lane.
fn compute<F: Float>(description: &Description, sources: &[u64]) -> Option<u64> {
    let finish = Finish::of(&description.qualifiers, description.flushes());
    let mut values = [F::ZERO; 3];
    values.iter_mut().zip(sources).for_each(|(value, &bits)| *value = finish.read(bits));
    let modifiers = description.qualifiers.modifiers;
    let allowed = match description.operation {
        Operation::Min | Operation::Max => {
            Modifiers::FTZ | Modifiers::NAN | Modifiers::XORSIGN | Modifiers::ABS
        }
        _ => Modifiers::FTZ | Modifiers::SAT | Modifiers::RELU,
    };
    let rounding = description.qualifiers.rounding;
    let round = round(rounding.unwrap_or(Rounding::Nearest)).filter(|_| allowed.contains(modifiers))?;
    let result = match (description.operation, &values[..sources.len()]) {
        (Operation::Add, &[a, b]) => a.add_r(b, round),
        (Operation::Sub, &[a, b]) => a.sub_r(b, round),
        (Operation::Mul, &[a, b]) => a.mul_r(b, round),
        // Without a rounding `mad` is an instruction of old targets that rounds differently.
        (Operation::Fma | Operation::Mad, &[a, b, c]) if rounding.is_some() => a.mul_add_r(b, c, round),
        (Operation::Div, &[a, b]) if rounding.is_some() => a.div_r(b, round),
        (Operation::Rcp, &[a]) if rounding.is_some() => F::from_u128(1).value.div_r(a, round),
        (Operation::Sqrt, &[a]) if rounding.is_some() => square_root(a, round)?,
        (Operation::Neg, &[a]) => exact(-a),
        (Operation::Abs, &[a]) => exact(a.abs()),
        (Operation::Copysign, &[sign, a]) => exact(a.copy_sign(sign)),
        (Operation::Min | Operation::Max, &[first, ref others @ ..]) => {
            let extreme = |a, &b| extreme(description, a, b);
            exact(others.iter().try_fold(first, extreme)?)
        }
        _ => return None,
    };
    finish.write(result)
}

pub(super) fn exact<F>(value: F) -> StatusAnd<F> {
    Status::OK.and(value)
}

/// The smaller or larger of two values: `-0` is less than `+0`, and a NaN loses against a number.
fn extreme<F: Float>(description: &Description, a: F, b: F) -> Option<F> {
    let qualifiers = &description.qualifiers;
    let is_signed_by_both = qualifiers.has(Modifiers::XORSIGN);
    match (a.is_nan(), b.is_nan()) {
        (false, false) => {}
        _ if is_signed_by_both || qualifiers.has(Modifiers::NAN) => return None,
        (true, true) => return Some(a),
        (is_other, _) => {
            let number = if is_other { b } else { a };
            return Some(if qualifiers.has(Modifiers::ABS) { number.abs() } else { number });
        }
    }
    let is_negative = a.is_negative() != b.is_negative();
    let (a, b) = if qualifiers.has(Modifiers::ABS) { (a.abs(), b.abs()) } else { (a, b) };
    let number = if description.operation == Operation::Min { a.minimum(b) } else { a.maximum(b) };
    Some(if is_signed_by_both && number.is_negative() != is_negative { -number } else { number })
}

/// The square root, rounded once: that of an integer with two bits more than the format has, and one more bit for what is
/// left of it, which tells on which side of each value and midpoint the exact root lies.
fn square_root<F: Float>(value: F, round: Round) -> Option<StatusAnd<F>> {
    if value.is_zero() || value.is_pos_infinity() {
        return Some(exact(value));
    }
    if value.is_nan() || value.is_negative() {
        return None;
    }
    // value = significand * 2^exponent, with as many bits as make the root long enough and an even exponent.
    let precision = F::PRECISION as i32;
    let root_bits = precision + 2;
    let leading = value.ilogb();
    let exponent = (leading - 2 * root_bits) & !1;
    let significand = value.scalbn(precision - 1 - leading).to_u128(128).value;
    let scaled = significand << (leading - precision + 1 - exponent);
    let root = scaled.isqrt();
    let is_inexact = root * root != scaled;
    let StatusAnd { status, value } = F::from_u128_r(root << 1 | u128::from(is_inexact), round);
    // No root of a float is subnormal or past the range, so scaling is exact.
    Some(status.and(value.scalbn(exponent / 2 - 1)))
}

/// The rounding in the words of the library.
pub(super) fn round(rounding: Rounding) -> Option<Round> {
    Some(match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
        _ => return None,
    })
}

/// What happens to a source before the operation, and to the result after it.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    flushes: bool,
    saturates: bool,
    clears_negative: bool,
    is_finite: bool,
}

impl Finish {
    pub(super) fn of(qualifiers: &Qualifiers, flushes: bool) -> Self {
        let saturates = qualifiers.has(Modifiers::SAT);
        let clears_negative = qualifiers.has(Modifiers::RELU);
        Self { flushes, saturates, clears_negative, is_finite: qualifiers.has(Modifiers::SATFINITE) }
    }

    /// The value of a source.
    pub(super) fn read<F: Float>(self, bits: u64) -> F {
        let value = F::from_bits(u128::from(bits) & (u128::MAX >> (128 - F::BITS)));
        if self.flushes && value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
    }

    /// The bits of a result; none where the ISA does not say which they are.
    pub(super) fn write<F: Float>(self, result: StatusAnd<F>) -> Option<u64> {
        let StatusAnd { status, mut value } = result;
        if self.flushes && value.is_denormal() {
            value = F::ZERO.copy_sign(value);
        }
        // Whether a result below the normal range that rounds into it is flushed is not said.
        let became_normal = value.is_smallest_normalized() && status.contains(Status::INEXACT);
        if self.flushes && became_normal {
            return None;
        }
        if value.is_nan() {
            return self.saturates.then_some(0);
        }
        if self.is_finite && value.is_infinite() {
            value = F::largest().copy_sign(value);
        }
        let clears = self.saturates || self.clears_negative;
        if clears && value.is_negative() {
            return (!value.is_zero()).then_some(0);
        }
        let one = F::from_u128(1).value;
        let is_above = self.saturates && value > one;
        Some((if is_above { one } else { value }).to_bits() as u64)
    }
}
