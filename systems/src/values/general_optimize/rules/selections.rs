//! Selections and logic of predicates: what chooses without a choice.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::constants::bits_in;
use crate::values::general_optimize::copies::Source;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "select-equal",
        operations: &[Operation::Selp],
        pattern: "selp y, y, p -> y",
        reason: "both choices are the same",
        guards: &[],
        when: Clues::EQUAL_SOURCES,
        apply: Apply::Any(select_equal),
    },
    Rule {
        name: "select-by-a-negation",
        operations: &[Operation::Selp],
        pattern: "selp y, z, !p -> selp z, y, p",
        reason: "the choices change places",
        guards: &[],
        when: Clues::ALWAYS,
        apply: Apply::Any(select_by_a_negation),
    },
    Rule {
        name: "predicate-logic",
        operations: &[Operation::And, Operation::Or, Operation::Xor],
        pattern: "p & p, p | p, p & 1, p | 0, p ^ 0 -> p; p ^ 1 -> !p",
        reason: "one predicate decides alone",
        guards: &[Guard {
            needs: "the same predicate twice, negated both times or never",
            without: "and.pred %p2, %p1, !%p1 is false",
        }],
        when: Clues::EQUAL_SOURCES.union(Clues::LITERAL_LAST),
        apply: Apply::Any(predicate_logic),
    },
    Rule {
        name: "select-by-a-constant",
        operations: &[Operation::Selp],
        pattern: "selp y, z, true -> y; selp y, z, false -> z",
        reason: "the choice is known",
        guards: &[Guard {
            needs: "the predicate to hold the constant still",
            without: "mov.pred %p1, 1; setp.lt.s32 %p1, %r1, %r2; selp.b32 %r3, %r4, %r5, %p1 is %r4 or %r5",
        }],
        when: Clues::CONSTANT,
        apply: Apply::Any(select_by_a_constant),
    },
];

fn select_equal(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, _] = walk.f.operands_of(inst) else { return None };
    if one == other { becomes(walk, inst, one) } else { None }
}

fn select_by_a_constant(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let OperandKind::Predicate { vreg, negated } = predicate.kind() else { return None };
    let Source::Constant(bits) = walk.source_of(vreg, inst)? else { return None };
    becomes(walk, inst, if (bits == 1) != negated { one } else { other })
}

/// A selection that is one of its choices always.
fn becomes(walk: &mut Walk<'_, '_>, inst: InstId, choice: Operand) -> Option<Rewrite> {
    if choice != plain(choice) {
        return None;
    }
    let result = walk.only_result(inst)?;
    let ty = walk.f.description_of(inst).types[0]?;
    match bits_in(choice, ty, walk.f.literals()) {
        Some(bits) => walk.move_of_constant(inst, result, bits),
        None => walk.move_of(inst, result, choice),
    }
}

fn select_by_a_negation(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let OperandKind::Predicate { vreg, negated: true } = predicate.kind() else { return None };
    let result = walk.only_result(inst)?;
    let ty = walk.f.description_of(inst).types[0]?;
    let operands = [Operand::register(result), other, one, Operand::predicate(vreg, false)].map(New::Operand);
    walk.instead(inst, Operation::Selp, Qualifiers::default(), &[ty], &operands)
}

fn predicate_logic(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let description = walk.f.description_of(inst);
    let (operation, ty) = (description.operation, description.types[0]?);
    let OperandKind::Predicate { vreg, negated } = one.kind() else { return None };
    if ty != PtxType::Pred {
        return None;
    }
    let is_negated = match (operation, walk.literal(other)) {
        (Operation::And | Operation::Or, None) if one == other => negated,
        (Operation::And, Some(1 | u64::MAX)) | (Operation::Or | Operation::Xor, Some(0)) => negated,
        (Operation::Xor, Some(1 | u64::MAX)) => !negated,
        _ => return None,
    };
    let result = walk.only_result(inst)?;
    walk.move_of(inst, result, Operand::predicate(vreg, is_negated))
}
