//! Nested branches: a condition that an earlier branch has decided is not asked again.
//!
//! Source phase  38 OptimizeNestedCondBranches (the sources name it without a document)
//! Reads         Blocks, Insts, Fact::ControlFlow
//! Writes        branches, guards, blocks, pairs of phis
//! Needs         control flow ends its block; control-flow facts; instruction ids in program order
//! Leaves        no guard that the branches on all ways to it decide; no jump to a block that only asks what the jump's own
//!               block has decided, but for those under "What is left alone"; no unreachable block
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions; leaves predicates without a reader behind for
//!               dead-code elimination
//! Cost          a pass that lists definitions, where they are not known, a walk over guarded instructions, for each block
//!               that only asks something a walk over [`Settings::region_max`] blocks, two where a way from it goes around its loop;
//!               each branch passes [`Settings::hops_max`] blocks at most, which is counted where it does; the phis of a block to which
//!               branches are led are written anew once
//! Paper         the edges that dominate a block: Click 1995, "Combining Analyses, Combining Optimizations"; threading: Mueller
//!               and Whalley 1992, "Avoiding Unconditional Jumps by Code Replication", without the replication
//! Checked by    check/edges.rs, check/control_flow.rs, check/ssa.rs
//!
//! # Decided by dominance
//! ```text
//! @p bra A; ...                  // A: nothing else leads there
//! A: @!p bra B; @p st [a], x;    // never taken; always stored
//! ```
//! The same holds for another predicate of the same comparison or of its contrary, and for comparisons that follow from it
//! ([`super::conditions`]): `and` that holds says that both of its sources hold.
//!
//! # Threading
//! ```text
//!     @p bra A; ...; mov.pred q, 0; bra J;       ...; mov.pred q, 0; bra T;
//! A:  ...; mov.pred q, 1; bra J;             A:  ...; mov.pred q, 1; bra F;
//! J:  @q bra F;                              // goes, if nothing else leads there
//! T:  ...                                    T:  ...
//! ```
//! A branch is led past a block that does nothing but ask, where the answer is known at the branch: by a constant, by a phi
//! in SSA form, or by a branch before. What the block computes beside must be read in the block alone. Where all but one
//! way were led past and that one falls into the block with a known answer, the block's own branch is decided.
//!
//! # Where threads meet
//! Threads that met at J meet later now: at the first block that all ways from J lead to. Nothing between may need them
//! together, so a branch is not led past J where a convergent instruction or a call lies between. Where a way goes around the
//! loop of J and another leaves it, all of the loop lies between. J is no header and branches to none, so that loops keep their
//! entries and latches.
//!
//! # What is left alone
//! - Blocks that would have to be copied: what they do is stored or read elsewhere.
//! - Predecessors that fall through: the jump would be an instruction more.
//! - Functions with irreducible loops, blocks with pragmas, entries of branch tables.
//! - A phi that would take two values from one predecessor.

use super::conditions::{self, Conditions, Learns, Memory};
use super::depends_on_convergence;
use super::guards;
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::build::leaves_function;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::PairFinder;
use ptxopt_engine::values::reaching::{Place, Reaching, ReachingValues, Value};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Phase 38.
pub const PHASE: Phase = Phase {
    name: "nested_branches",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    breaks: Fact::OF_EDGES,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How far the phase goes.
#[derive(Resource, Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Blocks that one branch is led past.
    pub hops_max: u32,
    /// Instructions of a block that branches are led past.
    pub insts_max: usize,
    /// Blocks between one that branches are led past and the one where its ways meet again.
    pub region_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { hops_max: 64, insts_max: 8, region_max: 64 }
    }
}

/// Works on every function.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        // Without fuel there is nothing more to do; what was done stands.
        let reaching = values.of(&mut f);
        let _ = optimize(&mut f, &settings, reaching, &mut scratch);
        let _ = guards::delete_unreachable(&mut f);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    memory: Memory,
    crossings: Crossings,
}

