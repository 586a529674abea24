//! The phases on branches that look at values, on random functions: every run stores the same.
//!
//! What a load gives depends on the run, the place and what was stored before.

use super::{nested_branches, optimize_branches, optimize_switches, predicate, split_at_control_flow};
use crate::check::testing::Random;
use crate::check::tests::run;
use crate::ssa::{build_ssa, leave_ssa};
use crate::upkeep::sweep;
use crate::values::eliminate_dead;
use ptxopt_engine::run::phase::Phase;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Numbers that loads give.
const NUMBERS: [u32; 9] = [0, 1, 2, 3, 4, 5, u32::MAX, 1 << 31, (1 << 31) - 1];
const FLOATS: [f32; 6] = [0.0, -0.0, 1.0, 2.5, f32::NAN, f32::INFINITY];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const TYPES: [&str; 3] = ["u32", "s32", "f32"];

/// A kernel of up to 10 blocks, which compare, combine predicates and branch by them.
fn random_kernel(seed: u64) -> String {
    kernel_of(seed, |text, random, block, count| {
        for number in 0..random.below(4) {
            statement(text, random, block * 10 + number);
        }
        terminator(text, random, block, count);
    })
}

/// A kernel of up to 10 blocks, most of which ask something, and branch to one of a few.
fn conditions(seed: u64) -> String {
    kernel_of(seed, |text, random, block, count| {
        let [p, r, s] = [random.below(4), random.below(3), random.below(3)];
        let lines = match random.below(8) {
            0 => format!("st.global.u32 [g], %r{r};"),
            1 => format!("ld.global.b32 %r{r}, [g+{block}];"),
            2 => format!("mov.b32 %r{r}, %r{s};\n{}", setp(random, "", p, [r, s], 2)),
            3 => String::new(),
            _ => setp(random, "", p, [r, s], 1),
        };
        let far = if random.below(8) == 0 { random.below(count) } else { block + 1 + random.below(3) };
        let guard = guard(random);
        writeln!(text, "{lines}\n{guard}bra B{};", far.min(count - 1)).unwrap();
        if random.below(6) == 0 {
            writeln!(text, "bra B{};", (block + 1 + random.below(3)).min(count - 1)).unwrap();
        }
    })
}

/// A kernel of up to 10 blocks, to each of which `write` adds what it holds.
fn kernel_of(seed: u64, write: impl Fn(&mut String, &mut Random, usize, usize)) -> String {
    let mut random = Random(seed);
    let mut text = ".version 8.6\n.target sm_90\n.global .b32 g;\n.entry k() {\n\
                    .reg .pred %p<4>; .reg .b32 %r<4>; .reg .f32 %f<3>;\n"
        .to_owned();
    for number in 0..4 {
        writeln!(text, "ld.global.b32 %r{number}, [g+{}];", 1_000 + 4 * number).unwrap();
    }
    for number in 0..3 {
        writeln!(text, "ld.global.f32 %f{number}, [g+{}];", 1_016 + 4 * number).unwrap();
    }
    for predicate in 0..4 {
        writeln!(text, "setp.lt.s32 %p{predicate}, %r{predicate}, 2;").unwrap();
    }
    let count = 2 + random.below(9);
    for block in 0..count {
        writeln!(text, "B{block}:").unwrap();
        write(&mut text, &mut random, block, count);
    }
    text + "ret;\n}\n"
}

fn guard(random: &mut Random) -> String {
    format!("@{}%p{} ", if random.below(2) == 0 { "!" } else { "" }, random.below(4))
}

