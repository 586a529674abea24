//! Where definitions meet, found without listing the frontier of every block.
//!
//! In ladders of joins, as a switch whose cases fall through makes them, every block has all later rungs in its dominance
//! frontier, so [frontiers](super::dominance::Frontiers) are quadratic. Here one walk over the dominator tree gives the
//! iterated frontier of a set of blocks in time linear in blocks and edges, every time anew.
//!
//! Paper: Sreedhar and Gao 1995, "A linear time algorithm for placing phi-nodes".

use super::dominance::DominatorTree;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id};
use std::collections::BinaryHeap;

/// The dominator tree by place, and the memory of a walk.
#[derive(Default)]
pub struct Meets {
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

impl Meets {
    /// Makes ready for a function whose tree is `tree`.
    pub fn start(&mut self, function: &FunctionView<'_>, tree: &DominatorTree) {
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

    /// Calls `found` with each block of the iterated dominance frontier of `blocks`, once.
    ///
    /// Subtrees are walked over from the deepest root up, each block once: an edge out of the subtree of a root leads to
    /// its frontier where it ends at the root's depth or above, so what a deeper root has seen has nothing new for a
    /// shallower one.
    pub fn find(
        &mut self,
        function: &FunctionView<'_>,
        tree: &DominatorTree,
        blocks: impl Iterator<Item = BlockId>,
        mut found: impl FnMut(BlockId),
    ) {
        self.walk += 1;
        for block in blocks.filter(|&block| tree.is_reachable(block)) {
            self.queue(tree.interval(block).first);
        }
        while let Some((depth, root)) = self.waiting.pop() {
            let end = self.nodes[root as usize].end;
            let mut place = root;
            while place < end {
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
                        found(succ);
                        self.queue(join);
                    }
                }
                place += 1;
            }
        }
    }

    fn queue(&mut self, place: u32) {
        let node = &mut self.nodes[place as usize];
        if node.queued_in != self.walk {
            node.queued_in = self.walk;
            self.waiting.push((node.depth, place));
        }
    }
}