fn optimize(
    f: &mut FunctionEditor<'_>,
    settings: &Settings,
    reaching: &mut Reaching,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { memory, crossings } = scratch;
    let mut conditions = Conditions::start(memory, reaching, &f.view(), Learns::Everything);
    let (function, forms) = f.view_and_forms();
    crossings.load(&function, forms, settings);
    let is_whole = settle_and_lead(f, &mut conditions, crossings, settings);
    crossings.give_pairs(f);
    is_whole?;
    f.stats().limits_hit += u64::from(conditions.has_missed_an_index());
    for at in 0..crossings.all.len() {
        let Crossing { ask, preds_left, falls: Some(truth), .. } = crossings.all[at] else { continue };
        if preds_left == 1 && guards::may_settle(f, ask) {
            guards::settle(f, ask, truth, "the only way that is left decides it")?;
        }
    }
    Some(())
}

/// Settles the guards of all blocks, and leads their branches past crossings.
fn settle_and_lead(
    f: &mut FunctionEditor<'_>,
    conditions: &mut Conditions<'_>,
    crossings: &mut Crossings,
    settings: &Settings,
) -> Option<()> {
    for at in 0..conditions.preorder().len() {
        let block = conditions.preorder()[at];
        conditions.enter(f, block);
        guards::settle_block(f, conditions, block)?;
        if crossings.is_open {
            Threader { f, conditions, crossings, settings }.lead_past(block)?;
        }
    }
    Some(())
}

/// A block that does nothing but ask a question.
#[derive(Clone, Copy)]
struct Crossing {
    /// The guarded branch at its end.
    ask: InstId,
    /// Where that leads.
    taken: BlockId,
    /// The next block in the text.
    next: BlockId,
    /// Edges that lead to the block.
    preds_left: u32,
    /// The answer for those that fall into it, where it is known.
    falls: Option<bool>,
    /// Whether threads that meet there come together again before anything needs them together; none before it is asked.
    is_passed: Option<bool>,
}

/// The crossings of a function.
#[derive(Default)]
struct Crossings {
    all: Vec<Crossing>,
    /// By block: its number in `all`; none for others.
    of_block: Vec<Option<u32>>,
    /// Whether there are any that may be passed.
    is_open: bool,
    /// By block: something in it needs threads together.
    is_convergent: Vec<bool>,
    /// By register: how often it is read.
    read_count: Vec<u32>,
    /// Destinations and the blocks that are led there since, whose pairs phis do not have yet.
    led: Vec<(Destination, BlockId)>,
    pairs: PairFinder,
}

impl Crossings {
    /// Gives phis the pairs of what is led to their blocks, all of one block together: each phi is written anew for them.
    fn give_pairs(&mut self, f: &mut FunctionEditor<'_>) {
        self.led.sort_by_key(|(destination, _)| destination.block);
        for led in self.led.chunk_by(|(one, _), (other, _)| one.block == other.block) {
            let pairs: Vec<_> = led.iter().map(|&(destination, block)| (block, destination.like)).collect();
            f.required_change().take_alike(led[0].0.block, &pairs);
        }
        self.led.clear();
    }

    fn load(&mut self, function: &FunctionView<'_>, forms: &FormTable, settings: &Settings) {
        let Self { all, of_block, is_open, is_convergent, read_count, .. } = self;
        all.clear();
        of_block.clear();
        *is_open = false;
        if function.blocks.iter().any(|head| head.flags.contains(BlockFlags::IRREDUCIBLE)) {
            return;
        }
        all.extend(function.block_ids().filter_map(|block| crossing_at(function, settings, block)));
        if all.is_empty() {
            return;
        }
        // The row after those of the registers counts what reads none.
        let nothing = function.vregs.len();
        read_count.clear();
        read_count.resize(nothing + 1, 0);
        is_convergent.clear();
        is_convergent.resize(function.blocks.len(), false);
        for (_, head, operands) in function.padded_rows() {
            operands.iter().for_each(|operand| read_count[operand.read_or(nothing)] += 1);
            is_convergent[head.block.index()] |= depends_on_convergence(head, forms);
        }
        let own = |crossing: &Crossing| function.heads[crossing.ask.index()].block;
        all.retain(|crossing| computes_for_itself(function, forms, read_count, own(crossing)));
        of_block.resize(function.blocks.len(), None);
        for (number, crossing) in all.iter().enumerate() {
            of_block[own(crossing).index()] = Some(number as u32);
        }
        for anchor in function.anchors.iter().filter(|anchor| anchor.pins_block()) {
            of_block[anchor.block.index()] = None;
        }
        *is_open = !all.is_empty();
    }