fn statement(text: &mut String, random: &mut Random, number: usize) {
    let guard = if random.below(5) == 0 { guard(random) } else { String::new() };
    let [p, q] = [random.below(4), random.below(4)];
    let [r, s] = [random.below(3), random.below(3)];
    let constant = [0, 1, 2, 3, 4, -1][random.below(6)];
    let line = match random.below(16) {
        0 | 1 => format!("{guard}st.global.u32 [g], {number};"),
        2 => format!("{guard}ld.global.b32 %r{r}, [g+{}];", 4 * number),
        3 => format!("{guard}mov.u32 %r{r}, {};", constant.max(0)),
        4 => format!("{guard}mov.b32 %r{r}, %r{s};"),
        5 => format!("{guard}mov.pred %p{p}, {};", [0, -1, 1][random.below(3)]),
        6 => format!("{guard}mov.pred %p{p}, %p{q};"),
        7 => format!("{guard}not.pred %p{p}, %p{q};"),
        8 => {
            let operation = ["and", "or", "xor"][random.below(3)];
            format!("{guard}{operation}.pred %p{p}, %p{q}, %p{};", random.below(4))
        }
        9 => {
            let combiner = ["and", "or", "xor"][random.below(3)];
            let comparison = COMPARISONS[random.below(6)];
            let not = ["", "!"][random.below(2)];
            let third = random.below(4);
            let other = (p + 1) % 4;
            format!(
                "{guard}setp.{comparison}.{combiner}.s32 %p{p}|%p{other}, %r{r}, {constant}, {not}%p{third};"
            )
        }
        _ => setp(random, &guard, p, [r, s], constant),
    };
    writeln!(text, "{line}").unwrap();
}

fn setp(random: &mut Random, guard: &str, p: usize, [r, s]: [usize; 2], constant: i32) -> String {
    let (comparison, ty) = (COMPARISONS[random.below(6)], TYPES[random.below(3)]);
    if ty == "f32" {
        let unordered = if random.below(2) == 0 { "u" } else { "" };
        // Bits that are compared as an integer elsewhere, too.
        let number = format!("%{}{r}", ["f", "r"][random.below(2)]);
        let literal = format!("0f{:08X}", FLOATS[random.below(FLOATS.len())].to_bits());
        let [one, other] = match random.below(4) {
            0 => [literal, number],
            1 => [number, literal],
            _ => [number, format!("%f{s}")],
        };
        return format!("{guard}setp.{comparison}{unordered}.f32 %p{p}, {one}, {other};");
    }
    match random.below(3) {
        0 => format!("{guard}setp.{comparison}.{ty} %p{p}, %r{r}, %r{s};"),
        1 if constant >= 0 => format!("{guard}setp.{comparison}.{ty} %p{p}, {constant}, %r{r};"),
        _ => format!("{guard}setp.{comparison}.{ty} %p{p}, %r{r}, {};", constant.max(0)),
    }
}

fn terminator(text: &mut String, random: &mut Random, block: usize, count: usize) {
    let mut target = || {
        let near = (block + 1 + random.below(3)).min(count - 1);
        if random.below(4) == 0 { random.below(count) } else { near }
    };
    let targets = [target(), target(), target(), target()];
    let guard = guard(random);
    match random.below(12) {
        0..5 => writeln!(text, "{guard}bra B{};", targets[0]),
        5..7 => writeln!(text, "bra B{};", targets[0]),
        7 => writeln!(text, "{guard}exit;"),
        8 => {
            let [one, other, third, last] = targets;
            writeln!(
                text,
                "and.b32 %r3, %r{}, 3;\nT{block}: .branchtargets B{one}, B{other}, B{third}, B{last};\n\
                 brx.idx %r3, T{block};",
                random.below(3)
            )
        }
        9 => {
            // The range is tested first; two targets or three.
            let [one, other, third, _] = targets;
            let third = if random.below(3) == 0 { third } else { other };
            let default = [one, other][random.below(2)];
            let index = random.below(3);
            writeln!(
                text,
                "setp.gt.u32 %p3, %r{index}, 2;\n@%p3 bra B{default};\n\
                 T{block}: .branchtargets B{one}, B{other}, B{third};\nbrx.idx %r{index}, T{block};"
            )
        }
        _ => Ok(()),
    }
    .unwrap();
}

/// What a run has stored, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Trace {
    stored: Vec<u32>,
    has_ended: bool,
}

/// A run of the statements of a kernel.
struct Machine<'t> {
    lines: Vec<&'t str>,
    labels: BTreeMap<&'t str, usize>,
    tables: BTreeMap<&'t str, Vec<&'t str>>,
    registers: BTreeMap<&'t str, u32>,
    seed: u64,
}

