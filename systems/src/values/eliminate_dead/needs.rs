//! Which definitions something with an effect needs: strong liveness, followed from uses to definitions.
//!
//! An instruction with an effect is needed, and so is every definition that reaches a use by a needed instruction.
//! That is the smallest set which is closed in this way, so a chain of any length, against the blocks or around a
//! loop, is left out of it whole, and running again finds nothing.
//!
//! # From a use to what reaches it
//! ```text
//! mov r1, 5;         // reaches the add: where p is false, it reads this
//! @p mov r1, 7;      // reaches the add, and lets what is before it through
//! add r2, r1, 1;
//! ```
//! The search goes backward from the use, to the last definition in the block. An unguarded one ends it; a guarded or
//! partial one does not. At the start of the block it goes on at the innermost [site](ptxopt_engine::values::sites) that dominates
//! it; at a join, at the ends of all predecessors. What was asked for once is not asked for again, so the work is
//! that of making SSA form for the registers that have several definitions. The definition of all others dominates
//! the use, which is a comparison. At a join of many predecessors only those count at whose ends the values differ, so
//! the register's sites are looked at instead where there are fewer of them.
//!
//! # Backward, because rows stream
//! One sweep goes from the last instruction to the first and follows the uses of what is needed when it gets there.
//! Most definitions stand before their uses, so they are marked and wait for the sweep; only those that it has passed,
//! around a loop, are followed at once. Following every definition at once visits the rows of a large function in the
//! order of a depth-first search, which no cache likes.

use super::branches::{Control, turns_back};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::{Defined, Definitions};
use ptxopt_engine::values::reaching::Reaching;
use ptxopt_engine::values::sites::Sites;
use std::cell::Cell;

/// Predecessors of a join, for each site of a register, from which on the sites are looked at instead.
const PREDS_PER_SITE_MAX: usize = 4;

/// What is needed in a function, and the memory to find it.
#[derive(Default)]
pub struct Needs {
    sites: Sites,
    /// By register: it is read, whatever its definitions.
    is_demanded: Vec<bool>,
    /// By instruction.
    is_needed: Vec<bool>,
    /// By number of a definition of a register with several: it is read.
    is_one_demanded: Vec<bool>,
    /// Live instructions that nothing needs; during the sweep, that nothing needed when it came to them.
    unneeded: Vec<InstId>,
    waiting: Waiting,
}

/// What is to be followed.
#[derive(Default)]
struct Waiting {
    /// Needed instructions that the sweep has passed and whose uses were not followed yet.
    insts: Vec<InstId>,
    /// Registers with several definitions, or whose definition does not dominate the read, and the needed instructions that read
    /// them.
    reads: Vec<(VRegId, InstId)>,
    /// Registers that are read after the end of a block.
    ends: Vec<(VRegId, BlockId)>,
}

impl Needs {
    /// Finds joins of definitions by walks from now on, as in functions whose dominance frontiers are quadratic: what
    /// compares the two ways.
    pub fn walk_always(&mut self) {
        self.sites.walk_always();
    }

    /// Finds what is needed in a function whose definitions `reaching` knows.
    pub fn find(&mut self, function: &FunctionView<'_>, reaching: &Reaching) {
        self.find_by(function, reaching, None);
    }

    /// The same, where branches are needed only for what they decide about: all of them, if nothing is said of that.
    pub(super) fn find_by(
        &mut self,
        function: &FunctionView<'_>,
        reaching: &Reaching,
        control: Option<&Control>,
    ) {
        self.start(function, reaching, control);
        let Self { sites, is_demanded, is_needed, is_one_demanded, unneeded, waiting } = self;
        let is_needed = Cell::from_mut(&mut is_needed[..]).as_slice_of_cells();
        let mut search = Search {
            function,
            definitions: reaching.definitions(),
            tree: reaching.tree(),
            control,
            sites,
            is_demanded: Cell::from_mut(&mut is_demanded[..]).as_slice_of_cells(),
            is_needed,
            is_one_demanded,
            passed: InstId::new(function.heads.len()),
            waiting,
        };
        // Loops stay, with what leads to their ends.
        if control.is_some() {
            function.block_ids().filter(|&block| turns_back(function, block)).for_each(|block| {
                search.enter(block);
            });
        }
        function.rows().rev().for_each(|(inst, head, operands)| {
            if is_needed[inst.index()].get() {
                search.passed = inst;
                if search.demand_uses(inst, head, operands) {
                    search.follow();
                }
            } else {
                unneeded.push(inst);
            }
        });
        // Some of them were needed after all, around a loop.
        unneeded.retain(|inst| !is_needed[inst.index()].get());
        unneeded.reverse();
    }

