//! The flow graph while branches are rewritten: what the edges are with the changes made so far.

use super::place::Runs;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, Maybe, TableId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::OperandKind;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use std::ops::Range;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It falls through.
    Falls,
    /// An unguarded direct branch.
    Jumps { inst: InstId, target: BlockId },
    /// A guarded direct branch; it falls through otherwise.
    Branches { inst: InstId, target: BlockId },
    /// An indexed branch; it falls through where it is guarded.
    Indexed { inst: InstId, table: TableId },
    /// Anything else: what follows is in the edges, and does not change here.
    Other,
}

/// The flow graph with the changes made so far, beside the edges, which the editor builds again when the phase is done.
#[derive(Default)]
pub struct Model {
    pub(super) ends: Vec<End>,
    /// By block: edges that lead to it.
    pub(super) pred_count: Vec<u32>,
    /// By block: the next one in the text that is not dead.
    pub(super) next: Vec<Maybe<BlockId>>,
    pub(super) runs: Runs,
    pub(super) traits: Vec<Traits>,
    /// As they were: a change that the phase makes leaves ranks of smaller and larger what they are.
    pub(super) orders: Vec<BlockOrder>,
    /// Edges of blocks that end in [`End::Indexed`], targets in the order of the table, or [`End::Other`].
    other_succs: Vec<(BlockId, BlockId)>,
    /// Blocks that have lost their last predecessor.
    doomed: Vec<BlockId>,
}

/// What does not change about a block, but for dying.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    /// Holds nothing, or nothing but a direct branch.
    pub(super) is_empty: bool,
    /// Holds nothing but its end: it is empty once that is a direct branch.
    is_bare: bool,
    /// A pragma or another directive belongs to it.
    pub(super) is_pinned: bool,
    /// No target of a back edge: a branch may be threaded past it.
    pub(super) is_passed_by: bool,
    pub(super) is_dead: bool,
    /// Its end is a branch with the promise `.uni`.
    pub(super) is_uniform: bool,
    /// The header of a loop that holds another one.
    pub(super) holds_loop: bool,
    /// Phis tell its predecessors apart: it gets no other ones.
    pub(super) has_phis: bool,
    /// Byte offset of its end in the text.
    pub(super) offset: u32,
}

impl Model {
    /// Lists the graph of a function, whose edges are those of its instructions. Ranks and flags may be those of a graph
    /// with more edges.
    pub(super) fn load(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let Self { ends, pred_count, next, traits, orders, other_succs, doomed, runs: _ } = self;
        ends.clear();
        pred_count.clear();
        traits.clear();
        orders.clear();
        orders.extend_from_slice(function.orders);
        other_succs.clear();
        doomed.clear();
        for block in function.block_ids() {
            let mut insts = function.insts_of(block).rev();
            let last = insts.next();
            let end = last.map_or(End::Falls, |inst| end_of(function, forms, inst));
            let is_bare = insts.next().is_none();
            let is_direct = matches!(end, End::Jumps { .. } | End::Branches { .. });
            let is_empty = last.is_none() || (is_direct && is_bare);
            traits.push(Traits { is_empty, is_bare, ..traits_of(function, forms, block, last) });
            if matches!(end, End::Indexed { .. } | End::Other) {
                other_succs.extend(function.succs(block).iter().map(|&succ| (block, succ)));
            }
            ends.push(end);
            pred_count.push(function.preds(block).len() as u32);
        }
        for anchor in function.anchors {
            traits[anchor.block.index()].is_pinned |= anchor.pins_block();
        }
        for (block, order) in orders.iter().enumerate() {
            if function.blocks[block].flags.contains(BlockFlags::LOOP_HEADER)
                && let Some(around) = order.loop_around.get()
            {
                traits[around.index()].holds_loop = true;
            }
        }
        next.clear();
        next.extend((1..=ends.len()).map(|block| Maybe::some(BlockId::new(block))));
        if let Some(last) = next.last_mut() {
            *last = Maybe::NONE;
        }
        self.unlink_dead();
    }

    /// Lets each block be followed by a living one.
    fn unlink_dead(&mut self) {
        let mut at = BlockId(0);
        loop {
            let mut next = self.next(at);
            while let Some(dead) = next.filter(|&next| self.of(next).is_dead) {
                next = self.next(dead);
            }
            self.next[at.index()] = next.map_or(Maybe::NONE, Maybe::some);
            let Some(next) = next else { return };
            at = next;
        }
    }

