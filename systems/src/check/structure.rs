//! Structure: in functions that the structurizer took, the ways of each divergent branch first meet in one place.
//!
//! Full. For each branch a walk over the blocks up to the place where its ways meet; of functions marked STRUCTURIZED.
//!
//! - Every cycle is a loop with one entry: the target of an edge to a block of no larger rank dominates its source.
//! - From a branch that is not tagged uniform, followed within a round of the loop around it, the ways first meet in one
//!   place: a block, the edges back, or the edges out. Before that they share no block, nothing else leads into them, and
//!   none of them leads past it. Where all ways but one end, that place is the first block to which something else leads.
//!   Threads that end wait for no other: what leads to a block that does nothing but end them, or traps, is no way.
//! - A loop that threads leave apart has one target outside. A block that only jumps, or that only sets what the Flow block
//!   after it tests, belongs to the edge (below).
//! - A Flow block holds at most a test of a number, and a branch.
//!
//! # What belongs to an edge
//! The source's Flow block begins with a merge of values, one for each edge, and threads wait for each other at the block.
//! PTX has no merges: a constant is moved into the register before the edge. Where the edge is a table's, the move has a block
//! of its own, and where an edge leads past other code, so has the jump. Such a block lies outside a loop from which the
//! edge leads, and other edges out of the loop lead straight to the target. Threads still meet at the target, and all that they
//! execute apart until then is a jump, or the value of the merge. So a block is part of an edge if it holds nothing but an
//! unguarded jump, and before that, if it leads to a Flow block, at most one unguarded move of a constant into the register
//! that the Flow block reads. A block that moves anything else is none.
//!
//! This is said of each branch by itself, without the order and the joins that the structurizer goes by.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Blocks of jumps one after the other that are taken for one edge.
const WAYS_MAX: usize = 64;

/// The verifier of structure.
pub const CHECK: Check = Check { name: "structure", from: Verify::Full, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| verify(function, &forms));
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    if !function.state.flags.contains(CodeFlags::STRUCTURIZED) {
        return Ok(());
    }
    // The facts of a function that was just changed are those of before.
    let (mut blocks, mut orders) = (function.blocks.to_vec(), function.orders.to_vec());
    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
    annotate(graph, &mut blocks, &mut orders, &mut AnalysisScratch::default());
    let mut tree = DominatorTree::default();
    tree.compute(&FunctionView { orders: &orders, ..*function });
    let graph = Cycles::find(function, forms, &tree)?;
    for block in tree.reverse_postorder().iter().copied() {
        let head = function.blocks[block.index()];
        if head.flags.contains(BlockFlags::FLOW) {
            verify_flow(function, forms, block)?;
        }
        let may_part = !head.flags.contains(BlockFlags::UNIFORM_BRANCH);
        if may_part && graph.succs(block).count() > 1 {
            graph.verify_branch(block)?;
        }
    }
    graph.verify_exits()
}

fn verify_flow(function: &FunctionView<'_>, forms: &FormTable, block: BlockId) -> Verdict {
    let mut insts = function.insts_of(block).rev();
    let operation = |inst: InstId| forms.describe(function.heads[inst.index()].form).operation;
    let branch = insts.next().map(operation);
    let test = insts.next().map(operation);
    let is_flow = branch == Some(Operation::Bra)
        && (test.is_none() || test == Some(Operation::Setp))
        && insts.next().is_none();
    if is_flow {
        Ok(())
    } else {
        wrong_in(block, "a Flow block holds something else than a test and a branch")
    }
}

/// The graph with its loops.
struct Cycles<'a> {
    function: &'a FunctionView<'a>,
    rank: Vec<u32>,
    /// By block: the header of the innermost loop around it.
    header: Vec<Option<BlockId>>,
    /// By header: that of the loop around its loop.
    around: BTreeMap<BlockId, BlockId>,
    /// By block: threads end here and do nothing else.
    ends: Vec<bool>,
    /// By block that is part of an edge: the target of the edge.
    past: Vec<Option<BlockId>>,
}

/// Where an edge leads, seen from a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Block(u32, BlockId),
    Back,
    Out,
}

impl<'a> Cycles<'a> {
    fn find(function: &'a FunctionView<'a>, forms: &FormTable, tree: &DominatorTree) -> Result<Self, String> {
        let count = function.blocks.len();
        let mut rank = vec![u32::MAX; count];
        for (at, block) in tree.reverse_postorder().iter().enumerate() {
            rank[block.index()] = at as u32;
        }
        let mut latches: BTreeMap<Reverse<u32>, (BlockId, Vec<BlockId>)> = BTreeMap::new();
        for &block in tree.reverse_postorder() {
            for &succ in function.succs(block) {
                if rank[succ.index()] > rank[block.index()] {
                    continue;
                }
                if !tree.dominates(succ, block) {
                    return Err(format!("{block:?}: a cycle has several entries"));
                }
                latches.entry(Reverse(rank[succ.index()])).or_insert((succ, Vec::new())).1.push(block);
            }
        }
        let ends = function.block_ids().map(|block| ends_threads(function, forms, block)).collect();
        let past = function.block_ids().map(|block| past(function, forms, block)).collect();
        let (header, around) = (vec![None; count], BTreeMap::new());
        let mut cycles = Self { function, rank, header, around, ends, past };
        // Inner headers have larger ranks.
        for (header, sources) in latches.into_values() {
            cycles.add_loop(header, sources);
        }
        Ok(cycles)
    }

