//! Lower halves on the emulator: random code of 64 bits of which mostly lower halves are read, with joins, loops and guards, and halves
//! that are loaded and put together.

use super::super::offset_tests::{THREADS, left_by, pick};
use crate::check::testing::Random;
use crate::ssa::{build_ssa, leave_ssa};
use crate::values::eliminate_dead;
use crate::values::general_optimize::{self, narrow};
use crate::values::move_tests::after_alone;
use std::fmt::Write;

/// Bytes of a thread: 8 numbers of 64 bits, what is stored in between, and what is in each register at last.
const BYTES: usize = 256;

/// Registers of each width, `%r` and `%d`.
const REGISTERS: usize = 5;

/// What computes 64 bits, with `D` for a register of them, `O` for one or a literal and `R` for one of 32.
const COMPUTED: [&str; 22] = [
    "add.s64 D, D, O;",
    "add.u64 D, D, O;",
    "sub.s64 D, O, D;",
    "mul.lo.s64 D, D, O;",
    "mul.lo.u64 D, D, D;",
    "mad.lo.s64 D, D, O, D;",
    "and.b64 D, D, O;",
    "or.b64 D, D, O;",
    "xor.b64 D, D, O;",
    "not.b64 D, D;",
    "neg.s64 D, D;",
    "shl.b64 D, D, R;",
    "selp.b64 D, D, O, %p;",
    "mul.wide.s32 D, R, R;",
    "mul.wide.u32 D, R, 77;",
    "mad.wide.u32 D, R, R, D;",
    "mov.b64 D, D;",
    "mov.b64 D, O;",
    "shr.u64 D, D, 7;",
    "min.s64 D, D, D;",
    "mul.hi.u64 D, D, O;",
    "@%p add.s64 D, D, O;",
];

/// The first of them, which take lower halves to a lower half.
const TAKES_LOW: usize = 18;

const EXTENDED: [&str; 15] = [
    "cvt.u64.u32 D, R;",
    "cvt.s64.s32 D, R;",
    "cvt.s64.s16 D, R;",
    "cvt.u64.u8 D, R;",
    "cvt.s64.s32 D, D;",
    "cvt.s64.s8 D, D;",
    "mov.b64 D, {R, R};",
    "mov.b32 %f, R; mov.b64 D, {%f, R};",
    "mov.b64 D, {R, %f};",
    "mov.b64 D, {%f, %f};",
    "mov.b64 %e, D; mov.b64 D, %e;",
    "ld.global.u64 D, [%a+I];",
    "ld.global.s64 D, [%a+I];",
    "ld.volatile.global.u64 D, [%a+I];",
    "ld.global.s32 D, [%a+I];",
];

const READ: [&str; 13] = [
    "cvt.u32.u64 R, D;",
    "cvt.u32.u64 R, D;",
    "cvt.s32.s64 R, D;",
    "cvt.u32.u8 R, D;",
    "cvt.u16.u64 %h, D; cvt.u32.u16 R, %h;",
    "and.b64 D, D, 255;",
    "and.b64 D, D, 65535;",
    "and.b64 D, 65535, D;",
    "and.b64 D, D, 4294967295;",
    "st.global.u32 [%a+S], D;",
    "st.global.u8 [%a+S], D;",
    "setp.lt.s64 %p, D, O;",
    "setp.lt.u32 %p, R, R;",
];

/// An instruction with registers, literals and places for the letters that stand for them.
fn filled(random: &mut Random, pattern: &str) -> String {
    let literals = ["1", "-1", "7", "4294967295", "4294967303", "-9223372036854775808", "65535"];
    let (mnemonic, operands) = pattern.rsplit_once(' ').map_or((pattern, ""), |_| {
        let at = pattern.find(['D', 'R', '[']).expect("it has operands");
        pattern.split_at(at)
    });
    let mut text = mnemonic.to_owned();
    for letter in operands.chars() {
        match letter {
            'D' => write!(text, "%d{}", random.below(REGISTERS)).unwrap(),
            'R' => write!(text, "%r{}", random.below(REGISTERS)).unwrap(),
            'O' if random.below(2) == 0 => text.push_str(pick(random, &literals)),
            'O' => write!(text, "%d{}", random.below(REGISTERS)).unwrap(),
            'I' => write!(text, "{}", 8 * random.below(8)).unwrap(),
            'S' => write!(text, "{}", 64 + 8 * random.below(8)).unwrap(),
            other => text.push(other),
        }
    }
    text.push('\n');
    text
}

/// Two halves, loaded as a rule, that are put together by a shift, as a rule by 32. Now and then one of them is read once more.
fn put_together(random: &mut Random) -> String {
    const HALVES: [&str; 8] = [
        "ld.global.u32 D, [%a+I];",
        "ld.global.b32 D, [%a+I];",
        "ld.volatile.global.u32 D, [%a+I];",
        "ld.global.s32 D, [%a+I];",
        "ld.global.u8 D, [%a+I];",
        "ld.global.s16 D, [%a+I];",
        "cvt.u64.u32 D, R;",
        "cvt.s64.s32 D, R;",
    ];
    let mut parts = ["low", "high"].map(|name| {
        let last = if random.below(4) == 0 { HALVES.len() } else { 3 };
        let half = pick(random, &HALVES[..last]).replace('D', &format!("%{name}"));
        filled(random, &half)
    });
    if random.below(8) == 0 {
        parts[random.below(2)].insert_str(0, "@%p ");
    }
    let amount = if random.below(6) == 0 { pick(random, &["31", "33", "0", "%r0"]) } else { "32" };
    let between = if random.below(4) == 0 { filled(random, "mov.u32 R, 77;") } else { String::new() };
    let (sum, operands) = (
        pick(random, &["or.b64", "add.s64", "xor.b64"]),
        pick(random, &["%shifted, %low", "%low, %shifted"]),
    );
    let result = random.below(REGISTERS);
    let once_more = match random.below(8) {
        0 => filled(random, "add.s64 D, D, %low;"),
        1 => filled(random, "add.s64 D, D, %shifted;"),
        _ => String::new(),
    };
    let end =
        format!("shl.b64 %shifted, %high, {amount};\n{between}{sum} %d{result}, {operands};\n{once_more}");
    parts.concat() + &end
}

