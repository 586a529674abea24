//! From the description of an instruction to the operation on what is known.

use super::Known;
use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Modifiers, Part};
use ptxopt_components::types::{PtxType, TypeKind};

/// What is known of the result of an instruction; none where nothing is. Each source has the width of its slot: see
/// [`slot_width`]. The result has the width that the types say.
#[must_use]
pub fn result_of(description: &Description, sources: &[Known]) -> Option<Known> {
    let qualifiers = &description.qualifiers;
    let ty = description.types[0].filter(|&ty| is_integer(ty))?;
    if qualifiers.modifiers != Modifiers::empty() || qualifiers.rounding.is_some() {
        return None;
    }
    let is_signed = ty.is_signed();
    let by_sign = |signed: fn(Known, Known) -> Known, unsigned: fn(Known, Known) -> Known| {
        if is_signed { signed } else { unsigned }
    };
    Some(match (description.operation, sources) {
        (Operation::Mov, &[a]) if qualifiers.vector.is_none() => a,
        (Operation::Add, &[a, b]) => a.add(b),
        (Operation::Sub, &[a, b]) => a.sub(b),
        (Operation::Mul, &[a, b]) => product(ty, qualifiers.part?, a, b),
        (Operation::Mad, &[a, b, c]) => product(ty, qualifiers.part?, a, b).add(c),
        (Operation::Div, &[a, b]) if !is_signed || a.is_positive() && b.is_positive() => a.div(b),
        (Operation::Rem, &[a, b]) => by_sign(Known::rem_signed, Known::rem)(a, b),
        (Operation::And, &[a, b]) => a.and(b),
        (Operation::Or, &[a, b]) => a.or(b),
        (Operation::Xor, &[a, b]) => a.xor(b),
        (Operation::Not, &[a]) => a.not(),
        (Operation::Neg, &[a]) => a.neg(),
        (Operation::Abs, &[a]) => a.abs(),
        (Operation::Shl | Operation::Shr, &[_, amount])
            if amount.only().is_some_and(|amount| is_past_the_literal(ty.bits(), amount)) =>
        {
            return None;
        }
        (Operation::Shl, &[a, amount]) => a.shl(amount),
        (Operation::Shr, &[a, amount]) => by_sign(Known::shr_signed, Known::shr)(a, amount),
        (Operation::Bfe, &[a, position, length]) if !is_signed => a.field(position, length),
        (Operation::Min, &[a, b]) => by_sign(Known::min_signed, Known::min)(a, b),
        (Operation::Max, &[a, b]) => by_sign(Known::max_signed, Known::max)(a, b),
        (Operation::Popc, &[a]) => a.count_ones(),
        (Operation::Clz, &[a]) => a.leading_zeros(),
        (Operation::Selp, &[a, b, ..]) => a.join(b),
        // All bits are 1, or none is; of two halves each by itself.
        (Operation::Set, _) if description.types[1].is_some_and(PtxType::is_one_number) => {
            Known::signed_range(-1, 0, ty.bits())
        }
        (Operation::Cvt, &[a]) => {
            let from = description.types[1].filter(|&from| is_integer(from))?;
            if from.is_signed() { a.extend_signed(ty.bits()) } else { a.extend(ty.bits()) }
                .truncate(ty.bits())
        }
        _ => return None,
    })
}

/// Whether something may be known of the result of an operation: of the sources by [`result_of`], or of how a load extends.
#[must_use]
pub fn tells(operation: Operation) -> bool {
    use Operation::{
        Abs, Add, And, Bfe, Clz, Cvt, Div, Ld, Mad, Max, Min, Mov, Mul, Neg, Not, Or, Popc, Rem, Selp, Set,
        Shl, Shr, Sub, Xor,
    };
    matches!(
        operation,
        Abs | Add
            | And
            | Bfe
            | Clz
            | Cvt
            | Div
            | Ld
            | Mad
            | Max
            | Min
            | Mov
            | Mul
            | Neg
            | Not
            | Or
            | Popc
            | Rem
            | Selp
            | Set
            | Shl
            | Shr
            | Sub
            | Xor
    )
}

/// What is known of a register of `width` bits when an instruction has written `result` to it; none where nothing is. Loads
/// and conversions write registers that are wider than what they make.
#[must_use]
pub fn in_register(description: &Description, result: Known, width: u32) -> Option<Known> {
    let ty = description.types[0]?;
    let is_load = description.operation == Operation::Ld;
    let is_wider = (is_load || description.operation == Operation::Cvt) && result.width() < width;
    match ty.kind() {
        _ if result.width() == width => Some(result),
        TypeKind::Integer if is_wider && ty.is_signed() => Some(result.extend_signed(width)),
        TypeKind::Integer if is_wider => Some(result.extend(width)),
        TypeKind::Bits if is_wider && is_load => Some(result.extend(width)),
        _ => None,
    }
}

