//! Random kernels full of sums and products of a few registers: every run on the emulator leaves the same, in no more
//! instructions.

use super::*;
use crate::check::testing::Random;
use crate::values::gvn_cse;
use crate::values::move_tests::{BYTES, after, left_by};
use crate::values::{eliminate_dead, general_optimize};
use std::fmt::Write;

const OPERATIONS: [&str; 10] =
    ["add.s", "add.u", "add.s", "sub.s", "sub.u", "mul.lo.s", "mul.lo.u", "and.b", "or.b", "xor.b"];

/// Widths with the letter of their registers.
const WIDTHS: [(u32, &str); 3] = [(16, "h"), (32, "r"), (64, "d")];

/// Registers of a width that are loaded, and those that are computed.
const LOADED: usize = 4;
const COMPUTED: usize = 12;

struct Kernel {
    random: Random,
    text: String,
    stores: usize,
    registers: usize,
}

impl Kernel {
    fn new(seed: u64) -> Self {
        let mut text = format!(
            ".entry k(.param .u64 p) {{ .reg .b16 %h<17>; .reg .b32 %r<17>, %t<3>; .reg .b64 %d<17>, %a<5>; .reg .pred %p<5>; .reg .b32 %nr<999>; .reg .b64 %nd<999>;\n\
             mov.u32 %t1, %tid.x; mul.wide.u32 %a1, %t1, {BYTES}; ld.param.u64 %a2, [p];\n\
             add.u64 %a1, %a1, %a2;\n"
        );
        for register in 0..LOADED {
            for (width, letter) in WIDTHS {
                writeln!(text, "ld.global.u{width} %{letter}{register}, [%a1+{}];", 8 * register).unwrap();
            }
            writeln!(text, "and.b32 %t2, %t1, {}; setp.ne.u32 %p{register}, %t2, 0;", 1 << register).unwrap();
        }
        for register in LOADED..LOADED + COMPUTED {
            for (width, letter) in WIDTHS {
                writeln!(text, "mov.b{width} %{letter}{register}, {register};").unwrap();
            }
        }
        text += "mov.u32 %t2, 0;\nROUND:\n";
        Self { random: Random(seed), text, stores: 0, registers: 0 }
    }

    fn source(&mut self, letter: &str) -> String {
        match self.random.below(6) {
            0 => ["1", "-1", "4", "8", "3", "127"][self.random.below(6)].to_owned(),
            1..4 => format!("%{letter}{}", self.random.below(LOADED)),
            _ => format!("%{letter}{}", LOADED + self.random.below(COMPUTED)),
        }
    }

    fn statement(&mut self) {
        let (width, letter) = WIDTHS[self.random.below(8).min(2)];
        let operation = OPERATIONS[self.random.below(OPERATIONS.len())];
        let one = format!("%{letter}{}", self.random.below(LOADED + COMPUTED));
        let other = self.source(letter);
        let result = LOADED + self.random.below(COMPUTED);
        let (one, other) = match self.random.below(4) {
            0 if operation.starts_with("sub") => (other, one),
            _ => (one, other),
        };
        let guard = match self.random.below(12) {
            0 => format!("@%p{} ", self.random.below(4)),
            _ => String::new(),
        };
        writeln!(self.text, "{guard}{operation}{width} %{letter}{result}, {one}, {other};").unwrap();
        if self.random.below(6) == 0 && self.stores < 40 {
            writeln!(self.text, "st.global.u{width} [%a1+{}], %{letter}{result};", 64 + 8 * self.stores)
                .unwrap();
            self.stores += 1;
        }
    }

