//! One function while it is edited: what may be read, and the changes that may be begun.

use super::ROOM_OF_A_CHANGE;
use super::function::FunctionRows;
use super::journal::Journal;
use crate::forms::FormTable;
use crate::run::facts::{Fact, Memo};
use crate::run::fuel::Fuel;
use crate::run::log::{Remark, RemarkKind, Remarks, StepLog, StepStats};
use crate::store::view::FunctionView;
use crate::values::def_use::DefUse;
use crate::values::phis::PairFinder;
use ahash::AHashMap;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::code_object::{CodeFlags, CodeState, CodeText, Room};
use ptxopt_components::description::Description;
use ptxopt_components::form::{Form, Slot};
use ptxopt_components::ids::{BlockId, CodeId, FormId, Id, InstId, Maybe, Span, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::literal::Literal;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegHead;
use std::borrow::Cow;

/// What an editor of a function writes to beside its rows.
pub(crate) struct Tools<'a> {
    pub(crate) forms: &'a mut FormTable,
    pub(crate) fuel: &'a mut Fuel,
    pub(crate) remarks: &'a mut Remarks,
    pub(crate) log: &'a mut StepLog,
    pub(crate) journal: &'a mut Journal,
}

/// The neighbours of a block in the text. None on both sides for a block that is gone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextLinks {
    pub(super) prev: Maybe<BlockId>,
    pub(super) next: Maybe<BlockId>,
}

/// What the journal need not save of a block again, in the edit that is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockSaved {
    /// Its head is saved.
    pub(super) head: bool,
    /// The links of its rows meant nothing when the edit began, or are saved: it was chained since.
    pub(super) links: bool,
}

/// Memory of the function that is being edited.
#[derive(Default)]
pub struct SessionScratch {
    /// By block that the function had when its rows were first saved.
    pub(super) saved: Vec<BlockSaved>,
    /// Operands of an instruction that is being written.
    pub(super) operands: Vec<Operand>,
    /// By block, once the order of blocks has changed.
    pub(super) order: Vec<TextLinks>,
    /// By block: the first row with which it joined another one, once the order of blocks has changed.
    pub(super) joined: Vec<Maybe<InstId>>,
    /// By such a row: its block.
    pub(super) joined_by: AHashMap<InstId, BlockId>,
    /// By block: the anchors at its end, as a run of the anchor pool.
    pub(super) end_anchors: Vec<Span>,
    /// By instruction as it was when the index was made: its first anchor.
    pub(super) first_anchor: Vec<Maybe<InstId>>,
    /// Where the predecessor was that phis named last.
    pub(super) pairs: PairFinder,
    pub(super) settle: super::settle::SettleScratch,
}

/// A function that is open for changes.
pub struct FunctionEditor<'a> {
    pub(super) rows: FunctionRows<'a>,
    pub(super) tools: Tools<'a>,
    /// Kept true, where the fact holds.
    pub(super) def_use: Option<&'a mut DefUse>,
    pub(super) scratch: &'a mut SessionScratch,
    pub(super) is_saved: bool,
    /// Rows when the edit began: what later ones held needs no saving.
    pub(super) rows_before: u32,
    /// Whether [`SessionScratch::order`] is in use.
    pub(super) has_order: bool,
    /// Whether the anchors are indexed.
    pub(super) has_anchor_index: bool,
    /// Whether edges are not those of the instructions.
    pub(super) is_graph_stale: bool,
}

/// One change: what the bisect limit counts. See the [module](super).
pub struct Change<'e, 'a> {
    pub(super) f: &'e mut FunctionEditor<'a>,
}

impl Change<'_, '_> {
    /// The function as it is now.
    #[must_use]
    pub fn function(&self) -> FunctionView<'_> {
        self.f.view()
    }

    /// The operands of an instruction: cheaper than a view.
    #[inline]
    #[must_use]
    pub fn operands_of(&self, inst: InstId) -> &[Operand] {
        self.f.operands_of(inst)
    }

    /// The forms.
    pub fn forms(&mut self) -> &mut FormTable {
        self.f.forms()
    }
}

