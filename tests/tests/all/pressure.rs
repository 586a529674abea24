//! Pressure that follows edits, against a count from the definition, on functions made at random and after random edits; and
//! the pressure of functions in SSA form.
//!
//! Two managers follow the same edits: one starts with the live sets that the size of the function asks for, which are dense,
//! and one with those of walks. The count knows sets of registers and rounds until nothing changes. `PTXOPT_PRESSURE_FUNCTIONS` says on how many
//! functions it runs.

use bevy_ecs::prelude::*;
use ptxopt::{OptLevel, Options, optimize_with_plan, standard};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets, LivenessScratch, Representation, solve_on};
use ptxopt_engine::dataflow::pressure::{CLASSES, Count, Counts, Pressure};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Limits, Phase, Plan, Step};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};
use ptxopt_tests::generated::generated;
use ptxopt_tests::modules::{expect_none, in_parallel};
use ptxopt_tests::random_code::{self, Random};
use ptxopt_tests::say::say;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Functions that the oracle sees where nothing else is asked for.
const FUNCTION_COUNT: usize = 600;
/// Updates of a function, and the most edits before one.
const UPDATE_COUNT: usize = 6;
const EDITS_MAX: usize = 3;

static CHECKED: AtomicUsize = AtomicUsize::new(0);
static EDITED: AtomicUsize = AtomicUsize::new(0);
static WALKED: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);
static MOST_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static PHIS: AtomicUsize = AtomicUsize::new(0);

static EDIT_AND_COMPARE: Phase = Phase {
    name: "edit_and_compare",
    needs: &[Fact::ControlFlow, Fact::Liveness],
    breaks: &[Fact::Liveness, Fact::Uniformity, Fact::Definitions, Fact::ProgramOrder],
    room_percent: 200,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(edit_and_compare);
    },
    ..Phase::NOTHING
};

static COMPARE_SSA: Phase = Phase {
    name: "compare_ssa",
    needs: &[Fact::ControlFlow, Fact::Liveness],
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(compare_ssa);
    },
    ..Phase::NOTHING
};

/// A manager that starts with live sets of each kind.
#[derive(Default)]
struct Managers {
    kept: [Pressure; 2],
    solver: LivenessScratch,
    by_walks: LiveSet,
}

impl Managers {
    fn build(&mut self, function: &FunctionView<'_>, forms: &FormTable, set: &LiveSet) {
        let Self { kept: [dense, grouped], solver, by_walks } = self;
        assert_eq!(set.representation(), Representation::Dense);
        solve_on(Representation::Walks, function, forms, solver, by_walks);
        for (kept, set) in [(dense, set), (grouped, &*by_walks)] {
            kept.build(function, forms, set);
            kept.follow(set);
        }
    }

    fn touch(&mut self, block: BlockId) {
        self.kept.iter_mut().for_each(|kept| kept.touch(block));
    }

    fn compare(&self, function: &FunctionView<'_>, forms: &FormTable, when: &str) {
        self.kept.iter().for_each(|kept| compare(function, forms, kept, when));
    }
}

fn compare_ssa(code: Code, forms: Res<FormTable>, mut sets: ResMut<LiveSets>, mut managers: Local<Managers>) {
    for function in code.view().functions().filter(|f| f.state.flags.contains(CodeFlags::SSA)) {
        managers.build(&function, &forms, sets.of(function.code));
        managers.compare(&function, &forms, "in SSA form");
        let phis = function.rows().filter(|(_, head, _)| head.is_phi());
        PHIS.fetch_add(phis.count(), Ordering::Relaxed);
    }
}

fn edit_and_compare(mut editor: Editor, mut sets: ResMut<LiveSets>, mut managers: Local<Managers>) {
    editor.each(CodeFlags::TERMINATORS_LAST, |mut f| {
        let (function, forms) = f.view_and_forms();
        managers.build(&function, forms, sets.of(function.code));
        managers.compare(&function, forms, "as read");
        let mut random = Random::new(u64::from(function.text.body.count));
        for _ in 0..UPDATE_COUNT {
            for _ in 0..=random.below(EDITS_MAX) {
                EDITED.fetch_add(usize::from(edit(&mut f, &mut random, &mut managers)), Ordering::Relaxed);
            }
            let (function, forms) = f.view_and_forms();
            for kept in &mut managers.kept {
                let walked = kept.walk_count;
                kept.update(&function, forms);
                WALKED.fetch_add(kept.walk_count - walked, Ordering::Relaxed);
                BLOCKS.fetch_add(function.blocks.len() as u64, Ordering::Relaxed);
            }
            managers.compare(&function, forms, "after edits");
        }
        CHECKED.fetch_add(1, Ordering::Relaxed);
        MOST_BLOCKS.fetch_max(f.view().blocks.len(), Ordering::Relaxed);
    });
}