impl<'t> Machine<'t> {
    fn new(text: &'t str, seed: u64) -> Self {
        let (lines, labels, tables) = Default::default();
        let registers = BTreeMap::new();
        let mut machine = Self { lines, labels, tables, registers, seed };
        let body = text.split(['{', '}']).nth(1).expect("the kernel's body");
        let mut label = "";
        for statement in body.split_inclusive([';', ':']).map(str::trim) {
            if let Some(name) = statement.strip_suffix(':') {
                label = name;
                machine.labels.insert(name, machine.lines.len());
            } else if let Some(targets) = statement.strip_prefix(".branchtargets") {
                let targets = targets.trim_end_matches(';').split(',').map(str::trim).collect();
                machine.tables.insert(label, targets);
            } else if let Some(line) = statement.strip_suffix(';').filter(|line| !line.starts_with(".reg")) {
                machine.lines.push(line);
            }
        }
        machine
    }

    fn read(&self, operand: &str) -> u32 {
        if let Some(operand) = operand.strip_prefix('!') {
            return 1 - self.read(operand);
        }
        if let Some(bits) = operand.strip_prefix("0f") {
            return u32::from_str_radix(bits, 16).expect("eight digits");
        }
        match operand.parse::<i64>() {
            Ok(number) => number as u32,
            Err(_) => self.registers.get(operand).copied().unwrap_or_else(|| panic!("{operand} is not set")),
        }
    }

