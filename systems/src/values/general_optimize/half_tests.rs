//! Parts of registers on the emulator: random packs and unpacks, of floats and under guards too, with conversions, shifts, masks and sums
//! between.

use super::offset_tests::{THREADS, left_by, pick};
use crate::check::testing::Random;

use crate::ssa::{build_ssa, leave_ssa};
use crate::values::move_tests::after_alone;
use crate::values::{eliminate_dead, general_optimize};
use ptxopt_engine::run::phase::Phase;
use std::fmt::Write;

/// Bytes of a thread: a number of each width, stores in between, and what is in each register at last.
const BYTES: usize = 256;

/// Registers of each width, `%h`, `%r` and `%d`, and floats of 32 bits, `%f`.
const REGISTERS: usize = 4;

/// The rules, twice, of which the second run sees what the first one left.
pub(super) const RULES_TWICE: [&Phase; 8] = [
    &eliminate_dead::QUICK,
    &build_ssa::PHASE,
    &general_optimize::PHASE,
    &eliminate_dead::EARLY,
    &general_optimize::PHASE,
    &eliminate_dead::EARLY,
    &leave_ssa::PHASE,
    &eliminate_dead::FULL,
];

const WIDTHS: [usize; 3] = [16, 32, 64];

fn register(random: &mut Random, width: usize) -> String {
    let letter = ["h", "r", "d"][WIDTHS.iter().position(|&other| other == width).unwrap()];
    format!("%{letter}{}", random.below(REGISTERS))
}

/// One of which only the bits are read or written, which may be a float.
fn bits(random: &mut Random, width: usize) -> String {
    if width == 32 && random.below(4) == 0 {
        return format!("%f{}", random.below(REGISTERS));
    }
    register(random, width)
}

/// A number of parts and how wide they are and their whole.
fn shape(random: &mut Random) -> (usize, usize, usize) {
    pick(random, &[(2, 32, 64), (2, 32, 64), (4, 16, 64), (2, 16, 32)])
}

/// Registers of one width that are not twice the same.
fn parts(random: &mut Random, count: usize, width: usize) -> Vec<String> {
    let first = random.below(REGISTERS);
    let letter = if width == 32 { "r" } else { "h" };
    (0..count).map(|at| format!("%{letter}{}", (first + at) % REGISTERS)).collect()
}

fn step(random: &mut Random, at: usize, unpacked: &mut Vec<(Vec<String>, usize)>) -> String {
    match random.below(9) {
        0..=1 => {
            let (count, part, whole) = shape(random);
            let mut results = parts(random, count, part);
            unpacked.push((results.clone(), whole));
            let kept = random.below(count);
            for (at, result) in results.iter_mut().enumerate() {
                if at != kept && random.below(2) == 0 {
                    "_".clone_into(result);
                }
            }
            if random.below(6) == 0 && !results.contains(&"_".to_owned()) {
                let ty = if part == 32 { "f32" } else { "u16" };
                return format!(
                    "ld.global.v{count}.{ty} {{{}}}, [%a+{}];",
                    results.join(", "),
                    8 * random.below(8)
                );
            }
            format!("mov.b{whole} {{{}}}, {};", results.join(", "), bits(random, whole))
        }
        2..=3 => {
            let (count, part, whole) = shape(random);
            let like_before = unpacked.last().filter(|_| random.below(4) > 0).cloned();
            let (sources, whole) = like_before.unwrap_or_else(|| (parts(random, count, part), whole));
            format!("mov.b{whole} {}, {{{}}};", bits(random, whole), sources.join(", "))
        }
        4..=5 => {
            let [to, from] = [(); 2].map(|()| pick(random, &WIDTHS));
            let read = pick(random, &[8, 16, 32, 64].map(|width: usize| width.min(from)));
            let [to_type, from_type] =
                [to, read].map(|width| format!("{}{width}", pick(random, &['u', 's'])));
            let [result, source] = [to, from].map(|width| register(random, width));
            format!("cvt.{to_type}.{from_type} {result}, {source};")
        }
        6 => {
            let width = pick(random, &WIDTHS);
            let [result, source] = [(); 2].map(|()| register(random, width));
            let mask = pick(random, &[255_u64, 65_535, 127, 4_294_967_295]);
            let mask = if width == 64 { mask } else { mask & ((1 << width) - 1) };
            match random.below(3) {
                0 => format!("add.s{width} {result}, {source}, 77;"),
                1 if width == 64 => format!("shr.u64 {result}, {source}, 32;"),
                _ => {
                    let source = if random.below(4) == 0 { bits(random, width) } else { source };
                    format!("and.b{width} {result}, {source}, {mask};")
                }
            }
        }
        7 => {
            let from = pick(random, &WIDTHS);
            let stored = pick(random, &[8, 16, 32, 64].map(|width: usize| width.min(from)));
            let stored_in = 64 + 8 * (at % 8);
            match bits(random, from) {
                float if float.starts_with("%f") => format!("st.global.f32 [%a+{stored_in}], {float};"),
                integer => format!("st.global.u{stored} [%a+{stored_in}], {integer};"),
            }
        }
        _ => {
            let [low, high] = [(); 2].map(|()| register(random, 32));
            let (ty, by) =
                pick(random, &[("u64.u32", 32), ("u64.u32", 32), ("u64.u32", 31), ("s64.s32", 32)]);
            let combine = pick(random, &["or.b64", "add.s64", "xor.b64"]);
            let result = register(random, 64);
            format!(
                "cvt.{ty} %o, {low}; cvt.u64.u32 %w, {high}; shl.b64 %w, %w, {by}; {combine} {result}, %o, %w;"
            )
        }
    }
}

