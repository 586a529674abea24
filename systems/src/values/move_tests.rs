//! The phases on moves of registers that have several, on random kernels: every run on the emulator leaves the same.
//!
//! Thread by thread, the guards have every combination of values.

use super::{
    eliminate_dead, general_optimize, remove_held_moves, remove_redundant_moves, replace_equivalent_moves,
};
use crate::check::testing::Random;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::{build_ssa, leave_ssa};
use ptxopt_emulator::{Argument, Launch, Module, Options};
use ptxopt_engine::run::phase::Phase;
use std::fmt::Write;

const THREADS: usize = 16;

/// Bytes that a thread reads and writes.
pub(super) const BYTES: usize = 512;

/// A type of registers, types at which they are moved, and constants of it.
struct Class {
    declared: &'static str,
    moved: &'static [&'static str],
    constants: [&'static str; 3],
}

const CLASSES: [Class; 6] = [
    Class { declared: "b16", moved: &["b16", "u16", "s16"], constants: ["7", "-1", "0"] },
    Class { declared: "b32", moved: &["b32", "u32", "s32"], constants: ["7", "-1", "2147483647"] },
    Class { declared: "b64", moved: &["b64", "u64", "s64"], constants: ["7", "-1", "81985529216486895"] },
    Class { declared: "f32", moved: &["f32"], constants: ["0f00000000", "0f80000000", "0f7FC00001"] },
    Class {
        declared: "f64",
        moved: &["f64"],
        constants: ["0d0000000000000000", "0d3FF0000000000000", "1.5"],
    },
    Class { declared: PREDICATE, moved: &[PREDICATE], constants: ["1", "0", "1"] },
];

/// The type of registers that go to memory as numbers, and of which the opposite is moved, too.
const PREDICATE: &str = "pred";

pub(super) const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// A kernel that moves registers of one class about, in two rounds over a few blocks.
struct Kernel {
    random: Random,
    class: &'static Class,
    text: String,
    stores: usize,
}

impl Kernel {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let class = &CLASSES[random.below(CLASSES.len())];
        let mut text = format!(
            ".entry k(.param .u64 p) {{ .reg .{} %v<7>, %w<7>; .reg .b32 %r<4>; .reg .b64 %a<3>; .reg .pred %p<5>;\n\
             mov.u32 %r1, %tid.x; mul.wide.u32 %a1, %r1, {BYTES}; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n",
            class.declared
        );
        for predicate in 0..4 {
            writeln!(text, "and.b32 %r2, %r1, {}; setp.ne.u32 %p{predicate}, %r2, 0;", 1 << predicate)
                .unwrap();
        }
        let mut kernel = Self { random, class, text, stores: 7 };
        (0..7).for_each(|register| kernel.load("", register, register));
        kernel.text += "mov.u32 %r2, 0;\nROUND:\n";
        kernel
    }

    /// Loads a register from place number `place`.
    fn load(&mut self, guard: &str, register: usize, place: usize) {
        let (ty, at) = (self.class.declared, 8 * place);
        if ty == PREDICATE {
            writeln!(self.text, "ld.global.s32 %r3, [%a1+{at}]; {guard} setp.gt.s32 %v{register}, %r3, 0;")
                .unwrap();
        } else {
            writeln!(self.text, "{guard} ld.global.{ty} %v{register}, [%a1+{at}];").unwrap();
        }
    }

    fn finish(mut self) -> String {
        for block in 0..4 {
            for _ in 0..4 {
                self.statement();
            }
            let guard = self.guard();
            writeln!(self.text, "{guard} bra B{block};").unwrap();
            self.statement();
            writeln!(self.text, "B{block}:").unwrap();
        }
        (0..7).for_each(|register| self.store('w', register));
        self.text + "add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 2; @%p4 bra ROUND; ret; }\n"
    }

    fn guard(&mut self) -> String {
        format!("@{}%p{}", ["", "!"][self.random.below(2)], self.random.below(4))
    }

    /// A register or a constant.
    fn source(&mut self) -> String {
        let opposite = if self.class.declared == PREDICATE { ["", "!"][self.random.below(2)] } else { "" };
        match self.random.below(4) {
            0 => self.class.constants[self.random.below(3)].to_owned(),
            1 => format!("{opposite}%w{}", self.random.below(7)),
            _ => format!("{opposite}%v{}", self.random.below(3)),
        }
    }

    fn move_to(&mut self, guard: &str, register: usize, source: &str) {
        let ty = self.class.moved[self.random.below(self.class.moved.len())];
        writeln!(self.text, "{guard} mov.{ty} %w{register}, {source};").unwrap();
    }

    fn store(&mut self, letter: char, register: usize) {
        let (ty, at) = (self.class.declared, 8 * self.stores);
        if ty == PREDICATE {
            writeln!(self.text, "selp.u32 %r3, 1, 0, %{letter}{register}; st.global.u32 [%a1+{at}], %r3;")
                .unwrap();
        } else {
            writeln!(self.text, "st.global.{ty} [%a1+{at}], %{letter}{register};").unwrap();
        }
        self.stores += 1;
    }

    fn statement(&mut self) {
        let (guard, other, register) = (self.guard(), self.guard(), self.random.below(3));
        let (one, another) = (self.source(), self.source());
        match self.random.below(10) {
            // Two moves that a guard may decide between.
            0 | 1 => {
                let opposite = match guard.strip_prefix("@!") {
                    Some(predicate) => format!("@{predicate}"),
                    None => guard.replace('@', "@!"),
                };
                let first = [String::new(), opposite, other][self.random.below(3)].clone();
                self.move_to(&first, register, &one);
                self.in_between();
                self.move_to(&guard, register, &another);
            }
            // Two variables that are written alike, and nearly so.
            2..5 => {
                let pair = [3, 5][self.random.below(2)];
                self.move_to(&guard, pair, &one);
                self.in_between();
                self.move_to(&guard, pair + 1, &one);
            }
            // One that is written again.
            5 => {
                self.move_to(&guard, register, &one);
                self.in_between();
                self.move_to(&guard, register, &one);
            }
            6 => self.move_to(&guard, register, &one),
            7 => self.move_to("", register, &one),
            8 => self.store('w', register),
            _ => self.store('w', 3 + register),
        }
    }

    /// What seldom stands in the way.
    fn in_between(&mut self) {
        let (guard, register) = (self.guard(), self.random.below(7));
        match self.random.below(12) {
            0 => self.store('w', register),
            1 => {
                let source = self.source();
                self.move_to(&guard, register.min(2), &source);
            }
            2 => {
                let predicate = self.random.below(4);
                writeln!(self.text, "setp.lt.u32 %p{predicate}, %r1, {};", 2 * register).unwrap();
            }
            3 => {
                self.load(&guard, register.min(2), register);
            }
            _ => {}
        }
    }
}