/// Makes one random change that leaves blocks and edges as they are; says whether there was one.
fn edit(f: &mut FunctionEditor<'_>, random: &mut Random, managers: &mut Managers) -> bool {
    let view = f.view();
    let plain: Vec<InstId> = view
        .block_ids()
        .flat_map(|block| view.insts_of(block))
        .filter(|inst| !view.heads[inst.index()].marks.contains(Marks::CONTROL))
        .collect();
    if plain.is_empty() {
        return false;
    }
    let [one, other] = std::array::from_fn(|_| plain[random.below(plain.len())]);
    let [from, to] = [one, other].map(|inst| view.heads[inst.index()].block);
    let operands = view.operands_of(one).to_vec();
    let form = view.heads[one.index()].form;
    let guard = view.guard_of(one);
    let Some(mut change) = f.change(one, "random edit") else { return false };
    let is_carrying = operands.len() > change.forms().slots(form).len() + usize::from(guard.is_some());
    match random.below(6) {
        0 | 1 if !is_carrying => {
            let hidden = change.forms().slots(form).len();
            change.insert_before(other, form, &operands[..hidden], guard);
            managers.touch(to);
        }
        2 => {
            change.delete(one);
            managers.touch(from);
        }
        3 if one != other => {
            change.move_before(one, other);
            managers.touch(from);
            managers.touch(to);
        }
        choice => {
            let position = random.below(operands.len().max(1));
            let Some(vreg) = operands.get(position).and_then(|operand| operand.vreg()) else { return false };
            // Vectors are written by their elements, and no instruction has one result twice.
            if change.function().vregs[vreg.index()].ty.lanes > 1 {
                return false;
            }
            let alike = like(&change.function(), vreg, random);
            let new = if choice == 4 { change.new_vreg_like(vreg) } else { alike };
            if operands[position].is_definition() && definitions(&operands).any(|written| written == new) {
                return false;
            }
            change.rename_each(std::iter::once((one, position, new)));
            managers.touch(from);
        }
    }
    true
}

/// Some register of the class and type of `vreg`.
fn like(function: &FunctionView<'_>, vreg: VRegId, random: &mut Random) -> VRegId {
    let (rows, row) = (function.vregs, function.vregs[vreg.index()]);
    let alike: Vec<VRegId> = function
        .vreg_ids()
        .filter(|other| (rows[other.index()].ty, rows[other.index()].flags) == (row.ty, row.flags))
        .collect();
    alike[random.below(alike.len())]
}

type Live = BTreeSet<VRegId>;

/// The counts from the definition.
struct Naive<'a> {
    function: &'a FunctionView<'a>,
    forms: &'a FormTable,
    is_reachable: Vec<bool>,
    live_in: Vec<Live>,
    /// Whether what a phi reads lives before it, too: so it is counted, while the live sets have it at the ends of predecessors.
    reads_at_phis: bool,
}

fn uses<'a>(operands: &'a [Operand]) -> impl Iterator<Item = VRegId> + 'a {
    operands.iter().filter(|operand| operand.is_use()).filter_map(|operand| operand.vreg())
}

fn definitions<'a>(operands: &'a [Operand]) -> impl Iterator<Item = VRegId> + 'a {
    operands.iter().filter(|operand| operand.is_definition()).filter_map(|operand| operand.vreg())
}

