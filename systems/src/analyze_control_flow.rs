//! AnalyzeControlFlow: ranks, dominators and natural loops of every function.
//!
//! Source phase  3 AnalyzeControlFlow (analyze-control-flow; basic-blocks-and-cfg)
//! Reads         BlockEdges, InstHead
//! Writes        BlockHead flags, BlockOrder, CodeState flags
//! Needs         edges
//! Leaves        Fact::ControlFlow
//! Breaks        nothing
//! Cost          O(blocks + edges) for ranks and loops; dominators take one pass over reducible graphs, and as many
//!               as the deepest nest of irreducible ones needs; a comparison where the fact holds
//! Paper         Cooper, Harvey, Kennedy 2001, "A Simple, Fast Dominance Algorithm"; Tarjan 1974 for loop bodies
//! Checked by    check/control_flow.rs
//!
//! # The four steps
//! Reset clears exactly the documented flag bits. The sweep numbers the blocks and finds dominators. Confirmation
//! gives LOOP_HEADER to targets of natural back edges, self loops included; the source tags every block first and
//! confirms the latch. The consistency check sets RPO_VIOLATION when some loop's interval of ranks is not its body.
//!
//! # Ranks
//! Depth-first from the entry with an explicit stack; the fall-through successor is visited last, so that it gets
//! the rank right behind its block. A block without a path from the entry has no rank; ranks have no gaps.
//!
//! # Loops
//! An edge to a block of smaller or equal rank retreats. It is a natural back edge when its target dominates its
//! source; otherwise its target is marked IRREDUCIBLE and belongs to no natural loop on that account.

use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockMarks, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, Maybe};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::columns::{BlocksMut, CodeObjectsMut, Insts, PoolsResource};
use ptxopt_engine::facts::Fact;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::log::StepLog;
use ptxopt_engine::phase::Phase;

/// Phase 3, and the analysis that gives [`Fact::ControlFlow`] wherever it is asked for.
pub const PHASE: Phase = Phase {
    name: "analyze_control_flow",
    needs: &[],
    gives: &[Fact::ControlFlow],
    breaks: &[],
    required: false,
    install: |slot| slot.add(run),
};

/// Brings the control-flow facts of every function up to date.
pub fn run(
    mut codes: CodeObjectsMut,
    mut blocks: BlocksMut,
    insts: Insts,
    pools: Res<PoolsResource>,
    forms: Res<FormTable>,
    mut scratch: Local<Scratch>,
    mut log: ResMut<StepLog>,
) {
    let (states, facts, spans, _) = codes.columns();
    let (heads, edges, orders, _) = blocks.columns();
    let (inst_heads, ..) = insts.columns();
    for (code, span) in spans.iter().enumerate() {
        let state = &mut states[code];
        if state.flags.contains(CodeFlags::LEFT) || facts[code].holds(Fact::ControlFlow, state) {
            continue;
        }
        let rows = span.blocks.range();
        let graph = Graph { edges: &edges[rows.clone()], pool: &pools.0.edges };
        state.flags |= CodeFlags::REENTRANCY_GUARD;
        let violates = analyze(graph, &mut heads[rows.clone()], &mut orders[rows.clone()], &mut scratch);
        let leaves_early = mark_terminators(&mut heads[rows], graph, &inst_heads[span.insts.range()], &forms);
        state.flags.set(CodeFlags::RPO_VIOLATION, violates);
        state.flags.set(CodeFlags::EARLY_EXIT_SEEN, leaves_early);
        state.flags -= CodeFlags::REENTRANCY_GUARD;
        facts[code].computed(Fact::ControlFlow, state);
        log.current().facts_computed += 1;
    }
}

/// Edges of one function.
#[derive(Clone, Copy)]
pub struct Graph<'a> {
    /// By block.
    pub edges: &'a [BlockEdges],
    /// The edge pool.
    pub pool: &'a [BlockId],
}

impl<'a> Graph<'a> {
    fn succs(self, block: BlockId) -> &'a [BlockId] {
        &self.pool[self.edges[block.index()].succs.range()]
    }

    fn preds(self, block: BlockId) -> &'a [BlockId] {
        &self.pool[self.edges[block.index()].preds.range()]
    }
}

