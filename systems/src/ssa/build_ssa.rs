//! Build SSA form: each register that is a value gets one definition.
//!
//! Source phase  23 GenerateMovPhi (copy-prop-and-cse, "MOV.PHI")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        registers, phis, `CodeFlags::SSA`, `VRegFlags::VARIABLE`
//! Needs         control flow ends its block; dominators
//! Leaves        pruned SSA form: no phi whose value is not read; registers that are no values ([`VRegFlags::NO_VALUE`]) as they were
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a pass over all operands; where registers have several definitions, their iterated frontiers and another
//!               pass. Functions whose registers have one definition each are not changed.
//! Papers        Cytron et al. 1991, sections 4 and 5; Briggs et al. 1998 (registers that live in one block get no phis);
//!               pruned form: Choi, Cytron and Ferrante 1991
//! Checked by    check/ssa.rs; the reaching definitions of each use, before and after, in ssa/tests.rs
//!
//! # How it works
//! A register with one whole definition that nobody may read before it is in SSA form already. The *candidates* are the
//! others. Each gets phis at its iterated dominance frontier; a walk over the dominator tree gives each definition a register
//! of its own. The first definition keeps the register, so that code comes out with its own names. Phis that nothing but
//! such phis reads are dropped before they are made: what is left is what live sets would have told, and they cost more.
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
//! - Candidates for which there is no room: an eighth of it is left to later phases ([`ROOM_LEFT`]); and those with which the
//!   function would have more values than registers ([`VALUES_MORE`]).
//! - Candidates after those whose phis have more pairs than the function has operands, some for every one ([`PAIRS_LEAST`]):
//!   a loop around a switch of 2,000 cases carries each of its registers through a phi of 2,000 pairs.
//! - Candidates that meet in a block with more than [`PREDS_MAX`] predecessors.
//! - Candidates after those whose joins took as many steps to find as a function has ([`steps_max`]): where frontiers are not listed,
//!   each search may walk over all blocks.
//!
//! What a register holds before it is written gets a name, too, that of a register without definition.

