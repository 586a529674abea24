//! From one float to one float.
//!
//! A conversion of a type into itself that does nothing else moves the bits, a NaN's included. Without a rounding
//! (`cvt.bf16.f16`) the result goes to nearest even.

use super::{Evaluator, Format, Modifiers, Rounding};
use crate::arith::float::format::for_format;
use crate::arith::float::map::{Packing, map};

/// `cvt` from `source` to `target`.
pub fn convert(modifiers: Modifiers, target: Format, source: Format) -> Option<Evaluator> {
    if modifiers.stochastic || modifiers.rounding == Some(Rounding::NearestAway) {
        return None;
    }
    let flush = modifiers.flush && source == Format::F32;
    let changes = modifiers.integral.is_some() || modifiers.saturate || modifiers.finite || modifiers.relu;
    if target == source && !flush && !changes {
        return Some(map(Packing::Single, move |[a]: [u64; 1]| a & source.mask()));
    }
    let rounding = modifiers.rounding.unwrap_or(Rounding::NearestEven);
    Some(
        for_format!(source, SOURCE => for_format!(target, TARGET => map(Packing::Single, move |[a]: [u64; 1]| {
            modifiers.write(TARGET, modifiers.read(SOURCE, a), rounding)
        }))),
    )
}

/// `cvt.{rn,rz,rna}.tf32.f32`: the result stands in the upper 19 bits of its register, a NaN is that of `f32`.
pub fn to_tf32(modifiers: Modifiers) -> Option<Evaluator> {
    const UNUSED: u32 = Format::F32.fraction_bits - Format::TF32.fraction_bits;
    let rounding = modifiers.rounding?;
    let directed = matches!(rounding, Rounding::Down | Rounding::Up);
    if directed || modifiers.stochastic || modifiers.integral.is_some() || modifiers.saturate {
        return None;
    }
    Some(map(Packing::Single, move |[a]: [u64; 1]| {
        let bits = modifiers.write(Format::TF32, modifiers.read(Format::F32, a), rounding);
        if Format::TF32.is_nan(bits) { Format::F32.nan() } else { bits << UNUSED }
    }))
}
