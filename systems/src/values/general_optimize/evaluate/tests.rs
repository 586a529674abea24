//! Floats against the emulator, form by form: values at which something can go wrong in all combinations, and random ones.
//!
//! The emulator computes with the processor's own arithmetic and with sums rounded to odd; only `f64` with a directed
//! rounding comes from the same library, and is compared with error-free transformations instead.

use super::{evaluate, in_register};
use crate::check::testing::Random;
use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Modifiers;
use ptxopt_components::types::PtxType;
use ptxopt_emulator::arith::{Evaluator, Request, evaluator};

/// Operand sets that each form is tried with.
const SET_COUNT: usize = 10_000;

impl Random {
    /// A float: an edge of its format, one near another value of the set, or anything.
    fn float(&mut self, format: Layout, others: &[u64]) -> u64 {
        let Layout { fraction, exponent } = format;
        let sign = (self.next() & 1) << (fraction + exponent);
        let (last, top) = ((1 << fraction) - 1, (1 << exponent) - 1);
        let fractions =
            [0, 1, last, last - 1, 1 << (fraction - 1), (1 << (fraction - 1)) + 1, self.next() & last];
        let some_fraction = fractions[self.below(7)];
        let one = top >> 1;
        let some_exponent = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => top,
            3 => top - 1,
            4 => one,
            // Near 1, where sums and products of the set meet halfway between two values.
            5 => (one + self.below(2 * fraction as usize + 4) as u64).min(top) - u64::from(fraction).min(one),
            6 => others.first().map_or(one, |other| other >> fraction & top),
            _ => self.next() & top,
        };
        sign | some_exponent << fraction | some_fraction
    }

    /// An integer: an edge of some width, or anything.
    fn integer(&mut self) -> u64 {
        let power = 1_u64 << self.below(64);
        match self.below(6) {
            0 => power,
            1 => power.wrapping_neg(),
            2 => power - 1,
            // Halfway between two floats of some precision.
            3 => power | power >> self.below(64),
            4 => self.below(70_000) as u64,
            _ => self.next() >> self.below(64),
        }
    }
}

/// How the bits of a float lie.
#[derive(Clone, Copy)]
struct Layout {
    fraction: u32,
    exponent: u32,
}

impl Layout {
    fn of(ty: PtxType) -> Option<Self> {
        let (fraction, exponent) = match ty {
            PtxType::F16 | PtxType::F16x2 => (10, 5),
            PtxType::Bf16 | PtxType::Bf16x2 => (7, 8),
            PtxType::F32 | PtxType::F32x2 | PtxType::Tf32 => (23, 8),
            PtxType::F64 => (52, 11),
            _ => return None,
        };
        Some(Self { fraction, exponent })
    }

    fn width(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn magnitude(self, bits: u64) -> u64 {
        bits & ((1 << (self.exponent + self.fraction)) - 1)
    }

    /// A subnormal value as the zero of its sign.
    fn flush(self, bits: u64) -> u64 {
        let is_subnormal = self.magnitude(bits) < 1 << self.fraction;
        if is_subnormal { bits & 1 << (self.exponent + self.fraction) } else { bits }
    }

    fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > ((1 << self.exponent) - 1) << self.fraction
    }
}

fn parse(mnemonic: &str, dialect: Dialect) -> Description {
    let mut words = mnemonic.split('.').map(str::as_bytes);
    let root = words.next().expect("it has a root");
    Description::parse(root, &words.collect::<Vec<_>>(), dialect).unwrap_or_else(|| panic!("{mnemonic}"))
}

/// The parts of a value of a type, the lowest first.
fn parts(ty: PtxType, bits: u64) -> Vec<u64> {
    match Layout::of(ty) {
        Some(layout) => {
            let mask = u64::MAX >> (64 - layout.width());
            (0..ty.bits() / layout.width()).map(|part| bits >> (part * layout.width()) & mask).collect()
        }
        None => vec![bits],
    }
}

/// What a form may leave alone, given its sources and what the emulator computes, with `.ftz` and without it of sources that are
/// flushed: what the ISA does not say to the bit.
fn may_stay(description: &Description, sources: &[u64], expected: u64, unflushed: u64) -> bool {
    let result_type = description.types[0].expect("it has a type");
    let source_type = description.types[1].unwrap_or(result_type);
    if let Some(first) = first_of_place(description.operation) {
        let most = if description.operation == Operation::Fns { 31 } else { 0xFF };
        return sources[first..].iter().any(|&bits| bits > most);
    }
    let Some(source_layout) = Layout::of(source_type) else { return false };
    let has_nan =
        sources.iter().flat_map(|&bits| parts(source_type, bits)).any(|bits| source_layout.is_nan(bits));
    let modifiers = description.qualifiers.modifiers;
    let Some(layout) = Layout::of(result_type) else { return has_nan };
    let (clears, sign) = (Modifiers::SAT | Modifiers::RELU, 1 << (layout.width() - 1));
    let became_normal = |bits: u64| description.flushes() && layout.magnitude(bits) == 1 << layout.fraction;
    let is_open = |bits: u64| {
        layout.is_nan(bits)
            // The emulator gives these the sign that it gives them.
            || has_nan && modifiers.contains(Modifiers::XORSIGN)
            || modifiers.intersects(clears) && bits & !sign == 0
    };
    parts(result_type, unflushed).into_iter().any(became_normal)
        || parts(result_type, expected).into_iter().any(is_open)
}

