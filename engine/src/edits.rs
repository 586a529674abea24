//! The narrow interface through which phases change code.
//!
//! Deleting and rewriting an instruction happens in place: counted, remarked on, and only if the bisect limit allows.
//! What moves rows (splitting a block, inserting an instruction, sweeping) is recorded in the [`EditLog`] and applied
//! by [`crate::commit`] when the phase has ended.

use crate::columns::{BlocksMut, CodeObjectsMut, InstsMut, PoolsResource, VRegs};
use crate::facts::Fact;
use crate::forms::FormTable;
use crate::fuel::Fuel;
use crate::log::{Remark, RemarkKind, Remarks, StepLog};
use crate::view::CodeView;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, Marks, OpcodeWord};
use ptxopt_components::operand::{Operand, OperandKind};

/// An instruction to be inserted.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// The function.
    pub code: CodeId,
    /// The instruction before which it goes; one past the last of a block puts it at the block's end.
    pub before: InstId,
    /// The block it joins.
    pub block: BlockId,
    /// Its row; block and operand count are filled in.
    pub head: InstHead,
    /// Its operands, the guard last.
    pub operands: Vec<Operand>,
    /// Its place in the text: that of the instruction it belongs to.
    pub place: InstPlace,
}

/// A block that does not exist before the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A block that exists.
    Block(BlockId),
    /// The block in which an instruction comes to lie: a split makes it the first of a new one.
    BlockOf(InstId),
    /// The empty block that [`EditLog::new_blocks`] puts before this one.
    NewBefore(BlockId),
}

/// A direct branch that is to lead elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Redirection {
    /// The function.
    pub code: CodeId,
    /// The branch.
    pub inst: InstId,
    /// Where it leads from then on.
    pub to: Place,
}

/// Edits that wait for the commit at the end of the phase.
#[derive(Resource, Default)]
pub struct EditLog {
    /// A new block starts behind each of these instructions. Sorted by function and instruction.
    pub splits: Vec<(CodeId, InstId)>,
    /// Blocks whose instructions join those of the last surviving block before them. Sorted. Nothing may branch to one,
    /// and dead blocks must be swept.
    pub merges: Vec<(CodeId, BlockId)>,
    /// An empty block is put before each of these. Sorted.
    pub new_blocks: Vec<(CodeId, BlockId)>,
    /// Branches that are to lead elsewhere. Sorted by function; of two for one branch the later one stands.
    pub redirections: Vec<Redirection>,
    /// Instructions to insert, in any order; those before one instruction keep their order.
    pub insertions: Vec<Insertion>,
    /// Whether tombstones and dead blocks are to be swept.
    pub sweep: bool,
    /// Whether edges are to be built again.
    pub reconnect: bool,
}

impl EditLog {
    /// Whether rows have to move.
    #[must_use]
    pub fn moves_rows(&self) -> bool {
        self.sweep
            || !self.splits.is_empty()
            || !self.insertions.is_empty()
            || !self.merges.is_empty()
            || !self.new_blocks.is_empty()
            || !self.redirections.is_empty()
    }

    /// Forgets all edits.
    pub fn clear(&mut self) {
        self.splits.clear();
        self.merges.clear();
        self.new_blocks.clear();
        self.redirections.clear();
        self.insertions.clear();
        self.sweep = false;
        self.reconnect = false;
    }
}

/// Changes instructions in place and records the other edits.
#[derive(SystemParam)]
pub struct Editor<'w, 's> {
    codes: CodeObjectsMut<'w, 's>,
    blocks: BlocksMut<'w, 's>,
    insts: InstsMut<'w, 's>,
    vregs: VRegs<'w, 's>,
    pools: ResMut<'w, PoolsResource>,
    fuel: ResMut<'w, Fuel>,
    remarks: ResMut<'w, Remarks>,
    /// What the running step did.
    pub log: ResMut<'w, StepLog>,
    /// Edits that wait for the commit.
    pub edits: ResMut<'w, EditLog>,
}

