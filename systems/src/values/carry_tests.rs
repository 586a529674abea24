//! Carry chains on the emulator: what is known of a carry, and carries that nothing reads. Every run leaves the same before and after.

use super::move_tests::{after, after_alone, left_by};
use super::{eliminate_dead, general_optimize};
use crate::check::testing::Random;
use std::fmt::Write;

/// Operands: any, with upper bits that are 0 or 1, all ones or any, 0 or any, and numbers at which sums carry.
const WORDS: [&str; 14] = [
    "%r1",
    "%r2",
    "%r3",
    "%r4",
    "%r5",
    "%r6",
    "0",
    "0",
    "1",
    "4294967295",
    "4294967294",
    "2147483647",
    "2147483648",
    "7",
];
const LONGS: [&str; 10] =
    ["%w1", "%w2", "%w3", "%w4", "0", "1", "-1", "-2", "9223372036854775807", "9223372036854775808"];

const HEAD: &str = "\
.entry k(.param .u64 p) { .reg .b32 %r<60>; .reg .b64 %w<60>, %a<3>; .reg .pred %p<4>;
mov.u32 %r50, %tid.x; mul.wide.u32 %a1, %r50, 512; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;
ld.global.u32 %r1, [%a1]; ld.global.u32 %r2, [%a1+8]; ld.global.u32 %r51, [%a1+16];
setp.lt.s32 %p1, %r1, 0; setp.lt.s32 %p2, %r2, 0; setp.lt.s32 %p3, %r51, 0;
and.b32 %r3, %r51, 65535; or.b32 %r4, %r51, 2147483648; selp.b32 %r5, -1, %r51, %p1; selp.b32 %r6, 0, %r51, %p2;
ld.global.u64 %w1, [%a1]; ld.global.u64 %w50, [%a1+8]; and.b64 %w2, %w50, 4294967295;
selp.b64 %w3, -1, %w50, %p1; selp.b64 %w4, 0, %w50, %p3;
";

const RESULTS: std::ops::Range<usize> = 10..40;

/// A link of a chain, which leaves its sum in a register; the first one takes no carry.
fn link(random: &mut Random, result: usize, is_first: bool, is_last: bool) -> String {
    let is_long = random.below(4) == 0;
    let mut operand =
        || if is_long { LONGS[random.below(LONGS.len())] } else { WORDS[random.below(WORDS.len())] };
    let operands = [operand(), operand(), operand()];
    let (ty, class) = (["u", "s"][random.below(2)], if is_long { 'w' } else { 'r' });
    let width = if is_long { 64 } else { 32 };
    let takes = if is_first { "" } else { "c" };
    let leaves = if is_last { "" } else { ".cc" };
    let (name, count) = match random.below(6) {
        0 | 1 => (format!("add{takes}{leaves}"), 2),
        2 | 3 => (format!("sub{takes}{leaves}"), 2),
        4 => (format!("mad{takes}.lo{leaves}"), 3),
        _ => (format!("mad{takes}.hi{leaves}"), 3),
    };
    let guard = if random.below(12) == 0 { format!("@%p{} ", 1 + random.below(3)) } else { String::new() };
    let text = format!("{guard}{name}.{ty}{width} %{class}{result}, {};", operands[..count].join(", "));
    if random.below(16) == 0 {
        let label = format!("L{result}");
        format!("@%p{} bra {label}; {text} {label}:\n", 1 + random.below(3))
    } else {
        text + "\n"
    }
}

fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = HEAD.to_owned();
    for at in RESULTS {
        writeln!(text, "mov.b32 %r{at}, {at}; mov.b64 %w{at}, {at};").unwrap();
    }
    let mut result = RESULTS.start;
    while result < RESULTS.end {
        let length = (1 + random.below(4)).min(RESULTS.end - result);
        let is_left = random.below(3) == 0;
        for at in 0..length {
            let is_last = at + 1 == length && !is_left;
            text += &link(&mut random, result + at, at == 0, is_last);
        }
        result += length;
    }
    for at in RESULTS {
        // Some sums are not read, and what only they read is dead.
        if random.below(4) != 0 {
            let place = 24 + 12 * (at - RESULTS.start);
            writeln!(text, "st.global.u32 [%a1+{place}], %r{at};").unwrap();
            writeln!(text, "cvt.u32.u64 %r52, %w{at}; st.global.u32 [%a1+{}], %r52;", place + 4).unwrap();
            writeln!(
                text,
                "shr.u64 %w51, %w{at}, 32; cvt.u32.u64 %r53, %w51; st.global.u32 [%a1+{}], %r53;",
                place + 8
            )
            .unwrap();
        }
    }
    text + "ret; }\n"
}

/// How many instructions take a carry, and how many leave one.
fn carries(text: &str) -> [usize; 2] {
    let names = || {
        text.lines()
            .filter_map(|line| line.split('\t').nth(1)?.split(' ').find(|word| !word.starts_with('@')))
    };
    let takes = |name: &&str| ["addc", "subc", "madc"].contains(&name.split('.').next().unwrap_or_default());
    [names().filter(takes).count(), names().filter(|name| name.split('.').any(|word| word == "cc")).count()]
}

#[test]
fn carry_chains_leave_the_same() {
    let phases = [&general_optimize::PHASE, &eliminate_dead::EARLY, &general_optimize::PHASE];
    let mut sums = [[0; 2]; 3];
    for seed in 0..300 {
        let text = kernel(seed);
        let left = left_by(&text);
        let (as_it_is, alone, in_ssa) =
            (after_alone(&text, &[]), after_alone(&text, &phases), after(&text, &phases));
        assert!(left == left_by(&alone), "seed {seed}\n{text}\nbecomes\n{alone}");
        assert!(left == left_by(&in_ssa), "seed {seed}\n{text}\nbecomes\n{in_ssa}");
        for (sum, text) in sums.iter_mut().zip([as_it_is, alone, in_ssa]) {
            let carries = carries(&text);
            sum.iter_mut().zip(carries).for_each(|(sum, count)| *sum += count);
        }
    }
    println!("instructions that take a carry, that leave one: {sums:?}");
    let [before, alone, in_ssa] = sums;
    for after in [alone, in_ssa] {
        assert!(after[0] * 10 < before[0] * 6 && after[1] * 10 < before[1] * 6, "{sums:?}");
    }
}
