//! What operations on integers make of constants, at the width of the instruction.

use crate::values::known_bits::is_integer;
use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Part};
use ptxopt_components::types::{PtxType, extend, truncate};

/// The result for these sources; none where it is not defined, or not known here.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let ty = description.types[0]?;
    let qualifiers = &description.qualifiers;
    if !is_integer(ty) || qualifiers.rounding.is_some() {
        return None;
    }
    match qualifiers.modifiers {
        Modifiers::SAT => return saturated(description, ty, sources),
        Modifiers::RELU if ty == PtxType::S32 => return cleared(description, sources),
        modifiers if modifiers != Modifiers::empty() => return None,
        _ => {}
    }
    let (width, is_signed) = (ty.bits(), ty.is_signed());
    let value = |at: usize| sources.get(at).map(|&bits| truncate(bits, width));
    let signed = |at: usize| value(at).map(|bits| extend(bits, width));
    let result = match description.operation {
        // The elements of a vector, the lowest first.
        Operation::Mov if sources.len() > 1 => {
            let part = width / sources.len() as u32;
            sources.iter().rev().fold(0, |packed, &bits| packed << part | truncate(bits, part))
        }
        Operation::Add => value(0)?.wrapping_add(value(1)?),
        Operation::Sub => value(0)?.wrapping_sub(value(1)?),
        Operation::Mul => product(ty, qualifiers.part?, value(0)?, value(1)?)?,
        Operation::Mad => {
            let part = qualifiers.part?;
            let sum = product(ty, part, value(0)?, value(1)?)?.wrapping_add(*sources.get(2)?);
            return Some(truncate(sum, if part == Part::Wide { 2 * width } else { width }));
        }
        Operation::Mul24 => product_24(ty, qualifiers.part?, value(0)?, value(1)?)?,
        Operation::Mad24 => product_24(ty, qualifiers.part?, value(0)?, value(1)?)?.wrapping_add(value(2)?),
        Operation::Div if value(1)? == 0 => return None,
        Operation::Rem if value(1)? == 0 => return None,
        // The quotient of the smallest value and -1 is not in range.
        Operation::Div | Operation::Rem if is_signed && signed(1)? == -1 => return None,
        Operation::Div if is_signed => (signed(0)? / signed(1)?) as u64,
        Operation::Div => value(0)? / value(1)?,
        Operation::Rem if is_signed => (signed(0)? % signed(1)?) as u64,
        Operation::Rem => value(0)? % value(1)?,
        Operation::And => value(0)? & value(1)?,
        Operation::Or => value(0)? | value(1)?,
        Operation::Xor => value(0)? ^ value(1)?,
        Operation::Not => !value(0)?,
        Operation::Neg => value(0)?.wrapping_neg(),
        Operation::Abs => signed(0)?.wrapping_abs() as u64,
        Operation::Shl => match amount(sources)? {
            amount if amount >= u64::from(width) => 0,
            amount => value(0)? << amount,
        },
        Operation::Shr => {
            let amount = amount(sources)?.min(u64::from(width));
            match (is_signed, amount) {
                (true, _) => (signed(0)? >> amount.min(u64::from(width - 1))) as u64,
                (false, 64..) => 0,
                (false, _) => value(0)? >> amount,
            }
        }
        Operation::Min if is_signed => signed(0)?.min(signed(1)?) as u64,
        Operation::Min => value(0)?.min(value(1)?),
        Operation::Max if is_signed => signed(0)?.max(signed(1)?) as u64,
        Operation::Max => value(0)?.max(value(1)?),
        Operation::Popc => u64::from(value(0)?.count_ones()),
        Operation::Clz => u64::from(value(0)?.leading_zeros() - (64 - width)),
        Operation::Cvt => converted(description, sources)? as u64,
        _ => return None,
    };
    let is_doubled = description.operation == Operation::Mul && qualifiers.part == Some(Part::Wide);
    Some(truncate(result, if is_doubled { 2 * width } else { width }))
}

/// The result of an operation with `.sat`: the exact one, or the end of the type's range that is next to it.
fn saturated(description: &Description, ty: PtxType, sources: &[u64]) -> Option<u64> {
    let width = ty.bits();
    let signed = |at: usize| sources.get(at).map(|&bits| i128::from(extend(bits, width)));
    let part = description.qualifiers.part;
    let has_high_part = ty == PtxType::S32 && part == Some(Part::High);
    let exact = match description.operation {
        Operation::Add if ty == PtxType::S32 => signed(0)? + signed(1)?,
        Operation::Sub if ty == PtxType::S32 => signed(0)? - signed(1)?,
        Operation::Mad if has_high_part => {
            i128::from(extend(product(ty, Part::High, sources[0], sources[1])?, width)) + signed(2)?
        }
        Operation::Mad24 if has_high_part => {
            i128::from(extend(product_24(ty, Part::High, sources[0], sources[1])?, width)) + signed(2)?
        }
        Operation::Cvt => converted(description, sources)?,
        _ => return None,
    };
    let (least, most) =
        if ty.is_signed() { (-1_i128 << (width - 1), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    Some(truncate(exact.clamp(least, most) as u64, width))
}

/// The result of an operation with `.relu`: 0 instead of a negative one.
fn cleared(description: &Description, sources: &[u64]) -> Option<u64> {
    let &[one, other] = sources else { return None };
    let [one, other] = [one, other].map(|bits| extend(bits, 32));
    let extreme = match description.operation {
        Operation::Min => one.min(other),
        Operation::Max => one.max(other),
        _ => return None,
    };
    Some(extreme.max(0) as u64)
}

/// The integer that a conversion reads.
fn converted(description: &Description, sources: &[u64]) -> Option<i128> {
    let from = description.types[1].filter(|&from| is_integer(from))?;
    let bits = *sources.first()?;
    Some(if from.is_signed() { extend(bits, from.bits()).into() } else { truncate(bits, from.bits()).into() })
}

/// The lower or upper 32 of the 48 bits that the lowest 24 bits of two numbers give.
fn product_24(ty: PtxType, part: Part, one: u64, other: u64) -> Option<u64> {
    let factor = |bits| if ty.is_signed() { extend(bits, 24) } else { truncate(bits, 24) as i64 };
    let whole = factor(one) * factor(other);
    match part {
        Part::Low => Some(whole as u64),
        Part::High => Some((whole >> 16) as u64),
        Part::Wide => None,
    }
}

/// The amount of a shift: the lower 32 bits of the second source.
fn amount(sources: &[u64]) -> Option<u64> {
    sources.get(1).map(|&bits| truncate(bits, 32))
}

fn product(ty: PtxType, part: Part, one: u64, other: u64) -> Option<u64> {
    let width = ty.bits();
    let whole = if ty.is_signed() {
        (i128::from(extend(one, width)) * i128::from(extend(other, width))) as u128
    } else {
        u128::from(one) * u128::from(other)
    };
    match part {
        Part::Low => Some(whole as u64),
        Part::High => Some((whole >> width) as u64),
        Part::Wide => (width <= 32).then_some(whole as u64),
    }
}
