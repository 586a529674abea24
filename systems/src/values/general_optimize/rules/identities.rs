//! Identities: what an operation leaves as it is, and what it leaves nothing of.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::Rewrite;
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::truncate;

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
            Operation::Min,
            Operation::Max,
        ],
        pattern: "y + 0, y - 0, y * 1, y & ~0, y | 0, y ^ 0, y << 0, y >> 0, min y, MAX, max y, MIN -> y",
        reason: "it changes nothing",
        guards: &[
            Guard {
                needs: "of a product, the lower half",
                without: "mul.hi.u32 %r2, %r1, 1 is 0, and mul.wide.u32 %rd1, %r1, 1 is wider than %r1",
            },
            Guard {
                needs: "a shift amount of 16 bits at most, where 16 bits are shifted",
                without: "shl.b16 %rs2, %rs1, 65536 is 0 by the ISA, and %rs1 by the assembler",
            },
        ],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(neutral_operand),
    },
    Rule {
        name: "absorbing-operand",
        operations: &[
            Operation::Mul,
            Operation::And,
            Operation::Or,
            Operation::Shl,
            Operation::Shr,
            Operation::Min,
            Operation::Max,
        ],
        pattern: "y * 0, y & 0, y << WIDTH, y >> WIDTH -> 0; y | ~0 -> ~0; min y, MIN -> MIN; max y, MAX -> MAX",
        reason: "nothing is left of it",
        guards: &[
            Guard {
                needs: "integers",
                without: "mul.f32 %f2, %f1, 0f00000000 is a NaN where %f1 is one, and -0 where it is negative",
            },
            Guard {
                needs: "of shifts to the right, those without a sign",
                without: "shr.s32 %r2, %r1, 32 is -1 where %r1 is negative",
            },
        ],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(absorbing_operand),
    },
    Rule {
        name: "shift-of-zero",
        operations: &[Operation::Shl, Operation::Shr],
        pattern: "0 << y, 0 >> y -> 0",
        reason: "no bit is set, wherever they go",
        guards: &[],
        when: Clues::LITERAL_FIRST,
        apply: Apply::Binary(shift_of_zero),
    },
    Rule {
        name: "equal-operands",
        operations: &[
            Operation::Sub,
            Operation::Xor,
            Operation::And,
            Operation::Or,
            Operation::Min,
            Operation::Max,
        ],
        pattern: "y - y, y ^ y -> 0; y & y, y | y, min y, y, max y, y -> y",
        reason: "its operands are equal",
        guards: &[Guard {
            needs: "integers",
            without: "sub.f32 %f2, %f1, %f1 is a NaN where %f1 is infinite",
        }],
        when: Clues::EQUAL_SOURCES,
        apply: Apply::Binary(equal_operands),
    },
];

/// The smallest and the largest value of the type.
fn range(binary: &Binary) -> (u64, u64) {
    let all = truncate(u64::MAX, binary.width());
    let highest = 1 << (binary.width() - 1);
    if binary.ty.is_signed() { (highest, all ^ highest) } else { (0, all) }
}

fn neutral_operand(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let (amount, constant) = (truncate(literal, 32), truncate(literal, binary.width()));
    let keeps = match binary.operation {
        Operation::Shl | Operation::Shr => amount == 0,
        Operation::Mul => binary.part == Some(Part::Low) && constant == 1,
        Operation::And => constant == truncate(u64::MAX, binary.width()),
        Operation::Min => constant == range(&binary).1,
        Operation::Max => constant == range(&binary).0,
        _ => constant == 0,
    };
    let is_plain = keeps && binary.one == plain(binary.one);
    is_plain.then(|| walk.move_of(inst, binary.result, binary.one))?
}

fn absorbing_operand(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let (amount, constant) = (truncate(literal, 32), truncate(literal, binary.width()));
    let (smallest, largest) = range(&binary);
    let left = match binary.operation {
        Operation::Mul | Operation::And if constant == 0 => 0,
        Operation::Or if constant == truncate(u64::MAX, binary.width()) => u64::MAX,
        Operation::Shl if amount >= u64::from(binary.width()) => 0,
        Operation::Shr if amount >= u64::from(binary.width()) && !binary.ty.is_signed() => 0,
        Operation::Min if constant == smallest => constant,
        Operation::Max if constant == largest => constant,
        _ => return None,
    };
    walk.move_of_constant(inst, binary.result, left)
}

fn shift_of_zero(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let is_zero = walk.literal(binary.one).is_some_and(|bits| truncate(bits, binary.width()) == 0);
    is_zero.then(|| walk.move_of_constant(inst, binary.result, 0))?
}

fn equal_operands(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let Binary { one, other, .. } = binary;
    if one != other || one.vreg().is_none() || one != plain(one) {
        return None;
    }
    match binary.operation {
        Operation::Sub | Operation::Xor => walk.move_of_constant(inst, binary.result, 0),
        _ => walk.move_of(inst, binary.result, one),
    }
}