/// What a kernel leaves in its buffer.
pub(crate) fn left_by(text: &str) -> Vec<u8> {
    let module = Module::load(format!("{HEAD}{text}").as_bytes()).unwrap();
    let mut random = Random(1);
    let bytes = (0..THREADS * BYTES).map(|_| random.below(256) as u8).collect();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(bytes)],
    };
    let outcome = ptxopt_emulator::run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None, "{text}");
    outcome.buffers.into_iter().next().unwrap()
}

const BEFORE: [&Phase; 4] =
    [&split_at_control_flow::PHASE, &build_ssa::PHASE, &general_optimize::PHASE, &eliminate_dead::FULL];

/// The kernel after `phases`, which see values.
pub(crate) fn after(text: &str, phases: &[&'static Phase]) -> String {
    let output = run(format!("{HEAD}{text}").as_bytes(), &[&BEFORE, phases, &[&leave_ssa::PHASE]].concat());
    let function = &output.functions[0];
    assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    String::from_utf8(output.text).unwrap()
}

/// The kernel after `phases` alone, out of SSA form.
pub(crate) fn after_alone(text: &str, phases: &[&'static Phase]) -> String {
    let phases = [&[&split_at_control_flow::PHASE], phases].concat();
    let output = run(format!("{HEAD}{text}").as_bytes(), &phases);
    assert_eq!((&output.functions[0].left, &output.functions[0].undone[..]), (&None, &[][..]), "{text}");
    String::from_utf8(output.text).unwrap()
}

/// Runs kernels before and after `phases`; gives how often `what` stands in them without and with the phases.
fn check(phases: &[&'static Phase], what: &str) -> (usize, usize) {
    check_in(after, phases, what)
}

/// What some phases make of a kernel.
type Made = fn(&str, &[&'static Phase]) -> String;

fn check_in(made: Made, phases: &[&'static Phase], what: &str) -> (usize, usize) {
    let (mut without, mut with) = (0, 0);
    for seed in 0..180 {
        let text = Kernel::new(seed * 7919).finish();
        let (unchanged, changed) = (made(&text, &[]), made(&text, phases));
        assert!(left_by(&text) == left_by(&changed), "seed {seed}\n{text}\nbecomes\n{changed}");
        without += unchanged.matches(what).count();
        with += changed.matches(what).count();
    }
    println!("{what}: {without} without, {with} with");
    (without, with)
}

#[test]
fn equivalent_moves_are_replaced() {
    let (without, with) = check(&[&replace_equivalent_moves::PHASE], "selp");
    // Predicates are stored by selections, too.
    assert!(with > without + 300);
}

#[test]
fn redundant_moves_are_removed() {
    let (without, with) = check(&[&remove_redundant_moves::PHASE], "mov.");
    assert!(without > with + 370);
}

#[test]
fn held_moves_are_removed() {
    let (without, with) = check_in(after_alone, &[&remove_held_moves::PHASE], "mov.");
    assert!(without > with + 40);
}

/// A move with something before it that is repeated so many times: whether the same move in the first block is found.
fn is_found_before(between: fn(usize) -> String, count: usize) -> bool {
    let text = format!(
        ".entry k(.param .u64 p) {{ .reg .b32 %v<9>; .reg .b64 %a<2>; .reg .pred %p<3>;\n\
         ld.param.u64 %a1, [p]; ld.global.u32 %v2, [%a1]; setp.lt.u32 %p1, %v2, 9; mov.u32 %v1, 7;\n\
         {} J: mov.b32 %v1, 7; st.global.u32 [%a1], %v1; ret; }}\n",
        (0..count).map(between).collect::<String>()
    );
    !after_alone(&text, &[&remove_held_moves::PHASE]).contains("mov.b32 %v1, 7;")
}

/// Rows are those before the move in its block, none, then those of blocks or between guarded moves, and the first move with what is
/// after it in its block; each of these parts counts as one more.
#[test]
fn the_walk_back_has_a_limit() {
    assert_eq!(remove_held_moves::ROWS_MAX, 32);
    let at_most =
        |between, most| [most, most + 1].map(|count| is_found_before(between, count)) == [true, false];
    // 1 + 2 + 4 n - 1.
    let arm = |at| format!("@%p1 bra B{at}; st.global.u32 [%a1+{}], %v1; B{at}:\n", 4 * at);
    assert!(at_most(arm, 7));
    // 3 n + 2, as nothing leads to the label.
    let guarded_move = |_| "@%p1 mov.u32 %v1, 7; st.global.u32 [%a1+4], %v1;\n".to_owned();
    assert!(at_most(guarded_move, 10));
    // 1 + 3 (n - 1) + 4.
    let way = |at| format!("setp.eq.u32 %p2, %v2, {at}; @%p2 bra J;\n");
    assert!(at_most(way, 10));
}

/// Twins go, and copies of what they were.
#[test]
fn they_run_one_after_the_other() {
    let phases: [&Phase; 4] = [
        &replace_equivalent_moves::PHASE,
        &general_optimize::PHASE,
        &eliminate_dead::FULL,
        &remove_redundant_moves::PHASE,
    ];
    let (without, with) = check(&phases, "%w6");
    assert!(without > with + 505);
}

/// The variable of a selection is a value, which phis may name, if it has no other definition.
#[test]
fn a_selection_is_a_value() {
    let kernel = |other: &str| {
        format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %v<9>; .reg .b64 %a<2>; .reg .pred %p<3>;\n\
             ld.param.u64 %a1, [p]; ld.global.u32 %v1, [%a1]; ld.global.u32 %v2, [%a1+4];\n\
             setp.lt.u32 %p1, %v1, %v2; setp.lt.u32 %p2, %v1, 9;\n\
             mov.b32 %v3, %v1; @%p1 mov.b32 %v3, %v2; {other}\n\
             mov.b32 %v4, %v3; @%p2 bra L; mov.b32 %v4, %v2; L: st.global.u32 [%a1], %v4; ret; }}\n"
        )
    };
    let phases = [&BEFORE[..], &[&replace_equivalent_moves::PHASE, &general_optimize::PHASE]].concat();
    let names_it = |other: &str| {
        let output = run(format!("{HEAD}{}", kernel(other)).as_bytes(), &phases);
        String::from_utf8(output.text).unwrap().contains(", %v3}")
    };
    assert!(names_it(""));
    assert!(!names_it("@%p2 add.u32 %v3, %v1, 1;"), "a phi would read it too late");
}