    fn number(&self, block: BlockId) -> Option<usize> {
        self.of_block[block.index()].map(|number| number as usize)
    }

    /// Whether nothing needs threads together between `block` and the first block that all ways from it lead to.
    ///
    /// Blocks are visited by rank, so when only one is open, every way so far has come to it.
    ///
    /// None where there are too many blocks between.
    fn meet_again(&self, function: &FunctionView<'_>, block: BlockId, region_max: usize) -> Option<bool> {
        let rank = |block: BlockId| function.orders[block.index()].rpo;
        let mut open = BinaryHeap::new();
        let mut seen = Vec::new();
        let mut add = |open: &mut BinaryHeap<_>, from: BlockId| {
            for &succ in function.succs(from) {
                if !seen.contains(&succ) {
                    seen.push(succ);
                    open.push(Reverse((rank(succ), succ)));
                }
            }
        };
        add(&mut open, block);
        let header_rank = function.orders[block.index()].loop_header.get().map_or(u32::MAX, rank);
        let (mut ends, mut goes_around) = (false, false);
        for _ in 0..region_max {
            let Some(Reverse((at_rank, at))) = open.pop() else { return Some(true) };
            let turns_back = at_rank <= rank(block);
            if open.is_empty() && !ends {
                return Some(!turns_back);
            }
            // Where all ways are latches of one loop, it is not sure whether threads wait for one another at its header.
            if turns_back && !goes_around {
                goes_around = leaves_loop(function, block, at, region_max)?;
            }
            if turns_back && !(goes_around && at_rank >= header_rank) {
                return Some(false);
            }
            if self.is_convergent[at.index()] {
                return Some(false);
            }
            if open.len() + function.succs(at).len() > region_max {
                return None;
            }
            ends |= leaves_function(function, at);
            add(&mut open, at);
        }
        None
    }
}

/// Whether a way from `block` leaves the loop of `header`, the innermost around it, before it goes around.
///
/// None where too many blocks are between.
fn leaves_loop(
    function: &FunctionView<'_>,
    block: BlockId,
    header: BlockId,
    region_max: usize,
) -> Option<bool> {
    let is_inside = |at: BlockId| {
        let around = |&inner: &BlockId| function.orders[inner.index()].loop_around.get();
        let innermost = function.orders[at.index()].loop_header.get();
        let mut loops = std::iter::successors(innermost, around);
        // What so many loops are around is taken for inside: then it is not sure that a way leaves.
        loops.by_ref().take(region_max).any(|around| around == header) || loops.next().is_some()
    };
    if function.orders[block.index()].loop_header.get() != Some(header) {
        return Some(false);
    }
    let mut seen = vec![block];
    let mut next = 0;
    while let Some(&from) = seen.get(next) {
        next += 1;
        for &to in function.succs(from).iter().filter(|&&to| to != header) {
            if !is_inside(to) {
                return Some(true);
            }
            if !seen.contains(&to) {
                seen.push(to);
            }
            if seen.len() > region_max {
                return None;
            }
        }
    }
    Some(false)
}