impl<'a> FunctionEditor<'a> {
    pub(crate) fn new(
        rows: FunctionRows<'a>,
        tools: Tools<'a>,
        def_use: Option<&'a mut DefUse>,
        scratch: &'a mut SessionScratch,
    ) -> Self {
        Self {
            rows,
            tools,
            def_use,
            scratch,
            is_saved: false,
            rows_before: 0,
            has_order: false,
            has_anchor_index: false,
            is_graph_stale: false,
        }
    }

    /// The function's number in the batch.
    #[must_use]
    pub fn code(&self) -> CodeId {
        self.rows.code
    }

    /// State and epochs.
    #[must_use]
    pub fn state(&self) -> CodeState {
        *self.rows.state
    }

    /// The function as it is now. After a change of the graph its edges are those of before until
    /// [`FunctionEditor::refresh_edges`] or the end of the edit.
    #[inline]
    #[must_use]
    pub fn view(&self) -> FunctionView<'_> {
        self.rows.view()
    }

    /// The head of an instruction. Cheaper than a view, as are the next ones: what walks ask at every instruction.
    #[inline]
    #[must_use]
    pub fn head(&self, inst: InstId) -> InstHead {
        self.rows.heads[inst.index()]
    }

    /// The operands of an instruction.
    #[inline]
    #[must_use]
    pub fn operands_of(&self, inst: InstId) -> &[Operand] {
        self.rows.operands_of(inst)
    }

    /// The head and the operands of an instruction.
    #[inline]
    #[must_use]
    pub fn row(&self, inst: InstId) -> (&InstHead, &[Operand]) {
        let head = &self.rows.heads[inst.index()];
        (head, self.rows.operands[inst.index()].get(head.operand_count, &self.rows.pools.operands))
    }

    /// A form.
    #[inline]
    #[must_use]
    pub fn form(&self, form: FormId) -> &Form {
        self.tools.forms.get(form)
    }

    /// The slots of a form.
    #[inline]
    #[must_use]
    pub fn slots(&self, form: FormId) -> &[Slot] {
        self.tools.forms.slots(form)
    }

    /// The guard of an instruction.
    #[inline]
    #[must_use]
    pub fn guard_of(&self, inst: InstId) -> Option<Operand> {
        if self.head(inst).opcode.is_guarded() { self.operands_of(inst).last().copied() } else { None }
    }

    /// The carry register, where an instruction reads or writes it.
    #[must_use]
    pub fn carry_of(&self, inst: InstId) -> Option<VRegId> {
        self.rows.carry_of(inst)
    }

    /// The form of an instruction.
    #[inline]
    #[must_use]
    pub fn form_of(&self, inst: InstId) -> &Form {
        self.tools.forms.get(self.head(inst).form)
    }

    /// What an instruction computes, and how.
    #[inline]
    #[must_use]
    pub fn description_of(&self, inst: InstId) -> &Description {
        self.tools.forms.describe(self.head(inst).form)
    }

    /// The slots of an instruction.
    #[inline]
    #[must_use]
    pub fn slots_of(&self, inst: InstId) -> &[Slot] {
        self.tools.forms.slots(self.head(inst).form)
    }

    /// A register.
    #[inline]
    #[must_use]
    pub fn vreg(&self, vreg: VRegId) -> VRegHead {
        self.rows.vregs[vreg.index()]
    }

    /// Where a block stands in the graph.
    #[inline]
    #[must_use]
    pub fn order_of(&self, block: BlockId) -> &BlockOrder {
        &self.rows.orders[block.index()]
    }

    /// The predecessors of a block, as [`FunctionEditor::view`] has them.
    #[inline]
    #[must_use]
    pub fn preds(&self, block: BlockId) -> &[BlockId] {
        &self.rows.pools.edges[self.rows.edges[block.index()].preds.range()]
    }

    /// The successors of a block, as [`FunctionEditor::view`] has them.
    #[inline]
    #[must_use]
    pub fn succs(&self, block: BlockId) -> &[BlockId] {
        &self.rows.pools.edges[self.rows.edges[block.index()].succs.range()]
    }

    /// The live instructions of a block, in order.
    #[inline]
    pub fn insts_of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> {
        self.rows.rows_of(block).filter(|inst| self.rows.heads[inst.index()].is_live())
    }

    /// The phis of a block with their operands.
    #[inline]
    pub fn phis_of(&self, block: BlockId) -> impl Iterator<Item = (InstId, &[Operand])> {
        let phis = self.insts_of(block).take_while(|&inst| self.head(inst).is_phi());
        phis.map(|phi| (phi, self.operands_of(phi)))
    }

    /// Where the function's text is in the module, and what it says of launches.
    #[inline]
    #[must_use]
    pub fn text(&self) -> &CodeText {
        &self.rows.text
    }

    /// The byte of the module at which an instruction was read, or what it was made of.
    #[inline]
    #[must_use]
    pub fn offset_of(&self, inst: InstId) -> u32 {
        self.rows.places[inst.index()].offset
    }

    /// The literals of the batch.
    #[must_use]
    pub fn literals(&self) -> &[Literal] {
        &self.rows.pools.literals
    }

    /// The forms.
    pub fn forms(&mut self) -> &mut FormTable {
        self.tools.forms
    }

    /// Function and forms together.
    #[must_use]
    pub fn view_and_forms(&self) -> (FunctionView<'_>, &FormTable) {
        (self.rows.view(), self.tools.forms)
    }

    /// Who defines and who reads what.
    ///
    /// # Panics
    /// Where [`Fact::DefUse`] did not hold when the function was opened: the phase must need it.
    #[must_use]
    pub fn def_use(&self) -> &DefUse {
        self.def_use.as_deref().expect("the phase does not need the fact of def-use")
    }

    /// The running step's statistics.
    pub fn stats(&mut self) -> &mut StepStats {
        self.tools.log.current()
    }

    /// The rows that changes may still take.
    #[must_use]
    pub fn room(&self) -> Room {
        self.rows.spans.room
    }

    /// Begins a change at an instruction, if the bisect limit allows and the function has room.
    pub fn change(&mut self, at: InstId, reason: &'static str) -> Option<Change<'_, 'a>> {
        self.change_with_room(self.rows.places[at.index()].offset, reason, ROOM_OF_A_CHANGE)
    }

    /// Begins a change at the byte `offset` of the module.
    pub fn change_at(&mut self, offset: u32, reason: &'static str) -> Option<Change<'_, 'a>> {
        self.change_with_room(offset, reason, ROOM_OF_A_CHANGE)
    }

    /// Begins a change that may take as many rows as `room` says. A function without that room is not changed, and the
    /// step's statistics count it as a limit.
    pub fn change_with_room(
        &mut self,
        offset: u32,
        reason: &'static str,
        room: Room,
    ) -> Option<Change<'_, 'a>> {
        let has = self.rows.spans.room;
        if has.insts < room.insts || has.blocks < room.blocks || has.vregs < room.vregs {
            self.tools.log.current().limits_hit += 1;
            self.missed(offset, "the function has no room for another change");
            return None;
        }
        self.begin(offset, reason)
    }

    /// Begins a change that takes no rows: it deletes, or rewrites in place. Moving an instruction takes one.
    pub fn change_in_place(&mut self, at: InstId, reason: &'static str) -> Option<Change<'_, 'a>> {
        self.begin(self.rows.places[at.index()].offset, reason)
    }

    /// As [`FunctionEditor::change_in_place`], at the byte `offset` of the module.
    pub fn change_in_place_at(&mut self, offset: u32, reason: &'static str) -> Option<Change<'_, 'a>> {
        self.begin(offset, reason)
    }

    /// Begins a change without which later phases would be wrong: it takes no fuel and makes no remark.
    pub fn required_change(&mut self) -> Change<'_, 'a> {
        self.save();
        self.rows.state.inst_epoch += 1;
        Change { f: self }
    }

    /// Begins the part of the journal in which the edit is saved, unless it has begun.
    pub(super) fn save(&mut self) {
        if !std::mem::replace(&mut self.is_saved, true) {
            self.tools.journal.save_function(&self.rows);
            self.rows_before = self.rows.spans.insts.count;
            self.scratch.saved.clear();
            self.scratch.saved.resize(self.rows.spans.blocks.len(), BlockSaved::default());
        }
    }

    fn begin(&mut self, offset: u32, reason: &'static str) -> Option<Change<'_, 'a>> {
        if !self.tools.fuel.take() {
            return None;
        }
        self.save();
        self.tools.log.count_change(self.rows.text.module);
        self.rows.state.inst_epoch += 1;
        self.remark(RemarkKind::Passed, offset, reason.into());
        Some(Change { f: self })
    }

    /// Deletes `insts` as far as the bisect limit allows, each as a change of its own; says how many.
    pub fn delete_each(&mut self, insts: &[InstId], reason: &'static str) -> usize {
        let mut deleted = 0;
        for &inst in insts {
            if !self.rows.heads[inst.index()].is_live() {
                continue;
            }
            let Some(mut change) = self.change_in_place(inst, reason) else { break };
            change.delete(inst);
            deleted += 1;
        }
        deleted
    }

    /// Says why a change was not made.
    pub fn missed(&mut self, offset: u32, reason: &'static str) {
        self.remark(RemarkKind::Missed, offset, reason.into());
    }

    /// Says what was found out about the place `offset`.
    pub fn analysis(&mut self, offset: u32, what: String) {
        self.remark(RemarkKind::Analysis, offset, what.into());
    }

    /// Whether remarks are kept: what only remarks need is not computed otherwise.
    #[must_use]
    pub fn remarks_are_wanted(&self) -> bool {
        self.tools.remarks.wanted
    }

    fn remark(&mut self, kind: RemarkKind, offset: u32, reason: Cow<'static, str>) {
        let (step, code) = (self.tools.log.step, self.rows.code);
        self.tools.remarks.push(Remark { kind, step, code, offset, reason });
    }

    /// Whether `fact` holds for the function.
    #[must_use]
    pub fn fact_holds(&self, fact: Fact) -> bool {
        self.rows.facts.holds(fact, self.rows.state)
    }

    /// Notes that `fact` holds for the function as it is now, when the edit ends.
    pub fn fact_computed(&mut self, fact: Fact) {
        self.rows.facts.computed(fact, self.rows.state);
    }

    /// Whether nothing has changed since `memo` was noted.
    #[must_use]
    pub fn remembers(&self, memo: Memo) -> bool {
        self.rows.facts.remembers(memo, self.rows.state)
    }

    /// Notes `memo` for the function as it is now.
    pub fn remember(&mut self, memo: Memo) {
        self.rows.facts.remember(memo, self.rows.state);
    }

    /// Marks an instruction as looked at. This is no change: where the step is undone, what was written in it has lost the mark
    /// and gets the one of before.
    #[inline]
    pub fn note_settled(&mut self, inst: InstId) {
        self.rows.heads[inst.index()].marks |= Marks::SETTLED;
    }

    /// Sets and clears state bits.
    pub fn set_flags(&mut self, flags: CodeFlags, on: bool) {
        self.save();
        self.rows.state.flags.set(flags, on);
    }

    /// The next block in the text that is not deleted.
    #[must_use]
    pub fn next_in_text(&self, block: BlockId) -> Option<BlockId> {
        if self.has_order {
            return self.scratch.order[block.index()].next.get();
        }
        crate::graph::build::next_living(&self.rows.blocks[..self.rows.spans.blocks.len()], block)
    }
}

impl Drop for FunctionEditor<'_> {
    fn drop(&mut self) {
        // A panic is on its way: the function is thrown away.
        if std::thread::panicking() {
            return;
        }
        self.settle();
        if self.def_use.is_some() {
            self.rows.facts.computed(Fact::DefUse, self.rows.state);
        }
    }
}
