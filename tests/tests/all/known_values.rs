//! Rules that know ranges and bits against the emulator: random integer code over narrow loads, special registers and
//! constants, in a grid with several warps.

use super::splitmix::Random;
use ptxopt::check::{CheckOptions, Reference, Verdict, launches};
use ptxopt::{Options, optimize};
use std::fmt::Write;

/// Threads of the grid.
const THREADS: usize = 2 * 72;

impl Random {
    fn choose<'c>(&mut self, of: &[&'c str]) -> &'c str {
        of[self.below(of.len())]
    }

    /// A constant as code has them: small, a power of two, a mask, the negative of one.
    fn constant(&mut self, width: u32) -> i64 {
        let power = 1_i64 << self.below(width as usize - 1);
        match self.below(8) {
            0 => power,
            1 => power - 1,
            2 => -power,
            3 => self.next() as i64 >> (64 - width),
            4 => 1024 - self.below(3) as i64,
            _ => self.below(40) as i64,
        }
    }
}

/// Code under construction: the numbers of the registers that hold values.
struct Code {
    text: String,
    words: usize,
    longs: usize,
    predicates: usize,
}

impl Code {
    fn word(&self, random: &mut Random) -> String {
        // What was made last is used most, so that chains get long.
        let back = random.below(6).min(self.words - 1);
        format!("%r{}", self.words - 1 - back)
    }

    fn long(&self, random: &mut Random) -> String {
        format!("%rd{}", self.longs - 1 - random.below(4).min(self.longs - 3))
    }

    /// A register, or a constant.
    fn word_or_constant(&self, random: &mut Random) -> String {
        if random.below(3) == 0 { self.word(random) } else { random.constant(32).to_string() }
    }

    fn make_word(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line};").unwrap();
        self.words += 1;
    }

    fn make_long(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line};").unwrap();
        self.longs += 1;
    }

    fn source(&mut self, random: &mut Random) {
        let new = self.words;
        if random.below(2) == 0 {
            let special = random.choose(&["%tid.x", "%ctaid.x", "%laneid", "%ntid.x", "%nctaid.y", "%tid.z"]);
            self.make_word(format_args!("mov.u32 %r{new}, {special}"));
        } else {
            let ty = random.choose(&["u8", "s8", "u16", "s16", "b8", "u32", "s32"]);
            let offset = 4 * random.below(64);
            self.make_word(format_args!("ld.global.{ty} %r{new}, [%rd1+{offset}]"));
        }
    }

    fn on_words(&mut self, random: &mut Random) {
        let (new, a) = (self.words, self.word(random));
        match random.below(6) {
            0 => {
                let (name, amount) = (random.choose(&["shl.b32", "shr.u32", "shr.s32"]), random.below(34));
                self.make_word(format_args!("{name} %r{new}, {a}, {amount}"));
            }
            1 => {
                let name =
                    random.choose(&["div.u32", "rem.u32", "div.s32", "rem.s32", "mul.hi.u32", "mul.hi.s32"]);
                // Without a quotient nothing can be compared.
                let by = random.constant(32);
                let by = if name.contains("mul") || by != 0 && by != -1 { by } else { 7 };
                self.make_word(format_args!("{name} %r{new}, {a}, {by}"));
            }
            2 => {
                let (at, length) = (random.below(33), random.below(33));
                self.make_word(format_args!("bfe.u32 %r{new}, {a}, {at}, {length}"));
            }
            3 => {
                let name = random.choose(&[
                    "popc.b32",
                    "clz.b32",
                    "not.b32",
                    "neg.s32",
                    "abs.s32",
                    "cvt.u32.u8",
                    "cvt.s32.s16",
                ]);
                self.make_word(format_args!("{name} %r{new}, {a}"));
            }
            _ => {
                let name = random.choose(&[
                    "and.b32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "add.s32",
                    "sub.s32",
                    "mul.lo.s32",
                    "min.u32",
                    "max.u32",
                    "min.s32",
                    "max.s32",
                ]);
                let b = self.word_or_constant(random);
                self.make_word(format_args!("{name} %r{new}, {a}, {b}"));
            }
        }
    }

    fn choice(&mut self, random: &mut Random) {
        let (new, p, a) = (self.words, self.predicates, self.word(random));
        let comparison = random.choose(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = random.choose(&["u32", "s32"]);
        let (b, one, other) =
            (self.word_or_constant(random), self.word(random), self.word_or_constant(random));
        writeln!(self.text, "setp.{comparison}.{ty} %p{p}, {a}, {b};").unwrap();
        self.make_word(format_args!("selp.b32 %r{new}, {one}, {other}, %p{p}"));
        self.predicates += 1;
    }

    fn on_longs(&mut self, random: &mut Random) {
        let new = self.longs;
        match random.below(8) {
            0 | 1 => {
                let (ty, a) = (random.choose(&["u64.u32", "s64.s32"]), self.word(random));
                self.make_long(format_args!("cvt.{ty} %rd{new}, {a}"));
            }
            2 => {
                let (a, number) = (self.long(random), self.words);
                self.make_word(format_args!("cvt.u32.u64 %r{number}, {a}"));
            }
            3 => {
                let (a, amount) = (self.long(random), random.below(40));
                let name = random.choose(&["shl.b64", "shr.u64", "shr.s64"]);
                self.make_long(format_args!("{name} %rd{new}, {a}, {amount}"));
            }
            4 => {
                let (a, by) = (self.long(random), 1 + random.below(50));
                let name = random.choose(&["div.u64", "rem.u64", "div.s64", "rem.s64"]);
                self.make_long(format_args!("{name} %rd{new}, {a}, {by}"));
            }
            5 => {
                let (a, b, c) = (self.long(random), random.constant(34), self.long(random));
                self.make_long(format_args!("mad.lo.s64 %rd{new}, {a}, {b}, {c}"));
            }
            _ => {
                let name =
                    random.choose(&["mul.lo.s64", "mul.lo.u64", "and.b64", "add.s64", "sub.s64", "or.b64"]);
                let (a, b) = (self.long(random), self.long(random));
                let b = if random.below(2) == 0 { b } else { random.constant(33).to_string() };
                self.make_long(format_args!("{name} %rd{new}, {a}, {b}"));
            }
        }
    }
}

