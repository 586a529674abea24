//! Halves and quarters of a register: two registers of 32 bits as one of 64, and back.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, integer_of};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::Role;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
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
            Guard {
                needs: "w still holds what was shifted",
                without: "cvt.u64.u32 %rd1, %r1; shl.b64 %rd2, %rd1, 32; mov.u32 %r1, 7; or.b64 %rd4, %rd3, %rd2 has the old %r1",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::Binary(pack_of_halves),
    },
    Rule {
        name: "lowest-part",
        operations: &[Operation::Mov],
        pattern: "mov.b64 {x, _}, y -> cvt.u32.u64 x, y; mov.b64 {x, _, _, _}, y -> cvt.u16.u64 x, y; also 32 bits",
        reason: "the lowest part is what a conversion leaves",
        guards: &[
            Guard {
                needs: "no other part",
                without: "mov.b64 {%r1, %r2}, %rd1; add.u32 %r3, %r1, %r2 reads both halves",
            },
            Guard {
                needs: "registers of integers of 64 bits at most",
                without: "cvt.u32.u64 %r1, %fd1 is refused by the assembler, and there is no cvt.u64.b128",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(lowest_part),
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
    let is_upper = amount == 32 && high.from.bits() == 32;
    (is_upper && walk.is_still(high.source, definition, inst)).then_some(high.source)
}

/// How many parts an instruction unpacks a register to, if that is what it does.
pub(super) fn unpacked_to(walk: &Walk<'_, '_>, inst: InstId) -> Option<usize> {
    let (head, operands) = walk.f.row(inst);
    let is_move = operands.len() > 2 && walk.f.form(head.form).operation == Operation::Mov;
    if !is_move || head.opcode.is_guarded() {
        return None;
    }
    let results = walk.f.slots(head.form).iter().filter(|slot| slot.role == Role::Def).count();
    (results + 1 == operands.len()).then_some(results)
}

fn lowest_part(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let count = unpacked_to(walk, inst)?;
    let (result, source) = (walk.only_result(inst)?, walk.f.operands_of(inst)[count].vreg()?);
    let [wide, narrow] = [source, result].map(|vreg| walk.width(vreg));
    if wide > 64 {
        return None;
    }
    let types = [integer_of(narrow, false), integer_of(wide, false)];
    let operands = [New::register(result), New::register(source)];
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &types, &operands)
}
