//! Quotients: division and remainder by constants without a division.
//!
//! Quotients by powers of two stand with the products.
//!
//! The machine has no division. What `ptxas` 13.0 makes of `div.u32 r, a, c` are 14 instructions, three of them slow
//! conversions and a reciprocal, and of 64 bits a call of some 70; so it does for every constant `c`, powers of two
//! included. Measured for 3, 5, 7, 10, 100, 1000 and 1000003 on `sm_90`, in machine instructions: `div.u32` 14, `rem.u32` 13,
//! `div.s32` 18, `rem.s32` 16, `div.u64` 67, `rem.u64` 63, `div.s64` 76, `rem.s64` 72. `mul.hi` in the place of it is one
//! instruction, of 64 bits four; with the shift and the sums that other divisors need, `div.u64` is 9 or 15 and `rem.u64` 12
//! or 18.
//!
//! A rule here makes one instruction of one. Most divisors need a product, a shift, and for some a sum (Granlund and
//! Montgomery 1994; Warren, Hacker's Delight, chapter 10): that is one or two instructions more in the PTX than there were,
//! and no function may come out longer than it was. What is known of the dividend often makes the product alone enough.
//! Compilers have replaced the divisions whose divisor they saw; those here come of constants that were propagated.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::ids::InstId;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::truncate;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "quotient-of-a-quotient",
        operations: &[Operation::Div],
        pattern: "x = y / c; z = x / d -> z = y / (c * d)",
        reason: "two divisors are one",
        guards: &[
            Guard {
                needs: "the product of the divisors has the width of the type",
                without: "div.u32 %r2, %r1, 65537; div.u32 %r3, %r2, 65537 is 0, and 65537 * 65537 is 131073 in 32 bits",
            },
            Guard {
                needs: "a type without a sign",
                without: "div.s32 by 65536 and by 32768 divides by 2^31, which is negative in 32 bits",
            },
            Guard {
                needs: "y still holds what was divided",
                without: "div.u32 %r2, %r1, 3; mov.u32 %r1, %r9; div.u32 %r3, %r2, 5 is of the old %r1",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::WithLiteral(quotient_of_a_quotient),
    },
    Rule {
        name: "divide-by-a-product",
        operations: &[Operation::Div],
        pattern: "y / c -> mul.hi y, m, with m = floor(2^N / c) + 1",
        reason: "the upper half of a product is the quotient",
        guards: &[Guard {
            needs: "a dividend so small that the error of m does not reach the quotient: y * (m * c - 2^N) < 2^N",
            without: "mul.hi.u32 of 0xFFFFFFFF and 0x24924925 is 0x24924925, and 0xFFFFFFFF / 7 is 0x24924924",
        }],
        when: Clues::LITERAL_LAST,
        apply: Apply::WithLiteral(divide_by_a_product),
    },
];

/// The divisor of a division of a register, without a sign, by a literal other than 0.
fn divisor(binary: &Binary, literal: u64) -> Option<u64> {
    let is_plain = binary.one.vreg().is_some() && binary.one == plain(binary.one);
    let divisor = truncate(literal, binary.width());
    (is_plain && !binary.ty.is_signed() && divisor != 0).then_some(divisor)
}

fn quotient_of_a_quotient(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let (outer, last) = (binary, divisor(&binary, literal)?);
    let definition = walk.computed_by(outer.one, inst)?;
    if walk.f.form_of(definition).operation != Operation::Div {
        return None;
    }
    let inner = walk.binary(definition).filter(|inner| inner.ty == outer.ty)?;
    let first = divisor(&inner, walk.literal(inner.other)?)?;
    let product = first.checked_mul(last).filter(|&product| product == truncate(product, outer.width()))?;
    if !walk.is_still(inner.one, definition, inst) {
        return None;
    }
    let operands = [New::register(outer.result), New::Operand(inner.one), New::Constant(product, outer.ty)];
    walk.instead(inst, Operation::Div, Qualifiers::default(), &[outer.ty], &operands)
}

/// Granlund and Montgomery 1994, theorem 4.2, without a shift: with e = m * c - 2^N, y * m / 2^N is y / c and y * e / (c *
/// 2^N) more, which reaches no other integer where it is less than 1 / c.
fn divide_by_a_product(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let divisor = divisor(&binary, literal).filter(|divisor| !divisor.is_power_of_two())?;
    let power = 1_u128 << binary.width();
    let factor = power / u128::from(divisor) + 1;
    let error = factor * u128::from(divisor) - power;
    let most = walk.known(binary.one, binary.width(), inst).high();
    // A factor is less than 2^64, and so is the error, which is at most the divisor.
    if u128::from(most) * error >= power {
        return None;
    }
    let operands =
        [New::register(binary.result), New::Operand(binary.one), New::Constant(factor as u64, binary.ty)];
    let qualifiers = Qualifiers { part: Some(Part::High), ..Qualifiers::default() };
    walk.instead(inst, Operation::Mul, qualifiers, &[binary.ty], &operands)
}