/// A value of a type with each part that is subnormal as a zero.
fn flush(ty: PtxType, bits: u64) -> u64 {
    let Some(layout) = Layout::of(ty) else { return bits };
    let parts = parts(ty, bits).into_iter().zip((0..).step_by(layout.width() as usize));
    parts.map(|(part, at)| layout.flush(part) << at).fold(0, |all, part| all | part)
}

/// What an instruction of the emulator makes of these sources.
fn first_lane(of_emulator: &Evaluator, sources: &[u64]) -> u64 {
    let lanes: Vec<_> = sources.iter().map(|&source| [source; 32]).collect();
    let mut results = [[0; 32]];
    of_emulator(&lanes.iter().collect::<Vec<_>>(), &mut results);
    results[0][0]
}

/// The source that is the position of a bit field, whose length is the next one, or of a bit, which another one is counted from.
fn first_of_place(operation: Operation) -> Option<usize> {
    match operation {
        Operation::Bfe | Operation::Fns => Some(1),
        Operation::Bfi => Some(2),
        _ => None,
    }
}

/// Compares a form of `source_count` sources with the emulator; gives how many results were known.
fn compare(mnemonic: &str, source_count: usize, flushes: bool, random: &mut Random) -> usize {
    let description = parse(mnemonic, Dialect { flushes, ..Dialect::default() });
    let dialect = ptxopt_emulator::arith::Dialect { flushes, ..ptxopt_emulator::arith::Dialect::TODAY };
    let request = Request { dialect, ..Request::plain(mnemonic, 1, source_count) };
    let of_emulator = evaluator(&request).unwrap_or_else(|| panic!("the emulator knows {mnemonic}"));
    let plain = mnemonic.replace(".ftz", "");
    let without_flushing =
        evaluator(&Request::plain(&plain, 1, source_count)).expect("it knows the form without .ftz");
    let is_typed_twice = description.types[1].is_some();
    let source_type = description.types[usize::from(is_typed_twice)].expect("it has a type");
    let is_predicate = mnemonic.starts_with("setp") || mnemonic.starts_with("testp");
    let result_width = if is_predicate { 1 } else { description.types[0].map_or(64, PtxType::bits) };
    let mut known_count = 0;
    for _ in 0..SET_COUNT {
        let mut sources: Vec<u64> = Vec::new();
        for at in 0..source_count {
            let source = match Layout::of(source_type) {
                _ if first_of_place(description.operation).is_some_and(|first| at >= first) => {
                    match (description.operation, at) {
                        (Operation::Fns, 1) => random.next() % 36,
                        (Operation::Fns, _) => (random.next() % 20).wrapping_sub(10) & 0xFFFF_FFFF,
                        _ => random.next() % 300,
                    }
                }
                Some(layout) => (0..source_type.bits() / layout.width())
                    .map(|part| random.float(layout, &sources) << (part * layout.width()))
                    .fold(0, |all, part| all | part),
                None => random.integer() & u64::MAX >> (64 - source_type.bits()),
            };
            sources.push(source);
        }
        let expected = first_lane(&of_emulator, &sources) & u64::MAX >> (64 - result_width);
        let flushed: Vec<u64> = sources.iter().map(|&source| flush(source_type, source)).collect();
        let unflushed = first_lane(&without_flushing, &flushed);
        let mut given = sources.clone();
        for (at, source) in given.iter_mut().enumerate().filter(|_| Layout::of(source_type).is_none()) {
            // A negative literal has ones above the width of its slot.
            let is_field = first_of_place(description.operation).is_some_and(|first| at >= first);
            let width = if is_field { 32 } else { source_type.bits() };
            if width < 64 && random.below(2) == 0 {
                *source |= u64::MAX << width;
            }
        }
        match evaluate(&description, &given) {
            Some(bits) => {
                assert_eq!(bits, expected, "{mnemonic} of {sources:#x?}: {bits:#x}, and {expected:#x} there");
                known_count += 1;
            }
            None => assert!(
                may_stay(&description, &sources, expected, unflushed),
                "{mnemonic} of {sources:#x?} stays"
            ),
        }
    }
    known_count
}

/// Compares forms and asks for as many known results as there are when most operand sets have one.
fn compare_all(forms: &[(String, usize)]) {
    let mut random = Random(7);
    for (mnemonic, source_count) in forms {
        let known_count = compare(mnemonic, *source_count, false, &mut random);
        assert!(known_count > SET_COUNT / 6, "{mnemonic}: {known_count}");
    }
}

