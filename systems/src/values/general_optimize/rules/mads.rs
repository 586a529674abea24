//! Products with a sum, `mad`: factors that do nothing, and factors that were extended.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::plain;
use crate::values::general_optimize::rewrite::{New, Rewrite};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "factor-of-one",
        operations: &[Operation::Mad],
        pattern: "mad.lo y, 1, z -> add y, z; mad.lo y, -1, z -> sub z, y; mad.lo y, 0, z -> z",
        reason: "one factor of the product does nothing",
        guards: &[Guard {
            needs: "the lower half of the product",
            without: "mad.hi.u32 %r3, %r1, 1, %r2 is %r2, and mad.wide.u32 %rd3, %r1, 1, %rd2 adds 64 bits",
        }],
        when: Clues::ALWAYS,
        apply: Apply::Any(factor_of_one),
    },
    Rule {
        name: "sum-with-zero",
        operations: &[Operation::Mad],
        pattern: "mad y, z, 0 -> mul y, z",
        reason: "nothing is added to the product",
        guards: &[],
        when: Clues::LITERAL_LAST,
        apply: Apply::Any(sum_with_zero),
    },
    Rule {
        name: "mad-of-extensions",
        operations: &[Operation::Mad],
        pattern: "x = cvt.s64.s32 y; z = cvt.s64.s32 w; mad.lo.s64 x, z, v -> mad.wide.s32 y, w, v; also with a literal for z",
        reason: "a wide product with a sum extends its factors itself",
        guards: &[
            Guard {
                needs: "both are extended with a sign, or both without",
                without: "cvt.s64.s32 %rd1, -1; cvt.u64.u32 %rd2, -1; mad.lo.s64 %rd3, %rd1, %rd2, %rd4 is neither of the two",
            },
            Guard {
                needs: "a literal that the narrow type holds",
                without: "cvt.s64.s32 %rd1, %r1; mad.lo.s64 %rd2, %rd1, 4294967296, %rd4 is no product with 32 bits",
            },
            Guard {
                needs: "y still holds what was extended",
                without: "cvt.s64.s32 %rd1, %r1; mov.u32 %r1, %r9; mad.lo.s64 %rd2, %rd1, 4, %rd4 is of the old %r1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(mad_of_extensions),
    },
];

/// An unguarded product of integers with a sum, and nothing else.
struct Mad {
    part: Part,
    ty: PtxType,
    result: VRegId,
    factors: [Operand; 2],
    addend: Operand,
}

fn mad(walk: &Walk<'_, '_>, inst: InstId) -> Option<Mad> {
    let &[_, one, other, addend] = walk.f.operands_of(inst) else { return None };
    let description = walk.f.description_of(inst);
    let ty = description.types[0].filter(|&ty| ty.is_of_integers())?;
    let part = description.qualifiers.part?;
    let is_plain = walk.f.form_of(inst).flags.contains(FormFlags::PLAIN);
    let result = walk.only_result(inst).filter(|_| is_plain)?;
    Some(Mad { part, ty, result, factors: [one, other], addend })
}

impl Mad {
    /// The factors in both orders.
    fn orders(&self) -> [[Operand; 2]; 2] {
        let [one, other] = self.factors;
        [[one, other], [other, one]]
    }
}

fn factor_of_one(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let mad = mad(walk, inst).filter(|mad| mad.part == Part::Low)?;
    let width = mad.ty.bits();
    let literal = |operand: Operand| walk.literal(operand).map(|bits| truncate(bits, width));
    let (factor, literal) = mad.orders().into_iter().find_map(|[one, other]| Some((one, literal(other)?)))?;
    let addend = mad.addend;
    if literal == 0 {
        return match walk.literal(addend) {
            Some(bits) => walk.move_of_constant(inst, mad.result, bits),
            None if addend == plain(addend) => walk.move_of(inst, mad.result, addend),
            None => None,
        };
    }
    let (operation, sources) = if literal == 1 {
        (Operation::Add, [factor, addend])
    } else if literal == truncate(u64::MAX, width) {
        (Operation::Sub, [addend, factor])
    } else {
        return None;
    };
    let [one, other] = sources.map(New::Operand);
    walk.instead(inst, operation, Qualifiers::default(), &[mad.ty], &[New::register(mad.result), one, other])
}

fn sum_with_zero(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let mad = mad(walk, inst)?;
    let width = if mad.part == Part::Wide { 2 * mad.ty.bits() } else { mad.ty.bits() };
    if truncate(walk.literal(mad.addend)?, width) != 0 {
        return None;
    }
    let product = Qualifiers { part: Some(mad.part), ..Qualifiers::default() };
    let [one, other] = mad.factors.map(New::Operand);
    walk.instead(inst, Operation::Mul, product, &[mad.ty], &[New::register(mad.result), one, other])
}

fn mad_of_extensions(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let mad = mad(walk, inst).filter(|mad| mad.part == Part::Low)?;
    let (one, other) = mad.orders().into_iter().find_map(|[one, other]| {
        let extension = walk.extension(one, inst)?;
        Some((extension, other))
    })?;
    let factor = walk.beside(&one, other, inst, mad.ty.bits(), one.from)?;
    if mad.ty.bits() != 2 * one.from.bits() || one.from.bits() < 16 {
        return None;
    }
    let wide = Qualifiers { part: Some(Part::Wide), ..Qualifiers::default() };
    let operands = [New::register(mad.result), New::Operand(one.source), factor, New::Operand(mad.addend)];
    walk.instead(inst, Operation::Mad, wide, &[one.from], &operands)
}