/// What the header of a kernel with CTAs of 72 threads may say of its launches.
const LIMITS: [&str; 5] =
    ["", ".maxntid 72", ".maxntid 40, 2, 1 .minnctapersm 2", ".reqntid 72, 1, 1", ".reqntid 72"];

/// A kernel of `count` random instructions that stores everything it computes.
fn kernel(count: usize, random: &mut Random) -> String {
    let mut code = Code { text: String::new(), words: 0, longs: 2, predicates: 0 };
    code.source(random);
    code.make_long(format_args!("cvt.u64.u32 %rd2, %r0"));
    for _ in 0..count {
        match random.below(10) {
            0..=1 => code.source(random),
            2 => code.choice(random),
            3..=5 => code.on_longs(random),
            _ => code.on_words(random),
        }
    }
    let (per_thread, limits) = (code.words + code.longs, random.choose(&LIMITS));
    let mut text = format!(
        "// launch k grid 2 block 72 args u64[{}]=zero u64[64]=bits\n.version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in) {limits}\n{{\n.reg .b32 %r<{}>;\n.reg .b64 %rd<{}>;\n.reg .b32 %t<4>;\n\
         .reg .b64 %at;\n.reg .b64 %o;\n.reg .pred %p<{}>;\nld.param.u64 %o, [out];\nld.param.u64 %rd1, [in];\n\
         mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ntid.x;\nmov.u32 %t2, %tid.x;\nmad.lo.s32 %t3, %t0, %t1, %t2;\n\
         mad.wide.u32 %at, %t3, {}, %o;\n",
        THREADS * per_thread,
        code.words,
        code.longs,
        code.predicates + 1,
        8 * per_thread,
    );
    text.push_str(&code.text);
    for word in 0..code.words {
        writeln!(text, "st.global.u32 [%at+{}], %r{word};", 8 * word).unwrap();
    }
    for long in 2..code.longs {
        writeln!(text, "st.global.u64 [%at+{}], %rd{long};", 8 * (code.words + long)).unwrap();
    }
    text.push_str("ret;\n}\n");
    text
}

#[test]
fn what_is_known_of_random_code_is_so() {
    let mut random = Random(5);
    let mut wide_count = 0;
    for number in 0..150 {
        let text = kernel(60, &mut random);
        let lines = launches::in_text(text.as_bytes()).expect("it has a launch line");
        let reference = Reference::new(text.as_bytes(), &lines, CheckOptions::default()).expect("it runs");
        let after =
            optimize(text.as_bytes(), &Options { threads: 1, ..Options::default() }).expect("it is valid");
        for kernel in reference.compare(&after.text).expect("it runs") {
            let after = String::from_utf8_lossy(&after.text);
            assert!(
                matches!(kernel.verdict, Verdict::Same),
                "{number}: {:?}\n{text}\n{after}",
                kernel.verdict
            );
        }
        wide_count += String::from_utf8_lossy(&after.text).matches("mul.wide").count();
    }
    assert!(wide_count > 20, "rules are applied: {wide_count}");
}
