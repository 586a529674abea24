//! What operations on packed integers make of constants: lane by lane, or summed up.

use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Part};
use ptxopt_components::types::{PtxType, extend, truncate};

/// Whether the values of an operation are two integers of 16 bits each.
pub(super) fn has_lanes(description: &Description) -> bool {
    matches!(description.types, [Some(PtxType::U16x2 | PtxType::S16x2), None, ..])
}

/// The result for these sources; none where it is not known here.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let &[one, other] = sources else { return None };
    let is_signed = description.types[0] == Some(PtxType::S16x2);
    let modifiers = description.qualifiers.modifiers;
    let is_extreme = matches!(description.operation, Operation::Min | Operation::Max);
    let allowed = if is_signed && is_extreme { Modifiers::RELU } else { Modifiers::empty() };
    if !allowed.contains(modifiers) {
        return None;
    }
    let mut result = 0;
    for at in [0, 16] {
        let [one, other] = [one, other].map(|lanes| element(lanes, at, 16, is_signed));
        let lane = match description.operation {
            Operation::Add => one + other,
            Operation::Min => one.min(other),
            Operation::Max => one.max(other),
            _ => return None,
        };
        let lane = if modifiers.contains(Modifiers::RELU) { lane.max(0) } else { lane };
        result |= truncate(lane as u64, 16) << at;
    }
    Some(result)
}

/// Four products of bytes, or two of halves of the first source and bytes of one half of the second, added to the third.
pub(super) fn sum_of_products(description: &Description, sources: &[u64]) -> Option<u64> {
    let (&[one, other, addend], [Some(first), Some(second), ..]) = (sources, description.types) else {
        return None;
    };
    let (count, width, from) = match (description.operation, description.qualifiers.part) {
        (Operation::Dp4a, None) => (4, 8, 0),
        (Operation::Dp2a, Some(Part::Low)) => (2, 16, 0),
        (Operation::Dp2a, Some(Part::High)) => (2, 16, 16),
        _ => return None,
    };
    let product = |at: u32| {
        element(one, at * width, width, first.is_signed())
            * element(other, from + at * 8, 8, second.is_signed())
    };
    let sum = (0..count).map(product).fold(addend as i64, i64::wrapping_add);
    Some(truncate(sum as u64, 32))
}

/// The element of `width` bits from bit `at` on.
fn element(whole: u64, at: u32, width: u32, is_signed: bool) -> i64 {
    let bits = whole >> at;
    if is_signed { extend(bits, width) } else { truncate(bits, width) as i64 }
}
