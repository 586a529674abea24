//! Post-dominators within one iteration: what every way through the rest of this round passes.
//!
//! Plain post-dominance looks past back edges, and finds threads together that are rounds apart:
//! ```text
//! H: @divergent bra L;      // "continue"
//! M: ...                    // post-dominates H: everyone comes here, in some round
//!    @uniform bra X;
//! L: bra H;
//! ```
//! So the graph is cut: a back edge leads to the *end of the round* of its loop, a node after all latches, and from
//! there to wherever the loop is left. The result is a graph without cycles in which a loop counts as one pass through it.
//! Functions with irreducible regions have no such graph.

use crate::graph::build::leaves_function;
use crate::graph::dominators::Solver;
use crate::graph::nest::LoopNest;
use crate::lists::Lists;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, LoopId};

/// A block, or the end of the round of a loop; [`Node::OUT`] is after every way out of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(pub u32);

impl Node {
    /// The virtual exit.
    pub const OUT: Self = Self(u32::MAX);
}

/// The tree, and memory to find it.
#[derive(Default)]
pub(crate) struct ForwardTree {
    block_count: usize,
    solver: Solver,
    /// Edges of the cut graph, by source: both ends as nodes, the virtual exit after the last.
    edges: Vec<(u32, u32)>,
    /// By node: where its successors start.
    succ_first: Vec<u32>,
    /// By node.
    preds: Lists<u32>,
    /// By node: its rank against the edges.
    ranks: Vec<u32>,
    /// By rank: the node.
    order: Vec<u32>,
    /// Nodes on the way, and the place of the next predecessor of each.
    stack: Vec<(u32, usize)>,
}

const UNSEEN: u32 = u32::MAX;
const SEEN: u32 = u32::MAX - 1;

impl ForwardTree {
    /// Computes the tree of a function without irreducible regions.
    pub fn compute(&mut self, function: &FunctionView<'_>, nest: &LoopNest) {
        self.block_count = function.blocks.len();
        self.cut(function, nest);
        self.list_preds();
        self.rank();
        let Self { solver, edges, succ_first, ranks, order, .. } = self;
        solver.graph.clear();
        for &node in order.iter() {
            let span = succ_first[node as usize] as usize..succ_first[node as usize + 1] as usize;
            solver.graph.push(edges[span].iter().map(|&(_, to)| ranks[to as usize]));
        }
        solver.solve();
    }

    /// The node to which the edge `from -> to` leads.
    pub fn target(&self, function: &FunctionView<'_>, nest: &LoopNest, from: BlockId, to: BlockId) -> Node {
        let turns_back = function.orders[to.index()].dominates(&function.orders[from.index()]);
        match nest.loop_of(to) {
            Some(around) if turns_back => self.round_end(around),
            _ => Node(to.0),
        }
    }

    /// The end of the round of a loop.
    pub fn round_end(&self, id: LoopId) -> Node {
        Node((self.block_count + id.index()) as u32)
    }

    /// The block that a node is.
    pub fn block(&self, node: Node) -> Option<BlockId> {
        (node != Node::OUT && (node.0 as usize) < self.block_count).then_some(BlockId(node.0))
    }

    /// Whether a loop holds a node: a block of it, or the end of its own round or of one inside.
    pub fn holds(&self, nest: &LoopNest, id: LoopId, node: Node) -> bool {
        match self.block(node) {
            Some(block) => nest.holds(id, block),
            None if node == Node::OUT => false,
            None => {
                let inner = LoopId::new(node.0 as usize - self.block_count);
                id <= inner && inner <= nest.row(id).last
            }
        }
    }

    /// The immediate post-dominator.
    pub fn above(&self, node: Node) -> Node {
        let rank = self.solver.idom[self.ranks[node.0 as usize] as usize];
        if rank == 0 { Node::OUT } else { Node(self.order[rank as usize]) }
    }

    /// Whether every way from `other` passes `node`; so it does for itself.
    pub fn post_dominates(&self, node: Node, other: Node) -> bool {
        if node == Node::OUT || other == Node::OUT {
            return node == Node::OUT;
        }
        let (node, other) = (self.ranks[node.0 as usize] as usize, self.ranks[other.0 as usize] as usize);
        let first = self.solver.first[other];
        self.solver.first[node] <= first && first <= self.solver.last[node]
    }

    fn out(&self) -> u32 {
        self.ranks.len() as u32 - 1
    }

    fn cut(&mut self, function: &FunctionView<'_>, nest: &LoopNest) {
        let node_count = self.block_count + nest.rows().len() + 1;
        let out = node_count as u32 - 1;
        let mut edges = std::mem::take(&mut self.edges);
        let mut starts = std::mem::take(&mut self.succ_first);
        edges.clear();
        starts.clear();
        for block in function.block_ids() {
            starts.push(edges.len() as u32);
            if !function.orders[block.index()].is_reachable() {
                continue;
            }
            edges.extend(
                function
                    .succs(block)
                    .iter()
                    .map(|&succ| (block.0, self.target(function, nest, block, succ).0)),
            );
            if leaves_function(function, block) {
                edges.push((block.0, out));
            }
        }
        for id in nest.ids() {
            let from = self.round_end(id).0;
            let first = edges.len();
            starts.push(first as u32);
            edges
                .extend(nest.exits(id).map(|(source, to)| (from, self.target(function, nest, source, to).0)));
            if edges.len() == first {
                edges.push((from, out));
            }
        }
        starts.extend([edges.len() as u32; 2]);
        self.ranks.clear();
        self.ranks.resize(node_count, UNSEEN);
        self.edges = edges;
        self.succ_first = starts;
    }

    fn list_preds(&mut self) {
        let Self { edges, preds, ranks, .. } = self;
        preds.fill(ranks.len(), edges.iter().map(|&(from, to)| (to, from)));
    }

    /// Numbers the nodes in reverse postorder of a walk against the edges.
    fn rank(&mut self) {
        let out = self.out();
        let Self { preds, ranks, order, stack, .. } = self;
        order.clear();
        stack.clear();
        ranks[out as usize] = SEEN;
        stack.push((out, preds.span(out as usize).start));
        while let Some((node, next)) = stack.last_mut() {
            if *next == preds.span(*node as usize).end {
                order.push(*node);
                stack.pop();
                continue;
            }
            let pred = preds.at(*next);
            *next += 1;
            if ranks[pred as usize] == UNSEEN {
                ranks[pred as usize] = SEEN;
                stack.push((pred, preds.span(pred as usize).start));
            }
        }
        order.reverse();
        for (rank, &node) in order.iter().enumerate() {
            ranks[node as usize] = rank as u32;
        }
    }
}
