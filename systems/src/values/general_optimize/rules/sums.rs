//! Sums: constants that are added one after the other.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain, signed_of};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{TypeKind, truncate};

pub(super) const RULES: &[Rule] = &[Rule {
    name: "sum-of-a-sum",
    operations: &[Operation::Add, Operation::Sub],
    pattern: "x = y + c; z = x + d -> z = y + (c + d)",
    reason: "two constants are added at once",
    guards: &[
        Guard {
            needs: "neither sum saturates or takes part in a carry chain",
            without: "add.sat.s32 %r2, %r1, 1; add.s32 %r3, %r2, -1 with %r1 = 0x7FFFFFFF is 0x7FFFFFFE",
        },
        Guard {
            needs: "y still holds what was added",
            without: "add.s32 %r2, %r1, 3; mov.u32 %r1, %r9; add.s32 %r3, %r2, 4 is 7 more than the old %r1",
        },
    ],
    when: Clues::SUM,
    apply: Apply::WithLiteral(sum_of_a_sum),
}];

fn sum_of_a_sum(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    if literal == 0 {
        // It is what it adds nothing to, and not another sum of the same.
        return None;
    }
    let vreg = binary.one.vreg().filter(|_| binary.one == plain(binary.one))?;
    if binary.ty.kind() != TypeKind::Integer || binary.width() != walk.width(vreg) {
        return None;
    }
    let (base, inner) = sum_of(walk, vreg, inst)?;
    let outer = if binary.operation == Operation::Sub { literal.wrapping_neg() } else { literal };
    let sum = truncate(inner.wrapping_add(outer), binary.width());
    let operands =
        [New::register(binary.result), New::register(base), New::Constant(sum, signed_of(binary.ty))];
    walk.instead(inst, Operation::Add, Qualifiers::default(), &[binary.ty], &operands)
}

/// The register and the constant whose sum `vreg` is before `inst`, where the register still holds what was added.
pub(in crate::values::general_optimize) fn sum_of(
    walk: &mut Walk<'_, '_>,
    vreg: VRegId,
    inst: InstId,
) -> Option<(VRegId, u64)> {
    let definition = walk.computed_by(Operand::register(vreg), inst)?;
    if !matches!(walk.f.form_of(definition).operation, Operation::Add | Operation::Sub) {
        return None;
    }
    let sum = walk.binary(definition).filter(|sum| sum.ty.kind() == TypeKind::Integer)?;
    let constant = walk.literal(sum.other)?;
    let base = sum.one.vreg().filter(|_| sum.one == plain(sum.one))?;
    let is_whole = walk.width(vreg) == sum.width() && walk.width(base) == sum.width();
    if !is_whole || !walk.is_still(sum.one, definition, inst) {
        return None;
    }
    let constant = if sum.operation == Operation::Sub { constant.wrapping_neg() } else { constant };
    Some((base, truncate(constant, sum.width())))
}
