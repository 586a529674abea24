//! Pairs of instructions on the emulator: every run leaves the same before and after.

use super::*;
use crate::check::testing::Random;
use crate::values::move_tests::{after_alone, left_by};
use std::fmt::Write;

/// Pairs that may be fused, with what stands for the names in them: `D` for the result, `T` for what is computed first, `A` to `C` for
/// words, `L` for a literal, `W` to `Y` for words of 64 bits, `P` for a predicate that is read, `F` for a float.
const PAIRS: [(&str, &str); 25] = [
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
    ("setp.COMPARE.s32 pT, rA, L;", "JOIN.pred pD, !pT, pP;"),
    ("setp.COMPARE.u32 pT, rA, rB;", "JOIN.pred pD, !pP, !pT;"),
    ("setp.COMPARE.f32 pT, fA, fB;", "JOIN.pred pD, !pT, !pP;"),
    ("mov.b64 {_, rT}, wX;", "mov.b64 {rD, _}, wX;"),
    ("mov.b64 {rT, _}, wX;", "mov.b64 {_, rD}, wX;"),
    ("mul.hi.s32 rT, rA, L;", "add.s32 rD, rT, rB;"),
    ("shl.b32 rT, rA, rB;", "add.s32 rD, rT, rC;"),
    ("mul.wide.s32 wT, rA, L;", "add.s64 wD, wT, wX;"),
    ("cvt.s64.s32 wT, rA;", "sub.s64 wD, wX, wT;"),
    ("cvt.s64.s16 wT, rA;", "add.s64 wD, wT, wX;"),
];

const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const LITERALS: [&str; 6] = ["1", "-1", "24", "2147483647", "-2147483648", "65536"];

