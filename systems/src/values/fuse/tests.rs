//! Pairs of instructions on the emulator: every run leaves the same before and after.

use super::*;
use crate::check::testing::Random;
use crate::values::move_tests::{after_alone, left_by};
use std::fmt::Write;

/// Pairs that may be fused, with what stands for the names in them: `D` for the result, `T` for what is computed first, `A` to `C` for
/// words and floats, `X` and `Y` for words of 64 bits, `P` for a predicate that is read, `L` for a literal, `LS` for an amount of a shift.
const PAIRS: [(&str, &str); 40] = [
    ("shl.b32 rT, rA, LS;", "add.s32 rD, rT, rB;"),
    ("shl.b32 rT, rA, LS;", "sub.s32 rD, rB, rT;"),
    ("mul.lo.s32 rT, rA, L;", "add.u32 rD, rB, rT;"),
    ("mul.lo.u32 rT, rA, rC;", "add.s32 rD, rT, rB;"),
    ("mul.lo.s32 rT, rA, L;", "sub.s32 rD, rB, rT;"),
    ("mul.lo.s32 rT, rA, rC;", "sub.s32 rD, rB, rT;"),
    ("mul.lo.s64 wT, wX, L;", "sub.s64 wD, wY, wT;"),
    ("mul.lo.u64 wT, wX, wY;", "add.s64 wD, wT, wX;"),
    ("cvt.s64.s32 wT, rA;", "add.s64 wD, wT, wX;"),
    ("cvt.u64.u32 wT, rA;", "add.u64 wD, wX, wT;"),
    ("setp.COMPARE.s32 pT, rA, rB;", "JOIN.pred pD, pT, pP;"),
    ("setp.COMPARE.u32 pT, rA, L;", "JOIN.pred pD, pP, pT;"),
    ("setp.COMPARE.s64 pT, wX, wY;", "JOIN.pred pD, pP, pT;"),
    ("setp.COMPARE.f32 pT, fA, fB;", "JOIN.pred pD, pT, pP;"),
    ("setp.COMPAREu.ftz.f32 pT, fA, fB;", "JOIN.pred pD, pP, pT;"),
    ("mov.b64 {_, rT}, wX;", "mov.b64 {rD, _}, wX;"),
    ("mov.b64 {rT, _}, wX;", "mov.b64 {_, rD}, wX;"),
    ("mul.hi.s32 rT, rA, L;", "add.s32 rD, rT, rB;"),
    ("shl.b32 rT, rA, rB;", "add.s32 rD, rT, rC;"),
    ("mul.wide.s32 wT, rA, L;", "add.s64 wD, wT, wX;"),
    ("cvt.s64.s32 wT, rA;", "sub.s64 wD, wX, wT;"),
    ("cvt.s64.s16 wT, rA;", "add.s64 wD, wT, wX;"),
    ("setp.COMPARE.s32 pT, rA, L;", "JOIN.pred pD, !pT, pP;"),
    ("setp.COMPARE.u32 pT, rA, rB;", "JOIN.pred pD, !pP, !pT;"),
    ("setp.COMPARE.f32 pT, fA, fB;", "JOIN.pred pD, !pT, !pP;"),
    ("selp.b32 rT, rA, L, pP;", "setp.COMPARE.s32 pT, rB, rC; selp.b32 rD, rT, L, pT;"),
    ("selp.b32 rT, rB, rA, pP;", "setp.COMPAREu.f32 pT, fB, fA; selp.b32 rD, rB, rT, pT;"),
    ("selp.b32 rT, rA, rB, pP;", "setp.COMPARE.s32 pT, rC, L; selp.b32 rD, rB, rT, pT;"),
    ("setp.COMPARE.u32 pT, rA, L;", "selp.b32 rT, rC, rB, pT; selp.b32 rD, rT, rB, pP;"),
    ("setp.COMPARE.s32 pT, rA, rC;", "selp.b64 wT, wY, wX, pT; selp.b64 wD, wX, wT, pP;"),
    ("mov.b32 {hT, hD}, rA;", "mov.b32 rD, {0, hT}; mov.b32 rT, {hD, 0}; sub.s32 rD, rD, rT;"),
    ("mov.b32 {hD, hT}, rA;", "mov.b32 rD, {0, hT}; mov.b32 rT, {hD, 0}; xor.b32 rD, rD, rT;"),
    ("mov.b32 {_, hT}, rA;", "mov.b32 rD, {hT, 0};"),
    ("cvt.u16.u32 hT, rA;", "mov.b32 rD, {0, hT};"),
    ("cvt.s16.s32 hT, rA;", "mov.b32 rD, {hT, 0};"),
    ("cvt.u64.u32 wT, rA;", "shl.b64 wD, wT, 32;"),
    ("cvt.s64.s32 wT, rA;", "shl.b64 wD, wT, 32;"),
    ("shr.u32 rT, rA, 16;", "prmt.b32 rD, rT, rB, 0xB105;"),
    ("shl.b32 rT, rA, 8;", "prmt.b32 rD, rB, rT, 0x7E23;"),
    ("and.b32 rT, rA, 0xFF00FF;", "prmt.b32 rD, rT, rB, 0x6A40;"),
];