impl Editor<'_, '_> {
    /// Every column of the batch, to be read.
    #[must_use]
    pub fn view(&mut self) -> CodeView<'_> {
        let (code_states, _, code_spans, code_texts) = self.codes.columns();
        let (block_heads, block_edges, block_orders, block_labels) = self.blocks.columns();
        let (inst_heads, inst_operands, inst_places) = self.insts.columns();
        let (vreg_heads, vreg_names) = self.vregs.columns();
        CodeView {
            code_spans,
            code_states,
            code_texts,
            block_heads,
            block_edges,
            block_orders,
            block_labels,
            inst_heads,
            inst_operands,
            inst_places,
            vreg_heads,
            vreg_names,
            pools: &self.pools.0,
        }
    }

    /// Number of functions.
    #[must_use]
    pub fn code_count(&mut self) -> usize {
        self.codes.columns().0.len()
    }

    /// Deletes `insts` of a function as far as the bisect limit allows; says how many.
    pub fn delete(&mut self, code: CodeId, insts: &[InstId], reason: &'static str) -> usize {
        let (states, _, spans, _) = self.codes.columns();
        let (heads, _, places) = self.insts.columns();
        let first = spans[code.index()].insts.first as usize;
        let mut deleted = 0;
        for inst in insts {
            let row = first + inst.index();
            if !heads[row].is_live() {
                continue;
            }
            if !self.fuel.take() {
                break;
            }
            heads[row].marks |= Marks::TOMBSTONE;
            deleted += 1;
            let (step, offset) = (self.log.step, places[row].offset);
            self.remarks.push(Remark { kind: RemarkKind::Passed, step, code, offset, reason: reason.into() });
        }
        if deleted > 0 {
            let state = &mut states[code.index()];
            state.inst_epoch += 1;
            state.flags |= CodeFlags::HAS_TOMBSTONES;
        }
        deleted
    }

    /// Puts the sink `_` in place of the result at `position`, if the bisect limit allows; says whether.
    ///
    /// The caller knows that nothing reads the result and that the form takes a sink there.
    pub fn sink_result(&mut self, code: CodeId, inst: InstId, position: usize, reason: &'static str) -> bool {
        if !self.fuel.take() {
            return false;
        }
        let (states, _, spans, _) = self.codes.columns();
        let (heads, operands, places) = self.insts.columns();
        let row = spans[code.index()].insts.first as usize + inst.index();
        let operands = operands[row].get_mut(heads[row].operand_count, &mut self.pools.0.operands);
        debug_assert!(operands[position].is_definition());
        operands[position] = Operand::sink();
        states[code.index()].inst_epoch += 1;
        let (step, offset) = (self.log.step, places[row].offset);
        self.remarks.push(Remark { kind: RemarkKind::Passed, step, code, offset, reason: reason.into() });
        true
    }

    /// Deletes unreachable blocks with everything in them, if the bisect limit allows; says whether.
    ///
    /// All of a function's count as one change, since they may branch to one another. Their edges are gone after the
    /// commit.
    pub fn delete_blocks(&mut self, code: CodeId, blocks: &[BlockId], reason: &'static str) -> bool {
        if blocks.is_empty() || !self.fuel.take() {
            return false;
        }
        let (states, _, spans, texts) = self.codes.columns();
        let (block_heads, ..) = self.blocks.columns();
        let (heads, ..) = self.insts.columns();
        let span = spans[code.index()];
        for block in blocks {
            let row = &mut block_heads[span.blocks.first as usize + block.index()];
            row.flags |= BlockFlags::DEAD;
            for inst in row.insts.range() {
                heads[span.insts.first as usize + inst].marks |= Marks::TOMBSTONE;
            }
        }
        let state = &mut states[code.index()];
        state.inst_epoch += 1;
        state.cfg_epoch += 1;
        state.flags |= CodeFlags::HAS_TOMBSTONES;
        self.edits.reconnect = true;
        let (step, offset) = (self.log.step, texts[code.index()].body.first);
        self.remarks.push(Remark { kind: RemarkKind::Passed, step, code, offset, reason: reason.into() });
        true
    }

    /// Begins one change of the flow graph, if the bisect limit allows. All that is done with it counts as one.
    ///
    /// These are the only operations that touch edges. Each leaves instructions and edges what a reader of the text
    /// would find; ranks, dominators and loops are stale afterwards, as the epoch says.
    pub fn change_graph(
        &mut self,
        code: CodeId,
        offset: u32,
        reason: &'static str,
    ) -> Option<GraphChange<'_>> {
        if !self.fuel.take() {
            return None;
        }
        let step = self.log.step;
        self.remarks.push(Remark { kind: RemarkKind::Passed, step, code, offset, reason: reason.into() });
        let (states, _, spans, _) = self.codes.columns();
        let first = spans[code.index()].insts.first as usize;
        let state = &mut states[code.index()];
        state.inst_epoch += 1;
        state.cfg_epoch += 1;
        self.edits.reconnect = true;
        let (heads, operands, _) = self.insts.columns();
        Some(GraphChange {
            code,
            state,
            heads: &mut heads[first..],
            operands: &mut operands[first..],
            edits: &mut self.edits,
        })
    }

    /// Starts a new block behind `inst`.
    pub fn split_after(&mut self, code: CodeId, inst: InstId) {
        self.edits.splits.push((code, inst));
    }

    /// Says why a change was not made.
    pub fn missed(&mut self, code: CodeId, offset: u32, reason: &'static str) {
        let step = self.log.step;
        self.remarks.push(Remark { kind: RemarkKind::Missed, step, code, offset, reason: reason.into() });
    }

    /// Whether remarks are kept: what only remarks need is not computed otherwise.
    #[must_use]
    pub fn remarks_are_wanted(&self) -> bool {
        self.remarks.wanted
    }

    /// Says what was found out about the place `offset`.
    pub fn analysis(&mut self, code: CodeId, offset: u32, what: String) {
        let step = self.log.step;
        self.remarks.push(Remark { kind: RemarkKind::Analysis, step, code, offset, reason: what.into() });
    }

    /// Whether `fact` holds for a function.
    #[must_use]
    pub fn fact_holds(&mut self, code: CodeId, fact: Fact) -> bool {
        let (states, facts, ..) = self.codes.columns();
        facts[code.index()].holds(fact, &states[code.index()])
    }

    /// Notes that `fact` was computed for a function as it is now.
    pub fn fact_computed(&mut self, code: CodeId, fact: Fact) {
        let (states, facts, ..) = self.codes.columns();
        facts[code.index()].computed(fact, &states[code.index()]);
    }

    /// Sets and clears state bits of a function.
    pub fn set_flags(&mut self, code: CodeId, flags: CodeFlags, on: bool) {
        self.codes.columns().0[code.index()].flags.set(flags, on);
    }
}