/// A kernel of pairs, with something else in between, on registers that it reads from memory and writes there.
fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::from(
        ".entry k(.param .u64 p) { .reg .b32 %r<40>; .reg .b64 %w<40>, %a<3>; .reg .f32 %f<4>; .reg .pred %p<40>;\n\
         mov.u32 %r39, %tid.x; mul.wide.u32 %a1, %r39, 512; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n",
    );
    for at in 0..4 {
        writeln!(text, "ld.global.u32 %r{at}, [%a1+{}]; ld.global.f32 %f{at}, [%a1+{}];", 8 * at, 8 * at + 4)
            .unwrap();
        writeln!(text, "ld.global.u64 %w{at}, [%a1+{}]; setp.lt.s32 %p{at}, %r{at}, 0;", 8 * at).unwrap();
    }
    for at in (8..30).step_by(2) {
        writeln!(text, "mov.b32 %r{at}, {at}; mov.b64 %w{at}, {at}; setp.ne.s32 %p{at}, %r39, {at};")
            .unwrap();
    }
    for pair in 0..8 {
        let (result, computed) = (8 + 2 * pair, 9 + 2 * pair);
        let (first, second) = PAIRS[random.below(PAIRS.len())];
        let names: Vec<String> = (0..4).map(|_| random.below(4).to_string()).collect();
        let literal = LITERALS[random.below(LITERALS.len())];
        let shift = random.below(34).to_string();
        let comparison = COMPARISONS[random.below(6)];
        let join = ["and", "or", "xor"][random.below(3)];
        let named = |text: &str| {
            let text = text.replace("COMPARE", comparison).replace("JOIN", join);
            let mut named = String::new();
            let mut letters = text.chars().peekable();
            while let Some(letter) = letters.next() {
                match (letter, letters.peek()) {
                    ('r' | 'w' | 'p' | 'f', Some('A'..='Y')) => {
                        let name = match letters.next().unwrap() {
                            'D' => result.to_string(),
                            'T' => computed.to_string(),
                            'A' | 'X' => names[0].clone(),
                            'B' | 'Y' => names[1].clone(),
                            'C' => names[2].clone(),
                            _ => names[3].clone(),
                        };
                        write!(named, "%{letter}{name}").unwrap();
                    }
                    ('L', Some('S')) => {
                        letters.next();
                        named += &shift;
                    }
                    ('L', _) => named += literal,
                    _ => named.push(letter),
                }
            }
            named
        };
        let guard = |random: &mut Random| {
            if random.below(8) == 0 { format!("@%p{} ", random.below(4)) } else { String::new() }
        };
        let (one, other) = (guard(&mut random), guard(&mut random));
        // What is computed first is written once, as a rule.
        let class = if first.contains("rT") {
            'r'
        } else if first.contains("wT") {
            'w'
        } else {
            'p'
        };
        if !one.is_empty() {
            writeln!(
                text,
                "{}",
                match class {
                    'r' => format!("mov.b32 %r{computed}, 5;"),
                    'w' => format!("mov.b64 %w{computed}, 5;"),
                    _ => format!("setp.lt.s32 %p{computed}, %r39, 5;"),
                }
            )
            .unwrap();
        }
        writeln!(text, "{one}{}", named(first)).unwrap();
        // What may keep the two apart: an operand that changes, another reader, a block that ends.
        let between = random.below(4);
        match random.below(12) {
            0 => writeln!(text, "add.s32 %r{between}, %r{between}, 3;").unwrap(),
            1 => writeln!(text, "add.s64 %w{between}, %w{between}, 5;").unwrap(),
            2 => writeln!(text, "setp.lt.s32 %p{between}, %r{between}, 9;").unwrap(),
            3 => writeln!(
                text,
                "{}",
                match class {
                    'r' => format!("xor.b32 %r0, %r0, %r{computed};"),
                    'w' => format!("xor.b64 %w0, %w0, %w{computed};"),
                    _ => format!("@%p{computed} xor.b32 %r0, %r0, 9;"),
                }
            )
            .unwrap(),
            4 => writeln!(text, "@%p{between} bra L{pair}; add.s32 %r3, %r3, 1; L{pair}:").unwrap(),
            5 => writeln!(text, "mov.b32 %r{result}, %r{between}; add.s32 %r2, %r2, %r{result};").unwrap(),
            6 if class == 'r' => writeln!(text, "@%p{between} mov.b32 %r{computed}, 77;").unwrap(),
            7 => writeln!(text, "add.f32 %f{between}, %f{between}, %f{between};").unwrap(),
            _ => {}
        }
        writeln!(text, "{other}{}", named(second)).unwrap();
    }
    for at in 0..30 {
        let place = 32 + 16 * at;
        if at % 2 == 0 || at < 8 {
            writeln!(
                text,
                "st.global.u32 [%a1+{place}], %r{at}; @%p{at} st.global.u32 [%a1+{}], %r39;",
                place + 12
            )
            .unwrap();
        }
    }
    (4..12).for_each(|at| writeln!(text, "st.global.u64 [%a1+{}], %w{};", 16 * at + 36 - 4, 2 * at).unwrap());
    text + "ret; }\n"
}

#[test]
fn what_is_fused_computes_what_the_two_did() {
    let mut fused = [0; 4];
    for seed in 0..400 {
        let text = kernel(seed);
        let changed = after_alone(&text, &[&PHASE]);
        assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        let made = ["mad.lo", "mad.wide", "setp.", "mov.b64 {"];
        let joined = |text: &str, made: &str| match made {
            "setp." => [".and.", ".or.", ".xor."].iter().map(|join| text.matches(join).count()).sum(),
            "mov.b64 {" => text.matches("_").count(),
            made => text.matches(made).count(),
        };
        let before = after_alone(&text, &[]);
        for (count, made) in fused.iter_mut().zip(made) {
            *count += joined(&changed, made).abs_diff(joined(&before, made));
        }
    }
    println!("{fused:?}");
    assert!(fused.iter().all(|&count| count > 50), "{fused:?}");
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
