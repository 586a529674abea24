//! What comparisons make of constants: `setp` a predicate, `set` all bits or the float 1, `slct` one of its sources.

use super::float::{Finish, lanes, with_format};
use crate::values::known_bits::is_integer;
use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Modifiers};
use ptxopt_components::types::{PtxType, TypeKind, extend, truncate};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use std::cmp::Ordering;

/// The result of a comparison that nothing is combined with.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let &[one, other] = sources else { return None };
    let qualifiers = &description.qualifiers;
    let is_plain = qualifiers.combiner.is_none() && Modifiers::FTZ.contains(qualifiers.modifiers);
    let comparison = qualifiers.comparison.filter(|_| is_plain)?;
    let [first, second, ..] = description.types;
    if description.operation == Operation::Setp {
        let ty = first.filter(|_| second.is_none())?;
        return compare(description, comparison, ty, one, other).map(u64::from);
    }
    let (format, lanes) = lanes(second?);
    let (truth, width) = (truth(first?, lanes)?, format.bits());
    let mut result = 0;
    for at in (0..lanes).map(|lane| lane * width) {
        let holds = compare(description, comparison, format, one >> at, other >> at)?;
        result |= if holds { truth << at } else { 0 };
    }
    Some(result)
}

/// Whether a comparison of values of one type holds.
fn compare(
    description: &Description,
    comparison: Comparison,
    ty: PtxType,
    one: u64,
    other: u64,
) -> Option<bool> {
    if is_integer(ty) {
        return compare_integers(comparison, ty, one, other);
    }
    // What is compared flushes, not what the comparison leaves: `set.lt.f32.f64` compares doubles.
    let qualifiers = &description.qualifiers;
    let is_flushed = description.flushes() && ty == PtxType::F32;
    let finish = Finish::of(qualifiers, qualifiers.has(Modifiers::FTZ) || is_flushed);
    let order = with_format!(ty, F => Some(finish.read::<F>(one).partial_cmp(&finish.read::<F>(other))))?;
    float_holds(comparison, order)
}

/// The first source where the third one is 0 or more, as -0 is, and else the second one, also where it is NaN.
pub(super) fn choose(description: &Description, sources: &[u64]) -> Option<u64> {
    let &[one, other, sign] = sources else { return None };
    let [Some(ty), Some(of_sign), ..] = description.types else { return None };
    let is_first = match of_sign {
        PtxType::S32 => extend(sign, 32) >= 0,
        PtxType::F32 => {
            let finish = Finish::of(&description.qualifiers, description.flushes());
            finish.read::<Single>(sign) >= Single::ZERO
        }
        _ => return None,
    };
    Some(truncate(if is_first { one } else { other }, ty.bits()))
}

/// What `set` writes where the comparison holds: of two lanes, for each of them.
fn truth(ty: PtxType, lanes: u32) -> Option<u64> {
    Some(match (ty, lanes) {
        (PtxType::U32 | PtxType::S32, 1) => 0xFFFF_FFFF,
        (PtxType::U16 | PtxType::S16, 1) | (PtxType::U32 | PtxType::S32, 2) => 0xFFFF,
        (PtxType::F32, 1) => 0x3F80_0000,
        (PtxType::F16, 1) | (PtxType::F16x2, 2) => 0x3C00,
        (PtxType::Bf16, 1) | (PtxType::Bf16x2, 2) => 0x3F80,
        _ => return None,
    })
}

/// Whether a comparison of integers holds.
fn compare_integers(comparison: Comparison, ty: PtxType, one: u64, other: u64) -> Option<bool> {
    let width = ty.bits();
    let (one, other) = (truncate(one, width), truncate(other, width));
    let is_ordered = ty.kind() == TypeKind::Integer;
    let order = if ty.is_signed() { extend(one, width).cmp(&extend(other, width)) } else { one.cmp(&other) };
    Some(match comparison {
        Comparison::Equal => one == other,
        Comparison::NotEqual => one != other,
        _ if !is_ordered => return None,
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
        _ if ty.is_signed() => return None,
        Comparison::Lower => order.is_lt(),
        Comparison::LowerSame => order.is_le(),
        Comparison::Higher => order.is_gt(),
        Comparison::HigherSame => order.is_ge(),
        _ => return None,
    })
}

/// Whether a comparison of floats holds, given their order; there is none where one of them is NaN.
fn float_holds(comparison: Comparison, order: Option<Ordering>) -> Option<bool> {
    let holds = |is: fn(Ordering) -> bool| order.is_some_and(is);
    let holds_or_nan = |is: fn(Ordering) -> bool| order.is_none_or(is);
    Some(match comparison {
        Comparison::Equal => holds(Ordering::is_eq),
        Comparison::NotEqual => holds(Ordering::is_ne),
        Comparison::Less => holds(Ordering::is_lt),
        Comparison::LessEqual => holds(Ordering::is_le),
        Comparison::Greater => holds(Ordering::is_gt),
        Comparison::GreaterEqual => holds(Ordering::is_ge),
        Comparison::EqualOrNan => holds_or_nan(Ordering::is_eq),
        Comparison::NotEqualOrNan => holds_or_nan(Ordering::is_ne),
        Comparison::LessOrNan => holds_or_nan(Ordering::is_lt),
        Comparison::LessEqualOrNan => holds_or_nan(Ordering::is_le),
        Comparison::GreaterOrNan => holds_or_nan(Ordering::is_gt),
        Comparison::GreaterEqualOrNan => holds_or_nan(Ordering::is_ge),
        Comparison::Numbers => order.is_some(),
        Comparison::AnyNan => order.is_none(),
        Comparison::Lower | Comparison::LowerSame | Comparison::Higher | Comparison::HigherSame => {
            return None;
        }
    })
}