    /// The outermost known header around a block, or the block.
    fn outermost(&self, block: BlockId) -> BlockId {
        let mut at = self.header[block.index()].unwrap_or(block);
        while let Some(&around) = self.around.get(&at) {
            at = around;
        }
        at
    }

    fn add_loop(&mut self, header: BlockId, mut open: Vec<BlockId>) {
        self.header[header.index()] = Some(header);
        while let Some(block) = open.pop() {
            let node = self.outermost(block);
            if node == header {
                continue;
            }
            if self.header[node.index()].is_none() {
                self.header[node.index()] = Some(header);
            } else {
                self.around.insert(node, header);
            }
            let is_reached = |pred: &&BlockId| self.rank[pred.index()] != u32::MAX;
            open.extend(self.function.preds(node).iter().filter(is_reached).copied());
        }
    }

    /// Whether the loop of `header` holds a block.
    fn holds(&self, header: BlockId, block: BlockId) -> bool {
        let mut at = self.header[block.index()];
        while let Some(inner) = at {
            if inner == header {
                return true;
            }
            at = self.around.get(&inner).copied();
        }
        false
    }

    /// The blocks that a block leads to, without those that only end threads, each once.
    fn succs(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let all = self.function.succs(block);
        let is_first = move |(at, succ): &(usize, &BlockId)| !all[..*at].contains(succ);
        all.iter().enumerate().filter(is_first).map(|(_, &succ)| succ).filter(|succ| !self.ends[succ.index()])
    }

    fn place(&self, around: Option<BlockId>, to: BlockId) -> Place {
        match around {
            Some(header) if header == to => Place::Back,
            Some(header) if !self.holds(header, to) => Place::Out,
            _ => Place::Block(self.rank[to.index()], to),
        }
    }

    /// Follows the ways from a branch until they meet.
    fn verify_branch(&self, branch: BlockId) -> Verdict {
        let around = self.header[branch.index()];
        // By place: the way on which it lies; 0 stands for the place where ways meet.
        let mut way_of: BTreeMap<Place, usize> = BTreeMap::new();
        let mut open: BinaryHeap<Reverse<(Place, usize)>> = BinaryHeap::new();
        for (at, succ) in self.succs(branch).enumerate() {
            open.push(Reverse((self.place(around, succ), at + 1)));
        }
        let mut meet: Option<Place> = None;
        while let Some(Reverse((place, way))) = open.pop() {
            match way_of.get(&place) {
                Some(&known) if known == 0 || known == way => continue,
                Some(_) => {
                    return wrong_in(branch, format_args!("a way leads back into another one, at {place:?}"));
                }
                None => {}
            }
            way_of.insert(place, way);
            // Ways to a place come from places before it, so all that lead there are known.
            let mut is_shared = false;
            while let Some(&Reverse((_, other))) = open.peek().filter(|Reverse((next, _))| *next == place) {
                open.pop();
                is_shared |= other != way;
            }
            // Threads from elsewhere meet those of a way as well, where all other ways end.
            is_shared |= self.is_entered_from_elsewhere(branch, place, way, &way_of);
            if is_shared {
                if let Some(meet) = meet {
                    return wrong_in(branch, format_args!("ways meet at {place:?} and at {meet:?}"));
                }
                meet = Some(place);
                way_of.insert(place, 0);
                continue;
            }
            if let Place::Block(_, block) = place {
                for succ in self.succs(block) {
                    let next = self.place(around, succ);
                    if way_of.get(&next).is_none_or(|&known| known != way && known != 0) {
                        open.push(Reverse((next, way)));
                    }
                }
            }
        }
        for (&place, &way) in &way_of {
            let leads_past = way != 0 && meet.is_some_and(|meet| meet < place);
            if leads_past && !matches!(place, Place::Block(..)) {
                return wrong_in(branch, format_args!("a way leads to {place:?} past {meet:?}"));
            }
        }
        Ok(())
    }

    /// Whether an edge leads to a place on a way from somewhere else than the branch and the way.
    fn is_entered_from_elsewhere(
        &self,
        branch: BlockId,
        place: Place,
        way: usize,
        way_of: &BTreeMap<Place, usize>,
    ) -> bool {
        let Place::Block(rank, block) = place else { return false };
        self.function.preds(block).iter().any(|&pred| {
            let pred_rank = self.rank[pred.index()];
            // Edges back, and those from unreachable blocks, have sources of larger rank.
            let is_on_way = way_of.get(&Place::Block(pred_rank, pred)) == Some(&way);
            pred != branch && pred_rank < rank && !is_on_way
        })
    }

    /// Where the edges lead of which a block and those after it are part, as far as the limit.
    fn end_of_ways(&self, block: BlockId) -> BlockId {
        let past = |block: &BlockId| self.past[block.index()];
        std::iter::successors(Some(block), past).take(WAYS_MAX).last().expect("it begins with the block")
    }