#[test]
fn arithmetic_of_floats_is_that_of_the_emulator() {
    let mut forms = Vec::new();
    for ftz in ["", ".ftz"] {
        for sat in ["", ".sat"] {
            for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
                for name in ["add", "sub", "mul"] {
                    forms.push((format!("{name}{rounding}{ftz}{sat}.f32"), 2));
                }
                if !rounding.is_empty() {
                    forms.push((format!("fma{rounding}{ftz}{sat}.f32"), 3));
                    forms.push((format!("mad{rounding}{ftz}{sat}.f32"), 3));
                }
            }
            for (ty, rounding) in [("f16", ""), ("f16", ".rn"), ("f16x2", ""), ("f16x2", ".rn")] {
                for name in ["add", "sub", "mul"] {
                    forms.push((format!("{name}{rounding}{ftz}{sat}.{ty}"), 2));
                }
                forms.push((format!("fma.rn{ftz}{sat}.{ty}"), 3));
            }
        }
        for rounding in ["rn", "rz", "rm", "rp"] {
            forms.push((format!("div.{rounding}{ftz}.f32"), 2));
            forms.push((format!("rcp.{rounding}{ftz}.f32"), 1));
            forms.push((format!("sqrt.{rounding}{ftz}.f32"), 1));
        }
        forms.push((format!("fma.rn{ftz}.relu.f16"), 3));
    }
    for ty in ["bf16", "bf16x2"] {
        for name in ["add", "sub", "mul"] {
            forms.push((format!("{name}.{ty}"), 2));
            forms.push((format!("{name}.rn.{ty}"), 2));
        }
        forms.push((format!("fma.rn.{ty}"), 3));
        forms.push((format!("fma.rn.relu.{ty}"), 3));
    }
    for rounding in ["rn", "rz", "rm", "rp"] {
        for name in ["add", "sub", "mul", "div"] {
            forms.push((format!("{name}.{rounding}.f64"), 2));
        }
        forms.push((format!("fma.{rounding}.f64"), 3));
        forms.push((format!("rcp.{rounding}.f64"), 1));
        forms.push((format!("sqrt.{rounding}.f64"), 1));
        forms.push((format!("add.{rounding}.f32x2"), 2));
        forms.push((format!("fma.{rounding}.f32x2"), 3));
    }
    compare_all(&forms);
}

#[test]
fn signs_and_extremes_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    for ty in ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"] {
        let ftz: &[&str] = if matches!(ty, "f16" | "f16x2" | "f32") { &["", ".ftz"] } else { &[""] };
        for ftz in ftz {
            forms.push((format!("neg{ftz}.{ty}"), 1));
            forms.push((format!("abs{ftz}.{ty}"), 1));
            for name in ["min", "max"] {
                forms.push((format!("{name}{ftz}.{ty}"), 2));
                if ty == "f64" {
                    continue;
                }
                forms.push((format!("{name}{ftz}.NaN.{ty}"), 2));
                forms.push((format!("{name}{ftz}.xorsign.abs.{ty}"), 2));
                forms.push((format!("{name}{ftz}.NaN.xorsign.abs.{ty}"), 2));
            }
        }
    }
    for name in ["min", "max"] {
        for qualifiers in ["", ".ftz", ".NaN", ".abs", ".NaN.abs"] {
            forms.push((format!("{name}{qualifiers}.f32"), 3));
        }
    }
    forms.push(("copysign.f32".to_owned(), 2));
    forms.push(("copysign.f64".to_owned(), 2));
    compare_all(&forms);
}

#[test]
fn comparisons_of_floats_and_integers_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    for comparison in ["eq", "ne", "lt", "le", "gt", "ge"] {
        for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
            forms.push((format!("setp.{comparison}.{ty}"), 2));
            forms.push((format!("set.{comparison}.u32.{ty}"), 2));
        }
        for ty in ["f16", "bf16", "f32", "f64"] {
            forms.push((format!("setp.{comparison}.{ty}"), 2));
            forms.push((format!("setp.{comparison}u.{ty}"), 2));
            forms.push((format!("set.{comparison}.u32.{ty}"), 2));
            forms.push((format!("set.{comparison}u.f32.{ty}"), 2));
        }
        forms.push((format!("setp.{comparison}.ftz.f32"), 2));
        forms.push((format!("setp.{comparison}u.ftz.f16"), 2));
        forms.push((format!("set.{comparison}.f16.f16"), 2));
        forms.push((format!("set.{comparison}.bf16.bf16"), 2));
        for ty in ["f16x2", "bf16x2"] {
            forms.push((format!("set.{comparison}.{ty}.{ty}"), 2));
            forms.push((format!("set.{comparison}u.u32.{ty}"), 2));
        }
        forms.push((format!("set.{comparison}.ftz.s32.f16x2"), 2));
    }
    for comparison in ["lo", "ls", "hi", "hs"] {
        forms.push((format!("setp.{comparison}.u32"), 2));
    }
    for comparison in ["eq", "ne"] {
        for ty in ["b16", "b32", "b64"] {
            forms.push((format!("setp.{comparison}.{ty}"), 2));
        }
    }
    for ty in ["f16", "bf16", "f32", "f64"] {
        forms.push((format!("setp.num.{ty}"), 2));
        forms.push((format!("setp.nan.{ty}"), 2));
    }
    compare_all(&forms);
}

