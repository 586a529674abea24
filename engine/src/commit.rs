//! The commit: one linear pass that applies recorded edits and leaves the tables dense and in program order.
//!
//! Ids do not survive a commit. Anchors move with the instruction that they stand before, or to the next surviving
//! place; branch targets, tables and block labels follow their blocks; edges are built again.

use crate::cfg::build::connect;
use crate::edits::{EditLog, Insertion};
use crate::tables::{CodeTables, Pools};
use crate::view::CodeView;
use ptxopt_components::anchor::{Anchor, AnchorKind, TableKind};
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeFlags, CodeSpans};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Maybe, Span};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, Marks};

/// Memory that commits use again.
#[derive(Default)]
pub struct CommitScratch {
    /// By old block: the first block that came of it, or the next one.
    block_of: Vec<BlockId>,
    /// By old instruction: its new place, or that of the next one that survived.
    inst_of: Vec<InstId>,
    /// By old instruction: the new block of that place.
    block_of_inst: Vec<BlockId>,
    /// By old block: the place at its end, in the last block that came of it, or else the next place.
    end_of: Vec<(BlockId, InstId)>,
    anchors: Vec<Anchor>,
}

/// The old rows of one function.
struct OldFunction<'a> {
    spans: CodeSpans,
    heads: &'a [InstHead],
    operands: &'a [InstOperands],
    places: &'a [InstPlace],
    blocks: &'a [BlockHead],
    orders: &'a [BlockOrder],
    labels: &'a [BlockLabel],
}

/// Edits still to be applied, in the order of the rows.
struct Pending<'a> {
    splits: &'a [(CodeId, InstId)],
    insertions: &'a [&'a Insertion],
    sweep: bool,
}

impl Pending<'_> {
    /// Drops the edits of a block that dies: those behind them must not wait for it.
    fn skip_block(&mut self, code: CodeId, block: BlockId, insts: Span) {
        let is_in_block =
            |split: &&(CodeId, InstId)| split.0 == code && insts.range().contains(&split.1.index());
        let split_count = self.splits.iter().take_while(is_in_block).count();
        self.splits = &self.splits[split_count..];
        let joins = |insertion: &&&Insertion| (insertion.code, insertion.block) == (code, block);
        let insertion_count = self.insertions.iter().take_while(joins).count();
        self.insertions = &self.insertions[insertion_count..];
    }
}

