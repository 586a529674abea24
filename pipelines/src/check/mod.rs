//! The judge: runs the kernels of a module before and after, on the same inputs, and compares what they leave.
//!
//! A [`Reference`] holds what the kernels of a module do; [`Reference::compare`] holds another module against it.
//! Launches come from launch lines where there are some, see [`launches`], else they are worked out from the
//! signature and the code, see [`infer`]. A launch is only a fair judge where the behaviour before is defined: one
//! that races, goes out of bounds or never ends is set aside, with the reason.

pub mod infer;
pub mod launches;
pub mod phases;
pub mod uses;

use ptxopt_emulator::launch_lines::LaunchLine;
use ptxopt_emulator::{
    Checks, Count, Effect, Entry, Finding, Launch, Limits, LoadError, LogEntry, Module, Options, Outcome,
    PrintArgument, Stop, run, run_counted,
};
use std::fmt;

/// Thread-instructions of one launch. Kernels of tests take a hundredth; one that takes more may never end.
const STEPS_MAX: u64 = 50_000_000;

/// How kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Inputs to try for each kernel.
    pub seeds: u64,
    /// Thread-instructions of one launch.
    pub steps_max: u64,
    /// Whether the first launch of each kernel looks for races.
    pub races: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { seeds: 2, steps_max: STEPS_MAX, races: true }
    }
}

/// What became of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every launch left the same.
    Same,
    /// A launch left something else.
    Different(String),
    /// No launch could judge it, and why.
    SetAside(String),
}

/// A kernel and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelVerdict {
    /// Name of the entry.
    pub entry: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// One launch and what it left.
struct Case {
    launch: Launch,
    outcome: Outcome,
}

/// The launches of one kernel.
struct Kernel {
    entry: String,
    cases: Vec<Case>,
    /// Why there are none.
    set_aside: String,
    /// Why a launch line does not fit it.
    misfit: Option<String>,
}

/// What the kernels of a module do.
pub struct Reference {
    text: Vec<u8>,
    module: Module,
    kernels: Vec<Kernel>,
    steps_max: u64,
}

impl Reference {
    /// Runs every kernel of `text`. `lines` say how; kernels without one get launches that are worked out.
    ///
    /// # Errors
    /// Text that is no module.
    pub fn new(text: &[u8], lines: &[LaunchLine], options: CheckOptions) -> Result<Self, LoadError> {
        let module = Module::load(text)?;
        let kernels = module
            .entries()
            .iter()
            .map(|entry| {
                let found: Vec<LaunchLine> =
                    lines.iter().filter(|line| line.entry == entry.name).cloned().collect();
                let set_aside = String::from("no launch suits it");
                let mut kernel =
                    Kernel { entry: entry.name.clone(), cases: Vec::new(), set_aside, misfit: None };
                if found.is_empty() {
                    kernel.infer(&module, entry, text, options);
                } else {
                    kernel.misfit = kernel.run(&module, &found, options);
                }
                kernel
            })
            .collect();
        Ok(Self { text: text.to_vec(), module, kernels, steps_max: options.steps_max })
    }

    /// Runs one kernel of `text` as `launch` says.
    ///
    /// # Errors
    /// Text that is no module.
    pub fn of_launch(text: &[u8], launch: Launch, options: CheckOptions) -> Result<Self, LoadError> {
        let module = Module::load(text)?;
        let (entry, set_aside) = (launch.entry.clone(), String::new());
        let mut kernel = Kernel { entry, cases: Vec::new(), set_aside, misfit: None };
        kernel.judge(&module, launch, options.races, options.steps_max);
        Ok(Self { text: text.to_vec(), module, kernels: vec![kernel], steps_max: options.steps_max })
    }

