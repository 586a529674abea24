//! The steps of a plan: around each phase the facts that it needs, the growth limit, verifiers and the step's end.
//!
//! Each phase, each analysis and each verifier has a schedule of its own, and all run in one order, so that nothing is left for
//! a schedule to arrange. One schedule of all of them works out, when it is made, for every two of its systems which lies before
//! which; that was most of what a process did that optimizes one small kernel. And what has nothing to do is not entered: a look
//! at the states of the functions says so for a whole step, where a run condition each fetches them again.

use crate::edit::compact::CompactScratch;
use crate::edit::{Journal, compact_rows};
use crate::forms::FormTable;
use crate::ptx::writer::{WriterScratch, write_function};
use crate::run::arena::ArenaMemory;
use crate::run::clock::Began;
use crate::run::facts::{CodeFacts, Fact};
use crate::run::guard::TIME_LIMIT;
use crate::run::log::{Dumps, Left, LeftFunctions, StepLog, Undone, UndoneSteps, Violations};
use crate::run::phase::{Check, Limits, Phase, Plan, Slot, Step, Verify};
use crate::store::columns::{Code, CodeMut, CodeObjects, InUse};
use crate::store::view::FunctionView;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::system::{SystemParam, SystemState};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_components::ids::{BlockId, CodeId, Id};
use std::time::Instant;

/// All steps of a plan, and what runs around their phases.
pub(super) struct Steps {
    steps: Vec<StepRun>,
    /// What computes the facts that steps need: one of each, whichever steps ask.
    analyses: Vec<Analysis>,
    /// What runs after each step that is verified.
    checks: Vec<Schedule>,
    limits: Limits,
    codes: SystemState<CodeObjects<'static, 'static>>,
    undo: UndoState,
    scratch: CompactScratch,
}

/// A step that is ready to run.
struct StepRun {
    step: Step,
    phase: Schedule,
    /// What computes the facts that it needs, those first on which others rely: indices of [`Steps::analyses`].
    facts: Vec<usize>,
    /// Whether it is passed over where it would give what holds already.
    may_hold_already: bool,
    is_verified: bool,
}

/// What computes a fact.
struct Analysis {
    phase: &'static Phase,
    schedule: Schedule,
}

/// The label of a schedule: the name of what it runs.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Runs(&'static str);

impl Steps {
    /// The steps of a plan that has passed [`Plan::check`]; their resources are put into `world`.
    ///
    /// # Panics
    /// When two systems of one phase have no order between them: a bug in the phase.
    pub(super) fn new(plan: &Plan, world: &mut World) -> Self {
        let mut analyses = Vec::new();
        let steps = plan.steps.iter().map(|step| ready(step, plan, &mut analyses, world)).collect();
        let checks = plan.checks.iter().filter(|check| runs(check, plan.verify));
        Self {
            steps,
            analyses,
            checks: checks.map(|check| schedule(check.name, check.install, world)).collect(),
            limits: plan.limits,
            codes: SystemState::new(world),
            undo: SystemState::new(world),
            scratch: CompactScratch::default(),
        }
    }

    /// Runs them on the batch in `world`.
    ///
    /// # Panics
    /// With [`TIME_LIMIT`] when the batch has taken too long.
    pub(super) fn run(&mut self, world: &mut World) {
        let Self { steps, analyses, checks, limits, codes, undo, scratch } = self;
        let code_count = world.resource::<InUse>().live().codes as u64;
        let most_ms = limits.time_ms.saturating_mul(code_count.max(1));
        start(world);
        for StepRun { step, phase, facts, may_hold_already, is_verified } in steps {
            let room_percent = step.phase.room_percent;
            let has_work = has_work(step.phase, *may_hold_already, codes, world);
            if has_work {
                compute(facts, analyses, codes, world);
                phase.run(world);
            }
            if *is_verified {
                // What verifiers look at is what stays.
                limit_growth(world, undo, limits, room_percent);
                checks.iter_mut().for_each(|check| check.run(world));
                undo_violators(world, undo, step.name);
            }
            if has_work {
                settle(world, undo, scratch, limits, room_percent);
            }
            end(world, most_ms);
            if step.dump {
                let name = (step.number, step.name);
                world.run_system_cached_with(dump_code, name).expect("what it takes is there");
            }
        }
    }
}

/// Gets a step ready to run, with what computes the facts that it needs.
fn ready(step: &Step, plan: &Plan, analyses: &mut Vec<Analysis>, world: &mut World) -> StepRun {
    let phase = step.phase;
    let mut place_of = |fact: Fact| {
        let analysis = plan.analysis(fact).expect("a checked plan has every analysis");
        let place = analyses.iter().position(|known: &Analysis| std::ptr::eq(known.phase, analysis));
        place.unwrap_or_else(|| {
            analyses.push(Analysis {
                phase: analysis,
                schedule: schedule(analysis.name, analysis.install, world),
            });
            analyses.len() - 1
        })
    };
    let facts = plan.facts_for(phase).into_iter().map(&mut place_of).collect();
    StepRun {
        step: *step,
        phase: schedule(step.name, phase.install, world),
        facts,
        may_hold_already: (!phase.gives.is_empty() || phase.memo.is_some()) && !plan.remarks,
        is_verified: plan.verify > Verify::Off || step.verified,
    }
}