/// Builds in `new` the rows of `old` with `edits` applied. `old`'s pools must be `pools`, moved out of the shard:
/// they are changed in place and end up in `new`.
///
/// `old.pools` is not looked at.
pub fn commit(
    old: CodeView<'_>,
    mut pools: Pools,
    edits: &EditLog,
    scratch: &mut CommitScratch,
    new: &mut CodeTables,
) {
    new.clear();
    scratch.anchors.clear();
    // A stable sort: insertions before one instruction keep the order in which they were made.
    let mut insertions: Vec<&Insertion> = edits.insertions.iter().collect();
    insertions.sort_by_key(|insertion| (insertion.code.0, insertion.block.0, insertion.before.0));
    let mut pending = Pending { splits: &edits.splits, insertions: &insertions, sweep: edits.sweep };
    for code in (0..old.code_spans.len()).map(CodeId::new) {
        let spans = old.code_spans[code.index()];
        let (insts, blocks) = (spans.insts.range(), spans.blocks.range());
        let function = OldFunction {
            spans,
            heads: &old.inst_heads[insts.clone()],
            operands: &old.inst_operands[insts.clone()],
            places: &old.inst_places[insts],
            blocks: &old.block_heads[blocks.clone()],
            orders: &old.block_orders[blocks.clone()],
            labels: &old.block_labels[blocks],
        };
        let first =
            (new.inst_heads.len(), new.block_heads.len(), new.vreg_heads.len(), scratch.anchors.len());
        let (first_inst, first_block, first_vreg, first_anchor) = first;
        let (splits_before, insertions_before) = (pending.splits.len(), pending.insertions.len());
        Builder { code, old: &function, new, pools: &mut pools, scratch, first_inst, first_block }
            .run(&mut pending);
        new.vreg_heads.extend_from_slice(&old.vreg_heads[spans.vregs.range()]);
        new.vreg_names.extend_from_slice(&old.vreg_names[spans.vregs.range()]);
        let mut state = old.code_states[code.index()];
        // A sweep takes away what was deleted, and counted, before: what holds of the function still does.
        let has_insertions = insertions_before != pending.insertions.len();
        state.inst_epoch += u32::from(has_insertions);
        // A split and a swept block leave as many blocks as there were, and yet they are others.
        let has_splits = splits_before != pending.splits.len();
        let has_other_blocks = has_splits || new.block_heads.len() - first_block != function.blocks.len();
        state.cfg_epoch += u32::from(has_other_blocks);
        state
            .flags
            .set(CodeFlags::HAS_TOMBSTONES, state.flags.contains(CodeFlags::HAS_TOMBSTONES) && !edits.sweep);
        new.code_states.push(state);
        new.code_texts.push(old.code_texts[code.index()]);
        new.code_spans.push(CodeSpans {
            insts: Span::between(first_inst, new.inst_heads.len()),
            blocks: Span::between(first_block, new.block_heads.len()),
            vregs: Span::between(first_vreg, new.vreg_heads.len()),
            anchors: Span::between(first_anchor, scratch.anchors.len()),
            ..spans
        });
    }
    debug_assert!(pending.splits.is_empty() && pending.insertions.is_empty(), "edits that name no place");
    std::mem::swap(&mut pools.anchors, &mut scratch.anchors);
    pools.edges.clear();
    new.pools = pools;
    for code in 0..new.code_spans.len() {
        let spans = new.code_spans[code];
        connect(new, &spans);
    }
}

/// Builds the new rows of one function.
struct Builder<'a> {
    code: CodeId,
    old: &'a OldFunction<'a>,
    new: &'a mut CodeTables,
    pools: &'a mut Pools,
    scratch: &'a mut CommitScratch,
    first_inst: usize,
    first_block: usize,
}

