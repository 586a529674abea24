//! The straight-line instructions that kernels are made of, as a table of templates.
//!
//! A template is PTX with slots, a sign and the letter of a register class:
//!
//! | slot | meaning |
//! |---|---|
//! | `>r` | definition |
//! | `>?r` | definition that may be a sink |
//! | `<r` | use, register or immediate |
//! | `=r` | use, register only |
//! | `/r` | divisor of an unsigned division: 1 is ORed in |
//! | `+r` | divisor of a signed division: made positive, so that neither 0 nor the smallest number by -1 comes up |
//! | `&r` | position or length of a bit field, distance of a shift: 0 to 255 |
//!
//! `(a|b)` spells one instruction for each alternative. All results are defined by the ISA for all operands: divisors
//! are never 0 (nor -1), floats round in a stated direction (so nothing contracts), approximations are absent.

use crate::options::Feature;
use crate::tree::Class;
use std::sync::OnceLock;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A definition.
    Def {
        /// The register's class.
        class: Class,
        /// Whether `_` may stand there.
        may_sink: bool,
    },
    /// A use.
    Use {
        /// The class.
        class: Class,
        /// The sign of the slot.
        sign: char,
    },
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Op {
    /// First architecture that has it.
    pub arch_min: u32,
    /// What it belongs to.
    pub feature: Feature,
    /// The template.
    pub pieces: Vec<Piece>,
    /// Classes of definitions and uses, in order: equal for instructions that can stand for one another.
    pub signature: String,
}

impl Op {
    /// The classes of the definition slots, and whether each may be a sink.
    pub fn defs(&self) -> impl Iterator<Item = (Class, bool)> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Def { class, may_sink } => Some((*class, *may_sink)),
            _ => None,
        })
    }

    /// The classes of the use slots, and their signs.
    pub fn uses(&self) -> impl Iterator<Item = (Class, char)> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Use { class, sign } => Some((*class, *sign)),
            _ => None,
        })
    }
}

/// All instructions.
#[must_use]
pub fn catalogue() -> &'static [Op] {
    static OPS: OnceLock<Vec<Op>> = OnceLock::new();
    OPS.get_or_init(|| {
        TABLE.iter().flat_map(|&(feature, arch, lines)| section(feature, arch, lines)).collect()
    })
}

fn section(feature: Feature, arch_min: u32, lines: &str) -> Vec<Op> {
    let templates = lines.lines().map(str::trim).filter(|line| !line.is_empty()).flat_map(spell);
    templates.map(|template| op(feature, arch_min, &template)).collect()
}

/// All spellings of a template.
fn spell(template: &str) -> Vec<String> {
    let Some((head, rest)) = template.split_once('(') else { return vec![template.to_owned()] };
    let (alternatives, tail) = rest.split_once(')').expect("parentheses are closed");
    let tails = spell(tail);
    let heads = alternatives.split('|').map(|alternative| format!("{head}{alternative}"));
    heads.flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}"))).collect()
}

fn op(feature: Feature, arch_min: u32, template: &str) -> Op {
    let (mut pieces, mut text, mut signature) = (Vec::new(), String::new(), String::new());
    let mut chars = template.chars().peekable();
    while let Some(sign) = chars.next() {
        if !"><=/+&".contains(sign) {
            text.push(sign);
            continue;
        }
        let may_sink = chars.next_if_eq(&'?').is_some();
        let letter = chars.next().expect("a letter follows the sign");
        let class = Class::of_letter(letter).expect("the letter names a class");
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(if sign == '>' { Piece::Def { class, may_sink } } else { Piece::Use { class, sign } });
        signature.extend([if sign == '>' { '>' } else { '<' }, letter]);
    }
    pieces.push(Piece::Text(text));
    Op { arch_min, feature, pieces, signature }
}

