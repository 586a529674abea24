//! Where registers are defined and used: what the analysis follows when one turns out to be divergent.

use crate::dataflow::liveness::LiveSet;
use crate::graph::dominator_tree::DominatorTree;
use crate::graph::iterated_frontier::IteratedFrontier;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};

/// Lists by key, one after the other.
#[derive(Default)]
pub(crate) struct Lists<T> {
    first: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// Files `pairs` by key, those of one key in their order.
    pub fn fill(&mut self, key_count: usize, pairs: &[(u32, T)]) {
        let Self { first, items } = self;
        first.clear();
        first.resize(key_count + 1, 0);
        pairs.iter().for_each(|&(key, _)| first[key as usize] += 1);
        let mut end = 0;
        for slot in first.iter_mut() {
            end += *slot;
            *slot = end;
        }
        items.clear();
        items.resize(pairs.len(), T::default());
        // Filling backwards turns each end into a start.
        for &(key, item) in pairs.iter().rev() {
            let slot = &mut first[key as usize];
            *slot -= 1;
            items[*slot as usize] = item;
        }
    }

    /// Where the items of `key` are.
    #[inline]
    pub fn span(&self, key: usize) -> std::ops::Range<usize> {
        self.first[key] as usize..self.first[key + 1] as usize
    }

    /// The item at a place of a span.
    #[inline]
    pub fn at(&self, place: usize) -> T {
        self.items[place]
    }

    /// The items of `key`.
    #[inline]
    pub fn of(&self, key: usize) -> &[T] {
        &self.items[self.span(key)]
    }
}

/// Definitions and uses of a function, and the places where definitions of a register meet.
#[derive(Default)]
pub(crate) struct Places {
    /// By register: instructions that read it.
    pub uses: Lists<InstId>,
    use_pairs: Vec<(u32, InstId)>,
    /// By register that lives across blocks: the blocks that define it.
    pub definitions: Lists<BlockId>,
    definition_pairs: Vec<(u32, BlockId)>,
    /// By block: registers of which several definitions may reach it and that live there.
    pub merged: Lists<VRegId>,
    merged_pairs: Vec<(u32, VRegId)>,
    frontier: IteratedFrontier,
}

impl Places {
    /// Lists uses and definitions in the reachable blocks of a function.
    pub fn compute(&mut self, function: &FunctionView<'_>, set: &LiveSet) {
        self.use_pairs.clear();
        self.definition_pairs.clear();
        for block in function.block_ids().filter(|block| function.orders[block.index()].is_reachable()) {
            for inst in function.insts_of(block) {
                for operand in function.operands_of(inst) {
                    let Some(vreg) = operand.vreg() else { continue };
                    if operand.is_use() {
                        self.use_pairs.push((vreg.0, inst));
                    }
                    if operand.is_definition() && set.bit_of(vreg).is_some() {
                        self.definition_pairs.push((vreg.0, block));
                    }
                }
            }
        }
        self.uses.fill(function.vregs.len(), &self.use_pairs);
        self.definitions.fill(function.vregs.len(), &self.definition_pairs);
    }

    /// Works out where definitions meet: the joins at which SSA form would have a phi.
    pub fn merge(&mut self, function: &FunctionView<'_>, set: &LiveSet, tree: &DominatorTree) {
        let Self { definitions, merged, merged_pairs, frontier, .. } = self;
        merged_pairs.clear();
        frontier.start();
        for &vreg in set.globals() {
            let defining = definitions.of(vreg.index()).iter().copied();
            frontier.find(function, tree, defining, |join| {
                let is_live = set.is_live_in(join, vreg);
                if is_live {
                    merged_pairs.push((join.0, vreg));
                }
                is_live
            });
        }
        merged.fill(function.blocks.len(), merged_pairs);
    }
}