/// The schedule of what `install` installs.
fn schedule(name: &'static str, install: fn(&mut Slot<'_>), world: &mut World) -> Schedule {
    let mut schedule = Schedule::new(Runs(name));
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.set_build_settings(ScheduleBuildSettings {
        ambiguity_detection: LogLevel::Error,
        auto_insert_apply_deferred: false,
        ..ScheduleBuildSettings::default()
    });
    install(&mut Slot { world, schedule: &mut schedule });
    schedule.initialize(world).expect("a checked plan has a schedule");
    schedule
}

/// Whether a verifier runs after the steps that are verified.
fn runs(check: &Check, verify: Verify) -> bool {
    match verify {
        Verify::Off => check.from == Verify::Off,
        verify => check.from != Verify::Off && verify >= check.from,
    }
}

/// Computes those of these facts that some function lacks.
fn compute(
    mut facts: &[usize],
    analyses: &mut [Analysis],
    codes: &mut SystemState<CodeObjects<'_, '_>>,
    world: &mut World,
) {
    while !facts.is_empty() {
        let objects = codes.get(world).expect("columns are there");
        let is_lacking = |&fact: &usize| lacks_facts(&objects, analyses[fact].phase);
        let Some(at) = facts.iter().position(is_lacking) else { return };
        analyses[facts[at]].schedule.run(world);
        // To compute one may break those after it, and none before.
        facts = &facts[at + 1..];
    }
}

/// Whether a phase has something to do.
fn has_work(
    phase: &Phase,
    may_hold_already: bool,
    codes: &mut SystemState<CodeObjects<'_, '_>>,
    world: &World,
) -> bool {
    if phase.only.is_empty() && !may_hold_already {
        return true;
    }
    let codes = codes.get(world).expect("columns are there");
    has_flags(&codes, phase.only) && (!may_hold_already || lacks_facts(&codes, phase))
}

/// Whether some function of the batch that phases work on lacks one of `facts`.
fn lacks_facts(codes: &CodeObjects<'_, '_>, phase: &Phase) -> bool {
    let (states, held, ..) = codes.columns();
    let lacks = |(state, held): (&CodeState, &CodeFacts)| {
        let has_facts = phase.gives.iter().all(|&fact| held.holds(fact, state));
        let has_memo = phase.memo.is_none_or(|memo| held.remembers(memo, state));
        let has_all = has_facts && has_memo;
        !has_all && !state.flags.contains(CodeFlags::LEFT)
    };
    states.iter().zip(held).any(lacks)
}

/// Whether some function of the batch that phases work on has these flags.
fn has_flags(codes: &CodeObjects<'_, '_>, flags: CodeFlags) -> bool {
    let (states, ..) = codes.columns();
    states.iter().any(|state| state.flags.contains(flags) && !state.flags.contains(CodeFlags::LEFT))
}

/// Starts the first step. Each other one starts where the one before ends.
fn start(world: &mut World) {
    let log = &mut *world.resource_mut::<StepLog>();
    log.batch_began = Began::now();
    log.began = log.batch_began.at();
}

/// What undoing takes, to be fetched where something has changed: of a small batch, most steps change nothing, and fetching
/// it would cost as much as all else that they do.
type UndoState = SystemState<Undo<'static, 'static>>;

/// Fetches what undoing takes.
fn undo_in<'w, 's>(state: &'s mut UndoState, world: &'w mut World) -> Undo<'w, 's> {
    state.get_mut(world).expect("its columns and resources are there, and are not the same")
}

/// What undoing a step for a function takes.
#[derive(SystemParam)]
struct Undo<'w, 's> {
    code: CodeMut<'w, 's>,
    journal: ResMut<'w, Journal>,
    undone: ResMut<'w, UndoneSteps>,
    log: ResMut<'w, StepLog>,
}

impl Undo<'_, '_> {
    /// Undoes what the running step did to a function; says whether it did anything.
    fn undo(&mut self, code: CodeId, reason: impl FnOnce() -> String) -> bool {
        let is_undone = self.journal.undo(code, self.code.columns());
        if is_undone {
            self.log.current().undone += 1;
            self.undone.all.push(Undone { code, step: self.log.step, reason: reason() });
        }
        is_undone
    }
}

/// Undoes the step for the functions that it has made larger than they may be.
fn limit_growth(world: &mut World, undo: &mut UndoState, limits: &Limits, room_percent: u32) {
    if !world.resource::<Journal>().is_empty() {
        undo_growth(&mut undo_in(undo, world), limits, room_percent);
    }
}

