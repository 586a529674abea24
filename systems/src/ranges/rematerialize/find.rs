//! Which values are computed again, where, and from what.
//!
//! A **tight spot** is a block that needs more registers than there are, or a call that too much lives across. Calls of that
//! kind cut their block into parts. The **root** of a part is the highest part above it in the dominator tree without a tight
//! spot between the two: a value that is defined below another root than the one that reads it may live through one. Which
//! tight spots it really lives through for the reads below a root, and for those alone, is asked by walks over the
//! predecessors.

use super::super::chains::{Again, BESIDE, Remade, Spot, looks_max, spot_in};
use crate::registers::Estimator;
use crate::values::movable::{may_move, slots_of};
use ahash::AHashSet;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::{Operand, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{RegClass, TypeKind};
use ptxopt_engine::dataflow::liveness::LiveSet;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dominator_tree::Ancestors;
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// Instructions that may compute one value again. Chains of two pay (`docs/LIVE_RANGES.md`); longer ones were not measured.
const INSTS_MAX: usize = 2;

/// Registers that a called function may overwrite, with `BESIDE`: of `b` registers, `b - 18` keep their values (`ptxas` 13.0.88,
/// sm_90: spills start with 7 slots of 24, with 15 of 32).
const BESIDE_AT_CALL: u32 = 18;

/// The number of no walk.
const NO_WALK: u32 = u32::MAX;

/// The place after the last instruction of a block, where what phis read is read.
const END: InstId = InstId(u32::MAX);

const PHI: &str = "a phi reads it after what has too few registers";
const ENDS: &str = "what it is computed from does not live as long";
const LONGER: &str = "computing it again would make the function longer than it came in";

/// What is looked at.
pub(super) struct Look<'a> {
    pub function: &'a FunctionView<'a>,
    pub forms: &'a FormTable,
    pub nest: &'a LoopNest,
    pub live: &'a LiveSet,
    pub reaching: &'a Reaching,
    pub ancestors: &'a Ancestors,
    pub estimator: &'a Estimator,
}

/// A call that too much lives across.
#[derive(Clone, Copy)]
struct TightCall {
    inst: InstId,
    block: BlockId,
    excess: u32,
}

/// Where a register is read.
#[derive(Clone, Copy)]
struct Read {
    inst: InstId,
    position: u32,
    block: BlockId,
    /// The instruction, or [`END`] for a phi of a block after it.
    at: InstId,
}

/// Finds the values.
#[derive(Default)]
pub(super) struct Finder {
    /// By block: slots that it needs too many, less those of what was found.
    excesses: Vec<u32>,
    /// In program order.
    calls: Vec<TightCall>,
    /// By block: the first of its calls; one more entry at the end.
    first_calls: Vec<u32>,
    /// Tight spots that still are.
    tight_count: usize,
    /// By block: the number of its first part, in a preorder of the dominator tree.
    first_parts: Vec<u32>,
    /// By part: its block.
    blocks: Vec<BlockId>,
    /// By part: its root.
    roots: Vec<u32>,
    /// By block: tight blocks that it dominates.
    below: Vec<u32>,
    /// By block: it lies in a cycle with several entries. Empty where there is none.
    is_in_cycle: Vec<bool>,
    /// By register: where its run of `reads` starts; one more entry at the end.
    first_reads: Vec<u32>,
    reads: Vec<Read>,
    /// By block: the number of the walk that came there last.
    seen: Vec<u32>,
    number: u32,
    waiting: Vec<BlockId>,
    relieved: Vec<BlockId>,
    /// Sources of what was found, and registers that no longer live through tight spots.
    held: AHashSet<VRegId>,
    gone: AHashSet<VRegId>,
    looks_left: usize,
    /// Instructions that may come without making the function longer than it came in.
    spare: u32,
    /// Instructions for which the function has room while the phase runs.
    room: u32,
    /// In the order in which they were found.
    pub found: Vec<Again>,
    /// Definitions whose values stay, and why.
    pub missed: Vec<(InstId, &'static str)>,
}

impl Finder {
    /// Lists the tight spots of a function that may take `budget` registers, blocks among them where it `spills`; says whether
    /// there are any.
    pub fn list_spots(
        &mut self,
        function: &FunctionView<'_>,
        estimator: &Estimator,
        budget: u32,
        spills: bool,
    ) -> bool {
        self.excesses.clear();
        self.excesses.extend(function.block_ids().map(|block| {
            let need = estimator.need_of(block).filter(|_| spills).unwrap_or(0);
            (need + BESIDE).saturating_sub(budget)
        }));
        self.calls.clear();
        self.calls.extend(estimator.calls.iter().filter_map(|call| {
            let excess = (call.across + BESIDE_AT_CALL).saturating_sub(budget);
            let block = function.heads[call.inst.index()].block;
            (excess > 0).then_some(TightCall { inst: call.inst, block, excess })
        }));
        self.calls.sort_by_key(|call| call.inst);
        self.first_calls.clear();
        self.first_calls.resize(function.blocks.len() + 1, 0);
        for call in &self.calls {
            self.first_calls[call.block.index() + 1] += 1;
        }
        for at in 0..function.blocks.len() {
            self.first_calls[at + 1] += self.first_calls[at];
        }
        self.tight_count = self.calls.len() + self.excesses.iter().filter(|&&excess| excess > 0).count();
        self.tight_count > 0
    }