/// Memory that the analysis uses again.
#[derive(Default)]
pub struct Scratch {
    /// Depth-first stack: a block and how many of its successors were visited.
    stack: Vec<(BlockId, u32)>,
    /// Reachable blocks in reverse postorder.
    order: Vec<BlockId>,
    /// By block: header of the innermost loop around the loop that the block heads.
    parent: Vec<Maybe<BlockId>>,
    /// By header: blocks in its loop, inner loops included.
    body_size: Vec<u32>,
    worklist: Vec<BlockId>,
}

/// Computes ranks, dominators and loops. Says whether some loop's interval of ranks is not its body.
pub fn analyze(
    graph: Graph<'_>,
    heads: &mut [BlockHead],
    orders: &mut [BlockOrder],
    scratch: &mut Scratch,
) -> bool {
    for (head, order) in heads.iter_mut().zip(orders.iter_mut()) {
        head.flags = head.flags.reset() - BlockFlags::IRREDUCIBLE;
        *order = BlockOrder::default();
    }
    if heads.is_empty() {
        return false;
    }
    rank(graph, orders, scratch);
    find_dominators(graph, orders, &scratch.order);
    find_loops(graph, heads, orders, scratch);
    finish_loops(heads, orders, scratch)
}

/// Numbers the blocks in reverse postorder.
fn rank(graph: Graph<'_>, orders: &mut [BlockOrder], scratch: &mut Scratch) {
    let Scratch { stack, order, .. } = scratch;
    order.clear();
    stack.clear();
    // While the walk is under way, a rank of 0 means "seen".
    orders[0].rpo = 0;
    stack.push((BlockId(0), 0));
    while let Some((block, visited)) = stack.last_mut() {
        match graph.succs(*block).get(*visited as usize) {
            Some(&succ) => {
                *visited += 1;
                if orders[succ.index()].rpo == BlockOrder::UNREACHABLE {
                    orders[succ.index()].rpo = 0;
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    for (rpo, block) in order.iter().enumerate() {
        orders[block.index()].rpo = rpo as u32;
    }
}

/// Immediate dominators by iteration over reverse postorder. Unreachable predecessors are skipped.
fn find_dominators(graph: Graph<'_>, orders: &mut [BlockOrder], order: &[BlockId]) {
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let mut new: Option<BlockId> = None;
            for &pred in graph.preds(block) {
                let row = &orders[pred.index()];
                // A predecessor without a dominator is unreachable, or not reached by this first pass.
                if row.rpo != 0 && row.idom.is_none() {
                    continue;
                }
                new = Some(new.map_or(pred, |other| common_dominator(orders, pred, other)));
            }
            let new = new.map_or(Maybe::NONE, Maybe::some);
            changed |= orders[block.index()].idom != new;
            orders[block.index()].idom = new;
        }
    }
}

/// The nearest block that dominates both: climbs from the one of larger rank.
fn common_dominator(orders: &[BlockOrder], mut a: BlockId, mut b: BlockId) -> BlockId {
    let climb = |block: BlockId| orders[block.index()].idom.get().expect("only the entry has no dominator");
    while a != b {
        if orders[a.index()].rpo > orders[b.index()].rpo {
            a = climb(a);
        } else {
            b = climb(b);
        }
    }
    a
}

/// Whether `a` dominates `b`, both reachable.
#[must_use]
pub fn dominates(orders: &[BlockOrder], a: BlockId, mut b: BlockId) -> bool {
    while orders[b.index()].rpo > orders[a.index()].rpo {
        match orders[b.index()].idom.get() {
            Some(idom) => b = idom,
            None => return false,
        }
    }
    a == b
}

/// Finds headers and bodies, inner loops first: headers are visited against reverse postorder.
fn find_loops(graph: Graph<'_>, heads: &mut [BlockHead], orders: &mut [BlockOrder], scratch: &mut Scratch) {
    let Scratch { order, parent, worklist, body_size, .. } = scratch;
    parent.clear();
    parent.resize(heads.len(), Maybe::NONE);
    body_size.clear();
    body_size.resize(heads.len(), 0);
    for &header in order.iter().rev() {
        let header_rpo = orders[header.index()].rpo;
        worklist.clear();
        for &pred in graph.preds(header) {
            let pred_rpo = orders[pred.index()].rpo;
            if pred_rpo == BlockOrder::UNREACHABLE {
                continue;
            }
            if pred_rpo < header_rpo {
                heads[header.index()].flags |= BlockFlags::HAS_PRED;
                continue;
            }
            if dominates(orders, header, pred) {
                worklist.push(pred);
                let latch = orders[header.index()].latch_rpo;
                let is_none = latch == BlockOrder::NONE;
                orders[header.index()].latch_rpo = if is_none { pred_rpo } else { latch.max(pred_rpo) };
            } else {
                heads[header.index()].flags |= BlockFlags::IRREDUCIBLE;
            }
        }
        if orders[header.index()].latch_rpo != BlockOrder::NONE {
            heads[header.index()].flags |= BlockFlags::LOOP_HEADER;
            fill_body(graph, header, orders, parent, worklist);
        }
    }
}

/// Walks backwards from the latches to the header; an inner loop is entered as one node, its header.
fn fill_body(
    graph: Graph<'_>,
    header: BlockId,
    orders: &mut [BlockOrder],
    parent: &mut [Maybe<BlockId>],
    worklist: &mut Vec<BlockId>,
) {
    orders[header.index()].loop_header = Maybe::some(header);
    while let Some(block) = worklist.pop() {
        let outermost = match orders[block.index()].loop_header.get() {
            None => {
                orders[block.index()].loop_header = Maybe::some(header);
                block
            }
            Some(inner) => {
                let mut outermost = inner;
                while let Some(around) = parent[outermost.index()].get() {
                    outermost = around;
                }
                if outermost == header {
                    continue;
                }
                parent[outermost.index()] = Maybe::some(header);
                outermost
            }
        };
        let is_reachable = |pred: &BlockId| orders[pred.index()].rpo != BlockOrder::UNREACHABLE;
        worklist.extend(graph.preds(outermost).iter().copied().filter(is_reachable));
    }
}

/// Depths, intervals and IN_LOOP, outer loops first; then the consistency check.
fn finish_loops(heads: &mut [BlockHead], orders: &mut [BlockOrder], scratch: &mut Scratch) -> bool {
    let Scratch { order, parent, body_size, .. } = scratch;
    for &block in order.iter() {
        let Some(header) = orders[block.index()].loop_header.get() else { continue };
        heads[block.index()].flags |= BlockFlags::IN_LOOP;
        orders[block.index()].depth = if header == block {
            1 + parent[block.index()].get().map_or(0, |around| orders[around.index()].depth)
        } else {
            orders[header.index()].depth
        };
    }
    for &block in order.iter().rev() {
        let rpo = orders[block.index()].rpo;
        let mut around = orders[block.index()].loop_header;
        while let Some(header) = around.get() {
            let exit = &mut orders[header.index()].exit_rpo;
            *exit = if *exit == BlockOrder::NONE { rpo } else { (*exit).max(rpo) };
            body_size[header.index()] += 1;
            around = parent[header.index()];
        }
    }
    order.iter().any(|&header| {
        let row = &orders[header.index()];
        row.exit_rpo != BlockOrder::NONE && row.exit_rpo - row.rpo + 1 != body_size[header.index()]
    })
}

/// Sets what depends on terminators; says whether one leaves the kernel before its last block.
fn mark_terminators(
    heads: &mut [BlockHead],
    graph: Graph<'_>,
    insts: &[InstHead],
    forms: &FormTable,
) -> bool {
    let mut leaves_early = false;
    let last = heads.len() - 1;
    for (block, head) in heads.iter_mut().enumerate() {
        let terminator = insts[head.insts.range()].iter().rev().find(|inst| inst.is_live());
        let effects = match terminator {
            Some(inst) if inst.marks.contains(Marks::CONTROL) => forms.get(inst.form).effects,
            _ => Effects::PURE,
        };
        head.flags.set(BlockFlags::ANALYSIS_OK, !effects.contains(Effects::UNKNOWN));
        let returns = effects.intersects(Effects::RETURN | Effects::EXIT);
        leaves_early |= returns && block != last;
        let id = BlockId::new(block);
        let may_turn_back = graph.succs(id).iter().any(|succ| *succ <= id);
        head.marks.set(BlockMarks::BACK_EDGE_CANDIDATE, may_turn_back && !returns);
        if returns {
            head.marks = BlockMarks::from_bits_retain(head.marks.bits() & BlockMarks::RETURN_MASK);
        }
    }
    leaves_early
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges of a graph given as successor lists.
    struct Edges {
        rows: Vec<BlockEdges>,
        pool: Vec<BlockId>,
    }

    fn graph(succs: &[&[u32]]) -> Edges {
        use ptxopt_components::ids::Span;
        let mut pool = Vec::new();
        let mut rows = vec![BlockEdges::default(); succs.len()];
        for (block, targets) in succs.iter().enumerate() {
            let first = pool.len();
            pool.extend(targets.iter().map(|&target| BlockId(target)));
            rows[block].succs = Span::between(first, pool.len());
        }
        for (block, row) in rows.iter_mut().enumerate() {
            let first = pool.len();
            for (pred, targets) in succs.iter().enumerate() {
                pool.extend(targets.iter().filter(|&&t| t as usize == block).map(|_| BlockId::new(pred)));
            }
            row.preds = Span::between(first, pool.len());
        }
        Edges { rows, pool }
    }

    fn analyzed(succs: &[&[u32]]) -> (Vec<BlockHead>, Vec<BlockOrder>, bool) {
        let edges = graph(succs);
        let mut heads = vec![BlockHead::default(); succs.len()];
        let mut orders = vec![BlockOrder::default(); succs.len()];
        let graph = Graph { edges: &edges.rows, pool: &edges.pool };
        let violates = analyze(graph, &mut heads, &mut orders, &mut Scratch::default());
        (heads, orders, violates)
    }

    fn headers(heads: &[BlockHead]) -> Vec<usize> {
        (0..heads.len()).filter(|&block| heads[block].flags.contains(BlockFlags::LOOP_HEADER)).collect()
    }

    #[test]
    fn the_fall_through_gets_the_next_rank() {
        let (_, orders, _) = analyzed(&[&[2, 1], &[3], &[3], &[]]);
        assert_eq!(orders.iter().map(|order| order.rpo).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(orders[3].idom.get(), Some(BlockId(0)));
    }

    #[test]
    fn nested_loops_have_depths_and_bodies() {
        // 0 -> 1 -> 2 -> 3 -> {2, 4}; 4 -> {1, 5}
        let (heads, orders, violates) = analyzed(&[&[1], &[2], &[3], &[2, 4], &[1, 5], &[]]);
        assert_eq!(headers(&heads), [1, 2]);
        assert_eq!(orders.iter().map(|order| order.depth).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
        assert_eq!(orders[3].loop_header.get(), Some(BlockId(2)));
        assert_eq!((orders[2].latch_rpo, orders[2].exit_rpo), (3, 3));
        assert_eq!((orders[1].latch_rpo, orders[1].exit_rpo), (4, 4));
        assert!(!violates);
    }

    #[test]
    fn a_self_loop_is_a_loop() {
        let (heads, orders, _) = analyzed(&[&[1], &[1, 2], &[]]);
        assert_eq!(headers(&heads), [1]);
        assert_eq!(orders[1].depth, 1);
    }

    #[test]
    fn a_cycle_with_two_entries_is_irreducible_and_no_loop() {
        let (heads, orders, _) = analyzed(&[&[1, 2], &[2], &[1, 3], &[]]);
        assert_eq!(headers(&heads), Vec::<usize>::new());
        assert!(heads.iter().any(|head| head.flags.contains(BlockFlags::IRREDUCIBLE)));
        assert!(orders.iter().all(|order| order.depth == 0));
    }

    #[test]
    fn unreachable_blocks_have_no_rank_and_dominate_nothing() {
        let (_, orders, _) = analyzed(&[&[2], &[2], &[]]);
        assert_eq!(orders[1].rpo, BlockOrder::UNREACHABLE);
        assert_eq!((orders[2].rpo, orders[2].idom.get()), (1, Some(BlockId(0))));
    }

    #[test]
    fn a_break_block_between_header_and_latch_violates_the_interval() {
        // The exit path 2 -> 4 leaves the loop 1,2,3 but gets a rank between them.
        let (_, orders, violates) = analyzed(&[&[1], &[3, 2], &[4], &[1, 4], &[]]);
        assert_eq!(orders[3].loop_header.get(), Some(BlockId(1)));
        assert_eq!(orders[2].loop_header.get(), None);
        assert_eq!(violates, orders[1].exit_rpo - orders[1].rpo != 1);
        assert!(violates);
    }

    #[test]
    fn infinite_loops_and_parallel_edges_are_fine() {
        let (heads, orders, _) = analyzed(&[&[1, 1], &[1, 1]]);
        assert_eq!(headers(&heads), [1]);
        assert_eq!(orders[1].idom.get(), Some(BlockId(0)));
    }
}
