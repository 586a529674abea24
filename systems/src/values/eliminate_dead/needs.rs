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

use super::ALWAYS_LIVE;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, reads};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::{Defined, Definitions};
use ptxopt_engine::values::sites::Sites;

/// Predecessors of a join, for each site of a register, from which on the sites are looked at instead.
const PREDS_PER_SITE_MAX: usize = 4;

/// What is needed in a function, and the memory to find it.
#[derive(Default)]
pub struct Needs {
    definitions: Definitions,
    tree: DominatorTree,
    sites: Sites,
    /// By instruction.
    is_needed: Vec<bool>,
    /// By number of a definition of a register with several: it is read.
    is_one_demanded: Vec<bool>,
    /// The sweep has passed this instruction and all after it.
    passed: InstId,
    /// Needed instructions that the sweep has passed and whose uses were not followed yet.
    insts: Vec<InstId>,
    /// Registers that are read after the end of a block.
    ends: Vec<(VRegId, BlockId)>,
}

impl Needs {
    /// Finds joins of definitions by walks from now on, as in functions whose dominance frontiers are quadratic: what
    /// compares the two ways.
    pub fn walk_always(&mut self) {
        self.sites.walk_always();
    }

    /// Finds what is needed in a function whose control-flow facts hold.
    pub fn find(&mut self, function: &FunctionView<'_>) {
        self.definitions.collect(function, ALWAYS_LIVE);
        self.tree.compute(function);
        self.sites.start(function);
        self.is_one_demanded.clear();
        self.is_one_demanded.resize(self.definitions.several_count(), false);
        self.is_needed.clear();
        self.is_needed.resize(function.heads.len(), false);
        for vreg in function.vreg_ids().filter(|&vreg| self.definitions.is_demanded(vreg)) {
            for definition in self.definitions.of(vreg) {
                self.is_needed[definition.inst().index()] = true;
            }
        }
        for (inst, head, operands) in function.rows().rev() {
            let is_needed = &mut self.is_needed[inst.index()];
            *is_needed |= head.marks.contains(Marks::KEPT);
            if *is_needed {
                self.passed = inst;
                self.demand_uses(function, inst, head.block, operands);
                if !(self.ends.is_empty() && self.insts.is_empty()) {
                    self.follow(function);
                }
            }
        }
    }

    /// Whether the instruction has an effect, or a result that is needed.
    #[must_use]
    pub fn needs(&self, inst: InstId) -> bool {
        self.is_needed[inst.index()]
    }

    /// Whether what `inst` writes into `vreg` may be read.
    #[must_use]
    pub fn reads_result(&self, inst: InstId, vreg: VRegId) -> bool {
        if self.definitions.is_demanded(vreg) {
            return true;
        }
        let definitions = self.definitions.of(vreg);
        let at = definitions.partition_point(|definition| definition.inst() < inst);
        definitions.len() > 1 && self.is_one_demanded[self.definitions.number_of_first(vreg) + at]
    }

    /// The needed instructions that write more than one operand, in program order.
    pub(super) fn with_several_results(&self) -> impl Iterator<Item = InstId> + '_ {
        self.definitions.with_several_results().iter().copied().filter(|&inst| self.needs(inst))
    }

    /// Follows what the sweep has passed until all that it needs is marked.
    fn follow(&mut self, function: &FunctionView<'_>) {
        loop {
            if let Some((vreg, block)) = self.ends.pop() {
                self.demand_at_end(function, vreg, block);
            } else if let Some(inst) = self.insts.pop() {
                let block = function.heads[inst.index()].block;
                self.demand_uses(function, inst, block, function.operands_of(inst));
            } else {
                return;
            }
        }
    }

    /// `inst` of `block` is needed, and so is whatever it reads.
    #[inline]
    fn demand_uses(
        &mut self,
        function: &FunctionView<'_>,
        inst: InstId,
        block: BlockId,
        operands: &[Operand],
    ) {
        let is_phi = function.heads[inst.index()].is_phi();
        for vreg in reads(operands) {
            match self.definitions.defined(vreg) {
                Defined::Done => {}
                Defined::Once(from, _) if is_phi => {
                    // It is read at the end of a predecessor.
                    self.definitions.demand(vreg);
                    self.need(from);
                }
                Defined::Once(from, from_block) => {
                    let is_before = if from_block == block {
                        from < inst
                    } else {
                        self.tree.dominates(from_block, block)
                    };
                    if is_before {
                        self.definitions.demand(vreg);
                        self.need(from);
                    } else {
                        self.demand_at_start(function, vreg, block);
                    }
                }
                Defined::Often => self.demand_in_block(function, vreg, block, inst),
            }
        }
    }

    /// Marks an instruction; one that the sweep has passed is followed soon.
    #[inline]
    fn need(&mut self, inst: InstId) {
        if !std::mem::replace(&mut self.is_needed[inst.index()], true) && inst >= self.passed {
            self.insts.push(inst);
        }
    }

    /// The value of `vreg`, which has several definitions, is read in `block` before `before`.
    fn demand_in_block(
        &mut self,
        function: &FunctionView<'_>,
        vreg: VRegId,
        block: BlockId,
        mut before: InstId,
    ) {
        let first = function.blocks[block.index()].insts.first;
        loop {
            let definitions = self.definitions.of(vreg);
            let at = definitions.partition_point(|definition| definition.inst() < before);
            let Some(&definition) =
                definitions[..at].last().filter(|definition| definition.inst().0 >= first)
            else {
                return self.demand_at_start(function, vreg, block);
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
    fn demand_at_start(&mut self, function: &FunctionView<'_>, vreg: VRegId, block: BlockId) {
        if !self.tree.is_reachable(block) {
            return;
        }
        self.sites.make(function, &self.tree, vreg, self.definitions.of(vreg));
        let site = self.sites.innermost(&self.tree, vreg, block);
        match site.filter(|&site| self.sites.get(site).block == block && self.sites.get(site).is_join) {
            Some(site) => self.demand_join(function, vreg, site),
            None => {
                if let Some(idom) = function.orders[block.index()].idom.get() {
                    self.ends.push((vreg, idom));
                }
            }
        }
    }

    /// The value of `vreg` at the end of `block` is read; its sites are made.
    fn demand_at_end(&mut self, function: &FunctionView<'_>, vreg: VRegId, block: BlockId) {
        let Some(number) = self.sites.innermost(&self.tree, vreg, block) else { return };
        let site = *self.sites.get(number);
        if !site.defines {
            self.demand_join(function, vreg, number);
        } else if let Some(definition) = self.definitions.only(vreg) {
            // What a guarded one lets through comes from the same definition, or from nowhere.
            self.definitions.demand(vreg);
            self.need(definition.inst());
        } else {
            let end = InstId::new(function.blocks[site.block.index()].insts.end());
            self.demand_in_block(function, vreg, site.block, end);
        }
    }

    /// The values of `vreg` that meet at a site are read.
    fn demand_join(&mut self, function: &FunctionView<'_>, vreg: VRegId, site: usize) {
        if !self.sites.demand(site) {
            return;
        }
        let Self { tree, sites, ends, .. } = self;
        let join = sites.get(site).block;
        let preds = function.preds(join);
        if preds.len() < PREDS_PER_SITE_MAX * sites.count(vreg) {
            ends.extend(preds.iter().filter(|&&pred| tree.is_reachable(pred)).map(|&pred| (vreg, pred)));
        } else {
            sites.around_preds(function, tree, vreg, join, |block| ends.push((vreg, block)));
        }
    }
}
