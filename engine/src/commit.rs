//! The commit: one linear pass that applies recorded edits and leaves the tables dense and in program order.
//!
//! Ids do not survive a commit. Anchors move with the instruction that they stand before, or to the next surviving
//! place; branch targets, tables and block labels follow their blocks; edges are built again. A block that becomes a
//! target gets a label, one that is merged away loses its own.

use crate::cfg::build::connect;
use crate::edits::{EditLog, Insertion, Place, Redirection};
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
    /// By old block: whether it was merged into the one before.
    is_merged: Vec<bool>,
    /// Blocks that edits made: the old one before which they stand, and the new id.
    new_blocks: Vec<(BlockId, BlockId)>,
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
    merges: &'a [(CodeId, BlockId)],
    new_blocks: &'a [(CodeId, BlockId)],
    redirections: &'a [Redirection],
    insertions: &'a [&'a Insertion],
    sweep: bool,
}

/// How many edits wait.
#[derive(PartialEq, Eq)]
struct PendingCount {
    splits: usize,
    merges: usize,
    new_blocks: usize,
    redirections: usize,
    insertions: usize,
}

impl Pending<'_> {
    fn count(&self) -> PendingCount {
        PendingCount {
            splits: self.splits.len(),
            merges: self.merges.len(),
            new_blocks: self.new_blocks.len(),
            redirections: self.redirections.len(),
            insertions: self.insertions.len(),
        }
    }

    /// Takes the next edit off if it is this one.
    fn take<T: PartialEq>(edits: &mut &[T], edit: &T) -> bool {
        let is_next = edits.first() == Some(edit);
        *edits = &edits[usize::from(is_next)..];
        is_next
    }

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
    let mut pending = Pending {
        splits: &edits.splits,
        merges: &edits.merges,
        new_blocks: &edits.new_blocks,
        redirections: &edits.redirections,
        insertions: &insertions,
        sweep: edits.sweep,
    };
    debug_assert!(edits.sweep || edits.merges.is_empty(), "dead blocks lie between what is merged");
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
        let before = pending.count();
        Builder {
            code,
            old: &function,
            new,
            pools: &mut pools,
            scratch,
            first_inst,
            first_block,
            open: None,
            joins: None,
        }
        .run(&mut pending);
        new.vreg_heads.extend_from_slice(&old.vreg_heads[spans.vregs.range()]);
        new.vreg_names.extend_from_slice(&old.vreg_names[spans.vregs.range()]);
        let mut state = old.code_states[code.index()];
        // A sweep takes away what was deleted, and counted, before: what holds of the function still does.
        let after = pending.count();
        state.inst_epoch += u32::from(before.insertions != after.insertions);
        // A split and a swept block leave as many blocks as there were, and yet they are others.
        let is_edited = PendingCount { insertions: before.insertions, ..after } != before;
        let has_other_blocks = is_edited || new.block_heads.len() - first_block != function.blocks.len();
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
    let is_done = pending.splits.is_empty()
        && pending.merges.is_empty()
        && pending.new_blocks.is_empty()
        && pending.redirections.is_empty()
        && pending.insertions.is_empty();
    debug_assert!(is_done, "edits that name no place");
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
    /// The block whose rows are being written.
    open: Option<OpenBlock>,
    /// Behind dead blocks, the one that joins the open block.
    joins: Option<BlockId>,
}

/// A new block whose end is not known yet.
#[derive(Clone, Copy)]
struct OpenBlock {
    head: BlockHead,
    first: InstId,
    label: BlockLabel,
    order: BlockOrder,
}