    /// Verifies that loops which threads leave apart have one target.
    fn verify_exits(&self) -> Verdict {
        let mut targets: BTreeMap<BlockId, (BlockId, bool)> = BTreeMap::new();
        for block in self.function.block_ids().filter(|block| self.rank[block.index()] != u32::MAX) {
            let is_uniform = self.function.blocks[block.index()].flags.contains(BlockFlags::UNIFORM_BRANCH);
            for succ in self.succs(block).map(|succ| self.end_of_ways(succ)) {
                let mut header = self.header[block.index()];
                while let Some(inner) = header.filter(|&inner| !self.holds(inner, succ)) {
                    // Seen from outside, edges out of the next loop are one target.
                    let around = self.around.get(&inner).copied();
                    let target = match self.place(around, succ) {
                        Place::Block(_, block) => block,
                        Place::Back => around.expect("only a loop has edges back"),
                        Place::Out => inner,
                    };
                    let known = targets.entry(inner).or_insert((target, is_uniform));
                    if known.0 != target && !(is_uniform && known.1) {
                        return wrong_in(inner, "threads leave the loop for several targets");
                    }
                    known.1 &= is_uniform;
                    header = around;
                }
            }
        }
        Ok(())
    }
}

/// Whether a block does nothing but end threads, or traps.
fn ends_threads(function: &FunctionView<'_>, forms: &FormTable, block: BlockId) -> bool {
    let mut insts = function.insts_of(block).rev();
    let Some(last) = insts.next() else { return function.succs(block).is_empty() };
    let form = function.heads[last.index()].form;
    let traps = forms.describe(form).operation == Operation::Trap;
    // What does something else at the end of the function falls off it.
    let is_end = forms.get(form).effects.intersects(Effects::CONTROL);
    function.succs(block).is_empty() && (traps || is_end && insts.next().is_none())
}

/// The target of the edge of which a block is part (see the header).
fn past(function: &FunctionView<'_>, forms: &FormTable, block: BlockId) -> Option<BlockId> {
    let &[target] = function.succs(block) else { return None };
    let operation = |inst: InstId| forms.describe(function.heads[inst.index()].form).operation;
    let is_plain = |inst: InstId, wanted| operation(inst) == wanted && function.guard_of(inst).is_none();
    let mut insts = function.insts_of(block).peekable();
    if let Some(set) = insts.next_if(|&inst| is_plain(inst, Operation::Mov)) {
        let [to, from] = *function.operands_of(set) else { return None };
        let is_constant = matches!(from.kind(), OperandKind::Int(_));
        if !is_constant || to.vreg() != tested_by(function, target) {
            return None;
        }
    }
    let only_jumps = insts.next().is_none_or(|inst| is_plain(inst, Operation::Bra)) && insts.next().is_none();
    only_jumps.then_some(target)
}

/// The register that threads carry to a Flow block: the one that its test reads, or its branch. None of another block.
fn tested_by(function: &FunctionView<'_>, block: BlockId) -> Option<VRegId> {
    if !function.blocks[block.index()].flags.contains(BlockFlags::FLOW) {
        return None;
    }
    let first = function.insts_of(block).next()?;
    match function.guard_of(first) {
        Some(guard) => guard.vreg(),
        None => function.operands_of(first).get(1)?.vreg(),
    }
}

#[cfg(test)]
mod tests {
    use crate::check::tests::run;
    use crate::flow::split_at_control_flow::PHASE as SPLIT;
    use ptxopt_components::code_object::CodeFlags;
    use ptxopt_engine::run::phase::Phase;
    use ptxopt_engine::store::columns::CodeObjectsMut;

    /// Says of every function that it was structurized.
    static MARKS: Phase = Phase {
        name: "marks",
        install: |slot| {
            slot.add(|mut codes: CodeObjectsMut| codes.columns().0[0].flags |= CodeFlags::STRUCTURIZED);
        },
        ..Phase::NOTHING
    };

    /// What the verifier says of a function with a loop that threads leave for X, and from its end for what `after` says.
    fn verdict(after: &str) -> Option<String> {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n\
             .entry k() {{ .reg .pred %p<3>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n\
             H: add.u32 %r1, %r1, 3; setp.gt.u32 %p1, %r1, 90; setp.lt.u32 %p2, %r1, 70;\n\
             @%p1 bra X; bar.sync 1; @%p2 bra H; {after} X: bar.sync 2; ret; }}"
        );
        run(text.as_bytes(), &[&SPLIT, &MARKS]).functions[0].left.clone()
    }

    #[test]
    fn what_sets_or_does_more_than_an_edge_is_a_target() {
        for after in ["", "bra X;"] {
            assert_eq!(verdict(after), None, "{after}");
        }
        for after in ["mov.u32 %r2, 1;", "bar.sync 3;"] {
            let reason = verdict(after).unwrap_or_default();
            assert!(reason.ends_with("threads leave the loop for several targets"), "{after}: {reason}");
        }
    }
}
