//! Changes of blocks and edges.
//!
//! Each leaves instructions and blocks what a reader of the text would find, at once. Edges are built again when the edit
//! ends, or where they are asked for ([`FunctionEditor::refresh_edges`]): once a round of changes, not once a change.
//! Ranks, dominators and loops are stale then, as the epoch says.

use super::session::{Change, FunctionEditor, TextLinks};
use crate::graph::build::{connect_in_order, next_living};
use ptxopt_components::anchor::{Table, TableKind};
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{BlockId, Id, InstId, Maybe, Span, TableId};
use ptxopt_components::instruction::{InstLinks, Marks};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;

impl Change<'_, '_> {
    /// Deletes a branch: of a guarded one the taken edge goes, of another one its block falls through.
    pub fn delete_branch(&mut self, inst: InstId) {
        self.f.touch_graph();
        debug_assert!(self.f.rows.heads[inst.index()].marks.contains(Marks::CONTROL));
        self.delete(inst);
    }

    /// Makes a direct branch lead to `to`. What `.uni` promised of the branch before is no longer said.
    pub fn redirect(&mut self, inst: InstId, to: BlockId) {
        self.f.touch_graph();
        let f = &mut *self.f;
        debug_assert!(f.rows.heads[inst.index()].marks.contains(Marks::CONTROL));
        f.tools.journal.save_head(&f.rows, inst);
        f.tools.journal.save_operands(&f.rows, inst);
        let head = &mut f.rows.heads[inst.index()];
        head.form = f.tools.forms.without_uniform(head.form);
        head.marks -= Marks::OF_WHAT_STANDS;
        for operand in f.rows.operands_mut(inst) {
            if operand.as_block().is_some() {
                *operand = operand.with_block(to);
            }
        }
        f.name_block(to);
    }

    /// Makes a branch of any kind a direct one to `to`, under the guard that it has.
    pub fn branch_to(&mut self, inst: InstId, to: BlockId) {
        self.f.touch_graph();
        let f = &mut *self.f;
        debug_assert!(f.rows.heads[inst.index()].marks.contains(Marks::CONTROL));
        let dialect = f.description_of(inst).dialect;
        let branch = Description { operation: Operation::Bra, dialect, ..Description::default() };
        let form = f.tools.forms.build(&branch, shape::plain(1)).expect("`bra` has a form");
        self.set_form(inst, form, &[Operand::block(to)]);
        self.f.name_block(to);
    }

    /// Makes an entry of a branch table lead to `to`, for all branches that name the table.
    pub fn set_target(&mut self, table: TableId, position: usize, to: BlockId) {
        self.f.touch_graph();
        let f = &mut *self.f;
        let Table { kind, targets, .. } =
            f.rows.pools.tables[f.rows.spans.tables.first as usize + table.index()];
        debug_assert!(kind == TableKind::Branch && position < targets.len());
        f.rows.pools.targets[targets.first as usize + position] = to;
        f.name_block(to);
    }

    /// Lets a guarded branch be taken where it fell through. Its guard must be a predicate.
    pub fn negate_guard(&mut self, inst: InstId) {
        self.f.touch_graph();
        let guard = self.f.guard_of(inst).map(|guard| guard.kind());
        let Some(OperandKind::Predicate { vreg, negated }) = guard else {
            panic!("{inst:?} has no guard to be negated");
        };
        self.set_guard(inst, Some(Operand::predicate(vreg, !negated)));
    }

    /// Puts an instruction that has no guard, and is no way out of its block, under one.
    pub fn add_guard(&mut self, inst: InstId, guard: Operand) {
        let head = &self.f.rows.heads[inst.index()];
        assert!(!head.opcode.is_guarded() && !head.marks.contains(Marks::CONTROL), "{inst:?} takes no guard");
        self.set_guard(inst, Some(guard));
    }

    /// Takes the guard of an instruction away: of a conditional branch the edge of the fall-through goes.
    pub fn drop_guard(&mut self, inst: InstId) {
        if self.f.rows.heads[inst.index()].marks.contains(Marks::CONTROL) {
            self.f.touch_graph();
        }
        self.set_guard(inst, None);
    }

