//! Build SSA form: each register that is a value gets one definition.
//!
//! Source phase  23 GenerateMovPhi (copy-prop-and-cse, "MOV.PHI")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow, Fact::Liveness
//! Writes        registers, phis, `CodeFlags::SSA`, `VRegFlags::VARIABLE`
//! Needs         control flow ends its block; live sets
//! Leaves        pruned SSA form: no phi whose value is not read; registers that are no values ([`NO_VALUE`]) as they were
//! Breaks        liveness, uniformity, program order
//! Cost          a pass that lists definitions; where registers have several, their iterated frontiers and a walk over all
//!               operands. Functions whose registers have one definition each are not changed.
//! Paper         Cytron et al. 1991, sections 4 and 5; pruning by live sets: Choi, Cytron and Ferrante 1991
//! Checked by    check/ssa.rs; the reaching definitions of each use, before and after, in ssa/tests.rs
//!
//! # How it works
//! A register with one whole definition that nobody may read before it is in SSA form already. The *candidates* are the
//! others. Each gets phis at its iterated dominance frontier, where it is live; a walk over the dominator tree gives each
//! definition a register of its own. The first definition keeps the register, so that code comes out with its own names.
//!
//! ```text
//!     mov.b32 r1, 0;                       mov.b32 r1, 0;
//! L:                                   L:  phi.b32 r8, {A, r1}, {L, r9};
//!     add.s32 r1, r1, 1;          ->       add.s32 r9, r8, 1;
//!     setp.lt.s32 p, r1, 9;                setp.lt.s32 p, r9, 9;
//!     @p bra L;                            @p bra L;
//! ```
//!
//! # What stays a variable
//! - Registers with a definition in an unreachable block, or with a guarded or partial one; vector registers, and registers
//!   of a type that no `mov` copies. Where a guarded write is skipped, the old value stands in the same register:
//!   ```text
//!   @p mov.b32 r1, 7;    // a new register would hold nothing where p is false
//!   ```
//! - Two results of one instruction that are the same register.
//! - Candidates whose phis would take more than [`PHI_SHARE`] of the function's room, or more pairs than the function has
//!   operands, some for every one ([`PAIRS_LEAST`]): a loop around a switch of 2,000 cases carries each of its registers
//!   through a phi of 2,000 pairs.
//! - Candidates that meet in a block with more than [`PREDS_MAX`] predecessors.
//!
//! A register that may be read before it is written keeps its own number for what it holds then: a register without
//! definition.

use super::moves::moved_as;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, definitions};
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::{VRegFlags, VRegHead};
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets};
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::IteratedFrontier;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::{Definition, Definitions};
use ptxopt_engine::values::phis::NO_VALUE;

/// Phase 23.
pub const PHASE: Phase = Phase {
    name: "build_ssa",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Liveness],
    breaks: &[Fact::Liveness, Fact::Uniformity, Fact::ProgramOrder],
    room_percent: 50,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// The part of the function's room that phis and new registers may take, as a divisor.
pub const PHI_SHARE: u32 = 2;

/// Pairs that the phis of every function may have.
pub const PAIRS_LEAST: usize = 1 << 12;

/// The most predecessors of a block with phis.
pub const PREDS_MAX: usize = 1 << 12;

/// Works on every function.
pub fn run(mut editor: Editor, sets: Res<LiveSets>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST, |mut f| {
        let live = &sets.functions[f.code().index()];
        build(&mut f, live, &mut scratch);
    });
}

/// Brings a function into SSA form.
pub fn build(f: &mut FunctionEditor<'_>, live: &LiveSet, scratch: &mut Scratch) {
    let left_out = scratch.plan(&f.view(), live, f.room());
    f.stats().limits_hit += left_out;
    f.set_flags(CodeFlags::SSA, true);
    for &(vreg, is_variable) in &scratch.variables {
        f.set_variable(vreg, is_variable);
    }
    if !scratch.candidates.is_empty() {
        scratch.apply(&mut f.required_change());
    }
}

/// A register that gets several names.
#[derive(Clone, Copy)]
struct Candidate {
    vreg: VRegId,
    /// What it holds at the place where the walk is.
    current: VRegId,
    /// The next definition still has to find the register itself in use.
    is_taken: bool,
}