impl Builder<'_> {
    fn run(&mut self, pending: &mut Pending<'_>) {
        let inst_count = self.old.heads.len();
        self.scratch.block_of.clear();
        self.scratch.end_of.clear();
        self.scratch.is_merged.clear();
        self.scratch.new_blocks.clear();
        self.scratch.inst_of.clear();
        self.scratch.inst_of.resize(inst_count, InstId(0));
        self.scratch.block_of_inst.clear();
        self.scratch.block_of_inst.resize(inst_count, BlockId(0));
        for block in 0..self.old.blocks.len() {
            self.block(BlockId::new(block), pending);
        }
        self.close_block();
        let redirections = self.take_redirections(pending);
        self.detach(redirections);
        self.move_targets();
        self.redirect(redirections);
        self.move_anchors(pending.sweep);
    }

    fn next_inst(&self) -> InstId {
        InstId::new(self.new.inst_heads.len() - self.first_inst)
    }

    /// The id of the block that is open; of the next one where none is.
    fn current_block(&self) -> BlockId {
        BlockId::new(self.new.block_heads.len() - self.first_block)
    }

    fn block(&mut self, block: BlockId, pending: &mut Pending<'_>) {
        let row = self.old.blocks[block.index()];
        if pending.sweep && row.flags.contains(BlockFlags::DEAD) {
            self.skip_dead(block, row.insts, pending);
            return;
        }
        let is_merged = Pending::take(&mut pending.merges, &(self.code, block));
        self.scratch.is_merged.push(is_merged);
        if !is_merged {
            self.close_block();
            if Pending::take(&mut pending.new_blocks, &(self.code, block)) {
                let offset = self.old.labels[block.index()].offset;
                self.scratch.new_blocks.push((block, self.current_block()));
                self.open_block(BlockHead::default(), offset);
                self.close_block();
            }
            let (label, order) = (self.old.labels[block.index()], self.old.orders[block.index()]);
            self.open = Some(OpenBlock { head: row, first: self.next_inst(), label, order });
        }
        if is_merged {
            let open = self.open.as_ref().expect("there is a block before the one that joins it");
            let rows = &self.new.inst_heads[self.first_inst + open.first.index()..];
            let last = rows.iter().rev().find(|row| row.is_live());
            let falls_through = last.is_none_or(|last| !last.marks.contains(Marks::CONTROL));
            assert!(falls_through, "{block:?} joins a block that does not fall through to it");
        }
        self.scratch.block_of.push(self.current_block());
        for inst in row.insts.range() {
            self.insert(block, InstId::new(inst), pending);
            self.scratch.inst_of[inst] = self.next_inst();
            self.scratch.block_of_inst[inst] = self.current_block();
            let old = self.old.heads[inst];
            if old.is_live() || !pending.sweep {
                let head = InstHead { block: self.current_block(), ..old };
                self.push_inst(head, self.old.operands[inst], self.old.places[inst]);
            }
            if Pending::take(&mut pending.splits, &(self.code, InstId::new(inst))) {
                self.close_block();
                let own = self.old.labels[block.index()].offset;
                let offset = self.old.places.get(inst + 1).map_or(own, |place| place.offset);
                let flags = row.flags & BlockFlags::DEAD;
                self.open_block(BlockHead { flags, ..BlockHead::default() }, offset);
                self.open.as_mut().expect("just opened").order = self.old.orders[block.index()];
            }
        }
        self.insert(block, InstId::new(row.insts.end()), pending);
        self.scratch.end_of.push((self.current_block(), self.next_inst()));
    }

    /// Leaves a dead block out. What stood here moves to the place that comes next.
    fn skip_dead(&mut self, block: BlockId, insts: Span, pending: &mut Pending<'_>) {
        if self.open.is_some() && self.joins.is_none_or(|joins| joins < block) {
            let mut behind = self.old.blocks[block.index()..].iter();
            let run = behind.position(|row| !row.flags.contains(BlockFlags::DEAD));
            let next = run.map(|run| BlockId::new(block.index() + run));
            if next.is_some_and(|next| pending.merges.first() == Some(&(self.code, next))) {
                self.joins = next;
            } else {
                self.close_block();
            }
        }
        self.scratch.is_merged.push(false);
        self.scratch.block_of.push(self.current_block());
        for inst in insts.range() {
            self.scratch.inst_of[inst] = self.next_inst();
            self.scratch.block_of_inst[inst] = self.current_block();
        }
        self.scratch.end_of.push((self.current_block(), self.next_inst()));
        pending.skip_block(self.code, block, insts);
    }

    fn open_block(&mut self, head: BlockHead, offset: u32) {
        let label = BlockLabel { name: Maybe::NONE, offset };
        self.open = Some(OpenBlock { head, first: self.next_inst(), label, order: BlockOrder::default() });
    }

    /// Writes the row of the open block.
    fn close_block(&mut self) {
        let Some(OpenBlock { head, first, label, order }) = self.open.take() else { return };
        let insts = Span::between(first.index(), self.next_inst().index());
        self.new.block_heads.push(BlockHead { insts, ..head });
        self.new.block_edges.push(BlockEdges::default());
        self.new.block_orders.push(order);
        self.new.block_labels.push(label);
    }

    /// Places the insertions of `block` that go before `before`.
    fn insert(&mut self, block: BlockId, before: InstId, pending: &mut Pending<'_>) {
        let current = self.current_block();
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

    /// The redirections of this function.
    fn take_redirections<'p>(&self, pending: &mut Pending<'p>) -> &'p [Redirection] {
        let is_own = |redirection: &&Redirection| redirection.code == self.code;
        let count = pending.redirections.iter().take_while(is_own).count();
        let (own, others) = pending.redirections.split_at(count);
        pending.redirections = others;
        own
    }

    /// The branch that is redirected, by its new row, if it survived.
    fn redirected(&self, redirection: &Redirection) -> Option<usize> {
        let is_live = self.old.heads[redirection.inst.index()].is_live();
        is_live.then(|| self.first_inst + self.scratch.inst_of[redirection.inst.index()].index())
    }

    /// Points the redirected branches at an old block that they may name while others are moved.
    fn detach(&mut self, redirections: &[Redirection]) {
        for redirection in redirections {
            let Some(row) = self.redirected(redirection) else { continue };
            self.set_target(
                row,
                match redirection.to {
                    Place::Block(block) => block,
                    Place::BlockOf(_) | Place::NewBefore(_) => BlockId(0),
                },
            );
        }
    }

    /// Points the branches at their new targets, and gives those without a label one.
    fn redirect(&mut self, redirections: &[Redirection]) {
        for redirection in redirections {
            let Some(row) = self.redirected(redirection) else { continue };
            let target = match redirection.to {
                Place::Block(block) => self.scratch.block_of[block.index()],
                Place::BlockOf(inst) => self.scratch.block_of_inst[inst.index()],
                Place::NewBefore(block) => {
                    let at = self.scratch.new_blocks.binary_search_by_key(&block, |&(before, _)| before);
                    self.scratch.new_blocks[at.expect("the block was made")].1
                }
            };
            self.set_target(row, target);
            let label = &mut self.new.block_labels[self.first_block + target.index()];
            if label.name.is_none() {
                label.name = Maybe::some(self.pools.names.fresh_label());
            }
        }
    }

    fn set_target(&mut self, row: usize, target: BlockId) {
        let count = self.new.inst_heads[row].operand_count;
        for operand in self.new.inst_operands[row].get_mut(count, &mut self.pools.operands) {
            if operand.as_block().is_some() {
                *operand = operand.with_block(target);
            }
        }
    }

    /// Points branches and branch tables at the new blocks.
    fn move_targets(&mut self) {
        let (block_of, is_merged) = (&self.scratch.block_of, &self.scratch.is_merged);
        let new_place = |block: BlockId| {
            assert!(!is_merged[block.index()], "something branches to {block:?}, which was merged");
            block_of[block.index()]
        };
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
                    *operand = operand.with_block(new_place(block));
                } else if let Some(table) = operand.as_table() {
                    let table = self.pools.tables[self.old.spans.tables.first as usize + table.index()];
                    self.pools.targets[table.targets.range()].iter().for_each(|&target| {
                        new_place(target);
                    });
                }
            }
        }
        // What a table lists that no live instruction names may be anywhere, as long as it is a block: the table is not
        // written.
        let last = BlockId(self.current_block().0 - 1);
        for table in &self.pools.tables[self.old.spans.tables.range()] {
            if table.kind == TableKind::Branch {
                for target in &mut self.pools.targets[table.targets.range()] {
                    *target = block_of[target.index()].min(last);
                }
            }
        }
    }

    fn move_anchors(&mut self, sweep: bool) {
        let last = BlockId(self.current_block().0 - 1);
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