use super::moves::{moved_as, operand_of};
use super::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::{IteratedFrontier, steps_max};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 23.
pub const PHASE: Phase = Phase {
    name: "build_ssa",
    needs: &[Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 100,
    install: |slot| {
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// The part of the function's room that is left to later phases, as a divisor.
pub const ROOM_LEFT: u32 = 8;

/// Values that a function may have in SSA form above [`OF_ROWS_PERCENT`] of its registers (less what [`ROOM_LEFT`] says), and half the phis above as
/// much of its rows. Beyond that most values of one register are live at the same time, and leaving SSA form takes a move for each: with
/// twice the percentage, a kernel of hashcat came out 3 % longer (`ptxopt batch m00010_a0-optimized.ptx -o DIR`, 18,867 lines for 19,435). In a
/// small function a few registers, each written many times, are all there is, and a variable keeps its constants from being seen.
pub const VALUES_MORE: u32 = 64;

/// Values in percent of registers, and phis in percent of rows, that a function may have.
const OF_ROWS_PERCENT: u64 = 112;

/// Pairs that the phis of every function may have.
pub const PAIRS_LEAST: usize = 1 << 12;

/// Pairs that are looked at for each pair that phis may have: those of registers that have too many and stay variables are
/// among them.
const LOOKS_PER_PAIR_MAX: usize = 4;

/// The most predecessors of a block with phis.
pub const PREDS_MAX: usize = 1 << 12;

/// Works on every function.
pub fn run(mut editor: Editor, mut origins: ResMut<Origins>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let origins = origins.of(f.code());
        build(&mut f, origins, &mut scratch);
    });
}

/// Brings a function into SSA form.
pub fn build(f: &mut FunctionEditor<'_>, origins: &mut OriginsOf, scratch: &mut Scratch) {
    let left_out = scratch.plan(&f.view(), f.room());
    f.stats().limits_hit += left_out;
    f.set_flags(CodeFlags::SSA, true);
    for &(vreg, is_variable) in &scratch.variables {
        f.set_variable(vreg, is_variable);
    }
    let first_new = f.view().vregs.len();
    origins.note(
        first_new,
        scratch.new_registers.iter().map(|&candidate| scratch.candidates[candidate as usize].vreg),
    );
    if !scratch.candidates.is_empty() {
        scratch.apply(&mut f.required_change());
    }
}

/// A register that gets several names.
#[derive(Clone, Copy)]
struct Candidate {
    vreg: VRegId,
    /// What it holds at the place where the walk is; none before the first definition.
    current: Option<VRegId>,
    /// Some definition has the register itself as its name.
    is_taken: bool,
    /// A register without definition: what it holds where nothing was written to it.
    undefined: Option<VRegId>,
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
    /// Something but a phi that nothing needs reads it.
    is_needed: bool,
}

/// A name for one value of a candidate.
#[derive(Clone, Copy)]
struct Name {
    candidate: u32,
    /// The register that it becomes; none where nothing needs it, and where the candidate stays a variable.
    number: Option<VRegId>,
}

bitflags::bitflags! {
    /// What one pass over the code finds out about a register.
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    struct Seen: u32 {
        /// It has a definition.
        const DEFINED = 1 << 0;
        /// It has several.
        const SEVERAL = 1 << 1;
        /// It can be no value: a definition is guarded or partial, stands where nothing leads, or is one of two in one
        /// instruction.
        const BROKEN = 1 << 2;
        /// Some block reads it before it defines it.
        const GLOBAL = 1 << 3;
        /// Its only definition does not dominate a read.
        const READ_FIRST = 1 << 4;
    }
}

/// What is known of a register while the pass goes on.
#[derive(Clone, Copy, Default)]
struct Row {
    /// One more than the block of its last definition so far.
    defined_in: u32,
    seen: Seen,
}

const NO_CANDIDATE: u32 = u32::MAX;

/// What the phase is about to do to a function, and the memory to find it out.
#[derive(Default)]
pub struct Scratch {
    /// By register.
    rows: Vec<Row>,
    /// The blocks that define registers with several definitions.
    several: Vec<(VRegId, BlockId)>,
    /// Reads that no definition comes before in the text, some of them more than once.
    crossing: Vec<(VRegId, BlockId)>,
    tree: DominatorTree,
    frontier: IteratedFrontier,
    /// By register; one more for operands that name none.
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
    /// Names that are no registers yet; those of phis come first. In the course of the walk they count as registers after
    /// those of the function.
    names: Vec<Name>,
    /// By candidate: registers and phis that it takes; more than there are where it stays a variable.
    costs: Vec<(u32, u32)>,
    /// The candidates of the names that become registers.
    new_registers: Vec<u32>,
    /// Operands of candidates that get another name.
    renamed: Vec<(InstId, usize, u32, VRegId)>,
    /// What candidates held outside of the part of the tree that the walk is in, and where such parts end.
    outside: Vec<(u32, Option<VRegId>)>,
    parts: Vec<(u32, usize)>,
    /// Phis that something needs, and whose values are still to be looked at.
    needed: Vec<usize>,
}

impl Scratch {
    /// Finds out what is to be done; says how many candidates stay variables because of a limit.
    fn plan(&mut self, function: &FunctionView<'_>, room: Room) -> u64 {
        self.candidates.clear();
        self.variables.clear();
        self.phis.clear();
        self.new_registers.clear();
        self.look_at_registers(function);
        self.find_candidates(function);
        if self.candidates.is_empty() {
            return 0;
        }
        self.tree.compute(function);
        let left_out = self.place_phis(function);
        if self.candidates.is_empty() {
            return left_out;
        }
        self.sort_phis(function);
        self.rename(function);
        self.prune(function);
        left_out + self.number_names(function, room)
    }

    /// The one pass over all operands.
    fn look_at_registers(&mut self, function: &FunctionView<'_>) {
        self.rows.clear();
        self.rows.resize(function.vregs.len(), Row::default());
        self.several.clear();
        self.crossing.clear();
        let orders = function.orders;
        if function.state.flags.contains(CodeFlags::OUT_OF_ORDER) {
            for block in function.block_ids() {
                for (_, head, operands) in function.rows_of(block) {
                    self.look_at(orders, head, operands);
                }
            }
        } else {
            for (_, head, operands) in function.rows() {
                self.look_at(orders, head, operands);
            }
        }
        for &(vreg, block) in &self.crossing {
            let row = &mut self.rows[vreg.index()];
            let Some(from) = row.defined_in.checked_sub(1).map(BlockId) else { continue };
            // In the block of the definition, a read that was noted comes before it.
            let is_first = from == block || !orders[from.index()].dominates(&orders[block.index()]);
            if !row.seen.contains(Seen::SEVERAL) && orders[block.index()].is_reachable() {
                row.seen.set(Seen::READ_FIRST, row.seen.contains(Seen::READ_FIRST) || is_first);
            }
        }
    }

    /// Looks at an instruction; those of a block come one after the other.
    #[inline]
    fn look_at(&mut self, orders: &[BlockOrder], head: &InstHead, operands: &[Operand]) {
        let (block, stamp) = (head.block, head.block.0 + 1);
        let is_reachable = orders[block.index()].is_reachable();
        let is_whole = is_reachable && !head.opcode.is_guarded();
        // Sources come after results, and are read before.
        for (at, operand) in operands.iter().enumerate().rev() {
            let Some(vreg) = operand.vreg() else { continue };
            let row = &mut self.rows[vreg.index()];
            if operand.is_definition() {
                if row.seen.contains(Seen::DEFINED) || !is_whole || operand.is_partial() {
                    self.look_closer(vreg, block, is_whole, &operands[at..]);
                } else {
                    *row = Row { defined_in: stamp, seen: row.seen | Seen::DEFINED };
                }
                continue;
            }
            if row.defined_in == stamp {
                continue;
            }
            row.seen |= Seen::GLOBAL;
            // If it stays the only one, the definition that was seen decides.
            match row.defined_in.checked_sub(1) {
                Some(from) if is_reachable => {
                    if !orders[from as usize].dominates(&orders[block.index()]) {
                        row.seen |= Seen::READ_FIRST;
                    }
                }
                Some(_) => {}
                None => self.crossing.push((vreg, block)),
            }
        }
    }

    /// Notes a definition that is not the only one, or not of the whole register. `operands` starts with it.
    #[cold]
    fn look_closer(&mut self, vreg: VRegId, block: BlockId, is_whole: bool, operands: &[Operand]) {
        let row = &mut self.rows[vreg.index()];
        let (definition, after) = operands.split_first().expect("it starts with the definition");
        // Another result of the same instruction was looked at just now.
        let is_defined_here = row.defined_in == block.0 + 1;
        let is_same = |other: &Operand| other.is_definition() && other.vreg() == Some(vreg);
        let is_twice = is_defined_here && after.iter().any(is_same);
        if row.seen.contains(Seen::DEFINED) {
            if !row.seen.contains(Seen::SEVERAL) {
                self.several.push((vreg, BlockId(row.defined_in - 1)));
            }
            self.several.push((vreg, block));
            row.seen |= Seen::SEVERAL;
        }
        row.seen |= Seen::DEFINED;
        row.seen.set(
            Seen::BROKEN,
            row.seen.contains(Seen::BROKEN) || !is_whole || is_twice || definition.is_partial(),
        );
        row.defined_in = block.0 + 1;
    }

    /// Lists the registers that are not in SSA form and can be brought into it.
    fn find_candidates(&mut self, function: &FunctionView<'_>) {
        let Self { rows, candidates, candidate_of, variables, .. } = self;
        candidate_of.clear();
        candidate_of.resize(function.vregs.len() + 1, NO_CANDIDATE);
        for (at, (vreg, row)) in function.vregs.iter().zip(&*rows).enumerate() {
            let id = VRegId::new(at);
            let was_variable = vreg.flags.contains(VRegFlags::VARIABLE);
            let is_other = vreg.flags.intersects(VRegFlags::SHARED);
            let not_in_form = Seen::SEVERAL | Seen::BROKEN | Seen::READ_FIRST;
            let is_value = !row.seen.intersects(not_in_form);
            if (is_value || is_other) && !was_variable {
                continue;
            }
            let can_be_moved = vreg.ty.lanes == 1 && moved_as(vreg.ty.element()).is_some();
            let is_candidate = !is_value && !is_other && !row.seen.contains(Seen::BROKEN) && can_be_moved;
            if is_candidate {
                candidate_of[at] = candidates.len() as u32;
                candidates.push(Candidate { vreg: id, current: None, is_taken: false, undefined: None });
            }
            let is_variable = !is_value && !is_other && !is_candidate;
            if is_variable != was_variable {
                variables.push((id, is_variable));
            }
        }
    }

    /// Places the phis of all candidates, in no order; says how many candidates stay variables because of a limit.
    fn place_phis(&mut self, function: &FunctionView<'_>) -> u64 {
        let most_pairs = PAIRS_LEAST + 4 * function.heads.len();
        let (mut pair_count, mut left_out) = (0, 0);
        let mut looks_left = LOOKS_PER_PAIR_MAX * most_pairs;
        let mut steps_left = steps_max(function);
        self.frontier.start();
        self.pred_counts.clear();
        self.pred_counts.resize(function.blocks.len(), 0);
        self.seen.clear();
        self.seen.resize(function.blocks.len(), 0);
        self.several.sort_unstable_by_key(|&(vreg, block)| u64::from(vreg.0) << 32 | u64::from(block.0));
        let mut next = 0;
        for number in 0..self.candidates.len() {
            let vreg = self.candidates[number].vreg;
            let Self { rows, several, frontier, tree, phis, pred_counts, seen, .. } = self;
            let first = phis.len();
            while several.get(next).is_some_and(|&(other, _)| other < vreg) {
                next += 1;
            }
            let count = several[next..].iter().take_while(|&&(other, _)| other == vreg).count();
            let Row { defined_in, seen: found } = rows[vreg.index()];
            let only = [(vreg, BlockId(defined_in - 1))];
            let definitions = if count == 0 { &only[..] } else { &several[next..next + count] };
            let (mut pairs, mut most_preds) = (0, 0);
            // Where no look or step is left it stays a variable, wherever its definitions meet.
            let is_over = looks_left == 0 || steps_left == 0;
            if found.contains(Seen::GLOBAL) && !is_over {
                let blocks = definitions.iter().map(|&(_, block)| block);
                let steps = frontier.find(function, tree, blocks, |block| {
                    let preds = count_preds(function, tree, block, pred_counts, seen);
                    pairs += preds;
                    most_preds = preds.max(most_preds);
                    looks_left = looks_left.saturating_sub(preds);
                    phis.push(Planned {
                        block,
                        candidate: number as u32,
                        to: vreg,
                        pairs: 0,
                        filled: 0,
                        is_needed: false,
                    });
                    // What is left out need not be found whole.
                    pair_count + pairs <= most_pairs && looks_left > 0
                });
                steps_left = steps_left.saturating_sub(steps);
            }
            if pair_count + pairs > most_pairs || most_preds > PREDS_MAX || is_over || looks_left == 0 {
                phis.truncate(first);
                left_out += 1;
                self.candidate_of[vreg.index()] = NO_CANDIDATE;
                self.variables.push((vreg, true));
            } else {
                pair_count += pairs;
            }
        }
        if left_out == self.candidates.len() as u64 {
            self.candidates.clear();
        }
        left_out
    }

    /// Puts the phis in the order of their blocks and gives each its register and the place of its pairs.
    fn sort_phis(&mut self, function: &FunctionView<'_>) {
        let Self { phis, phis_of, pairs, pred_counts, names, .. } = self;
        phis.sort_unstable_by_key(|phi| u64::from(phi.block.0) << 32 | u64::from(phi.candidate));
        names.clear();
        let mut pair_count = 0;
        for phi in &mut *phis {
            phi.to = VRegId::new(function.vregs.len() + names.len());
            names.push(Name { candidate: phi.candidate, number: None });
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
        self.needed.clear();
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
            for (inst, _, operands) in function.padded_rows_of(block) {
                // Most instructions name no candidate.
                if self.names_candidate(operands) {
                    self.rename_operands(function, inst, operands);
                }
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
            for (candidate, before) in self.outside.drain(first..).rev() {
                self.candidates[candidate as usize].current = before;
            }
        }
    }

    /// What a candidate holds here.
    fn current(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        let Candidate { current, undefined, .. } = self.candidates[candidate as usize];
        current.or(undefined).unwrap_or_else(|| {
            let new = self.new_name(function, candidate);
            self.candidates[candidate as usize].undefined = Some(new);
            new
        })
    }

    fn new_name(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        self.names.push(Name { candidate, number: None });
        VRegId::new(function.vregs.len() + self.names.len() - 1)
    }

    /// Notes that something reads `vreg`: the phi that defines it is needed then.
    fn need(&mut self, function: &FunctionView<'_>, vreg: VRegId) {
        let Some(number) = vreg.index().checked_sub(function.vregs.len()) else { return };
        if let Some(phi) = self.phis.get_mut(number).filter(|phi| !phi.is_needed) {
            phi.is_needed = true;
            self.needed.push(number);
        }
    }

    /// Finds the phis that only such phis read as nothing reads.
    fn prune(&mut self, function: &FunctionView<'_>) {
        while let Some(number) = self.needed.pop() {
            let Planned { pairs, filled, .. } = self.phis[number];
            for at in pairs..pairs + filled {
                let value = self.pairs[at].1.vreg().expect("a register comes from there");
                self.need(function, value);
            }
        }
    }

    /// Gives the names that are needed their registers, as far as there is room; says how many candidates stay variables
    /// because there is none. What becomes of one candidate does not depend on the others.
    fn number_names(&mut self, function: &FunctionView<'_>, room: Room) -> u64 {
        let Self { names, costs, phis, candidates, variables, candidate_of, new_registers, .. } = self;
        let is_needed = |number: usize| phis.get(number).is_none_or(|phi| phi.is_needed);
        costs.clear();
        costs.resize(candidates.len(), (0, 0));
        for (number, name) in names.iter().enumerate().filter(|&(number, _)| is_needed(number)) {
            let (registers, phi_count) = &mut costs[name.candidate as usize];
            *registers += 1;
            *phi_count += u32::from(number < phis.len());
        }
        let most = |rows: usize, more: u32| more + (rows as u64 * OF_ROWS_PERCENT / 100) as u32;
        let of = |rows: u32| rows - rows / ROOM_LEFT;
        let values_max = most(function.vregs.len(), VALUES_MORE);
        let phis_max = most(function.heads.len(), 2 * VALUES_MORE);
        let mut left = (of(room.vregs.min(values_max)), of(room.insts.min(phis_max)));
        let mut left_out = 0;
        for (candidate, cost) in candidates.iter().zip(&*costs) {
            if candidate_of[candidate.vreg.index()] == NO_CANDIDATE {
                continue;
            }
            if cost.0 <= left.0 && cost.1 <= left.1 {
                left = (left.0 - cost.0, left.1 - cost.1);
            } else {
                candidate_of[candidate.vreg.index()] = NO_CANDIDATE;
                variables.push((candidate.vreg, true));
                left_out += 1;
            }
        }
        new_registers.clear();
        for number in 0..names.len() {
            let Candidate { vreg, .. } = candidates[names[number].candidate as usize];
            if is_needed(number) && candidate_of[vreg.index()] != NO_CANDIDATE {
                names[number].number = Some(VRegId::new(function.vregs.len() + new_registers.len()));
                new_registers.push(names[number].candidate);
            }
        }
        left_out
    }

    fn set_current(&mut self, candidate: u32, vreg: VRegId) {
        let current = &mut self.candidates[candidate as usize].current;
        self.outside.push((candidate, current.replace(vreg)));
    }

    /// Whether some operand names a candidate.
    #[inline]
    fn names_candidate(&self, operands: &[Operand]) -> bool {
        let nothing = self.candidate_of.len() - 1;
        let candidate = |operand: &Operand| self.candidate_of[operand.vreg_or(nothing)];
        operands.iter().fold(NO_CANDIDATE, |all, operand| all & candidate(operand)) != NO_CANDIDATE
    }

    fn rename_operands(&mut self, function: &FunctionView<'_>, inst: InstId, operands: &[Operand]) {
        // Sources come after results, and are read before.
        for (position, operand) in operands.iter().enumerate().rev() {
            let Some(vreg) = operand.vreg() else { continue };
            let candidate = self.candidate_of[vreg.index()];
            if candidate == NO_CANDIDATE {
                continue;
            }
            let name = if operand.is_definition() {
                self.next_name(function, candidate)
            } else {
                let current = self.current(function, candidate);
                self.need(function, current);
                current
            };
            if name != vreg {
                self.renamed.push((inst, position, candidate, name));
            }
        }
    }

    /// The name of the next definition of a candidate, which holds it from there on.
    fn next_name(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        let Candidate { vreg, is_taken, .. } = self.candidates[candidate as usize];
        self.candidates[candidate as usize].is_taken = true;
        let name = if is_taken { self.new_name(function, candidate) } else { vreg };
        self.set_current(candidate, name);
        name
    }

    /// Gives the phis of the successors of `block` what comes from there.
    fn fill_pairs(&mut self, function: &FunctionView<'_>, block: BlockId) {
        for &succ in function.succs(block) {
            if std::mem::replace(&mut self.seen[succ.index()], block.0 + 1) == block.0 + 1 {
                continue;
            }
            for number in self.phis_in(succ) {
                let candidate = self.phis[number].candidate;
                let current = self.current(function, candidate);
                let phi = &mut self.phis[number];
                let like = function.vregs[self.candidates[candidate as usize].vreg.index()];
                self.pairs[phi.pairs + phi.filled] = (block, operand_of(like.ty.element(), current));
                phi.filled += 1;
            }
        }
    }

    fn apply(&mut self, change: &mut Change<'_, '_>) {
        let first_new = change.function().vregs.len();
        for &candidate in &self.new_registers {
            change.new_vreg_like(self.candidates[candidate as usize].vreg);
        }
        let number_of = |name: VRegId| match name.index().checked_sub(first_new) {
            Some(number) => self.names[number].number,
            None => Some(name),
        };
        let is_left_out = |candidate: u32| {
            self.candidate_of[self.candidates[candidate as usize].vreg.index()] == NO_CANDIDATE
        };
        let renamed = self.renamed.iter().filter(|&&(_, _, candidate, _)| !is_left_out(candidate));
        change.rename_each(
            renamed.filter_map(|&(inst, position, _, name)| Some((inst, position, number_of(name)?))),
        );
        for phis in self.phis.chunk_by(|one, other| one.block == other.block) {
            let block = phis[0].block;
            let after = change.first_after_phis(block);
            for phi in phis {
                let Some(to) = number_of(phi.to) else { continue };
                let pairs = &mut self.pairs[phi.pairs..phi.pairs + phi.filled];
                for (_, value) in &mut *pairs {
                    let name = value.vreg().expect("a register comes from there");
                    *value = value.with_vreg(number_of(name).expect("what a phi needs is needed"));
                }
                change.phi_before(block, after, to, pairs);
            }
        }
        change.ssa_is_built();
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