/// What a block asks, if that is all that it does.
fn crossing_at(function: &FunctionView<'_>, settings: &Settings, block: BlockId) -> Option<Crossing> {
    let head = &function.blocks[block.index()];
    let order = &function.orders[block.index()];
    let preds_left = function.preds(block).len() as u32;
    let is_long = function.insts_of(block).nth(settings.insts_max + 1).is_some();
    let is_header = head.flags.intersects(BlockFlags::LOOP_HEADER);
    let is_left_alone = preds_left < 2 || is_header || !order.is_reachable() || is_long;
    let ask = function.insts_of(block).next_back().filter(|_| !is_left_alone)?;
    // The second operand of a branch is its guard.
    let &[target, _] = function.operands_of(ask) else { return None };
    let taken = target.as_block()?;
    let &next = function.succs(block).last()?;
    let is_turning = |to: BlockId| {
        let is_header = function.blocks[to.index()].flags.contains(BlockFlags::LOOP_HEADER);
        is_header || order.turns_back_to(&function.orders[to.index()])
    };
    let is_crossing = !(is_turning(taken) && is_turning(next));
    is_crossing.then_some(Crossing { ask, taken, next, preds_left, falls: None, is_passed: None })
}

/// Whether nothing that a block computes before its last instruction is read elsewhere, or from before.
fn computes_for_itself(
    function: &FunctionView<'_>,
    forms: &FormTable,
    read_count: &[u32],
    block: BlockId,
) -> bool {
    let mut written: Vec<(VRegId, u32)> = Vec::new();
    let mut is_read_before = Vec::new();
    for (_, head, operands) in function.rows_of(block) {
        for vreg in reads(operands) {
            match written.iter_mut().find(|(other, _)| *other == vreg) {
                Some((_, reads)) => *reads += 1,
                None => is_read_before.push(vreg),
            }
        }
        let form = forms.get(head.form);
        let is_last = head.marks.contains(Marks::CONTROL);
        let is_plain = (form.is_pure() || form.is_phi()) && !head.opcode.is_guarded();
        if !(is_plain || is_last) {
            return false;
        }
        for vreg in writes(operands) {
            let flags = function.vregs[vreg.index()].flags;
            let is_own = !flags.intersects(VRegFlags::READ_ELSEWHERE);
            if !is_own || is_read_before.contains(&vreg) || written.iter().any(|&(other, _)| other == vreg) {
                return false;
            }
            written.push((vreg, 0));
        }
    }
    written.iter().all(|&(vreg, reads)| read_count[vreg.index()] == reads)
}

/// Leads branches past crossings.
struct Threader<'t, 'a, 'c> {
    f: &'t mut FunctionEditor<'a>,
    conditions: &'t mut Conditions<'c>,
    crossings: &'t mut Crossings,
    settings: &'t Settings,
}

