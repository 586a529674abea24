//! Identities: what an operation leaves as it is, and what it leaves nothing of.

use super::{Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::constants::truncate;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "neutral-operand",
        operations: &[
            Operation::Add,
            Operation::Sub,
            Operation::Mul,
            Operation::And,
            Operation::Or,
            Operation::Xor,
            Operation::Shl,
            Operation::Shr,
        ],
        pattern: "y + 0, y - 0, y * 1, y & ~0, y | 0, y ^ 0, y << 0, y >> 0 -> y",
        reason: "it changes nothing",
        guards: &[
            Guard {
                needs: "of a product, the lower half",
                without: "mul.hi.u32 %r2, %r1, 1 is 0, and mul.wide.u32 %rd1, %r1, 1 is wider than %r1",
            },
            Guard {
                needs: "a shift amount whose 32 bits are 0, whatever is shifted",
                without: "shl.b16 %rs2, %rs1, 65536 is 0, and not %rs1",
            },
        ],
        apply: neutral_operand,
    },
    Rule {
        name: "absorbing-operand",
        operations: &[Operation::Mul, Operation::And],
        pattern: "y * 0, y & 0 -> 0",
        reason: "nothing is left of it",
        guards: &[Guard {
            needs: "integers",
            without: "mul.f32 %f2, %f1, 0f00000000 is a NaN where %f1 is one, and -0 where it is negative",
        }],
        apply: absorbing_operand,
    },
];

/// An instruction with a literal for its second source, and the bits of that.
fn with_literal(walk: &Walk<'_, '_>, inst: InstId) -> Option<(Binary, u64)> {
    let constant = walk.literal(*walk.f.operands_of(inst).get(2)?)?;
    Some((walk.binary(inst)?, constant))
}

fn neutral_operand(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let (binary, constant) = with_literal(walk, inst)?;
    let (amount, constant) = (truncate(constant, 32), truncate(constant, binary.width()));
    let keeps = match binary.operation {
        Operation::Shl | Operation::Shr => amount == 0,
        Operation::Mul => binary.part == Some(Part::Low) && constant == 1,
        Operation::And => constant == truncate(u64::MAX, binary.width()),
        _ => constant == 0,
    };
    let is_plain = keeps && binary.one == plain(binary.one);
    is_plain.then(|| walk.move_of(inst, binary.result, binary.one))?
}

fn absorbing_operand(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let (binary, constant) = with_literal(walk, inst)?;
    let is_low = binary.operation != Operation::Mul || binary.part == Some(Part::Low);
    let clears = is_low && truncate(constant, binary.width()) == 0;
    clears.then(|| walk.move_of_constant(inst, binary.result, 0))?
}
