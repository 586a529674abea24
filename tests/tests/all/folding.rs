//! Folding and algebra against the emulator: every operation that is folded, on edge and random operands, both constant and
//! with one of them loaded. What the assembler folds is compared, too: the emulator can share a mistake with the optimizer.

use super::splitmix::Random;
use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{Options, optimize};
use ptxopt_tests::cubin::code_sections;
use ptxopt_tests::ptxas::{Flags, Ptxas};
use ptxopt_tests::say::say;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Random {
    /// A float of a width: an edge of one of its formats, or anything.
    fn float(&mut self, width: u32) -> u64 {
        const HALVES: [u64; 12] =
            [0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x4200, 0x7BFF, 0x7C00, 0x3F80, 0x0080, 0x7F7F];
        const SINGLES: [u64; 12] = [
            0,
            1,
            0x007F_FFFF,
            0x0080_0000,
            0x3F80_0000,
            0x3F80_0001,
            0x3400_0000,
            0x4B80_0001,
            0x4F00_0000,
            0x7F7F_FFFF,
            0x7F80_0000,
            0x4020_0000,
        ];
        const DOUBLES: [u64; 10] = [
            0,
            1,
            0x000F_FFFF_FFFF_FFFF,
            0x0010_0000_0000_0000,
            0x3FF0_0000_0000_0000,
            0x3FF0_0000_0000_0001,
            0x43E0_0000_0000_0000,
            0x7FEF_FFFF_FFFF_FFFF,
            0x7FF0_0000_0000_0000,
            0x4004_0000_0000_0000,
        ];
        let edges: &[u64] = match width {
            16 => &HALVES,
            32 => &SINGLES,
            _ => &DOUBLES,
        };
        let sign = (self.next() & 1) << (width - 1);
        let edge = edges[self.next() as usize % edges.len()] | sign;
        if self.next().is_multiple_of(4) { self.next() & u64::MAX >> (64 - width) } else { edge }
    }

    /// An edge of some width, or anything.
    pub(crate) fn operand(&mut self) -> u64 {
        const EDGES: [u64; 20] = [
            0,
            1,
            2,
            3,
            7,
            15,
            16,
            31,
            32,
            33,
            63,
            64,
            65,
            0x7F,
            0x80,
            0xFF,
            0x7FFF,
            0x8000,
            65_536,
            0x7FFF_FFFF,
        ];
        let edge = EDGES[self.next() as usize % EDGES.len()];
        match self.next() % 4 {
            0 => self.next(),
            1 => edge.wrapping_neg(),
            _ => edge,
        }
    }
}

/// An operation: its mnemonic, and the widths of its result and its sources.
struct Shape {
    mnemonic: String,
    result: u32,
    sources: Vec<u32>,
    /// Its sources are floats.
    of_floats: bool,
    /// Its sources are the elements of a vector.
    of_vector: bool,
}

impl Shape {
    /// One whose sources are no vector.
    fn new(mnemonic: String, result: u32, sources: &[u32], of_floats: bool) -> Self {
        Self { mnemonic, result, sources: sources.to_vec(), of_floats, of_vector: false }
    }
}

