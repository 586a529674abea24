//! The fixpoint: everything is uniform until something shows that it is not.
//!
//! A worklist of registers. What reads one that has become divergent is looked at again; a branch that reads one splits
//! the warp ([`joins`](super::joins)), and what splits lead to makes more registers divergent. Nothing ever becomes
//! uniform again, so each instruction is looked at once for each of its operands, and a few times for where it stands.

use super::joins::Joins;
use super::natures::{Natures, Private, Results, Situation, aligns, depends_on_situation, results};
use super::places::Places;
use super::{Scratch, Uniformity};
use crate::bits;
use crate::dataflow::liveness::LiveSet;
use crate::forms::FormTable;
use crate::graph::iterated_frontier::steps_max;
use crate::graph::nest::LoopNest;
use crate::store::view::FunctionView;
use crate::values::phis::{incoming, phis_of};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, writes};
use ptxopt_components::vreg::VRegFlags;

/// What the solver found out about the places of the code.
#[derive(Default)]
pub(crate) struct Progress {
    pub natures: Natures,
    pub private: Private,
    pub places: Places,
    pub joins: Joins,
    /// Joins are being looked for: something has split.
    has_split: bool,
    /// Steps that the searches for joins, and for what lives on after loops, may still take.
    steps_left: usize,
    /// By block: whether its threads may come there one after the other.
    comes_apart: Vec<bool>,
    /// By instruction: whether its threads may.
    is_apart: Vec<bool>,
    /// By block: whether threads meet in it, or call.
    has_meeting: Vec<bool>,
    /// Instructions whose results follow from where they stand.
    situated: Vec<InstId>,
    meets_in_order: bool,
    meets_unguarded: bool,
    registers: Vec<VRegId>,
    blocks: Vec<BlockId>,
    /// Where threads go that leave a loop.
    targets: Vec<BlockId>,
}

/// One run of the solver.
pub(crate) struct Solver<'a> {
    pub function: &'a FunctionView<'a>,
    pub forms: &'a FormTable,
    pub nest: &'a LoopNest,
    pub set: &'a LiveSet,
    pub progress: &'a mut Progress,
    pub out: &'a mut Uniformity,
}

/// Works out the verdicts of a function whose control-flow facts, loops and live sets hold, and whose blocks end at
/// control flow. Its irreducible regions are assumed divergent.
pub fn solve(
    function: &FunctionView<'_>,
    forms: &FormTable,
    nest: &LoopNest,
    set: &LiveSet,
    scratch: &mut Scratch,
    out: &mut Uniformity,
) {
    out.clear(function);
    let mut solver = Solver { function, forms, nest, set, progress: &mut scratch.progress, out };
    solver.start();
    solver.look_at_everything();
    solver.run();
    solver.finish();
}