/// A phi to be.
#[derive(Clone, Copy)]
struct Planned {
    block: BlockId,
    candidate: u32,
    to: VRegId,
    /// Where its pairs start, and how many of them are there.
    pairs: usize,
    filled: usize,
}

const NO_CANDIDATE: u32 = u32::MAX;

/// What the phase is about to do to a function, and the memory to find it out.
#[derive(Default)]
pub struct Scratch {
    definitions: Definitions,
    tree: DominatorTree,
    frontier: IteratedFrontier,
    /// By register.
    candidate_of: Vec<u32>,
    candidates: Vec<Candidate>,
    /// Registers that are variables from now on, or not any more.
    variables: Vec<(VRegId, bool)>,
    /// By block and candidate.
    phis: Vec<Planned>,
    /// By block: where its phis start.
    phis_of: Vec<u32>,
    pairs: Vec<(BlockId, Operand)>,
    /// By block: distinct reachable predecessors; none before it is asked for.
    pred_counts: Vec<u32>,
    /// By block: the last block that was seen to lead there, counted from 1.
    seen: Vec<u32>,
    /// The types of new registers, by their number.
    new_types: Vec<PtxType>,
    /// Operands that name another register now.
    renamed: Vec<(InstId, usize, VRegId)>,
    /// What candidates held outside of the part of the tree that the walk is in, and where such parts end.
    outside: Vec<(u32, VRegId)>,
    parts: Vec<(u32, usize)>,
}

impl Scratch {
    /// Finds out what is to be done; says how many candidates stay variables because of a limit.
    fn plan(&mut self, function: &FunctionView<'_>, live: &LiveSet, room: Room) -> u64 {
        self.candidates.clear();
        self.variables.clear();
        self.phis.clear();
        self.definitions.collect(function, VRegFlags::empty());
        self.find_candidates(function, live);
        if self.candidates.is_empty() {
            return 0;
        }
        self.tree.compute(function);
        let left_out = self.place_phis(function, live, room);
        if !self.candidates.is_empty() {
            self.sort_phis(function);
            self.rename(function);
        }
        left_out
    }

    /// Lists the registers that are not in SSA form and can be brought into it.
    fn find_candidates(&mut self, function: &FunctionView<'_>, live: &LiveSet) {
        let entry = BlockId(0);
        let Self { definitions: all, candidates, candidate_of, variables, .. } = self;
        candidate_of.clear();
        candidate_of.resize(function.vregs.len(), NO_CANDIDATE);
        for (at, row) in function.vregs.iter().enumerate() {
            let vreg = VRegId::new(at);
            let defined = all.of(vreg);
            let was_variable = row.flags.contains(VRegFlags::VARIABLE);
            if defined.is_empty() || row.flags.intersects(NO_VALUE.difference(VRegFlags::VARIABLE)) {
                continue;
            }
            let is_reachable = |definition: &Definition| {
                let block = function.heads[definition.inst().index()].block;
                function.orders[block.index()].is_reachable()
            };
            let is_whole = defined.iter().all(|definition| definition.kills() && is_reachable(definition));
            let is_read_first = live.is_live_in(entry, vreg);
            let is_value = is_whole && defined.len() == 1 && !is_read_first;
            let is_candidate =
                !is_value && is_whole && row.ty.lanes == 1 && moved_as(row.ty.element()).is_some();
            if is_candidate {
                candidate_of[at] = candidates.len() as u32;
                candidates.push(Candidate { vreg, current: vreg, is_taken: is_read_first });
            }
            let is_variable = !is_value && !is_candidate;
            if is_variable != was_variable {
                variables.push((vreg, is_variable));
            }
        }
        for number in 0..self.definitions.with_several_results().len() {
            let inst = self.definitions.with_several_results()[number];
            let results = || definitions(function.operands_of(inst)).map(|(vreg, _)| vreg);
            for (at, vreg) in results().enumerate() {
                if results().take(at).any(|other| other == vreg) {
                    self.leave_out(vreg);
                }
            }
        }
    }

    /// Makes a register a variable that was to be a value.
    fn leave_out(&mut self, vreg: VRegId) {
        self.candidate_of[vreg.index()] = NO_CANDIDATE;
        self.variables.push((vreg, true));
    }