    /// Whether the module has a kernel of this name.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        self.kernels.iter().any(|kernel| kernel.entry == name)
    }

    /// The first kernel that a launch line does not fit, and why.
    #[must_use]
    pub fn misfit(&self) -> Option<(&str, &str)> {
        self.kernels.iter().find_map(|kernel| Some((kernel.entry.as_str(), kernel.misfit.as_deref()?)))
    }

    /// Runs the kernels of `text` on the same inputs.
    ///
    /// # Errors
    /// Text that is no module.
    pub fn compare(&self, text: &[u8]) -> Result<Vec<KernelVerdict>, LoadError> {
        let module = Module::load_like(text, &self.module)?;
        let is_there = |kernel: &Kernel| module.entries().iter().any(|entry| entry.name == kernel.entry);
        let verdict = |kernel: &Kernel| {
            let verdict = if !is_there(kernel) {
                Verdict::Different("the other module has no kernel of this name".to_owned())
            } else if kernel.cases.is_empty() {
                Verdict::SetAside(kernel.set_aside.clone())
            } else {
                self.verdict(kernel, &module)?
            };
            Ok(KernelVerdict { entry: kernel.entry.clone(), verdict })
        };
        self.kernels.iter().map(verdict).collect()
    }

    /// Compares what the launches of `kernel` leave. One that differs may leave a variable, where its accesses find what
    /// happens to lie beside it: such a launch is not fair.
    fn verdict(&self, kernel: &Kernel, module: &Module) -> Result<Verdict, LoadError> {
        let mut unfair = None;
        for case in &kernel.cases {
            let Some(difference) = case.difference(module, self.steps_max) else { continue };
            let apart = Module::load_apart(&self.text)?;
            match run_one(&apart, &case.launch, false, self.steps_max).stop {
                Some(stop @ Stop::OutOfBounds { .. }) => unfair = Some(stop.to_string()),
                _ => return Ok(Verdict::Different(self.with_what_is_unwritten(&case.launch, difference))),
            }
        }
        Ok(unfair.map_or(Verdict::Same, Verdict::SetAside))
    }

    /// A difference, with the first register that was read before it was written, if there is one: what such a register holds is
    /// nobody's promise, so it may be the reason. It need not be: registers that are copied and not used are frequent.
    fn with_what_is_unwritten(&self, launch: &Launch, difference: String) -> String {
        let checks = Checks { uninitialised: true, ..Checks::default() };
        let outcome = run(&self.module, launch, &Options { checks, ..how(false, self.steps_max) });
        match outcome.reports.iter().find(|report| report.finding == Finding::UninitialisedRegister) {
            Some(report) => format!("{difference}; before: {report}"),
            None => difference,
        }
    }

    /// What the launches of each kernel that is judged issue with the kernels of `text`.
    ///
    /// # Errors
    /// Text that is no module.
    pub fn counts(&self, text: &[u8]) -> Result<Vec<(&str, Count)>, LoadError> {
        let module = Module::load(text)?;
        let of_kernel = |kernel: &'_ Kernel| {
            let mut sum = Count::default();
            for case in &kernel.cases {
                sum += run_counted(&module, &case.launch, &how(false, 2 * self.steps_max)).1;
            }
            sum
        };
        let judged = self.kernels.iter().filter(|kernel| !kernel.cases.is_empty());
        Ok(judged.map(|kernel| (&kernel.entry[..], of_kernel(kernel))).collect())
    }

    /// Why the first kernel that no launch judges is set aside; empty where there is none.
    #[must_use]
    pub fn reason(&self) -> &str {
        let aside = self.kernels.iter().find(|kernel| kernel.cases.is_empty());
        aside.map_or("", |kernel| &kernel.set_aside)
    }

    /// Kernels that at least one launch judges.
    #[must_use]
    pub fn judged_count(&self) -> usize {
        self.kernels.iter().filter(|kernel| !kernel.cases.is_empty()).count()
    }
}

