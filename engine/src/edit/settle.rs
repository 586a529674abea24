//! Settling: after an edit of the graph, blocks are numbered in the order of the text and edges built again.
//!
//! Cost: blocks and edges where none was added, deleted or merged; else also one pass over the heads of the instructions.
//! Instructions keep their ids. Dead blocks go, and what stood in them moves to the place that comes next in the text.

use super::session::FunctionEditor;
use crate::graph::build::connect_blocks;
use ptxopt_components::anchor::{Anchor, AnchorKind, TableKind};
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, Maybe, Span};
use ptxopt_components::instruction::Marks;
use std::ops::Range;

/// The place after a dead block.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// Not looked for yet.
    Unknown,
    /// The beginning of a living block.
    Block(BlockId),
    /// Before this row, with which a block joined another one.
    Row(InstId),
    /// The end of the text.
    End,
}

/// Memory of settling.
#[derive(Default)]
pub(super) struct SettleScratch {
    /// By old block: its new id, or none.
    new_of: Vec<Maybe<BlockId>>,
    /// By new block: the old one.
    old_of: Vec<BlockId>,
    /// By old dead block: the place that comes next in the text.
    next_of: Vec<Next>,
    heads: Vec<BlockHead>,
    orders: Vec<BlockOrder>,
    labels: Vec<BlockLabel>,
    edges: Vec<BlockEdges>,
    /// By row: its number in its block.
    ranks: Vec<u32>,
}

