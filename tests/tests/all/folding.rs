//! Folding and algebra against the emulator: every operation that is folded, on edge and random operands, both constant and
//! with one of them loaded.

use super::splitmix::Random;
use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{Options, optimize};
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

/// Operations on floats, in every format and rounding.
fn float_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |mnemonic: String, result: u32, sources: &[u32]| {
        shapes.push(Shape { mnemonic, result, sources: sources.to_vec(), of_floats: true, of_vector: false });
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
        shapes.push(Shape {
            mnemonic,
            result,
            sources: sources.to_vec(),
            of_floats: false,
            of_vector: false,
        });
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

fn register(width: u32, number: usize) -> String {
    match width {
        16 => format!("%rs{number}"),
        32 => format!("%r{number}"),
        _ => format!("%rd{number}"),
    }
}

/// A kernel that applies an operation `count` times. Source number `loaded` comes from memory, the others are constants.
fn kernel(shape: &Shape, count: usize, loaded: Option<usize>, random: &mut Random) -> String {
    let mut text = format!(
        "// launch k grid 1 block 1 args u64[{count}]=zero u64[{count}]=bits\n.version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in)\n{{\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd7, [out];\nld.param.u64 %rd8, [in];\n"
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
