//! Variables that are moved to one another on random ways: kernels compute the same before and after, and come out smaller.
//!
//! The blocks of some kernels branch to any others, so that loops have several ways in, out and back, and lie in one another in all
//! ways. Most of what a block does is moves of variables and sums: values of the round before, and swaps. Others have one loop of
//! rotations through many variables. A counter ends all.

use crate::splitmix::Random;
use ptxopt::{OptLevel, Options, VerifyLevel, optimize};
use ptxopt_emulator::{Argument, Launch, Module, Options as RunOptions, run};
use ptxopt_tests::modules::{expect_none, in_parallel};
use std::fmt::Write;

/// Random kernels; how many of them may be given back since they grew, and instructions that may be left of 1,000. It is 4 and 661; 23 and
/// 666 where no copy moves up, none goes behind the move the other way, and nothing runs again.
const KERNELS: u64 = 1_000;
const GROWN_MAX: usize = 6;
const LEFT_MAX: u64 = 662;

/// Blocks that a run executes.
const BLOCKS_RUN: usize = 200;

/// The same of kernels of one loop. It is 106 and 912; 483 and 928 where no copy moves up.
const ROTATING_KERNELS: u64 = 4_000;
const ROTATING_GROWN_MAX: usize = 112;
const ROTATING_LEFT_MAX: u64 = 913;

/// Rounds that such a loop runs.
const ROUNDS_RUN: usize = 12;

/// How a block starts: after so many the kernel ends.
const HEAD: &str = "sub.u32 %left, %left, 1;\nsetp.eq.u32 %p2, %left, 0;\n@%p2 bra END;";

fn register(random: &mut Random, count: usize) -> String {
    format!("%r{}", random.below(count))
}

fn statement(random: &mut Random, count: usize, text: &mut String) {
    let [one, two, three] = [(); 3].map(|()| register(random, count));
    let line = match random.below(12) {
        0..=3 => format!("mov.u32 {one}, {two};"),
        4 | 5 => format!("add.u32 {one}, {one}, {};", [1, 2, 4, -1][random.below(4)]),
        6 => format!("add.u32 {one}, {two}, {three};"),
        7 => format!("xor.b32 {one}, {two}, {three};"),
        8 => format!("setp.lt.u32 %p0, {two}, {three};\nselp.b32 {one}, {two}, {three}, %p0;"),
        9 => format!("setp.lt.u32 %p0, {two}, {three};\n@%p0 mov.u32 {one}, {two};"),
        10 => format!("mov.b64 %d1, {{{two}, {three}}};\nmov.b64 {{{two}, {one}}}, %d1;"),
        _ => format!("st.global.u32 [%out+{}], {one};", 64 + 4 * random.below(4)),
    };
    writeln!(text, "{line}").expect("a string takes everything");
}

/// Blocks that branch to any others.
fn blocks(random: &mut Random, (blocks, count): (usize, usize), text: &mut String) {
    for block in 0..blocks {
        writeln!(text, "B{block}:\n{HEAD}").expect("a string takes everything");
        (0..random.below(5)).for_each(|_| statement(random, count, text));
        let way = random.below(10);
        if way < 7 {
            let [one, two] = [(); 2].map(|()| register(random, count));
            let (compared, to) = (["lt", "ge", "ne", "eq"][random.below(4)], random.below(blocks));
            writeln!(text, "setp.{compared}.u32 %p1, {one}, {two};\n@%p1 bra B{to};").expect("as above");
        } else if way < 9 {
            writeln!(text, "bra.uni B{};", random.below(blocks)).expect("as above");
        }
    }
}

/// One loop of rotations, of which some rounds leave out the last ones.
fn rotations(random: &mut Random, count: usize, text: &mut String) {
    let [one, two] = [(); 2].map(|()| register(random, count));
    writeln!(text, "L:\n{HEAD}\nsetp.lt.u32 %p1, {one}, {two};").expect("a string takes everything");
    let rotations = 1 + random.below(3);
    let left_out = random.below(2 * rotations);
    for at in 0..rotations {
        if at == left_out {
            *text += "@%p1 bra M;\n";
        }
        rotation(random, count, text);
    }
    *text += "M:\nbra.uni L;\n";
}

/// A value is computed, or another one kept, and variables are moved to one another like one that is kept for several rounds, perhaps
/// one of them under a guard.
fn rotation(random: &mut Random, count: usize, text: &mut String) {
    let mut variables: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        variables.swap(at, random.below(at + 1));
    }
    variables.truncate(1 + random.below(8));
    let [one, other, old] = [(); 3].map(|()| register(random, count));
    if random.below(4) == 0 {
        writeln!(text, "mov.u32 %new, {old};\n@!%p1 add.u32 %new, {one}, {other};").expect("as below");
    } else {
        writeln!(text, "add.u32 %new, {one}, {other};").expect("a string takes everything");
    }
    let guarded = 1 + random.below(7);
    for (at, pair) in variables.windows(2).enumerate() {
        let guard = if at == guarded { "@%p1 " } else { "" };
        writeln!(text, "{guard}mov.u32 %r{}, %r{};", pair[0], pair[1]).expect("a string takes everything");
    }
    writeln!(text, "mov.u32 %r{}, %new;", variables[variables.len() - 1]).expect("as above");
}