impl Threader<'_, '_, '_> {
    /// Leads the direct branch at the end of `block` past crossings whose answers are known there, and notes the answer for
    /// what falls into one; nothing where the bisect limit is reached. The conditions have entered the block.
    fn lead_past(&mut self, block: BlockId) -> Option<()> {
        let function = self.f.view();
        let last = function.insts_of(block).next_back();
        let head = last.map(|last| self.f.head(last)).filter(|head| head.marks.contains(Marks::CONTROL));
        let target = last.and_then(|last| self.f.operands_of(last).first()?.as_block());
        if head.is_none_or(|head| head.opcode.is_guarded())
            && let Some(next) = self.f.next_in_text(block)
            && Some(next) != target
            && let Some(number) = self.crossings.number(next)
        {
            self.crossings.all[number].falls = self.answer([block, next], block, number);
        }
        let (Some(last), Some(target)) = (last.filter(|_| head.is_some()), target) else { return Some(()) };
        let Some(destination) = self.destination(block, target) else { return Some(()) };
        let to = destination.block;
        self.f.change_in_place(last, "branch to a block that asks what is known")?.redirect(last, to);
        self.crossings.led.push((destination, block));
        let passed = self.crossings.number(target).expect("it was passed");
        self.crossings.all[passed].preds_left -= 1;
        if let Some(number) = self.crossings.number(to) {
            self.crossings.all[number].preds_left += 1;
        }
        Some(())
    }

    /// Where control comes to in the end that goes from `block` to `target`, past crossings.
    fn destination(&mut self, block: BlockId, target: BlockId) -> Option<Destination> {
        let mut destination = None;
        let (mut before, mut at, mut hops) = (block, target, 0);
        while hops < self.settings.hops_max {
            let Some(number) = self.crossings.number(at) else { break };
            let Some(answer) = self.answer([block, target], before, number) else { break };
            let Crossing { taken, next, .. } = self.crossings.all[number];
            let to = if answer { taken } else { next };
            if !self.may_lead(block, at, to, number) {
                break;
            }
            destination = Some(Destination { block: to, like: at });
            (before, at) = (at, to);
            hops += 1;
        }
        self.f.stats().limits_hit += u64::from(hops == self.settings.hops_max);
        destination
    }

    /// Whether control that goes from `block` to a crossing and from there to `to` may go to `to` at once.
    fn may_lead(&mut self, block: BlockId, crossing: BlockId, to: BlockId, number: usize) -> bool {
        let function = self.f.view();
        let is_header = function.blocks[to.index()].flags.contains(BlockFlags::LOOP_HEADER);
        let order = &function.orders[crossing.index()];
        if is_header || order.turns_back_to(&function.orders[to.index()]) {
            return false;
        }
        let is_passed = match self.crossings.all[number].is_passed {
            Some(known) => known,
            None => {
                let found = self.crossings.meet_again(&function, crossing, self.settings.region_max);
                self.f.stats().limits_hit += u64::from(found.is_none());
                found.unwrap_or(false)
            }
        };
        self.crossings.all[number].is_passed = Some(is_passed);
        let is_pred = || self.f.succs(block).contains(&to);
        is_passed && (!is_pred() || self.f.takes_alike(to, block, crossing))
    }

    /// The answer of a crossing for control that comes over `edge`, and to the crossing from `before`.
    fn answer(&mut self, edge: [BlockId; 2], before: BlockId, number: usize) -> Option<bool> {
        let Self { f, conditions, crossings, .. } = self;
        let ask = crossings.all[number].ask;
        // It may have been decided since, for everyone who comes there.
        let guard = f.guard_of(ask).filter(|_| f.head(ask).is_live())?;
        let pairs = &mut crossings.pairs;
        conditions.along(f, edge, |conditions| answer_at(f, conditions, pairs, [edge[0], before], ask, guard))
    }
}

/// Where a branch is led.
#[derive(Clone, Copy)]
struct Destination {
    block: BlockId,
    /// The last block that it passes: phis take from the branch what they take from there.
    like: BlockId,
}

/// Whether the guard of `ask` holds for control that leaves `block` and comes to the block of `ask` from `before`. Blocks that
/// are passed in between compute nothing that is read here.
fn answer_at(
    f: &FunctionEditor<'_>,
    conditions: &mut Conditions<'_>,
    pairs: &mut PairFinder,
    [block, before]: [BlockId; 2],
    ask: InstId,
    guard: Operand,
) -> Option<bool> {
    let end = conditions.end_of(block);
    let own = f.head(ask).block;
    let OperandKind::Predicate { vreg, negated } = guard.kind() else { return None };
    let Some(definition) = defined_in(f, conditions, own, vreg, ask) else {
        return conditions.holds(f, guard, end);
    };
    let truth = if f.head(definition).is_phi() {
        conditions.holds(f, pairs.value(f.operands_of(definition), before)?, end)?
    } else {
        let (test, sources, is_negated) = conditions::test_of(f, definition, vreg)?;
        let mut moved = sources;
        for source in &mut moved {
            let Some(vreg) = source.vreg() else { continue };
            if let Some(inner) = defined_in(f, conditions, own, vreg, definition) {
                let is_phi = f.head(inner).is_phi() && *source == Operand::register(vreg);
                *source = is_phi.then(|| pairs.value(f.operands_of(inner), before))??;
            }
        }
        conditions.succeeds(f, test, moved, end)? != is_negated
    };
    Some(truth != negated)
}

/// The instruction of `block` that gives `vreg` the value that it has before an instruction of the block.
fn defined_in(
    f: &FunctionEditor<'_>,
    conditions: &mut Conditions<'_>,
    block: BlockId,
    vreg: VRegId,
    before: InstId,
) -> Option<InstId> {
    match conditions.value(f, vreg, Place { block, before }) {
        Value::Of(inst) if f.head(inst).block == block => Some(inst),
        _ => None,
    }
}