const TABLE: &[(Feature, u32, &str)] = &[
    (Feature::Integer, 50, INTEGER),
    (Feature::Integer, 50, BOUNDED),
    (Feature::Narrow, 50, NARROW),
    (Feature::Wide, 50, WIDE),
    (Feature::Bits, 50, BITS),
    (
        Feature::Bits,
        61,
        "dp4a.(u32|s32).(u32|s32) >r, <r, <r, <r\ndp2a.(lo|hi).(u32|s32).(u32|s32) >r, <r, <r, <r",
    ),
    (Feature::Bits, 70, "szext.(clamp|wrap).(u32|s32) >r, <r, <r\nbmsk.(clamp|wrap).b32 >r, <r, <r"),
    (Feature::Bits, 70, "lop3.(or|and).b32 >r|>p, <r, <r, <r, (0x96|0xe8), (|!)=p"),
    (Feature::Predicates, 50, PREDICATES),
    (Feature::Moves, 50, MOVES),
    (Feature::Vectors, 50, VECTORS),
    (Feature::Convert, 50, CONVERT),
    (
        Feature::Convert,
        75,
        "cvt.pack.sat.(u16|s16).s32 >r, =r, =r\ncvt.pack.sat.(u8|s8).s32.b32 >r, =r, =r, =r",
    ),
    (Feature::Float, 50, FLOAT),
    (Feature::Float, 80, "(min|max).(|ftz.)NaN.f32 >f, <f, <f\n(min|max).(|NaN.)f32 >f, <f, <f"),
    (Feature::Double, 50, DOUBLE),
    (Feature::Half, 60, HALF),
    (Feature::Half, 80, "(min|max).(|ftz.)(|NaN.)f16 >e, =e, =e\n(min|max).(|ftz.)(|NaN.)f16x2 >x, =x, =x"),
    (Feature::Half, 80, "fma.rn.(|ftz.)relu.f16 >e, =e, =e, =e\ncvt.rn.f16x2.f32 >x, =f, =f"),
    (Feature::Brain, 80, BRAIN),
    (Feature::Brain, 90, "(add|sub|mul).rn.bf16 >b, =b, =b\n(add|sub|mul).rn.bf16x2 >y, =y, =y"),
    (Feature::Brain, 90, "setp.(lt|geu|nan).bf16 >p, =b, =b\nsetp.(lt|neu).bf16x2 >?p|>?p, =y, =y"),
    (
        Feature::Brain,
        90,
        "cvt.f32.bf16 >f, =b\ncvt.(rni|rzi).(u32|s32).bf16 >r, =b\ncvt.rn.bf16.(u16|s16) >b, =h",
    ),
    (Feature::Video, 50, VIDEO),
    (Feature::Fences, 50, "membar.(cta|gl)"),
    (Feature::Fences, 70, "fence.(acq_rel|sc).(cta|gpu)"),
];

const INTEGER: &str = "
    (add|sub|mul.lo|mul.hi|min|max).(u32|s32) >r, <r, <r
    (add|sub).sat.s32 >r, <r, <r
    mad.(lo|hi).(u32|s32) >r, <r, <r, <r
    mad.hi.sat.s32 >r, <r, <r, <r
    mul24.(lo|hi).(u32|s32) >r, <r, <r
    mad24.lo.(u32|s32) >r, <r, <r, <r
    sad.(u32|s32) >r, <r, <r, <r
    (neg|abs).s32 >r, <r
    (and|or|xor).b32 >r, <r, <r
    (not|cnot).b32 >r, <r
    shl.b32 >r, <r, <r
    shr.(u32|s32|b32) >r, <r, <r
    selp.(b32|u32|s32) >r, <r, <r, =p
    slct.(u32|s32|b32).s32 >r, <r, <r, <r
    slct.(|ftz.)(u32|s32).f32 >r, <r, <r, =f
    mul.wide.(u16|s16) >r, <h, <h
    mad.wide.(u16|s16) >r, <h, <h, <r
    set.(lt|ge|eq|ne).(u32|s32).(u32|s32) >r, <r, <r
    set.(lo|hs).(u32|s32).u32 >r, <r, <r
    set.(lt|gt).(and|or|xor).u32.s32 >r, <r, <r, (|!)=p
";

const BOUNDED: &str = "
    shl.b32 >r, <r, &r
    shr.(u32|s32) >r, <r, &r
    (shl|shr).b64 >l, <l, &r
    shr.s64 >l, <l, &r
    (shl|shr).b16 >h, <h, &r
    shr.s16 >h, <h, &r
    (div|rem).u32 >r, <r, /r
    (div|rem).s32 >r, <r, +r
    (div|rem).u16 >h, <h, /h
    (div|rem).s16 >h, <h, +h
    (div|rem).(u32|s32) >r, =r, (2|64|10)
    (div|rem).s64 >l, =l, (8|7)
    (div|rem).u64 >l, <l, /l
    (div|rem).s64 >l, <l, +l
