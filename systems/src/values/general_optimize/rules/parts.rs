//! Parts: what is taken apart and put together again, of one register as a rule.
//!
//! Compilers without an optimizer copy packed structures byte by byte and keep bit fields by masks.
//!
//! What is put together becomes a move, a conversion, a shift, a mask or a field of one register, or a pack of two halves. A pack or a
//! conversion becomes none of shift, mask and field: rules see through the former, and not through the latter.

use super::halves::unpacked_to;
use super::stores::stored_bits;
use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::parts::{Bits, Depth, Part};
use crate::values::general_optimize::pattern::integer_of;
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, truncate};

/// The first target that has instructions on fields.
const FIELDS_FROM: u32 = 20;

/// Guards of all of these rules.
const GUARDS: &[Guard] = &[
    Guard {
        needs: "no bit that two parts have",
        without: "shl.b32 %r2, %r1, 7; cvt.u32.u8 %r3, %r1; or.b32 %r4, %r2, %r3 mixes two bits of %r1 in bit 7",
    },
    Guard {
        needs: "bits of one register, or halves that are whole",
        without: "bfi.b32 %r3, %r1, %r2, 8, 8; bfe.u32 %r4, %r3, 4, 8 has bits of both",
    },
    Guard {
        needs: "no copies of a sign",
        without: "shr.s32 %r2, %r1, 24; and.b32 %r3, %r1, 255; bfi.b32 %r4, %r2, %r3, 8, 24 has the sign of %r1 in its upper half",
    },
    Guard {
        needs: "no guard of what moves bits",
        without: "cvt.u32.u8 %r2, %r1; @%p1 cvt.u32.u8 %r2, %r9; bfi.b32 %r4, %r2, %r1, 0, 8 may have the lowest byte of %r9",
    },
    Guard {
        needs: "y still holds what was taken apart",
        without: "cvt.u32.u8 %r2, %r1; mov.u32 %r1, %r9; bfi.b32 %r3, %r2, %r1, 0, 8 has the lowest byte of the old %r1",
    },
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "parts-put-together",
        operations: &[Operation::Or, Operation::Xor, Operation::Bfi, Operation::Prmt],
        pattern: "x = and y, 255; z = and y, -256; or x, z -> y; so where bits of y stay, or are shifted or masked, and for two halves",
        reason: "parts are put together as they were",
        guards: GUARDS,
        when: Clues::MOVED,
        apply: Apply::Any(parts_put_together),
    },
    Rule {
        name: "pack-of-parts",
        operations: &[Operation::Mov],
        pattern: "mov.b64 {x, y}, z; mov.b64 v, {x, y} -> z; also cvt.u32.u64 x, z, four parts, and 32 bits",
        reason: "the parts are packed as they were",
        guards: GUARDS,
        when: Clues::MOVED,
        apply: Apply::Any(pack_of_parts),
    },
    Rule {
        name: "part-of-parts",
        operations: &[
            Operation::And,
            Operation::Shl,
            Operation::Shr,
            Operation::Bfe,
            Operation::Cvt,
            Operation::Mov,
        ],
        pattern: "x = bfi y, z, 8, 8; bfe x, 8, 8 -> cvt.u32.u8 y; so for any bits of what was put together that one register had",
        reason: "the part is taken from where it was",
        guards: GUARDS,
        when: Clues::OF_PARTS,
        apply: Apply::Any(part_of_parts),
    },
    Rule {
        name: "part-that-is-stored",
        operations: &[Operation::St],
        pattern: "x = bfi y, z, 0, 8; st.u8 [a], x -> st.u8 [a], y",
        reason: "the part that is stored is taken from where it was",
        guards: GUARDS,
        when: Clues::OF_PARTS,
        apply: Apply::Any(part_that_is_stored),
    },
];

/// What an instruction leaves.
#[derive(Clone, Copy)]
struct Seen<'p> {
    result: VRegId,
    parts: &'p [Part],
    /// Bits of the result.
    width: u32,
}

fn parts_put_together(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    // What has no zeros is no part beside another one.
    let may_be_part =
        |operand: &Operand| operand.vreg().is_some_and(|vreg| walk.made.by(vreg).intersects(Clues::MOVED));
    let is_sum = matches!(walk.f.form_of(inst).operation, Operation::Or | Operation::Xor);
    if is_sum && !walk.f.operands_of(inst)[1..].iter().all(may_be_part) {
        return None;
    }
    look(walk, inst, |walk, seen| {
        lowest_bits(walk, inst, seen)
            .or_else(|| moved_bits(walk, inst, seen))
            .or_else(|| two_halves(walk, inst, seen))
    })
}

fn pack_of_parts(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    if walk.f.operands_of(inst).len() == 2 || unpacked_to(walk, inst).is_some() {
        return None;
    }
    look(walk, inst, |walk, seen| lowest_bits(walk, inst, seen).or_else(|| two_halves(walk, inst, seen)))
}

fn part_of_parts(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let operation = walk.f.form_of(inst).operation;
    if operation == Operation::Mov && unpacked_to(walk, inst).is_none() {
        return None;
    }
    look(walk, inst, |walk, seen| {
        if seen.parts.iter().any(|&part| is_read(walk, inst, part)) {
            return None;
        }
        let lowest = lowest_bits(walk, inst, seen);
        if lowest.is_some() || matches!(operation, Operation::Cvt | Operation::Mov) {
            return lowest;
        }
        moved_bits(walk, inst, seen)
    })
}