impl Naive<'_> {
    fn solve<'a>(function: &'a FunctionView<'a>, forms: &'a FormTable) -> Naive<'a> {
        let count = function.blocks.len();
        let mut naive = Naive {
            function,
            forms,
            is_reachable: vec![false; count],
            live_in: vec![Live::new(); count],
            reads_at_phis: false,
        };
        let mut waiting = vec![BlockId(0)];
        while let Some(block) = waiting.pop() {
            if !std::mem::replace(&mut naive.is_reachable[block.index()], true) {
                waiting.extend(function.succs(block));
            }
        }
        loop {
            let mut has_changed = false;
            for block in function.block_ids().filter(|block| naive.is_reachable[block.index()]) {
                let mut live = naive.at_end(block);
                function.insts_of(block).rev().for_each(|inst| naive.go_before(inst, &mut live));
                has_changed |= naive.live_in[block.index()] != live;
                naive.live_in[block.index()] = live;
            }
            if !has_changed {
                naive.reads_at_phis = true;
                return naive;
            }
        }
    }

    fn outside(&self, which: VRegFlags) -> impl Iterator<Item = VRegId> + '_ {
        let vregs = self.function.vregs;
        self.function.vreg_ids().filter(move |vreg| vregs[vreg.index()].flags.intersects(which))
    }

    fn at_end(&self, block: BlockId) -> Live {
        let succs = self.function.succs(block);
        let mut live: Live = Live::new();
        if self.is_reachable[block.index()] {
            live.extend(succs.iter().flat_map(|succ| &self.live_in[succ.index()]));
            for (_, operands) in succs.iter().flat_map(|&succ| phis_of(self.function, succ)) {
                let from_here = incoming(operands).filter(|(pred, _)| *pred == block);
                live.extend(from_here.filter_map(|(_, value)| value.vreg()));
            }
        }
        if succs.is_empty() {
            live.extend(self.outside(VRegFlags::OUTPUT | VRegFlags::MODULE));
        }
        live
    }

    fn go_before(&self, inst: InstId, live: &mut Live) {
        let (head, operands) = (&self.function.heads[inst.index()], self.function.operands_of(inst));
        for operand in operands.iter().filter(|operand| operand.is_definition() && !operand.is_use()) {
            if let Some(vreg) =
                operand.vreg().filter(|_| operand.selector().is_none() && !head.opcode.is_guarded())
            {
                live.remove(&vreg);
            }
        }
        if !head.is_phi() || self.reads_at_phis {
            live.extend(uses(operands));
        }
        let effects = self.forms.get(head.form).effects;
        if effects.contains(Effects::RETURN) {
            live.extend(self.outside(VRegFlags::OUTPUT | VRegFlags::MODULE));
        } else if effects.intersects(Effects::EXIT | Effects::CALL | Effects::UNKNOWN) {
            live.extend(self.outside(VRegFlags::MODULE));
        }
    }

    fn count(&self, live: &Live) -> Counts {
        let mut counts = Counts::default();
        for vreg in live.iter().map(|vreg| &self.function.vregs[vreg.index()]) {
            if !vreg.flags.contains(VRegFlags::CARRY) {
                let class = CLASSES.iter().position(|&class| class == vreg.class()).expect("all are listed");
                let bits = vreg.ty.element().bits() * u32::from(vreg.ty.lanes);
                counts[class].registers += 1;
                counts[class].slots += bits.div_ceil(32).max(1);
            }
        }
        counts
    }
}

fn compare(function: &FunctionView<'_>, forms: &FormTable, kept: &Pressure, when: &str) {
    let naive = Naive::solve(function, forms);
    let mut lengths = vec![0; function.vregs.len()];
    let mut weights = vec![0_u64; function.vregs.len()];
    let mut peaks = Counts::default();
    let key = |count: Count| (count.slots, count.registers);
    for block in function.block_ids() {
        let mut live = naive.at_end(block);
        for inst in function.insts_of(block).rev() {
            let operands = function.operands_of(inst);
            let read_after = live.clone();
            let mut after = live.clone();
            after.extend(definitions(operands));
            naive.go_before(inst, &mut live);
            for vreg in &after {
                lengths[vreg.index()] += 1;
            }
            for vreg in operands.iter().filter_map(|operand| operand.vreg()) {
                weights[vreg.index()] += 10_u64.pow(function.orders[block.index()].depth.min(6));
            }
            let (wanted_before, wanted_after) = (naive.count(&live), naive.count(&after));
            assert_eq!(kept.before(function, inst), wanted_before, "{when}: before {inst:?} of {block:?}");
            assert_eq!(kept.after(function, inst), wanted_after, "{when}: after {inst:?} of {block:?}");
            for counts in [wanted_before, wanted_after] {
                for (peak, count) in peaks.iter_mut().zip(counts) {
                    *peak = std::cmp::max_by_key(*peak, count, |&count| key(count));
                }
            }
            compare_last_uses(function, kept, inst, &read_after);
        }
    }
    assert_eq!(kept.peaks(function).map(|peak| peak.count), peaks, "{when}: peaks");
    for vreg in function.vreg_ids() {
        assert_eq!(kept.length(vreg), lengths[vreg.index()], "{when}: length of {vreg:?}");
        assert_eq!(kept.weight(vreg), weights[vreg.index()], "{when}: weight of {vreg:?}");
    }
}

