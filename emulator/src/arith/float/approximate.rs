//! Approximate operations: the nearest value to the exact result, which lies within every error bound of the ISA.
//!
//! The exact result is computed in `f64`, whose own error (a few units in its last place) may move the rounding of
//! rare results by one unit. Special values follow the ISA's tables:
//!
//! | operation | `-inf` | negative | `-0` | `+0` | `+inf` |
//! |---|---|---|---|---|---|
//! | `rcp` | `-0` | | `-inf` | `+inf` | `+0` |
//! | `sqrt` | NaN | NaN | `-0` | `+0` | `+inf` |
//! | `rsqrt` | NaN | NaN | `-inf` | `+inf` | `+0` |
//! | `sin` | NaN | | `-0` | `+0` | NaN |
//! | `cos` | NaN | | `1` | `1` | NaN |
//! | `lg2` | NaN | NaN | `-inf` | `-inf` | `+inf` |
//! | `ex2` | `+0` | | `1` | `1` | `+inf` |
//! | `tanh` | `-1` | | `-0` | `+0` | `1` |
//!
//! NaN gives NaN everywhere. With `.ftz` a subnormal source counts as the zero of its sign.

use super::finish::Finish;
use super::format::{Format, Rounding, double_bits};
use super::map::{FloatType, Packing, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of the forms with `.approx` or `.full`, and of `sin`, `cos`, `lg2`, `ex2`, `rsqrt` and `tanh`.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let float = qualifiers.take_first(FloatType::parse)?;
    let full = qualifiers.take("full");
    let approximate = qualifiers.take("approx");
    let flushes = request.dialect.flushes && float.format == Format::F32;
    let flush = qualifiers.take("ftz") || flushes;
    if !qualifiers.is_empty() || full && (approximate || qualifiers.root != "div") || request.results != 1 {
        return None;
    }
    let finish = Finish { rounding: Rounding::NearestEven, flush, saturate: false, relu: false };
    if float.format == Format::F64 {
        return double(qualifiers.root, flush, request);
    }
    if float.format.bits() == 16 && !matches!(qualifiers.root, "ex2" | "tanh") {
        return None;
    }
    if qualifiers.root == "div" {
        return divide(full, finish, request);
    }
    let function = function(qualifiers.root)?;
    (request.sources == 1).then(|| unary(float, finish, function))
}

/// The `f32` operations whose modifier was left out, as PTX before 1.4 allows.
pub fn legacy(request: &Request, finish: Finish) -> Option<Evaluator> {
    let root = request.mnemonic.split('.').next()?;
    match (root, request.sources) {
        ("div", 2) => divide(false, finish, request),
        ("rcp" | "sqrt", 1) => Some(unary(FloatType::parse("f32")?, finish, function(root)?)),
        _ => None,
    }
}

/// What the operation `root` computes.
fn function(root: &str) -> Option<fn(f64) -> f64> {
    Some(match root {
        "rcp" => |a| 1.0 / a,
        "sqrt" => f64::sqrt,
        "rsqrt" => |a| 1.0 / a.sqrt(),
        "sin" => f64::sin,
        "cos" => f64::cos,
        "lg2" => f64::log2,
        "ex2" => f64::exp2,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

fn unary(float: FloatType, finish: Finish, function: fn(f64) -> f64) -> Evaluator {
    let format = float.format;
    map(float.packing, move |[a]| finish.write(format, function(finish.read(format, a))))
}

/// `div.approx.f32` and `div.full.f32`.
///
/// Approximate division multiplies by a reciprocal, which is flushed for divisors above `2^126`: the quotient is then
/// zero, and NaN if the dividend is infinite. The full-range form has no such hole.
fn divide(full: bool, finish: Finish, request: &Request) -> Option<Evaluator> {
    const LARGE: f64 = (1_u128 << 126) as f64;
    let divide = move |[a, b]: [u64; 2]| {
        let (a, b) = (finish.read(Format::F32, a), finish.read(Format::F32, b));
        let vanishes = !full && b.is_finite() && b.abs() > LARGE;
        let quotient = if vanishes { a * 0.0_f64.copysign(b) } else { a / b };
        finish.write(Format::F32, quotient)
    };
    (request.sources == 2).then(|| map(Packing::Single, divide))
}

/// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64` and `rsqrt.approx.f64`.
///
/// The forms with `.ftz` read the upper word of their source and write the upper word of their result: the rest counts
/// as zero. `rsqrt` without `.ftz` has the precision of `f64`.
fn double(root: &str, flush: bool, request: &Request) -> Option<Evaluator> {
    const UPPER: u64 = 0xFFFF_FFFF_0000_0000;
    if request.sources != 1 {
        return None;
    }
    let function = match root {
        "rcp" if flush => function(root)?,
        "rsqrt" => function(root)?,
        _ => return None,
    };
    Some(if flush {
        map(Packing::Single, move |[a]: [u64; 1]| {
            let source = f64::from_bits(Format::F64.flush(a & UPPER));
            Format::F64.flush(double_bits(function(source)) & UPPER)
        })
    } else {
        map(Packing::Single, move |[a]: [u64; 1]| double_bits(function(f64::from_bits(a))))
    })
}