const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const JOINS: [&str; 3] = ["and", "or", "xor"];
const LITERALS: [&str; 6] = ["1", "-1", "24", "2147483647", "-2147483648", "65536"];

/// A pair in a kernel.
struct Pair {
    first: &'static str,
    second: &'static str,
    /// Which of the kernel's pairs it is: each has registers of its own for what it computes.
    number: usize,
    /// The registers that it reads.
    reads: [usize; 4],
    literal: &'static str,
    shift: usize,
    comparison: &'static str,
    join: &'static str,
}

impl Pair {
    fn choose(number: usize, random: &mut Random) -> Self {
        let (first, second) = PAIRS[random.below(PAIRS.len())];
        Self {
            first,
            second,
            number,
            reads: std::array::from_fn(|_| random.below(4)),
            literal: LITERALS[random.below(LITERALS.len())],
            shift: random.below(34),
            comparison: COMPARISONS[random.below(6)],
            join: JOINS[random.below(3)],
        }
    }

    /// The register that the second one writes.
    const fn result(&self) -> usize {
        8 + 2 * self.number
    }

    /// The register that the first one writes.
    const fn computed(&self) -> usize {
        9 + 2 * self.number
    }

    /// The class of the register that the first one writes.
    fn class(&self) -> char {
        let writes = |class: &char| self.first.contains(&format!("{class}T"));
        ['r', 'w', 'p', 'h'].into_iter().find(writes).expect("the first one writes a register")
    }

    /// One of the two, with names.
    fn named(&self, text: &str) -> String {
        let mut text = text
            .replace("COMPARE", self.comparison)
            .replace("JOIN", self.join)
            .replace("LS", &self.shift.to_string())
            .replace('L', self.literal);
        let [one, other, third, fourth] = self.reads;
        let (result, computed) = (self.result(), self.computed());
        let of_letters = [('D', result), ('T', computed), ('A', one), ('X', one), ('B', other), ('Y', other)];
        for (letter, number) in of_letters.into_iter().chain([('C', third), ('P', fourth)]) {
            for class in ['r', 'w', 'p', 'f', 'h'] {
                text = text.replace(&format!("{class}{letter}"), &format!("%{class}{number}"));
            }
        }
        text
    }

    /// What the register of the first one holds where its guard is false.
    fn initial(&self) -> String {
        let computed = self.computed();
        match self.class() {
            'r' => format!("mov.b32 %r{computed}, 5;"),
            'w' => format!("mov.b64 %w{computed}, 5;"),
            'h' => format!("mov.b16 %h{computed}, 5;"),
            _ => format!("setp.lt.s32 %p{computed}, %r39, 5;"),
        }
    }

    /// Another reader of what the first one computes.
    fn reader(&self) -> String {
        let computed = self.computed();
        match self.class() {
            'r' => format!("xor.b32 %r0, %r0, %r{computed};"),
            'w' => format!("xor.b64 %w0, %w0, %w{computed};"),
            'h' => format!("cvt.u32.u16 %r0, %h{computed};"),
            _ => format!("@%p{computed} xor.b32 %r0, %r0, 9;"),
        }
    }