    /// Forgets the function before; what something beside this one may look at is needed.
    fn start(&mut self, function: &FunctionView<'_>, reaching: &Reaching, control: Option<&Control>) {
        let definitions = reaching.definitions();
        self.sites.start(function);
        self.is_one_demanded.clear();
        self.is_one_demanded.resize(definitions.several_count(), false);
        self.is_needed.clear();
        let is_kept = |head: &InstHead| head.is_live() && head.marks.contains(Marks::KEPT);
        self.is_needed.extend(function.heads.iter().map(is_kept));
        for branch in control.into_iter().flat_map(Control::branches) {
            self.is_needed[branch.index()] = false;
        }
        self.unneeded.clear();
        self.is_demanded.clear();
        self.is_demanded.resize(function.vregs.len(), false);
        for (vreg, head) in function.vregs.iter().enumerate() {
            if head.flags.intersects(VRegFlags::READ_ELSEWHERE) {
                self.is_demanded[vreg] = true;
                for definition in definitions.of(VRegId::new(vreg)) {
                    self.is_needed[definition.inst().index()] = true;
                }
            }
        }
    }

    /// Whether definitions count as read without a look, because too many of them meet.
    pub fn take_cut_short(&mut self) -> bool {
        self.sites.take_cut_short()
    }

    /// Whether the instruction has an effect, or a result that is needed.
    #[must_use]
    pub fn needs(&self, inst: InstId) -> bool {
        self.is_needed[inst.index()]
    }

    /// The live instructions that nothing needs, in the order of their ids.
    #[must_use]
    pub fn unneeded(&self) -> &[InstId] {
        &self.unneeded
    }

    /// Whether what `inst` writes into `vreg` may be read.
    #[must_use]
    pub fn reads_result(&self, reaching: &Reaching, inst: InstId, vreg: VRegId) -> bool {
        if self.is_demanded[vreg.index()] {
            return true;
        }
        let definitions = reaching.definitions().of(vreg);
        let at = definitions.partition_point(|definition| definition.inst() < inst);
        definitions.len() > 1 && self.is_one_demanded[reaching.definitions().number_of_first(vreg) + at]
    }
}

/// The search in one function.
struct Search<'s> {
    function: &'s FunctionView<'s>,
    definitions: &'s Definitions,
    tree: &'s DominatorTree,
    control: Option<&'s Control>,
    sites: &'s mut Sites,
    is_demanded: &'s [Cell<bool>],
    is_needed: &'s [Cell<bool>],
    is_one_demanded: &'s mut [bool],
    /// The sweep has passed this instruction and all after it.
    passed: InstId,
    waiting: &'s mut Waiting,
}