    pub(super) fn next(&self, block: BlockId) -> Option<BlockId> {
        self.next[block.index()].get()
    }

    pub(super) fn of(&self, block: BlockId) -> Traits {
        self.traits[block.index()]
    }

    /// Where a branch to `target` comes to in the end: the target of the last jump that it passes.
    pub(super) fn destination(&self, target: BlockId, hops_max: u32) -> Option<BlockId> {
        let (mut at, mut destination) = (target, None);
        let mut is_only_way = true;
        for _ in 0..hops_max {
            if !self.is_passed(at) {
                break;
            }
            is_only_way &= self.pred_count[at.index()] == 1;
            let after = match self.ends[at.index()] {
                End::Jumps { target, .. } => Some(target),
                End::Falls => self.next(at),
                End::Branches { .. } | End::Indexed { .. } | End::Other => None,
            };
            let Some(after) = after else { break };
            if self.turns_back(at, after) && !is_only_way {
                break;
            }
            if matches!(self.ends[at.index()], End::Jumps { .. }) && !self.of(after).has_phis {
                destination = Some(after);
            }
            at = after;
        }
        destination.filter(|&to| to != target)
    }

    /// Whether a branch may be led past a block, as far as that block goes.
    fn is_passed(&self, block: BlockId) -> bool {
        let traits = self.of(block);
        traits.is_empty && !traits.is_pinned && traits.is_passed_by && !traits.is_dead
    }

    /// Makes the direct branch of `block` lead to `target`.
    pub(super) fn retarget(&mut self, block: BlockId, target: BlockId) {
        let end = &mut self.ends[block.index()];
        let (End::Jumps { target: slot, .. } | End::Branches { target: slot, .. }) = end else {
            unreachable!("only direct branches are threaded");
        };
        let before = std::mem::replace(slot, target);
        self.traits[block.index()].is_uniform = false;
        self.pred_count[target.index()] += 1;
        self.drop_edge(before);
    }

    /// The places of the edges of a block that ends in [`End::Indexed`] or [`End::Other`].
    fn other_edges(&self, block: BlockId) -> Range<usize> {
        let first = self.other_succs.partition_point(|&(source, _)| source < block);
        first..self.other_succs.partition_point(|&(source, _)| source <= block)
    }

    /// Where the edges of a block that ends in [`End::Indexed`] or [`End::Other`] lead.
    pub(super) fn other_targets(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.other_succs[self.other_edges(block)].iter().map(|&(_, target)| target)
    }

    /// The target of entry `position` of the table by which `block` branches.
    pub(super) fn entry(&self, block: BlockId, position: usize) -> BlockId {
        self.other_succs[self.other_edges(block).start + position].1
    }

    /// Makes entry `position` of the table by which `block` branches lead to `target`.
    pub(super) fn retarget_entry(&mut self, block: BlockId, position: usize, target: BlockId) {
        let at = self.other_edges(block).start + position;
        let before = std::mem::replace(&mut self.other_succs[at].1, target);
        self.pred_count[target.index()] += 1;
        self.drop_edge(before);
    }

    /// Makes the indexed branch of `block`, whose table lists `target` `count` times and nothing else, a direct one.
    pub(super) fn collapse(&mut self, block: BlockId, end: End, target: BlockId, count: usize) {
        self.ends[block.index()] = end;
        let traits = &mut self.traits[block.index()];
        traits.is_uniform = false;
        traits.is_empty = traits.is_bare;
        self.pred_count[target.index()] -= count as u32 - 1;
    }

    /// Whether the end of `block` leads to `target` without its branch: nothing but blocks that do nothing stand between,
    /// which may jump there where `may_jump` says so.
    pub(super) fn falls_to(&self, block: BlockId, target: BlockId, may_jump: bool, hops_max: u32) -> bool {
        let mut at = self.next(block);
        for _ in 0..=hops_max {
            let Some(next) = at else { return false };
            if next == target {
                return true;
            }
            at = match self.ends[next.index()] {
                End::Falls if self.is_passed(next) => self.next(next),
                End::Jumps { target, .. } if self.is_passed(next) && may_jump => Some(target),
                _ => return false,
            };
        }
        false
    }

    /// Takes an edge to `block` away.
    fn drop_edge(&mut self, block: BlockId) {
        self.pred_count[block.index()] -= 1;
        if self.pred_count[block.index()] == 0 {
            self.doomed.push(block);
        }
    }

