//! The edges of one function as a graph.

use ptxopt_components::block::BlockEdges;
use ptxopt_components::ids::{BlockId, Id, Span};

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

/// Edges that belong to no function: a graph made from lists.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    rows: Vec<BlockEdges>,
    pool: Vec<BlockId>,
}

impl Edges {
    /// The graph in which block `b` leads to `succs[b]`, in this order.
    ///
    /// # Panics
    /// When a successor is no block.
    #[must_use]
    pub fn from_succs<T: AsRef<[usize]>>(succs: &[T]) -> Self {
        let mut edges = Self { rows: vec![BlockEdges::default(); succs.len()], pool: Vec::new() };
        let mut preds = vec![Vec::new(); succs.len()];
        for (block, targets) in succs.iter().enumerate() {
            edges.rows[block].succs = edges.list(targets.as_ref());
            targets.as_ref().iter().for_each(|&target| preds[target].push(block));
        }
        for (block, preds) in preds.iter().enumerate() {
            edges.rows[block].preds = edges.list(preds);
        }
        edges
    }

    fn list(&mut self, blocks: &[usize]) -> Span {
        let first = self.pool.len();
        self.pool.extend(blocks.iter().map(|&block| BlockId::new(block)));
        Span::between(first, self.pool.len())
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> Graph<'_> {
        Graph { edges: &self.rows, pool: &self.pool }
    }
}
