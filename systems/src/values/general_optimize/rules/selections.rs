//! Selections: what chooses without a choice.

use super::Rule;
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::constants::bits_in;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "select-equal",
    operations: &[Operation::Selp],
    pattern: "selp y, y, p -> y",
    reason: "both choices are the same",
    guards: &[],
    apply: select_equal,
}];

fn select_equal(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other, _] = walk.f.operands_of(inst) else { return None };
    if one != other || one != plain(one) {
        return None;
    }
    let result = walk.only_result(inst)?;
    let ty = walk.f.description_of(inst).types[0]?;
    match bits_in(one, ty, walk.f.literals()) {
        Some(bits) => walk.move_of_constant(inst, result, bits),
        None => walk.move_of(inst, result, one),
    }
}
