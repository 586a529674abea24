//! Addresses: what an access adds to its base.

use super::sums::sum_of;
use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::Role;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{StateSpace, extend, truncate};
use std::ops::Range;

/// Offsets that every access takes: machine instructions hold 24 bits with a sign.
pub(super) const OFFSETS: Range<i64> = -(1 << 23)..1 << 23;

/// Operations whose addresses take an offset.
pub(in crate::values::general_optimize) const ACCESSES: &[Operation] = &[
    Operation::Ld,
    Operation::St,
    Operation::Atom,
    Operation::Red,
    Operation::CopyAsync,
    Operation::LoadMatrix,
    Operation::StoreMatrix,
];

pub(super) const RULES: &[Rule] = &[Rule {
    name: "address-of-a-sum",
    operations: ACCESSES,
    pattern: "x = y + c; ld [x + o] -> ld [y + (c + o)]",
    reason: "the address holds the sum",
    guards: &[
        Guard {
            needs: "the address has 64 bits, or is one of .shared or .local",
            without: "add.u32 %r2, %r1, 8; ld.global.u32 %r3, [%r2] with %r1 = 0xFFFFFFF8 reads from 0, and [%r1+8] may not",
        },
        Guard {
            needs: "y still holds what was added",
            without: "add.s64 %rd2, %rd1, 8; mov.u64 %rd1, %rd9; ld.u32 %r1, [%rd2] reads beside the old %rd1",
        },
        Guard {
            needs: "the offset has 24 bits",
            without: "[%rd1+16777216] takes an instruction more on the machine, at each access",
        },
    ],
    when: Clues::SUM,
    apply: Apply::Any(address_of_a_sum),
}];

fn address_of_a_sum(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    (0..walk.f.slots_of(inst).len()).find_map(|position| sum_in_address(walk, inst, position))
}

fn sum_in_address(walk: &mut Walk<'_, '_>, inst: InstId, position: usize) -> Option<Rewrite> {
    if walk.f.slots_of(inst)[position].role != Role::Address {
        return None;
    }
    let vreg = walk.f.operands_of(inst)[position].vreg()?;
    may_have_offset(walk, inst, position, vreg).then_some(())?;
    let (base, constant) = sum_of(walk, vreg, inst)?;
    let new = with_more(walk, inst, position, constant)?.with_vreg(base);
    Some(Rewrite::Operand(position, New::Operand(new)))
}

/// The address of an access with a larger offset: by a constant, which is as wide as its register. None where `position` is no
/// address, or one that does not take the offset.
///
/// The sum of the base and the offset wraps where the sum that goes wrapped: at 64 bits, and at the 32 of the windows of `.shared`
/// and `.local`, for which the assembler makes the same machine instruction of both (`LDS [R0+0x200]`; sm_75 to sm_100).
pub(in crate::values::general_optimize) fn with_more(
    walk: &Walk<'_, '_>,
    inst: InstId,
    position: usize,
    constant: u64,
) -> Option<Operand> {
    let slot = walk.f.slots_of(inst).get(position)?;
    let operand = walk.f.operands_of(inst)[position];
    let vreg = operand.vreg().filter(|_| slot.role == Role::Address)?;
    may_have_offset(walk, inst, position, vreg).then_some(())?;
    let width = walk.width(vreg);
    let offset = i64::from(operand.offset().unwrap_or(0)).wrapping_add(extend(constant, width));
    let offset = extend(truncate(offset as u64, width), width);
    Operand::register(vreg).with_offset(Some(offset).filter(|offset| OFFSETS.contains(offset))?)
}

/// Whether the address at `position`, which is in `vreg`, is that of an access and may have any offset.
fn may_have_offset(walk: &Walk<'_, '_>, inst: InstId, position: usize, vreg: VRegId) -> bool {
    let operand = walk.f.operands_of(inst)[position];
    let has_other_payload = operand.has_payload() && operand.offset().is_none();
    let width = walk.width(vreg);
    ACCESSES.contains(&walk.f.form_of(inst).operation)
        && !has_other_payload
        && (width == 64 || width == 32 && is_of_a_window(walk, inst, position))
}

/// Whether an address is one of `.shared` or `.local`. Of a copy from `.global` to `.shared` that is the first one.
fn is_of_a_window(walk: &Walk<'_, '_>, inst: InstId, position: usize) -> bool {
    let form = walk.f.form_of(inst);
    let is_first = form.operation != Operation::CopyAsync || position == 0;
    is_first && matches!(form.space, StateSpace::Shared | StateSpace::Local)
}