fn undo_growth(undo: &mut Undo, limits: &Limits, room_percent: u32) {
    let allowed_percent = limits.growth_percent.max(100 + u64::from(room_percent));
    let Undo { code, journal, .. } = undo;
    let columns = code.columns();
    let has_grown = |code: &CodeId| {
        let insts = columns.code_states[code.index()].live_insts;
        let insts_in = columns.code_texts[code.index()].insts_in;
        let exceeds = |rows: u32, percent: u64| u64::from(rows) * 100 > u64::from(insts_in) * percent;
        // What only shrinks it, or adds no more than its room where phis take some, is not what made it large.
        let is_to_blame = |before| insts > before && exceeds(insts - before, u64::from(room_percent));
        journal.live_insts_before(*code).is_none_or(is_to_blame) && exceeds(insts, allowed_percent)
    };
    let grown: Vec<CodeId> = journal.changed().filter(has_grown).collect();
    for code in grown {
        let columns = undo.code.columns();
        let insts = columns.code_states[code.index()].live_insts;
        let insts_in = columns.code_texts[code.index()].insts_in;
        undo.undo(code, || format!("it grew from {insts_in} to {insts} instructions"));
    }
}

/// Undoes the step for the functions on which a verifier found something. Those that the step did not change are passed
/// through unchanged: it is not known what was wrong before.
fn undo_violators(world: &mut World, undo: &mut UndoState, step: &'static str) {
    let found = std::mem::take(&mut world.resource_mut::<Violations>().all);
    if found.is_empty() {
        return;
    }
    let mut left = std::mem::take(&mut *world.resource_mut::<LeftFunctions>());
    let mut undo = undo_in(undo, world);
    let mut undone_here: Vec<CodeId> = Vec::new();
    for (code, check, what) in found {
        if undo.code.states()[code.index()].flags.contains(CodeFlags::LEFT) {
            continue;
        }
        let reason = || format!("check {check} failed after {step}: {what}");
        if undone_here.contains(&code) {
            continue;
        }
        if undo.undo(code, reason) {
            undone_here.push(code);
        } else {
            undo.code.states()[code.index()].flags |= CodeFlags::LEFT;
            left.all.push(Left { code, reason: reason() });
        }
    }
    *world.resource_mut::<LeftFunctions>() = left;
}

/// Settles what a step has done: what grew too much is undone, worn rows are made dense, and the arena is empty.
fn settle(
    world: &mut World,
    undo: &mut UndoState,
    scratch: &mut CompactScratch,
    limits: &Limits,
    room_percent: u32,
) {
    if !world.resource::<Journal>().is_empty() {
        let mut undo = undo_in(undo, world);
        undo_growth(&mut undo, limits, room_percent);
        if !undo.journal.is_empty() {
            let mut columns = undo.code.columns();
            for code in (0..columns.code_states.len()).map(CodeId::new) {
                if columns.code_states[code.index()].flags.contains(CodeFlags::HAS_TOMBSTONES) {
                    compact_rows(columns.reborrow().function(code), |wear| wear.is_worn(), scratch);
                }
            }
        }
        undo.journal.clear();
    }
    world.resource_mut::<ArenaMemory>().end_step();
}

/// Ends a step: its time is kept, and looked at. The next step starts here.
fn end(world: &mut World, most_ms: u64) {
    let log = &mut *world.resource_mut::<StepLog>();
    let now = Instant::now();
    log.current().ns += (now - log.began).as_nanos() as u64;
    assert!(!log.batch_began.has_taken_more(now, most_ms), "{TIME_LIMIT}");
    log.step += 1;
    log.began = now;
}

/// Where threads of a structurized function part and meet again (document offsets +672 and +680): a line for each block.
fn convergence_of(function: &FunctionView<'_>) -> String {
    let marks = [(BlockFlags::RECONVERGENCE_HEAD, "head"), (BlockFlags::RECONVERGENCE_TAIL, "tail")];
    let mut lines = String::new();
    for (mark, word) in marks {
        let of_mark = |block: &BlockId| function.blocks[block.index()].flags.contains(mark);
        for block in function.block_ids().filter(of_mark) {
            lines.push_str(&format!("// reconvergence {word} {block:?}\n"));
        }
    }
    lines
}

/// Writes the selected functions after the step of this number and name.
fn dump_code(
    In((number, name)): In<(u16, &'static str)>,
    code: Code,
    forms: Res<FormTable>,
    mut dumps: ResMut<Dumps>,
) {
    let mut writer = WriterScratch::default();
    let Dumps { source, text, .. } = &mut *dumps;
    let is_selected = |function: &FunctionView<'_>| function.state.flags.contains(CodeFlags::SELECTED);
    for function in code.view().functions().filter(is_selected) {
        let progress = function.state.progress;
        text.extend_from_slice(format!("// after phase {number} {name}, progress {progress}\n").as_bytes());
        text.extend_from_slice(convergence_of(&function).as_bytes());
        write_function(&function, &forms, source, &mut writer, text);
        text.extend_from_slice(b"\n\n");
    }
}