#[test]
fn conversions_of_floats_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    let floats = ["f16", "bf16", "f32", "f64"];
    for to in floats {
        for from in floats {
            let has_single = to == "f32" || from == "f32";
            let ftz: &[&str] = if has_single { &["", ".ftz"] } else { &[""] };
            for ftz in ftz {
                for sat in ["", ".sat"] {
                    if to == from {
                        forms.push((format!("cvt{ftz}{sat}.{to}.{from}"), 1));
                    }
                    for rounding in ["rn", "rz", "rm", "rp"] {
                        if to == from {
                            forms.push((format!("cvt.{rounding}i{ftz}{sat}.{to}.{from}"), 1));
                        } else {
                            forms.push((format!("cvt.{rounding}{ftz}{sat}.{to}.{from}"), 1));
                        }
                    }
                }
            }
        }
        for integer in ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"] {
            for rounding in ["rn", "rz", "rm", "rp"] {
                forms.push((format!("cvt.{rounding}.{to}.{integer}"), 1));
                forms.push((format!("cvt.{rounding}i.{integer}.{to}"), 1));
            }
            forms.push((format!("cvt.rzi.sat.{integer}.{to}"), 1));
            forms.push((format!("cvt.rn.sat.{to}.{integer}"), 1));
        }
    }
    for rounding in ["rn", "rz"] {
        for to in ["f16", "bf16"] {
            forms.push((format!("cvt.{rounding}.{to}x2.f32"), 2));
            forms.push((format!("cvt.{rounding}.relu.{to}x2.f32"), 2));
            forms.push((format!("cvt.{rounding}.relu.{to}.f32"), 1));
        }
    }
    for finite in ["", ".satfinite"] {
        for rounding in ["rn", "rz"] {
            for relu in ["", ".relu"] {
                for to in ["f16", "bf16"] {
                    forms.push((format!("cvt.{rounding}{relu}{finite}.{to}.f32"), 1));
                    forms.push((format!("cvt.{rounding}{relu}{finite}.{to}x2.f32"), 2));
                }
                forms.push((format!("cvt.{rounding}{relu}{finite}.tf32.f32"), 1));
            }
        }
        forms.push((format!("cvt.rna{finite}.tf32.f32"), 1));
    }
    forms.push(("cvt.rni.ftz.s32.f32".to_owned(), 1));
    forms.push(("cvt.f32.f16".to_owned(), 1));
    forms.push(("cvt.f64.f32".to_owned(), 1));
    compare_all(&forms);
}

/// A form on pairs of floats of 8 bits and fewer, on these sources. Not known is only what is no number, and a zero with a sign
/// that `.relu` could clear.
fn compare_narrow(mnemonic: &str, all: &[Vec<u64>]) {
    let description = parse(mnemonic, Dialect::default());
    let of_emulator = evaluator(&Request::plain(mnemonic, 1, all[0].len())).expect("the emulator knows it");
    let [Some(to), Some(from), ..] = description.types else { panic!("{mnemonic} has two types") };
    let (width, stride) = match to {
        PtxType::E2m1x2 => (4, 4),
        PtxType::E2m3x2 | PtxType::E3m2x2 => (6, 8),
        PtxType::F16x2 => (16, 16),
        _ => (8, 8),
    };
    for sources in all {
        let expected = first_lane(&of_emulator, sources);
        let elements = [expected, expected >> stride].map(|bits| bits & ((1 << width) - 1));
        let is_open = match Layout::of(from) {
            Some(layout) => {
                let mut parts = sources.iter().flat_map(|&bits| parts(from, bits));
                parts.any(|bits| layout.is_nan(bits))
            }
            // Of a narrow source the result tells.
            None => elements.iter().any(|&bits| Layout::of(PtxType::F16).unwrap().is_nan(bits)),
        };
        let is_cleared = description.qualifiers.has(Modifiers::RELU) && elements.contains(&0);
        match evaluate(&description, sources) {
            Some(bits) => assert_eq!(bits, expected, "{mnemonic} of {sources:#x?}"),
            None => assert!(is_open || is_cleared, "{mnemonic} of {sources:#x?} stays"),
        }
    }
}