/// What becomes of an instruction that leaves parts, as they are seen from near, or else from far.
fn look(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    rewrite: impl Fn(&mut Walk<'_, '_>, Seen<'_>) -> Option<Rewrite>,
) -> Option<Rewrite> {
    if let Some((result, parts, width)) = walk.parts_of_result(inst, Depth::Two) {
        let parts = parts.as_slice();
        let may_go_on = |part: &Part| matches!(part.bits, Bits::Of(vreg, _) if walk.made.by(vreg).intersects(Clues::MOVED));
        let goes_on = parts.iter().any(may_go_on);
        let near = rewrite(walk, Seen { result, parts, width });
        if near.is_some() || !goes_on {
            return near;
        }
    }
    let (result, parts, width) = walk.parts_of_result(inst, Depth::Any)?;
    rewrite(walk, Seen { result, parts: parts.as_slice(), width })
}

fn part_that_is_stored(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let (position, count) = stored_bits(walk, inst)?;
    let parts = walk.parts_of(walk.f.operands_of(inst)[position], count, inst)?;
    let &[Part { bits: Bits::Of(vreg, 0), .. }] = parts.as_slice() else { return None };
    let source = Operand::register(vreg);
    let is_other = source != walk.f.operands_of(inst)[position];
    // A mask takes a register of floats.
    let is_integer = walk.f.vreg(vreg).ty.element().is_of_integers();
    (is_other && is_integer).then_some(Rewrite::Operand(position, New::Operand(source)))
}

/// Whether an instruction reads the register that a part is of.
fn is_read(walk: &Walk<'_, '_>, inst: InstId, part: Part) -> bool {
    matches!(part.bits, Bits::Of(vreg, _) if reads(walk.f.operands_of(inst)).any(|read| read == vreg))
}

/// A move or a conversion that leaves these parts, if they are the lowest bits of a register, or are known.
fn lowest_bits(walk: &mut Walk<'_, '_>, inst: InstId, seen: Seen<'_>) -> Option<Rewrite> {
    let Seen { result, parts, width } = seen;
    let (source, count) = match *parts {
        [Part { bits: Bits::Constant(bits), .. }] => return walk.move_of_constant(inst, result, bits),
        [Part { bits: Bits::Of(vreg, 0), count }] => (vreg, count),
        [
            Part { bits: Bits::Of(vreg, 0), count: count @ (8 | 16 | 32) },
            Part { bits: Bits::Constant(0), .. },
        ] => (vreg, count),
        _ => return None,
    };
    let from = walk.width(source);
    if count == width && from == width {
        return walk.move_of(inst, result, Operand::register(source));
    }
    let types = [width, if count == width { from } else { count }].map(|width| integer_of(width, false));
    let operands = [result, source].map(New::register);
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &types, &operands)
}

/// A shift, a mask or a field that leaves these parts of one register.
fn moved_bits(walk: &mut Walk<'_, '_>, inst: InstId, seen: Seen<'_>) -> Option<Rewrite> {
    let Seen { result, parts, width } = seen;
    let (bits, integer) = (bits_of(width)?, integer_of(width, false));
    let number = |number: u32| New::Constant(u64::from(number), PtxType::U32);
    let (operation, ty, source, by, length) = match *parts {
        [Part { bits: Bits::Constant(0), count }, Part { bits: Bits::Of(vreg, 0), .. }] => {
            (Operation::Shl, bits, vreg, number(count), None)
        }
        [Part { bits: Bits::Of(vreg, at @ 1..), count }, Part { bits: Bits::Constant(0), .. }] => {
            let is_of_bytes = at % 8 == 0 && matches!(count, 8 | 16) && walk.f.text().sm >= FIELDS_FROM;
            match (at + count == width, is_of_bytes) {
                (true, _) => (Operation::Shr, integer, vreg, number(at), None),
                (false, true) => (Operation::Bfe, integer, vreg, number(at), Some(number(count))),
                _ => return None,
            }
        }
        _ => {
            let (vreg, mask) = masked(parts)?;
            (Operation::And, bits, vreg, New::Constant(mask, bits), None)
        }
    };
    if walk.width(source) != width {
        return None;
    }
    let operands = [New::register(result), New::register(source), by, length.unwrap_or(by)];
    let count = if length.is_some() { 4 } else { 3 };
    walk.instead(inst, operation, Qualifiers::default(), &[ty], &operands[..count])
}

/// The register of which these parts stand where they stood, beside zeros, and a mask of them.
fn masked(parts: &[Part]) -> Option<(VRegId, u64)> {
    let (mut mask, mut position, mut source) = (0, 0, None);
    for part in parts {
        match part.bits {
            Bits::Constant(0) => {}
            Bits::Of(vreg, at) if at == position && source.is_none_or(|source| source == vreg) => {
                source = Some(vreg);
                mask |= truncate(u64::MAX, part.count) << position;
            }
            _ => return None,
        }
        position += part.count;
    }
    Some((source?, mask))
}

/// Two registers of 32 bits as one of 64.
fn two_halves(walk: &mut Walk<'_, '_>, inst: InstId, seen: Seen<'_>) -> Option<Rewrite> {
    let Seen { result, parts, width } = seen;
    let &[Part { bits: Bits::Of(low, 0), count: 32 }, Part { bits: Bits::Of(high, 0), .. }] = parts else {
        return None;
    };
    let are_halves = width == 64 && [low, high].iter().all(|&half| walk.width(half) == 32);
    if !are_halves || parts.iter().all(|&part| is_read(walk, inst, part)) {
        return None;
    }
    let [low, high] = [low, high].map(Operand::register);
    walk.pack(inst, result, low, high)
}
