//! Branches that nothing depends on: whichever way control takes, it does nothing that is needed before the ways meet.
//!
//! ```text
//! setp.lt.s32 p, a, b;               bra J;
//! @p bra A;
//! add.s32 x, x, 1;        ->         J: ...
//! bra J;
//! A: sub.s32 x, x, 1;
//! J: ...                  // nothing reads x
//! ```
//! What a branch is needed for is what [depends](Control) on it: instructions in blocks that one of its ways passes and another one need
//! not pass. So a search takes no branch for needed from the start, but a branch with whatever it decides about (Cytron et al. 1991,
//! section 7.1). That finds all of a nest at once, and chains of arms that only make the conditions of other branches; where empty
//! arms are taken for it one after the other, each needs a round of its own.
//!
//! # What stays
//! - Loops, whether or not something in them is needed: one that never ends may be what keeps a thread from going on. So what leads to
//!   a branch back is needed. Were all loops taken to end, nothing would go in corpus and wild set, and 347 of 35,854 instructions of 100
//!   random C programs at -O0 with functions inlined.
//! - A branch of which one way leaves the function: its ways meet nowhere.
//! - Indexed branches: what an index past the table does is undefined.
//! - A branch that decides from where control comes to a phi that is needed.
//! - All branches of a function with more pairs of a block and a branch than `DECIDED_PER_BLOCK` allows; a remark says so.
//!
//! # When it is looked for
//! Dominance against the edges costs more than all else here, and few functions have such a branch. Of those that a function has, one
//! has arms that hold nothing which is needed even where all branches are, but for branches that decide about each other around a
//! loop. So `Branches::may_be_dead` looks for such arms first.

use super::Needs;
use crate::flow::guards::{delete_unreachable, may_settle};
use ptxopt_components::ids::{BlockId, Id, InstId, Maybe};
use ptxopt_components::operation::Operation;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::graph::build::leaves_function;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::post_dominators::{PostDominatorScratch, PostDominators, find_post_dominators};
use ptxopt_engine::store::view::FunctionView;
use std::cell::Cell;

/// Pairs of a block and a branch that decides about it, by block of the function. A nest of branches has as many as its depth.
const DECIDED_PER_BLOCK: usize = 32;

/// What is said where a function has more.
pub(super) const TOO_DEEP: &str = "branches lie too deep in one another to see which of them are needed";

/// The search for branches that nothing depends on, and its memory.
#[derive(Default)]
pub(super) struct Branches {
    /// By block: where control comes from there without anything that is needed.
    next: Vec<BlockId>,
    tree: PostDominators,
    scratch: PostDominatorScratch,
    /// What depends on them.
    pub(super) control: Control,
    /// Those that nothing depends on, and where their ways meet.
    dead: Vec<(InstId, BlockId)>,
}

/// Which branches decide whether a block is executed: those of which one way passes the block always, and another one need not.
#[derive(Default)]
pub(super) struct Control {
    /// By block: the conditional branch at its end, if that may go.
    branch: Vec<Maybe<InstId>>,
    /// Blocks, in their order, and branches that decide about them.
    decided: Vec<(BlockId, InstId)>,
    /// By block: whether something in it is needed.
    is_live: Vec<Cell<bool>>,
}

impl Control {
    /// The conditional branch at the end of a block, if that may go.
    pub(super) fn branch_of(&self, block: BlockId) -> Option<InstId> {
        self.branch[block.index()].get()
    }

    /// The conditional branches that may go.
    pub(super) fn branches(&self) -> impl Iterator<Item = InstId> + '_ {
        self.branch.iter().filter_map(|branch| branch.get())
    }

    /// Marks a block as one of which something is needed; gives the branches that decide about it, none where it was marked before.
    pub(super) fn enter(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        let decided = if self.is_live[block.index()].replace(true) { &[] } else { &self.decided[..] };
        let first = decided.partition_point(|&(of, _)| of < block);
        decided[first..].iter().take_while(move |&&(of, _)| of == block).map(|&(_, branch)| branch)
    }
}

