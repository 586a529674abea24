//! The steps of a plan as schedules: around each phase the facts that it needs, the growth limit, verifiers and the step's end.
//!
//! A step runs its stages in one order, and the steps follow each other, so nothing is left for a schedule to arrange. But when it
//! is made it works out for every two of its stages which lies before which. With all steps in one schedule that was most of
//! what a process did that optimizes one small kernel; so each takes [`STEPS_PER_SCHEDULE`] steps, and they run one after the
//! other.

use crate::edit::compact::CompactScratch;
use crate::edit::{Journal, compact_rows};
use crate::forms::FormTable;
use crate::ptx::writer::{WriterScratch, write_function};
use crate::run::arena::ArenaMemory;
use crate::run::clock::Began;
use crate::run::facts::CodeFacts;
use crate::run::guard::TIME_LIMIT;
use crate::run::log::{Dumps, Left, LeftFunctions, StepLog, Undone, UndoneSteps, Violations};
use crate::run::phase::{Check, Limits, Phase, Plan, Slot, Stage, Step, Verify};
use crate::store::columns::{Code, CodeMut, CodeObjects, InUse};
use crate::store::view::FunctionView;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::system::{SystemParam, SystemState};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_components::ids::{BlockId, CodeId, Id};
use std::time::Instant;

/// Steps of one schedule. To enter one executes some 650 machine instructions a batch.
const STEPS_PER_SCHEDULE: usize = 4;

/// The label of a schedule: the first of its steps.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct StepsFrom(usize);

/// All steps of a plan.
pub(super) struct Steps(Vec<Schedule>);

impl Steps {
    /// The steps of a plan that has passed [`Plan::check`]; their resources are put into `world`.
    ///
    /// # Panics
    /// When two systems of one step have no order between them: a bug in the plan's phases.
    pub(super) fn new(plan: &Plan, world: &mut World) -> Self {
        let firsts = (0..plan.steps.len()).step_by(STEPS_PER_SCHEDULE);
        Self(firsts.map(|first| schedule_from(first, plan, world)).collect())
    }

    /// Runs them on the batch in `world`.
    pub(super) fn run(&mut self, world: &mut World) {
        for schedule in &mut self.0 {
            schedule.run(world);
        }
    }
}

/// The schedule of [`STEPS_PER_SCHEDULE`] steps from `first` on.
fn schedule_from(first: usize, plan: &Plan, world: &mut World) -> Schedule {
    let mut schedule = Schedule::new(StepsFrom(first));
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.set_build_settings(ScheduleBuildSettings {
        ambiguity_detection: LogLevel::Error,
        auto_insert_apply_deferred: false,
        ..ScheduleBuildSettings::default()
    });
    let mut stages = Stages { schedule: &mut schedule, last: None };
    if first == 0 {
        stages.follow(Stage::Start);
        stages.schedule.add_systems(start.in_set(Stage::Start));
    }
    for (index, step) in plan.steps.iter().enumerate().skip(first).take(STEPS_PER_SCHEDULE) {
        add_step(&mut stages, index, step, plan, world);
    }
    schedule.initialize(world).expect("a checked plan has a schedule");
    schedule
}

/// A schedule, and the last of its stages so far.
struct Stages<'s> {
    schedule: &'s mut Schedule,
    last: Option<Stage>,
}

impl Stages<'_> {
    /// Lets a stage follow the last one.
    fn follow(&mut self, stage: Stage) {
        if let Some(last) = self.last.replace(stage) {
            self.schedule.configure_sets(stage.after(last));
        }
    }

    /// Lets a stage follow the last one; what is installed goes there.
    fn slot<'a>(&'a mut self, stage: Stage, world: &'a mut World) -> Slot<'a> {
        self.follow(stage);
        Slot { world, schedule: self.schedule, stage }
    }
}

