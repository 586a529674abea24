//! Products and quotients: cheaper operations that compute the same.
//!
//! # Tried and dropped
//! `mul.wide` and `add.s64` of its only use as `mad.wide`: one instruction less here, and one or two more on the machine. The
//! assembler (13.0) makes one `IMAD.WIDE` of the two, and of `mad.wide` a product and a sum of two halves, or two `LEA`
//! where the factor is a power of two.
//!
//! 64-bit arithmetic on extended 32-bit values as 32-bit arithmetic. The assembler (13.0, `sm_90`) drops the upper half itself
//! where only the lower one is read: sums, differences, products, `and`, `or`, `xor`, `neg`, `not`, shifts and chains of
//! them have as many machine instructions either way. So have `and`, `or` and `shr.u64` whose upper half is zero and is read.
//! Comparisons gain and are a rule ("compare-extensions"). What else gains takes an instruction more here, as the narrow
//! result has to be extended again, and no rule makes the code longer: `min`, `max`, `abs` and a selection of extended values
//! have 2 to 4 machine instructions less, `shr.s64` and a product of values of 16 bits one, and a quotient of two 46 of 76.
//! Where it matters, compilers ask whether the upper halves are zero before they divide.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, Extension, narrowed, plain, signed_of};
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "product-with-a-power",
        operations: &[Operation::Mul],
        pattern: "mul.lo y, 2^k -> shl y, k",
        reason: "the factor is a power of two",
        guards: &[Guard {
            needs: "the lower half of the product",
            without: "mul.hi.u32 %r2, %r1, 2 is the highest bit of %r1",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(product_with_a_power),
    },
    Rule {
        name: "negation",
        operations: &[Operation::Mul, Operation::Sub],
        pattern: "mul.lo y, -1; sub 0, y -> neg y",
        reason: "it is a negation",
        guards: &[Guard {
            needs: "the lower half of the product",
            without: "mul.hi.s32 %r2, %r1, -1 with %r1 = 1 is -1 as well, and with %r1 = -1 it is 0",
        }],
        when: Clues::LITERAL_FIRST.union(Clues::LITERAL_LAST),
        apply: Apply::Binary(negation),
    },
    Rule {
        name: "quotient-by-a-power",
        operations: &[Operation::Div],
        pattern: "div.u y, 2^k -> shr.u y, k",
        reason: "the divisor is a power of two",
        guards: &[Guard {
            needs: "no signs, unless the divisor is 1",
            without: "div.s32 %r2, -7, 2 is -3, and shr.s32 %r2, -7, 1 is -4",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(quotient_by_a_power),
    },
    Rule {
        name: "remainder-by-a-power",
        operations: &[Operation::Rem],
        pattern: "rem.u y, 2^k -> and y, 2^k - 1",
        reason: "the divisor of the remainder is a power of two",
        guards: &[Guard {
            needs: "no signs, unless the divisor is 1",
            without: "rem.s32 %r2, -7, 4 is -3, and and.b32 %r2, -7, 3 is 1",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(remainder_by_a_power),
    },
    Rule {
        name: "shift-of-an-extension",
        operations: &[Operation::Shl],
        pattern: "x = cvt.u64.u32 y; shl.b64 x, k -> mul.wide.u32 y, 2^k",
        reason: "a wide product extends and shifts at once",
        guards: &[
            Guard {
                needs: "a power that the narrow type holds",
                without: "cvt.s64.s32 %rd1, %r1; shl.b64 %rd2, %rd1, 31 with %r1 = 1 is 2^31, and -2^31 as a product with \
                          the smallest .s32",
            },
            Guard {
                needs: "y still holds what was extended",
                without: "cvt.u64.u32 %rd1, %r1; mov.u32 %r1, %r9; shl.b64 %rd2, %rd1, 2 is 4 times the old %r1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::WithLiteral(shift_of_an_extension),
    },
    Rule {
        name: "product-of-extensions",
        operations: &[Operation::Mul],
        pattern: "x = cvt.s64.s32 y; z = cvt.s64.s32 w; mul.lo.s64 x, z -> mul.wide.s32 y, w; also with a literal for z",
        reason: "a wide product extends its factors itself",
        guards: &[
            Guard {
                needs: "both are extended with a sign, or both without",
                without: "cvt.s64.s32 %rd1, -1; cvt.u64.u32 %rd2, -1; mul.lo.s64 %rd3, %rd1, %rd2 is -4294967295: neither 1 \
                          nor the product without signs",
            },
            Guard {
                needs: "a literal that the narrow type holds",
                without: "cvt.s64.s32 %rd1, %r1; mul.lo.s64 %rd2, %rd1, 4294967296 is no product with 32 bits",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Binary(product_of_extensions),
    },
];

/// The literal at the width of an instruction whose other source is a register as it is.
fn by_literal(binary: &Binary, literal: u64) -> Option<u64> {
    let is_plain = binary.one.vreg().is_some() && binary.one == plain(binary.one);
    is_plain.then_some(truncate(literal, binary.width()))
}

fn product_with_a_power(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let factor = by_literal(&binary, literal)?;
    if binary.part != Some(Part::Low) || !factor.is_power_of_two() || factor == 1 {
        return None;
    }
    shift(walk, inst, binary, Operation::Shl, bits_of(binary.width())?, factor)
}

fn quotient_by_a_power(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let divisor = by_literal(&binary, literal)?;
    if divisor == 1 {
        return walk.move_of(inst, binary.result, binary.one);
    }
    if binary.ty.is_signed() || !divisor.is_power_of_two() {
        return None;
    }
    shift(walk, inst, binary, Operation::Shr, binary.ty, divisor)
}

/// The shift of the first source by the exponent of a power.
fn shift(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    operation: Operation,
    ty: PtxType,
    power: u64,
) -> Option<Rewrite> {
    let amount = New::Constant(u64::from(power.trailing_zeros()), PtxType::U32);
    let operands = [New::register(binary.result), New::Operand(binary.one), amount];
    walk.instead(inst, operation, Qualifiers::default(), &[ty], &operands)
}

fn remainder_by_a_power(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let divisor = by_literal(&binary, literal)?;
    if divisor == 1 {
        return walk.move_of_constant(inst, binary.result, 0);
    }
    if binary.ty.is_signed() || !divisor.is_power_of_two() {
        return None;
    }
    let ty = bits_of(binary.width())?;
    let operands = [New::register(binary.result), New::Operand(binary.one), New::Constant(divisor - 1, ty)];
    walk.instead(inst, Operation::And, Qualifiers::default(), &[ty], &operands)
}

fn negation(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    let Binary { one, other, .. } = binary;
    let literal = |operand: Operand| walk.literal(operand).map(|bits| truncate(bits, binary.width()));
    let minus_one = truncate(u64::MAX, binary.width());
    let source = match binary.operation {
        Operation::Sub if literal(one) == Some(0) => other,
        Operation::Mul if binary.part == Some(Part::Low) && literal(other) == Some(minus_one) => one,
        _ => return None,
    };
    let is_plain = source.vreg().is_some() && source == plain(source);
    let operands = [New::register(binary.result), New::Operand(source)];
    let ty = signed_of(binary.ty);
    is_plain.then(|| walk.instead(inst, Operation::Neg, Qualifiers::default(), &[ty], &operands))?
}

fn shift_of_an_extension(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let amount = truncate(literal, 32);
    let Extension { from, source, .. } = walk.extension(binary.one, inst)?;
    let power = narrowed(1u64.checked_shl(amount.min(64) as u32)?, binary.width(), from)?;
    if binary.width() != 2 * from.bits() || from.bits() < 16 {
        return None;
    }
    wide_product(walk, inst, binary, from, source, New::Constant(power, from))
}

fn product_of_extensions(walk: &mut Walk<'_, '_>, inst: InstId, binary: Binary) -> Option<Rewrite> {
    if binary.part != Some(Part::Low) || binary.width() < 32 {
        return None;
    }
    let one = walk.extension(binary.one, inst)?;
    let factor = walk.beside(&one, binary.other, inst, binary.width(), one.from)?;
    if binary.width() != 2 * one.from.bits() {
        return None;
    }
    wide_product(walk, inst, binary, one.from, one.source, factor)
}

fn wide_product(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    from: PtxType,
    source: Operand,
    factor: New,
) -> Option<Rewrite> {
    let wide = Qualifiers { part: Some(Part::Wide), ..Qualifiers::default() };
    let operands = [New::register(binary.result), New::Operand(source), factor];
    walk.instead(inst, Operation::Mul, wide, &[from], &operands)
}