    /// Finds what is computed again, as long as spots are tight, with `spare` more instructions in the end and `room` for more
    /// until then; says whether a limit stopped it.
    pub fn find(&mut self, look: &Look<'_>, spare: u32, room: u32) -> bool {
        self.start(look);
        (self.spare, self.room) = (spare, room);
        let mut values: Vec<(InstId, VRegId)> = Vec::new();
        for (inst, head, operands) in look.function.rows() {
            let Some(vreg) = writes(operands).next() else { continue };
            // A variable may have as many reads as definitions, so all of its reads are looked at for a value alone.
            if look.estimator.has_own_register(vreg)
                && is_cheap(look, head, operands)
                && self.has_other_root(look, head.block, inst, vreg)
            {
                values.push((inst, vreg));
            }
        }
        // One instruction saves two slots with the wide ones.
        values.sort_by_key(|&(_, vreg)| std::cmp::Reverse(slots_of(&look.function.vregs[vreg.index()])));
        for (inst, vreg) in values {
            if self.tight_count == 0 || self.looks_left == 0 {
                break;
            }
            if !self.held.contains(&vreg) {
                self.split(look, inst, vreg);
            }
        }
        self.looks_left == 0
    }

    fn start(&mut self, look: &Look<'_>) {
        let Look { function, nest, .. } = look;
        self.found.clear();
        self.missed.clear();
        self.held.clear();
        self.gone.clear();
        self.looks_left = looks_max(function.heads.len());
        self.number = 0;
        self.seen.clear();
        self.seen.resize(function.blocks.len(), 0);
        self.is_in_cycle.clear();
        for &block in nest.irreducible_regions().flatten() {
            self.is_in_cycle.resize(function.blocks.len(), false);
            self.is_in_cycle[block.index()] = true;
        }
        self.find_roots(look);
        self.list_reads(function);
    }

    fn calls_in(&self, block: BlockId) -> std::ops::Range<usize> {
        self.first_calls[block.index()] as usize..self.first_calls[block.index() + 1] as usize
    }

    fn find_roots(&mut self, look: &Look<'_>) {
        let Look { function, reaching, .. } = look;
        let tree = reaching.tree();
        let is_tight = |finder: &Self, block: BlockId| finder.excesses[block.index()] > 0;
        self.below.clear();
        self.below.resize(function.blocks.len(), 0);
        for &block in tree.preorder().iter().rev() {
            let has_tight = is_tight(self, block) || !self.calls_in(block).is_empty();
            self.below[block.index()] += u32::from(has_tight);
            if let Some(idom) = function.orders[block.index()].idom.get() {
                self.below[idom.index()] += self.below[block.index()];
            }
        }
        self.first_parts.clear();
        self.first_parts.resize(function.blocks.len(), 0);
        self.blocks.clear();
        self.roots.clear();
        for &block in tree.preorder() {
            let part = self.blocks.len() as u32;
            self.first_parts[block.index()] = part;
            let root = match function.orders[block.index()].idom.get() {
                // Between a block and where several ways meet below it lie blocks that both come before the latter.
                Some(idom)
                    if !is_tight(self, idom)
                        && (function.preds(block) == [idom] || !self.has_tight_beside(idom, block)) =>
                {
                    let last = self.first_parts[idom.index()] as usize + self.calls_in(idom).len();
                    self.roots[last]
                }
                _ => part,
            };
            self.blocks.push(block);
            self.roots.push(root);
            for _ in self.calls_in(block) {
                self.roots.push(self.blocks.len() as u32);
                self.blocks.push(block);
            }
        }
    }

