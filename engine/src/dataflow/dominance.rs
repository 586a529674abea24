//! The dominator tree as intervals, and dominance frontiers: what asks where definitions of a register meet.
//!
//! Both are worked out from the immediate dominators that the control-flow facts hold. Unreachable blocks are in
//! neither: nothing dominates them, and they count as no predecessor.
//!
//! Paper: Cytron et al. 1991, section 4.2, for frontiers; Cooper, Harvey and Kennedy 2001, figure 5, for the walk that
//! finds them from the joins.

use crate::store::view::FunctionView;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::ids::{BlockId, Id};

/// The dominator tree of a function: each block's place in a preorder of the tree, and the size of its subtree.
#[derive(Default)]
pub struct DominatorTree {
    /// Reachable blocks by rank.
    order: Vec<BlockId>,
    /// By block.
    places: Vec<Interval>,
    /// By block: the place that its next child gets.
    next_place: Vec<u32>,
}

/// The places of a block and of all that it dominates: `first..end`. Empty for an unreachable block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Place of the block itself.
    pub first: u32,
    /// One past the last place of its subtree.
    pub end: u32,
}

impl Interval {
    /// Whether `other` lies inside: its block is dominated.
    #[inline]
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.first < self.end
    }
}

impl DominatorTree {
    /// Numbers the tree of a function whose control-flow facts hold.
    pub fn compute(&mut self, function: &FunctionView<'_>) {
        let Self { order, places, next_place } = self;
        let block_count = function.blocks.len();
        let is_reachable = |block: &BlockId| function.orders[block.index()].rpo != BlockOrder::UNREACHABLE;
        let reachable_count = function.block_ids().filter(is_reachable).count();
        order.clear();
        order.resize(reachable_count, BlockId(0));
        for block in function.block_ids().filter(is_reachable) {
            order[function.orders[block.index()].rpo as usize] = block;
        }
        places.clear();
        places.resize(block_count, Interval::default());
        next_place.clear();
        next_place.resize(block_count, 0);
        // Sizes of subtrees, in `end`: a dominator has the lower rank.
        for &block in order.iter().rev() {
            places[block.index()].end += 1;
            if let Some(idom) = function.orders[block.index()].idom.get() {
                places[idom.index()].end += places[block.index()].end;
            }
        }
        for &block in order.iter() {
            let size = places[block.index()].end;
            let first = match function.orders[block.index()].idom.get() {
                Some(idom) => {
                    let place = &mut next_place[idom.index()];
                    *place += size;
                    *place - size
                }
                None => 0,
            };
            next_place[block.index()] = first + 1;
            places[block.index()] = Interval { first, end: first + size };
        }
    }

    /// The places of `block` and of what it dominates.
    #[inline]
    #[must_use]
    pub fn interval(&self, block: BlockId) -> Interval {
        self.places[block.index()]
    }

    /// Whether every path from the entry to `block` goes through `dominator`; a block dominates itself, and nothing
    /// dominates an unreachable one.
    #[inline]
    #[must_use]
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        self.interval(dominator).contains(self.interval(block)) && self.is_reachable(block)
    }

    /// Whether a path leads from the entry to `block`.
    #[inline]
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.interval(block).end != 0
    }

    /// Reachable blocks in reverse postorder.
    #[must_use]
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.order
    }
}

/// Joins in all frontiers together, a block. Real functions have two or three.
const FRONTIER_MAX: usize = 32;

/// The dominance frontier of each block: the joins that it reaches and does not dominate strictly.
#[derive(Default)]
pub struct Frontiers {
    /// By block: where its joins start in `joins`; one more entry at the end.
    starts: Vec<u32>,
    joins: Vec<BlockId>,
    /// Block and join, in the order found.
    pairs: Vec<(BlockId, BlockId)>,
    /// By block: one more than the join last noted for it.
    noted: Vec<u32>,
}

impl Frontiers {
    /// Works out the frontiers of a function whose dominators hold.
    ///
    /// From each predecessor of a join the walk goes up the tree to the join's immediate dominator. It stops where
    /// an earlier walk from the same join has been, so the cost is the size of the result. That can be quadratic: where
    /// it would be more than 32 joins a block, none is listed and the answer is false.
    #[must_use]
    pub fn compute(&mut self, function: &FunctionView<'_>, tree: &DominatorTree) -> bool {
        let Self { starts, joins, pairs, noted } = self;
        let block_count = function.blocks.len();
        pairs.clear();
        noted.clear();
        noted.resize(block_count, 0);
        let most = FRONTIER_MAX * block_count.max(64);
        for &join in tree.reverse_postorder() {
            let stop = function.orders[join.index()].idom;
            for &pred in function.preds(join).iter().filter(|&&pred| tree.is_reachable(pred)) {
                let mut runner = Some(pred);
                while let Some(block) = runner
                    && runner != stop.get()
                    && noted[block.index()] != join.0 + 1
                {
                    noted[block.index()] = join.0 + 1;
                    pairs.push((block, join));
                    runner = function.orders[block.index()].idom.get();
                }
            }
            if pairs.len() > most {
                pairs.clear();
                return false;
            }
        }
        starts.clear();
        starts.resize(block_count + 1, 0);
        for &(block, _) in pairs.iter() {
            starts[block.index()] += 1;
        }
        let mut end = 0;
        for slot in starts.iter_mut() {
            end += *slot;
            *slot = end;
        }
        joins.clear();
        joins.resize(pairs.len(), BlockId(0));
        // Filling backwards turns each end into a start.
        for &(block, join) in pairs.iter().rev() {
            let slot = &mut starts[block.index()];
            *slot -= 1;
            joins[*slot as usize] = join;
        }
        true
    }

    /// The frontier of `block`.
    #[must_use]
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        &self.joins[self.starts[block.index()] as usize..self.starts[block.index() + 1] as usize]
    }
}
