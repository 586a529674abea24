//! Halves of a register: two registers of 32 bits as one of 64, and back.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::Binary;
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::truncate;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "pack-of-halves",
        operations: &[Operation::Or, Operation::Add, Operation::Xor],
        pattern: "x = cvt.u64.u32 y; z = cvt.u64.u32 w; v = shl.b64 z, 32; or.b64 x, v -> mov.b64 {y, w}",
        reason: "two halves are packed",
        guards: &[
            Guard {
                needs: "a lower half that is extended without a sign",
                without: "cvt.s64.s32 %rd1, -1; or.b64 %rd2, %rd1, %rd3 has ones in its upper half",
            },
            Guard {
                needs: "a shift by 32",
                without: "shl.b64 %rd2, %rd1, 31; or.b64 %rd4, %rd3, %rd2 mixes the two halves",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::Binary(pack_of_halves),
    },
    Rule {
        name: "half-of-a-pack",
        operations: &[Operation::Cvt],
        pattern: "x = mov.b64 {y, z}; cvt.u32.u64 x -> y; w = shr.u64 x, 32; cvt.u32.u64 w -> z",
        reason: "the half was there before it was packed",
        guards: &[Guard {
            needs: "y or z still holds what was packed",
            without: "mov.b64 %rd1, {%r1, %r2}; mov.u32 %r1, %r9; cvt.u32.u64 %r3, %rd1 is the old %r1",
        }],
        when: Clues::PACKED.union(Clues::WITH_LITERAL),
        apply: Apply::Any(half_of_a_pack),
    },
];

fn pack_of_halves(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let Binary { one, other, .. } = binary;
    if binary.width() != 64 {
        return None;
    }
    let (low, high) = match upper_half(walk, other, inst) {
        Some(high) => (one, high),
        None => (other, upper_half(walk, one, inst)?),
    };
    let low = walk.extension(low, inst).filter(|low| low.from.bits() == 32 && !low.from.is_signed())?;
    walk.pack(inst, binary.result, low.source, high)
}

/// What was extended and shifted to the upper half of an operand, where it is still there before `inst`.
fn upper_half(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId) -> Option<Operand> {
    operand.vreg().filter(|&vreg| walk.made.by(vreg).contains(Clues::WITH_LITERAL))?;
    let definition = walk.computed_by(operand, inst)?;
    if walk.f.form_of(definition).operation != Operation::Shl {
        return None;
    }
    let shift = walk.binary(definition)?;
    let amount = truncate(walk.literal(shift.other)?, 32);
    let high = walk.extension(shift.one, definition)?;
    let is_upper = amount == 32 && shift.width() == 64 && high.from.bits() == 32;
    (is_upper && walk.is_still(high.source, definition, inst)).then_some(high.source)
}

fn half_of_a_pack(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let cut = walk.conversion(inst)?;
    if (cut.from.bits(), cut.to.bits()) != (64, 32) {
        return None;
    }
    let definition = walk.computed_by(cut.source, inst)?;
    let (packed, before, position) = match walk.f.form_of(definition).operation {
        Operation::Mov => (cut.source, inst, 1),
        Operation::Shr => {
            let shift = walk.binary(definition).filter(|shift| shift.width() == 64)?;
            (truncate(walk.literal(shift.other)?, 32) == 32).then_some((shift.one, definition, 2))?
        }
        _ => return None,
    };
    let pack = walk.computed_by(packed, before)?;
    let &[_, low, high] = walk.f.operands_of(pack) else { return None };
    let half = if position == 1 { low } else { high };
    if walk.f.form_of(pack).operation != Operation::Mov {
        return None;
    }
    if let Some(bits) = walk.literal(half) {
        return walk.move_of_constant(inst, walk.only_result(inst)?, truncate(bits, 32));
    }
    if walk.width(half.vreg()?) != 32 || !walk.is_still(half, pack, inst) {
        return None;
    }
    walk.move_of(inst, walk.only_result(inst)?, half)
}