/// A kernel of so many variables, whose loops run so many rounds together.
fn kernel(
    random: &mut Random,
    count: usize,
    rounds: usize,
    body: impl Fn(&mut Random, &mut String),
) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %out, \
                    %d<2>;\n.reg .b32 %r<11>, %left, %new;\n.reg .pred %p<3>;\nld.param.u64 %out, [p];\n"
        .to_owned();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes everything");
    (0..count).for_each(|at| line(format!("ld.global.u32 %r{at}, [%out+{}];", 4 * at)));
    line(format!("mov.u32 %left, {rounds};"));
    body(random, &mut text);
    text += "END:\n";
    (0..count).for_each(|at| {
        writeln!(text, "st.global.u32 [%out+{}], %r{at};", 4 * at).expect("a string takes everything");
    });
    text + "ret;\n}\n"
}

/// What a kernel leaves, from random words.
fn left(text: &[u8], random: &mut Random) -> Vec<u8> {
    // Small numbers are often equal.
    let words = (0..20).flat_map(|_| ((random.next() % 5) as u32).to_le_bytes()).collect();
    let args = vec![Argument::Buffer(words)];
    let launch = Launch { entry: "k".to_owned(), grid: [1; 3], block: [1; 3], shared_bytes: 0, args };
    let outcome = run(&Module::load(text).expect("it is valid"), &launch, &RunOptions::default());
    assert_eq!(outcome.stop, None, "it comes to its end");
    outcome.buffers[0].clone()
}

/// Instructions before and after, and whether the kernel was given back, at the last of these levels; from so many inputs.
fn judge(text: &str, levels: &[OptLevel], inputs: std::ops::Range<u64>) -> Result<(u64, u64, bool), String> {
    let mut counts = (0, 0, false);
    for &level in levels {
        let options = Options { level, verify: VerifyLevel::Fast, ..Options::default() };
        let output = optimize(text.as_bytes(), &options).expect("it is valid");
        let report = &output.report;
        let has_grown = report.left.iter().any(|left| left.reason == "grew");
        if report.left.len() > usize::from(has_grown) || !report.undone.is_empty() {
            return Err(format!("{:?} {:?} of\n{text}", report.left, report.undone));
        }
        for input in inputs.clone() {
            let [before, after] = [text.as_bytes(), &output.text].map(|text| left(text, &mut Random(input)));
            if before != after {
                let after = String::from_utf8_lossy(&output.text);
                return Err(format!("{level}, input {input}:\n{text}\nbecomes\n{after}"));
            }
        }
        counts = (report.instructions_in, report.instructions_out, has_grown);
    }
    Ok(counts)
}

/// Judges many kernels; gives their instructions before and after, and how many were given back.
fn judge_all(
    kernels: u64,
    judge: impl Fn(u64) -> Result<(u64, u64, bool), String> + Sync,
) -> (u64, u64, usize) {
    let seeds: Vec<u64> = (0..kernels).collect();
    let judged = in_parallel(&seeds, |&seed| judge(seed));
    let (mut before, mut after, mut grown) = (0, 0, 0);
    for (insts_in, insts_out, has_grown) in judged.iter().flatten() {
        before += insts_in;
        after += insts_out;
        grown += usize::from(*has_grown);
    }
    let wrong: Vec<String> = judged.into_iter().filter_map(Result::err).collect();
    expect_none("kernels leave what they did", &wrong[..wrong.len().min(3)]);
    println!("{before} instructions, {after} are left; {grown} kernels grew");
    (before, after, grown)
}

#[test]
fn variables_that_are_moved_on_random_ways_hold_the_same() {
    let (before, after, grown) = judge_all(KERNELS, |seed| {
        let mut random = Random(seed);
        let (blocks_made, count) = (4 + random.below(11), 3 + random.below(7));
        let text = kernel(&mut random, count, BLOCKS_RUN, |random, text| {
            blocks(random, (blocks_made, count), text);
        });
        judge(&text, &[OptLevel::O1, OptLevel::O3, OptLevel::O2], seed << 2..(seed << 2) + 3)
    });
    assert!(grown <= GROWN_MAX && after * 1000 <= before * LEFT_MAX, "{after} of {before}, {grown} grew");
}

#[test]
fn variables_that_rotate_hold_the_same() {
    let (before, after, grown) = judge_all(ROTATING_KERNELS, |seed| {
        let mut random = Random(seed);
        let count = 6 + random.below(5);
        let text = kernel(&mut random, count, ROUNDS_RUN, |random, text| rotations(random, count, text));
        judge(&text, &[OptLevel::O2], seed..seed + 1)
    });
    assert!(
        grown <= ROTATING_GROWN_MAX && after * 1000 <= before * ROTATING_LEFT_MAX,
        "{after} of {before}, {grown} grew"
    );
}