    /// Runs up to a number of steps.
    fn run(&mut self) -> Trace {
        let mut trace = Trace { stored: Vec::new(), has_ended: false };
        let mut at = 0;
        for _ in 0..600 {
            let mut line = self.lines[at];
            at += 1;
            if let Some(guarded) = line.strip_prefix('@') {
                let (guard, rest) = guarded.split_once(' ').unwrap();
                line = rest;
                if self.read(guard) == 0 {
                    continue;
                }
            }
            let (mnemonic, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
            match mnemonic {
                "ret" | "exit" => {
                    trace.has_ended = true;
                    break;
                }
                "bra" => at = self.labels[operands[0]],
                "brx.idx" => at = self.labels[self.tables[operands[1]][self.read(operands[0]) as usize]],
                "st.global.u32" => trace.stored.push(self.read(operands[1])),
                "ld.global.b32" | "ld.global.f32" => {
                    let place = operands[1].trim_start_matches("[g").trim_matches(['+', ']']);
                    let place: u64 = place.parse().unwrap_or(0);
                    let mut random = Random(self.seed ^ place << 20 ^ (trace.stored.len() as u64) << 40);
                    let number = match mnemonic {
                        "ld.global.b32" => NUMBERS[random.below(NUMBERS.len())],
                        _ => FLOATS[random.below(FLOATS.len())].to_bits(),
                    };
                    self.registers.insert(operands[0], number);
                }
                _ => self.compute(mnemonic, &operands),
            }
        }
        trace
    }

    fn compute(&mut self, mnemonic: &str, operands: &[&'t str]) {
        let words: Vec<&str> = mnemonic.split('.').collect();
        let value = |at: usize| self.read(operands[at]);
        let result = match words[0] {
            "mov" if words[1] == "pred" => u32::from(value(1) != 0),
            "mov" => value(1),
            "not" => 1 - value(1),
            "selp" => value(if value(3) == 1 { 1 } else { 2 }),
            "and" => value(1) & value(2),
            "or" => value(1) | value(2),
            "xor" => value(1) ^ value(2),
            "setp" => {
                let is_true = compare(words[1], words.last().unwrap(), value(1), value(2));
                let combined = |truth: bool| match words[2] {
                    "and" => truth && value(3) == 1,
                    "or" => truth || value(3) == 1,
                    "xor" => truth != (value(3) == 1),
                    _ => truth,
                };
                let [first, second] = [combined(is_true), combined(!is_true)].map(u32::from);
                if let Some((one, other)) = operands[0].split_once('|') {
                    self.registers.extend([(one, first), (other, second)]);
                    return;
                }
                first
            }
            _ => panic!("{mnemonic}"),
        };
        self.registers.insert(operands[0], result);
    }
}

fn compare(comparison: &str, ty: &str, one: u32, other: u32) -> bool {
    let found = match ty {
        "s32" => (one as i32).partial_cmp(&(other as i32)),
        "f32" => f32::from_bits(one).partial_cmp(&f32::from_bits(other)),
        _ => one.partial_cmp(&other),
    };
    let Some(found) = found else { return comparison.len() == 3 };
    match &comparison[..2] {
        "eq" => found.is_eq(),
        "ne" => found.is_ne(),
        "lt" => found.is_lt(),
        "le" => found.is_le(),
        "gt" => found.is_gt(),
        "ge" => found.is_ge(),
        _ => panic!("{comparison}"),
    }
}

/// Runs the phase at number `wanted` of some over random kernels; says how many changes it made. A test wants as many as were made
/// when it was written: a phase that knows less makes fewer.
fn check(phases: &[&'static Phase], wanted: usize, seeds: std::ops::Range<u64>) -> u64 {
    check_on(random_kernel, phases, wanted, seeds)
}

/// The same on kernels that are made otherwise.
fn check_on(
    kernel: impl Fn(u64) -> String,
    phases: &[&'static Phase],
    wanted: usize,
    seeds: std::ops::Range<u64>,
) -> u64 {
    let mut change_count = 0;
    for seed in seeds {
        let before = kernel(seed * 7919);
        let output = run(before.as_bytes(), phases);
        for function in &output.functions {
            assert_eq!(function.left, None, "{before}");
        }
        let after = String::from_utf8(output.text.clone()).unwrap();
        for run in 0..24 {
            let [one, other] = [&before, &after].map(|text| Machine::new(text, run).run());
            let stored = one.stored.len().min(other.stored.len());
            let is_alike = match one.has_ended && other.has_ended {
                true => one == other,
                // One takes more steps to the same place.
                false => one.stored[..stored] == other.stored[..stored],
            };
            assert!(is_alike, "run {run} of seed {seed}: {one:?}, {other:?}\n{before}\nbecomes\n{after}");
        }
        change_count += output.steps[wanted].changes;
    }
    change_count
}

const SPLIT: &Phase = &split_at_control_flow::PHASE;
const SWEEP: &Phase = &sweep::PHASE;

#[test]
fn branches_by_constants_are_decided() {
    let changes = check(&[SPLIT, &optimize_branches::PHASE, SWEEP], 1, 0..250);
    assert!(changes >= 858, "{changes} changes");
}

#[test]
fn chains_of_tests_are_decided() {
    let changes = check(&[SPLIT, &optimize_switches::PHASE, SWEEP], 1, 1_000..1_500);
    assert!(changes >= 421, "{changes} changes");
}

#[test]
fn nested_branches_are_decided() {
    let changes = check(&[SPLIT, &nested_branches::PHASE, SWEEP], 1, 3_000..3_500);
    assert!(changes >= 604, "{changes} changes");
}

/// Phis keep naming their predecessors, and take the same from them: the verifiers look after each phase.
#[test]
fn branches_are_decided_in_ssa_form() {
    let inside = |phase: &'static Phase| -> [&'static Phase; 6] {
        let [build, leave] = [&build_ssa::PHASE, &leave_ssa::PHASE];
        [SPLIT, &eliminate_dead::QUICK, build, phase, leave, SWEEP]
    };
    for (phase, least) in
        [(&optimize_branches::PHASE, 751), (&optimize_switches::PHASE, 118), (&nested_branches::PHASE, 168)]
    {
        let changes = check(&inside(phase), 3, 5_000..5_250);
        assert!(changes >= least, "{changes} changes by {}", phase.name);
    }
}

/// Branches become selections, guarded stores, and one branch where there were two.
#[test]
fn branches_are_predicated() {
    let [build, leave] = [&build_ssa::PHASE, &leave_ssa::PHASE];
    let phases = [SPLIT, &eliminate_dead::QUICK, build, &predicate::PHASE, leave, SWEEP];
    let changes = check_on(conditions, &phases, 3, 0..1_000);
    assert!(changes >= 572, "{changes} changes");
}