impl Branches {
    /// Whether there is a branch with arms that hold nothing which is needed, where all branches are. `order` is the reverse postorder.
    pub(super) fn may_be_dead(
        &mut self,
        function: &FunctionView<'_>,
        needs: &Needs,
        order: &[BlockId],
    ) -> bool {
        let next = &mut self.next;
        next.clear();
        next.extend(function.block_ids());
        order.iter().rev().any(|&block| match *function.succs(block) {
            [only] => {
                if does_nothing(function, needs, block) {
                    next[block.index()] = next[only.index()];
                }
                false
            }
            [one, other] => next[one.index()] == next[other.index()] && !turns_back(function, block),
            _ => false,
        })
    }

    /// Finds what depends on which branch; whether that is no more than is looked at.
    pub(super) fn find_control(&mut self, f: &FunctionEditor<'_>) -> bool {
        let function = &f.view();
        let Self { tree, scratch, control: Control { branch, decided, is_live }, .. } = self;
        let graph = Graph { edges: function.edges, pool: &function.pools.edges };
        find_post_dominators(graph, function.orders, |block| leaves_function(function, block), scratch, tree);
        let count = function.blocks.len();
        branch.clear();
        branch.resize(count, Maybe::NONE);
        is_live.clear();
        is_live.resize(count, Cell::new(false));
        decided.clear();
        for block in function.block_ids() {
            let Some(meet) = tree.ipdom(block) else { continue };
            let Some(inst) = function.control_of(block) else { continue };
            let is_branch = f.form_of(inst).operation == Operation::Bra && may_settle(f, inst);
            if !is_branch || turns_back(function, block) {
                continue;
            }
            branch[block.index()] = Maybe::some(inst);
            for &succ in function.succs(block) {
                let mut passed = Some(succ).filter(|&passed| passed != meet);
                while let Some(at) = passed {
                    if decided.len() == DECIDED_PER_BLOCK * count {
                        return false;
                    }
                    decided.push((at, inst));
                    passed = tree.ipdom(at).filter(|&passed| passed != meet);
                }
            }
        }
        decided.sort_unstable();
        true
    }

    /// Lists the branches that nothing needs, and where their ways meet.
    pub(super) fn list_dead(&mut self, function: &FunctionView<'_>, needs: &Needs) -> bool {
        let Self { tree, control, dead, .. } = self;
        dead.clear();
        dead.extend(function.block_ids().filter_map(|block| {
            let branch = control.branch_of(block).filter(|&branch| !needs.needs(branch))?;
            Some((branch, tree.ipdom(block)?))
        }));
        !dead.is_empty()
    }

    /// Lets control go where the ways of the branches meet, and deletes what else is not needed; nothing where the bisect limit is
    /// reached. That is one change, since the conditions of branches go with them.
    pub(super) fn remove(&self, f: &mut FunctionEditor<'_>, unneeded: &[InstId]) -> Option<()> {
        let mut change = f.change_in_place(self.dead[0].0, "nothing depends on the branch")?;
        for &(branch, meet) in &self.dead {
            change.branch_to(branch, meet);
            change.drop_guard(branch);
        }
        for &inst in unneeded {
            let block = change.function().heads[inst.index()].block;
            if self.control.branch_of(block) != Some(inst) {
                change.delete(inst);
            }
        }
        delete_unreachable(f)?;
        for &(branch, meet) in &self.dead {
            let head = f.head(branch);
            if head.is_live() && f.next_in_text(head.block) == Some(meet) {
                f.change_in_place(branch, "branch to the block after it")?.delete_branch(branch);
            }
        }
        Some(())
    }
}

/// Whether a block falls or jumps to another one, not back, and does nothing before that is needed; phis that are needed there tell
/// from where control comes.
fn does_nothing(function: &FunctionView<'_>, needs: &Needs, block: BlockId) -> bool {
    let mut rows = function.insts_of(block).filter(|&inst| needs.needs(inst));
    let is_jump = |inst: InstId| function.control_of(block) == Some(inst);
    let is_empty = rows.next().is_none_or(|inst| is_jump(inst) && function.guard_of(inst).is_none());
    let mut phis = function
        .succs(block)
        .iter()
        .flat_map(|&succ| function.insts_of(succ).take_while(|&inst| function.heads[inst.index()].is_phi()));
    is_empty && !turns_back(function, block) && !phis.any(|phi| needs.needs(phi))
}

/// Whether one of a block's edges leads back.
pub(super) fn turns_back(function: &FunctionView<'_>, block: BlockId) -> bool {
    let order = |block: BlockId| &function.orders[block.index()];
    function.succs(block).iter().any(|&succ| order(block).turns_back_to(order(succ)))
}