/// Operations on floats, in every format and rounding.
fn float_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |mnemonic: String, result: u32, sources: &[u32]| {
        shapes.push(Shape::new(mnemonic, result, sources, true));
    };
    for (ty, width, roundings) in [
        ("f32", 32, &["rn", "rz", "rm", "rp"][..]),
        ("f32", 32, &["rn.ftz", "rm.ftz.sat", "rz.sat"]),
        ("f64", 64, &["rn", "rz", "rm", "rp"]),
        ("f16", 16, &["rn", "rn.ftz", "rn.sat"]),
    ] {
        for rounding in roundings {
            for name in ["add", "sub", "mul"] {
                add(format!("{name}.{rounding}.{ty}"), width, &[width, width]);
            }
            add(format!("fma.{rounding}.{ty}"), width, &[width, width, width]);
            if width > 16 && !rounding.contains("sat") {
                add(format!("div.{rounding}.{ty}"), width, &[width, width]);
                add(format!("rcp.{rounding}.{ty}"), width, &[width]);
                add(format!("sqrt.{rounding}.{ty}"), width, &[width]);
            }
        }
        for name in ["min", "max"] {
            add(format!("{name}.{ty}"), width, &[width, width]);
        }
        add(format!("neg.{ty}"), width, &[width]);
        add(format!("abs.{ty}"), width, &[width]);
        add(format!("set.ltu.u32.{ty}"), 32, &[width, width]);
        for integer in ["s16", "u32", "s32", "u64", "s64"] {
            let bits = integer[1..].parse().expect("a width");
            add(format!("cvt.rni.{integer}.{ty}"), bits, &[width]);
            add(format!("cvt.rz.{ty}.{integer}"), width, &[bits]);
        }
    }
    add("cvt.rn.f16.f32".to_owned(), 16, &[32]);
    add("cvt.f32.f16".to_owned(), 32, &[16]);
    add("cvt.rp.f32.f64".to_owned(), 32, &[64]);
    add("cvt.rmi.f32.f32".to_owned(), 32, &[32]);
    add("cvt.rn.f16x2.f32".to_owned(), 32, &[32, 32]);
    add("fma.rn.bf16".to_owned(), 16, &[16, 16, 16]);
    add("copysign.f32".to_owned(), 32, &[32, 32]);
    shapes
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |mnemonic: String, result: u32, sources: &[u32]| {
        shapes.push(Shape::new(mnemonic, result, sources, false));
    };
    for width in [16, 32, 64] {
        for ty in [format!("s{width}"), format!("u{width}")] {
            for name in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
                add(format!("{name}.{ty}"), width, &[width, width]);
            }
            add(format!("mad.lo.{ty}"), width, &[width, width, width]);
            add(format!("mad.hi.{ty}"), width, &[width, width, width]);
            add(format!("shr.{ty}"), width, &[width, 32]);
            if width < 64 {
                add(format!("mul.wide.{ty}"), 2 * width, &[width, width]);
                add(format!("mad.wide.{ty}"), 2 * width, &[width, width, 2 * width]);
            }
            for other in [8, 16, 32, 64] {
                for from in [format!("s{other}"), format!("u{other}")] {
                    add(format!("cvt.{ty}.{from}"), width, &[other.max(16)]);
                }
            }
        }
        for name in ["and", "or", "xor"] {
            add(format!("{name}.b{width}"), width, &[width, width]);
        }
        add(format!("shl.b{width}"), width, &[width, 32]);
        add(format!("not.b{width}"), width, &[width]);
        add(format!("neg.s{width}"), width, &[width]);
        add(format!("abs.s{width}"), width, &[width]);
        if width > 16 {
            add(format!("popc.b{width}"), 32, &[width]);
            add(format!("clz.b{width}"), 32, &[width]);
        }
    }
    for (result, sources) in [(32, &[16; 2][..]), (64, &[32; 2]), (64, &[16; 4])] {
        let (mnemonic, sources) = (format!("mov.b{result}"), sources.to_vec());
        shapes.push(Shape { mnemonic, result, sources, of_floats: false, of_vector: true });
    }
    shapes
}

/// Operations of few forms, some of which the ISA leaves open for some operands.
fn other_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |mnemonic: &str, result: u32, sources: &[u32], of_floats: bool| {
        shapes.push(Shape::new(mnemonic.to_owned(), result, sources, of_floats));
    };
    for width in [16, 32, 64] {
        for ty in [format!("s{width}"), format!("u{width}")] {
            add(&format!("div.{ty}"), width, &[width; 2], false);
            add(&format!("rem.{ty}"), width, &[width; 2], false);
            add(&format!("sad.{ty}"), width, &[width; 3], false);
            for comparison in ["eq", "ne", "lt", "le", "gt", "ge"] {
                add(&format!("set.{comparison}.u32.{ty}"), 32, &[width; 2], false);
            }
            if width > 16 {
                add(&format!("bfe.{ty}"), width, &[width, 32, 32], false);
                add(&format!("bfind.{ty}"), 32, &[width], false);
                add(&format!("bfind.shiftamt.{ty}"), 32, &[width], false);
            }
        }
        add(&format!("cnot.b{width}"), width, &[width], false);
        if width > 16 {
            add(&format!("brev.b{width}"), width, &[width], false);
            add(&format!("bfi.b{width}"), width, &[width, width, 32, 32], false);
            add(&format!("slct.b{width}.s32"), width, &[width, width, 32], false);
            add(&format!("slct.b{width}.f32"), width, &[width, width, 32], true);
        }
    }
    for shift in ["l.clamp", "l.wrap", "r.clamp", "r.wrap"] {
        add(&format!("shf.{shift}.b32"), 32, &[32; 3], false);
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        add(&format!("prmt.b32{mode}"), 32, &[32; 3], false);
    }
    for ty in ["s32", "u32"] {
        for part in ["lo", "hi"] {
            add(&format!("mul24.{part}.{ty}"), 32, &[32; 2], false);
            add(&format!("mad24.{part}.{ty}"), 32, &[32; 3], false);
        }
        for other in ["s32", "u32"] {
            add(&format!("dp4a.{ty}.{other}"), 32, &[32; 3], false);
            add(&format!("dp2a.lo.{ty}.{other}"), 32, &[32; 3], false);
            add(&format!("dp2a.hi.{ty}.{other}"), 32, &[32; 3], false);
        }
        add(&format!("szext.clamp.{ty}"), 32, &[32; 2], false);
        add(&format!("szext.wrap.{ty}"), 32, &[32; 2], false);
    }
    for saturating in ["add.sat.s32", "sub.sat.s32", "cvt.pack.sat.u16.s32", "cvt.pack.sat.s16.s32"] {
        add(saturating, 32, &[32; 2], false);
    }
    add("mad.hi.sat.s32", 32, &[32; 3], false);
    for comparison in ["eq", "ne", "lt", "ge", "equ", "neu", "leu", "gtu", "num", "nan"] {
        for (ty, width) in [("u32.f32", 32), ("ftz.u32.f32", 32), ("u32.f64", 64)] {
            add(&format!("set.{comparison}.{ty}"), 32, &[width; 2], true);
        }
    }
    for (ty, width) in [("f32", 32), ("f64", 64), ("f16", 16)] {
        for integer in ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"] {
            let bits: u32 = integer[1..].parse().expect("a width");
            for rounding in ["rzi", "rmi", "rpi"] {
                add(&format!("cvt.{rounding}.{integer}.{ty}"), bits.max(16), &[width], true);
            }
            for rounding in ["rn", "rm", "rp"] {
                add(&format!("cvt.{rounding}.{ty}.{integer}"), width, &[bits.max(16)], false);
            }
        }
    }
    for name in ["min", "max"] {
        for form in ["NaN.f32", "ftz.NaN.f32", "NaN.f16", "bf16", "NaN.bf16"] {
            let width = if form.ends_with("f32") { 32 } else { 16 };
            add(&format!("{name}.{form}"), width, &[width; 2], true);
        }
    }
    add("cvt.rn.bf16x2.f32", 32, &[32; 2], true);
    for conversion in ["rz", "rn.relu"] {
        add(&format!("cvt.{conversion}.bf16x2.f32"), 32, &[32; 2], true);
        add(&format!("cvt.{conversion}.f16.f32"), 16, &[32], true);
    }
    shapes
}