    /// A few leaves, joined one after the other, each result read once.
    fn tree(&mut self) {
        let (width, letter) = WIDTHS[1 + self.random.below(2)];
        let family =
            [&OPERATIONS[..5], &OPERATIONS[..5], &OPERATIONS[5..7], &OPERATIONS[7..8], &OPERATIONS[9..]];
        let family = family[self.random.below(family.len())];
        let mut joined = format!("%{letter}{}", self.random.below(LOADED));
        for _ in 0..2 + self.random.below(3) {
            let operation = family[self.random.below(family.len())];
            let leaf = match self.random.below(5) {
                0 => ["4", "8", "-1"][self.random.below(3)].to_owned(),
                1 if operation.starts_with("add") => self.product(width, letter),
                _ => format!("%{letter}{}", self.random.below(LOADED)),
            };
            let result = self.new_register(letter);
            writeln!(self.text, "{operation}{width} {result}, {joined}, {leaf};").unwrap();
            joined = result;
        }
        let result = LOADED + self.random.below(COMPUTED);
        writeln!(self.text, "max.u{width} %{letter}{result}, %{letter}{result}, {joined};").unwrap();
    }

    fn product(&mut self, width: u32, letter: &str) -> String {
        let [one, other] = [(); 2].map(|()| self.random.below(LOADED));
        let result = self.new_register(letter);
        writeln!(self.text, "mul.lo.s{width} {result}, %{letter}{one}, %{letter}{other};").unwrap();
        result
    }

    fn new_register(&mut self, letter: &str) -> String {
        self.registers += 1;
        format!("%n{letter}{}", self.registers)
    }

    /// An address that is computed in some order, and read.
    fn access(&mut self) {
        let offset = 8 * self.random.below(4);
        let register = LOADED + self.random.below(COMPUTED);
        self.text += match self.random.below(3) {
            0 => "and.b64 %a3, %d4, 24; add.s64 %a4, %a1, ",
            1 => "and.b64 %a3, %d5, 24; add.s64 %a4, %a3, ",
            _ => "and.b64 %a3, %d5, 24; sub.s64 %a4, %a1, -",
        };
        let other = if self.text.ends_with("%a3, ") { "%a1" } else { "%a3" };
        writeln!(self.text, "{offset}; add.s64 %a4, %a4, {other}; ld.global.u64 %d{register}, [%a4+0];")
            .unwrap();
    }

    fn finish(mut self) -> String {
        for block in 0..4 {
            (0..8).for_each(|_| self.statement());
            (0..6).for_each(|_| self.tree());
            self.access();
            let guard = self.random.below(4);
            writeln!(self.text, "@%p{guard} bra B{block};").unwrap();
            (0..5).for_each(|_| self.statement());
            writeln!(self.text, "B{block}:").unwrap();
        }
        for register in LOADED..LOADED + COMPUTED {
            writeln!(self.text, "st.global.u64 [%a1+{}], %d{register};", 384 + 8 * (register - LOADED))
                .unwrap();
        }
        for register in LOADED..LOADED + 4 {
            writeln!(self.text, "st.global.u32 [%a1+{}], %r{register};", 480 + 4 * (register - LOADED))
                .unwrap();
        }
        self.text += "add.u32 %t2, %t2, 1; setp.lt.u32 %p0, %t2, 3; @%p0 bra ROUND; ret; }\n";
        self.text
    }
}

#[test]
fn sums_take_fewer_instructions_in_another_order() {
    let clean: [&Phase; 2] = [&general_optimize::PHASE, &eliminate_dead::FULL];
    let numbered: [&Phase; 2] = [&gvn_cse::PHASE, &general_optimize::PHASE];
    let (mut without, mut with) = (0, 0);
    for seed in 0..300 {
        let text = Kernel::new(seed * 7919 + 5).finish();
        let unchanged = after(&text, &[&numbered[..], &clean].concat());
        let changed = after(&text, &[&numbered[..], &[&PHASE], &clean].concat());
        assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        let [before, now] = [&unchanged, &changed].map(|text| text.matches(';').count());
        assert!(now <= before + 3, "seed {seed}: {before} instructions become {now}\n{unchanged}\n{changed}");
        without += before;
        with += now;
    }
    println!("{without} without, {with} with");
    assert!(without > with + 1880, "{without} without, {with} with");
}
