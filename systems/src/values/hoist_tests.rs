//! Hoisting on random nests of loops: every run on the emulator leaves the same, and no kernel gets longer.
//!
//! A kernel has loops of one to three rounds, some with several ways in, out and back, branches that threads take differently,
//! guarded writes, quotients by zero, and loads that only some threads may make.

use super::{eliminate_dead, general_optimize, hoist_invariants};
use crate::check::testing::Random;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::{build_ssa, leave_ssa};
use crate::upkeep::sweep;
use ptxopt_emulator::{Argument, Launch, Module, Options};
use ptxopt_engine::run::phase::Phase;
use std::fmt::Write;

const THREADS: usize = 16;

/// Bytes that a thread reads and writes.
const BYTES: usize = 256;

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n.const .b32 table[4] = {3, 1, 4, 1};\n";

/// Registers that statements read and write.
const REGISTERS: usize = 12;

struct Kernel {
    random: Random,
    text: String,
    labels: usize,
}

impl Kernel {
    fn text(seed: u64) -> String {
        let text = format!(
            ".entry k(.param .u64 p, .param .u32 n) {{ .reg .b32 %v<{REGISTERS}>, %c<4>, %r<4>; .reg .b64 %a<4>; .reg .pred %p<8>;\n\
             mov.u32 %r1, %tid.x; mul.wide.u32 %a1, %r1, {BYTES}; ld.param.u64 %a2, [p]; add.u64 %a1, %a1, %a2;\n"
        );
        let mut kernel = Self { random: Random(seed), text, labels: 0 };
        for register in 0..REGISTERS {
            writeln!(kernel.text, "ld.global.u32 %v{register}, [%a1+{}];", 4 * register).unwrap();
        }
        kernel.body(0);
        for register in 0..REGISTERS {
            writeln!(kernel.text, "st.global.u32 [%a1+{}], %v{register};", 4 * register).unwrap();
        }
        kernel.text + "ret; }\n"
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn register(&mut self) -> usize {
        self.random.below(REGISTERS)
    }

    fn body(&mut self, depth: usize) {
        for _ in 0..4 {
            match self.random.below(6) {
                0 | 1 if depth < 3 => self.round(depth),
                2 => self.branch(depth),
                _ => self.statement(),
            }
        }
    }

    /// A loop of a few rounds.
    fn round(&mut self, depth: usize) {
        let (label, rounds) = (self.label(), 1 + self.random.below(3));
        writeln!(self.text, "mov.u32 %c{depth}, 0;").unwrap();
        if self.random.below(4) == 0 {
            let register = self.register();
            writeln!(self.text, "setp.lt.u32 %p5, %v{register}, 1073741824; @%p5 bra L{label};").unwrap();
            self.statement();
        }
        writeln!(self.text, "L{label}: add.u32 %c{depth}, %c{depth}, 1;").unwrap();
        self.body(depth + 1);
        if self.random.below(4) == 0 {
            let register = self.register();
            writeln!(
                self.text,
                "setp.lt.u32 %p6, %v{register}, 16; setp.lt.and.u32 %p6, %c{depth}, {rounds}, %p6; @%p6 bra L{label};"
            )
            .unwrap();
            self.statement();
        }
        writeln!(self.text, "setp.lt.u32 %p7, %c{depth}, {rounds}; @%p7 bra L{label};").unwrap();
    }

    fn branch(&mut self, depth: usize) {
        let (label, register) = (self.label(), self.register());
        writeln!(self.text, "setp.lt.s32 %p4, %v{register}, {}; @%p4 bra L{label};", self.labels).unwrap();
        self.statement();
        if depth < 2 && self.random.below(4) == 0 {
            self.round(depth);
        }
        self.statement();
        writeln!(self.text, "L{label}:").unwrap();
    }

    fn statement(&mut self) {
        let [to, one, other] = [(); 3].map(|()| self.register());
        let number = self.random.below(9);
        let line = match self.random.below(14) {
            0 => format!("div.u32 %v{to}, %v{one}, %v{other};"),
            1 => format!("rem.s32 %v{to}, %v{one}, %v{other};"),
            2 => format!("ld.param.u32 %v{to}, [n];"),
            3 => format!("ld.const.u32 %v{to}, [table+{}];", number / 3 * 4),
            4 => format!("mov.u32 %v{to}, %tid.x;"),
            5 => format!("setp.lt.u32 %p1, %v{one}, %v{other}; selp.b32 %v{to}, %v{one}, {number}, %p1;"),
            6 => format!("setp.lt.u32 %p2, %v{one}, %v{other}; @%p2 add.u32 %v{to}, %v{one}, {number};"),
            7 => format!("add.cc.u32 %v{to}, %v{one}, %v{other}; addc.u32 %v{one}, %v{to}, {number};"),
            8 => format!("mul.wide.u32 %a3, %v{one}, %v{other}; cvt.u32.u64 %v{to}, %a3;"),
            9 => format!(
                "ld.global.u32 %v{to}, [%a1+{}]; st.global.u32 [%a1+{}], %v{one};",
                4 * number,
                4 * number + 64
            ),
            10 => format!("setp.ne.u32 %p3, %r1, {number}; @%p3 ld.global.nc.u32 %v{to}, [%a1+128];"),
            11 => format!("mad.lo.u32 %v{to}, %v{one}, {number}, %v{other};"),
            _ => format!("xor.b32 %v{to}, %v{one}, %v{other};"),
        };
        writeln!(self.text, "{line}").unwrap();
    }
}

/// What a kernel leaves in its buffer.
fn left_by(text: &str) -> Vec<u8> {
    let module = Module::load(format!("{HEAD}{text}").as_bytes()).unwrap();
    let mut random = Random(1);
    let bytes = (0..THREADS * BYTES).map(|_| random.below(256) as u8).collect();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        shared_bytes: 0,
        args: vec![Argument::Buffer(bytes), Argument::Scalar(7_u32.to_le_bytes().to_vec())],
    };
    let outcome = ptxopt_emulator::run(&module, &launch, &Options::default());
    assert_eq!(outcome.stop, None, "{text}");
    outcome.buffers.into_iter().next().unwrap()
}

