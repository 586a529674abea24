//! Repetitions: what an instruction does to a value that the same has been done to.
//!
//! ```text
//! max.f32 f2, f1, 0f00000000;  max.f32 f3, f2, 0f00000000;          // f3 is f2
//! selp.b32 r3, r1, r2, p;      selp.b32 r4, r3, r5, p;              // selp.b32 r4, r1, r5, p
//! not.b64 d2, d1;              not.b64 d3, d2;                      // d3 is d1
//! ```
//! Minima and maxima of integers are combined by the rule `operation-twice`.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::Kinds;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Qualifiers};
use ptxopt_components::types::TypeKind;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "extreme-twice",
        operations: &[Operation::Min, Operation::Max],
        pattern: "x = max y, c; max x, c -> x; the same with min, of floats",
        reason: "it is no smaller, or no larger, already",
        guards: &[
            Guard {
                needs: "the same operation and the same literal",
                without: "max.f32 %f2, %f1, 0f00000000; min.f32 %f3, %f2, 0f00000000 is 0 where %f1 is 1",
            },
            Guard {
                needs: "the same qualifiers",
                without: "max.f32 %f2, %f1, 0f00000000; max.ftz.f32 %f3, %f2, 0f00000000 is 0 where %f1 is a subnormal number",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::Any(extreme_twice),
    },
    Rule {
        name: "there-and-back",
        operations: &[Operation::Not, Operation::Neg, Operation::Brev],
        pattern: "x = not y; not x -> y; the same with neg, also of floats, and brev",
        reason: "the second one undoes the first",
        guards: &[
            Guard {
                needs: "the same operation at the same width",
                without: "not.b32 %r2, %r1; neg.s32 %r3, %r2 is %r1 + 1",
            },
            Guard {
                needs: "no flushing of subnormal numbers",
                without: "neg.ftz.f32 %f2, %f1; neg.ftz.f32 %f3, %f2 is 0 where %f1 is a subnormal number",
            },
            Guard {
                needs: "y is still there",
                without: "not.b32 %r2, %r1; mov.u32 %r1, %r9; not.b32 %r3, %r2 is the old %r1",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(there_and_back),
    },
    Rule {
        name: "selection-of-a-selection",
        operations: &[Operation::Selp],
        pattern: "x = selp y, z, p; selp x, w, p -> selp y, w, p; selp w, x, p -> selp w, z, p",
        reason: "one predicate decides both",
        guards: &[
            Guard {
                needs: "p still holds what was chosen by",
                without: "selp.b32 %r3, %r1, %r2, %p1; setp.lt.s32 %p1, %r8, %r9; selp.b32 %r4, %r3, %r5, %p1 is %r2, %r1 or %r5",
            },
            Guard {
                needs: "y and z are still there",
                without: "selp.b32 %r3, %r1, %r2, %p1; mov.b32 %r1, %r9; selp.b32 %r4, %r3, %r5, %p1 may be the old %r1",
            },
        ],
        when: Clues::SELECTED,
        apply: Apply::Any(selection_of_a_selection),
    },
];

fn extreme_twice(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let description = walk.f.description_of(inst);
    let is_float = description.types[0]?.kind() == TypeKind::Float;
    // Of `.xorsign` the signs of both change the result each time.
    let is_steady = Modifiers::FTZ.union(Modifiers::NAN).contains(description.qualifiers.modifiers);
    if !is_float || !is_steady || other.kinds() != Kinds::NUMBER {
        return None;
    }
    let definition = walk.computed_by(one, inst)?;
    let is_same = walk.f.head(definition).form == walk.f.head(inst).form
        && matches!(walk.f.operands_of(definition), &[_, _, before] if before == other);
    let result = walk.only_result(inst).filter(|_| is_same)?;
    walk.move_of(inst, result, one)
}

fn there_and_back(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one] = walk.f.operands_of(inst) else { return None };
    let definition = walk.computed_by(one, inst)?;
    let is_exact = !walk.f.description_of(inst).flushes();
    let is_same = walk.f.head(definition).form == walk.f.head(inst).form;
    let &[_, source] = walk.f.operands_of(definition) else { return None };
    let result = walk.only_result(inst).filter(|_| is_exact && is_same)?;
    walk.is_still(source, definition, inst).then(|| walk.move_of(inst, result, source))?
}

fn selection_of_a_selection(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, predicate] = walk.f.operands_of(inst) else { return None };
    let OperandKind::Predicate { vreg, negated: false } = predicate.kind() else { return None };
    let ty = walk.f.description_of(inst).types[0]?;
    let inner = |walk: &mut Walk<'_, '_>, choice: Operand, at: usize| {
        let definition = walk.computed_by(choice, inst)?;
        let description = walk.f.description_of(definition);
        let is_like = description.operation == Operation::Selp
            && description.types[0].is_some_and(|of| {
                of == ty || of.is_of_integers() && ty.is_of_integers() && of.bits() == ty.bits()
            });
        let &[_, first, second, by] = walk.f.operands_of(definition) else { return None };
        let chosen = [first, second][at];
        let is_there = is_like
            && by == predicate
            && walk.is_own(vreg)
            && walk.value(vreg, definition) == walk.value(vreg, inst)
            && (chosen.kinds() == Kinds::NUMBER || walk.is_still(chosen, definition, inst));
        is_there.then_some(chosen)
    };
    let result = walk.only_result(inst)?;
    let (one, other) = match inner(walk, one, 0) {
        Some(first) => (first, other),
        None => (one, inner(walk, other, 1)?),
    };
    let operands = [Operand::register(result), one, other, predicate].map(New::Operand);
    walk.instead(inst, Operation::Selp, Qualifiers::default(), &[ty], &operands)
}
