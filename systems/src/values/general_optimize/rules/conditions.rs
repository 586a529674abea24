//! Conditions: predicates that were made numbers and come back.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::Kinds;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Qualifiers};
use ptxopt_components::types::PtxType;
use ptxopt_engine::values::reaching::Value;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "condition-of-a-number",
        operations: &[Operation::Setp],
        pattern: "x = selp c, d, p; setp.eq q, x, c -> q = p; of 1 and 0 through conversions and masks of 1 as well",
        reason: "the predicate was there before it was a number",
        guards: &[
            Guard {
                needs: "the choice is between 1 and 0",
                without: "selp.u32 %r1, 2, 0, %p1; setp.eq.u32 %p2, %r1, 1 is never true",
            },
            Guard {
                needs: "p still holds what was chosen by",
                without: "selp.u32 %r1, 1, 0, %p1; setp.lt.u32 %p1, %r8, %r9; setp.ne.u32 %p2, %r1, 0 is the old %p1",
            },
        ],
        when: Clues::SELECTED.union(Clues::CONVERTED).union(Clues::WITH_LITERAL),
        apply: Apply::Any(condition_of_a_number),
    },
    Rule {
        name: "condition-of-a-set",
        operations: &[Operation::Setp],
        pattern: "x = set.CMP y, z; setp.ne x, 0 -> setp.CMP y, z; setp.eq x, 0 -> the opposite of CMP",
        reason: "the comparison was made before it was a number",
        guards: &[
            Guard {
                needs: "a comparison of the number with 0",
                without: "set.lt.u32.s32 %r3, %r1, %r2; setp.ne.s32 %p1, %r3, 1 is always true",
            },
            Guard {
                needs: "a number that is written whole",
                without: "set.lt.f16.f16 %h3, %h1, %h2; setp.ne.s32 %p1, %r3, 0 where %r3 is {%h3, %h4} may be of %h4",
            },
            Guard {
                needs: "one comparison",
                without: "set.lt.u32.f16x2 %r3, %r1, %r2 makes a number of each half, and %r3 is not 0 where one is not",
            },
            Guard {
                needs: "y and z are still there",
                without: "set.lt.u32.s32 %r3, %r1, %r2; mov.u32 %r1, %r9; setp.ne.s32 %p1, %r3, 0 is of the old %r1",
            },
        ],
        when: Clues::SELECTED,
        apply: Apply::Any(condition_of_a_set),
    },
];

/// Instructions that one condition is followed through.
const CHAIN_MAX: usize = 6;

/// A predicate that decides whether a register holds 1 or 0.
#[derive(Clone, Copy)]
struct Condition {
    predicate: VRegId,
    /// The register holds 1 where the predicate is false.
    is_negated: bool,
    /// What the predicate held where the register was written.
    value: Value,
}

fn condition_of_a_number(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let constant = walk.literal(other).filter(|&constant| constant <= 1)?;
    let is_equal = compared_for_equality(walk, inst)?;
    let vreg = one.vreg().filter(|_| one == plain(one))?;
    let result = walk.only_result(inst)?;
    let condition = condition_of(walk, vreg, inst, CHAIN_MAX)?;
    if walk.value(condition.predicate, inst) != condition.value {
        return None;
    }
    // It is compared for being 1, or for being 0.
    let is_for_one = is_equal == (constant == 1);
    let is_negated = condition.is_negated == is_for_one;
    walk.move_of(inst, result, Operand::predicate(condition.predicate, is_negated))
}

fn condition_of_a_set(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, number, zero] = walk.f.operands_of(inst) else { return None };
    let is_equal = compared_for_equality(walk, inst)?;
    let is_zero = walk.literal(zero) == Some(0);
    let definition = walk.computed_by(number, inst).filter(|_| is_zero)?;
    let description = *walk.f.description_of(definition);
    let (&[_, one, other], [Some(to), Some(ty), ..]) = (walk.f.operands_of(definition), description.types)
    else {
        return None;
    };
    let Qualifiers { comparison, combiner: None, modifiers, .. } = description.qualifiers else {
        return None;
    };
    let is_number = description.operation == Operation::Set
        && matches!(to, PtxType::U32 | PtxType::S32 | PtxType::F32 | PtxType::F16 | PtxType::Bf16)
        && ty.is_one_number()
        && walk.width(number.vreg()?) == to.bits();
    let mut is_there =
        |operand: Operand| operand.kinds() == Kinds::NUMBER || walk.is_still(operand, definition, inst);
    if !is_number || !is_there(one) || !is_there(other) {
        return None;
    }
    let comparison = comparison?;
    let comparison = if is_equal { comparison.negated(ty) } else { comparison };
    let result = walk.only_result(inst)?;
    let qualifiers = Qualifiers { comparison: Some(comparison), modifiers, ..Qualifiers::default() };
    let operands = [New::Operand(Operand::predicate(result, false)), New::Operand(one), New::Operand(other)];
    walk.instead(inst, Operation::Setp, qualifiers, &[ty], &operands)
}

/// Whether a comparison of three operands, so of nothing else beside, is of integers for being equal, or for being not; none where
/// it is another one.
fn compared_for_equality(walk: &Walk<'_, '_>, inst: InstId) -> Option<bool> {
    let description = walk.f.description_of(inst);
    let compares_integers = description.types[0].is_some_and(PtxType::is_of_integers);
    match description.qualifiers.comparison {
        _ if !compares_integers => None,
        Some(Comparison::Equal) => Some(true),
        Some(Comparison::NotEqual) => Some(false),
        _ => None,
    }
}

/// The predicate for which `vreg` holds 1 before `inst`, and else 0.
fn condition_of(walk: &mut Walk<'_, '_>, vreg: VRegId, inst: InstId, chain_left: usize) -> Option<Condition> {
    let chain_left = chain_left.checked_sub(1)?;
    let definition = walk.computed_by(Operand::register(vreg), inst)?;
    let is_number = |ty: Option<PtxType>| ty.is_some_and(|ty| ty.is_of_integers() && ty.bits() >= 8);
    let description = walk.f.description_of(definition);
    let (operation, types) = (description.operation, description.types);
    let is_plain = description.qualifiers == Qualifiers::default();
    match (operation, walk.f.operands_of(definition)) {
        (Operation::Selp, &[_, one, other, predicate]) => {
            let is_negated = match (walk.literal(one)?, walk.literal(other)?) {
                (1, 0) => false,
                (0, 1) => true,
                _ => return None,
            };
            let OperandKind::Predicate { vreg: predicate, negated: false } = predicate.kind() else {
                return None;
            };
            let value = walk.value(predicate, definition);
            let is_known = is_number(types[0]) && walk.is_own(predicate);
            is_known.then_some(Condition { predicate, is_negated, value })
        }
        (Operation::And, &[_, one, other]) if walk.literal(other) == Some(1) => {
            let source = one.vreg().filter(|_| one == plain(one))?;
            condition_of(walk, source, definition, chain_left)
        }
        (Operation::Cvt, &[_, source]) => {
            let is_known = is_number(types[0]) && is_number(types[1]) && is_plain;
            let source = source.vreg().filter(|_| is_known && source == plain(source))?;
            condition_of(walk, source, definition, chain_left)
        }
        _ => None,
    }
}