#[test]
fn pairs_of_narrow_floats_are_those_of_the_emulator() {
    let mut random = Random(13);
    for narrow in ["e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"] {
        for relu in ["", ".relu"] {
            let patterns: Vec<_> =
                (0..1 << if narrow == "e2m1x2" { 8 } else { 16 }).map(|bits| vec![bits]).collect();
            compare_narrow(&format!("cvt.rn{relu}.f16x2.{narrow}"), &patterns);
            for (from, sources) in [("f32", 2), ("f16x2", 1), ("bf16x2", 1)] {
                let ty = PtxType::parse(from.as_bytes()).unwrap();
                let layout = Layout::of(ty).unwrap();
                let mut some = || {
                    let parts = (0..ty.bits() / layout.width()).map(|part| {
                        // Half of them with few bits of fraction, so that they lie in the middle between two narrow ones.
                        let kept =
                            if random.below(2) == 0 { !0 } else { !0 << (layout.fraction.saturating_sub(5)) };
                        (random.float(layout, &[]) & kept) << (part * layout.width())
                    });
                    parts.fold(0, |all, part| all | part)
                };
                let sets: Vec<_> = (0..SET_COUNT).map(|_| (0..sources).map(|_| some()).collect()).collect();
                compare_narrow(&format!("cvt.rn.satfinite{relu}.{narrow}.{from}"), &sets);
            }
        }
    }
}

/// Fields past 255 are not known: one set of six or so has none.
#[test]
fn operations_on_bits_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    for width in [32, 64] {
        forms.extend([("brev", 1), ("bfi", 4)].map(|(name, count)| (format!("{name}.b{width}"), count)));
        for sign in ["u", "s"] {
            forms.push((format!("bfe.{sign}{width}"), 3));
            forms.push((format!("bfind.{sign}{width}"), 1));
            forms.push((format!("bfind.shiftamt.{sign}{width}"), 1));
        }
    }
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        forms.push((format!("sad.{ty}"), 3));
    }
    forms.extend(["cnot.b16", "cnot.b32", "cnot.b64"].map(|mnemonic| (mnemonic.to_owned(), 1)));
    for excess in ["clamp", "wrap"] {
        forms.push((format!("bmsk.{excess}.b32"), 2));
        forms.extend(["l", "r"].map(|direction| (format!("shf.{direction}.{excess}.b32"), 3)));
    }
    for permutation in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        forms.push((format!("prmt.b32{permutation}"), 3));
    }
    for excess in ["clamp", "wrap"] {
        forms.extend(["u32", "s32"].map(|ty| (format!("szext.{excess}.{ty}"), 2)));
    }
    forms.push(("fns.b32".to_owned(), 3));
    forms.push(("lop3.b32".to_owned(), 4));
    forms.extend(["lo", "hi"].map(|part| (format!("clmad.{part}.u64"), 3)));
    compare_all(&forms);
}

#[test]
fn operations_on_integers_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    for ty in ["u32", "s32"] {
        for part in ["lo", "hi"] {
            forms.push((format!("mul24.{part}.{ty}"), 2));
            forms.push((format!("mad24.{part}.{ty}"), 3));
        }
        for other in ["u32", "s32"] {
            forms.push((format!("dp4a.{ty}.{other}"), 3));
            forms.push((format!("dp2a.lo.{ty}.{other}"), 3));
            forms.push((format!("dp2a.hi.{ty}.{other}"), 3));
        }
    }
    for ty in ["u16x2", "s16x2"] {
        forms.extend(["add", "min", "max"].map(|name| (format!("{name}.{ty}"), 2)));
    }
    for name in ["min", "max"] {
        forms.extend(["s32", "s16x2"].map(|ty| (format!("{name}.relu.{ty}"), 2)));
    }
    forms.extend(["add", "sub"].map(|name| (format!("{name}.sat.s32"), 2)));
    forms.extend(["mad", "mad24"].map(|name| (format!("{name}.hi.sat.s32"), 3)));
    let integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    for to in integers {
        for from in integers {
            forms.push((format!("cvt.{to}.{from}"), 1));
            forms.push((format!("cvt.sat.{to}.{from}"), 1));
        }
    }
    compare_all(&forms);
}

#[test]
fn choices_by_a_sign_and_classes_are_those_of_the_emulator() {
    let mut forms = Vec::new();
    for ty in ["b32", "u32", "s32", "f32"] {
        forms.extend(["s32", "f32"].map(|sign| (format!("slct.{ty}.{sign}"), 3)));
        forms.push((format!("slct.ftz.{ty}.f32"), 3));
    }
    for class in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        forms.extend(["f32", "f64"].map(|ty| (format!("testp.{class}.{ty}"), 1)));
    }
    compare_all(&forms);
}