impl Solver<'_> {
    fn start(&mut self) {
        let Self { function, forms, set, progress, .. } = self;
        progress.natures.bring_up_to_date(forms);
        progress.private.compute(function, &progress.natures);
        progress.places.compute(function, set);
        progress.has_split = false;
        progress.steps_left = steps_max(function);
        progress.meets_in_order = true;
        progress.meets_unguarded = true;
        progress.situated.clear();
        for bits in [&mut progress.comes_apart, &mut progress.has_meeting] {
            bits.clear();
            bits.resize(function.blocks.len(), false);
        }
        progress.is_apart.clear();
        progress.is_apart.resize(function.heads.len(), false);
    }

    /// The first look at each instruction, with what is divergent without any other reason.
    fn look_at_everything(&mut self) {
        let function = self.function;
        let is_entry = function.state.flags.contains(CodeFlags::ENTRY);
        for vreg in function.vreg_ids() {
            if function.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START) {
                self.diverge(vreg);
            }
        }
        if function.blocks.is_empty() {
            return;
        }
        let unwritten: Vec<VRegId> = self.set.live_in_vregs(BlockId(0)).collect();
        unwritten.into_iter().for_each(|vreg| self.diverge(vreg));
        let mut has_calls = false;
        let reachable = |block: &BlockId| function.orders[block.index()].is_reachable();
        for block in function.block_ids().filter(reachable) {
            for inst in function.insts_of(block) {
                let nature = *self.progress.natures.of(function, inst);
                has_calls |= nature.is_call;
                self.progress.has_meeting[block.index()] |= nature.is_meeting || nature.is_call;
                if depends_on_situation(function, &nature, inst) {
                    self.progress.situated.push(inst);
                }
            }
        }
        if self.nest.irreducible_regions().next().is_some() {
            self.give_up();
        }
        // Another function may be called by some of the threads only.
        if !is_entry {
            self.come_apart(BlockId(0));
        }
        if has_calls {
            self.progress.blocks.extend(function.block_ids().filter(reachable));
        }
        for block in function.block_ids().filter(reachable) {
            function.insts_of(block).for_each(|inst| self.look_at(inst));
        }
    }

    fn run(&mut self) {
        loop {
            if let Some(vreg) = self.progress.registers.pop() {
                for at in self.progress.places.uses.span(vreg.index()) {
                    let inst = self.progress.places.uses.at(at);
                    self.look_at(inst);
                }
            } else if let Some(block) = self.progress.blocks.pop() {
                self.follow_threads(block);
            } else {
                return;
            }
        }
    }

    fn situation(&self, inst: InstId) -> Situation {
        Situation {
            is_together: !self.progress.is_apart[inst.index()],
            meets_in_order: self.progress.meets_in_order,
            meets_unguarded: self.progress.meets_unguarded,
        }
    }

    fn diverges(&self, vreg: VRegId) -> bool {
        bits::test(&self.out.divergent, vreg.index())
    }

    /// Applies the transfer function.
    fn look_at(&mut self, inst: InstId) {
        let head = self.function.heads[inst.index()];
        let operands = self.function.operands_of(inst);
        let guard = self.function.guard_of(inst).and_then(Operand::vreg);
        let guard_diverges = guard.is_some_and(|guard| self.diverges(guard));
        if head.marks.contains(Marks::CONTROL) {
            self.look_at_branch(inst, guard_diverges);
            return;
        }
        let nature = *self.progress.natures.of(self.function, inst);
        if guard_diverges && (nature.is_meeting || nature.is_call) {
            self.lose_meetings();
        }
        // A phi has one result, and as many operands as there are ways to it: looking at all of them for each would be quadratic.
        let written = if head.is_phi() { &operands[..1] } else { operands };
        if writes(written).all(|vreg| self.diverges(vreg)) {
            return;
        }
        let found = results(
            self.function,
            self.forms,
            &nature,
            &self.progress.private,
            self.situation(inst),
            inst,
            |vreg| self.diverges(vreg),
        );
        if found == (Results { first: false, others: false }) {
            return;
        }
        let is_result = |(_, operand): &(usize, &Operand)| operand.is_definition();
        for (at, operand) in written.iter().enumerate().filter(is_result) {
            if let Some(vreg) = operand.vreg().filter(|_| found.of(at)) {
                self.diverge(vreg);
            }
        }
    }

    fn diverge(&mut self, vreg: VRegId) {
        if !bits::test(&self.out.divergent, vreg.index()) {
            bits::set(&mut self.out.divergent, vreg.index());
            self.progress.registers.push(vreg);
        }
    }

    fn look_at_branch(&mut self, inst: InstId, guard_diverges: bool) {
        let head = self.function.heads[inst.index()];
        let form = self.forms.get(head.form);
        let is_indexed = form.effects.contains(Effects::BRANCH_INDEXED);
        let index_diverges = || {
            self.function
                .operands_of(inst)
                .iter()
                .any(|operand| operand.vreg().is_some_and(|vreg| self.diverges(vreg)))
        };
        let diverges = guard_diverges || is_indexed && index_diverges();
        if diverges {
            self.split(inst);
        }
    }

    /// Threads part at `inst`.
    fn split(&mut self, inst: InstId) {
        let block = self.function.heads[inst.index()].block;
        if bits::test(&self.out.divergent_ways, block.index()) {
            return;
        }
        bits::set(&mut self.out.divergent_ways, block.index());
        if !self.out.is_tangled && !self.progress.has_split {
            let Progress { joins, places, has_split, steps_left, .. } = &mut *self.progress;
            *has_split = joins.start(self.function, self.nest)
                && places.merge(self.function, self.set, &joins.dominators, steps_left);
            if !*has_split {
                self.give_up();
            }
        }
        if self.out.is_tangled {
            self.out.is_split = true;
            return;
        }
        self.progress.joins.split_at_branch(self.function, self.nest, block);
        self.take_found();
    }

    fn take_found(&mut self) {
        let found = std::mem::take(&mut self.progress.joins.found);
        for &id in &found.loops {
            self.leave_loop(id);
        }
        for &join in &found.joins {
            for at in self.progress.places.merged.span(join.index()) {
                let vreg = self.progress.places.merged.at(at);
                self.diverge(vreg);
            }
            self.choose_apart(join, |_| true);
            self.come_apart(join);
        }
        if found.partial.iter().any(|block| self.progress.has_meeting[block.index()]) {
            self.lose_order();
        }
    }

    /// Threads come to `block` from different predecessors, or at different times from those that `is_apart` says: what its
    /// phis choose there differs.
    fn choose_apart(&mut self, block: BlockId, is_apart: impl Fn(BlockId) -> bool) {
        let function = self.function;
        for (_, operands) in phis_of(function, block) {
            if incoming(operands).any(|(pred, _)| is_apart(pred)) {
                writes(operands).for_each(|vreg| self.diverge(vreg));
            }
        }
    }

    /// Temporal divergence: what a loop defines and is read after it is as old as the round in which a thread left.
    fn leave_loop(&mut self, id: LoopId) {
        let (nest, set) = (self.nest, self.set);
        let mut targets = std::mem::take(&mut self.progress.targets);
        targets.clear();
        targets.extend(nest.exits(id).map(|(_, target)| target));
        targets.sort_unstable();
        targets.dedup();
        for &target in &targets {
            self.come_apart(target);
            self.choose_apart(target, |pred| nest.holds(id, pred));
        }
        for &block in nest.blocks(id) {
            for at in self.progress.places.defined.span(block.index()) {
                let vreg = self.progress.places.defined.at(at);
                if !self.diverges(vreg) && self.takes_steps(targets.len()) {
                    let lives_on = targets.iter().any(|&target| set.is_live_in(target, vreg));
                    if lives_on {
                        self.diverge(vreg);
                    }
                }
            }
        }
        self.progress.targets = targets;
    }

    /// Takes steps of those that are left; false, and nothing is left to find, where these are fewer.
    fn takes_steps(&mut self, count: usize) -> bool {
        let left = self.progress.steps_left.checked_sub(count);
        match left {
            Some(left) => self.progress.steps_left = left,
            None => self.give_up(),
        }
        left.is_some()
    }

    /// Threads come to the start of `block` one after the other.
    fn come_apart(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.progress.comes_apart[block.index()], true) {
            self.progress.blocks.push(block);
        }
    }

    /// Follows threads that may have come to `block` apart, up to where they meet.
    fn follow_threads(&mut self, block: BlockId) {
        let mut is_apart = self.progress.comes_apart[block.index()];
        let function = self.function;
        for inst in function.insts_of(block) {
            let nature = *self.progress.natures.of(function, inst);
            if is_apart && !std::mem::replace(&mut self.progress.is_apart[inst.index()], true) {
                self.look_at(inst);
            }
            if is_apart && self.progress.meets_in_order && aligns(function, &nature, inst) {
                is_apart = false;
            }
            is_apart |= nature.is_call;
        }
        if is_apart {
            function.succs(block).iter().for_each(|&succ| self.come_apart(succ));
        }
    }

    /// A meeting lies where only some threads go: those of different instructions may meet.
    fn lose_order(&mut self) {
        if std::mem::replace(&mut self.progress.meets_in_order, false) {
            self.look_again_at_meetings();
        }
    }

    /// Only some threads take part in a meeting.
    fn lose_meetings(&mut self) {
        if std::mem::replace(&mut self.progress.meets_unguarded, false) {
            self.progress.meets_in_order = false;
            self.look_again_at_meetings();
        }
    }

    fn look_again_at_meetings(&mut self) {
        for at in 0..self.progress.situated.len() {
            self.look_at(self.progress.situated[at]);
        }
        let has_meeting = |block: &BlockId| self.progress.has_meeting[block.index()];
        self.progress.blocks.extend(self.function.block_ids().filter(has_meeting));
    }

    /// Irreducible regions have no rounds, and the joins of some functions are too many to list, or take too many steps to find. There
    /// everything that merges is divergent, and so is what a region defines, and each of its branches.
    fn give_up(&mut self) {
        let function = self.function;
        self.out.is_tangled = true;
        self.progress.meets_in_order = false;
        for block in function.block_ids().filter(|block| function.orders[block.index()].is_reachable()) {
            self.come_apart(block);
            self.choose_apart(block, |_| true);
        }
        let all: Vec<VRegId> = self.set.globals().to_vec();
        all.into_iter().for_each(|vreg| self.diverge(vreg));
        let nest = self.nest;
        for inst in nest.irreducible_regions().flatten().flat_map(|&block| function.insts_of(block)) {
            writes(function.operands_of(inst)).for_each(|vreg| self.diverge(vreg));
            let head = function.heads[inst.index()];
            if head.marks.contains(Marks::CONTROL) && function.succs(head.block).len() > 1 {
                self.split(inst);
            }
        }
    }

    fn finish(&mut self) {
        let Self { function, progress, out, .. } = self;
        out.is_split |= progress.has_split;
        if progress.has_split {
            out.partial.extend(function.block_ids().map(|block| progress.joins.is_partial(block)));
            out.ends_apart = progress.joins.ends_apart;
        }
    }
}
