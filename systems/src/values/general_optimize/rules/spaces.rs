//! State spaces: generic addresses that were made of an address in a space.
//!
//! ```text
//! cvta.local.u64 %rd2, %rd1;  st.u32 [%rd2+8], %r1;     // st.local.u32 [%rd1+8], %r1
//! ```
//! Compilers that do not optimize write so for each variable of a function. `access-in-its-space` sees addresses that were converted themselves,
//! with what is added to them in the access. Past a sum with a register the sum would have to be made in the space, too: an instruction more
//! wherever the generic one stays. Atomic accesses are left alone.
//!
//! # What the machine makes of it
//! The assembler keeps local memory in registers where it knows that an access is one of it, and takes the shorter way to it where it
//! stays in memory.

use super::addresses::OFFSETS;
use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::Role;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Qualifiers, Space};

/// Bits that an access in any space may take. Of more, 256, there are accesses to `.global` alone, and generic ones.
const BITS_MAX: u32 = 128;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "access-in-its-space",
        operations: &[Operation::Ld, Operation::St],
        pattern: "x = cvta.SPACE y; ld [x + o] -> ld.SPACE [y + o]; also of .local, .shared and .global variables",
        reason: "the address is one in a space",
        guards: &[
            Guard {
                needs: "an access without an order of its own",
                without: "ld.volatile.u32 %r1, [%rd2] has no form in .local that the assembler takes",
            },
            Guard {
                needs: "128 bits at most",
                without: "ld.v4.u64 {%rd3, %rd4, %rd5, %rd6}, [%rd2] has no form in .local",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvta.local.u64 %rd2, %rd1; mov.u64 %rd1, %rd9; ld.u32 %r1, [%rd2] is at the old %rd1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(access_in_its_space),
    },
    Rule {
        name: "there-and-back-to-a-space",
        operations: &[Operation::Cvta, Operation::CvtaTo],
        pattern: "x = cvta.SPACE y; cvta.to.SPACE x -> y; the other way round",
        reason: "the address was there before it was converted",
        guards: &[
            Guard {
                needs: "one space",
                without: "cvta.local.u64 %rd2, %rd1; cvta.to.global.u64 %rd3, %rd2 is no address in .local",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvta.local.u64 %rd2, %rd1; mov.u64 %rd1, %rd9; cvta.to.local.u64 %rd3, %rd2 is the old %rd1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(there_and_back),
    },
    Rule {
        name: "there-and-back-past-a-sum",
        operations: &[Operation::Cvta, Operation::CvtaTo],
        pattern: "x = cvta.SPACE y; s = x + z; cvta.to.SPACE s -> y + z; a difference x - z likewise; the other way round",
        reason: "the address was there before it was converted and moved",
        guards: &[
            Guard {
                needs: "one space",
                without: "cvta.local.u64 %rd2, %rd1; add.s64 %rd3, %rd2, 8; cvta.to.global.u64 %rd4, %rd3 is no address in .local",
            },
            Guard {
                needs: "a difference from the address, and not of it",
                without: "cvta.local.u64 %rd2, %rd1; sub.s64 %rd3, %rd5, %rd2; cvta.to.local.u64 %rd4, %rd3 is no address",
            },
            Guard {
                needs: "y and z still hold what they held",
                without: "cvta.local.u64 %rd2, %rd1; add.s64 %rd3, %rd2, %rd5; mov.u64 %rd5, 0; cvta.to.local.u64 %rd4, %rd3 is \
                          past the old %rd5",
            },
        ],
        when: Clues::SUM.union(Clues::ADDED),
        apply: Apply::Any(there_and_back_past_a_sum),
    },
];

fn access_in_its_space(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let vector = description.qualifiers.vector;
    let is_plain = description.qualifiers == Qualifiers { vector, ..Qualifiers::default() };
    let bits = description.types[0]?.bits() * u32::from(description.lanes());
    if !is_plain || bits > BITS_MAX {
        return None;
    }
    let position = walk.f.slots_of(inst).iter().position(|slot| slot.role == Role::Address)?;
    let operand = walk.f.operands_of(inst)[position];
    let offset = operand.offset();
    if operand.has_payload() && offset.is_none() {
        return None;
    }
    let (space, source) = converted(walk, Operand::register(operand.vreg()?), inst, Operation::Cvta)?;
    if !matches!(space, Space::Local | Space::Shared | Space::Global) {
        return None;
    }
    let base = match source.kind() {
        OperandKind::Symbol(name) => Operand::symbol(name),
        _ => plain(source),
    };
    let offset = i64::from(source.offset().unwrap_or(0)) + i64::from(offset.unwrap_or(0));
    let address = base.with_offset(Some(offset).filter(|offset| OFFSETS.contains(offset))?)?;
    let form = walk.f.head(inst).form;
    let form = walk.f.forms().derive(form, |description| description.qualifiers.space = Some(space))?;
    walk.in_another_form(inst, form, (position, address))
}

fn there_and_back(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, operand] = walk.f.operands_of(inst) else { return None };
    let result = walk.only_result(inst)?;
    let source = back(walk, inst, operand, inst)?;
    walk.move_of(inst, result, source)
}

fn there_and_back_past_a_sum(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, operand] = walk.f.operands_of(inst) else { return None };
    let sum = walk.computed_by(operand, inst)?;
    let binary = walk.binary(sum)?;
    let (is_whole, is_sum) =
        (binary.width() == walk.width(binary.result), binary.operation == Operation::Add);
    if !is_whole || !is_sum && binary.operation != Operation::Sub {
        return None;
    }
    let of_one = back(walk, inst, binary.one, sum).map(|source| (source, binary.other));
    let (source, term) =
        of_one.or_else(|| Some((back(walk, inst, binary.other, sum).filter(|_| is_sum)?, binary.one)))?;
    let are_there = walk.is_still(source, sum, inst) && walk.is_still(term, sum, inst);
    let result = walk.only_result(inst)?;
    let operands = [Operand::register(result), source, term].map(New::Operand);
    are_there.then(|| walk.instead(inst, binary.operation, Qualifiers::default(), &[binary.ty], &operands))?
}