/// Worked out by hand from the text of the ISA.
#[test]
fn operations_on_integers_are_those_of_the_isa() {
    for (mnemonic, sources, result) in [
        ("add.sat.s32", &[0x7FFF_FFFF, 1][..], Some(0x7FFF_FFFF)),
        ("sub.sat.s32", &[0x8000_0000, 1], Some(0x8000_0000)),
        ("add.sat.s32", &[5, u64::MAX], Some(4)),
        // Half of what the lowest 24 bits give: -1 times 2.
        ("mul24.lo.s32", &[0x77FF_FFFF, 2], Some(0xFFFF_FFFE)),
        ("mul24.hi.u32", &[0x77FF_FFFF, 0x0100_0100], Some(0xFFFF)),
        ("mad24.hi.sat.s32", &[0x7F_FFFF, 0x7F_FFFF, 0x7FFF_FFFF], Some(0x7FFF_FFFF)),
        ("mad.hi.sat.s32", &[0x8000_0000, 0x7FFF_FFFF, 0x8000_0000], Some(0x8000_0000)),
        ("cvt.sat.u8.s32", &[u64::MAX], Some(0)),
        ("cvt.sat.s8.u64", &[300], Some(127)),
        ("cvt.sat.s32.s64", &[1 << 40], Some(0x7FFF_FFFF)),
        ("slct.u64.s32", &[1 << 40, 7, 0], Some(1 << 40)),
        ("slct.u16.f32", &[5, 7, 0x8000_0000], Some(5)),
        ("slct.u16.f32", &[5, 7, 0x7FFF_FFFF], Some(7)),
        ("slct.u16.f32", &[5, 7, 0x8000_0001], Some(7)),
        ("slct.ftz.u16.f32", &[5, 7, 0x8000_0001], Some(5)),
        ("testp.normal.f32", &[0], Some(1)),
        ("testp.subnormal.f32", &[1], Some(1)),
        ("dp4a.s32.u32", &[0xFF, 0xFF, 1], Some(0xFFFF_FF02)),
        ("dp2a.hi.u32.u32", &[0x0003_0002, 0x0504_0000, 1], Some(24)),
        ("szext.clamp.s32", &[0x80, 8], Some(0xFFFF_FF80)),
        ("szext.wrap.u32", &[0x1FF, 40], Some(0xFF)),
        ("fns.b32", &[0b1011, 1, 2], Some(3)),
        ("fns.b32", &[0b1011, 3, 0xFFFF_FFFE], Some(1)),
        ("fns.b32", &[0b1011, 2, 0], Some(0xFFFF_FFFF)),
        ("fns.b32", &[0b1011, 32, 1], None),
        ("prmt.b32.b4e", &[0x3322_1100, 0x7766_5544, 0], Some(0x5566_7700)),
        ("min.relu.s32", &[3, u64::MAX], Some(0)),
        ("max.relu.s16x2", &[0xFFFF_0003, 0xFFFE_0001], Some(3)),
        ("add.u16x2", &[0x0001_FFFF, 0x0001_0001], Some(0x0002_0000)),
    ] {
        let found = evaluate(&parse(mnemonic, Dialect::default()), sources);
        assert_eq!(found, result, "{mnemonic} of {sources:#x?}");
    }
}

/// ISA, operand size exceeding instruction-type size: the result of a conversion is extended by the sign of its type.
#[test]
fn narrow_results_are_extended() {
    let held = |mnemonic: &str, bits, width| in_register(&parse(mnemonic, Dialect::default()), bits, width);
    assert_eq!(held("cvt.s8.s32", 0x80, 32), Some(0xFFFF_FF80));
    assert_eq!(held("cvt.s8.s32", 0x80, 16), Some(0xFF80));
    assert_eq!(held("cvt.u8.s32", 0x80, 64), Some(0x80));
    assert_eq!(held("cvt.s16.s32", 0xFFFF, 64), Some(u64::MAX));
    assert_eq!(held("cvt.u32.s64", 7, 32), Some(7));
    assert_eq!(held("cvt.rn.f16.f32", 7, 32), None);
    assert_eq!(held("add.s16", 7, 32), None);
    assert_eq!(held("cvt.u32.u64", 7, 16), None);
}

/// `sm_1x`: denormals are flushed without `.ftz`.
#[test]
fn the_target_flushes() {
    let mut random = Random(9);
    for (mnemonic, source_count) in [
        ("add.f32", 2),
        ("mul.rn.f32", 2),
        ("sub.rz.f32", 2),
        ("min.f32", 2),
        ("abs.f32", 1),
        ("setp.lt.f32", 2),
    ] {
        assert!(compare(mnemonic, source_count, true, &mut random) > SET_COUNT / 6, "{mnemonic}");
    }
    let tiny = evaluate(&parse("add.f32", Dialect { flushes: true, ..Dialect::default() }), &[1, 1]);
    assert_eq!(tiny, Some(0));
    assert_eq!(evaluate(&parse("add.f32", Dialect::default()), &[1, 1]), Some(2));
    // What is compared counts, not the type of the result.
    let flushing = Dialect { flushes: true, ..Dialect::default() };
    let less = |mnemonic: &str| evaluate(&parse(mnemonic, flushing), &[0, 1]);
    assert_eq!(less("set.lt.f32.f64"), Some(0x3F80_0000));
    assert_eq!([less("set.lt.f32.f32"), less("set.lt.u32.f32"), less("setp.lt.f32")], [Some(0); 3]);
}