impl FunctionEditor<'_> {
    /// Leaves blocks dense and in order, with the edges of their instructions.
    pub(super) fn settle(&mut self) {
        if !self.is_graph_stale {
            return;
        }
        if self.rows.state.flags.contains(CodeFlags::SSA) {
            self.refresh_edges();
        }
        let mut scratch = std::mem::take(&mut self.scratch.settle);
        if self.has_order {
            self.renumber(&mut scratch);
        }
        self.connect(&mut scratch.edges);
        self.scratch.settle = scratch;
        (self.is_graph_stale, self.has_order, self.has_anchor_index) = (false, false, false);
    }

    /// Puts anchors in order by block, and those of a block into the order of its rows: blocks that
    /// were split, moved, merged or deleted leave theirs to others.
    fn sort_anchors(&mut self, ranks: &mut Vec<u32>) {
        let span = self.rows.spans.anchors.range();
        let anchors = &mut self.rows.pools.anchors[span.clone()];
        if !anchors.is_sorted_by_key(|anchor| anchor.block) {
            anchors.sort_by_key(|anchor| anchor.block);
        }
        ranks.resize(self.rows.spans.insts.len().max(ranks.len()), 0);
        let mut first = span.start;
        while first < span.end {
            let block = self.rows.pools.anchors[first].block;
            let count =
                self.rows.pools.anchors[first..span.end].iter().take_while(|a| a.block == block).count();
            if count > 1 {
                self.sort_in_block(first..first + count, block, ranks);
            }
            first += count;
        }
    }

    fn sort_in_block(&mut self, anchors: Range<usize>, block: BlockId, ranks: &mut [u32]) {
        for (rank, row) in (0..).zip(self.rows.rows_of(block)) {
            ranks[row.index()] = rank;
        }
        let heads = &self.rows.heads[..self.rows.spans.insts.len()];
        let rank = |anchor: &Anchor| {
            let is_inside = heads.get(anchor.before.index()).is_some_and(|head| head.block == block);
            (!anchor.is_of_block(), if is_inside { ranks[anchor.before.index()] } else { u32::MAX })
        };
        let anchors = &mut self.rows.pools.anchors[anchors];
        if !anchors.is_sorted_by_key(rank) {
            anchors.sort_by_key(rank);
        }
    }

    fn connect(&mut self, edges: &mut Vec<BlockEdges>) {
        let count = self.rows.spans.blocks.len();
        edges.clear();
        edges.resize(count, BlockEdges::default());
        let mut pool = std::mem::take(&mut self.rows.pools.edges);
        connect_blocks(self.rows.edge_source(), &self.rows.blocks[..count], edges, &mut pool);
        self.rows.edges[..count].copy_from_slice(edges);
        self.rows.pools.edges = pool;
    }

    fn renumber(&mut self, scratch: &mut SettleScratch) {
        let count = self.rows.spans.blocks.len();
        self.number(scratch);
        let is_same = scratch.old_of.len() == count
            && scratch.old_of.iter().enumerate().all(|(new, old)| old.index() == new);
        // The rows of a block that was split are in another one, whatever the numbers.
        self.move_anchors(scratch);
        if !is_same {
            // Definitions that were collected in this edit name blocks by their old numbers.
            self.rows.state.def_epoch += 1;
            self.move_blocks(scratch);
            self.move_instructions(scratch);
            self.move_tables(scratch);
        }
        self.sort_anchors(&mut scratch.ranks);
    }

    /// Numbers the living blocks in the order of the text, and finds for each dead one what comes after it.
    fn number(&mut self, scratch: &mut SettleScratch) {
        let SettleScratch { new_of, old_of, next_of, .. } = scratch;
        let (order, count) = (&self.scratch.order, self.rows.spans.blocks.len());
        new_of.clear();
        new_of.resize(count, Maybe::NONE);
        old_of.clear();
        let mut at = Some(BlockId(0));
        while let Some(block) = at {
            new_of[block.index()] = Maybe::some(BlockId::new(old_of.len()));
            old_of.push(block);
            at = order[block.index()].next.get();
        }
        next_of.clear();
        next_of.resize(count, Next::Unknown);
        // A dead block still names the block that came after it when it died: that one is alive, has died later, or has
        // joined another one later.
        let joined = &self.scratch.joined;
        let mut path = Vec::new();
        for block in (0..count).map(BlockId::new).filter(|block| new_of[block.index()].is_none()) {
            let mut at = Maybe::some(block);
            let end = loop {
                let Some(dead) = at.get() else { break Next::End };
                if !new_of[dead.index()].is_none() {
                    break Next::Block(dead);
                }
                if let Some(row) = joined[dead.index()].get() {
                    // The block that it joined may have died after that.
                    let home = self.rows.heads[row.index()].block;
                    if !new_of[home.index()].is_none() {
                        break Next::Row(row);
                    }
                    path.push(dead);
                    at = Maybe::some(home);
                    continue;
                }
                if !matches!(next_of[dead.index()], Next::Unknown) {
                    break next_of[dead.index()];
                }
                path.push(dead);
                at = order[dead.index()].next;
            };
            path.drain(..).for_each(|dead| next_of[dead.index()] = end);
        }
    }

    /// Gives anchors the block that their row is in; those of dead blocks go on to the next place.
    fn move_anchors(&mut self, scratch: &SettleScratch) {
        let SettleScratch { new_of, old_of, next_of, .. } = scratch;
        let span = self.rows.spans.anchors;
        let (rows, blocks) = (&*self.rows.heads, &*self.rows.blocks);
        let first_row = |block: BlockId| {
            let head = &blocks[block.index()];
            if head.insts.is_empty() { Anchor::END } else { InstId(head.insts.first) }
        };
        let last = BlockId::new(old_of.len() - 1);
        let anchors = &mut self.rows.pools.anchors[span.range()];
        let mut kept = 0;
        for at in 0..anchors.len() {
            let anchor = anchors[at];
            // The row's block, dead or alive; there is no row where the place is the end of a block.
            let row = rows.get(anchor.before.index()).filter(|_| !anchor.is_of_block());
            let home = row.map_or(anchor.block, |head| head.block);
            let moved = if let Some(block) = new_of[home.index()].get() {
                Anchor { block, ..anchor }
            } else if matches!(anchor.kind, AnchorKind::BlockPragma | AnchorKind::InstPragma) {
                // What it belonged to is gone.
                continue;
            } else {
                let (block, before) = match next_of[home.index()] {
                    Next::Block(next) => (new_of[next.index()].get(), first_row(next)),
                    Next::Row(row) => (new_of[rows[row.index()].block.index()].get(), row),
                    Next::Unknown | Next::End => (Some(last), Anchor::END),
                };
                Anchor { block: block.expect("it is alive"), before, ..anchor }
            };
            anchors[kept] = moved;
            kept += 1;
        }
        self.rows.spans.anchors.count = kept as u32;
    }

    fn move_blocks(&mut self, scratch: &mut SettleScratch) {
        let SettleScratch { new_of, old_of, heads, orders, labels, .. } = scratch;
        let rows = &mut self.rows;
        heads.clear();
        heads.extend(old_of.iter().map(|old| rows.blocks[old.index()]));
        labels.clear();
        labels.extend(old_of.iter().map(|old| rows.labels[old.index()]));
        let moved = |block: Maybe<BlockId>| block.get().map_or(Maybe::NONE, |block| new_of[block.index()]);
        orders.clear();
        orders.extend(old_of.iter().map(|old| {
            let order = rows.orders[old.index()];
            BlockOrder {
                loop_header: moved(order.loop_header),
                loop_around: moved(order.loop_around),
                idom: moved(order.idom),
                ..order
            }
        }));
        let count = old_of.len();
        rows.blocks[..count].copy_from_slice(heads);
        rows.labels[..count].copy_from_slice(labels);
        rows.orders[..count].copy_from_slice(orders);
        let freed = rows.spans.blocks.count - count as u32;
        rows.spans.blocks = Span { count: count as u32, ..rows.spans.blocks };
        rows.spans.room.blocks += freed;
    }

    /// Gives instructions their new blocks, branches their new targets, and phis their new predecessors.
    fn move_instructions(&mut self, scratch: &SettleScratch) {
        let new_of = &scratch.new_of;
        let target = |block: BlockId| {
            new_of[block.index()]
                .get()
                .unwrap_or_else(|| panic!("something branches to {block:?}, which is gone"))
        };
        for row in 0..self.rows.spans.insts.len() {
            let head = &mut self.rows.heads[row];
            head.block = new_of[head.block.index()].get().unwrap_or(BlockId(0));
            if !(head.marks.contains(Marks::CONTROL) || head.is_phi()) || !head.is_live() {
                continue;
            }
            let head = *head;
            self.tools.journal.save_operands(&self.rows, InstId::new(row));
            let operands = self.rows.operands[row].get_mut(head.operand_count, &mut self.rows.pools.operands);
            for operand in operands {
                if let Some(block) = operand.as_block() {
                    *operand = operand.with_block(target(block));
                } else if let Some(table) = operand.as_table() {
                    let table = self.rows.pools.tables[self.rows.spans.tables.first as usize + table.index()];
                    if table.kind == TableKind::Branch {
                        let targets = &self.rows.pools.targets[table.targets.range()];
                        targets.iter().for_each(|&block| {
                            target(block);
                        });
                    }
                }
            }
        }
    }

    /// Gives branch tables their new targets. What a table lists that no live instruction names may be any block: the table
    /// is not written.
    fn move_tables(&mut self, scratch: &SettleScratch) {
        let pools = &mut *self.rows.pools;
        for table in &pools.tables[self.rows.spans.tables.range()] {
            if table.kind == TableKind::Branch {
                for target in &mut pools.targets[table.targets.range()] {
                    *target = scratch.new_of[target.index()].get().unwrap_or(BlockId(0));
                }
            }
        }
        debug_assert!(
            self.rows.blocks[..scratch.old_of.len()]
                .iter()
                .all(|head| !head.flags.contains(BlockFlags::DEAD))
        );
    }
}