/// The last uses of an instruction are the first uses of those registers whose value nothing reads after it.
fn compare_last_uses(function: &FunctionView<'_>, kept: &Pressure, inst: InstId, after: &Live) {
    let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
    let replaces = |operand: &&Operand| {
        let is_whole = operand.is_definition() && !operand.is_use() && operand.selector().is_none();
        is_whole && !head.opcode.is_guarded()
    };
    let replaced: Live = operands.iter().filter(replaces).filter_map(|operand| operand.vreg()).collect();
    let mut seen = Live::new();
    for (position, operand) in operands.iter().enumerate() {
        let is_first = operand.is_use() && operand.vreg().is_some_and(|vreg| seen.insert(vreg));
        let is_over = |vreg: VRegId| !after.contains(&vreg) || replaced.contains(&vreg);
        let wanted = is_first && operand.vreg().is_some_and(is_over);
        assert_eq!(kept.is_last_use(inst, position), wanted, "last use of {inst:?} at {position}");
    }
}

/// A plan that runs `phase` after the phases `before`.
fn plan(before: &[u16], phase: &'static Phase) -> Plan {
    let standard = standard::plan(&Options { level: OptLevel::O2, ..Options::default() }, false);
    let own = Step::new(200, phase);
    let steps = standard.steps.iter().copied().filter(|step| before.contains(&step.number)).chain([own]);
    let limits = Limits { growth_percent: 10_000, ..standard.limits };
    Plan { steps: steps.collect(), limits, ..standard }
}

/// Runs `plan` on a module, whose last phase compares.
fn check(text: &str, plan: &Plan) -> Result<(), String> {
    let output = optimize_with_plan(text.as_bytes(), plan).map_err(|error| error.to_string())?;
    let left = output.report.left.iter().map(|left| &left.reason);
    let undone = output.report.undone.iter().map(|undone| &undone.reason);
    // What the whole function grew by is looked at after the phase has run.
    left.chain(undone).find(|reason| *reason != "grew").map_or(Ok(()), |reason| Err(reason.clone()))
}

#[test]
fn pressure_follows_edits() {
    let asked = std::env::var("PTXOPT_PRESSURE_FUNCTIONS").ok().and_then(|count| count.parse().ok());
    let count: usize = asked.unwrap_or(FUNCTION_COUNT);
    let seeds: Vec<u64> = (0..count as u64 / 2).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let small = random_code::module(seed, 1, if seed % 20 == 0 { 240 } else { 16 });
        let (edits, ssa) = (plan(&[6], &EDIT_AND_COMPARE), plan(&[6, 23], &COMPARE_SSA));
        let other = generated(seed);
        let texts = [&small, other.text()];
        let result = texts.iter().try_for_each(|text| check(text, &edits).and_then(|()| check(text, &ssa)));
        result.map_err(|said| format!("seed {seed}: {said}"))
    });
    expect_none("modules fail", &failures.into_iter().filter_map(Result::err).collect::<Vec<_>>());
    let [checked, edited, phis, most] =
        [&CHECKED, &EDITED, &PHIS, &MOST_BLOCKS].map(|count| count.load(Ordering::Relaxed));
    let [walked, blocks] = [&WALKED, &BLOCKS].map(|count| count.load(Ordering::Relaxed));
    say(&format!(
        "pressure: {checked} functions, {edited} edits; {walked} of {blocks} blocks walked in the updates; {phis} phis; functions of up to {most} blocks"
    ));
    assert!(checked >= count / 2 && edited > checked && phis > checked);
    assert!(most > 2 * 64, "sets of groups of 64 blocks");
}
