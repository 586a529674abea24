//! Natural loops, written on the blocks.
//!
//! Paper  Tarjan 1974, "Testing Flow Graph Reducibility", for loop bodies
//!
//! # How it works
//! An edge to a block of smaller or equal rank is a back edge. It is natural when its target dominates its source:
//! the target is a header then. Headers are visited against reverse postorder, inner ones first; a walk against the
//! edges from the sources fills the body and enters an inner loop as one node, its header. A block knows the
//! outermost loop found around it so far by union and find, so that a nest a thousand deep costs no climb a block.
//!
//! Another back edge belongs to a cycle with several entries. Its target is marked IRREDUCIBLE and belongs to no
//! natural loop on that account; [`super::nest`] finds the region.

use super::edges::Graph;
use ptxopt_components::block::{BlockFlags, BlockHead, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, Maybe};

/// Memory of the walks.
#[derive(Default)]
pub struct LoopScratch {
    /// By block: towards the header of the outermost loop found around it; a block outside loops leads to itself.
    outermost: Vec<BlockId>,
    /// By header: blocks in its loop, inner loops included.
    body_size: Vec<u32>,
    worklist: Vec<BlockId>,
}

/// Finds loops and sets their flags and fields. `order` holds the reachable blocks by rank; dominators are known.
///
/// Says whether some loop's interval of ranks is not its body.
pub fn find_loops(
    graph: Graph<'_>,
    order: &[BlockId],
    heads: &mut [BlockHead],
    orders: &mut [BlockOrder],
    scratch: &mut LoopScratch,
) -> bool {
    scratch.outermost.clear();
    scratch.outermost.extend(graph.block_ids());
    for &header in order.iter().rev() {
        if find_latches(graph, header, heads, orders, &mut scratch.worklist) {
            heads[header.index()].flags |= BlockFlags::LOOP_HEADER;
            fill_body(graph, header, orders, scratch);
        }
    }
    finish(order, heads, orders, &mut scratch.body_size)
}

/// Lists the sources of natural back edges to `header`, and says whether there are any.
fn find_latches(
    graph: Graph<'_>,
    header: BlockId,
    heads: &mut [BlockHead],
    orders: &mut [BlockOrder],
    latches: &mut Vec<BlockId>,
) -> bool {
    latches.clear();
    let flags = &mut heads[header.index()].flags;
    let own = orders[header.index()];
    let mut latch_rpo = None;
    for &pred in graph.preds(header) {
        let of_pred = orders[pred.index()];
        if !of_pred.is_reachable() {
            continue;
        }
        if of_pred.rpo < own.rpo {
            *flags |= BlockFlags::HAS_PRED;
        } else if own.dominates(&of_pred) {
            latches.push(pred);
            latch_rpo = latch_rpo.max(Some(of_pred.rpo));
        } else {
            *flags |= BlockFlags::IRREDUCIBLE;
        }
    }
    orders[header.index()].latch_rpo = latch_rpo.unwrap_or(BlockOrder::NONE);
    latch_rpo.is_some()
}

/// Walks backwards from the latches to the header.
fn fill_body(graph: Graph<'_>, header: BlockId, orders: &mut [BlockOrder], scratch: &mut LoopScratch) {
    let LoopScratch { outermost, worklist, .. } = scratch;
    orders[header.index()].loop_header = Maybe::some(header);
    while let Some(block) = worklist.pop() {
        let node = find(outermost, block);
        if node == header {
            continue;
        }
        outermost[node.index()] = header;
        let order = &mut orders[node.index()];
        // Outside loops so far, or the header of one.
        if order.loop_header.is_none() {
            order.loop_header = Maybe::some(header);
        } else {
            order.loop_around = Maybe::some(header);
        }
        let is_reachable = |pred: &BlockId| orders[pred.index()].is_reachable();
        worklist.extend(graph.preds(node).iter().copied().filter(is_reachable));
    }
}

/// The end of the way from `block`; halves the way.
fn find(outermost: &mut [BlockId], mut block: BlockId) -> BlockId {
    loop {
        let next = outermost[block.index()];
        if next == block {
            return block;
        }
        let after = outermost[next.index()];
        outermost[block.index()] = after;
        block = after;
    }
}

/// Depths and IN_LOOP, outer loops first; intervals and sizes, inner loops first; then the consistency check.
fn finish(
    order: &[BlockId],
    heads: &mut [BlockHead],
    orders: &mut [BlockOrder],
    body_size: &mut Vec<u32>,
) -> bool {
    let depth_of = |orders: &[BlockOrder], header: Maybe<BlockId>| {
        header.get().map_or(0, |header| orders[header.index()].depth)
    };
    for &block in order {
        let row = orders[block.index()];
        let Some(header) = row.loop_header.get() else { continue };
        heads[block.index()].flags |= BlockFlags::IN_LOOP;
        orders[block.index()].depth = if header == block {
            1 + depth_of(orders, row.loop_around)
        } else {
            depth_of(orders, row.loop_header)
        };
    }
    body_size.clear();
    body_size.resize(orders.len(), 0);
    let mut violates = false;
    // The blocks of a loop have larger ranks than its header, so a loop is complete when its header comes.
    for &block in order.iter().rev() {
        let row = orders[block.index()];
        let Some(header) = row.loop_header.get() else { continue };
        add(orders, body_size, header, row.rpo, 1);
        if header == block {
            let (size, exit_rpo) = (body_size[block.index()], orders[block.index()].exit_rpo);
            violates |= exit_rpo - row.rpo + 1 != size;
            if let Some(around) = row.loop_around.get() {
                add(orders, body_size, around, exit_rpo, size);
            }
        }
    }
    violates
}

/// Adds `count` blocks, the last of them of rank `rpo`, to the loop of `header`.
fn add(orders: &mut [BlockOrder], body_size: &mut [u32], header: BlockId, rpo: u32, count: u32) {
    let exit = &mut orders[header.index()].exit_rpo;
    *exit = if *exit == BlockOrder::NONE { rpo } else { (*exit).max(rpo) };
    body_size[header.index()] += count;
}