    /// Sets flags of a block.
    pub fn set_block_flags(&mut self, block: BlockId, flags: BlockFlags) {
        self.f.tools.journal.save_block(&self.f.rows, block);
        self.f.rows.blocks[block.index()].flags |= flags;
    }

    /// Marks a new block as a Flow block, and labels it as one.
    pub fn label_flow(&mut self, block: BlockId) {
        self.set_block_flags(block, BlockFlags::FLOW);
        let f = &mut *self.f;
        if f.rows.labels[block.index()].name.is_none() {
            f.tools.journal.save_label(&f.rows, block);
            let label = f.rows.pools.names.fresh_flow_label(f.rows.text.module);
            f.rows.labels[block.index()].name = Maybe::some(label);
        }
    }

    /// The next block in the text that is not deleted.
    #[must_use]
    pub fn next_in_text(&self, block: BlockId) -> Option<BlockId> {
        self.f.next_in_text(block)
    }

    /// Starts a new block after `inst`; gives it. It takes the rows after `inst`, so a block that is split several times
    /// is split from its end.
    pub fn split_after(&mut self, inst: InstId) -> BlockId {
        self.f.touch_graph();
        let f = &mut *self.f;
        f.index_anchors();
        let block = f.rows.heads[inst.index()].block;
        let head = f.rows.blocks[block.index()];
        let is_chained = head.flags.contains(BlockFlags::CHAINED);
        let mut after: Vec<InstId> = Vec::new();
        let moved = if is_chained {
            after.extend(f.rows.rows_of(block).rev().take_while(|&row| row != inst));
            after.reverse();
            Span { first: after.first().map_or(0, |first| first.0), count: after.len() as u32 }
        } else {
            after.extend((inst.index() + 1..head.insts.end()).map(InstId::new));
            Span::between(inst.index() + 1, head.insts.end())
        };
        let offset = match after.first() {
            Some(first) => f.rows.places[first.index()].offset,
            None => f.rows.labels[block.index()].offset,
        };
        let kept = head.flags & (BlockFlags::DEAD | BlockFlags::CHAINED);
        let new = f.new_block(offset, BlockHead { insts: moved, flags: kept, ..BlockHead::default() });
        f.tools.journal.save_block(&f.rows, block);
        f.rows.blocks[block.index()].insts.count -= moved.count;
        if is_chained {
            f.close_ring(block, inst);
            if let Some(&last) = after.last() {
                f.close_ring(new, last);
            }
        }
        for row in after {
            f.tools.journal.save_head(&f.rows, row);
            f.rows.heads[row.index()].block = new;
        }
        f.link_text(new, Some(block));
        f.move_end_anchors(block, new);
        f.share_in_phis(block, new);
        new
    }

    /// Lets `block` join the block before it in the text, which must fall through to it and be its only predecessor. Its
    /// label goes.
    pub fn merge(&mut self, block: BlockId) {
        self.f.touch_graph();
        let f = &mut *self.f;
        f.order_blocks();
        f.index_anchors();
        let into = f.scratch.order[block.index()].prev.get().expect("the entry joins no block");
        let last = f.insts_of(into).next_back();
        let falls = last.is_none_or(|last| !f.rows.heads[last.index()].marks.contains(Marks::CONTROL));
        assert!(falls, "{block:?} joins a block that does not fall through to it");
        assert!(f.phis_of(block).next().is_none(), "{block:?} joins a block, and has phis");
        // Of the rows that join alone: a block that many join one after the other is not walked for each.
        let after = f.successors_in_ssa(block);
        if f.has_anchor_index {
            f.remember_joint(block);
        }
        f.pin_end_anchors(into, block);
        let (first, second) = (f.rows.blocks[into.index()], f.rows.blocks[block.index()]);
        let either = (first.flags | second.flags) & BlockFlags::CHAINED;
        f.tools.journal.save_block(&f.rows, into);
        f.tools.journal.save_block(&f.rows, block);
        for row in f.rows.rows_of(block).collect::<Vec<_>>() {
            f.tools.journal.save_head(&f.rows, row);
            f.rows.heads[row.index()].block = into;
        }
        if second.insts.is_empty() {
            // Nothing joins.
        } else if first.insts.is_empty() {
            f.rows.blocks[into.index()].insts = second.insts;
            f.rows.blocks[into.index()]
                .flags
                .set(BlockFlags::CHAINED, second.flags.contains(BlockFlags::CHAINED));
        } else if either.is_empty() && first.insts.end() == second.insts.first as usize {
            f.rows.blocks[into.index()].insts.count += second.insts.count;
        } else {
            f.chain(into);
            f.chain(block);
            f.join_rings(into, block);
        }
        f.links_matter(into);
        let row = &mut f.rows.blocks[block.index()];
        row.flags |= BlockFlags::DEAD;
        row.insts = Span { count: 0, ..row.insts };
        f.unlink_text(block);
        for succ in after {
            f.rename_pred(succ, block, into);
        }
    }