fn steps(random: &mut Random, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        if random.below(6) == 0 {
            text.push_str(&put_together(random));
            continue;
        }
        let pattern = match random.below(8) {
            0..=3 if random.below(8) == 0 => pick(random, &COMPUTED),
            0..=3 => pick(random, &COMPUTED[..TAKES_LOW]),
            4..=5 => pick(random, &EXTENDED),
            _ => pick(random, &READ),
        };
        text.push_str(&filled(random, pattern));
    }
    text
}

/// A few instructions, some of them behind a branch or in a loop.
fn body(random: &mut Random) -> String {
    let mut text = String::new();
    for part in 0..1 + random.below(3) {
        let count = 2 + random.below(6);
        let inside = steps(random, count);
        match random.below(4) {
            0 => write!(
                text,
                "setp.lt.u32 %q, %r0, %r1;\n@%q bra ELSE{part};\n{inside}bra JOIN{part};\nELSE{part}:\n{}JOIN{part}:\n",
                steps(random, count)
            ),
            1 => write!(text, "setp.lt.u32 %q, %r0, %r2;\n@%q bra JOIN{part};\n{inside}JOIN{part}:\n"),
            2 => write!(
                text,
                "mov.u32 %i, 0;\nLOOP{part}:\n{inside}add.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, 3;\n@%q bra LOOP{part};\n"
            ),
            _ => write!(text, "{inside}"),
        }
        .unwrap();
    }
    text
}

#[test]
fn lower_halves_are_what_they_were() {
    // Half of them without rules before: literals stand in any place, and extensions in chains.
    let before =
        [&eliminate_dead::QUICK, &build_ssa::PHASE, &general_optimize::PHASE, &eliminate_dead::EARLY];
    let after = [&general_optimize::PHASE, &eliminate_dead::EARLY, &leave_ssa::PHASE, &eliminate_dead::FULL];
    let (mut narrowed, mut packed, mut longer) = (0, 0, 0);
    for seed in 0..4000 {
        let mut random = Random(seed * 15_485_863 + 5);
        let mut text = format!(
            ".entry k(.param .u64 p) {{ .reg .b16 %h; .reg .b32 %r<{REGISTERS}>; .reg .b64 %d<{REGISTERS}>;\n\
             .reg .b32 %t, %i; .reg .b64 %a, %o, %low, %high, %shifted; .reg .f32 %f; .reg .f64 %e; .reg .pred %p, %q; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, {BYTES};\n\
             ld.param.u64 %a, [p]; add.s64 %a, %a, %o; setp.eq.u32 %p, %t, 1;\n\
             mov.b32 %f, %t; mov.u64 %low, 5; mov.u64 %high, 9;\n"
        );
        for number in 0..REGISTERS {
            writeln!(text, "ld.global.u32 %r{number}, [%a+{}];", 4 * random.below(16)).unwrap();
        }
        for number in 0..REGISTERS {
            let pattern = pick(&mut random, &EXTENDED[..4]);
            text.push_str(&filled(&mut random, &pattern.replace('D', &format!("%d{number}"))));
        }
        text.push_str(&body(&mut random));
        let types = ["u32", "u16", "u8", "u64"];
        let types = &types[..3 + usize::from(random.below(4) == 0)];
        for number in 0..REGISTERS {
            let ty = pick(&mut random, types);
            if random.below(3) > 0 {
                writeln!(text, "st.global.{ty} [%a+{}], %d{number};", 128 + 8 * number).unwrap();
            }
            writeln!(text, "st.global.u32 [%a+{}], %r{number};", 192 + 8 * number).unwrap();
        }
        text.push_str("ret; }\n");
        let buffer: Vec<u8> = (0..THREADS * BYTES).map(|_| random.below(256) as u8).collect();
        let before = &before[..2 + 2 * (seed as usize % 2)];
        let [optimized, plain] = [&[&narrow::PHASE][..], &[]].map(|tested| {
            let phases: Vec<_> = before.iter().chain(tested).chain(&after).copied().collect();
            after_alone(&text, &phases)
        });
        let count =
            |text: &str| text.lines().filter(|line| line.ends_with(';') && !line.contains(".reg")).count();
        let shifts = |text: &str| text.matches("shl.b64").count();
        packed += usize::from(shifts(&optimized) < shifts(&plain));
        narrowed += usize::from(optimized != plain);
        longer += usize::from(count(&optimized) > count(&plain));
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    println!("{narrowed} narrowed, {packed} packed, {longer} longer");
    assert!(narrowed > 700, "{narrowed} narrowed");
    assert!(packed > 500, "{packed} packed");
    assert!(longer < 10, "{longer} of {narrowed} longer");
}
