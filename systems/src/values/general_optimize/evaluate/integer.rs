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
    if !ty.is_of_integers()
        || qualifiers.modifiers != Modifiers::empty()
        || qualifiers.rounding.is_some()
        || ty.bits() > 64
    {
        return None;
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
        Operation::Cvt => {
            let from = description.types[1]?;
            let bits = sources.first().filter(|_| is_integer(from))?;
            if from.is_signed() { extend(*bits, from.bits()) as u64 } else { truncate(*bits, from.bits()) }
        }
        _ => return None,
    };
    let is_doubled = description.operation == Operation::Mul && qualifiers.part == Some(Part::Wide);
    Some(truncate(result, if is_doubled { 2 * width } else { width }))
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