    /// Whether `idom`, the immediate dominator of `block`, dominates a tight block that `block` does not, itself left out.
    fn has_tight_beside(&self, idom: BlockId, block: BlockId) -> bool {
        let itself = u32::from(self.excesses[idom.index()] > 0 || !self.calls_in(idom).is_empty());
        self.below[idom.index()] - itself > self.below[block.index()]
    }

    fn list_reads(&mut self, function: &FunctionView<'_>) {
        let Self { first_reads, reads: list, .. } = self;
        first_reads.clear();
        first_reads.resize(function.vregs.len() + 1, 0);
        list.clear();
        for (_, _, operands) in function.rows() {
            reads(operands).for_each(|vreg| first_reads[vreg.index()] += 1);
        }
        let mut end = 0;
        for of_vreg in first_reads.iter_mut() {
            end += *of_vreg;
            *of_vreg = end;
        }
        let none = Read { inst: END, position: 0, block: BlockId(0), at: END };
        list.resize(end as usize, none);
        // Filling turns each end into a start.
        for (inst, head, operands) in function.rows() {
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                let (block, at) = match head.is_phi() {
                    true => (operands[position - 1].as_block().expect("a value follows its block"), END),
                    false => (head.block, inst),
                };
                first_reads[vreg.index()] -= 1;
                let to = first_reads[vreg.index()] as usize;
                list[to] = Read { inst, position: position as u32, block, at };
            }
        }
    }

    fn reads_of(&self, vreg: VRegId) -> &[Read] {
        let [first, end] = [0, 1].map(|more| self.first_reads[vreg.index() + more] as usize);
        &self.reads[first..end]
    }

    /// The part of a block that holds an instruction.
    fn part_of(&self, block: BlockId, at: InstId) -> usize {
        let calls = &self.calls[self.calls_in(block)];
        self.first_parts[block.index()] as usize + calls.partition_point(|call| call.inst < at)
    }

    fn root_of(&self, read: &Read) -> u32 {
        self.roots[self.part_of(read.block, read.at)]
    }

    /// Whether something reads a value below another root than that of its definition, and nothing where no way leads.
    fn has_other_root(&self, look: &Look<'_>, block: BlockId, inst: InstId, vreg: VRegId) -> bool {
        let tree = look.reaching.tree();
        let home = || self.roots[self.part_of(block, inst)];
        let reads = self.reads_of(vreg);
        tree.is_reachable(block)
            && reads.iter().all(|read| tree.is_reachable(read.block))
            && reads.iter().any(|read| self.root_of(read) != home())
    }

    /// Looks for what may be computed again of one value, the reads that come last first.
    fn split(&mut self, look: &Look<'_>, definition: InstId, vreg: VRegId) {
        let home = self.roots[self.part_of(look.function.heads[definition.index()].block, definition)];
        let mut roots: Vec<u32> = self.reads_of(vreg).iter().map(|read| self.root_of(read)).collect();
        roots.retain(|&root| root != home);
        roots.sort_unstable_by(|one, other| other.cmp(one));
        roots.dedup();
        let mut left = self.reads_of(vreg).to_vec();
        for root in roots {
            if self.look(left.len()).is_none() {
                return;
            }
            let is_late = |read: &Read| self.is_below(look, root, read.block, read.at);
            let (late, early): (Vec<Read>, Vec<Read>) = left.iter().partition(|read| is_late(read));
            match self.for_late(look, definition, vreg, &late, &early) {
                Some(Ok(again)) => {
                    self.found.push(again);
                    self.gone.insert(vreg);
                    left = early;
                }
                Some(Err(reason)) => self.missed.push((definition, reason)),
                None => {}
            }
        }
    }

    /// Whether a root dominates a place.
    fn is_below(&self, look: &Look<'_>, root: u32, block: BlockId, at: InstId) -> bool {
        let above = self.blocks[root as usize];
        match above == block {
            true => self.part_of(block, at) >= root as usize,
            false => look.reaching.tree().dominates(above, block),
        }
    }

