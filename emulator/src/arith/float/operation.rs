//! The operations of IEEE 754, each in the three ways in which it is computed.

use super::exact;
use super::format::Rounding;

/// An operation of `N` values.
pub trait Operation<const N: usize>: Send + Sync + 'static {
    /// In `f32`, to nearest even.
    fn single(values: [f32; N]) -> f32;
    /// In `f64`, to nearest even.
    fn double(values: [f64; N]) -> f64;
    /// Of values of narrow formats: exact, rounded to odd, or so that one more rounding is right (see [`exact`]).
    fn unrounded(values: [f64; N], rounding: Rounding) -> f64;
    /// In `f64`, rounded as `rounding` says.
    fn directed(values: [f64; N], rounding: Rounding) -> f64;
}

/// `a + b`.
pub struct Add;

impl Operation<2> for Add {
    fn single([a, b]: [f32; 2]) -> f32 {
        a + b
    }

    fn double([a, b]: [f64; 2]) -> f64 {
        a + b
    }

    fn unrounded([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        exact::signed_zero(exact::odd_sum(a, b), a, b, rounding)
    }

    fn directed([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        exact::add_double(a, b, rounding)
    }
}

/// `a - b`.
pub struct Subtract;

impl Operation<2> for Subtract {
    fn single([a, b]: [f32; 2]) -> f32 {
        a - b
    }

    fn double([a, b]: [f64; 2]) -> f64 {
        a - b
    }

    fn unrounded([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        Add::unrounded([a, -b], rounding)
    }

    fn directed([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        Add::directed([a, -b], rounding)
    }
}

/// `a * b`.
pub struct Multiply;

impl Operation<2> for Multiply {
    fn single([a, b]: [f32; 2]) -> f32 {
        a * b
    }

    fn double([a, b]: [f64; 2]) -> f64 {
        a * b
    }

    fn unrounded([a, b]: [f64; 2], _: Rounding) -> f64 {
        a * b
    }

    fn directed([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        exact::multiply_double(a, b, rounding)
    }
}

/// `a * b + c`, rounded once.
pub struct Fused;

impl Operation<3> for Fused {
    fn single([a, b, c]: [f32; 3]) -> f32 {
        exact::fused_single(a, b, c)
    }

    fn double([a, b, c]: [f64; 3]) -> f64 {
        a.mul_add(b, c)
    }

    fn unrounded([a, b, c]: [f64; 3], rounding: Rounding) -> f64 {
        Add::unrounded([a * b, c], rounding)
    }

    fn directed([a, b, c]: [f64; 3], rounding: Rounding) -> f64 {
        exact::fused_double(a, b, c, rounding)
    }
}

/// `a / b`.
pub struct Divide;

impl Operation<2> for Divide {
    fn single([a, b]: [f32; 2]) -> f32 {
        a / b
    }

    fn double([a, b]: [f64; 2]) -> f64 {
        a / b
    }

    fn unrounded([a, b]: [f64; 2], _: Rounding) -> f64 {
        a / b
    }

    fn directed([a, b]: [f64; 2], rounding: Rounding) -> f64 {
        exact::divide_double(a, b, rounding)
    }
}

/// `1 / a`.
pub struct Reciprocal;

impl Operation<1> for Reciprocal {
    fn single([a]: [f32; 1]) -> f32 {
        1.0 / a
    }

    fn double([a]: [f64; 1]) -> f64 {
        1.0 / a
    }

    fn unrounded([a]: [f64; 1], _: Rounding) -> f64 {
        1.0 / a
    }

    fn directed([a]: [f64; 1], rounding: Rounding) -> f64 {
        exact::divide_double(1.0, a, rounding)
    }
}

/// `sqrt(a)`.
pub struct SquareRoot;

impl Operation<1> for SquareRoot {
    fn single([a]: [f32; 1]) -> f32 {
        a.sqrt()
    }

    fn double([a]: [f64; 1]) -> f64 {
        a.sqrt()
    }

    fn unrounded([a]: [f64; 1], _: Rounding) -> f64 {
        a.sqrt()
    }

    fn directed([a]: [f64; 1], rounding: Rounding) -> f64 {
        exact::square_root_double(a, rounding)
    }
}
