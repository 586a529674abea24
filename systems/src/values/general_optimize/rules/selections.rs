//! Selections and logic of predicates: what chooses without a choice.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::constants::{bits_in, literal_at};
use crate::values::general_optimize::copies::Source;
use crate::values::general_optimize::evaluate::evaluate;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use crate::values::known_bits::decided;
use ptxopt_components::description::Description;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Combiner, Qualifiers};
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
        pattern: "p & p, p | p, p & 1, p | 0, p ^ 0 -> p; p ^ 1 -> !p; p & 0, p & !p, p ^ p -> 0; p | 1, p | !p, p ^ !p -> 1",
        reason: "one predicate decides alone, or none",
        guards: &[Guard {
            needs: "the same predicate twice, or a constant",
            without: "and.pred %p3, %p1, %p2 is neither of them",
        }],
        when: Clues::EQUAL_SOURCES.union(Clues::LITERAL_LAST).union(Clues::CONSTANT),
        apply: Apply::Any(predicate_logic),
    },
    Rule {
        name: "comparison-with-a-constant",
        operations: &[Operation::Setp],
        pattern: "setp.and c, d, 1, setp.or c, d, 0, setp.xor c, d, 0 -> setp c, d; setp.and c, d, 0 -> 0; setp.or c, d, 1 -> 1; \
                  setp.xor c, d, 1 -> the opposite of setp c, d",
        reason: "the comparison decides alone, or does not",
        guards: &[Guard {
            needs: "one result",
            without: "setp.lt.and.s32 %p1|%p2, %r1, %r2, 0 sets neither, and one move sets one",
        }],
        when: Clues::LITERAL_LAST.union(Clues::CONSTANT),
        apply: Apply::Any(comparison_with_a_constant),
    },
    Rule {
        name: "decided-comparison-beside-a-predicate",
        operations: &[Operation::Setp],
        pattern: "setp.lt.and p, y, z, q -> q or false, where all values of y and z that are possible agree; or and xor likewise",
        reason: "the comparison has only one outcome, and the predicate decides or does not",
        guards: &[
            Guard {
                needs: "one outcome",
                without: "setp.lt.and.u32 %p1, %tid.x, 1023, %p2 is false where %tid.x is 1023",
            },
            Guard {
                needs: "one result",
                without: "setp.lt.and.s32 %p1|%p2, 1, 2, %p3 sets both, and one move sets one",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(decided_beside_a_predicate),
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
        when: Clues::LITERAL_LAST.union(Clues::CONSTANT),
        apply: Apply::Any(select_by_a_constant),
    },
];

fn select_equal(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, _] = walk.f.operands_of(inst) else { return None };
    if one == other { becomes(walk, inst, one) } else { None }
}

fn select_by_a_constant(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let is_first = truth(walk, predicate, inst)?;
    becomes(walk, inst, if is_first { one } else { other })
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
    let operation = description.operation;
    if description.types[0]? != PtxType::Pred {
        return None;
    }
    let outcome = if one.vreg() == other.vreg() {
        of_one_predicate(operation, one, is_negated(one)? == is_negated(other)?)
    } else if let Some(truth) = truth(walk, other, inst) {
        with_a_constant(operation, one, truth)
    } else {
        with_a_constant(operation, other, truth(walk, one, inst)?)
    };
    comes_to(walk, inst, outcome)
}

fn comes_to(walk: &mut Walk<'_, '_>, inst: InstId, outcome: Outcome) -> Option<Rewrite> {
    let result = walk.only_result(inst)?;
    match outcome {
        Outcome::Constant(truth) => walk.move_of_constant(inst, result, u64::from(truth)),
        Outcome::Predicate(predicate, also) => {
            let is_negated = is_negated(predicate)? != also;
            walk.move_of(inst, result, Operand::predicate(predicate.vreg()?, is_negated))
        }
    }
}

fn comparison_with_a_constant(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let Description { types: [Some(ty), ..], qualifiers, .. } = *walk.f.description_of(inst) else {
        return None;
    };
    let (combiner, comparison) = (qualifiers.combiner?, qualifiers.comparison?);
    let result = walk.only_result(inst)?;
    let truth = truth(walk, predicate, inst)?;
    let is_decided = match combiner {
        Combiner::And => !truth,
        Combiner::Or => truth,
        Combiner::Xor => false,
    };
    if is_decided {
        return walk.move_of_constant(inst, result, u64::from(truth));
    }
    let is_opposite = combiner == Combiner::Xor && truth;
    let comparison = if is_opposite { comparison.negated(ty) } else { comparison };
    let qualifiers = Qualifiers { combiner: None, comparison: Some(comparison), ..qualifiers };
    let operands = [Operand::predicate(result, false), one, other].map(New::Operand);
    walk.instead(inst, Operation::Setp, qualifiers, &[ty], &operands)
}

fn decided_beside_a_predicate(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let description = *walk.f.description_of(inst);
    let operation = match description.qualifiers.combiner? {
        Combiner::And => Operation::And,
        Combiner::Or => Operation::Or,
        Combiner::Xor => Operation::Xor,
    };
    let qualifiers = Qualifiers { combiner: None, ..description.qualifiers };
    let compared = Description { qualifiers, ..description };
    let ty = compared.types[0]?;
    let holds = if ty.is_of_integers() {
        let [one, other] = [one, other].map(|operand| walk.known(operand, ty.bits(), inst));
        decided(&compared, one, other)?
    } else {
        let bits = |at: usize, operand: Operand| {
            literal_at(walk.f.form_of(inst), walk.f.slots_of(inst), at, operand, walk.f.literals())
        };
        evaluate(&compared, &[bits(1, one)?, bits(2, other)?])? != 0
    };
    comes_to(walk, inst, with_a_constant(operation, predicate, holds))
}

/// What logic comes to.
enum Outcome {
    Constant(bool),
    /// A predicate, or where that is said its negation.
    Predicate(Operand, bool),
}

/// What becomes of a predicate and itself, or of it and its negation.
fn of_one_predicate(operation: Operation, predicate: Operand, is_itself: bool) -> Outcome {
    match operation {
        Operation::Xor => Outcome::Constant(!is_itself),
        _ if is_itself => Outcome::Predicate(predicate, false),
        _ => Outcome::Constant(operation == Operation::Or),
    }
}

/// What becomes of a predicate and a constant.
fn with_a_constant(operation: Operation, predicate: Operand, truth: bool) -> Outcome {
    match operation {
        Operation::Xor => Outcome::Predicate(predicate, truth),
        _ if truth == (operation == Operation::Or) => Outcome::Constant(truth),
        _ => Outcome::Predicate(predicate, false),
    }
}

/// Whether a predicate is negated; none for other operands.
fn is_negated(operand: Operand) -> Option<bool> {
    match operand.kind() {
        OperandKind::Predicate { negated, .. } => Some(negated),
        _ => None,
    }
}

/// What a predicate that is a constant holds before `inst`.
fn truth(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId) -> Option<bool> {
    let OperandKind::Predicate { vreg, negated } = operand.kind() else {
        return walk.literal(operand).map(|bits| bits != 0);
    };
    match walk.source_of(vreg, inst)? {
        Source::Constant(bits) => Some((bits != 0) != negated),
        Source::Register(..) => None,
    }
}
