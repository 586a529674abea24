//! Random kernels that compute, load and store the same again and again: every run on the emulator leaves the same.

use super::*;
use crate::check::testing::Random;
use crate::ssa::{build_ssa, leave_ssa};
use crate::values::move_tests::{BYTES, after, after_alone, left_by};
use crate::values::{eliminate_dead, general_optimize};
use std::fmt::Write;

/// Operations on integers, floats and predicates, of which some commute.
const OPERATIONS: [&str; 12] = [
    "add.s32 r r r",
    "add.u32 r r 5",
    "sub.s32 r r r",
    "mul.lo.s32 r r r",
    "mul.hi.s32 r r r",
    "min.u32 r r r",
    "shl.b32 r r 3",
    "setp.lt.s32 p r r",
    "setp.gt.s32 p r r",
    "selp.b32 r r r p",
    "add.f32 f f f",
    "sub.f32 f f f",
];

/// The kernel after `phases`, which see values as they were written.
pub(super) fn numbered(text: &str, phases: &[&'static Phase]) -> String {
    after_alone(text, &[&[&build_ssa::PHASE], phases, &[&leave_ssa::PHASE]].concat())
}

/// Registers of a class.
const COUNT: usize = 16;

pub(crate) struct Kernel {
    random: Random,
    text: String,
    /// What was computed, without its results.
    computed: Vec<(&'static str, Vec<String>)>,
    stores: usize,
}

impl Kernel {
    pub(crate) fn new(seed: u64) -> Self {
        let mut text = format!(
            ".entry k(.param .u64 p) {{ .reg .b32 %u<3>, %r<16>; .reg .f32 %f<16>; .reg .b64 %a<5>; .reg .pred %p<16>;\n\
             .shared .align 8 .b8 tile[1024]; .reg .b32 %s<3>, %t<3>;\n\
             mov.u32 %t1, %tid.x; mul.wide.u32 %a1, %t1, {BYTES}; ld.param.u64 %a2, [p];\n\
             add.u64 %a1, %a1, %a2; add.u64 %a2, %a1, 4; mov.b64 %a3, %a1;\n\
             mov.u32 %s1, tile; mad.lo.u32 %s1, %t1, 64, %s1; add.u32 %s2, %s1, 8;\n\
             st.shared.v4.u32 [%s1], {{1, 2, 3, 4}}; st.shared.v4.u32 [%s1+16], {{5, 6, 7, 8}};\n"
        );
        for register in 0..COUNT {
            writeln!(text, "ld.global.u32 %r{register}, [%a1+{}];", 4 * register).unwrap();
        }
        for register in 0..COUNT {
            writeln!(text, "ld.global.f32 %f{register}, [%a1+{}];", 4 * register + 64).unwrap();
            writeln!(text, "setp.lt.u32 %p{register}, %t1, {};", register + 1).unwrap();
        }
        text +=
            "mov.u32 %t0, 0; mov.u32 %t2, 0; mov.u32 %u0, %t1; mov.u32 %u1, %t1; mov.u32 %u2, %t1;\nROUND:\n";
        Self { random: Random(seed), text, computed: Vec::new(), stores: 0 }
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.random.below(times) == 0
    }

    /// A register to read: one of a few, seldom another one.
    fn register(&mut self, class: &str) -> String {
        let count = if self.once_in(4) { COUNT } else { 4 };
        format!("%{class}{}", self.random.below(count))
    }

    /// A register to write. Few are written more than once in a row, and fewer under a guard, which makes variables of them.
    fn result(&mut self, class: &str, guard: &str) -> String {
        let number = match guard {
            "" if self.once_in(8) => self.random.below(4),
            "" => 4 + self.random.below(COUNT - 6),
            _ => COUNT - 2 + self.random.below(2),
        };
        format!("%{class}{number}")
    }

    fn guard(&mut self) -> String {
        match self.random.below(12) {
            0 => format!("@%p{}", self.random.below(4)),
            1 => format!("@!%p{}", self.random.below(4)),
            _ => String::new(),
        }
    }

    /// Computes something, perhaps once more, perhaps with its sources the other way round.
    fn compute(&mut self) {
        let (operation, mut sources) = if self.computed.is_empty() || self.once_in(3) {
            let operation = OPERATIONS[self.random.below(OPERATIONS.len())];
            let classes = operation.split(' ').skip(2);
            let sources = classes.map(|class| match class {
                "r" | "p" | "f" => self.register(class),
                literal => literal.to_owned(),
            });
            let sources: Vec<_> = sources.collect();
            self.computed.push((operation, sources.clone()));
            (operation, sources)
        } else {
            let recent = self.computed.len().saturating_sub(6);
            self.computed[recent + self.random.below(self.computed.len() - recent)].clone()
        };
        if self.once_in(3) && sources.iter().take(2).all(|source| source.starts_with('%')) {
            sources.swap(0, 1);
        }
        let mut words = operation.split(' ');
        let (mnemonic, class) = (words.next().unwrap(), words.next().unwrap());
        let guard = self.guard();
        let result = self.result(class, &guard);
        writeln!(self.text, "{guard} {mnemonic} {result}, {};", sources.join(", ")).unwrap();
        self.use_up(class, &result);
    }

    /// Reads a result, so that it is not dead when it is overwritten.
    fn use_up(&mut self, class: &str, result: &str) {
        if class == "r" {
            writeln!(self.text, "shf.l.wrap.b32 %t0, %t0, %t0, 3; add.u32 %t0, %t0, {result};").unwrap();
        }
    }

    /// Loads or stores a few bytes that others touch too.
    fn access(&mut self) {
        let (space, base) = [
            (".global", "%a1"),
            (".global", "%a2"),
            (".global", "%a3"),
            ("", "%a1"),
            (".shared", "%s1"),
            (".shared", "%s2"),
        ][self.random.below(6)];
        let (ty, width, class) =
            [("u32", 4, "r"), ("u8", 1, "r"), ("f32", 4, "f"), ("s16", 2, "r")][self.random.below(4)];
        let guard = self.guard();
        let offset = self.random.below(3) * 4 + self.random.below(2) * (4 - width);
        if !self.once_in(4) {
            let result = self.result(class, &guard);
            writeln!(self.text, "{guard} ld{space}.{ty} {result}, [{base}+{offset}];").unwrap();
            self.use_up(class, &result);
        } else {
            let register = self.register(class);
            let ty = if ty == "s16" { "u16" } else { ty };
            writeln!(self.text, "{guard} st{space}.{ty} [{base}+{offset}], {register};").unwrap();
        }
        if self.once_in(12) {
            self.text += "membar.cta;\n";
        }
    }

    fn statement(&mut self) {
        match self.random.below(8) {
            0..4 => self.compute(),
            4..7 => self.access(),
            _ if self.stores == 64 => {}
            _ => {
                let register = self.register("r");
                writeln!(self.text, "st.global.u32 [%a1+{}], {register};", 64 + 4 * self.stores).unwrap();
                self.stores += 1;
            }
        }
    }

    pub(crate) fn finish(mut self) -> String {
        for block in 0..5 {
            (0..16).for_each(|_| self.statement());
            let guard = self.random.below(4);
            writeln!(self.text, "@%p{guard} bra B{block};").unwrap();
            (0..1 + self.random.below(7)).for_each(|_| self.statement());
            if self.once_in(2) {
                writeln!(self.text, "bra C{block};\nB{block}:").unwrap();
                (0..1 + self.random.below(7)).for_each(|_| self.statement());
                writeln!(self.text, "C{block}:").unwrap();
            } else {
                writeln!(self.text, "B{block}:").unwrap();
            }
        }
        self.end()
    }

    /// A kernel with so few registers that all of them are values.
    pub(crate) fn finish_short(mut self) -> String {
        (0..6).for_each(|_| self.statement());
        self.end()
    }

    fn end(mut self) -> String {
        // Registers that start alike: they go on alike, or not.
        for register in 0..3 {
            let factor = [3, 3, 5][self.random.below(3)];
            writeln!(self.text, "mad.lo.u32 %u{register}, %u{register}, {factor}, %t1;").unwrap();
            self.use_up("r", &format!("%u{register}"));
        }
        for register in 0..COUNT {
            writeln!(self.text, "st.global.u32 [%a1+{}], %r{register};", 320 + 4 * register).unwrap();
        }
        for register in 0..COUNT {
            writeln!(self.text, "st.global.f32 [%a1+{}], %f{register};", 400 + 4 * register).unwrap();
        }
        self.text += "st.global.u32 [%a1+480], %t0; add.u32 %t2, %t2, 1; setp.lt.u32 %p0, %t2, 3; @%p0 bra ROUND; ret; }\n";
        self.text
    }
}

/// The text of a kernel.
pub(crate) fn kernel(seed: u64) -> String {
    Kernel::new(seed * 7919 + 3).finish()
}

/// Runs kernels before and after the phase, and counts instructions without and with it.
pub(crate) fn check(phases: &[&'static Phase], seeds: std::ops::Range<u64>) -> (usize, usize) {
    check_each(phases, seeds.map(kernel))
}

fn check_each(phases: &[&'static Phase], kernels: impl Iterator<Item = String>) -> (usize, usize) {
    let (mut without, mut with) = (0, 0);
    for text in kernels {
        let clean: [&Phase; 2] = [&general_optimize::PHASE, &eliminate_dead::FULL];
        let changed = after(&text, &[phases, &clean].concat());
        assert!(left_by(&text) == left_by(&changed), "{text}\nbecomes\n{changed}");
        without += after(&text, &clean).matches(';').count();
        with += changed.matches(';').count();
    }
    println!("{without} without, {with} with");
    (without, with)
}

/// The phase as mode 3 has it.
static AROUND_LOOPS: Phase = Phase { install: |slot| slot.add(run_around_loops), ..PHASE };

fn run_around_loops(mut editor: Editor, mut values: ResMut<ReachingValues>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        let _ = number_and_replace(&mut f, Mode::AroundLoops, &mut values, &mut Scratch::default());
    });
}

#[test]
fn what_is_computed_again_around_loops_goes() {
    let kernels = || (0..200).map(|seed| Kernel::new(seed * 7919 + 3).finish_short());
    let (_, with) = check_each(&[&AROUND_LOOPS], kernels());
    assert!(with + 415 < check_each(&[&PHASE], kernels()).1);
}

#[test]
fn what_is_computed_again_goes() {
    let (without, with) = check(&[&PHASE], 0..300);
    assert!(without > with + 2400, "{without} without, {with} with");
}
