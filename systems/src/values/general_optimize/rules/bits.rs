//! Bits: masks of what is known to be zero.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "mask-of-zeros",
    operations: &[Operation::And],
    pattern: "and y, m -> y where all bits outside of m are zero, and 0 where all bits of m are",
    reason: "the mask has bits that are zero already",
    guards: &[
        Guard {
            needs: "a load or conversion that extends without a sign",
            without: "ld.global.s8 %r1, [%rd1]; and.b32 %r2, %r1, 255 clears the copies of the sign",
        },
        Guard {
            needs: "the instruction that computed y is unguarded and writes it whole",
            without: "@%p1 and.b32 %r1, %r9, 15; and.b32 %r2, %r1, 15 where %p1 is false and %r1 was 16",
        },
    ],
    when: Clues::LITERAL_LAST,
    apply: Apply::WithLiteral(mask_of_zeros),
}];

fn mask_of_zeros(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let (one, mask) = (binary.one, literal);
    let vreg = one.vreg().filter(|_| one == plain(one))?;
    if walk.width(vreg) != binary.width() {
        return None;
    }
    let possible = walk.known(one, binary.width(), inst).possible();
    match (possible & !mask, possible & mask) {
        (0, _) => walk.move_of(inst, binary.result, one),
        (_, 0) => walk.move_of_constant(inst, binary.result, 0),
        _ => None,
    }
}
