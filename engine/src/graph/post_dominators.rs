//! Post-dominators: what every way out of the function passes.
//!
//! # The virtual exit
//! It stands after every block in which control may leave the function: a return, an exit, a trap, guarded or not,
//! and the end of the body. A block whose immediate post-dominator is the virtual exit has none here. A call that
//! never comes back counts as one that does.
//!
//! # Infinite loops
//! Blocks from which no way leaves the function are connected, too: each source of a back edge among them leads to the
//! virtual exit, as if the loop could end after any of its rounds. Such a block lies on every cycle, so that all
//! blocks are connected, and joins inside one round stay what they are:
//! ```text
//! L: @p bra B;           // C post-dominates L, A and B; nothing post-dominates C
//! A: bra C;
//! B: ...
//! C: bra L;              // the end of a round: connected
//! ```

use super::dominators::Solver;
use super::edges::Graph;
use crate::store::per_function::PerFunction;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::ids::{BlockId, Id, Maybe};

/// The post-dominators of each function of the batch, where `Fact::PostDominators` holds.
pub type PostDominatorTrees = PerFunction<PostDominators>;

/// A block's place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// Immediate post-dominator; none where that is the virtual exit.
    ipdom: Maybe<BlockId>,
    /// Its number in a preorder of the tree; the virtual exit has 0.
    first: u32,
    /// The largest such number among what it post-dominates; 0 for an unreachable block.
    last: u32,
}

impl Row {
    const UNREACHABLE: Self = Self { ipdom: Maybe::NONE, first: u32::MAX, last: 0 };
}

/// The post-dominator tree of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostDominators {
    /// By block.
    rows: Vec<Row>,
    /// Blocks of infinite loops that are connected to the virtual exit, in order of rank.
    pub connected: Vec<BlockId>,
}

impl PostDominators {
    /// Immediate post-dominator; none where that is the virtual exit, and for an unreachable block.
    #[inline]
    #[must_use]
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        self.rows[block.index()].ipdom.get()
    }

    /// Whether every way from `other` out of the function passes `block`; so it does for the block itself. False where
    /// one of them is unreachable.
    #[inline]
    #[must_use]
    pub fn post_dominates(&self, block: BlockId, other: BlockId) -> bool {
        let (row, other) = (self.rows[block.index()], self.rows[other.index()]);
        row.first <= other.first && other.first <= row.last
    }

    /// The nearest block that post-dominates both; none where that is the virtual exit. Climbs the tree.
    #[must_use]
    pub fn nearest_common(&self, mut block: BlockId, other: BlockId) -> Option<BlockId> {
        while !self.post_dominates(block, other) {
            block = self.ipdom(block)?;
        }
        Some(block)
    }
}

/// Memory of the search.
#[derive(Default)]
pub struct PostDominatorScratch {
    solver: Solver,
    /// Blocks by their rank against the edges, less one: the virtual exit has rank 0.
    order: Vec<BlockId>,
    /// By block: that rank.
    ranks: Vec<u32>,
    /// A block and how many of its predecessors were visited.
    stack: Vec<(BlockId, u32)>,
    /// By block: whether it leads to the virtual exit.
    leads_out: Vec<bool>,
}

/// Before its rank is known: not seen yet, and seen.
const UNSEEN: u32 = u32::MAX;
const SEEN: u32 = u32::MAX - 1;

/// Computes the tree. Ranks in `orders` must be current; `leaves` says whether control may leave the function in a
/// block.
pub fn find_post_dominators(
    graph: Graph<'_>,
    orders: &[BlockOrder],
    leaves: impl Fn(BlockId) -> bool,
    scratch: &mut PostDominatorScratch,
    tree: &mut PostDominators,
) {
    tree.rows.clear();
    tree.rows.resize(graph.len(), Row::UNREACHABLE);
    tree.connected.clear();
    rank_backwards(graph, orders, leaves, scratch, &mut tree.connected);
    let PostDominatorScratch { solver, order, ranks, leads_out, .. } = scratch;
    solver.graph.clear();
    solver.graph.push(std::iter::empty());
    for &block in order.iter() {
        let succs = graph.succs(block).iter().map(|succ| ranks[succ.index()]);
        let exit = leads_out[block.index()].then_some(0);
        solver.graph.push(succs.chain(exit));
    }
    solver.solve();
    for (at, block) in order.iter().enumerate() {
        let node = at + 1;
        let idom = solver.idom[node] as usize;
        let ipdom = if idom == 0 { Maybe::NONE } else { Maybe::some(order[idom - 1]) };
        tree.rows[block.index()] = Row { ipdom, first: solver.first[node], last: solver.last[node] };
    }
}

/// Numbers the reachable blocks in reverse postorder of a walk against the edges, and connects infinite loops.
fn rank_backwards(
    graph: Graph<'_>,
    orders: &[BlockOrder],
    leaves: impl Fn(BlockId) -> bool,
    scratch: &mut PostDominatorScratch,
    connected: &mut Vec<BlockId>,
) {
    let PostDominatorScratch { order, ranks, stack, leads_out, .. } = scratch;
    order.clear();
    ranks.clear();
    ranks.resize(graph.len(), UNSEEN);
    leads_out.clear();
    leads_out.resize(graph.len(), false);
    let mut walk = |start: BlockId, ranks: &mut [u32], order: &mut Vec<BlockId>| {
        if ranks[start.index()] != UNSEEN {
            return;
        }
        ranks[start.index()] = SEEN;
        stack.push((start, 0));
        while let Some((block, visited)) = stack.last_mut() {
            match graph.preds(*block).get(*visited as usize) {
                Some(&pred) => {
                    *visited += 1;
                    if ranks[pred.index()] == UNSEEN && orders[pred.index()].is_reachable() {
                        ranks[pred.index()] = SEEN;
                        stack.push((pred, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
    };
    let reachable = || graph.block_ids().filter(|block| orders[block.index()].is_reachable());
    let mut reachable_count = 0;
    for block in reachable() {
        reachable_count += 1;
        if leaves(block) {
            leads_out[block.index()] = true;
            walk(block, ranks, order);
        }
    }
    if order.len() < reachable_count {
        let turns_back = |block: &BlockId| {
            let own = orders[block.index()];
            graph.succs(*block).iter().any(|succ| own.turns_back_to(&orders[succ.index()]))
        };
        connected.extend(reachable().filter(|block| ranks[block.index()] == UNSEEN).filter(turns_back));
        connected.sort_unstable_by_key(|block| orders[block.index()].rpo);
        for &block in connected.iter() {
            leads_out[block.index()] = true;
            walk(block, ranks, order);
        }
    }
    debug_assert_eq!(order.len(), reachable_count, "a block that never leaves leads to a cycle");
    order.reverse();
    for (at, block) in order.iter().enumerate() {
        ranks[block.index()] = at as u32 + 1;
    }
}