fn register(width: u32, number: usize) -> String {
    match width {
        16 => format!("%rs{number}"),
        32 => format!("%r{number}"),
        _ => format!("%rd{number}"),
    }
}

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A kernel that applies an operation `count` times, with its launch. Source number `loaded` comes from memory, the others are
/// constants.
fn kernel(shape: &Shape, count: usize, loaded: Option<usize>, random: &mut Random) -> String {
    let launch = format!("// launch k grid 1 block 1 args u64[{count}]=zero u64[{count}]=bits\n");
    launch + HEADER + &entry("k", shape, count, loaded, random)
}

/// The kernel alone.
fn entry(name: &str, shape: &Shape, count: usize, loaded: Option<usize>, random: &mut Random) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 out, .param .u64 in)\n{{\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n\
         .reg .b64 %rd<9>;\nld.param.u64 %rd7, [out];\nld.param.u64 %rd8, [in];\n"
    );
    for at in 0..count {
        let mut names = Vec::new();
        for (number, &width) in shape.sources.iter().enumerate() {
            let name = register(width, number + 1);
            if loaded == Some(number) {
                writeln!(text, "ld.global.u{width} {name}, [%rd8+{}];", 8 * at).unwrap();
            } else {
                let bits = if shape.of_floats { random.float(width) } else { random.operand() };
                let bits = bits & (u64::MAX >> (64 - width));
                writeln!(text, "mov.b{width} {name}, {bits};").unwrap();
            }
            names.push(name);
        }
        let result = register(shape.result, 5);
        let sources = names.join(", ");
        let sources = if shape.of_vector { format!("{{{sources}}}") } else { sources };
        writeln!(text, "{} {result}, {sources};", shape.mnemonic).unwrap();
        writeln!(text, "st.global.u{} [%rd7+{}], {result};", shape.result, 8 * at).unwrap();
    }
    text.push_str("ret;\n}\n");
    text
}

/// Optimizes a kernel and runs it before and after; gives the optimized text.
fn judged(text: &str, what: &str) -> String {
    let lines = launches::in_text(text.as_bytes()).expect("it has a launch line");
    let reference = Reference::new(text.as_bytes(), &lines, CheckOptions::default()).expect("it runs");
    let after =
        optimize(text.as_bytes(), &Options { threads: 1, ..Options::default() }).expect("it is valid");
    for kernel in reference.compare(&after.text).expect("it runs") {
        assert!(matches!(kernel.verdict, Verdict::Same), "{what}: {:?}\n{text}", kernel.verdict);
    }
    String::from_utf8(after.text).expect("text in, text out")
}

