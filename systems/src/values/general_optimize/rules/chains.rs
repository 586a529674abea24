//! Chains: one operation twice, or a shift there and back, each time with a literal.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, extend, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "literal-last",
        operations: &[
            Operation::Add,
            Operation::Mul,
            Operation::And,
            Operation::Or,
            Operation::Xor,
            Operation::Min,
            Operation::Max,
        ],
        pattern: "c op y -> y op c",
        reason: "a literal stands last",
        guards: &[],
        when: Clues::LITERAL_FIRST,
        apply: Apply::Binary(literal_last),
    },
    Rule {
        name: "operation-twice",
        operations: &[
            Operation::And,
            Operation::Or,
            Operation::Xor,
            Operation::Mul,
            Operation::Min,
            Operation::Max,
            Operation::Shl,
            Operation::Shr,
        ],
        pattern: "x = y op c; z = x op d -> z = y op (c op d), and shifts by the sum of their amounts",
        reason: "two literals are combined",
        guards: &[
            Guard {
                needs: "the same type, where it matters",
                without: "shr.u32 %r2, %r1, 4; shr.s32 %r3, %r2, 4 with %r1 = -1 is 0x00FFFFFF, and shr.s32 %r3, %r1, 8 is -1",
            },
            Guard {
                needs: "amounts of shifts that are added without wrapping, and cut at the width",
                without: "shl.b32 %r2, %r1, 0xFFFFFFFF; shl.b32 %r3, %r2, 1 is 0, and %r1 << 0 is %r1",
            },
            Guard {
                needs: "y still holds what was worked on",
                without: "and.b32 %r2, %r1, 12; mov.u32 %r1, %r9; and.b32 %r3, %r2, 6 is of the old %r1",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::WithLiteral(operation_twice),
    },
    Rule {
        name: "shift-there-and-back",
        operations: &[Operation::Shl, Operation::Shr],
        pattern: "(y >> k) << k -> y & -2^k; (y << k) >> k -> y & (2^(WIDTH - k) - 1)",
        reason: "shifts by one amount there and back clear bits",
        guards: &[
            Guard {
                needs: "back to the right, a shift without a sign",
                without: "shl.b32 %r2, %r1, 24; shr.s32 %r3, %r2, 24 with %r1 = 128 is -128",
            },
            Guard {
                needs: "y still holds what was shifted",
                without: "shr.u32 %r2, %r1, 4; mov.u32 %r1, %r9; shl.b32 %r3, %r2, 4 is of the old %r1",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::WithLiteral(shift_there_and_back),
    },
];

fn literal_last(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let literal = walk.literal(binary.one)?;
    let vreg = binary.other.vreg().filter(|_| binary.other == plain(binary.other))?;
    let qualifiers = Qualifiers { part: binary.part, ..Qualifiers::default() };
    let operands = [New::register(binary.result), New::register(vreg), New::Constant(literal, binary.ty)];
    walk.instead(inst, binary.operation, qualifiers, &[binary.ty], &operands)
}

fn operation_twice(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary, literal: u64) -> Option<Rewrite> {
    let definition = walk.computed_by(binary.one, inst)?;
    let inner = walk.binary(definition).filter(|inner| {
        let is_like = (inner.operation, inner.part) == (binary.operation, binary.part);
        is_like && inner.ty.bits() == binary.ty.bits() && inner.ty.is_signed() == binary.ty.is_signed()
    })?;
    let (literal, ty) = combined(&binary, walk.literal(inner.other)?, literal)?;
    let base = inner.one.vreg().filter(|_| inner.one == plain(inner.one))?;
    let is_whole = walk.width(base) == inner.width() && walk.width(binary.one.vreg()?) == inner.width();
    if !is_whole || !walk.is_still(inner.one, definition, inst) {
        return None;
    }
    let qualifiers = Qualifiers { part: binary.part, ..Qualifiers::default() };
    let operands = [New::register(binary.result), New::register(base), New::Constant(literal, ty)];
    walk.instead(inst, binary.operation, qualifiers, &[binary.ty], &operands)
}

fn shift_there_and_back(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let (amount, width) = (truncate(literal, 32), binary.width());
    let definition = walk.computed_by(binary.one, inst)?;
    let inner = walk.binary(definition)?;
    let is_back = match binary.operation {
        Operation::Shl => inner.operation == Operation::Shr,
        _ => inner.operation == Operation::Shl && !binary.ty.is_signed(),
    };
    let is_by_as_much = truncate(walk.literal(inner.other)?, 32) == amount && amount < u64::from(width);
    let base = inner.one.vreg().filter(|_| inner.one == plain(inner.one))?;
    let is_whole = inner.width() == width && walk.width(base) == width;
    if !is_back || !is_by_as_much || !is_whole || !walk.is_still(inner.one, definition, inst) {
        return None;
    }
    let all = truncate(u64::MAX, width);
    let mask =
        if binary.operation == Operation::Shl { truncate(all << amount, width) } else { all >> amount };
    let ty = bits_of(width)?;
    let operands = [New::register(binary.result), New::register(base), New::Constant(mask, ty)];
    walk.instead(inst, Operation::And, Qualifiers::default(), &[ty], &operands)
}

/// The literal that does the work of two, and its type.
fn combined(binary: &Binary, inner: u64, outer: u64) -> Option<(u64, PtxType)> {
    let width = binary.width();
    let of_width = |bits| truncate(bits, width);
    let signed = |bits| extend(of_width(bits), width);
    let has_sign = binary.ty.is_signed();
    let bits = match binary.operation {
        Operation::And => inner & outer,
        Operation::Or => inner | outer,
        Operation::Xor => inner ^ outer,
        Operation::Mul if binary.part == Some(Part::Low) => inner.wrapping_mul(outer),
        Operation::Min if has_sign => signed(inner).min(signed(outer)) as u64,
        Operation::Max if has_sign => signed(inner).max(signed(outer)) as u64,
        Operation::Min => of_width(inner).min(of_width(outer)),
        Operation::Max => of_width(inner).max(of_width(outer)),
        Operation::Shl | Operation::Shr => {
            let amount = truncate(inner, 32) + truncate(outer, 32);
            return Some((amount.min(u64::from(width)), PtxType::U32));
        }
        _ => return None,
    };
    Some((of_width(bits), binary.ty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::ids::VRegId;
    use ptxopt_components::operand::Operand;

    /// What an operation of 8 bits makes of `y` and a literal. Amounts of shifts have 32 bits.
    fn apply(operation: Operation, has_sign: bool, y: u8, literal: u64) -> u8 {
        let (low, signed, amount) = (literal as u8, y as i8, (literal as u32).min(8));
        match operation {
            Operation::And => y & low,
            Operation::Or => y | low,
            Operation::Xor => y ^ low,
            Operation::Mul => y.wrapping_mul(low),
            Operation::Min if has_sign => signed.min(low as i8) as u8,
            Operation::Max if has_sign => signed.max(low as i8) as u8,
            Operation::Min => y.min(low),
            Operation::Max => y.max(low),
            Operation::Shl => (0..amount).fold(y, |y, _| y << 1),
            Operation::Shr if has_sign => (0..amount).fold(signed, |y, _| y >> 1) as u8,
            _ => (0..amount).fold(y, |y, _| y >> 1),
        }
    }

    /// Every value, operation and pair of literals of 8 bits.
    #[test]
    fn two_literals_do_the_work_of_one() {
        let all: Vec<u64> = (0..256).collect();
        let amounts = [0, 1, 3, 4, 5, 7, 8, 9, 200, u64::from(u32::MAX), 1 << 32, u64::MAX];
        let rule = RULES.iter().find(|rule| rule.name == "operation-twice").unwrap();
        for (&operation, has_sign) in rule.operations.iter().flat_map(|op| [(op, false), (op, true)]) {
            let is_shift = matches!(operation, Operation::Shl | Operation::Shr);
            let literals = if is_shift { &amounts[..] } else { &all[..] };
            let binary = Binary {
                operation,
                part: (operation == Operation::Mul).then_some(Part::Low),
                ty: if has_sign { PtxType::S8 } else { PtxType::U8 },
                result: VRegId(0),
                one: Operand::sink(),
                other: Operand::sink(),
            };
            for (&inner, &outer) in literals.iter().flat_map(|inner| literals.iter().map(move |o| (inner, o)))
            {
                let (both, _) = combined(&binary, inner, outer).unwrap();
                for y in 0..=u8::MAX {
                    let twice = apply(operation, has_sign, apply(operation, has_sign, y, inner), outer);
                    assert_eq!(
                        apply(operation, has_sign, y, both),
                        twice,
                        "{operation:?} {y} {inner} {outer}"
                    );
                }
            }
        }
    }
}