impl Builder<'_> {
    fn run(&mut self, pending: &mut Pending<'_>) {
        let inst_count = self.old.heads.len();
        self.scratch.block_of.clear();
        self.scratch.end_of.clear();
        self.scratch.inst_of.clear();
        self.scratch.inst_of.resize(inst_count, InstId(0));
        self.scratch.block_of_inst.clear();
        self.scratch.block_of_inst.resize(inst_count, BlockId(0));
        for block in 0..self.old.blocks.len() {
            self.block(BlockId::new(block), pending);
        }
        self.move_targets();
        self.move_anchors(pending.sweep);
    }

    fn next_inst(&self) -> InstId {
        InstId::new(self.new.inst_heads.len() - self.first_inst)
    }

    fn next_block(&self) -> BlockId {
        BlockId::new(self.new.block_heads.len() - self.first_block)
    }

    fn block(&mut self, block: BlockId, pending: &mut Pending<'_>) {
        let row = self.old.blocks[block.index()];
        self.scratch.block_of.push(self.next_block());
        if pending.sweep && row.flags.contains(BlockFlags::DEAD) {
            // What stood here moves to the place that comes next.
            for inst in row.insts.range() {
                self.scratch.inst_of[inst] = self.next_inst();
                self.scratch.block_of_inst[inst] = self.next_block();
            }
            self.scratch.end_of.push((self.next_block(), self.next_inst()));
            pending.skip_block(self.code, block, row.insts);
            return;
        }
        let order = self.old.orders[block.index()];
        let mut head = row;
        let mut label = self.old.labels[block.index()];
        let mut first = self.next_inst();
        for inst in row.insts.range() {
            let current = self.next_block();
            self.insert(block, InstId::new(inst), current, pending);
            self.scratch.inst_of[inst] = self.next_inst();
            self.scratch.block_of_inst[inst] = current;
            let old = self.old.heads[inst];
            if old.is_live() || !pending.sweep {
                let head = InstHead { block: current, ..old };
                self.push_inst(head, self.old.operands[inst], self.old.places[inst]);
            }
            if pending.splits.first() == Some(&(self.code, InstId::new(inst))) {
                pending.splits = &pending.splits[1..];
                self.push_block(head, first, label, order);
                first = self.next_inst();
                head = BlockHead { flags: row.flags & BlockFlags::DEAD, ..BlockHead::default() };
                let offset = self.old.places.get(inst + 1).map_or(label.offset, |place| place.offset);
                label = BlockLabel { name: Maybe::NONE, offset };
            }
        }
        let current = self.next_block();
        self.insert(block, InstId::new(row.insts.end()), current, pending);
        self.scratch.end_of.push((current, self.next_inst()));
        self.push_block(head, first, label, order);
    }

    /// Places the insertions of `block` that go before `before`.
    fn insert(&mut self, block: BlockId, before: InstId, current: BlockId, pending: &mut Pending<'_>) {
        while let Some(&insertion) = pending.insertions.first()
            && (insertion.code, insertion.block, insertion.before) == (self.code, block, before)
        {
            pending.insertions = &pending.insertions[1..];
            let operand_count = insertion.operands.len() as u16;
            let operands = InstOperands::store(&insertion.operands, &mut self.pools.operands);
            self.push_inst(
                InstHead { block: current, operand_count, ..insertion.head },
                operands,
                insertion.place,
            );
        }
    }

    fn push_inst(&mut self, head: InstHead, operands: InstOperands, place: InstPlace) {
        self.new.inst_heads.push(head);
        self.new.inst_operands.push(operands);
        self.new.inst_places.push(place);
    }

    fn push_block(&mut self, head: BlockHead, first: InstId, label: BlockLabel, order: BlockOrder) {
        let insts = Span::between(first.index(), self.next_inst().index());
        self.new.block_heads.push(BlockHead { insts, ..head });
        self.new.block_edges.push(BlockEdges::default());
        self.new.block_orders.push(order);
        self.new.block_labels.push(label);
    }

    /// Points branches and branch tables at the new blocks.
    fn move_targets(&mut self) {
        let block_of = &self.scratch.block_of;
        if block_of.iter().enumerate().all(|(old, new)| old == new.index()) {
            return;
        }
        for row in self.first_inst..self.new.inst_heads.len() {
            let head = self.new.inst_heads[row];
            if !head.marks.contains(Marks::CONTROL) || !head.is_live() {
                continue;
            }
            let operands = self.new.inst_operands[row].get_mut(head.operand_count, &mut self.pools.operands);
            for operand in operands {
                if let Some(block) = operand.as_block() {
                    *operand = operand.with_block(block_of[block.index()]);
                }
            }
        }
        for table in &self.pools.tables[self.old.spans.tables.range()] {
            if table.kind == TableKind::Branch {
                for target in &mut self.pools.targets[table.targets.range()] {
                    *target = block_of[target.index()];
                }
            }
        }
    }

    fn move_anchors(&mut self, sweep: bool) {
        let last = BlockId(self.next_block().0 - 1);
        for anchor in &self.pools.anchors[self.old.spans.anchors.range()] {
            let row = self.old.blocks[anchor.block.index()];
            let at = anchor.before.index();
            let block_died = sweep && row.flags.contains(BlockFlags::DEAD);
            let inst_died = sweep && self.old.heads.get(at).is_none_or(|head| !head.is_live());
            match anchor.kind {
                AnchorKind::BlockPragma if block_died => continue,
                AnchorKind::InstPragma if inst_died => continue,
                _ => {}
            }
            // The row at the end of a block is another block's: what is inserted before it is, too.
            let (block, before) = if row.insts.range().contains(&at) {
                (self.scratch.block_of_inst[at], self.scratch.inst_of[at])
            } else {
                self.scratch.end_of[anchor.block.index()]
            };
            self.scratch.anchors.push(Anchor { before, block: block.min(last), ..*anchor });
        }
    }
}

#[cfg(test)]
mod tests;