impl Kernel {
    /// Runs launches that are worked out, ever narrower ones until one is fair. The reason why none is that of the widest.
    fn infer(&mut self, module: &Module, entry: &Entry, text: &[u8], options: CheckOptions) {
        let mut first_reason = None;
        for width in infer::Width::ALL {
            match infer::launch_line(module, entry, text, width, options) {
                // One that does not fit is no mistake.
                Ok(line) => drop(self.run(module, &[line], options)),
                Err(reason) => self.set_aside = reason,
            }
            if !self.cases.is_empty() {
                return;
            }
            first_reason.get_or_insert_with(|| self.set_aside.clone());
        }
        self.set_aside = first_reason.unwrap_or_default();
    }

    /// Runs the launches of `lines` for every seed, and keeps those that are fair. Of each line all launches up to the
    /// first that is kept are looked at for races. Says why a line does not fit the kernel.
    fn run(&mut self, module: &Module, lines: &[LaunchLine], options: CheckOptions) -> Option<String> {
        let mut misfit = None;
        for line in lines {
            let mut races = options.races;
            for seed in 0..options.seeds {
                match self.judge(module, line.launch(seed), races, options.steps_max) {
                    Fairness::Fair => races = false,
                    Fairness::Misfit => misfit = Some(self.set_aside.clone()),
                    Fairness::Unfair => {}
                    Fairness::Races => return misfit,
                }
            }
        }
        misfit
    }

    /// Runs a launch and keeps it if it is fair.
    fn judge(&mut self, module: &Module, launch: Launch, races: bool, steps_max: u64) -> Fairness {
        let outcome = run_one(module, &launch, races, steps_max);
        if let Some(race) = race(&outcome) {
            self.set_aside = race;
            self.cases.clear();
            return Fairness::Races;
        }
        if let Some(stop) = undefined_stop(&outcome) {
            self.set_aside = stop;
            let is_misfit = matches!(outcome.stop, Some(Stop::BadLaunch(_)));
            return if is_misfit { Fairness::Misfit } else { Fairness::Unfair };
        }
        self.cases.push(Case { launch, outcome });
        Fairness::Fair
    }
}

/// Runs a launch the way the judge does: what is not modelled is uninterpreted.
pub(crate) fn run_one(module: &Module, launch: &Launch, races: bool, steps_max: u64) -> Outcome {
    run(module, launch, &how(races, steps_max))
}

fn how(races: bool, steps_max: u64) -> Options {
    Options {
        limits: Limits { steps: steps_max, ..Limits::default() },
        checks: Checks { races, ..Checks::default() },
        uninterpreted: true,
    }
}

/// Whether a launch can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fairness {
    /// It can.
    Fair,
    /// On this input the kernel's behaviour is not defined, or not known.
    Unfair,
    /// It does not fit the kernel.
    Misfit,
    /// The kernel races, and it will with other inputs too.
    Races,
}

/// The first race of a run that was looked at for races.
fn race(outcome: &Outcome) -> Option<String> {
    let race = outcome.reports.iter().find(|report| matches!(report.finding, Finding::Race { .. }));
    race.map(ToString::to_string)
}

/// A stop that is none of the kernel's own.
fn undefined_stop(outcome: &Outcome) -> Option<String> {
    match &outcome.stop {
        None | Some(Stop::Trap { .. } | Stop::Assertion { .. }) => None,
        Some(stop) => Some(stop.to_string()),
    }
}

impl Case {
    /// What `module` does otherwise.
    fn difference(&self, module: &Module, steps_max: u64) -> Option<String> {
        let after = run_one(module, &self.launch, false, 2 * steps_max);
        if let Some(Stop::BadLaunch(reason)) = &after.stop {
            return Some(format!("it cannot be launched in the same way: {reason}"));
        }
        difference(&self.outcome, &after)
    }
}