/// The error of a sum, product or quotient rounded to nearest says which neighbour is the directed result.
#[test]
fn directed_doubles_are_neighbours_of_the_nearest() {
    let mut random = Random(11);
    let double = |name: &str, rounding: &str, sources: &[u64]| {
        let description = parse(&format!("{name}.{rounding}.f64"), Dialect::default());
        evaluate(&description, sources).map(f64::from_bits)
    };
    let mut count = 0;
    while count < SET_COUNT {
        // No overflow and no result or error below the normal range.
        let mut some = || {
            f64::from_bits(
                random.next() & 0x800F_FFFF_FFFF_FFFF | (1023 - 40 + random.below(80) as u64) << 52,
            )
        };
        let (a, b, c) = (some(), some(), some());
        let product = a * b;
        let quotient = a / b;
        let root = a.abs().sqrt();
        let sum = a + b;
        let other = sum - a;
        let fused = a.mul_add(b, c);
        let lost = (a - (sum - other)) + (b - other);
        // The sign of `exact - nearest`; of a fused sum where it can be told by a larger precision alone it is left out.
        let cases = [
            ("add", vec![a, b], sum, lost),
            ("mul", vec![a, b], product, a.mul_add(b, -product)),
            ("div", vec![a, b], quotient, (-quotient).mul_add(b, a) * b.signum()),
            ("sqrt", vec![a.abs()], root, (-root).mul_add(root, a.abs())),
            ("fma", vec![a, b, 0.0], product, a.mul_add(b, -product)),
        ];
        assert_eq!(double("fma", "rn", &[a, b, c].map(f64::to_bits)), Some(fused));
        for (name, sources, nearest, error) in cases {
            let sources: Vec<u64> = sources.iter().map(|value| value.to_bits()).collect();
            let down = if error < 0.0 { nearest.next_down() } else { nearest };
            let up = if error > 0.0 { nearest.next_up() } else { nearest };
            let to_zero = if nearest > 0.0 { down } else { up };
            for (rounding, expected) in [("rn", nearest), ("rm", down), ("rp", up), ("rz", to_zero)] {
                assert_eq!(
                    double(name, rounding, &sources),
                    Some(expected),
                    "{name}.{rounding} of {sources:#x?}"
                );
            }
        }
        count += 1;
    }
}

#[test]
fn the_first_element_of_a_vector_is_its_lowest() {
    let packed = |mnemonic: &str, elements: &[u64]| evaluate(&parse(mnemonic, Dialect::default()), elements);
    assert_eq!(packed("mov.b32", &[0x9_2345, 0xABCD]), Some(0xABCD_2345));
    assert_eq!(packed("mov.b64", &[0x1_8000_0001, 2]), Some(0x2_8000_0001));
    assert_eq!(packed("mov.b64", &[1, 2, 3, 0xF_FFFF]), Some(0xFFFF_0003_0002_0001));
}

/// Worked out by hand from the text of the ISA.
#[test]
fn what_the_isa_does_not_say_is_not_known() {
    let known = |mnemonic: &str, sources: &[u64]| evaluate(&parse(mnemonic, Dialect::default()), sources);
    let (one, nan, infinity) = (0x3F80_0000, 0x7FFF_FFFF, 0x7F80_0000);
    // Not a number, and what the processor makes of it.
    assert_eq!(known("add.f32", &[one, nan]), None);
    assert_eq!(known("sub.f32", &[infinity, infinity]), None);
    assert_eq!(known("neg.f32", &[nan]), None);
    assert_eq!(known("sqrt.rn.f32", &[one | 1 << 31]), None);
    assert_eq!(known("cvt.rzi.s32.f32", &[nan]), None);
    // A NaN loses against a number, and saturates to 0.
    assert_eq!(known("min.f32", &[one, nan]), Some(one));
    assert_eq!(known("min.NaN.f32", &[one, nan]), None);
    assert_eq!(known("add.sat.f32", &[one, nan]), Some(0));
    // Approximations, and forms that old targets approximate.
    assert_eq!(known("div.approx.f32", &[one, one]), None);
    assert_eq!(known("div.full.f32", &[one, one]), None);
    assert_eq!(known("div.f32", &[one, one]), None);
    assert_eq!(known("sqrt.approx.f32", &[one]), None);
    assert_eq!(known("mad.f32", &[one, one, one]), None);
    assert_eq!(known("ex2.approx.f32", &[0]), None);
    assert_eq!(known("tanh.approx.f32", &[0]), None);
    assert_eq!(known("fma.rn.oob.f16", &[0, 0, 0]), None);
    // A result that becomes normal by rounding: 0x0.FFFFFF8p-126 is halfway.
    assert_eq!(known("mul.ftz.f32", &[0x3F7F_FFFF, 0x0080_0000]), None);
    assert_eq!(known("mul.f32", &[0x3F7F_FFFF, 0x0080_0000]), Some(0x0080_0000));
    // A table whose result meets a predicate.
    assert_eq!(known("lop3.b32", &[1, 2, 3, 0xF0]), Some(1));
    assert_eq!(known("lop3.or.b32", &[1, 2, 3, 0xF0]), None);
    // A product that is the smallest normal number, and nothing was rounded.
    assert_eq!(known("mul.ftz.f32", &[one, 0x0080_0000]), Some(0x0080_0000));
    // Sums that nothing saturates but with a sign, and products but for their upper halves; what is never cleared.
    for mnemonic in ["add.sat.u32", "sub.sat.u32", "max.relu.u16x2", "max.relu.u32"] {
        assert_eq!(known(mnemonic, &[1, 2]), None);
    }
    for mnemonic in ["mad.hi.sat.u32", "mad.lo.sat.s32", "mad24.hi.sat.u32", "mad24.lo.sat.s32"] {
        assert_eq!(known(mnemonic, &[1, 2, 3]), None);
    }
    // Comparisons that a type does not have.
    assert_eq!(known("setp.lt.b32", &[1, 2]), None);
    assert_eq!(known("setp.lo.s32", &[1, 2]), None);
    // Not exact without a rounding; no number, and a zero whose sign `.relu` could clear; exponents alone; without `.satfinite`.
    assert_eq!(known("cvt.bf16.f16", &[0x3C01]), None);
    for mnemonic in
        ["cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.satfinite.f16x2.f32"]
    {
        assert_eq!(known(mnemonic, &[one, nan]), None);
    }
    assert_eq!(known("cvt.rn.satfinite.relu.e4m3x2.f32", &[one, 1 << 31]), None);
    assert_eq!(known("cvt.rz.satfinite.ue8m0x2.f32", &[one, one]), None);
    assert_eq!(known("cvt.rn.e4m3x2.f32", &[one, one]), None);
    assert_eq!(known("cvt.rz.satfinite.e4m3x2.f32", &[one, one]), None);
    assert_eq!(known("cvt.rn.sat.satfinite.e4m3x2.f32", &[one, one]), None);
    for mnemonic in ["cvt.rn.satfinite.f16x2", "cvt.rz.f16x2", "cvt.rn.bf16x2"] {
        assert_eq!(known(&format!("{mnemonic}.e4m3x2"), &[0x3838]), None);
    }
    // A conversion to an integer or from one has no largest float.
    assert_eq!(known("cvt.rzi.satfinite.s32.f32", &[one]), None);
    assert_eq!(known("cvt.rn.satfinite.f16.s32", &[1]), None);
}