    /// Puts an empty block before `block`; what fell through to that falls through to the new one.
    pub fn insert_block_before(&mut self, block: BlockId) -> BlockId {
        self.f.touch_graph();
        let f = &mut *self.f;
        f.order_blocks();
        let before = f.scratch.order[block.index()].prev.get();
        let insts = Span { count: 0, ..f.rows.blocks[block.index()].insts };
        let offset = f.rows.labels[block.index()].offset;
        let new = f.new_block(offset, BlockHead { insts, ..BlockHead::default() });
        assert!(before.is_some(), "nothing stands before the entry");
        f.link_text(new, before);
        if let Some(before) = before {
            f.share_in_phis(before, new);
        }
        new
    }

    /// Puts a run of blocks of the text, from `first` to `last`, after `after`, which is none of them. What fell into the run or
    /// out of it must not any more.
    pub fn move_blocks(&mut self, first: BlockId, last: BlockId, after: BlockId) {
        self.f.touch_graph();
        let f = &mut *self.f;
        f.order_blocks();
        f.rows.state.flags |= CodeFlags::OUT_OF_ORDER;
        let order = &mut f.scratch.order;
        let before = order[first.index()].prev.get().expect("the entry stays where it is");
        if before == after {
            return;
        }
        let mut join = |one: BlockId, other: Option<BlockId>| {
            let next = other.map_or(Maybe::NONE, Maybe::some);
            let next_before = std::mem::replace(&mut order[one.index()].next, next).get();
            if let Some(other) = other {
                order[other.index()].prev = Maybe::some(one);
            }
            next_before
        };
        let beyond = join(last, None);
        join(before, beyond);
        let next = join(after, Some(first));
        join(last, next);
    }

    /// Deletes blocks that nothing else leads to, with everything in them.
    pub fn delete_blocks(&mut self, blocks: &[BlockId]) {
        self.f.touch_graph();
        self.f.order_blocks();
        for &block in blocks {
            let rows: Vec<InstId> = self.f.insts_of(block).collect();
            rows.into_iter().for_each(|inst| self.delete(inst));
            let f = &mut *self.f;
            f.tools.journal.save_block(&f.rows, block);
            f.rows.blocks[block.index()].flags |= BlockFlags::DEAD;
            f.rows.state.flags |= CodeFlags::HAS_TOMBSTONES;
            f.unlink_text(block);
        }
    }
}