/// The first thing in which two outcomes differ.
#[must_use]
pub fn difference(before: &Outcome, after: &Outcome) -> Option<String> {
    let stops = (before.stop.as_ref(), after.stop.as_ref());
    let same_stop = match stops {
        (None, None)
        | (Some(Stop::Trap { .. }), Some(Stop::Trap { .. }))
        | (Some(Stop::Assertion { .. }), Some(Stop::Assertion { .. })) => true,
        (before, after) => before == after,
    };
    if !same_stop {
        return Some(format!("ends with {}, before with {}", Ending(stops.1), Ending(stops.0)));
    }
    for (at, (old, new)) in before.buffers.iter().zip(&after.buffers).enumerate() {
        if let Some(text) = first_byte(old, new) {
            return Some(format!("buffer {at}: {text}"));
        }
    }
    // A variable may be declared before it is defined: by position, not by name.
    for (at, (name, old)) in before.globals.iter().enumerate() {
        match after.globals.get(at).filter(|(other, _)| other == name) {
            None => return Some(format!("variable {name} is gone")),
            Some((_, new)) => {
                if let Some(text) = first_byte(old, new) {
                    return Some(format!("variable {name}: {text}"));
                }
            }
        }
    }
    let length = before.log.len().max(after.log.len());
    let at = (0..length).find(|&at| before.log.get(at) != after.log.get(at))?;
    let [after, before] =
        [after, before].map(|outcome| outcome.log.get(at).map_or("none".to_owned(), in_words));
    Some(format!("effect {at} is {after}, before {before}"))
}

/// An effect outside memory, as messages say it.
fn in_words(LogEntry { thread, effect }: &LogEntry) -> String {
    let list = |values: Vec<String>| values.join(" ");
    match effect {
        Effect::Instruction { mnemonic, inputs } => {
            let inputs = list(inputs.iter().map(|input| format!("{input:#x}")).collect());
            format!("`{mnemonic}` of {inputs} by {thread}")
        }
        Effect::Call { function, parameters } => {
            let bytes = list(parameters.iter().map(|byte| format!("{byte:02x}")).collect());
            format!("a call of `{function}` with the bytes {bytes} by {thread}")
        }
        Effect::Print { format, arguments } => {
            let shown = |argument: &PrintArgument| match argument {
                PrintArgument::Bits(bits) => format!("{bits:#x}"),
                PrintArgument::Text(text) => format!("\"{}\"", text.escape_ascii()),
            };
            let arguments = list(arguments.iter().map(shown).collect());
            format!("\"{}\" printed with {arguments} by {thread}", format.escape_ascii())
        }
    }
}

fn first_byte(before: &[u8], after: &[u8]) -> Option<String> {
    if before.len() != after.len() {
        return Some(format!("{} bytes, before {}", after.len(), before.len()));
    }
    let at = before.iter().zip(after).position(|(old, new)| old != new)?;
    Some(format!("byte {at} is {:#04x}, before {:#04x}", after[at], before[at]))
}

/// How a run ended, as text.
struct Ending<'a>(Option<&'a Stop>);