/// Worked out by hand from the text of the ISA; those to `tf32` are what `ptxas` 13.0 makes of constants.
#[test]
fn conversions_to_short_floats_are_those_of_the_isa() {
    let known = |mnemonic: &str, sources: &[u64]| evaluate(&parse(mnemonic, Dialect::default()), sources);
    for (mnemonic, sources, result) in [
        ("cvt.rna.tf32.f32", &[0x3F80_1000][..], 0x3F80_2000),
        ("cvt.rna.tf32.f32", &[0x0000_0FFF], 0),
        ("cvt.rna.tf32.f32", &[0x7F7F_FFFF], 0x7F80_0000),
        ("cvt.rna.tf32.f32", &[0xFF7F_F000], 0xFF80_0000),
        ("cvt.rna.satfinite.tf32.f32", &[0xFF7F_F000], 0xFF7F_E000),
        ("cvt.rna.satfinite.tf32.f32", &[0x7F80_0000], 0x7F7F_E000),
        ("cvt.rn.tf32.f32", &[0x3F80_1000], 0x3F80_0000),
        ("cvt.rz.tf32.f32", &[0xBF80_3FFF], 0xBF80_2000),
        // 1 and -2; 448 is the largest; 2^-10 is halfway to the smallest, which has the odd bit.
        ("cvt.rn.satfinite.e4m3x2.f32", &[0x3F80_0000, 0xC000_0000], 0x38C0),
        ("cvt.rn.satfinite.e4m3x2.f32", &[0x7F80_0000, 0xC3FA_0000], 0x7EFE),
        ("cvt.rn.satfinite.e4m3x2.f32", &[0x3A80_0000, 0x3A80_0001], 0x0001),
        ("cvt.rn.satfinite.e5m2x2.f16x2", &[0x7C00_3E00], 0x7B3E),
        ("cvt.rn.satfinite.e2m3x2.f32", &[0x40F0_0000, 0x4100_0000], 0x1F1F),
        ("cvt.rn.satfinite.e3m2x2.f32", &[0xC1E0_0000, 0x3D80_0000], 0x3F01),
        ("cvt.rn.satfinite.e2m1x2.f32", &[0x40C0_0000, 0xBF00_0000], 0x79),
        ("cvt.rn.satfinite.relu.e2m1x2.f32", &[0x4100_0000, 0xBF80_0000], 0x70),
        ("cvt.rn.f16x2.e4m3x2", &[0x387E], 0x3C00_5F00),
        ("cvt.rn.f16x2.e5m2x2", &[0xFC01], 0xFC00_0100),
        ("cvt.rn.f16x2.e2m1x2", &[0x79], 0x4600_B800),
        ("set.lt.f16x2.f16x2", &[0x3C00_4000, 0x4000_4000], 0x3C00_0000),
        ("set.ge.u32.bf16x2", &[0x3F80_4000, 0x4000_4000], 0xFFFF),
        ("clmad.hi.u64", &[1 << 63, 1 << 63, 1], 1 << 62 | 1),
    ] {
        assert_eq!(known(mnemonic, sources), Some(result), "{mnemonic} of {sources:#x?}");
    }
}