    /// What may keep the two apart: an operand that changes, another reader, a block that ends.
    fn between(&self, random: &mut Random) -> String {
        let (any, number, result, computed) = (random.below(4), self.number, self.result(), self.computed());
        match random.below(12) {
            0 => format!("add.s32 %r{any}, %r{any}, 3;"),
            1 => format!("add.s64 %w{any}, %w{any}, 5;"),
            2 => format!("setp.lt.s32 %p{any}, %r{any}, 9;"),
            3 => self.reader(),
            4 => format!("@%p{any} bra L{number}; add.s32 %r3, %r3, 1; L{number}:"),
            5 => format!("mov.b32 %r{result}, %r{any}; add.s32 %r2, %r2, %r{result};"),
            6 if self.class() == 'r' => format!("@%p{any} mov.b32 %r{computed}, 77;"),
            7 => format!("add.f32 %f{any}, %f{any}, %f{any};"),
            _ => String::new(),
        }
    }

    /// The two, perhaps guarded and with something in between.
    fn text(&self, random: &mut Random) -> String {
        let (guard, other_guard) = (some_guard(random), some_guard(random));
        let initial = if guard.is_empty() { String::new() } else { self.initial() };
        let between = self.between(random);
        let (first, second) = (self.named(self.first), self.named(self.second));
        format!("{initial}\n{guard}{first}\n{between}\n{other_guard}{second}\n")
    }
}

/// A guard, for one instruction of eight.
fn some_guard(random: &mut Random) -> String {
    if random.below(8) == 0 { format!("@%p{} ", random.below(4)) } else { String::new() }
}

/// The beginning of a kernel: registers that pairs read come from memory, and those that they write hold something.
fn beginning() -> String {
    let mut text = String::from(
        ".entry k(.param .u64 p) { .reg .b32 %r<40>; .reg .b64 %w<40>, %a<3>; .reg .f32 %f<4>; .reg .b16 %h<40>; .reg .pred %p<40>;\n\
         mov.u32 %r39, %tid.x; mul.wide.u32 %a1, %r39, 512; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n",
    );
    for at in 0..4 {
        let place = 8 * at;
        writeln!(text, "ld.global.u32 %r{at}, [%a1+{place}]; ld.global.f32 %f{at}, [%a1+{}];", place + 4)
            .unwrap();
        writeln!(text, "ld.global.u64 %w{at}, [%a1+{place}]; setp.lt.s32 %p{at}, %r{at}, 0;").unwrap();
    }
    for at in (8..30).step_by(2) {
        writeln!(text, "mov.b32 %r{at}, {at}; mov.b64 %w{at}, {at}; setp.ne.s32 %p{at}, %r39, {at};")
            .unwrap();
    }
    text
}

/// The end of a kernel: what pairs read, which may have changed, and their results go to memory.
fn end() -> String {
    let mut text = String::new();
    for at in (0..4).chain((8..30).step_by(2)) {
        let place = 32 + 16 * at;
        let (flag, long) = (place + 4, place + 8);
        writeln!(text, "st.global.u32 [%a1+{place}], %r{at}; @%p{at} st.global.u32 [%a1+{flag}], %r39;")
            .unwrap();
        writeln!(text, "st.global.u64 [%a1+{long}], %w{at};").unwrap();
    }
    text + "ret; }\n"
}

/// A kernel of pairs, with something else in between, on registers that it reads from memory and writes there.
fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = beginning();
    for number in 0..8 {
        text += &Pair::choose(number, &mut random).text(&mut random);
    }
    text + &end()
}

/// How often a text has what a family makes, or, of halves, what it takes away.
fn count_of(text: &str, family: &str) -> usize {
    match family {
        "setp" => [".and.", ".or.", ".xor."].iter().map(|join| text.matches(join).count()).sum(),
        family => text.matches(family).count(),
    }
}

#[test]
fn what_is_fused_computes_what_the_two_did() {
    const FAMILIES: [&str; 7] = ["mad.lo", "mad.wide", "setp", "selp", "mov.b64", "mov.b32", "shr.u32"];
    let mut fused = [0; FAMILIES.len()];
    for seed in 0..1_000 {
        let text = kernel(seed);
        let changed = after_alone(&text, &[&PHASE]);
        assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        let before = after_alone(&text, &[]);
        for (count, family) in fused.iter_mut().zip(FAMILIES) {
            *count += count_of(&changed, family).abs_diff(count_of(&before, family));
        }
    }
    assert!(fused.iter().all(|&count| count > 20), "{fused:?}");
}