";

const NARROW: &str = "
    (add|sub|mul.lo|mul.hi|min|max).(u16|s16) >h, <h, <h
    mad.lo.(u16|s16) >h, <h, <h, <h
    sad.(u16|s16) >h, <h, <h, <h
    (neg|abs).s16 >h, <h
    (and|or|xor).b16 >h, <h, <h
    (not|cnot).b16 >h, <h
    shl.b16 >h, <h, <r
    shr.(u16|s16|b16) >h, <h, <r
    selp.(b16|u16|s16) >h, <h, <h, =p
    slct.(u16|b16).s32 >h, <h, <h, <r
";

const WIDE: &str = "
    (add|sub|mul.lo|mul.hi|min|max).(u64|s64) >l, <l, <l
    mad.(lo|hi).(u64|s64) >l, <l, <l, <l
    mul.wide.(u32|s32) >l, <r, <r
    mad.wide.(u32|s32) >l, <r, <r, <l
    sad.(u64|s64) >l, <l, <l, <l
    (neg|abs).s64 >l, <l
    (and|or|xor).b64 >l, <l, <l
    (not|cnot).b64 >l, <l
    shl.b64 >l, <l, <r
    shr.(u64|s64|b64) >l, <l, <r
    selp.(b64|u64|s64) >l, <l, <l, =p
    slct.(u64|s64).s32 >l, <l, <l, <r
";

const BITS: &str = "
    (popc|clz).b32 >r, <r
    (popc|clz).b64 >r, <l
    bfind.(|shiftamt.)(u32|s32) >r, <r
    bfind.(|shiftamt.)(u64|s64) >r, <l
    brev.b32 >r, <r
    brev.b64 >l, <l
    bfe.(u32|s32) >r, <r, &r, &r
    bfe.(u64|s64) >l, <l, &r, &r
    bfi.b32 >r, <r, <r, &r, &r
    bfi.b64 >l, <l, <l, &r, &r
    prmt.b32 >r, <r, <r, <r
    prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16) >r, <r, <r, <r
    lop3.b32 >r, <r, <r, <r, (0x96|0xe8|0xca|0x1b|0x80|0xfe)
    shf.(l|r).(wrap|clamp).b32 >r, <r, <r, <r
";

const PREDICATES: &str = "
    setp.(eq|ne|lt|le|gt|ge).(s32|u32) >p, <r, <r
    setp.(lo|ls|hi|hs).u32 >p, <r, <r
    setp.(eq|ne).b32 >p, <r, <r
    setp.(lt|ge|eq).(s16|u16) >p, <h, <h
    setp.(lt|gt|le|ne).(s64|u64) >p, <l, <l
    setp.(lt|ge|ne).(s32|u32) >?p|>?p, <r, <r
    setp.(lt|eq).s64 >?p|>?p, <l, <l
    setp.(lt|ge|eq).(and|or|xor).(s32|u32) >p, <r, <r, (|!)=p
    setp.(gt|ne).(and|or|xor).s32 >?p|>?p, <r, <r, (|!)=p
    (and|or|xor).pred >p, =p, =p
    not.pred >p, =p
    mov.pred >p, (|!)=p
";

const MOVES: &str = "
    mov.(b32|u32|s32) >r, <r
    mov.(b64|u64) >l, <l
    mov.(b16|u16) >h, <h
    mov.f32 >f, <f
    mov.f64 >d, <d
    mov.u32 >r, %(tid.x|tid.y|ntid.x|ctaid.x|nctaid.x|laneid|lanemask_lt|lanemask_ge|lanemask_eq)
    cvt.u64.u32 >l, %(tid.x|ctaid.x)
    cvt.u16.u32 >h, %(tid.x|laneid)
";

const VECTORS: &str = "
    mov.b64 {>?r, >?r}, =l
    mov.b64 >l, {=r, =r}
    mov.b32 {>?h, >?h}, =r
    mov.b32 >r, {=h, =h}
    mov.b64 {>?h, >?h, >?h, >?h}, =l
    mov.b64 >l, {=h, =h, =h, =h}
";