    /// Places the phis of all candidates, in no order; says how many candidates stay variables because of a limit.
    fn place_phis(&mut self, function: &FunctionView<'_>, live: &LiveSet, room: Room) -> u64 {
        let (most_phis, mut registers_left) = (room.insts / PHI_SHARE, room.vregs / PHI_SHARE);
        let most_pairs = PAIRS_LEAST + 4 * function.heads.len();
        let (mut pair_count, mut left_out) = (0, 0);
        self.frontier.start();
        self.pred_counts.clear();
        self.pred_counts.resize(function.blocks.len(), 0);
        self.seen.clear();
        self.seen.resize(function.blocks.len(), 0);
        for number in 0..self.candidates.len() {
            let vreg = self.candidates[number].vreg;
            if self.candidate_of[vreg.index()] == NO_CANDIDATE {
                continue;
            }
            let Self { definitions, frontier, tree, phis, pred_counts, seen, .. } = self;
            let first = phis.len();
            let defined = definitions.of(vreg);
            let blocks = defined.iter().map(|definition| function.heads[definition.inst().index()].block);
            let blocks = blocks.filter(|&block| tree.is_reachable(block));
            let (mut pairs, mut most_preds) = (0, 0);
            frontier.find(function, tree, blocks, |block| {
                let is_live = live.is_live_in(block, vreg);
                if is_live {
                    let preds = count_preds(function, tree, block, pred_counts, seen);
                    pairs += preds;
                    most_preds = preds.max(most_preds);
                    let candidate = number as u32;
                    phis.push(Planned { block, candidate, to: vreg, pairs: 0, filled: 0 });
                }
                is_live
            });
            let registers = (defined.len() + phis.len() - first) as u32;
            let is_too_much = phis.len() > most_phis as usize
                || registers > registers_left
                || pair_count + pairs > most_pairs
                || most_preds > PREDS_MAX;
            if is_too_much {
                phis.truncate(first);
                left_out += 1;
                self.leave_out(vreg);
            } else {
                registers_left -= registers;
                pair_count += pairs;
            }
        }
        let candidate_of = &self.candidate_of;
        if self.candidates.iter().all(|candidate| candidate_of[candidate.vreg.index()] == NO_CANDIDATE) {
            self.candidates.clear();
        }
        left_out
    }

    /// Puts the phis in the order of their blocks and gives each its register and the place of its pairs.
    fn sort_phis(&mut self, function: &FunctionView<'_>) {
        let Self { phis, phis_of, pairs, pred_counts, new_types, .. } = self;
        phis.sort_unstable_by_key(|phi| (phi.block, phi.candidate));
        new_types.clear();
        let mut pair_count = 0;
        for phi in &mut *phis {
            let ty = function.vregs[phi.to.index()].ty.element();
            phi.to = VRegId::new(function.vregs.len() + new_types.len());
            new_types.push(ty);
            phi.pairs = pair_count;
            pair_count += pred_counts[phi.block.index()] as usize;
        }
        pairs.clear();
        pairs.resize(pair_count, (BlockId(0), Operand::default()));
        phis_of.clear();
        let mut next = 0;
        for block in 0..=function.blocks.len() {
            while phis.get(next).is_some_and(|phi| phi.block.index() < block) {
                next += 1;
            }
            phis_of.push(next as u32);
        }
    }

    /// Walks over the dominator tree and finds the name that each operand gets.
    fn rename(&mut self, function: &FunctionView<'_>) {
        self.renamed.clear();
        self.outside.clear();
        self.parts.clear();
        self.seen.fill(0);
        for place in 0..self.tree.preorder().len() {
            let block = self.tree.preorder()[place];
            self.leave_parts_before(place as u32);
            self.parts.push((self.tree.interval(block).end, self.outside.len()));
            for phi in self.phis_in(block) {
                let Planned { candidate, to, .. } = self.phis[phi];
                self.set_current(candidate, to);
            }
            for (inst, _, operands) in function.rows_of(block) {
                self.rename_operands(function, inst, operands);
            }
            self.fill_pairs(function, block);
        }
    }

    /// Numbers of the phis of a block.
    fn phis_in(&self, block: BlockId) -> std::ops::Range<usize> {
        self.phis_of[block.index()] as usize..self.phis_of[block.index() + 1] as usize
    }

