//! Dominance frontiers, listed for every block of a function.
//!
//! Papers: Cytron et al. 1991, section 4.2; Cooper, Harvey and Kennedy 2001, figure 5, for the walk that finds them from
//! the joins.

use super::dominator_tree::DominatorTree;
use crate::lists::Lists;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id};

/// Joins in all frontiers together, a block. Real functions have two or three.
const FRONTIER_MAX: usize = 32;

/// The dominance frontier of each block: the joins that it reaches and does not dominate strictly.
#[derive(Default)]
pub struct Frontiers {
    /// By block.
    joins: Lists<BlockId>,
    /// Number of the block and join, in the order found.
    pairs: Vec<(u32, BlockId)>,
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
        let Self { joins, pairs, noted } = self;
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
                    pairs.push((block.0, join));
                    runner = function.orders[block.index()].idom.get();
                }
            }
            if pairs.len() > most {
                pairs.clear();
                return false;
            }
        }
        joins.fill(block_count, pairs.iter().copied());
        true
    }

    /// The frontier of `block`.
    #[must_use]
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        self.joins.of(block.index())
    }
}