/// The width of a source by its position among the sources.
#[must_use]
pub fn slot_width(description: &Description, source: usize) -> Option<u32> {
    let ty = description.types[0]?;
    Some(match (description.operation, source) {
        (Operation::Cvt | Operation::Set, _) => description.types[1]?.bits(),
        (Operation::Shl | Operation::Shr, 1) | (Operation::Bfe, 1 | 2) => 32,
        (Operation::Mad, 2) if description.qualifiers.part == Some(Part::Wide) => 2 * ty.bits(),
        _ => ty.bits(),
    })
}

/// Whether an amount is one that the assembler (13.0) cuts where it is a literal: of shifts of 16 bits it reads 16. By the ISA it has
/// 32, so what comes of it is not known.
#[must_use]
pub fn is_past_the_literal(width: u32, amount: u64) -> bool {
    width == 16 && amount > 0xFFFF
}

/// What of `a` compares like this with a value of `b`; all of it where that says nothing.
#[must_use]
pub fn passing(ty: PtxType, comparison: Comparison, a: Known, b: Known) -> Known {
    use Comparison::{
        Equal, Greater, GreaterEqual, Higher, HigherSame, Less, LessEqual, Lower, LowerSame, NotEqual,
    };
    let signed = (i64::MIN, i64::MAX);
    let unsigned = (0, u64::MAX);
    let (least_and_most, low_and_high) = match comparison {
        Equal => return a.meet(b),
        NotEqual => return b.only().map_or(a, |value| a.without(value)),
        _ if ty.kind() != TypeKind::Integer => return a,
        Less if ty.is_signed() => ((signed.0, b.most.saturating_sub(1)), unsigned),
        LessEqual if ty.is_signed() => ((signed.0, b.most), unsigned),
        Greater if ty.is_signed() => ((b.least.saturating_add(1), signed.1), unsigned),
        GreaterEqual if ty.is_signed() => ((b.least, signed.1), unsigned),
        Less | Lower => (signed, (unsigned.0, b.high.saturating_sub(1))),
        LessEqual | LowerSame => (signed, (unsigned.0, b.high)),
        Greater | Higher => (signed, (b.low.saturating_add(1), unsigned.1)),
        GreaterEqual | HigherSame => (signed, (b.low, unsigned.1)),
        _ => return a,
    };
    a.within_signed(least_and_most.0, least_and_most.1).within(low_and_high.0, low_and_high.1)
}

/// Whether a comparison of integers holds, where that is known of all values.
#[must_use]
pub fn decided(description: &Description, a: Known, b: Known) -> Option<bool> {
    let ty = description.types[usize::from(description.operation == Operation::Set)];
    let ty = ty.filter(|&ty| is_integer(ty))?;
    let less = |a: Known, b: Known| if ty.is_signed() { a.is_less_signed(b) } else { a.is_less(b) };
    let is_ordered = ty.kind() == TypeKind::Integer;
    match description.qualifiers.comparison? {
        Comparison::Equal => a.is_equal(b),
        Comparison::NotEqual => a.is_equal(b).map(|is_equal| !is_equal),
        _ if !is_ordered => None,
        Comparison::Less => less(a, b),
        Comparison::Greater => less(b, a),
        Comparison::LessEqual => less(b, a).map(|is_greater| !is_greater),
        Comparison::GreaterEqual => less(a, b).map(|is_less| !is_less),
        _ if ty.is_signed() => None,
        Comparison::Lower => a.is_less(b),
        Comparison::Higher => b.is_less(a),
        Comparison::LowerSame => b.is_less(a).map(|is_greater| !is_greater),
        Comparison::HigherSame => a.is_less(b).map(|is_less| !is_less),
        _ => None,
    }
}

fn product(ty: PtxType, part: Part, a: Known, b: Known) -> Known {
    let width = 2 * ty.bits();
    match (part, ty.is_signed()) {
        (Part::Low, _) => a.mul(b),
        (Part::High, false) => a.mul_high(b),
        (Part::High, true) => a.mul_high_signed(b),
        (Part::Wide, false) => a.extend(width).mul(b.extend(width)),
        (Part::Wide, true) => a.extend_signed(width).mul(b.extend_signed(width)),
    }
}

/// Whether values of the type are integers, or bits that integer instructions read.
pub fn is_integer(ty: PtxType) -> bool {
    ty.is_of_integers() && ty.bits() <= 64
}