    /// Lists the blocks that have died, and marks them so.
    pub(super) fn mark_abandoned(&mut self) -> Vec<BlockId> {
        let mut dead = Vec::new();
        while let Some(block) = self.doomed.pop() {
            if self.of(block).is_dead || self.pred_count[block.index()] > 0 {
                continue;
            }
            self.traits[block.index()].is_dead = true;
            dead.push(block);
            self.drop_edges_of(block);
        }
        if !dead.is_empty() {
            self.unlink_dead();
        }
        dead
    }

    /// Takes the edges that leave `block` away. It falls to the next block of the last [`Self::unlink_dead`].
    fn drop_edges_of(&mut self, block: BlockId) {
        let end = self.ends[block.index()];
        if let End::Jumps { target, .. } | End::Branches { target, .. } = end {
            self.drop_edge(target);
        }
        if let (End::Falls | End::Branches { .. }, Some(next)) = (end, self.next(block)) {
            self.drop_edge(next);
        }
        if matches!(end, End::Indexed { .. } | End::Other) {
            for at in self.other_edges(block) {
                self.drop_edge(self.other_succs[at].1);
            }
        }
    }

    /// The guarded branch of `block`, the block of the jump after it around which it leads, that jump, and where it jumps.
    /// Blocks that hold nothing may stand before the jump.
    pub(super) fn jump_around(&self, block: BlockId) -> Option<(InstId, BlockId, InstId, BlockId)> {
        let End::Branches { inst, target } = self.ends[block.index()] else { return None };
        let may_go = |between: BlockId| {
            let traits = self.of(between);
            traits.is_empty && !traits.is_pinned && self.pred_count[between.index()] == 1
        };
        let mut between = self.next(block).filter(|&next| may_go(next))?;
        while self.ends[between.index()] == End::Falls {
            between = self.next(between).filter(|&next| may_go(next))?;
        }
        let End::Jumps { inst: jump, target: destination } = self.ends[between.index()] else { return None };
        let own = self.of(block);
        let has_phis = self.of(target).has_phis || self.of(destination).has_phis;
        let leads_around = self.next(between) == Some(target) && !own.is_dead && !own.is_uniform;
        let closes_loop = self.closes_innermost(block, target);
        (leads_around && !has_phis && !closes_loop).then_some((inst, between, jump, destination))
    }

    /// Whether an edge from `block` to `target` closes a loop that holds no other one.
    pub(super) fn closes_innermost(&self, block: BlockId, target: BlockId) -> bool {
        self.turns_back(block, target) && !self.of(target).holds_loop
    }

    /// Whether an edge from `block` to `target` closes a loop.
    pub(super) fn turns_back(&self, block: BlockId, target: BlockId) -> bool {
        self.orders[block.index()].turns_back_to(&self.orders[target.index()])
    }
}

fn traits_of(function: &FunctionView<'_>, forms: &FormTable, block: BlockId, last: Option<InstId>) -> Traits {
    let head = &function.blocks[block.index()];
    Traits {
        is_empty: false,
        is_bare: false,
        is_pinned: false,
        is_passed_by: !head.flags.intersects(BlockFlags::LOOP_HEADER | BlockFlags::IRREDUCIBLE),
        is_dead: head.flags.contains(BlockFlags::DEAD),
        holds_loop: false,
        is_uniform: last.is_some_and(|inst| {
            forms.get(function.heads[inst.index()].form).flags.contains(FormFlags::UNIFORM)
        }),
        has_phis: function.insts_of(block).next().is_some_and(|inst| function.heads[inst.index()].is_phi()),
        offset: last
            .map_or(function.labels[block.index()].offset, |inst| function.places[inst.index()].offset),
    }
}

fn end_of(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> End {
    let head = &function.heads[inst.index()];
    if !head.marks.contains(Marks::CONTROL) {
        return End::Falls;
    }
    let operands = function.operands_of(inst);
    let effects = forms.get(head.form).effects;
    if let Some(table) = operands.iter().find_map(|operand| operand.as_table())
        && effects.contains(Effects::BRANCH_INDEXED)
    {
        return End::Indexed { inst, table };
    }
    let target = operands.first().and_then(|operand| operand.as_block());
    let is_predicate =
        operands.last().is_some_and(|guard| matches!(guard.kind(), OperandKind::Predicate { .. }));
    match target.filter(|_| effects.contains(Effects::BRANCH)) {
        Some(target) if !head.opcode.is_guarded() => End::Jumps { inst, target },
        Some(target) if is_predicate => End::Branches { inst, target },
        _ => End::Other,
    }
}
