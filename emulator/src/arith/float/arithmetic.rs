//! Addition, multiplication, fused multiplication and addition, division, square roots: everything that IEEE 754
//! rounds once.
//!
//! Forms without a rounding go to nearest even, and each of them rounds by itself: the ISA lets `mul` and `add`
//! without a rounding be contracted, which is not done here.
//!
//! `.ftz` looks at the result as it is rounded without a smallest exponent ([`Format::encode_flushed`]).

use std::array::from_fn;

use super::approximate;
use super::finish::Finish;
use super::format::{Format, Rounding, double_bits, for_format, single_bits};
use super::map::{FloatType, Packing, map};
use super::operation::{Add, Divide, Fused, Multiply, Operation, Reciprocal, SquareRoot, Subtract};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};

/// The evaluator of `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt` with a rounding, or without modifiers.
pub fn evaluator(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let rounded = qualifiers.clone().take_rounding().is_some();
    let float = qualifiers.take_first(FloatType::parse)?;
    let narrow = qualifiers.take_first(FloatType::parse);
    let flushes = request.dialect.flushes && float.format == Format::F32;
    // `mad.f32` without rounding exists for `sm_1x` alone. It truncated the product there; every later processor
    // computes it as `fma.rn.ftz.f32`, which is what is done here.
    let finish = Finish::take(&mut qualifiers, flushes);
    let relu_allowed = qualifiers.root == "fma" && float.format.bits() == 16;
    if !qualifiers.is_empty() || finish.relu && !relu_allowed {
        return None;
    }
    let spec = Spec { finish, float, narrow };
    match qualifiers.root {
        "add" => spec.build::<Add, 2>(request),
        "sub" => spec.build::<Subtract, 2>(request),
        "mul" if narrow.is_none() => spec.build::<Multiply, 2>(request),
        "fma" | "mad" => spec.build::<Fused, 3>(request),
        _ if narrow.is_some() || float.packing != Packing::Single || float.format.bits() < 32 => None,
        // Before PTX 1.4 these had an approximate default in `f32` and a rounded one in `f64`.
        "div" | "rcp" | "sqrt" if !rounded && float.format == Format::F32 => {
            approximate::legacy(request, finish)
        }
        "div" => spec.build::<Divide, 2>(request),
        "rcp" => spec.build::<Reciprocal, 1>(request),
        "sqrt" => spec.build::<SquareRoot, 1>(request),
        _ => None,
    }
}

/// Types and modifiers of one instruction.
struct Spec {
    finish: Finish,
    float: FloatType,
    /// In `add.f32.f16` and its like: the type of every source but the last.
    narrow: Option<FloatType>,
}

impl Spec {
    fn build<O: Operation<N>, const N: usize>(&self, request: &Request) -> Option<Evaluator> {
        if request.sources != N || request.results != 1 {
            return None;
        }
        let Self { finish, float, narrow } = *self;
        if let Some(narrow) = narrow {
            let mixed = float == FloatType::parse("f32")? && narrow.format.bits() == 16;
            return (mixed && narrow.packing == Packing::Single)
                .then(|| mixed_sources::<O, N>(finish, narrow.format));
        }
        Some(match (float.format, finish.rounding) {
            (Format::F64, _) if finish.flush || finish.saturate => return None,
            (Format::F64, Rounding::NearestEven) => {
                map(float.packing, |bits: [u64; N]| double_bits(O::double(bits.map(f64::from_bits))))
            }
            (Format::F64, rounding) => map(float.packing, move |bits: [u64; N]| {
                double_bits(O::directed(bits.map(f64::from_bits), rounding))
            }),
            (Format::F32, Rounding::NearestEven) => match (finish.flush, finish.saturate) {
                (false, false) => native::<O, N, false, false>(finish, float.packing),
                (false, true) => native::<O, N, false, true>(finish, float.packing),
                (true, false) => native::<O, N, true, false>(finish, float.packing),
                (true, true) => native::<O, N, true, true>(finish, float.packing),
            },
            (format, rounding) => for_format!(format, FORMAT => map(float.packing, move |bits: [u64; N]| {
                let values = bits.map(|bits| finish.read(FORMAT, bits));
                finish.write(FORMAT, O::unrounded(values, rounding))
            })),
        })
    }
}

/// `f32` to nearest even, by the processor's own arithmetic.
fn native<O: Operation<N>, const N: usize, const FLUSH: bool, const SATURATE: bool>(
    finish: Finish,
    packing: Packing,
) -> Evaluator {
    let flushed = |bits: u64| if FLUSH { Format::F32.flush(bits) } else { bits };
    map(packing, move |bits: [u64; N]| {
        let result = O::single(bits.map(|bits| f32::from_bits(flushed(bits) as u32)));
        // The processor cannot say whether the smallest normal value comes from below.
        if FLUSH && result.abs() == f32::MIN_POSITIVE {
            let values = bits.map(|bits| finish.read(Format::F32, bits));
            return finish.write(Format::F32, O::unrounded(values, Rounding::NearestEven));
        }
        let result = match SATURATE {
            true if result > 0.0 => result.min(1.0),
            true => 0.0,
            false => result,
        };
        flushed(single_bits(result))
    })
}

/// An `f32` result of `narrow` sources and a last one in `f32`.
fn mixed_sources<O: Operation<N>, const N: usize>(finish: Finish, narrow: Format) -> Evaluator {
    let formats: [Format; N] = from_fn(|index| if index + 1 < N { narrow } else { Format::F32 });
    map(Packing::Single, move |bits: [u64; N]| {
        let values = from_fn(|index| finish.read(formats[index], bits[index]));
        finish.write(Format::F32, O::unrounded(values, finish.rounding))
    })
}
