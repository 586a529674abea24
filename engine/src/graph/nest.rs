//! The loop nest as a table: for each natural loop its header, blocks, latches, exits and preheader, and the regions
//! that are no natural loops.
//!
//! Loops are numbered in a preorder of the nest, and blocks are listed by their innermost loop. So the blocks of a loop,
//! those of inner loops among them, are one span, and "does this loop hold that one" is two comparisons. An edge that
//! leaves several loops is listed once, at the innermost of them: a nest of any depth costs its blocks and edges.
//!
//! # Irreducible regions
//! What is left of the graph without natural back edges has cycles exactly where it is irreducible. The strongly
//! connected components of several blocks (Tarjan 1972) are the regions.

use super::edges::Graph;
use crate::store::per_function::PerFunction;
use ptxopt_components::block::{BlockFlags, BlockHead, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, LoopId, Maybe, Span};

/// The nests of each function of the batch, where `Fact::Loops` holds.
pub type LoopNests = PerFunction<LoopNest>;

/// A natural loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopRow {
    /// The block through which every way into the loop leads.
    pub header: BlockId,
    /// The loop around it.
    pub parent: Maybe<LoopId>,
    /// Number of loops around its header, itself included.
    pub depth: u32,
    /// The last loop inside it; itself where there is none.
    pub last: LoopId,
    /// The block outside that leads to the header and nowhere else, if it is the only one outside that leads there.
    pub preheader: Maybe<BlockId>,
    blocks: Span,
    latches: Span,
    exits: Span,
}

/// The natural loops of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopNest {
    rows: Vec<LoopRow>,
    /// By block: the innermost loop around it.
    loop_of: Vec<Maybe<LoopId>>,
    /// By loop, those of inner loops after its own.
    blocks: Vec<BlockId>,
    latches: Vec<BlockId>,
    /// Edges out of the innermost loop of their source, sorted by that loop.
    exits: Vec<(BlockId, BlockId)>,
    regions: Vec<Span>,
    region_blocks: Vec<BlockId>,
}

impl LoopNest {
    /// The loops, outer ones before those inside.
    #[must_use]
    pub fn rows(&self) -> &[LoopRow] {
        &self.rows
    }

    /// Their ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LoopId> + use<> {
        (0..self.rows.len()).map(LoopId::new)
    }

    /// One loop.
    #[inline]
    #[must_use]
    pub fn row(&self, id: LoopId) -> &LoopRow {
        &self.rows[id.index()]
    }

    /// The innermost loop around a block.
    #[inline]
    #[must_use]
    pub fn loop_of(&self, block: BlockId) -> Option<LoopId> {
        self.loop_of[block.index()].get()
    }

    /// Whether a block lies in a loop, inner loops included.
    #[inline]
    #[must_use]
    pub fn holds(&self, id: LoopId, block: BlockId) -> bool {
        self.loop_of(block).is_some_and(|inner| id <= inner && inner <= self.row(id).last)
    }

    /// The blocks of a loop, inner loops included; its header is the first.
    #[must_use]
    pub fn blocks(&self, id: LoopId) -> &[BlockId] {
        &self.blocks[self.row(id).blocks.range()]
    }

    /// Those of its blocks that no inner loop holds; its header is the first.
    #[must_use]
    pub fn own_blocks(&self, id: LoopId) -> &[BlockId] {
        let blocks = self.blocks(id);
        let is_own = |block: &BlockId| self.loop_of(*block) == Some(id);
        &blocks[..blocks.iter().take_while(|block| is_own(block)).count()]
    }

    /// The sources of its back edges, each once, in order of rank.
    #[must_use]
    pub fn latches(&self, id: LoopId) -> &[BlockId] {
        &self.latches[self.row(id).latches.range()]
    }

    /// Its only latch.
    #[must_use]
    pub fn latch(&self, id: LoopId) -> Option<BlockId> {
        match self.latches(id) {
            &[latch] => Some(latch),
            _ => None,
        }
    }

    /// The edges that leave a loop, each with its source inside and its target outside. Costs the edges that leave it
    /// or a loop inside it.
    pub fn exits(&self, id: LoopId) -> impl Iterator<Item = (BlockId, BlockId)> + '_ {
        let edges = &self.exits[self.row(id).exits.range()];
        edges.iter().copied().filter(move |&(_, target)| !self.holds(id, target))
    }

    /// The edges that leave it from a block that no inner loop holds. Costs these edges.
    pub fn own_exits(&self, id: LoopId) -> impl Iterator<Item = (BlockId, BlockId)> + '_ {
        let edges = &self.exits[self.row(id).exits.range()];
        edges.iter().copied().take_while(move |&(source, _)| self.loop_of(source) == Some(id))
    }

    /// The cycles with several entries: the blocks of each in order of rank.
    pub fn irreducible_regions(&self) -> impl Iterator<Item = &[BlockId]> {
        self.regions.iter().map(|region| &self.region_blocks[region.range()])
    }
}