impl FunctionEditor<'_> {
    /// Notes, before a change of the graph, that edges will no longer be those of the instructions.
    fn touch_graph(&mut self) {
        if !std::mem::replace(&mut self.is_graph_stale, true) {
            self.tools.journal.save_numbering(&self.rows);
        }
        self.rows.state.cfg_epoch += 1;
    }

    /// Builds successors and predecessors again, where a change has made them stale. Cost: blocks and edges.
    pub fn refresh_edges(&mut self) {
        if !self.is_graph_stale {
            return;
        }
        let count = self.rows.spans.blocks.len();
        let mut pool = std::mem::take(&mut self.rows.pools.edges);
        let mut edges: Vec<BlockEdges> = self.rows.edges[..count].to_vec();
        let blocks = &self.rows.blocks[..count];
        let order = self.has_order.then_some(&self.scratch.order[..]);
        let next = |block: BlockId| match order {
            Some(order) => order[block.index()].next.get(),
            None => next_living(blocks, block),
        };
        connect_in_order(self.rows.edge_source(), blocks, next, &mut edges, &mut pool);
        self.rows.edges[..count].copy_from_slice(&edges);
        self.rows.pools.edges = pool;
        self.prune_phis();
    }

    /// The blocks that no path leads to from the entry, as the instructions say now. Cost: blocks and edges.
    #[must_use]
    pub fn unreachable_now(&self) -> Vec<BlockId> {
        let blocks = &self.rows.blocks[..self.rows.spans.blocks.len()];
        let mut is_reached = vec![false; blocks.len()];
        is_reached[0] = true;
        let mut open = vec![BlockId(0)];
        while let Some(block) = open.pop() {
            let mut reach = |succ: BlockId| {
                if !std::mem::replace(&mut is_reached[succ.index()], true) {
                    open.push(succ);
                }
            };
            if self.rows.edge_source().successors(&blocks[block.index()], &mut reach) {
                self.next_in_text(block).into_iter().for_each(reach);
            }
        }
        let is_left_out = |&(block, head): &(usize, &BlockHead)| {
            !is_reached[block] && !head.flags.contains(BlockFlags::DEAD)
        };
        blocks.iter().enumerate().filter(is_left_out).map(|(block, _)| BlockId::new(block)).collect()
    }

    /// Where control goes from a block, as its instructions say now.
    pub(super) fn successors_now(&self, block: BlockId) -> Vec<BlockId> {
        let mut succs = Vec::new();
        let head = &self.rows.blocks[block.index()];
        if self.rows.edge_source().successors(head, |succ| succs.push(succ)) {
            succs.extend(self.next_in_text(block));
        }
        succs
    }

    /// Gives a block a label, so that a branch can name it.
    fn name_block(&mut self, block: BlockId) {
        if self.rows.labels[block.index()].name.is_none() {
            self.tools.journal.save_label(&self.rows, block);
            let label = self.rows.pools.names.fresh_label(self.rows.text.module);
            self.rows.labels[block.index()].name = Maybe::some(label);
        }
    }

    /// Links the blocks in the order of their text, which is that of their ids so far.
    fn order_blocks(&mut self) {
        if std::mem::replace(&mut self.has_order, true) {
            return;
        }
        self.index_anchors();
        self.scratch.joined.clear();
        self.scratch.joined.resize(self.rows.spans.blocks.len(), Maybe::NONE);
        self.scratch.joined_by.clear();
        let order = &mut self.scratch.order;
        order.clear();
        order.resize(self.rows.spans.blocks.len(), TextLinks::default());
        let mut before: Maybe<BlockId> = Maybe::NONE;
        for (at, head) in self.rows.blocks[..self.rows.spans.blocks.len()].iter().enumerate() {
            if head.flags.contains(BlockFlags::DEAD) {
                continue;
            }
            order[at].prev = before;
            if let Some(before) = before.get() {
                order[before.index()].next = Maybe::some(BlockId::new(at));
            }
            before = Maybe::some(BlockId::new(at));
        }
    }

    /// A row for a new block, which stands nowhere in the text yet.
    fn new_block(&mut self, offset: u32, head: BlockHead) -> BlockId {
        self.order_blocks();
        let spans = &mut *self.rows.spans;
        assert!(spans.room.blocks > 0, "no room for another block");
        let block = BlockId::new(spans.blocks.len());
        spans.blocks.count += 1;
        spans.room.blocks -= 1;
        self.rows.blocks[block.index()] = head;
        self.rows.edges[block.index()] = BlockEdges::default();
        self.rows.orders[block.index()] = BlockOrder::default();
        self.rows.labels[block.index()] = BlockLabel { name: Maybe::NONE, offset };
        self.scratch.order.push(TextLinks::default());
        self.scratch.joined.push(Maybe::NONE);
        if self.has_anchor_index {
            self.scratch.end_anchors.push(Span::default());
        }
        block
    }

    /// Puts a block that stands nowhere after another one.
    fn link_text(&mut self, block: BlockId, after: Option<BlockId>) {
        let after = after.expect("nothing stands before the entry");
        let order = &mut self.scratch.order;
        let next = order[after.index()].next;
        order[block.index()] = TextLinks { prev: Maybe::some(after), next };
        order[after.index()].next = Maybe::some(block);
        if let Some(next) = next.get() {
            order[next.index()].prev = Maybe::some(block);
        }
    }

    fn unlink_text(&mut self, block: BlockId) {
        let order = &mut self.scratch.order;
        let TextLinks { prev, next } = order[block.index()];
        if let Some(prev) = prev.get() {
            order[prev.index()].next = next;
        }
        if let Some(next) = next.get() {
            order[next.index()].prev = prev;
        }
    }

    /// Makes `last` the end of the ring of a chained block.
    fn close_ring(&mut self, block: BlockId, last: InstId) {
        let first = InstId(self.rows.blocks[block.index()].insts.first);
        self.tools.journal.save_links(&self.rows, first);
        self.tools.journal.save_links(&self.rows, last);
        self.rows.links[first.index()].prev = last;
        self.rows.links[last.index()].next = first;
    }

    /// Appends the ring of `second` to that of `first`. Both hold rows.
    fn join_rings(&mut self, first: BlockId, second: BlockId) {
        let head = InstId(self.rows.blocks[first.index()].insts.first);
        let other = InstId(self.rows.blocks[second.index()].insts.first);
        let InstLinks { prev: last, .. } = self.rows.links[head.index()];
        let InstLinks { prev: other_last, .. } = self.rows.links[other.index()];
        for row in [head, other, last, other_last] {
            self.tools.journal.save_links(&self.rows, row);
        }
        self.rows.links[last.index()].next = other;
        self.rows.links[other.index()].prev = last;
        self.rows.links[other_last.index()].next = head;
        self.rows.links[head.index()].prev = other_last;
        let count = self.rows.blocks[second.index()].insts.count;
        self.rows.blocks[first.index()].insts.count += count;
    }

    /// Gives the anchors at the end of `block` to `new`, whose end that is now.
    fn move_end_anchors(&mut self, block: BlockId, new: BlockId) {
        if !self.has_anchor_index {
            return;
        }
        let ends = std::mem::take(&mut self.scratch.end_anchors[block.index()]);
        for at in self.places_in(ends) {
            self.tools.journal.save_anchor(&self.rows, at);
            self.rows.pools.anchors[at].block = new;
        }
        self.scratch.end_anchors[new.index()] = ends;
    }

    /// Those of a run of anchors that stand at a place. Between them may lie what belonged to blocks that are gone.
    fn places_in(&self, run: Span) -> Vec<usize> {
        run.range().filter(|&at| !self.rows.pools.anchors[at].is_of_block()).collect()
    }

    /// Before `block` joins another one: notes where it began, as anchors of blocks that died before it come to lie there.
    fn remember_joint(&mut self, block: BlockId) {
        let first = match self.rows.rows_of(block).next() {
            Some(first) => first,
            // A row stands for the place.
            None if self.rows.spans.room.insts > 0 => {
                let tombstone = self.take_tombstone(block, self.rows.labels[block.index()].offset);
                self.link_before(block, tombstone, None);
                tombstone
            }
            None => return,
        };
        self.scratch.joined[block.index()] = Maybe::some(first);
        self.scratch.joined_by.insert(first, block);
    }

    /// Before `block` joins `into`: the anchors at the end of that come to lie before the first row that joins.
    fn pin_end_anchors(&mut self, into: BlockId, block: BlockId) {
        if !self.has_anchor_index {
            return;
        }
        let ends = std::mem::take(&mut self.scratch.end_anchors[into.index()]);
        let first = self.rows.rows_of(block).next();
        self.move_end_anchors(block, into);
        let moved = &mut self.scratch.end_anchors[into.index()];
        if ends.is_empty() {
            return;
        }
        let Some(first) = first else {
            // Nothing but anchors of dead blocks stands between the two ends.
            *moved = if moved.is_empty() { ends } else { Span::between(ends.first as usize, moved.end()) };
            return;
        };
        for at in self.places_in(ends) {
            self.tools.journal.save_anchor(&self.rows, at);
            self.rows.pools.anchors[at].before = first;
        }
        if let Some(index) = self.scratch.first_anchor.get_mut(first.index()) {
            *index = Maybe::some(InstId::new(ends.first as usize));
        }
    }
}
