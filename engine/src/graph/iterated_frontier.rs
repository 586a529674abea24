//! The iterated dominance frontier of a set of blocks: where definitions of a register that they hold meet.
//!
//! The frontier of every block is listed once for a function and serves all its registers. In ladders of joins, as a
//! switch whose cases fall through makes them, every block has all later rungs in its frontier: where the lists would be
//! quadratic, each set gets a walk of its own over the dominator tree, linear in blocks and edges.
//!
//! Papers: Cytron et al. 1991, section 5; Sreedhar and Gao 1995, "A linear time algorithm for placing phi-nodes".

use super::dominator_tree::DominatorTree;
use super::frontiers::Frontiers;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id};
use std::collections::BinaryHeap;

/// Steps that the searches for the registers of every function may take, and those for each of its rows: see
/// [`steps_max`].
const STEPS_LEAST: usize = 1 << 16;
const STEPS_PER_ROW_MAX: usize = 64;

/// Steps of [`IteratedFrontier::find`] after which what searches for many registers of a function should leave the others out: where
/// frontiers are not listed, each search may walk over all blocks.
#[must_use]
pub fn steps_max(function: &FunctionView<'_>) -> usize {
    STEPS_LEAST + STEPS_PER_ROW_MAX * function.heads.len()
}

/// How iterated frontiers are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// It was not asked for yet.
    #[default]
    Unknown,
    /// In the frontiers of blocks, which are listed.
    Lists,
    /// By a walk over the tree for each set of blocks: the lists would be too large.
    Walks,
}

/// Finds iterated dominance frontiers in one function.
#[derive(Default)]
pub struct IteratedFrontier {
    way: Way,
    walks_always: bool,
    frontiers: Frontiers,
    walks: Walks,
    /// By block: the last search that found it to be a join.
    found_in: Vec<u32>,
    /// Number of the search.
    search: u32,
    waiting: Vec<BlockId>,
}

impl IteratedFrontier {
    /// Lists no frontiers from now on, however small: what compares the two ways.
    pub fn walk_always(&mut self) {
        self.walks_always = true;
    }

    /// Forgets the function before.
    pub fn start(&mut self) {
        self.way = Way::Unknown;
    }

    /// Calls `is_join` once with each block of the iterated dominance frontier of `blocks`. Where the answer is false, the
    /// block counts as none, and the frontier is not followed from there. Says how many steps that took: blocks that were walked over,
    /// or entries of frontiers.
    ///
    /// What serves a whole function is made when the first search asks, for the function and tree that it is given.
    pub fn find(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        blocks: impl Iterator<Item = BlockId>,
        mut is_join: impl FnMut(BlockId) -> bool,
    ) -> usize {
        if self.way == Way::Unknown {
            self.prepare(function, tree);
        }
        if self.way == Way::Walks {
            return self.walks.find(function, tree, blocks, is_join);
        }
        let Self { frontiers, found_in, search, waiting, .. } = self;
        *search += 1;
        waiting.extend(blocks);
        let mut steps = 0;
        while let Some(block) = waiting.pop() {
            steps += 1 + frontiers.of(block).len();
            for &join in frontiers.of(block) {
                if std::mem::replace(&mut found_in[join.index()], *search) != *search && is_join(join) {
                    waiting.push(join);
                }
            }
        }
        steps
    }

    fn prepare(&mut self, function: &FunctionView<'_>, tree: &DominatorTree) {
        if !self.walks_always && self.frontiers.compute(function, tree) {
            self.way = Way::Lists;
            self.search = 0;
            self.found_in.clear();
            self.found_in.resize(function.blocks.len(), 0);
        } else {
            self.way = Way::Walks;
            self.walks.start(function, tree);
        }
    }
}

/// The dominator tree by place, and the memory of a walk.
#[derive(Default)]
struct Walks {
    /// By place in the preorder of the tree.
    nodes: Vec<Node>,
    /// Number of the walk.
    walk: u32,
    /// Depth and place of the blocks whose subtrees are still to be walked over, the deepest first.
    waiting: BinaryHeap<(u32, u32)>,
}

/// A block in the tree.
#[derive(Clone, Copy)]
struct Node {
    block: BlockId,
    depth: u32,
    /// One past the last place of its subtree.
    end: u32,
    /// The last walk that went over it and its subtree.
    visited_in: u32,
    /// The last walk that put it on the waiting list.
    queued_in: u32,
    /// The last walk that found it to be a join.
    found_in: u32,
}

impl Walks {
    /// Makes ready for a function whose tree is `tree`.
    fn start(&mut self, function: &FunctionView<'_>, tree: &DominatorTree) {
        self.walk = 0;
        self.nodes.clear();
        let order = tree.reverse_postorder();
        let unset = Node { block: BlockId(0), depth: 0, end: 0, visited_in: 0, queued_in: 0, found_in: 0 };
        self.nodes.resize(order.len(), unset);
        for &block in order {
            let place = tree.interval(block);
            let idom = function.orders[block.index()].idom.get();
            let depth = idom.map_or(0, |idom| self.nodes[tree.interval(idom).first as usize].depth + 1);
            self.nodes[place.first as usize] = Node { block, depth, end: place.end, ..unset };
        }
    }

    /// As [`IteratedFrontier::find`].
    ///
    /// Subtrees are walked over from the deepest root up, each block once: an edge out of the subtree of a root leads to
    /// its frontier where it ends at the root's depth or above, so what a deeper root has seen has nothing new for a
    /// shallower one.
    fn find(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        blocks: impl Iterator<Item = BlockId>,
        mut is_join: impl FnMut(BlockId) -> bool,
    ) -> usize {
        self.walk += 1;
        let mut steps = 0;
        for block in blocks.filter(|&block| tree.is_reachable(block)) {
            self.queue(tree.interval(block).first);
        }
        while let Some((depth, root)) = self.waiting.pop() {
            let end = self.nodes[root as usize].end;
            let mut place = root;
            while place < end {
                steps += 1;
                let node = &mut self.nodes[place as usize];
                if node.visited_in == self.walk {
                    place = node.end;
                    continue;
                }
                node.visited_in = self.walk;
                let block = node.block;
                for &succ in function.succs(block) {
                    let join = tree.interval(succ).first;
                    let node = &mut self.nodes[join as usize];
                    if node.depth <= depth && node.found_in != self.walk {
                        node.found_in = self.walk;
                        if is_join(succ) {
                            self.queue(join);
                        }
                    }
                }
                place += 1;
            }
        }
        steps
    }

    fn queue(&mut self, place: u32) {
        let node = &mut self.nodes[place as usize];
        if node.queued_in != self.walk {
            node.queued_in = self.walk;
            self.waiting.push((node.depth, place));
        }
    }
}
