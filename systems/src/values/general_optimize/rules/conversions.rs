//! Conversions of integers, and of floats to them: what converts nothing, and two that are one, of which a mask may be one.

use super::{Apply, Guard, Rule};
use crate::values::general_optimize::Walk;
use crate::values::general_optimize::clues::Clues;
use crate::values::general_optimize::pattern::{Binary, Extension, integer_of, is_integer_type, plain};
use crate::values::general_optimize::rewrite::{New, Rewrite, bits_of};
use ptxopt_components::description::Description;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Qualifiers, Rounding};
use ptxopt_components::types::{PtxType, truncate};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "convert-to-the-same",
        operations: &[Operation::Cvt],
        pattern: "cvt.T.U y -> y, where T and U are integers of one width",
        reason: "it converts nothing",
        guards: &[
            Guard { needs: "no .sat", without: "cvt.sat.u32.s32 %r2, %r1 is 0 where %r1 is negative" },
            Guard {
                needs: "registers as wide as the types",
                without: "cvt.u8.u8 %r2, %r1 clears the upper bits of %r1",
            },
        ],
        when: Clues::ALWAYS,
        apply: Apply::Any(convert_to_the_same),
    },
    Rule {
        name: "convert-twice",
        operations: &[Operation::Cvt],
        pattern: "x = cvt.T.U y; cvt.V.W x -> cvt.V.U y, or y where V is as wide as U",
        reason: "one conversion does the work of two",
        guards: &[
            Guard {
                needs: "a second extension with a sign, if the first had one",
                without: "cvt.s32.s16 %r1, %rs1; cvt.u64.u32 %rd1, %r1 with %rs1 = -1 is 0xFFFFFFFF, and not -1",
            },
            Guard {
                needs: "a first conversion that cuts off nothing the second one shows",
                without: "cvt.u16.u32 %rs1, %r1; cvt.u32.u16 %r2, %rs1 clears the upper bits of %r1",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvt.u64.u32 %rd1, %r1; mov.u32 %r1, %r9; cvt.u32.u64 %r2, %rd1 is the old %r1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(convert_twice),
    },
    Rule {
        name: "cut-and-extend",
        operations: &[Operation::Cvt],
        pattern: "x = cvt.u16.u32 y; cvt.u32.u16 x -> and y, 65535, or y where its upper bits are zero",
        reason: "a mask cuts off the bits",
        guards: &[Guard {
            needs: "an extension without a sign",
            without: "cvt.u16.u32 %rs1, %r1; cvt.s32.s16 %r2, %rs1 with %r1 = 65535 is -1",
        }],
        when: Clues::CONVERTED,
        apply: Apply::Any(cut_and_extend),
    },
    Rule {
        name: "convert-low-bits",
        operations: &[Operation::Cvt],
        pattern: "x = cvt.T.U y; cvt.V.W x -> cvt.V.W y, where neither T nor U is narrower than W",
        reason: "it reads bits that were not converted",
        guards: &[
            Guard {
                needs: "bits that the first conversion leaves as they are",
                without: "cvt.u32.u8 %r2, %r1; cvt.s32.s16 %r3, %r2 with %r1 = 256 is 0",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvt.u32.u16 %r1, %rs1; mov.b16 %rs1, 7; cvt.s32.s8 %r2, %r1 is of the old %rs1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(convert_low_bits),
    },
    Rule {
        name: "mask-of-a-conversion",
        operations: &[Operation::And],
        pattern: "x = cvt.T.U y; and x, 2^K - 1 -> cvt.uT.uK y, where K is the width of a type and neither T nor U is narrower",
        reason: "a conversion does the work of the mask",
        guards: &[
            Guard {
                needs: "a mask of the bits of a type, and of no others",
                without: "cvt.u32.u16 %r1, %rs1; and.b32 %r2, %r1, 254 clears the lowest bit",
            },
            Guard {
                needs: "bits that the conversion leaves as they are",
                without: "cvt.s32.s8 %r1, %rs1; and.b32 %r2, %r1, 65535 with %rs1 = -1 is 65535, and so with 255",
            },
            Guard {
                needs: "y still holds what was converted",
                without: "cvt.u32.u16 %r1, %rs1; mov.b16 %rs1, 7; and.b32 %r2, %r1, 255 is of the old %rs1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::WithLiteral(mask_of_a_conversion),
    },
    Rule {
        name: "conversion-of-a-mask",
        operations: &[Operation::Cvt],
        pattern: "x = and y, 2^K - 1; cvt.T.U x -> cvt.uT.uK y where K is the width of a type, and cvt.T.U y where that or T is no wider \
                  than the mask",
        reason: "the conversion does the work of the mask",
        guards: &[
            Guard {
                needs: "a mask of the lowest bits, as many as a type has",
                without: "and.b32 %r2, %r1, 511; cvt.u64.u32 %rd1, %r2 keeps nine bits, and no type has as many",
            },
            Guard {
                needs: "y still holds what was masked",
                without: "and.b32 %r2, %r1, 255; mov.u32 %r1, %r9; cvt.u64.u32 %rd1, %r2 is of the old %r1",
            },
        ],
        when: Clues::WITH_LITERAL,
        apply: Apply::Any(conversion_of_a_mask),
    },
    Rule {
        name: "float-of-what-was-cut",
        operations: &[Operation::Cvt],
        pattern: "x = cvt.s8.s32 y; cvt.rn.f32.s16 z, x -> cvt.rn.f32.s32 z, y, where x is the number that y is",
        reason: "the number was small before it was cut",
        guards: &[
            Guard {
                needs: "a number that the narrow type holds",
                without: "cvt.s8.s32 %rs1, %r1; cvt.rn.f32.s16 %f1, %rs1 with %r1 = 200 is -56",
            },
            Guard {
                needs: "a number that is read as it was cut",
                without: "cvt.s8.s32 %rs1, %r1; cvt.rn.f32.u16 %f1, %rs1 with %r1 = -1 is 65535",
            },
            Guard {
                needs: "y still holds what was cut",
                without: "cvt.u16.u32 %rs1, %r1; mov.u32 %r1, 7; cvt.rn.f32.u16 %f1, %rs1 is of the old %r1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(float_of_what_was_cut),
    },
    Rule {
        name: "convert-what-was-rounded",
        operations: &[Operation::Cvt],
        pattern: "x = cvt.rmi.f32.f32 y; cvt.rzi.s32.f32 x -> cvt.rmi.s32.f32 y; also rni, rzi, rpi, f16 and f64",
        reason: "it rounds as it converts",
        guards: &[
            Guard {
                needs: "rounding to an integer of one type",
                without: "cvt.rn.f16.f32 %h1, %f1; cvt.rzi.s32.f16 %r1, %h1 with %f1 = 2049.5 is 2050",
            },
            Guard {
                needs: "no .sat",
                without: "cvt.rmi.sat.f32.f32 %f2, %f1; cvt.rzi.s32.f32 %r1, %f2 with %f1 = 7 is 1",
            },
            Guard {
                needs: "a conversion that flushes where the rounding does",
                without: "cvt.rpi.f32.f32 %f2, %f1; cvt.rzi.s64.f32 %rd1, %f2 in .version 1.4 for sm_13 with the smallest %f1 is 0",
            },
            Guard {
                needs: "y still holds what was rounded",
                without: "cvt.rmi.f32.f32 %f2, %f1; mov.f32 %f1, 0f40E00000; cvt.rzi.s32.f32 %r1, %f2 is of the old %f1",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(convert_what_was_rounded),
    },
    Rule {
        name: "compare-extensions",
        operations: &[Operation::Setp],
        pattern: "x = cvt.s64.s32 y; z = cvt.s64.s32 w; setp.lt.s64 x, z -> setp.lt.s32 y, w; also with a literal for z",
        reason: "what was extended is compared",
        guards: &[
            Guard {
                needs: "both are extended with a sign, or both without",
                without: "cvt.s64.s32 %rd1, -1; cvt.u64.u32 %rd2, -1; setp.eq.s64 %p1, %rd1, %rd2 is false",
            },
            Guard {
                needs: "a literal that the narrow type holds",
                without: "cvt.u64.u32 %rd1, %r1; setp.lt.u64 %p1, %rd1, 4294967296 is always true",
            },
        ],
        when: Clues::CONVERTED,
        apply: Apply::Any(compare_extensions),
    },
];

fn convert_to_the_same(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let is_as_wide = |found: &Extension| found.to.bits() == found.from.bits();
    let Extension { from, source, .. } = walk.conversion(inst).filter(is_as_wide)?;
    let is_copy = walk.width(source.vreg()?) == from.bits();
    is_copy.then(|| walk.move_of(inst, walk.only_result(inst)?, source))?
}

/// The conversion of `inst`, and the one that computed its source, both with sources as wide as their types but for the
/// first source; that is still there.
fn two_conversions(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<[Extension; 2]> {
    let second = walk.conversion(inst)?;
    let definition = walk.computed_by(second.source, inst)?;
    let first = walk.conversion(definition)?;
    let fits = first.to.bits() == second.from.bits();
    (fits && walk.is_still(first.source, definition, inst)).then_some([first, second])
}

fn convert_twice(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let [first, second] = two_conversions(walk, inst)?;
    let [narrow, middle, wide] = [first.from.bits(), first.to.bits(), second.to.bits()];
    // The sign that the result is extended with, if it is extended.
    let has_sign = match (middle > narrow, wide > middle) {
        // What was extended without a sign is not negative.
        (true, true) if first.from.is_signed() && !second.from.is_signed() => return None,
        (true, _) => first.from.is_signed(),
        (false, true) => return None,
        (false, false) => false,
    };
    let result = walk.only_result(inst)?;
    if wide == narrow {
        let is_whole = walk.width(first.source.vreg()?) == narrow;
        return is_whole.then(|| walk.move_of(inst, result, first.source))?;
    }
    let types = [integer_of(second.to.bits(), has_sign), integer_of(first.from.bits(), has_sign)];
    let operands = [New::register(result), New::Operand(first.source)];
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &types, &operands)
}

fn convert_low_bits(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let second = walk.conversion(inst)?;
    let definition = walk.computed_by(second.source, inst)?;
    let first = walk.conversion(definition)?;
    let is_as_before = second.from.bits() <= first.from.bits().min(first.to.bits());
    if !is_as_before || !walk.is_still(first.source, definition, inst) {
        return None;
    }
    let operands = [New::register(walk.only_result(inst)?), New::Operand(first.source)];
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &[second.to, second.from], &operands)
}

fn cut_and_extend(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let [first, second] = two_conversions(walk, inst)?;
    let [wide, middle] = [first.from.bits(), second.from.bits()];
    let source = first.source.vreg()?;
    let is_round = wide > middle && second.to.bits() == wide && walk.width(source) == wide;
    if !is_round || second.from.is_signed() {
        return None;
    }
    let result = walk.only_result(inst)?;
    let definition = walk.computed_by(second.source, inst)?;
    let mask = truncate(u64::MAX, middle);
    if walk.known(first.source, wide, definition).possible() & !mask == 0 {
        return walk.move_of(inst, result, first.source);
    }
    let ty = bits_of(wide)?;
    let operands = [New::register(result), New::register(source), New::Constant(mask, ty)];
    walk.instead(inst, Operation::And, Qualifiers::default(), &[ty], &operands)
}

/// How many bits a type has that a mask leaves all bits of, and no others.
fn masked_type(mask: u64) -> Option<u32> {
    let bits = mask.trailing_ones();
    (matches!(bits, 8 | 16 | 32) && mask >> bits == 0).then_some(bits)
}

/// Of how many bits the type is that an `and` with a literal leaves all bits of, and no others.
pub(in crate::values::general_optimize) fn type_of_mask(walk: &Walk<'_, '_>, inst: InstId) -> Option<u32> {
    let mask = walk.binary(inst).filter(|mask| mask.operation == Operation::And)?;
    masked_type(truncate(walk.literal(mask.other)?, mask.width())).filter(|&bits| bits < mask.width())
}

fn mask_of_a_conversion(
    walk: &mut Walk<'_, '_>,
    inst: InstId,
    binary: Binary,
    literal: u64,
) -> Option<Rewrite> {
    let width = binary.width();
    let bits = masked_type(truncate(literal, width)).filter(|&bits| bits < width)?;
    let definition = walk.computed_by(binary.one, inst)?;
    let first = walk.conversion(definition)?;
    let is_as_before = bits <= first.from.bits() && first.to.bits() == width;
    if !is_as_before || !walk.is_still(first.source, definition, inst) {
        return None;
    }
    let types = [integer_of(width, false), integer_of(bits, false)];
    let operands = [New::register(binary.result), New::Operand(first.source)];
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &types, &operands)
}

fn conversion_of_a_mask(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let conversion = walk.conversion(inst)?;
    let definition = walk.computed_by(conversion.source, inst)?;
    let mask = walk.binary(definition).filter(|mask| mask.operation == Operation::And)?;
    let bits = masked_type(truncate(walk.literal(mask.other)?, mask.width()))?;
    let base = mask.one.vreg().filter(|_| mask.one == plain(mask.one))?;
    let is_whole = walk.width(base) == mask.width() && walk.width(conversion.source.vreg()?) == mask.width();
    if !is_whole || !walk.is_still(mask.one, definition, inst) {
        return None;
    }
    let Extension { from, to, .. } = conversion;
    let is_shown = bits < from.bits().min(to.bits());
    let types = if is_shown { [integer_of(to.bits(), false), integer_of(bits, false)] } else { [to, from] };
    let operands = [New::register(walk.only_result(inst)?), New::register(base)];
    walk.instead(inst, Operation::Cvt, Qualifiers::default(), &types, &operands)
}

/// The cut goes where nothing else reads it. From sm_90 on `ptxas` 13.0.88 makes `I2FP.F32.S32` of the result, and `I2F.S16` of what it was.
fn float_of_what_was_cut(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let (qualifiers, [Some(float), Some(read), None, ..]) = (description.qualifiers, description.types)
    else {
        return None;
    };
    let is_float = matches!(float, PtxType::F16 | PtxType::F32 | PtxType::F64);
    let &[_, narrow] = walk.f.operands_of(inst) else { return None };
    let definition = walk.computed_by(narrow, inst).filter(|_| is_float && is_integer_type(read))?;
    let form = walk.f.form_of(definition);
    let is_plain = form.operation == Operation::Cvt && form.flags.contains(FormFlags::PLAIN);
    let ([Some(cut), Some(whole), ..], &[_, source]) =
        (walk.f.description_of(definition).types, walk.f.operands_of(definition))
    else {
        return None;
    };
    let is_cut = is_integer_type(cut) && is_integer_type(whole) && cut.bits() < whole.bits();
    let vreg = source.vreg().filter(|&vreg| {
        let is_whole = whole.bits() == 32 && walk.width(vreg) == 32 && walk.is_own(vreg);
        is_plain && is_cut && is_whole && source == Operand::register(vreg)
    })?;
    let known = walk.known(source, 32, definition);
    let holds = |ty: PtxType| {
        let (sign, bits) = (u32::from(ty.is_signed()), ty.bits());
        let most = (1i64 << (bits - sign)) - 1;
        known.most() <= most && known.least() >= -i64::from(sign) * (most + 1)
    };
    let is_small = holds(cut) && holds(read) && read.bits() < 32;
    if !is_small || !walk.is_still(source, definition, inst) {
        return None;
    }
    let result = walk.only_result(inst)?;
    let types = [float, integer_of(32, read.is_signed())];
    walk.instead(inst, Operation::Cvt, qualifiers, &types, &[New::register(result), New::register(vreg)])
}

/// Subnormal numbers are flushed where the rounding flushes them: what is rounded is none. In old modules the rounding may do so
/// without a word, and the conversion to 64 bits not.
fn convert_what_was_rounded(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let description = walk.f.description_of(inst);
    let ([Some(integer), Some(float), None, ..], &[_, rounded]) =
        (description.types, walk.f.operands_of(inst))
    else {
        return None;
    };
    let flushes_at_most = |qualifiers: Qualifiers| Modifiers::FTZ.contains(qualifiers.modifiers);
    let is_float = matches!(float, PtxType::F16 | PtxType::F32 | PtxType::F64);
    let is_conversion = is_float && is_integer_type(integer) && flushes_at_most(description.qualifiers);
    let definition = walk.computed_by(rounded, inst).filter(|_| is_conversion)?;
    let first = walk.f.description_of(definition);
    let Qualifiers { rounding, modifiers, .. } = first.qualifiers;
    let is_rounding = first.operation == Operation::Cvt
        && matches!(first.types, [Some(to), Some(from), None, ..] if to == float && from == float)
        && rounding.is_some_and(Rounding::is_to_integer)
        && flushes_at_most(first.qualifiers);
    let &[_, source] = walk.f.operands_of(definition) else { return None };
    let vreg = source.vreg().filter(|&vreg| is_rounding && source == Operand::register(vreg))?;
    let qualifiers = Qualifiers { rounding, modifiers, ..Qualifiers::default() };
    let conversion = Description { qualifiers, ..*walk.f.description_of(inst) };
    if first.flushes() && !conversion.flushes() || !walk.is_still(source, definition, inst) {
        return None;
    }
    let result = walk.only_result(inst)?;
    let operands = [New::register(result), New::register(vreg)];
    walk.instead(inst, Operation::Cvt, qualifiers, &[integer, float], &operands)
}

fn compare_extensions(walk: &mut Walk<'_, '_>, inst: InstId) -> Option<Rewrite> {
    let &[_, one, other] = walk.f.operands_of(inst) else { return None };
    let description = walk.f.description_of(inst);
    let (ty, comparison) = (description.types[0]?, description.qualifiers.comparison?);
    // There is no comparison at eight bits.
    let first = walk.extension(one, inst).filter(|first| ty.is_of_integers() && first.from.bits() >= 16)?;
    // Extended values are in the same order as before, with signs as well as without: those extended without a sign are
    // not negative.
    let narrow = integer_of(first.from.bits(), first.from.is_signed() && ty.is_signed());
    let second = walk.beside(&first, other, inst, ty.bits(), narrow)?;
    let qualifiers = Qualifiers { comparison: Some(comparison), ..Qualifiers::default() };
    let result = New::Operand(Operand::predicate(walk.only_result(inst)?, false));
    let operands = [result, New::Operand(first.source), second];
    walk.instead(inst, Operation::Setp, qualifiers, &[narrow], &operands)
}