impl fmt::Display for Ending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("the kernel's end"),
            Some(stop) => stop.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(signature: &str, body: &str) -> String {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k({signature}) {{ .reg .b32 %r<9>; \
             .reg .b64 %d<9>; .reg .pred %p<3>; ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; {body} ret; }}\n"
        )
    }

    /// Judges one kernel on two inputs, as its launch line says.
    fn reason(launch: &str, signature: &str, body: &str) -> String {
        let text = module(signature, body);
        let line = LaunchLine::parse(launch).expect("a test's line is well-formed");
        let options = CheckOptions { seeds: 2, ..CheckOptions::default() };
        let reference = Reference::new(text.as_bytes(), &[line], options).expect("it loads");
        assert_eq!(reference.judged_count(), 0, "it judges");
        reference.reason().to_owned()
    }

    /// A store that leaves `v` for `w`, and one that stays in it: in the first case anything may come out.
    #[test]
    fn a_launch_that_leaves_a_local_variable_for_its_neighbour_judges_nothing() {
        let text = |offset: &str, stored: u32| {
            let body = format!(
                ".local .b32 v[2]; .local .b32 w[2]; mov.u32 %r2, 7; st.local.u32 [w], %r2; mov.u64 %d2, v; \
                 mov.u32 %r3, {stored}; st.local.u32 [%d2+{offset}], %r3; ld.local.u32 %r4, [w]; ld.local.u32 %r5, [v+4]; \
                 add.u32 %r4, %r4, %r5; st.global.u32 [%d1], %r4;"
            );
            module(".param .u64 a", &body)
        };
        let line = LaunchLine::parse("k grid 1 block 1 args u32[4]=zero").expect("it is well-formed");
        for (offset, is_fair) in [("8", false), ("4", true)] {
            let lines = [line.clone()];
            let reference = Reference::new(text(offset, 5).as_bytes(), &lines, CheckOptions::default())
                .expect("it loads");
            let verdict = |other: u32| {
                let verdicts = reference.compare(text(offset, other).as_bytes()).expect("it loads");
                verdicts[0].verdict.clone()
            };
            assert_eq!(verdict(5), Verdict::Same);
            match verdict(6) {
                Verdict::SetAside(reason) => {
                    assert!(!is_fair && reason.contains("out of bounds"), "{reason}")
                }
                verdict => assert!(is_fair && matches!(verdict, Verdict::Different(_)), "{verdict:?}"),
            }
        }
    }

    /// The message of a kernel that stores another number says so where the register that it adds was never written.
    #[test]
    fn a_difference_names_the_register_that_nothing_has_written() {
        let text = |unwritten: &str, literal: u32| {
            let body = format!("add.u32 %r2, {unwritten}, {literal}; st.global.u32 [%d1], %r2;");
            module(".param .u64 a", &body)
        };
        let line = LaunchLine::parse("k grid 1 block 1 args u32[4]=zero").expect("it is well-formed");
        for (register, is_named) in [("%r8", true), ("%r1", false)] {
            let before = text(register, 5);
            let reference =
                Reference::new(before.as_bytes(), std::slice::from_ref(&line), CheckOptions::default());
            let verdicts =
                reference.expect("it loads").compare(text(register, 6).as_bytes()).expect("it loads");
            let Verdict::Different(difference) = &verdicts[0].verdict else { panic!("5 is not 6") };
            assert!(difference.starts_with("buffer 0: byte 0 is 0x06, before 0x05"), "{difference}");
            assert_eq!(difference.contains("register read before it is written"), is_named, "{difference}");
        }
    }

    #[test]
    fn threads_that_race_before_a_trap_judge_nothing() {
        let body = "st.global.u32 [%d1], %r1; trap;";
        let found = reason("k grid 1 block 64 args u32[4]=zero", ".param .u64 a", body);
        assert!(found.contains("race"), "{found}");
    }

    /// Whichever block comes first.
    #[test]
    fn threads_that_store_while_one_traps_agree() {
        let store = "mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r1; ret;";
        let early = format!("setp.ne.u32 %p1, %r1, 0; @%p1 bra $S; trap; $S: {store}");
        let late = format!("setp.eq.u32 %p1, %r1, 0; @%p1 bra $T; {store} $T: trap;");
        let [early, late] = [early, late].map(|body| module(".param .u64 a", &body));
        let line = LaunchLine::parse("k grid 1 block 64 args u32[64]=zero").expect("it is well-formed");
        let reference = Reference::new(early.as_bytes(), &[line], CheckOptions::default()).expect("it loads");
        let verdicts = reference.compare(late.as_bytes()).expect("it loads");
        assert_eq!(verdicts[0].verdict, Verdict::Same);
    }

    /// The first input of these two leaves its buffer.
    #[test]
    fn an_unfair_input_leaves_the_next_one_to_be_looked_at() {
        let body = "ld.param.u64 %d2, [b]; ld.global.u32 %r2, [%d1]; and.b32 %r2, %r2, 32; setp.ne.u32 %p1, %r2, 0; \
                    @%p1 st.global.u32 [%d2+4194304], %r1; st.global.u32 [%d2], %r1;";
        let launch = "k grid 1 block 64 args u32[4]=bits u32[4]=zero";
        let found = reason(launch, ".param .u64 a, .param .u64 b", body);
        assert!(found.contains("race"), "{found}");
    }
}