/// A step, which may be under a guard.
fn guarded_step(random: &mut Random, at: usize, unpacked: &mut Vec<(Vec<String>, usize)>) -> String {
    let step = step(random, at, unpacked);
    match random.below(12) {
        0 if !step.contains("%w") => format!("@%p {step}"),
        1 if !step.contains("%w") => format!("@!%p {step}"),
        _ => step,
    }
}

#[test]
fn parts_are_what_they_were() {
    let (mut shorter, mut steps) = (0, 0);
    for seed in 0..4000 {
        let mut random = Random(seed * 104_729 + 11);
        let mut body = String::new();
        for (register, ty) in [("h", "u16"), ("r", "u32"), ("d", "u64"), ("f", "f32")] {
            for number in 0..REGISTERS {
                writeln!(body, "ld.global.{ty} %{register}{number}, [%a+{}];", 8 * random.below(8)).unwrap();
            }
        }
        let mut unpacked = Vec::new();
        for at in 0..4 + random.below(12) {
            body.push_str(&guarded_step(&mut random, at, &mut unpacked));
            body.push('\n');
        }
        for (register, ty, first) in
            [("h", "b16", 128), ("r", "b32", 160), ("d", "b64", 192), ("f", "b32", 224)]
        {
            for number in (0..REGISTERS).filter(|_| random.below(3) > 0) {
                writeln!(body, "st.global.{ty} [%a+{}], %{register}{number};", first + 8 * number).unwrap();
            }
        }
        let text = format!(
            ".entry k(.param .u64 p) {{ .reg .b16 %h<{REGISTERS}>; .reg .b32 %r<{REGISTERS}>; .reg .b64 %d<{REGISTERS}>;\n\
             .reg .f32 %f<{REGISTERS}>; .reg .b32 %t; .reg .b64 %a, %o, %w; .reg .pred %p; mov.u32 %t, %tid.x;\n\
             mul.wide.u32 %o, %t, {BYTES}; ld.param.u64 %a, [p]; add.s64 %a, %a, %o; setp.lt.u32 %p, %t, 13;\n{body}ret; }}\n"
        );
        let buffer: Vec<u8> = (0..THREADS * BYTES).map(|_| random.below(256) as u8).collect();
        let optimized = after_alone(&text, &RULES_TWICE);
        let count = |text: &str| text.matches("mov.b").count();
        shorter += usize::from(count(&optimized) < count(&text));
        steps += count(&text);
        let (before, after) = (left_by(&text, &buffer), left_by(&optimized, &buffer));
        assert!(before == after, "{text}\nbecomes\n{optimized}");
    }
    assert!(shorter > 1000 && steps > 4000, "{shorter} of {steps} shorter");
}