#[test]
fn halves_are_unpacked_together_up_to_a_distance_wherever_they_stand() {
    for (before, between, is_one) in
        [(0, 63, true), (0, 64, false), (99, 0, true), (99, 63, true), (99, 64, false)]
    {
        let others = |count| "add.s32 %r3, %r3, 1; ".repeat(count);
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %r<4>; .reg .b64 %w<2>; ld.param.u64 %w1, [p]; ld.param.u32 %r3, [p];\n\
             {}mov.b64 {{%r1, _}}, %w1; {}mov.b64 {{_, %r2}}, %w1;\n\
             st.global.v2.u32 [%w1], {{%r1, %r2}}; st.global.u32 [%w1+8], %r3; ret; }}\n",
            others(before),
            others(between)
        );
        let changed = after_alone(&text, &[&PHASE]);
        assert_eq!(changed.contains("mov.b64 {%r1, %r2}, %w1;"), is_one, "{before} {between}");
        assert_eq!(changed.matches("mov.b64").count(), 2 - usize::from(is_one), "{before} {between}");
    }
}

/// Instructions that take some bits of `%r{from}` into `%r{to}`, by way of `%r{to + 2}`: none to two of them, with literals that make
/// fields and bytes often.
fn some_bits(from: usize, to: usize, random: &mut Random) -> String {
    const MASKS: [u32; 12] = [
        0xFF,
        0xFFFF,
        0xF,
        0x7F,
        0xFF00,
        0xFFFF_0000,
        0xFF00_FF00,
        0x00FF_00FF,
        0x780,
        !0x780,
        0xFFFF_FF80,
        6,
    ];
    const AMOUNTS: [u32; 8] = [8, 16, 24, 7, 4, 1, 31, 0];
    let mut one = |to: usize, from: usize| {
        let (mask, amount) = (MASKS[random.below(12)], AMOUNTS[random.below(8)]);
        match random.below(4) {
            0 => format!("shl.b32 %r{to}, %r{from}, {amount};"),
            1 => format!("shr.u32 %r{to}, %r{from}, {amount};"),
            2 => format!("shr.s32 %r{to}, %r{from}, {amount};"),
            _ => format!("and.b32 %r{to}, %r{from}, {mask};"),
        }
    };
    let (inner, outer) = (one(to + 2, from), one(to, to + 2));
    let alone = one(to, from);
    match random.below(8) {
        0 => format!("mov.b32 %r{to}, %r{from};"),
        1 => format!("ld.global.u8 %r{to}, [%a1];"),
        2 | 3 => alone,
        _ => inner + &outer,
    }
}

/// A kernel that joins bits of registers, with something in between that may keep them apart.
fn kernel_of_parts(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = beginning();
    // The end of the kernel reads the even ones.
    for number in 0..3 {
        let at = 8 + 10 * number;
        let between = match random.below(12) {
            0 => format!("add.s32 %r{0}, %r{0}, 3;", random.below(4)),
            1 => format!("xor.b32 %r0, %r0, %r{};", at + 1 + 2 * random.below(4)),
            2 => format!("@%p{0} bra P{number}; add.s32 %r3, %r3, 1; P{number}:", random.below(4)),
            _ => String::new(),
        };
        let (one, other) = (random.below(4), random.below(4));
        let join = ["or.b32", "add.s32", "xor.b32", "or.b32"][random.below(4)];
        let guard = some_guard(&mut random);
        text += &some_bits(one, at + 1, &mut random);
        text += &some_bits(other, at + 5, &mut random);
        text += &format!("{between}\n{guard}{join} %r{at}, %r{}, %r{};\n", at + 1, at + 5);
        if random.below(3) == 0 {
            let kept = [0xFF, 0xFFFF, 0x7F][random.below(3)];
            let by = [8, 16, 7, 24][random.below(4)];
            text += &format!("shr.u32 %r{0}, %r{at}, {by}; and.b32 %r{1}, %r{0}, {kept};\n", at + 9, at + 4);
            text += &format!("xor.b32 %r1, %r1, %r{};\n", at + 4);
        }
    }
    text + &end()
}

#[test]
fn what_joins_parts_computes_what_the_shifts_and_masks_did() {
    const FAMILIES: [&str; 3] = ["prmt.b32", "bfi.b32", "bfe.u32"];
    let mut fused = [0; FAMILIES.len()];
    for seed in 0..1_200 {
        let text = kernel_of_parts(seed);
        let changed = after_alone(&text, &[&PHASE]);
        assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        for (count, family) in fused.iter_mut().zip(FAMILIES) {
            *count += changed.matches(family).count();
        }
    }
    assert!(fused.iter().all(|&count| count > 50), "{fused:?}");
}