/// The kernel after `phases`.
fn after(text: &str, phases: &[&'static Phase]) -> String {
    let output = run(format!("{HEAD}{text}").as_bytes(), phases);
    let function = &output.functions[0];
    assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    String::from_utf8(output.text).unwrap()
}

/// Runs kernels before and after `phases` with hoisting among them, and asks for how many of 200 are changed.
fn check(before: &[&'static Phase], then: &[&'static Phase], least: usize) {
    let mut changed = 0;
    for seed in 0..200 {
        let text = Kernel::text(seed * 7919);
        let [without, with] = [&[][..], &[&hoist_invariants::PHASE]]
            .map(|phases: &[&'static Phase]| after(&text, &[before, phases, then].concat()));
        let lines = |text: &str| text.matches(';').count() - text.matches(".reg").count();
        assert!(lines(&with) <= lines(&without), "seed {seed}\n{without}\nbecomes longer\n{with}");
        assert!(left_by(&text) == left_by(&with), "seed {seed}\n{text}\nbecomes\n{with}");
        changed += usize::from(without != with);
    }
    println!("{changed} of 200 kernels are changed");
    assert!(changed >= least);
}

const VALUES: [&Phase; 4] =
    [&split_at_control_flow::PHASE, &build_ssa::PHASE, &general_optimize::PHASE, &eliminate_dead::FULL];

#[test]
fn invariants_are_hoisted() {
    check(&VALUES, &[&leave_ssa::PHASE], 80);
}

#[test]
fn invariants_are_hoisted_where_registers_are_written_several_times() {
    check(&[&split_at_control_flow::PHASE, &sweep::PHASE], &[], 20);
}

#[test]
fn what_a_second_run_moves_is_right() {
    check(&[&VALUES[..], &[&hoist_invariants::PHASE]].concat(), &[&leave_ssa::PHASE], 0);
}
