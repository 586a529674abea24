//! Comparisons of what was cut or extended for nothing: numbers that fit the narrow type before and after.
//!
//! Front ends with registers of 16 bits for bytes load a byte, cut or extend it, and compare it with a letter:
//! ```text
//! ld.u8 %r1, [a]; cvt.u16.u32 %rs1, %r1; setp.eq.u16 %p1, %rs1, 47;   ->   setp.eq.u32 %p1, %r1, 47;
//! ld.u8 %rs1, [a]; cvt.s16.s8 %rs2, %rs1; setp.eq.s16 %p1, %rs2, 47;  ->   setp.eq.u16 %p1, %rs1, 47;
//! ```

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Extension, integer_of, narrowed};
use crate::values::general_optimize::rewrite::{New, Rewrite};
use crate::values::known_bits::Known;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Qualifiers};
use ptxopt_components::types::{PtxType, extend, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "compare-what-was-cut",
        operations: &[Operation::Setp],
        pattern: "x = cvt.u16.u32 y; setp.eq.u16 x, c -> setp.eq.u32 y, c, where y fits 16 bits; also of two that were cut",
        reason: "what was cut is compared, as nothing was cut off",
        guards: &[
            Guard {
                needs: "a number that fits",
                without: "cvt.u16.u32 %rs1, 65536; setp.eq.u16 %p1, %rs1, 0 is true",
            },
            Guard {
                needs: "an order of the same kind: with signs where it fits with one",
                without: "cvt.u16.u32 %rs1, 40000; setp.lt.s16 %p1, %rs1, 0 is true",
            },
            Guard {
                needs: "y still holds what was cut",
                without: "cvt.u16.u32 %rs1, %r1; mov.u32 %r1, 7; setp.eq.u16 %p1, %rs1, 7 is of the old %r1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(compare_what_was_cut),
    },
    Rule {
        name: "compare-an-extended-byte",
        operations: &[Operation::Setp],
        pattern: "x = cvt.s16.s8 y; setp.eq.s16 x, c -> setp.eq.u16 y, c & 255, where the upper bits of y are zero",
        reason: "the byte is compared as it lies in its register",
        guards: &[
            Guard {
                needs: "upper bits of y that are zero, or a number that is extended already",
                without: "cvt.s16.s8 %rs2, 256; setp.eq.s16 %p1, %rs2, 0 is true",
            },
            Guard {
                needs: "of bytes with a sign, a comparison for equality",
                without: "cvt.s16.s8 %rs2, 128; setp.lt.s16 %p1, %rs2, 0 is true",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(compare_an_extended_byte),
    },
];

/// A comparison of two integers with one result. It has no other qualifier: what combines it takes a third source.
struct Compared {
    comparison: Comparison,
    ty: PtxType,
    result: VRegId,
    one: Operand,
    other: Operand,
}

fn compared(walk: &Walk<'_, '_>, inst: InstId) -> Option<Compared> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let description = walk.f.description_of(inst);
    let ty = description.types[0].filter(|&ty| ty.is_of_integers())?;
    let comparison = description.qualifiers.comparison?;
    Some(Compared { comparison, ty, result: walk.only_result(inst)?, one, other })
}

impl Compared {
    fn is_of_equality(&self) -> bool {
        matches!(self.comparison, Comparison::Equal | Comparison::NotEqual)
    }

    /// Whether the order that it asks about has signs; none where it asks for equality. `lo` and its like are of types without one.
    fn has_signs(&self) -> Option<bool> {
        (!self.is_of_equality()).then_some(self.ty.is_signed())
    }

    /// The comparison of two other sources as integers of `ty`.
    fn of(&self, walk: &mut Walk<'_, '_>, inst: InstId, ty: PtxType, sources: [New; 2]) -> Option<Rewrite> {
        let qualifiers = Qualifiers { comparison: Some(self.comparison), ..Qualifiers::default() };
        let result = New::Operand(Operand::predicate(self.result, false));
        walk.instead(inst, Operation::Setp, qualifiers, &[ty], &[result, sources[0], sources[1]])
    }
}

/// Whether a number is the same when it is cut to `width` bits and extended again, with a sign or without.
fn fits(known: Known, width: u32, has_sign: bool) -> bool {
    if has_sign {
        extend(truncate(known.least() as u64, width), width) == known.least()
            && extend(truncate(known.most() as u64, width), width) == known.most()
            && known.least() <= known.most()
    } else {
        known.high() <= truncate(u64::MAX, width)
    }
}

/// The conversion that cut what a register holds before `inst`, where its source is still there, and what is known of that.
fn cut(walk: &mut Walk<'_, '_>, operand: Operand, inst: InstId) -> Option<(Extension, Known)> {
    let definition = walk.computed_by(operand, inst)?;
    let found = walk.conversion(definition).filter(|found| found.to.bits() < found.from.bits())?;
    let width = found.from.bits();
    let is_there = walk.width(found.source.vreg()?) == width && walk.is_still(found.source, definition, inst);
    is_there.then(|| (found, walk.known(found.source, width, definition)))
}

fn compare_what_was_cut(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let compared = compared(walk, inst)?;
    let width = compared.ty.bits();
    let (first, known) = cut(walk, compared.one, inst).filter(|(first, _)| first.to.bits() == width)?;
    let wide = first.from.bits();
    let literal = walk.literal(compared.other);
    let second = match literal {
        Some(_) => None,
        None => Some(cut(walk, compared.other, inst).filter(|(second, _)| second.from.bits() == wide)?),
    };
    let all_fit = |has_sign| {
        fits(known, width, has_sign) && second.is_none_or(|(_, known)| fits(known, width, has_sign))
    };
    let has_sign = match compared.has_signs() {
        Some(has_signs) => all_fit(has_signs).then_some(has_signs)?,
        None if all_fit(false) => false,
        None => all_fit(true).then_some(true)?,
    };
    let ty = integer_of(wide, has_sign);
    let other = match (second, literal) {
        (Some((second, _)), _) => New::Operand(second.source),
        (None, literal) => {
            let cut = truncate(literal?, width);
            let bits = if has_sign { extend(cut, width) as u64 } else { cut };
            New::Constant(truncate(bits, wide), ty)
        }
    };
    compared.of(walk, inst, ty, [New::Operand(first.source), other])
}

fn compare_an_extended_byte(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let compared = compared(walk, inst)?;
    let extended = walk.extension(compared.one, inst)?;
    let (narrow, wide) = (extended.from.bits(), extended.to.bits());
    let register = walk.width(extended.source.vreg()?);
    let literal = walk.literal(compared.other).filter(|_| wide == compared.ty.bits() && narrow < register)?;
    let cut = narrowed(literal, wide, extended.from)?;
    // What was extended is what its source still is.
    let known = walk.known(extended.source, register, inst);
    let has_sign = extended.from.is_signed();
    let (bits, order_has_sign) = if fits(known, narrow, has_sign) {
        (if has_sign { extend(cut, narrow) as u64 } else { cut }, has_sign)
    } else if compared.is_of_equality() && fits(known, narrow, false) {
        (cut, false)
    } else {
        return None;
    };
    // Numbers without a sign are in the same order with one: they are not negative in the wide type.
    let is_same_order = compared.has_signs().is_none_or(|has_signs| has_signs == has_sign || !has_sign);
    if !is_same_order {
        return None;
    }
    let ty = integer_of(register, order_has_sign);
    compared.of(walk, inst, ty, [New::Operand(extended.source), New::Constant(truncate(bits, register), ty)])
}
