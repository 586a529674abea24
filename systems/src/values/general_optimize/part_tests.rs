//! Parts on the emulator: registers that are taken apart in random ways and put together in others, mostly as they were, and of which
//! parts are taken again.

use super::half_tests::RULES_TWICE;
use super::offset_tests::{THREADS, left_by, pick};
use crate::check::testing::Random;
use crate::ssa::{build_ssa, leave_ssa};
use crate::values::eliminate_dead;
use crate::values::move_tests::after_alone;
use std::fmt::Write;

/// Bytes of a thread: its registers, and what is stored.
const BYTES: usize = 512;

/// Registers of 32 and of 64 bits that are loaded.
const REGISTERS: usize = 3;

/// One kernel as it is written.
struct Kernel<'r> {
    random: &'r mut Random,
    text: String,
    /// Registers that were made, of 32 and of 64 bits.
    made: [usize; 2],
    /// Registers that something was put together in, with their widths.
    sums: Vec<(String, usize)>,
    stored: usize,
}

impl Kernel<'_> {
    /// Whether one thing of so many happens.
    fn one_of(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    /// A new register.
    fn fresh(&mut self, width: usize) -> String {
        let made = &mut self.made[width / 64];
        *made += 1;
        format!("%{}{}", if width == 64 { "e" } else { "s" }, REGISTERS + *made)
    }

    /// One that was loaded, or put together before.
    fn source(&mut self, width: usize) -> String {
        let sums: Vec<String> =
            self.sums.iter().filter(|(_, other)| *other == width).map(|(name, _)| name.clone()).collect();
        if !sums.is_empty() && self.one_of(3) {
            return sums[self.random.below(sums.len())].clone();
        }
        format!("%{}{}", if width == 64 { "e" } else { "s" }, self.random.below(REGISTERS))
    }

    /// A register with a literal of few ones or few zeros.
    fn literal(&mut self, width: usize) -> String {
        let result = self.fresh(width);
        let literal = pick(self.random, &["0", "-1", "255", "-256", "0x0F0F0F0F"]);
        self.line(&format!("mov.b{width} {result}, {literal};"));
        result
    }

    /// An instruction, under a guard now and then.
    fn line(&mut self, line: &str) {
        if self.one_of(40) {
            let guard = pick(self.random, &["@%p ", "@!%p "]);
            self.text.push_str(guard);
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A position, of a byte mostly.
    fn position(&mut self, width: usize) -> usize {
        if self.one_of(4) { self.random.below(width) } else { 8 * self.random.below(width / 8) }
    }

    /// Takes the bits from `low` to `high` out of a register, to the lowest bits of another one.
    fn taken(&mut self, from: &str, width: usize, (low, high): (usize, usize)) -> String {
        let (count, result) = (high - low, self.fresh(width));
        let mask = u64::MAX >> (64 - count);
        match self.random.below(6) {
            0 => {
                let shifted = self.fresh(width);
                let sign = pick(self.random, &["u", "u", "u", "s"]);
                self.line(&format!("shr.{sign}{width} {shifted}, {from}, {low};"));
                self.line(&format!("and.b{width} {result}, {shifted}, {mask};"));
            }
            1 => {
                let shifted = self.fresh(width);
                self.line(&format!("shl.b{width} {shifted}, {from}, {};", width - high));
                let sign = pick(self.random, &["u", "u", "u", "s"]);
                self.line(&format!("shr.{sign}{width} {result}, {shifted}, {};", width - count));
            }
            2 if low % 8 == 0 && count % 8 == 0 && width == 32 => {
                let selector = (0..count / 8)
                    .fold(0x7777, |all, at| all & !(0xF << (4 * at)) | (low / 8 + at) << (4 * at));
                // Now and then a byte that is its sign, or zeros from another register.
                let selector =
                    if self.one_of(6) { selector | 8 << (4 * self.random.below(4)) } else { selector };
                let zeros = if self.one_of(6) { self.source(32) } else { "0".to_owned() };
                self.line(&format!("prmt.b32 {result}, {from}, {zeros}, {selector};"));
            }
            3 if low == 0 && matches!(count, 8 | 16 | 32) => {
                let sign = pick(self.random, &["u", "u", "u", "s"]);
                self.line(&format!("cvt.{sign}{width}.{sign}{count} {result}, {from};"));
            }
            4 if width == 64 && matches!((low, high), (0, 32) | (32, 64)) => {
                let half = self.fresh(32);
                let halves = if low == 0 { format!("{half}, _") } else { format!("_, {half}") };
                self.line(&format!("mov.b64 {{{halves}}}, {from};"));
                self.line(&format!("cvt.u64.u32 {result}, {half};"));
            }
            _ => {
                let sign = pick(self.random, &["u", "u", "u", "u", "s"]);
                self.line(&format!("bfe.{sign}{width} {result}, {from}, {low}, {count};"));
            }
        }
        result
    }

    /// Puts parts of registers together, mostly of one and where they stood.
    fn put_together(&mut self) {
        let width = pick(self.random, &[32, 64]);
        let mut ends: Vec<usize> = (0..1 + self.random.below(3)).map(|_| self.position(width)).collect();
        ends.extend([0, width]);
        ends.sort_unstable();
        ends.dedup();
        let from = self.source(width);
        let mut sum: Option<String> = None;
        for part in ends.windows(2) {
            let (low, high) = (part[0], part[1]);
            let from = match self.random.below(24) {
                0 | 1 => self.source(width),
                2 => self.literal(width),
                _ => from.clone(),
            };
            if self.one_of(20) {
                continue;
            }
            let part = self.taken(&from, width, (low, high));
            let at = if self.one_of(25) { self.position(width) } else { low };
            let sum_so_far = sum.take();
            sum = Some(self.joined(width, sum_so_far, part, at, high - low));
        }
        if let Some(sum) = sum {
            self.sums.push((sum, width));
        }
    }

    /// A sum with a part at a position.
    fn joined(&mut self, width: usize, sum: Option<String>, part: String, at: usize, count: usize) -> String {
        if let Some(sum) = &sum
            && self.one_of(3)
        {
            let result = self.fresh(width);
            self.line(&format!("bfi.b{width} {result}, {part}, {sum}, {at}, {};", count.min(width - at)));
            return result;
        }
        let placed = if at == 0 {
            part
        } else {
            let placed = self.fresh(width);
            let factor = 1_u64 << at;
            match self.random.below(6) {
                0 if width == 64 => {
                    let half = self.fresh(32);
                    let sign = pick(self.random, &["u", "u", "u", "s"]);
                    let factor = if self.one_of(4) { factor | 1 } else { factor };
                    self.line(&format!("cvt.u32.u64 {half}, {part};"));
                    self.line(&format!("mul.wide.{sign}32 {placed}, {half}, {};", factor as u32));
                }
                1 => self.line(&format!("mul.lo.u{width} {placed}, {part}, {factor};")),
                _ => self.line(&format!("shl.b{width} {placed}, {part}, {at};")),
            }
            placed
        };
        let Some(sum) = sum else { return placed };
        let result = self.fresh(width);
        let operation = pick(self.random, &["or.b", "or.b", "or.b", "xor.b", "add.u"]);
        self.line(&format!("{operation}{width} {result}, {sum}, {placed};"));
        result
    }

    /// Two registers of 32 bits, or parts of one of 64, as one of 64.
    fn pack(&mut self) {
        let from = self.source(64);
        let [low, high] = [self.fresh(32), self.fresh(32)];
        let result = self.fresh(64);
        match self.random.below(5) {
            0 => {
                let [one, other] = [self.source(32), self.source(32)];
                self.line(&format!("mov.b32 {low}, {one};"));
                self.line(&format!("mov.b32 {high}, {other};"));
            }
            1 => self.line(&format!("mov.b64 {{{low}, {high}}}, {from};")),
            2 => {
                let halves = pick(self.random, &["%f0, %f1", "%f1, %f0", "%f0, %f0"]);
                self.line(&format!("mov.b64 {{%f0, %f1}}, {from};"));
                self.line(&format!("mov.b64 {result}, {{{halves}}};"));
                return self.sums.push((result, 64));
            }
            3 => {
                let quarters = pick(self.random, &["%h0, %h1, %h2, %h3", "%h0, %h1, %h3, %h2"]);
                self.line(&format!("mov.b64 {{%h0, %h1, %h2, %h3}}, {from};"));
                self.line(&format!("mov.b64 {result}, {{{quarters}}};"));
                return self.sums.push((result, 64));
            }
            _ => {
                let shifted = self.fresh(64);
                self.line(&format!("cvt.u32.u64 {low}, {from};"));
                self.line(&format!("shr.u64 {shifted}, {from}, 32;"));
                self.line(&format!("cvt.u32.u64 {high}, {shifted};"));
            }
        }
        self.line(&format!("mov.b64 {result}, {{{low}, {high}}};"));
        self.sums.push((result, 64));
    }

    /// Stores all of a register, some of its lowest bits, or a part that is taken out.
    fn store(&mut self) {
        let (mut sum, width) = self.sums[self.random.below(self.sums.len())].clone();
        if self.one_of(3) {
            let mut ends = [self.position(width), self.position(width)];
            ends.sort_unstable();
            let high = if ends[0] == ends[1] { width } else { ends[1] };
            sum = self.taken(&sum, width, (ends[0], high));
        }
        let stored = pick(self.random, &[8, 16, 32, 64].map(|stored: usize| stored.min(width)));
        let at = 128 + 8 * self.stored;
        self.line(&format!("st.global.u{stored} [%a+{at}], {sum};"));
        self.stored = (self.stored + 1) % 40;
    }

    /// Writes a register that was loaded anew.
    fn change(&mut self) {
        let (number, width) = (self.random.below(REGISTERS), pick(self.random, &[32, 64]));
        let name = if width == 64 { "e" } else { "s" };
        self.line(&format!("add.u{width} %{name}{number}, %{name}{number}, 12345;"));
    }
}

#[test]
fn parts_are_those_of_their_registers() {
    let (mut shorter, mut before_all, mut after_all) = (0, 0, 0);
    for seed in 0..4000 {
        let mut random = Random(seed * 86_028_121 + 17);
        let mut kernel =
            Kernel { random: &mut random, text: String::new(), made: [0; 2], sums: Vec::new(), stored: 0 };
        for _ in 0..2 + kernel.random.below(3) {
            match kernel.random.below(8) {
                0 => kernel.pack(),
                1 => kernel.change(),
                _ => kernel.put_together(),
            }
            if !kernel.sums.is_empty() {
                kernel.store();
                kernel.store();
            }
        }
        let Kernel { text: body, made: [narrow, wide], .. } = kernel;
        let mut loads = String::new();
        for number in 0..REGISTERS {
            let narrow_type = ["u32", "u8", "s16"][number];
            writeln!(loads, "ld.global.{narrow_type} %s{number}, [%a+{}];", 8 * number).unwrap();
            writeln!(
                loads,
                "ld.global.{} %e{number}, [%a+{}];",
                ["u64", "u64", "u32"][number],
                64 + 8 * number
            )
            .unwrap();
        }
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %s<{}>; .reg .b64 %e<{}>; .reg .b32 %t; .reg .b64 %a, %o; .reg .f32 %f<2>; .reg .b16 %h<4>; .reg .pred %p;\n\
             mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, {BYTES}; ld.param.u64 %a, [p]; add.s64 %a, %a, %o;\n\
             mov.b32 %f0, %t; mov.b32 %f1, %t; mov.b64 {{%h0, %h1, %h2, %h3}}, %o; setp.lt.u32 %p, %t, 13;\n{loads}{body}ret; }}\n",
            narrow + REGISTERS + 1,
            wide + REGISTERS + 1,
        );
        let buffer: Vec<u8> = (0..THREADS * BYTES).map(|_| random.below(256) as u8).collect();
        let optimized = after_alone(&text, &RULES_TWICE);
        let count = |text: &str| text.lines().filter(|line| line.ends_with(';')).count();
        let plain = after_alone(&text, &[&eliminate_dead::QUICK, &build_ssa::PHASE, &leave_ssa::PHASE]);
        shorter += usize::from(count(&optimized) < count(&plain));
        before_all += count(&plain);
        after_all += count(&optimized);
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    println!("{shorter} shorter, {before_all} to {after_all}");
    assert!(shorter > 3000, "{shorter} shorter");
    assert!(after_all * 4 < before_all * 3, "{before_all} instructions to {after_all}");
}