    /// Gives candidates back what they held outside of the parts of the tree that end before `place`.
    fn leave_parts_before(&mut self, place: u32) {
        while let Some((_, first)) = self.parts.pop_if(|(end, _)| *end <= place) {
            for (candidate, vreg) in self.outside.drain(first..).rev() {
                self.candidates[candidate as usize].current = vreg;
            }
        }
    }

    fn set_current(&mut self, candidate: u32, vreg: VRegId) {
        let current = &mut self.candidates[candidate as usize].current;
        self.outside.push((candidate, std::mem::replace(current, vreg)));
    }

    #[inline]
    fn rename_operands(&mut self, function: &FunctionView<'_>, inst: InstId, operands: &[Operand]) {
        let candidate_of = |vreg: VRegId, scratch: &Self| {
            Some(scratch.candidate_of[vreg.index()]).filter(|&candidate| candidate != NO_CANDIDATE)
        };
        let mut defines = false;
        for (position, operand) in operands.iter().enumerate() {
            let Some(vreg) = operand.vreg() else { continue };
            let Some(candidate) = candidate_of(vreg, self) else { continue };
            if operand.is_definition() {
                defines = true;
                continue;
            }
            let current = self.candidates[candidate as usize].current;
            if current != vreg {
                self.renamed.push((inst, position, current));
            }
        }
        for (position, operand) in operands.iter().enumerate().filter(|_| defines) {
            let Some(vreg) = operand.vreg().filter(|_| operand.is_definition()) else { continue };
            let Some(candidate) = candidate_of(vreg, self) else { continue };
            let is_taken = &mut self.candidates[candidate as usize].is_taken;
            let mut name = vreg;
            if std::mem::replace(is_taken, true) {
                name = VRegId::new(function.vregs.len() + self.new_types.len());
                self.new_types.push(function.vregs[vreg.index()].ty.element());
                self.renamed.push((inst, position, name));
            }
            self.set_current(candidate, name);
        }
    }

    /// Gives the phis of the successors of `block` what comes from there.
    fn fill_pairs(&mut self, function: &FunctionView<'_>, block: BlockId) {
        for &succ in function.succs(block) {
            if std::mem::replace(&mut self.seen[succ.index()], block.0 + 1) == block.0 + 1 {
                continue;
            }
            for number in self.phis_in(succ) {
                let phi = &mut self.phis[number];
                let current = self.candidates[phi.candidate as usize].current;
                let value =
                    register(function.vregs[self.candidates[phi.candidate as usize].vreg.index()], current);
                self.pairs[phi.pairs + phi.filled] = (block, value);
                phi.filled += 1;
            }
        }
    }

    fn apply(&self, change: &mut Change<'_, '_>) {
        for &ty in &self.new_types {
            change.new_vreg(ty);
        }
        for &(inst, position, vreg) in &self.renamed {
            let operand = change.function().operands_of(inst)[position];
            change.set_operand(inst, position, operand.with_vreg(vreg));
        }
        for phis in self.phis.chunk_by(|one, other| one.block == other.block) {
            let block = phis[0].block;
            let after = change.first_after_phis(block);
            for phi in phis {
                change.phi_before(block, after, phi.to, &self.pairs[phi.pairs..phi.pairs + phi.filled]);
            }
        }
    }
}

/// A register like `like` as an operand that is read.
fn register(like: VRegHead, vreg: VRegId) -> Operand {
    match like.ty.element() {
        PtxType::Pred => Operand::predicate(vreg, false),
        _ => Operand::register(vreg),
    }
}

/// Number of distinct reachable predecessors of `block`.
fn count_preds(
    function: &FunctionView<'_>,
    tree: &DominatorTree,
    block: BlockId,
    counts: &mut [u32],
    seen: &mut [u32],
) -> usize {
    if counts[block.index()] == 0 {
        let is_new = |pred: &BlockId| std::mem::replace(&mut seen[pred.index()], block.0 + 1) != block.0 + 1;
        let preds = function.preds(block).iter().filter(|&&pred| tree.is_reachable(pred)).copied();
        counts[block.index()] = preds.filter(is_new).count() as u32;
    }
    counts[block.index()] as usize
}
