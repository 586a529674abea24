//! AnalyzeControlFlow as a service: what needs the annotations of the blocks asks for them here.
//!
//! Two entry points stand for the documents' `force` argument. [`bring_up_to_date`] costs a comparison of epochs when
//! no edge has changed; [`retag_everything`] clears and computes all of it again. The facts are the same after both.
//! The documents' guard against nested calls is the exclusive borrow of the function.
//!
//! # The four steps
//! Reset clears exactly the documented flag bits. The sweep numbers the blocks and finds dominators. Confirmation
//! gives LOOP_HEADER to targets of natural back edges, self loops included; the source tags every block first and
//! confirms the latch. The consistency check sets RPO_VIOLATION when some loop's interval of ranks is not its body.

use super::dominators::Solver;
use super::edges::Graph;
use super::loops::{LoopScratch, find_loops};
use super::ranks::{Ranks, rank};
use crate::forms::FormTable;
use crate::run::facts::{CodeFacts, Fact};
use crate::store::tables::CodeTables;
use crate::store::view::RowIds;
use ptxopt_components::block::{BlockFlags, BlockHead, BlockMarks, BlockOrder};
use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_components::ids::{BlockId, CodeId, Id, Maybe};
use ptxopt_components::instruction::{InstHead, InstLinks, Marks};
use ptxopt_components::opcodes::Effects;

/// What the analysis reads and writes of one function.
pub struct Annotated<'a> {
    /// State and epochs.
    pub state: &'a mut CodeState,
    /// The facts that hold.
    pub facts: &'a mut CodeFacts,
    /// Edges.
    pub graph: Graph<'a>,
    /// Instructions of the blocks, and flags.
    pub heads: &'a mut [BlockHead],
    /// Ranks, dominators, loops.
    pub orders: &'a mut [BlockOrder],
    /// Instruction heads of the function.
    pub insts: &'a [InstHead],
    /// Neighbours of the instructions of chained blocks.
    pub links: &'a [InstLinks],
}

/// Memory that the analysis uses again, and what it did so far.
#[derive(Default)]
pub struct AnalysisScratch {
    ranks: Ranks,
    solver: Solver,
    loops: LoopScratch,
    /// Blocks annotated since the scratch was made: the work that calls cost.
    pub blocks_annotated: u64,
}

impl AnalysisScratch {
    /// Graphs on which the iterative dominator algorithm was given up.
    #[must_use]
    pub fn dominator_fallbacks(&self) -> u64 {
        self.solver.fallback_count
    }
}

/// Makes the annotations current; says whether they were not.
pub fn bring_up_to_date(function: Annotated<'_>, forms: &FormTable, scratch: &mut AnalysisScratch) -> bool {
    if function.facts.holds(Fact::ControlFlow, function.state) {
        return false;
    }
    retag_everything(function, forms, scratch);
    true
}

/// Computes every annotation again, whatever holds.
pub fn retag_everything(function: Annotated<'_>, forms: &FormTable, scratch: &mut AnalysisScratch) {
    let Annotated { state, facts, graph, heads, orders, insts, links } = function;
    scratch.blocks_annotated += heads.len() as u64;
    let violates = annotate(graph, heads, orders, scratch);
    let leaves_early = mark_terminators(heads, graph, (insts, links), forms);
    state.flags.set(CodeFlags::RPO_VIOLATION, violates);
    state.flags.set(CodeFlags::EARLY_EXIT_SEEN, leaves_early);
    facts.computed(Fact::ControlFlow, state);
}

/// Computes ranks, dominators and loops. Says whether some loop's interval of ranks is not its body.
pub fn annotate(
    graph: Graph<'_>,
    heads: &mut [BlockHead],
    orders: &mut [BlockOrder],
    scratch: &mut AnalysisScratch,
) -> bool {
    for (head, order) in heads.iter_mut().zip(orders.iter_mut()) {
        head.flags = head.flags.reset() - BlockFlags::IRREDUCIBLE;
        *order = BlockOrder::default();
    }
    let AnalysisScratch { ranks, solver, loops, .. } = scratch;
    rank(graph, orders, ranks);
    find_dominators(graph, orders, &ranks.order, solver);
    find_loops(graph, &ranks.order, heads, orders, loops)
}

/// Dominators of the reachable blocks. Unreachable predecessors are skipped.
fn find_dominators(graph: Graph<'_>, orders: &mut [BlockOrder], order: &[BlockId], solver: &mut Solver) {
    solver.graph.clear();
    for &block in order {
        let ranks = graph.preds(block).iter().map(|pred| orders[pred.index()].rpo);
        solver.graph.push(ranks.filter(|&rpo| rpo != BlockOrder::UNREACHABLE));
    }
    solver.solve();
    for (rpo, block) in order.iter().enumerate() {
        let row = &mut orders[block.index()];
        row.idom = if rpo == 0 { Maybe::NONE } else { Maybe::some(order[solver.idom[rpo] as usize]) };
        row.dom_first = solver.first[rpo];
        row.dom_last = solver.last[rpo];
    }
}

/// Sets what depends on terminators; says whether one leaves the kernel before its last block.
fn mark_terminators(
    heads: &mut [BlockHead],
    graph: Graph<'_>,
    (insts, links): (&[InstHead], &[InstLinks]),
    forms: &FormTable,
) -> bool {
    let mut leaves_early = false;
    let last = heads.len().saturating_sub(1);
    for (block, head) in heads.iter_mut().enumerate() {
        let rows = RowIds::of(head, links).rev().map(|inst| &insts[inst.index()]);
        let terminator = rows.into_iter().find(|inst| inst.is_live());
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

impl CodeTables {
    /// The annotations of one function outside a World: what tests work on.
    ///
    /// # Panics
    /// When the tables were read without [`CodeTables::code_facts`] being sized.
    pub fn annotated(&mut self, code: CodeId) -> Annotated<'_> {
        let spans = self.code_spans[code.index()];
        let rows = spans.blocks.range();
        Annotated {
            state: &mut self.code_states[code.index()],
            facts: &mut self.code_facts[code.index()],
            graph: Graph { edges: &self.block_edges[rows.clone()], pool: &self.pools.edges },
            heads: &mut self.block_heads[rows.clone()],
            orders: &mut self.block_orders[rows],
            insts: &self.inst_heads[spans.insts.range()],
            links: self.inst_links.get(spans.insts.range()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