/// One change of the flow graph of one function.
pub struct GraphChange<'a> {
    code: CodeId,
    state: &'a mut CodeState,
    heads: &'a mut [InstHead],
    operands: &'a mut [InstOperands],
    edits: &'a mut EditLog,
}

impl GraphChange<'_> {
    /// Deletes a branch: of a guarded one the taken edge goes, of another one its block falls through.
    pub fn delete_branch(&mut self, inst: InstId) {
        debug_assert!(self.heads[inst.index()].marks.contains(Marks::CONTROL));
        self.heads[inst.index()].marks |= Marks::TOMBSTONE;
        self.state.flags |= CodeFlags::HAS_TOMBSTONES;
    }

    /// Makes a direct branch lead to `to`. What `.uni` promised of the branch before is no longer said.
    pub fn redirect(&mut self, inst: InstId, to: Place, forms: &mut FormTable) {
        let head = &mut self.heads[inst.index()];
        debug_assert!(head.marks.contains(Marks::CONTROL));
        head.form = forms.without_uniform(head.form);
        if let Place::NewBefore(block) = to {
            debug_assert!(self.edits.new_blocks.contains(&(self.code, block)));
        }
        self.edits.redirections.push(Redirection { code: self.code, inst, to });
    }

    /// Lets a guarded branch be taken where it fell through. Its guard must be a predicate.
    pub fn negate_guard(&mut self, inst: InstId) {
        let head = self.heads[inst.index()];
        let guard = self.operands[inst.index()].get_mut(head.operand_count, &mut []).last_mut();
        if let Some(guard) = guard
            && let OperandKind::Predicate { vreg, negated } = guard.kind()
        {
            *guard = Operand::predicate(vreg, !negated);
        }
    }

    /// Takes the guard of a branch away: of a conditional one the edge of the fall-through goes.
    pub fn drop_guard(&mut self, inst: InstId) {
        let head = &mut self.heads[inst.index()];
        debug_assert!(head.opcode.is_guarded() && head.marks.contains(Marks::CONTROL));
        head.opcode = OpcodeWord::new(head.opcode.root(), false);
        head.operand_count -= 1;
    }

    /// Lets `block` join the last surviving block before it, which must fall through to it and be its only
    /// predecessor.
    pub fn merge(&mut self, block: BlockId) {
        self.edits.merges.push((self.code, block));
        self.edits.sweep = true;
    }

    /// Puts an empty block before `block`; what fell through to that falls through to the new one.
    pub fn insert_block_before(&mut self, block: BlockId) {
        self.edits.new_blocks.push((self.code, block));
    }

    /// Starts a new block with `inst`, which must not be the first of its block.
    pub fn split_before(&mut self, inst: InstId) {
        self.edits.splits.push((self.code, InstId(inst.0 - 1)));
    }
}
