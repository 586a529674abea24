//! Where threads that went different ways come together: the joins of a divergent branch, the loops that they leave in
//! different rounds, and the blocks that only some of them execute.
//!
//! # Joins
//! A join of a branch is where two ways from it, with no block in common, meet. With `M` the first block after the
//! branch that all its ways pass in this round, a join is `M` or lies before it, and
//! ```text
//! - it is immediately dominated by the branch, with two edges or more (Menger: no block between separates them), or
//! - it is in the iterated dominance frontier of the branch.
//! ```
//! The second may hold a block that only one way reaches, as the `else` of `if (uniform && divergent)`: that is one
//! verdict lost and none wrong. Marking the branch's children and frontiers costs what they hold, once a branch; a block
//! of a frontier is followed again only for an `M` that lies further on, and its `M`s lie on one chain.
//!
//! # Loops
//! A loop that `M` lies outside of is left in different rounds, so it counts as a branch of its own, from all its blocks
//! to all its exits. Its back edge joins ways only where it has several latches.
//!
//! # Ends of threads
//! A way on which threads only end joins nothing: `if (i >= n) return;` is no split.

use super::forward::{ForwardTree, Node};
use crate::graph::build::leaves_function;
use crate::graph::dominator_tree::DominatorTree;
use crate::graph::frontiers::Frontiers;
use crate::graph::nest::LoopNest;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, LoopId};
use ptxopt_components::instruction::Marks;

/// The joins and partly executed blocks found so far, and what finds them.
#[derive(Default)]
pub(crate) struct Joins {
    pub tree: ForwardTree,
    pub dominators: DominatorTree,
    frontiers: Frontiers,
    /// By block: whether threads that went different ways meet there.
    is_join: Vec<bool>,
    /// By block: whether, where the warp executes it, some living threads may not. Early ends do not count.
    is_partial: Vec<bool>,
    /// By loop: whether threads leave it in different rounds.
    is_left_apart: Vec<bool>,
    /// By block: the bound up to which its frontier was looked at.
    bounds: Vec<Option<Node>>,
    /// By node: itself if no walk up the tree went over it, else something above that.
    unwalked: Vec<u32>,
    waiting: Vec<BlockId>,
    partial_waiting: Vec<BlockId>,
    /// What was found since it was last taken.
    pub found: Found,
    /// Some threads may end while others go on.
    pub ends_apart: bool,
}

/// What splits have led to.
#[derive(Default)]
pub(crate) struct Found {
    pub joins: Vec<BlockId>,
    pub partial: Vec<BlockId>,
    pub loops: Vec<LoopId>,
}

impl Joins {
    /// Makes ready for a function without irreducible regions in which something diverges; false where its joins are too
    /// many to list.
    pub fn start(&mut self, function: &FunctionView<'_>, nest: &LoopNest) -> bool {
        self.dominators.compute(function);
        if !self.frontiers.compute(function, &self.dominators) {
            return false;
        }
        self.tree.compute(function, nest);
        let block_count = function.blocks.len();
        for bits in [&mut self.is_join, &mut self.is_partial] {
            bits.clear();
            bits.resize(block_count, false);
        }
        self.is_left_apart.clear();
        self.is_left_apart.resize(nest.rows().len(), false);
        self.bounds.clear();
        self.bounds.resize(block_count, None);
        self.unwalked.clear();
        self.unwalked.extend(0..(block_count + nest.rows().len()) as u32);
        self.found = Found::default();
        self.ends_apart = false;
        true
    }

    /// Whether, where the warp executes `block`, some living threads may not.
    pub fn is_partial(&self, block: BlockId) -> bool {
        self.is_partial[block.index()]
    }

    /// The branch at the end of `block` is divergent.
    pub fn split_at_branch(&mut self, function: &FunctionView<'_>, nest: &LoopNest, block: BlockId) {
        let succs = function.succs(block);
        let mut on = succs.iter().filter(|&&succ| !only_ends(function, nest, block, succ));
        let first = on.next();
        let splits = first.is_some_and(|first| on.any(|succ| succ != first));
        self.ends_apart |= leaves_function(function, block)
            || succs.iter().any(|&succ| only_ends(function, nest, block, succ));
        if !splits {
            return;
        }
        let bound = self.tree.above(Node(block.0));
        let Self { dominators, is_join, found, .. } = self;
        for child in dominators.children(block).filter(|&child| joins_edges(function, nest, child)) {
            mark_join(is_join, found, child);
        }
        self.walk_frontier(function, nest, block, None, bound);
        self.walk_partial(function, nest, block, bound);
        let mut around = nest.loop_of(block);
        while let Some(id) = around.filter(|&id| !self.tree.holds(nest, id, bound)) {
            if !self.leave_apart(function, nest, id, bound) {
                break;
            }
            around = nest.row(id).parent.get();
        }
        self.close_partial(function, nest);
    }

    /// Threads leave `id` in different rounds, and all pass `bound` after it. Whether that is news.
    fn leave_apart(&mut self, function: &FunctionView<'_>, nest: &LoopNest, id: LoopId, bound: Node) -> bool {
        if nest.exits(id).next().is_none() || std::mem::replace(&mut self.is_left_apart[id.index()], true) {
            return false;
        }
        self.found.loops.push(id);
        for &block in nest.blocks(id) {
            self.partial(block);
            let Self { dominators, is_join, found, .. } = self;
            let is_outer_join =
                |child: &BlockId| !nest.holds(id, *child) && joins_edges(function, nest, *child);
            for child in dominators.children(block).filter(is_outer_join) {
                mark_join(is_join, found, child);
            }
        }
        self.walk_frontier(function, nest, nest.row(id).header, Some(id), bound);
        true
    }