const CONVERT: &str = "
    cvt.(|sat.)(u8|s8|u16|s16).(u32|s32) >h, =r
    cvt.(|sat.)(u8|s8|u16|s16).(u64|s64) >h, =l
    cvt.(|sat.)(u8|s8).(u16|s16) >h, =h
    cvt.(u8|s8).(u32|s32) >r, =r
    cvt.(u16|s16).(u32|s32) >r, =r
    cvt.(u32|s32).(u8|s8|u16|s16) >r, =h
    cvt.(|sat.)(u32|s32).(u64|s64) >r, =l
    cvt.sat.u32.s32 >r, =r
    cvt.sat.s32.u32 >r, =r
    cvt.(u64|s64).(u32|s32) >l, =r
    cvt.(u64|s64).(u8|s8|u16|s16) >l, =h
    cvt.(rn|rz|rm|rp).f32.(u32|s32) >f, =r
    cvt.(rn|rz).f32.(u64|s64) >f, =l
    cvt.rn.f32.(u8|s8|u16|s16) >f, =h
    cvt.(rn|rz|rm|rp).f64.(u64|s64) >d, =l
    cvt.rn.f64.(u32|s32) >d, =r
    cvt.(rni|rzi|rmi|rpi).(|ftz.)(u32|s32).f32 >r, =f
    cvt.(rni|rzi).(|ftz.)(u64|s64).f32 >l, =f
    cvt.(rni|rzi).(|ftz.)(u8|s8|u16|s16).f32 >h, =f
    cvt.(rni|rzi|rmi|rpi).(u32|s32).f64 >r, =d
    cvt.(rzi|rmi).(u64|s64).f64 >l, =d
";

const FLOAT: &str = "
    (add|sub|mul).(rn|rz|rm|rp).(|ftz.)(|sat.)f32 >f, <f, <f
    fma.(rn|rz|rm|rp).(|ftz.)(|sat.)f32 >f, <f, <f, <f
    div.(rn|rz).(|ftz.)f32 >f, <f, <f
    (rcp|sqrt).(rn|rm).(|ftz.)f32 >f, <f
    (min|max).(|ftz.)f32 >f, <f, <f
    (abs|neg).(|ftz.)f32 >f, <f
    copysign.f32 >f, <f, <f
    cvt.(rni|rzi|rmi|rpi).(|ftz.)(|sat.)f32.f32 >f, =f
    cvt.(|ftz.)sat.f32.f32 >f, =f
    selp.f32 >f, <f, <f, =p
    slct.f32.s32 >f, <f, <f, <r
    slct.(|ftz.)f32.f32 >f, <f, <f, <f
    testp.(finite|infinite|number|notanumber|normal|subnormal).f32 >p, =f
    setp.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan).(|ftz.)f32 >p, <f, <f
    setp.(lt|geu).(and|or|xor).f32 >?p|>?p, <f, <f, (|!)=p
    set.(lt|geu|nan).(|ftz.)(u32|s32).f32 >r, <f, <f
    set.(lt|geu).f32.f32 >f, <f, <f
    set.(lt|eq).f32.s32 >f, <r, <r
";

const DOUBLE: &str = "
    (add|sub|mul).(rn|rz|rm|rp).f64 >d, <d, <d
    fma.(rn|rz|rm|rp).f64 >d, <d, <d, <d
    div.(rn|rp).f64 >d, <d, <d
    (rcp|sqrt).(rn|rz).f64 >d, <d
    (min|max).f64 >d, <d, <d
    (abs|neg).f64 >d, <d
    copysign.f64 >d, <d, <d
    cvt.(rni|rzi|rmi).f64.f64 >d, =d
    cvt.(|sat.)f64.f32 >d, =f
    cvt.(rn|rz|rm|rp).(|ftz.)(|sat.)f32.f64 >f, =d
    selp.f64 >d, <d, <d, =p
    slct.f64.(s32) >d, <d, <d, <r
    testp.(finite|notanumber|subnormal).f64 >p, =d
    setp.(eq|ne|lt|ge|equ|ltu|geu|num|nan).f64 >p, <d, <d
    set.(lt|neu).u32.f64 >r, <d, <d
";