/// Memory of the builder.
#[derive(Default)]
pub struct NestScratch {
    /// Reachable blocks by rank.
    order: Vec<BlockId>,
    /// By header: loops in its loop, itself included.
    loop_count: Vec<u32>,
    /// By loop: where its next block goes.
    next: Vec<u32>,
    components: Components,
}

/// Builds the table of a function whose control-flow annotations are current.
pub fn build_nest(
    graph: Graph<'_>,
    heads: &[BlockHead],
    orders: &[BlockOrder],
    scratch: &mut NestScratch,
    nest: &mut LoopNest,
) {
    let NestScratch { order, loop_count, next, components } = scratch;
    order.clear();
    order.extend(graph.block_ids().filter(|block| orders[block.index()].is_reachable()));
    order.sort_unstable_by_key(|block| orders[block.index()].rpo);
    number_loops(order, orders, loop_count, nest);
    list_blocks(order, orders, next, nest);
    list_latches_and_exits(graph, orders, nest);
    nest.regions.clear();
    nest.region_blocks.clear();
    if heads.iter().any(|head| head.flags.contains(BlockFlags::IRREDUCIBLE)) {
        components.find(graph, order, orders, nest);
    }
}

/// Gives each loop its row, in a preorder of the nest.
fn number_loops(order: &[BlockId], orders: &[BlockOrder], loop_count: &mut Vec<u32>, nest: &mut LoopNest) {
    let LoopNest { rows, loop_of, .. } = nest;
    let is_header = |block: &BlockId| orders[block.index()].loop_header == Maybe::some(*block);
    loop_count.clear();
    loop_count.resize(orders.len(), 0);
    let mut count = 0;
    for &header in order.iter().rev().filter(|block| is_header(block)) {
        count += 1;
        loop_count[header.index()] += 1;
        if let Some(around) = orders[header.index()].loop_around.get() {
            loop_count[around.index()] += loop_count[header.index()];
        }
    }
    loop_of.clear();
    loop_of.resize(orders.len(), Maybe::NONE);
    rows.clear();
    let none = LoopRow {
        header: BlockId(0),
        parent: Maybe::NONE,
        depth: 0,
        last: LoopId(0),
        preheader: Maybe::NONE,
        blocks: Span::default(),
        latches: Span::default(),
        exits: Span::default(),
    };
    rows.resize(count, none);
    // Of a loop that has its number, `loop_count` is the number of the next loop inside it from then on.
    let mut next_outer = 0;
    for &header in order.iter().filter(|block| is_header(block)) {
        let row = orders[header.index()];
        let inside = loop_count[header.index()];
        let slot = match row.loop_around.get() {
            Some(around) => &mut loop_count[around.index()],
            None => &mut next_outer,
        };
        let number = *slot;
        *slot += inside;
        loop_count[header.index()] = number + 1;
        let parent = row.loop_around.get().map_or(Maybe::NONE, |around| loop_of[around.index()]);
        let last = LoopId(number + inside - 1);
        rows[number as usize] = LoopRow { header, parent, depth: row.depth, last, ..none };
        loop_of[header.index()] = Maybe::some(LoopId(number));
    }
}

/// Sorts the blocks by loop, those of one in order of rank.
fn list_blocks(order: &[BlockId], orders: &[BlockOrder], next: &mut Vec<u32>, nest: &mut LoopNest) {
    let LoopNest { rows, loop_of, blocks, .. } = nest;
    next.clear();
    next.resize(rows.len() + 1, 0);
    for &block in order {
        if let Some(header) = orders[block.index()].loop_header.get() {
            let id = loop_of[header.index()];
            loop_of[block.index()] = id;
            next[id.get().expect("a header has a loop").index() + 1] += 1;
        }
    }
    for at in 0..rows.len() {
        next[at + 1] += next[at];
    }
    for (at, row) in rows.iter_mut().enumerate() {
        row.blocks = Span::between(next[at] as usize, next[row.last.index() + 1] as usize);
    }
    blocks.clear();
    blocks.resize(next[rows.len()] as usize, BlockId(0));
    for &block in order {
        if let Some(id) = loop_of[block.index()].get() {
            blocks[next[id.index()] as usize] = block;
            next[id.index()] += 1;
        }
    }
}