    /// Marks the joins of the iterated frontier of `from` up to `bound`. The split is after the rounds of `left`.
    fn walk_frontier(
        &mut self,
        function: &FunctionView<'_>,
        nest: &LoopNest,
        from: BlockId,
        left: Option<LoopId>,
        bound: Node,
    ) {
        self.waiting.push(from);
        while let Some(block) = self.waiting.pop() {
            for at in 0..self.frontiers.of(block).len() {
                let join = self.frontiers.of(block)[at];
                let is_back = function.orders[join.index()].dominates(&function.orders[block.index()]);
                if is_back {
                    let id = nest.loop_of(join).expect("a back edge leads to a loop's header");
                    let is_ahead = left != Some(id) && nest.latches(id).len() > 1;
                    if is_ahead && self.tree.post_dominates(bound, self.tree.round_end(id)) {
                        self.join(join);
                    }
                    continue;
                }
                let node = Node(join.0);
                if !self.tree.post_dominates(bound, node) {
                    continue;
                }
                self.join(join);
                let is_news =
                    self.bounds[join.index()].is_none_or(|old| !self.tree.post_dominates(old, bound));
                if node != bound && is_news {
                    self.bounds[join.index()] = Some(bound);
                    self.waiting.push(join);
                }
            }
        }
    }

    /// Marks what lies on the ways from the end of `block` up to `bound`: what it controls, directly.
    fn walk_partial(&mut self, function: &FunctionView<'_>, nest: &LoopNest, block: BlockId, bound: Node) {
        for &succ in function.succs(block) {
            let mut node = self.first_unwalked(self.tree.target(function, nest, block, succ));
            while node != Node::OUT && node != bound && self.tree.post_dominates(bound, node) {
                if let Some(block) = self.tree.block(node) {
                    self.partial(block);
                }
                self.unwalked[node.0 as usize] = self.tree.above(node).0;
                node = self.first_unwalked(node);
            }
        }
    }

    /// The first node from `node` upward that no walk went over.
    fn first_unwalked(&mut self, node: Node) -> Node {
        let mut top = node.0;
        while top != Node::OUT.0 && self.unwalked[top as usize] != top {
            top = self.unwalked[top as usize];
        }
        let mut at = node.0;
        while at != top {
            at = std::mem::replace(&mut self.unwalked[at as usize], top);
        }
        Node(top)
    }

    /// Marks what branches of partly executed blocks control in turn.
    fn close_partial(&mut self, function: &FunctionView<'_>, nest: &LoopNest) {
        while let Some(block) = self.partial_waiting.pop() {
            // A guarded end is a second way, though no edge: who goes on after it does so by the split before, too.
            let leaves = leaves_function(function, block);
            self.ends_apart |= leaves;
            if leaves || function.succs(block).len() > 1 {
                self.walk_partial(function, nest, block, self.tree.above(Node(block.0)));
            }
        }
    }

    fn join(&mut self, block: BlockId) {
        mark_join(&mut self.is_join, &mut self.found, block);
    }

    fn partial(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.is_partial[block.index()], true) {
            self.found.partial.push(block);
            self.partial_waiting.push(block);
        }
    }
}

fn mark_join(is_join: &mut [bool], found: &mut Found, block: BlockId) {
    if !std::mem::replace(&mut is_join[block.index()], true) {
        found.joins.push(block);
    }
}

/// Whether the same threads execute two blocks: in each round of the loop around both, whoever executes one executes the
/// other.
pub(crate) fn same_threads(
    tree: &ForwardTree,
    function: &FunctionView<'_>,
    nest: &LoopNest,
    one: BlockId,
    other: BlockId,
) -> bool {
    let orders = function.orders;
    let is_reachable = |block: BlockId| orders[block.index()].is_reachable();
    let is_between = |first: BlockId, last: BlockId| {
        orders[first.index()].dominates(&orders[last.index()])
            && tree.post_dominates(Node(last.0), Node(first.0))
    };
    is_reachable(one)
        && is_reachable(other)
        && nest.loop_of(one) == nest.loop_of(other)
        && (is_between(one, other) || is_between(other, one))
}

/// Whether two forward edges or more lead to `block`.
fn joins_edges(function: &FunctionView<'_>, nest: &LoopNest, block: BlockId) -> bool {
    let orders = function.orders;
    let turns_back = |pred: &BlockId| {
        nest.loop_of(block).is_some() && orders[block.index()].dominates(&orders[pred.index()])
    };
    let is_forward = |pred: &&BlockId| orders[pred.index()].is_reachable() && !turns_back(pred);
    function.preds(block).iter().filter(is_forward).nth(1).is_some()
}

/// Whether threads that go from `block` to `succ` end without doing anything that others do too.
///
/// What they leave a loop with differs by round, so after a loop the end must be bare.
pub(crate) fn only_ends(function: &FunctionView<'_>, nest: &LoopNest, block: BlockId, succ: BlockId) -> bool {
    if !function.succs(succ).is_empty() {
        return false;
    }
    let is_control = |inst| function.heads[Id::index(inst)].marks.contains(Marks::CONTROL);
    let is_own = || nest.loop_of(block).is_none() && function.preds(succ).len() == 1;
    is_own() || function.insts_of(succ).all(is_control)
}