    /// The split of a value for the late ones of its reads; the reason why there is none that would help, or nothing.
    fn for_late(
        &mut self,
        look: &Look<'_>,
        definition: InstId,
        vreg: VRegId,
        late: &[Read],
        early: &[Read],
    ) -> Option<Result<Again, &'static str>> {
        let Look { function, reaching, ancestors, .. } = look;
        let home = function.heads[definition.index()].block;
        let tree = reaching.tree();
        let blocks = late.iter().map(|read| read.block);
        let lowest = blocks.reduce(|one, other| ancestors.nearest_common(tree, one, other))?;
        let block = self.leave_loops(look, home, lowest)?;
        let first = late.iter().filter(|read| read.block == block).map(|read| read.at).min();
        let spot = spot_in(function, block, first.filter(|&inst| inst != END));
        let before = match spot {
            Spot::Before(inst) => inst,
            Spot::AtEnd(_) => END,
        };
        if self.is_in_cycle.get(block.index()) == Some(&true) {
            return None;
        }
        let calls = self.relieve(look, definition, (block, before), early)?;
        let is_tight = |block: &&BlockId| self.excesses[block.index()] > 0;
        let helps = self.relieved.iter().any(|block| is_tight(&block))
            || calls.iter().any(|&call| self.calls[call].excess > 0);
        if !helps {
            return None;
        }
        if late.iter().any(|read| read.at == END) {
            return Some(Err(PHI));
        }
        let (mut insts, mut sources) = (Vec::new(), Vec::new());
        if self.remake(look, definition, (block, before), INSTS_MAX, &mut insts, &mut sources).is_none() {
            return Some(Err(ENDS));
        }
        // A definition that nothing reads any more is left to dead-code elimination: other values may be found by it.
        let count = insts.len() as u32;
        let growth = count - u32::from(early.is_empty());
        if growth > self.spare || count > self.room {
            return Some(Err(LONGER));
        }
        self.spare -= growth;
        self.room -= count;
        self.held.extend(sources);
        self.take_from_excesses(&calls, slots_of(&function.vregs[vreg.index()]));
        let reads = late.iter().map(|read| (read.inst, read.position)).collect();
        Some(Ok(Again { definition, spot, insts, reads }))
    }

    fn take_from_excesses(&mut self, calls: &[usize], slots: u32) {
        let Self { excesses, calls: all, tight_count, relieved, .. } = self;
        let mut take = |excess: &mut u32| {
            if *excess > 0 {
                *excess = excess.saturating_sub(slots);
                *tight_count -= usize::from(*excess == 0);
            }
        };
        relieved.iter().for_each(|block| take(&mut excesses[block.index()]));
        calls.iter().for_each(|&call| take(&mut all[call].excess));
    }

    fn look(&mut self, count: usize) -> Option<()> {
        self.looks_left = self.looks_left.saturating_sub(count);
        (self.looks_left > 0).then_some(())
    }

    /// The block itself, or the first above it in no loop that `home` is not in.
    fn leave_loops(&mut self, look: &Look<'_>, home: BlockId, block: BlockId) -> Option<BlockId> {
        let Look { function, nest, .. } = look;
        let mut at = block;
        while let Some(id) = nest.loop_of(at).filter(|&id| !nest.holds(id, home)) {
            self.look(1)?;
            at = function.orders[nest.row(id).header.index()].idom.get()?;
        }
        Some(at)
    }

    /// Lists the blocks in which a value no longer lives where only `early` reads it, and gives the calls that it no longer
    /// lives across, by number.
    fn relieve(
        &mut self,
        look: &Look<'_>,
        definition: InstId,
        (block, before): (BlockId, InstId),
        early: &[Read],
    ) -> Option<Vec<usize>> {
        let function = look.function;
        let home = function.heads[definition.index()].block;
        self.waiting.clear();
        self.waiting.extend(early.iter().map(|read| read.block));
        self.walk(function, home, NO_WALK)?;
        let of_early = self.number;
        if block != home {
            self.waiting.extend(function.preds(block));
        }
        self.walk(function, home, of_early)?;
        let mut calls: Vec<usize> = self.relieved.iter().flat_map(|&block| self.calls_in(block)).collect();
        let ends = if block == home { vec![home] } else { vec![home, block] };
        for at in ends {
            if function.succs(at).iter().any(|succ| self.seen[succ.index()] == of_early) {
                continue;
            }
            self.look(self.calls_in(at).len())?;
            let last_early = early.iter().filter(|read| read.block == at).map(|read| read.at).max();
            calls.extend(self.calls_in(at).filter(|&number| {
                let call = self.calls[number].inst;
                let is_between = (at != home || call > definition) && (at != block || call < before);
                is_between && last_early.is_none_or(|last| last <= call)
            }));
        }
        self.look(calls.len())?;
        Some(calls)
    }

    /// Walks backward from the blocks that wait, up to `home`, and lists where it comes but for what `passed`, another walk,
    /// came to.
    fn walk(&mut self, function: &FunctionView<'_>, home: BlockId, passed: u32) -> Option<()> {
        self.number += 1;
        self.relieved.clear();
        while let Some(block) = self.waiting.pop() {
            self.look(1)?;
            let seen = &mut self.seen[block.index()];
            if block == home || *seen == self.number || *seen == passed {
                continue;
            }
            *seen = self.number;
            self.relieved.push(block);
            self.waiting.extend(function.preds(block));
        }
        Some(())
    }

    /// Lists what computes at `to` what `inst` computed, from what lives there, at most `most` instructions.
    fn remake(
        &mut self,
        look: &Look<'_>,
        inst: InstId,
        to: (BlockId, InstId),
        most: usize,
        insts: &mut Vec<Remade>,
        sources: &mut Vec<VRegId>,
    ) -> Option<()> {
        let Look { function, reaching, estimator, .. } = look;
        let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
        for vreg in reads(operands) {
            let is_made = insts.iter().any(|again: &Remade| writes(&again.operands).next() == Some(vreg));
            if is_made {
                continue;
            }
            if !estimator.takes_register(vreg) || self.lives_at(look, vreg, to)? {
                sources.push(vreg);
                continue;
            }
            let definer = reaching.only_definition(vreg)?;
            let definer_head = &function.heads[definer.index()];
            if insts.len() + 1 >= most || !is_cheap(look, definer_head, function.operands_of(definer)) {
                return None;
            }
            self.remake(look, definer, to, most - 1, insts, sources)?;
        }
        insts.push(Remade { form: head.form, operands: operands.to_vec() });
        Some(())
    }

    /// Whether a register lives at a place in any case, as at everything above that its definition dominates.
    fn lives_at(
        &mut self,
        look: &Look<'_>,
        vreg: VRegId,
        (block, before): (BlockId, InstId),
    ) -> Option<bool> {
        if self.gone.contains(&vreg) {
            return Some(false);
        }
        if look.live.is_live_out(block, vreg) {
            return Some(true);
        }
        let is_first_part = self.part_of(block, before) == self.first_parts[block.index()] as usize;
        if is_first_part && look.live.is_live_in(block, vreg) {
            return Some(true);
        }
        self.look(self.reads_of(vreg).len())?;
        Some(self.reads_of(vreg).iter().any(|read| read.block == block && read.at >= before))
    }
}