fn list_latches_and_exits(graph: Graph<'_>, orders: &[BlockOrder], nest: &mut LoopNest) {
    nest.latches.clear();
    nest.exits.clear();
    for id in nest.ids() {
        let row = nest.rows[id.index()];
        let first = nest.latches.len();
        let mut outside = None;
        let mut is_one_edge = true;
        for &pred in graph.preds(row.header).iter().filter(|pred| orders[pred.index()].is_reachable()) {
            if nest.holds(id, pred) {
                nest.latches.push(pred);
            } else {
                is_one_edge &= outside.replace(pred).is_none();
            }
        }
        nest.latches[first..].sort_unstable_by_key(|latch| orders[latch.index()].rpo);
        let mut kept = first;
        for at in first..nest.latches.len() {
            if kept == first || nest.latches[kept - 1] != nest.latches[at] {
                nest.latches[kept] = nest.latches[at];
                kept += 1;
            }
        }
        nest.latches.truncate(kept);
        let leads_nowhere_else = |block: &BlockId| graph.succs(*block).len() == 1;
        let preheader = outside.filter(|block| is_one_edge && leads_nowhere_else(block));
        nest.rows[id.index()].latches = Span::between(first, kept);
        nest.rows[id.index()].preheader = preheader.map_or(Maybe::NONE, Maybe::some);
        // The blocks of the loop that lie in no inner one come first.
        let first = nest.exits.len();
        for at in row.blocks.range() {
            let block = nest.blocks[at];
            if nest.loop_of(block) != Some(id) {
                break;
            }
            for &succ in graph.succs(block) {
                if !nest.holds(id, succ) {
                    nest.exits.push((block, succ));
                }
            }
        }
        nest.rows[id.index()].exits = Span::between(first, nest.exits.len());
    }
    // Inner loops follow: their edges are candidates too.
    for at in 0..nest.rows.len() {
        let end = nest.rows[nest.rows[at].last.index()].exits.end();
        let first = nest.rows[at].exits.first as usize;
        nest.rows[at].exits = Span::between(first, end);
    }
}

/// Strongly connected components of the graph without natural back edges.
#[derive(Default)]
struct Components {
    /// By block: its number in the search; 0 before it is found.
    number: Vec<u32>,
    /// By block: the smallest number that it can come back to.
    low: Vec<u32>,
    is_open: Vec<bool>,
    open: Vec<BlockId>,
    /// A block and how many of its successors were visited.
    stack: Vec<(BlockId, u32)>,
}

impl Components {
    fn find(&mut self, graph: Graph<'_>, order: &[BlockId], orders: &[BlockOrder], nest: &mut LoopNest) {
        self.number.clear();
        self.number.resize(graph.len(), 0);
        self.low.clear();
        self.low.resize(graph.len(), 0);
        self.is_open.clear();
        self.is_open.resize(graph.len(), false);
        let mut found = 0;
        for &start in order {
            if self.number[start.index()] == 0 {
                self.search(graph, start, orders, &mut found, nest);
            }
        }
        nest.regions
            .sort_unstable_by_key(|region| orders[nest.region_blocks[region.first as usize].index()].rpo);
    }

    fn search(
        &mut self,
        graph: Graph<'_>,
        start: BlockId,
        orders: &[BlockOrder],
        found: &mut u32,
        nest: &mut LoopNest,
    ) {
        self.enter(start, found);
        while let Some(&(block, visited)) = self.stack.last() {
            if let Some(&succ) = graph.succs(block).get(visited as usize) {
                let top = self.stack.len() - 1;
                self.stack[top].1 += 1;
                if orders[succ.index()].dominates(&orders[block.index()]) {
                    continue;
                }
                if self.number[succ.index()] == 0 {
                    self.enter(succ, found);
                } else if self.is_open[succ.index()] {
                    self.low[block.index()] = self.low[block.index()].min(self.number[succ.index()]);
                }
                continue;
            }
            self.stack.pop();
            if let Some(&(parent, _)) = self.stack.last() {
                self.low[parent.index()] = self.low[parent.index()].min(self.low[block.index()]);
            }
            if self.low[block.index()] == self.number[block.index()] {
                self.close(block, orders, nest);
            }
        }
    }

    fn enter(&mut self, block: BlockId, found: &mut u32) {
        *found += 1;
        self.number[block.index()] = *found;
        self.low[block.index()] = *found;
        self.is_open[block.index()] = true;
        self.open.push(block);
        self.stack.push((block, 0));
    }

    /// Takes the component of `root` off; keeps it if it has several blocks.
    fn close(&mut self, root: BlockId, orders: &[BlockOrder], nest: &mut LoopNest) {
        let first = nest.region_blocks.len();
        while let Some(block) = self.open.pop() {
            self.is_open[block.index()] = false;
            nest.region_blocks.push(block);
            if block == root {
                break;
            }
        }
        if nest.region_blocks.len() - first == 1 {
            nest.region_blocks.truncate(first);
            return;
        }
        nest.region_blocks[first..].sort_unstable_by_key(|block| orders[block.index()].rpo);
        nest.regions.push(Span::between(first, nest.region_blocks.len()));
    }
}