const HALF: &str = "
    (add|sub|mul).rn.(|ftz.)(|sat.)f16 >e, =e, =e
    fma.rn.(|ftz.)(|sat.)f16 >e, =e, =e, =e
    (neg|abs).(|ftz.)f16 >e, =e
    (add|sub|mul).rn.(|ftz.)(|sat.)f16x2 >x, =x, =x
    fma.rn.(|ftz.)(|sat.)f16x2 >x, =x, =x, =x
    (neg|abs).(|ftz.)f16x2 >x, =x
    setp.(eq|lt|geu|nan).(|ftz.)f16 >p, =e, =e
    setp.(lt|neu).f16x2 >?p|>?p, =x, =x
    set.(lt|geu).(u32|s32).f16 >r, =e, =e
    set.(lt|neu).(u32|s32).f16x2 >r, =x, =x
    selp.b16 >e, =e, =e, =p
    mov.b16 >e, =e
    mov.b32 >x, =x
    mov.b32 >x, {=e, =e}
    mov.b32 {>?e, >?e}, =x
    cvt.(rn|rz).f16.f32 >e, =f
    cvt.(|sat.)f32.f16 >f, =e
    cvt.rn.f16.(u16|s16) >e, =h
    cvt.rn.f16.(u32|s32) >e, =r
    cvt.(rni|rzi).(u32|s32).f16 >r, =e
    cvt.rzi.(u16|s16).f16 >h, =e
    cvt.rn.f16.f64 >e, =d
    cvt.f64.f16 >d, =e
    cvt.(rni|rpi).f16.f16 >e, =e
";

const BRAIN: &str = "
    fma.rn.(|relu.)bf16 >b, =b, =b, =b
    fma.rn.(|relu.)bf16x2 >y, =y, =y, =y
    (min|max).(|NaN.)bf16 >b, =b, =b
    (min|max).(|NaN.)bf16x2 >y, =y, =y
    (neg|abs).bf16 >b, =b
    (neg|abs).bf16x2 >y, =y
    selp.b16 >b, =b, =b, =p
    mov.b16 >b, =b
    mov.b32 >y, =y
    mov.b32 >y, {=b, =b}
    mov.b32 {>?b, >?b}, =y
    cvt.(rn|rz).(|relu.)bf16.f32 >b, =f
    cvt.rn.(|relu.)bf16x2.f32 >y, =f, =f
";

const VIDEO: &str = "
    (vadd|vsub).(u32|s32).(u32|s32).(u32|s32).(|sat.)(add|min|max) >r, =r.(b0|h1), =r.(b3|h0), =r
    (vadd|vabsdiff).(u32|s32).s32.u32.(|sat.)(add|max) >r, =r, =r.b1, =r
    vsub.s32.(u32|s32).s32.sat >r.(b0|h1), =r, =r.(b2|h0), =r
    (vmin|vmax).(u32|s32).(u32|s32).s32 >r, =r.b2, =r.h1
    vshl.u32.(u32|s32).u32.(clamp|wrap) >r, =r, =r
    vshr.(u32|s32).s32.u32.(clamp|wrap) >r, =r, =r.b1
    vmad.(u32|s32).s32.u32.(|sat.)(shr7|shr15) >r, =r.h0, =r.b2, =r
    vmad.u32.u32.u32.(|po.|sat.)shr7 >r, =r.h1, =r.b0, =r
    vset.(u32|s32).u32.(lt|ge|eq).(add|min) >r, =r.b0, =r.h0, =r
    (vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2).(u32|s32).(u32|s32).s32(|.sat|.add) >r, =r, =r, =r
    (vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4).s32.(u32|s32).u32(|.sat|.add) >r, =r, =r, =r
    (vset2|vset4).(u32|s32).(u32|s32).(lt|ne)(|.add) >r, =r, =r, =r
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_multiply_and_slots_are_found() {
        assert_eq!(spell("(a|b).c(1|2)"), ["a.c1", "a.c2", "b.c1", "b.c2"]);
        assert_eq!(spell("cvt.(|sat.)x"), ["cvt.x", "cvt.sat.x"]);
        let op = op(Feature::Bits, 50, "setp.lt.s32 >?p|>?p, <r, =r");
        assert_eq!(op.defs().collect::<Vec<_>>(), [(Class::P, true), (Class::P, true)]);
        assert_eq!(op.uses().collect::<Vec<_>>(), [(Class::R, '<'), (Class::R, '=')]);
        assert_eq!(op.signature, ">p>p<r<r");
    }

    #[test]
    fn indices_fit_their_field() {
        assert!(u16::try_from(catalogue().len()).is_ok());
    }
}
