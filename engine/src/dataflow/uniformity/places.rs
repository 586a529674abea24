//! Where registers are defined and used: what the analysis follows when one turns out to be divergent.

use crate::dataflow::liveness::LiveSet;
use crate::graph::dominator_tree::DominatorTree;
use crate::graph::iterated_frontier::IteratedFrontier;
use crate::lists::Lists;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};

/// Definitions and uses of a function, and the places where definitions of a register meet.
#[derive(Default)]
pub(crate) struct Places {
    /// By register: instructions that read it.
    pub uses: Lists<InstId>,
    use_pairs: Vec<(u32, InstId)>,
    /// By register that lives across blocks: the blocks that define it.
    pub definitions: Lists<BlockId>,
    definition_pairs: Vec<(u32, BlockId)>,
    /// By block: registers that live across blocks, and that it defines.
    pub defined: Lists<VRegId>,
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
        self.uses.fill(function.vregs.len(), self.use_pairs.iter().copied());
        self.definitions.fill(function.vregs.len(), self.definition_pairs.iter().copied());
        let by_block = self.definition_pairs.iter().map(|&(vreg, block)| (block.0, VRegId(vreg)));
        self.defined.fill(function.blocks.len(), by_block);
    }

    /// Works out where definitions meet: the joins at which SSA form would have a phi. False where that takes more than `steps_left`,
    /// which it counts down.
    pub fn merge(
        &mut self,
        function: &FunctionView<'_>,
        set: &LiveSet,
        tree: &DominatorTree,
        steps_left: &mut usize,
    ) -> bool {
        let Self { definitions, merged, merged_pairs, frontier, .. } = self;
        merged_pairs.clear();
        frontier.start();
        for &vreg in set.globals() {
            let defining = definitions.of(vreg.index()).iter().copied();
            let steps = frontier.find(function, tree, defining, |join| {
                let is_live = set.is_live_in(join, vreg);
                if is_live {
                    merged_pairs.push((join.0, vreg));
                }
                is_live
            });
            let Some(left) = steps_left.checked_sub(steps) else { return false };
            *steps_left = left;
        }
        merged.fill(function.blocks.len(), merged_pairs.iter().copied());
        true
    }
}