impl Search<'_> {
    /// Follows what the sweep has passed until all that it needs is marked.
    fn follow(&mut self) {
        loop {
            if let Some((vreg, inst)) = self.waiting.reads.pop() {
                self.demand_before(vreg, inst);
            } else if let Some((vreg, block)) = self.waiting.ends.pop() {
                self.demand_at_end(vreg, block);
            } else if let Some(inst) = self.waiting.insts.pop() {
                let head = &self.function.heads[inst.index()];
                self.demand_uses(inst, head, self.function.operands_of(inst));
            } else {
                return;
            }
        }
    }

    /// `inst` is needed, and so is whatever it reads. Says whether there is anything to follow now. In line in the sweep, which
    /// comes here for nearly every instruction.
    #[inline(always)]
    fn demand_uses(&mut self, inst: InstId, head: &InstHead, operands: &[Operand]) -> bool {
        // A phi reads at the end of a predecessor.
        let is_before = |from: InstId, block: BlockId| match block == head.block {
            true => from < inst || head.is_phi(),
            false => self.tree.dominates(block, head.block) || head.is_phi(),
        };
        let mut has_more = self.control.is_some() && self.demand_way(head, operands);
        for vreg in reads(operands) {
            let is_demanded = &self.is_demanded[vreg.index()];
            if is_demanded.get() {
                continue;
            }
            match self.definitions.defined(vreg) {
                Defined::Never => {}
                Defined::Once(from, block) if is_before(from, block) => {
                    is_demanded.set(true);
                    has_more |= self.need(from);
                }
                Defined::Once(..) | Defined::Often => {
                    self.waiting.reads.push((vreg, inst));
                    has_more = true;
                }
            }
        }
        has_more
    }

    /// An instruction is needed, so it is needed that control comes there; of a phi, from where it comes. Says whether there is anything
    /// to follow now.
    fn demand_way(&mut self, head: &InstHead, operands: &[Operand]) -> bool {
        // A jump is needed where its block is.
        let is_jump =
            head.marks.contains(Marks::CONTROL) && matches!(operands, [to] if to.as_block().is_some());
        let mut has_more = !is_jump && self.enter(head.block);
        if head.is_phi() {
            for &pred in self.function.preds(head.block) {
                let branch = self.control.and_then(|control| control.branch_of(pred));
                has_more |= self.enter(pred) | branch.is_some_and(|branch| self.need(branch));
            }
        }
        has_more
    }

    /// Something in a block is needed, and so are the branches that decide about it.
    fn enter(&mut self, block: BlockId) -> bool {
        let branches = self.control.into_iter().flat_map(|control| control.enter(block));
        branches.fold(false, |has_more, branch| self.need(branch) | has_more)
    }

    /// Marks an instruction. Says whether it is one that the sweep has passed: it is followed soon.
    #[inline]
    fn need(&mut self, inst: InstId) -> bool {
        let is_new = !self.is_needed[inst.index()].replace(true) && inst >= self.passed;
        if is_new {
            self.waiting.insts.push(inst);
        }
        is_new
    }

    /// The value of `vreg` is read by `inst`, which the only definition does not dominate, or there are several.
    fn demand_before(&mut self, vreg: VRegId, inst: InstId) {
        let block = self.function.heads[inst.index()].block;
        if self.definitions.only(vreg).is_some() {
            self.demand_at_start(vreg, block);
        } else {
            self.demand_in_block(vreg, block, inst);
        }
    }

    /// The value of `vreg`, which has several definitions, is read in `block` before `before`.
    fn demand_in_block(&mut self, vreg: VRegId, block: BlockId, mut before: InstId) {
        let first = self.function.blocks[block.index()].insts.first;
        loop {
            let definitions = self.definitions.of(vreg);
            let at = definitions.partition_point(|definition| definition.inst() < before);
            let Some(&definition) =
                definitions[..at].last().filter(|definition| definition.inst().0 >= first)
            else {
                return self.demand_at_start(vreg, block);
            };
            let number = self.definitions.number_of_first(vreg) + at - 1;
            if std::mem::replace(&mut self.is_one_demanded[number], true) {
                return;
            }
            self.need(definition.inst());
            if definition.kills() {
                return;
            }
            before = definition.inst();
        }
    }

    /// The value of `vreg` at the start of `block` is read.
    fn demand_at_start(&mut self, vreg: VRegId, block: BlockId) {
        if !self.tree.is_reachable(block) {
            return;
        }
        let sites = &mut *self.sites;
        if !sites.make(self.function, self.tree, vreg, self.definitions.of(vreg)) {
            return self.demand_all(vreg);
        }
        let site = sites.innermost(self.tree, vreg, block);
        match site.filter(|&site| sites.get(site).block == block && sites.get(site).is_join) {
            Some(site) => self.demand_join(vreg, site),
            None => {
                if let Some(idom) = self.function.orders[block.index()].idom.get() {
                    self.waiting.ends.push((vreg, idom));
                }
            }
        }
    }

    /// Any definition of `vreg` may be read: nothing looks for those that are.
    #[cold]
    fn demand_all(&mut self, vreg: VRegId) {
        self.is_demanded[vreg.index()].set(true);
        for definition in self.definitions.of(vreg) {
            self.need(definition.inst());
        }
    }

    /// The value of `vreg` at the end of `block` is read; its sites are made.
    fn demand_at_end(&mut self, vreg: VRegId, block: BlockId) {
        let Some(number) = self.sites.innermost(self.tree, vreg, block) else { return };
        let site = *self.sites.get(number);
        if !site.defines {
            self.demand_join(vreg, number);
        } else if let Some(definition) = self.definitions.only(vreg) {
            // What a guarded one lets through comes from the same definition, or from nowhere.
            self.is_demanded[vreg.index()].set(true);
            self.need(definition.inst());
        } else {
            let end = InstId::new(self.function.blocks[site.block.index()].insts.end());
            self.demand_in_block(vreg, site.block, end);
        }
    }

    /// The values of `vreg` that meet at a site are read.
    fn demand_join(&mut self, vreg: VRegId, site: usize) {
        let (sites, ends) = (&mut *self.sites, &mut self.waiting.ends);
        if !sites.demand(site) {
            return;
        }
        let join = sites.get(site).block;
        let preds = self.function.preds(join);
        if preds.len() < PREDS_PER_SITE_MAX * sites.count(vreg) {
            ends.extend(preds.iter().filter(|&&pred| self.tree.is_reachable(pred)).map(|&pred| (vreg, pred)));
        } else {
            sites.around_preds(self.function, self.tree, vreg, join, |block| ends.push((vreg, block)));
        }
    }
}
