//! Bits: masks of what is known to be zero, and of what changes other bits; fields up to the highest bit.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use crate::values::known_bits::{FIELD_MAX, Known};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "mask-of-zeros",
        operations: &[Operation::And],
        pattern: "and y, m -> y where all bits outside of m are zero, and 0 where all bits of m are",
        reason: "the mask has bits that are zero already",
        guards: &[
            Guard {
                needs: "a load or conversion that extends without a sign",
                without: "ld.global.s8 %r1, [%rd1]; and.b32 %r2, %r1, 255 clears the copies of the sign",
            },
            Guard {
                needs: "the instruction that computed y is unguarded and writes it whole",
                without: "@%p1 and.b32 %r1, %r9, 15; and.b32 %r2, %r1, 15 where %p1 is false and %r1 was 16",
            },
        ],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(mask_of_zeros),
    },
    Rule {
        name: "mask-of-a-change",
        operations: &[Operation::And],
        pattern: "x = y + c; and x, m -> and y, m, where no bit of c is as low as the highest of m; also y - c, and y | c or y ^ c \
                  where c and m have no bit in common",
        reason: "the mask shows bits that did not change",
        guards: &[
            Guard {
                needs: "a term without bits that are as low as the highest of the mask, or lower",
                without: "add.s32 %r2, %r1, 8; and.b32 %r3, %r2, 16 with %r1 = 8 is 16",
            },
            Guard {
                needs: "y still holds what was changed",
                without: "add.s32 %r2, %r1, 16; mov.u32 %r1, %r9; and.b32 %r3, %r2, 15 is of the old %r1",
            },
        ],
        when: Clues::SUM.union(Clues::WITH_LITERAL),
        apply: Apply::WithLiteral(mask_of_a_change),
    },
    Rule {
        name: "bytes-beside-zeros",
        operations: &[Operation::Prmt],
        pattern: "prmt y, 0, 0x7710 -> and y, 65535; so where each byte of the result is that of y, or zero",
        reason: "a mask clears the other bytes",
        guards: &[
            Guard {
                needs: "bytes that stay where they are",
                without: "prmt.b32 %r2, %r1, 0, 0x7771 is %r1 >> 8 & 255",
            },
            Guard {
                needs: "bytes that are taken whole",
                without: "prmt.b32 %r2, %r1, 0, 0x7778 is 255 where the sign of the lowest byte of %r1 is set",
            },
        ],
        when: Clues::LITERAL_LAST,
        apply: Apply::Any(bytes_beside_zeros),
    },
    Rule {
        name: "field-up-to-the-sign",
        operations: &[Operation::Bfe],
        pattern: "bfe y, p, n -> shr y, p where the field holds the highest bit; bfe.s y, p, n -> shr.s y, WIDTH - 1 where it lies above it",
        reason: "a shift takes out a field that ends at the highest bit",
        guards: &[
            Guard { needs: "a field that is not empty", without: "bfe.s32 %r2, %r1, 31, 0 is 0" },
            Guard {
                needs: "a field up to the highest bit",
                without: "bfe.u32 %r2, %r1, 8, 8 clears the upper half",
            },
            Guard {
                needs: "a sign, where the field lies above the highest bit",
                without: "bfe.u32 %r2, %r1, %r3, 1 with %r3 from 31 to 255 may be 0",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(field_up_to_the_sign),
    },
];

fn mask_of_zeros(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let (one, mask) = (binary.one, literal);
    let vreg = one.vreg().filter(|_| one == plain(one))?;
    if walk.width(vreg) != binary.width() {
        return None;
    }
    let possible = walk.known(one, binary.width(), inst).possible();
    match (possible & !mask, possible & mask) {
        (0, _) => walk.move_of(inst, binary.result, one),
        (_, 0) => walk.move_of_constant(inst, binary.result, 0),
        _ => None,
    }
}

fn mask_of_a_change(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let width = binary.width();
    let definition = walk.computed_by(binary.one, inst)?;
    let change = walk.binary(definition).filter(|change| change.width() == width)?;
    let (bits, mask) = (truncate(walk.literal(change.other)?, width), truncate(literal, width));
    let is_elsewhere = match change.operation {
        Operation::Add | Operation::Sub => u64::BITS - mask.leading_zeros() <= bits.trailing_zeros(),
        Operation::Or | Operation::Xor => bits & mask == 0,
        _ => false,
    };
    let base = change.one.vreg().filter(|_| is_elsewhere)?;
    walk.is_still(change.one, definition, inst).then_some(Rewrite::Operand(1, New::register(base)))
}

fn bytes_beside_zeros(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, low, high, selector] = walk.f.operands_of(inst) else { return None };
    let is_zero = |operand: Operand| walk.literal(operand).is_some_and(|bits| truncate(bits, 32) == 0);
    // What the selectors of the bytes of the register start at, and of those of the zero.
    let (source, own, zeros) = match (is_zero(low), is_zero(high)) {
        (false, true) => (low, 0, 4),
        (true, false) => (high, 4, 0),
        _ => return None,
    };
    let vreg = source.vreg().filter(|_| source == plain(source))?;
    if !walk.f.form_of(inst).flags.contains(FormFlags::PLAIN) {
        return None;
    }
    let selectors = walk.literal(selector)?;
    let mask = (0..4).try_fold(0, |mask, byte| match selectors >> (4 * byte) & 0xF {
        at if at == own + byte => Some(mask | 0xFF << (8 * byte)),
        at if (zeros..zeros + 4).contains(&at) => Some(mask),
        _ => None,
    })?;
    let result = walk.only_result(inst)?;
    let operands = [New::register(result), New::register(vreg), New::Constant(mask, PtxType::B32)];
    walk.instead(inst, Operation::And, Qualifiers::default(), &[PtxType::B32], &operands)
}

/// `ptxas` 13.0.88 takes `bfe.s32` for -1 whose position it knows to be 32 or more, and whose length not to be 0. So a position that is
/// found to be as large must not come to stand there.
fn field_up_to_the_sign(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, source, position, length] = walk.f.operands_of(inst) else { return None };
    let ty = walk.f.description_of(inst).types[0]?;
    let width = ty.bits();
    let vreg = source.vreg().filter(|_| source == plain(source))?;
    let highest = u64::from(width - 1);
    let position = of_field(walk.known(position, 32, inst), width)?;
    let amount = match position.only() {
        Some(amount) if amount <= highest => amount,
        _ => (ty.is_signed() && position.low() >= highest).then_some(highest)?,
    };
    let length = of_field(walk.known(length, 32, inst), width)?.low();
    let result = walk.only_result(inst).filter(|_| amount + length > highest)?;
    let operands = [New::register(result), New::register(vreg), New::Constant(amount, PtxType::U32)];
    walk.instead(inst, Operation::Shr, Qualifiers::default(), &[ty], &operands)
}

/// What is known of a position or length of a field. Of a larger one than [`FIELD_MAX`] the lowest byte is read, but at 64 bits `ptxas` reads all.
fn of_field(known: Known, width: u32) -> Option<Known> {
    match known.only() {
        Some(bits) if width == 32 => Some(Known::constant(bits & FIELD_MAX, 32)),
        _ => (known.high() <= FIELD_MAX).then_some(known),
    }
}