#[test]
fn what_has_constant_operands_only_is_folded_to_what_the_emulator_computes() {
    let mut random = Random(1);
    for shape in shapes() {
        let after = judged(&kernel(&shape, 100, None, &mut random), &shape.mnemonic);
        let left = after.lines().filter(|line| line.trim_start().starts_with(&shape.mnemonic)).count();
        assert_eq!(left, 0, "`{}` is folded\n{after}", shape.mnemonic);
    }
}

/// Floats stay where the ISA does not say what the result is: NaNs, for the most part, which every other square root is.
#[test]
fn floats_are_folded_to_what_the_emulator_computes() {
    const COUNT: usize = 100;
    let mut random = Random(3);
    for shape in float_shapes() {
        let after = judged(&kernel(&shape, COUNT, None, &mut random), &shape.mnemonic);
        let left = after.lines().filter(|line| line.trim_start().starts_with(&shape.mnemonic)).count();
        assert!(left < COUNT * 3 / 4, "`{}` is folded\n{after}", shape.mnemonic);
    }
}

#[test]
fn what_has_a_constant_operand_computes_the_same() {
    let mut random = Random(2);
    for shape in shapes().into_iter().chain(float_shapes()) {
        for loaded in 0..shape.sources.len() {
            judged(&kernel(&shape, 100, Some(loaded), &mut random), &shape.mnemonic);
        }
    }
}

/// Quotients, and the two of them that the ISA does not define: those are left.
#[test]
fn quotients_are_folded_but_for_those_without_a_value() {
    for (mnemonic, one, other, is_folded) in [
        ("div.s32", -7, 2, true),
        ("rem.s32", -7, 2, true),
        ("div.u32", -7, 2, true),
        ("rem.u32", -7, 2, true),
        ("div.s32", 7, 0, false),
        ("rem.u32", 7, 0, false),
        ("div.s32", i32::MIN, -1, false),
    ] {
        let text = format!(
            "// launch k grid 1 block 1 args u32[1]=zero\n.version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\n\
             mov.b32 %r1, {one};\nmov.b32 %r2, {other};\n{mnemonic} %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\nret;\n}}\n"
        );
        let after = judged(&text, mnemonic);
        assert_eq!(!after.contains(mnemonic), is_folded, "{mnemonic} {one}, {other}\n{after}");
    }
}

#[test]
fn what_has_constant_operands_of_other_forms_is_what_the_emulator_computes() {
    let mut random = Random(4);
    for shape in other_shapes() {
        judged(&kernel(&shape, 100, None, &mut random), &shape.mnemonic);
    }
}

/// How often each operation stands in machine code, without those that fill up. The same operations in other bytes read other
/// constants.
fn operations(code: &[u8]) -> BTreeMap<u16, u32> {
    const NOP: u16 = 0x918;
    let mut counts = BTreeMap::new();
    for inst in code.chunks_exact(16) {
        *counts.entry(u16::from_le_bytes([inst[0], inst[1]]) & 0xFFF).or_insert(0) += 1;
    }
    counts.remove(&NOP);
    counts
}

/// A kernel for each set of operands, as it is and optimized: where the assembler makes the same operations of both, it stores
/// the same constant.
#[test]
fn what_the_assembler_folds_is_what_was_folded() {
    const COUNT: usize = 8;
    let Some(ptxas) = Ptxas::find() else { return };
    let mut random = Random(5);
    let (mut same, mut all) = (0, 0);
    for shapes in [shapes(), float_shapes(), other_shapes()] {
        let shapes: Vec<&Shape> = shapes.iter().filter(|shape| !shape.of_vector).collect();
        let kernels = shapes.iter().flat_map(|shape| (0..COUNT).map(move |_| shape)).enumerate();
        let kernels: Vec<String> =
            kernels.map(|(at, shape)| entry(&format!("k{at}"), shape, 1, None, &mut random)).collect();
        let before = HEADER.to_owned() + &kernels.concat();
        let after = optimize(before.as_bytes(), &Options::default()).expect("it is valid").text;
        let [before, after] = [before.as_bytes(), &after]
            .map(|text| ptxas.cubin(text, &Flags::of(text), 120).expect("the assembler takes it"));
        let [before, after] = [&before, &after].map(|file| code_sections(file).expect("it has code"));
        for (at, kernel) in kernels.iter().enumerate() {
            let name = format!(".text.k{at}");
            let (before, after) = (before[&name], after[&name]);
            let is_same = before == after;
            assert!(
                is_same || operations(before) != operations(after),
                "another constant is stored\n{kernel}"
            );
            same += usize::from(is_same);
        }
        all += kernels.len();
    }
    say(&format!(
        "folding: of {all} kernels the assembler makes the same code of {same} as they are and optimized"
    ));
    assert!(same > all / 2, "the assembler folds more than {same} of {all}");
}
