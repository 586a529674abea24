//! Known values: what the bits and ranges of the operands leave no choice about.
//!
//! What is known comes of constants, narrow loads, extensions, masks, shifts and the limits of special registers: see
//! [`known_bits`](crate::values::known_bits). The rules ask for it after the operation and the literals fit.
//!
//! # Tried and dropped
//! `cvt.u64.u32` in the place of `cvt.s64.s32` of what is not negative: a product with another factor that is extended with a
//! sign is no `mul.wide` then, and the product costs three instructions more than the extension saves.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use crate::values::known_bits::{Known, decided, result_of, slot_width};
use ptxopt_components::description::Description;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, TypeKind};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "only-one-result",
        operations: &[
            Operation::And,
            Operation::Or,
            Operation::Shl,
            Operation::Shr,
            Operation::Div,
            Operation::Mul,
            Operation::Bfe,
        ],
        pattern: "op y, c -> d, where every y that is possible gives d",
        reason: "all operands that are possible give this result",
        guards: &[Guard {
            needs: "one result of all values of y",
            without: "shr.u32 %r2, %tid.x, 9 is 1 where %tid.x is 512",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::Any(only_one_result),
    },
    Rule {
        name: "decided-comparison",
        operations: &[Operation::Setp, Operation::Set],
        pattern: "setp.lt p, y, z -> p = true or false, where all values that are possible agree",
        reason: "the comparison has only one outcome",
        guards: &[
            Guard {
                needs: "ranges that do not overlap",
                without: "setp.lt.u32 %p1, %tid.x, 1023 is false where %tid.x is 1023",
            },
            Guard {
                needs: "nothing that is combined with the outcome",
                without: "set.lt.and.u32.u32 %r1, %tid.x, 1024, %p2 is 0 where %p2 is false",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(decided_comparison),
    },
    Rule {
        name: "remainder-of-less",
        operations: &[Operation::Rem],
        pattern: "y % z -> y, where y < z",
        reason: "the dividend is less than the divisor",
        guards: &[
            Guard {
                needs: "a dividend less than every divisor that is possible",
                without: "rem.u32 %r2, %tid.x, 1023 is 0 where %tid.x is 1023",
            },
            Guard { needs: "no negative divisor", without: "rem.u32 %r2, 5, -3 is 5, but rem.s32 is 2" },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Binary(remainder_of_less),
    },
    Rule {
        name: "extreme-of-ordered",
        operations: &[Operation::Min, Operation::Max],
        pattern: "min y, c -> y, where y <= c always; -> c, where c <= y always; max likewise",
        reason: "one of the two is always taken",
        guards: &[Guard {
            needs: "an order that holds for all values of y",
            without: "min.u32 %r2, %tid.x, 1022 is 1022 where %tid.x is 1023",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(extreme_of_ordered),
    },
    Rule {
        name: "no-sign",
        operations: &[Operation::Shr, Operation::Div, Operation::Rem],
        pattern: "shr.s y, z -> shr.u y, z; div and rem likewise; where y >= 0 and a divisor is > 0",
        reason: "no operand is negative",
        guards: &[
            Guard {
                needs: "no value of y to be negative",
                without: "shr.s32 %r2, %r1, 1 is -1 where %r1 is -1, and shr.u32 is 2^31 - 1",
            },
            Guard {
                needs: "no divisor that may be 0",
                without: "div.s32 %r2, %r1, 0 has no result, and the machine's own one stays",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Binary(no_sign),
    },
];

fn only_one_result(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, first, .., last] = walk.f.operands_of(inst) else { return None };
    walk.literal(last)?;
    let (form, count) = (walk.f.form_of(inst), walk.f.operands_of(inst).len() - 1);
    if !form.is_pure() || form.slots.len() != count + 1 {
        return None;
    }
    let result = walk.only_result(inst)?;
    let description = *walk.f.description_of(inst);
    let width = |at: usize| slot_width(&description, at).filter(|&bits| bits <= 64);
    let mut all = [walk.known(first, width(0)?, inst), Known::unknown(1), Known::unknown(1)];
    for (at, known) in all.get_mut(..count)?.iter_mut().enumerate().skip(1) {
        *known = walk.known(walk.f.operands_of(inst)[at + 1], width(at)?, inst);
    }
    if !leaves_only_certain(&description, all[0], all[1]) {
        return None;
    }
    let of_result = result_of(&description, &all[..count])?;
    let bits = of_result.only().filter(|_| of_result.width() == walk.width(result))?;
    walk.move_of_constant(inst, result, bits)
}

/// Whether all bits of the source that the result is made of are certain; said of most instructions for less than the result
/// costs. What leaves nothing of any value is a rule of its own.
fn leaves_only_certain(description: &Description, source: Known, literal: Known) -> bool {
    let (certain, all) = (source.certain(), u64::MAX >> (64 - source.width()));
    let amount = literal.low().min(u64::from(source.width())) as u32;
    let unused = match description.operation {
        Operation::And => !literal.low(),
        Operation::Or => literal.low(),
        Operation::Shl => !all.checked_shr(amount).unwrap_or(0),
        Operation::Shr => !all.checked_shl(amount).unwrap_or(0),
        Operation::Div => 0,
        Operation::Mul if source.is_any() && description.qualifiers.part != Some(Part::High) => 0,
        _ => u64::MAX,
    };
    (certain | unused) & all == all || description.operation == Operation::Div && !source.is_any()
}

fn decided_comparison(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = *walk.f.description_of(inst);
    let is_of_integers = description.types[0].is_some_and(PtxType::is_of_integers)
        && description.types[1].is_none_or(PtxType::is_of_integers);
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let result = walk.only_result(inst).filter(|_| is_of_integers)?;
    let width = description.types[usize::from(description.operation == Operation::Set)]?.bits();
    let b = walk.known(other, width, inst);
    if b.is_any() && one.vreg().is_some() {
        // Against anything, only the least or the greatest value decides: a constant, which stands here itself.
        return None;
    }
    let a = walk.known(one, width, inst);
    let holds = decided(&description, a, b)?;
    let fits = description.operation == Operation::Setp || description.types[0]?.bits() == walk.width(result);
    let bits = if holds { u64::MAX } else { 0 };
    fits.then(|| walk.move_of_constant(inst, result, bits))?
}

fn remainder_of_less(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    if binary.one != plain(binary.one) {
        return None;
    }
    let (a, b) =
        (walk.known(binary.one, binary.width(), inst), walk.known(binary.other, binary.width(), inst));
    let is_unsigned = !binary.ty.is_signed() || a.is_positive() && b.is_positive();
    (is_unsigned && a.high() < b.low()).then(|| walk.move_of(inst, binary.result, binary.one))?
}

fn extreme_of_ordered(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    if binary.one != plain(binary.one) {
        return None;
    }
    let (a, b) = (walk.known(binary.one, binary.width(), inst), Known::constant(literal, binary.width()));
    let is_less = |a: Known, b: Known| if binary.ty.is_signed() { a.is_less_signed(b) } else { a.is_less(b) };
    // `y <= c` where `c < y` never holds.
    let (at_most, at_least) = (is_less(b, a) == Some(false), is_less(a, b) == Some(false));
    let (takes_one, takes_other) =
        if binary.operation == Operation::Min { (at_most, at_least) } else { (at_least, at_most) };
    match (takes_one, takes_other) {
        (true, _) => walk.move_of(inst, binary.result, binary.one),
        (_, true) => walk.move_of_constant(inst, binary.result, literal),
        _ => None,
    }
}

fn no_sign(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let ty = unsigned_of(binary.ty).filter(|_| binary.ty.is_signed())?;
    let (one, other) = (binary.one, binary.other);
    let is_shift = binary.operation == Operation::Shr;
    // By zero the two divisions may differ.
    let divides = |known: Known| known.is_positive() && known.low() > 0;
    let is_positive = walk.known(one, ty.bits(), inst).is_positive()
        && (is_shift || divides(walk.known(other, ty.bits(), inst)));
    is_positive.then_some(())?;
    let made = |operand: Operand, ty| {
        walk.literal(operand).map_or(New::Operand(operand), |bits| New::Constant(bits, ty))
    };
    let amount_or_divisor = made(other, if is_shift { PtxType::U32 } else { ty });
    let operands = [New::register(binary.result), made(one, ty), amount_or_divisor];
    walk.instead(inst, binary.operation, Qualifiers::default(), &[ty], &operands)
}

/// The type of the same width without a sign.
fn unsigned_of(ty: PtxType) -> Option<PtxType> {
    match ty.bits() {
        _ if ty.kind() != TypeKind::Integer => None,
        8 => Some(PtxType::U8),
        16 => Some(PtxType::U16),
        32 => Some(PtxType::U32),
        64 => Some(PtxType::U64),
        _ => None,
    }
}
