//! The edges of one function as a graph.

use ptxopt_components::block::BlockEdges;
use ptxopt_components::ids::{BlockId, Id};

/// Edges of one function, parallel ones as often as they exist.
#[derive(Clone, Copy)]
pub struct Graph<'a> {
    /// By block.
    pub edges: &'a [BlockEdges],
    /// The edge pool.
    pub pool: &'a [BlockId],
}

impl<'a> Graph<'a> {
    /// Number of blocks.
    #[must_use]
    pub fn len(self) -> usize {
        self.edges.len()
    }

    /// Whether there is no block.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.edges.is_empty()
    }

    /// Block ids in textual order.
    pub fn block_ids(self) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        (0..self.edges.len()).map(BlockId::new)
    }

    /// Successors of a block; the fall-through last.
    #[inline]
    #[must_use]
    pub fn succs(self, block: BlockId) -> &'a [BlockId] {
        &self.pool[self.edges[block.index()].succs.range()]
    }

    /// Predecessors of a block.
    #[inline]
    #[must_use]
    pub fn preds(self, block: BlockId) -> &'a [BlockId] {
        &self.pool[self.edges[block.index()].preds.range()]
    }
}