/// What the conversion `inst` would make of `operand`, as it stands before `at`, where that was converted the other way: the
/// register from which it was.
fn back(walk: &mut Walk<'_, '_>, inst: InstId, operand: Operand, at: InstId) -> Option<Operand> {
    let (operation, space) = (walk.f.form_of(inst).operation, walk.f.description_of(inst).qualifiers.space?);
    let other = if operation == Operation::Cvta { Operation::CvtaTo } else { Operation::Cvta };
    let (of, source) = converted(walk, operand, at, other)?;
    let vreg = source.vreg().filter(|_| of == space && source == plain(source))?;
    let result = walk.only_result(inst)?;
    (walk.width(vreg) == walk.width(result)).then_some(source)
}

/// The space to or from which an instruction with `operation` converted what a register holds before `inst`, and what it converted,
/// which is there still: a register, or the name of a variable.
fn converted(
    walk: &mut Walk<'_, '_>,
    operand: Operand,
    inst: InstId,
    operation: Operation,
) -> Option<(Space, Operand)> {
    let vreg = operand.vreg().filter(|&vreg| walk.made.by(vreg).contains(Clues::CONVERTED))?;
    let definition = walk.computed_by(operand, inst)?;
    let description = walk.f.description_of(definition);
    let (found, space) = (description.operation, description.qualifiers.space?);
    let is_plain = description.qualifiers.modifiers == Modifiers::empty();
    let is_whole = description.types[0].is_some_and(|ty| ty.bits() == walk.width(vreg));
    let &[_, source] = walk.f.operands_of(definition) else { return None };
    let is_there = match source.kind() {
        OperandKind::Symbol(_) => !source.has_payload() || source.offset().is_some(),
        OperandKind::Register { vreg: of, .. } => {
            walk.width(of) == walk.width(vreg) && walk.is_still(source, definition, inst)
        }
        _ => false,
    };
    (found == operation && is_plain && is_whole && is_there).then_some((space, source))
}
