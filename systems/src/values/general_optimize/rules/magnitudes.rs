//! Magnitudes and negations that only a test for NaN reads: whether a number is one does not depend on its sign.
//!
//! The library of complex numbers makes these: it takes the magnitudes of both parts and asks first whether one is no number.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::PtxType;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "nan-of-a-magnitude",
    operations: &[Operation::Setp, Operation::Set],
    pattern: "x = abs.f32 y; setp.nan.f32 p, x, z -> setp.nan.f32 p, y, z; also num, and of neg",
    reason: "a number is one with either sign",
    guards: &[
        Guard {
            needs: "a test for NaN, or for its contrary",
            without: "abs.f32 %f2, %f1; setp.lt.f32 %p1, %f2, 0f3F800000 with %f1 = -2 is false",
        },
        Guard {
            needs: "one type",
            without: "abs.f16x2 %r2, %r1; setp.nan.f32 %p1, %r2, %r2 with %r1 = 0x7F808000 is false",
        },
        Guard {
            needs: "y still holds what the magnitude is of",
            without: "abs.f32 %f2, %f1; mov.f32 %f1, 0f3F800000; setp.nan.f32 %p1, %f2, %f2 is of the old %f1",
        },
    ],
    when: Clues::ALWAYS,
    apply: Apply::Any(nan_of_a_magnitude),
}];

fn nan_of_a_magnitude(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let comparison = description.qualifiers.comparison?;
    if !matches!(comparison, Comparison::AnyNan | Comparison::Numbers) {
        return None;
    }
    let compared = *description.types.iter().flatten().last()?;
    let form = walk.f.head(inst).form;
    let &[_, one, other, ..] = walk.f.operands_of(inst) else { return None };
    let (position, source) = [(1, one), (2, other)]
        .into_iter()
        .find_map(|(position, operand)| Some((position, before_its_sign(walk, operand, inst, compared)?)))?;
    walk.in_another_form(inst, form, (position, source))
}

/// What an operand is the magnitude or the negation of, at this type.
fn before_its_sign(
    walk: &mut Walk<'_, '_>,
    operand: Operand,
    inst: InstId,
    compared: PtxType,
) -> Option<Operand> {
    let definition = walk.computed_by(operand, inst)?;
    let description = walk.f.description_of(definition);
    let is_sign = matches!(description.operation, Operation::Abs | Operation::Neg);
    let &[_, source] = walk.f.operands_of(definition) else { return None };
    let is_register = source.vreg().is_some() && source == plain(source);
    let is_alike = is_sign && is_register && description.types[0] == Some(compared);
    (is_alike && walk.is_still(source, definition, inst)).then_some(source)
}