fn add_step(stages: &mut Stages<'_>, index: usize, step: &Step, plan: &Plan, world: &mut World) {
    let (phase, name, limits, room_percent) = (step.phase, step.name, plan.limits, step.phase.room_percent);
    let facts = plan.facts_for(phase);
    for (position, &fact) in facts.iter().enumerate() {
        let stage = Stage::Facts(index, position);
        let analysis = plan.analysis(fact).expect("a checked plan has every analysis");
        (analysis.install)(&mut stages.slot(stage, world));
        // Fetching what it takes would cost more than to see that it has nothing to do.
        let lacks = move |codes: CodeObjects| lacks_facts(&codes, analysis);
        stages.schedule.configure_sets(stage.in_set(Stage::Step(index)).run_if(lacks));
    }
    let stage = Stage::Run(index);
    (phase.install)(&mut stages.slot(stage, world));
    stages.schedule.configure_sets(stage.in_set(Stage::Step(index)));
    if !phase.only.is_empty() {
        let has_some = move |codes: CodeObjects| has_flags(&codes, phase.only);
        stages.schedule.configure_sets(Stage::Step(index).run_if(has_some));
    }
    let may_hold_already = !phase.gives.is_empty() || phase.memo.is_some();
    if may_hold_already && !plan.remarks {
        let lacks = move |codes: CodeObjects| lacks_facts(&codes, phase);
        stages.schedule.configure_sets(Stage::Step(index).run_if(lacks));
    }
    let checks = || plan.checks.iter().filter(|check| runs_after(check, step, plan));
    if checks().next().is_some() {
        // What verifiers look at is what stays.
        stages.slot(Stage::Limit(index), world).add(move |world: &mut World, undo: &mut UndoState| {
            limit_growth(world, undo, &limits, room_percent);
        });
        for (position, check) in checks().enumerate() {
            (check.install)(&mut stages.slot(Stage::Facts(index, facts.len() + position), world));
        }
        stages.slot(Stage::Check(index), world).add(move |world: &mut World, undo: &mut UndoState| {
            undo_violators(world, undo, name);
        });
    }
    stages.slot(Stage::End(index), world).add(
        move |world: &mut World, undo: &mut UndoState, scratch: Local<CompactScratch>| {
            end(world, undo, scratch, &limits, room_percent);
            world.resource_mut::<ArenaMemory>().end_step();
        },
    );
    if step.dump {
        let number = step.number;
        stages.slot(Stage::Dump(index), world).add(
            move |code: Code, forms: Res<FormTable>, dumps: ResMut<Dumps>| {
                dump_code(code, forms, dumps, number, name);
            },
        );
    }
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

/// Whether a verifier runs after a step.
fn runs_after(check: &Check, step: &Step, plan: &Plan) -> bool {
    match plan.verify {
        Verify::Off => step.verified && check.from == Verify::Off,
        verify => check.from != Verify::Off && verify >= check.from,
    }
}

/// Starts the first step. Each other one starts where the one before ends.
fn start(mut log: ResMut<StepLog>, mut journal: ResMut<Journal>) {
    log.step = 0;
    log.batch_began = Began::now();
    log.began = log.batch_began.at();
    journal.clear();
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

/// Ends a step: what grew too much is undone, worn rows are made dense, statistics kept and limits looked at. The next step
/// starts here.
fn end(
    world: &mut World,
    undo: &mut UndoState,
    mut scratch: Local<CompactScratch>,
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
                    compact_rows(columns.reborrow().function(code), |wear| wear.is_worn(), &mut scratch);
                }
            }
        }
    }
    world.resource_mut::<Journal>().clear();
    let code_count = world.resource::<InUse>().live().codes as u64;
    let log = &mut *world.resource_mut::<StepLog>();
    let now = Instant::now();
    let ns = (now - log.began).as_nanos() as u64;
    log.current().ns += ns;
    let most = limits.time_ms.saturating_mul(code_count.max(1));
    assert!(!log.batch_began.has_taken_more(now, most), "{TIME_LIMIT}");
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

fn dump_code(code: Code, forms: Res<FormTable>, mut dumps: ResMut<Dumps>, number: u16, name: &'static str) {
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
