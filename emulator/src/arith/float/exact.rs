//! Sums and fused operations without an intermediate rounding.
//!
//! `f64` carries the narrow formats: a product of two of their values is exact there, and a sum that is not is
//! rounded to odd (Boldo and Melquiond 2008), after which a rounding into the narrow format gives the same as one
//! rounding of the exact sum. This holds for every rounding mode, since 53 bits are at least two more than any narrow
//! format has.
//!
//! Quotients and square roots need no such care: `a / b` of two 24-bit significands cannot come nearer than a relative
//! `2^-50` to a value or midpoint of at most 25 bits without being it (`|a * 2^k - m * b| >= 1`), which is further away
//! than an `f64` rounding moves it; the same argument holds for `sqrt(a)`, where `|a - m * m| >= 1`.

use rustc_apfloat::Float;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::Double;

use super::format::{Rounding, double_bits};

/// `a + b` rounded to odd: exact, or the neighbour whose last bit is set.
#[must_use]
#[inline(always)]
pub fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: `sum + error` is `a + b` exactly where `sum` is finite.
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    // Without branches and comparisons of words, which the smallest x86-64 could not do for two lanes at once.
    let (bits, rest) = (sum.to_bits(), error.to_bits());
    let magnitude = rest << 1;
    let inexact = (magnitude | magnitude.wrapping_neg()) >> 63;
    let inwards = (bits ^ rest) >> 63;
    let moves = inexact & !bits;
    let step = moves.wrapping_sub((moves & inwards) << 1);
    if error.is_finite() { f64::from_bits(bits.wrapping_add(step)) } else { sum }
}

/// `sum`, which is `a + b`, with the sign of zero that `rounding` asks for: a sum of opposite signs that cancels is
/// minus zero when rounding down.
#[must_use]
#[inline(always)]
pub fn signed_zero(sum: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    let cancels = sum == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    if cancels && rounding == Rounding::Down { -0.0 } else { sum }
}

/// `a * b + c` of `f32` values, rounded once to nearest even.
#[must_use]
#[inline(always)]
pub fn fused_single(a: f32, b: f32, c: f32) -> f32 {
    odd_sum(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

/// The rounding in the words of the software floating-point library.
fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::Zero | Rounding::Random { .. } => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

fn double(value: f64) -> Double {
    Double::from_bits(u128::from(value.to_bits()))
}

fn native(value: Double) -> f64 {
    f64::from_bits(double_bits(f64::from_bits(value.to_bits() as u64)))
}

/// `a + b` in `f64`.
#[must_use]
pub fn add_double(a: f64, b: f64, rounding: Rounding) -> f64 {
    native(double(a).add_r(double(b), round(rounding)).value)
}

/// `a * b` in `f64`.
#[must_use]
pub fn multiply_double(a: f64, b: f64, rounding: Rounding) -> f64 {
    native(double(a).mul_r(double(b), round(rounding)).value)
}

/// `a * b + c` in `f64`.
#[must_use]
pub fn fused_double(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    native(double(a).mul_add_r(double(b), double(c), round(rounding)).value)
}

/// `a / b` in `f64`.
#[must_use]
pub fn divide_double(a: f64, b: f64, rounding: Rounding) -> f64 {
    native(double(a).div_r(double(b), round(rounding)).value)
}

/// `sqrt(a)` in `f64`.
#[must_use]
pub fn square_root_double(a: f64, rounding: Rounding) -> f64 {
    let nearest = a.sqrt();
    if rounding == Rounding::NearestEven || !nearest.is_finite() || nearest == 0.0 {
        return nearest;
    }
    // The residue `a - nearest^2` is exact (the library rounds a representable number), or below the range where it
    // matters only by its sign, which rounding keeps.
    let residue = scaled_residue(a, nearest);
    match rounding {
        Rounding::Up if residue > 0 => nearest.next_up(),
        Rounding::Zero | Rounding::Down if residue < 0 => nearest.next_down(),
        _ => nearest,
    }
}

/// The sign of `a - root^2`, by integers.
fn scaled_residue(a: f64, root: f64) -> i32 {
    let (square, square_exponent) = {
        let (significand, exponent) = parts(root);
        (u128::from(significand) * u128::from(significand), 2 * exponent)
    };
    let (significand, exponent) = parts(a);
    // `root^2` has 105 or 106 bits and `a` lies within a few last places of it, so the shift is between 51 and 54 for
    // normal values; a subnormal `a` has fewer bits and a larger one.
    let shift = exponent - square_exponent;
    let wide = u128::from(significand) << shift;
    wide.cmp(&square) as i32
}

/// A positive finite `value` as significand and exponent.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}