/// Whether an instruction computes one value in a few cycles of one instruction of the machine, and may stand elsewhere.
fn is_cheap(look: &Look<'_>, head: &InstHead, operands: &[Operand]) -> bool {
    let form = look.forms.get(head.form);
    is_short(form)
        && may_move(look.function, form, head, operands)
        && writes(operands).count() == 1
        && writes(operands).all(|vreg| {
            let result = &look.function.vregs[vreg.index()];
            result.class() == RegClass::R && result.ty.lanes == 1
        })
}

/// What the machine has one instruction of full speed for, or two for 64 bits. Copies are none: they share a register.
fn is_short(form: &Form) -> bool {
    use Operation as Op;
    let has =
        |is_so: fn(TypeKind, u32) -> bool| form.types.iter().flatten().any(|ty| is_so(ty.kind(), ty.bits()));
    let is_double = has(|kind, bits| kind == TypeKind::Float && bits > 32);
    match form.operation {
        // Products of 64 bits and conversions to and from floats take several, or slow ones.
        Op::Mul | Op::Mad => !is_double && !has(|_, bits| bits > 32),
        Op::Cvt => !has(|kind, _| !matches!(kind, TypeKind::Integer | TypeKind::Bits)),
        Op::Add
        | Op::Sub
        | Op::Fma
        | Op::Abs
        | Op::Neg
        | Op::Min
        | Op::Max
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Lop3
        | Op::Shl
        | Op::Shr
        | Op::Shf
        | Op::Prmt
        | Op::Bfe
        | Op::Bfi
        | Op::Selp => !is_double,
        _ => false,
    }
}
