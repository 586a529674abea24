//! Read-only views of a batch and of one function: what writers, verifiers and dumps work on.

use crate::tables::{CodeTables, Pools};
use ptxopt_components::anchor::{Anchor, Decl, Table};
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::{VRegHead, VRegName};
use std::ops::Range;

/// Every column of a batch.
#[derive(Clone, Copy)]
pub struct CodeView<'a> {
    /// Code objects: where their rows are.
    pub code_spans: &'a [CodeSpans],
    /// Code objects: state and epochs.
    pub code_states: &'a [CodeState],
    /// Code objects: their text.
    pub code_texts: &'a [CodeText],
    /// Blocks: instructions and flags.
    pub block_heads: &'a [BlockHead],
    /// Blocks: successors and predecessors.
    pub block_edges: &'a [BlockEdges],
    /// Blocks: ranks, loops and dominators.
    pub block_orders: &'a [BlockOrder],
    /// Blocks: labels.
    pub block_labels: &'a [BlockLabel],
    /// Instructions: opcode, form, block, marks.
    pub inst_heads: &'a [InstHead],
    /// Instructions: operands.
    pub inst_operands: &'a [InstOperands],
    /// Instructions: place in the text.
    pub inst_places: &'a [InstPlace],
    /// Virtual registers: class, type, facts.
    pub vreg_heads: &'a [VRegHead],
    /// Virtual registers: names.
    pub vreg_names: &'a [VRegName],
    /// The pools.
    pub pools: &'a Pools,
}

impl CodeTables {
    /// The tables as a view.
    #[must_use]
    pub fn view(&self) -> CodeView<'_> {
        CodeView {
            code_spans: &self.code_spans,
            code_states: &self.code_states,
            code_texts: &self.code_texts,
            block_heads: &self.block_heads,
            block_edges: &self.block_edges,
            block_orders: &self.block_orders,
            block_labels: &self.block_labels,
            inst_heads: &self.inst_heads,
            inst_operands: &self.inst_operands,
            inst_places: &self.inst_places,
            vreg_heads: &self.vreg_heads,
            vreg_names: &self.vreg_names,
            pools: &self.pools,
        }
    }
}

/// One function: its rows, indexed by its own ids, and the pools.
#[derive(Clone, Copy)]
pub struct FunctionView<'a> {
    /// Its number in the batch.
    pub code: CodeId,
    /// State and epochs.
    pub state: CodeState,
    /// Its text.
    pub text: CodeText,
    /// Blocks: instructions and flags.
    pub blocks: &'a [BlockHead],
    /// Blocks: successors and predecessors.
    pub edges: &'a [BlockEdges],
    /// Blocks: ranks, loops and dominators.
    pub orders: &'a [BlockOrder],
    /// Blocks: labels.
    pub labels: &'a [BlockLabel],
    /// Instructions: opcode, form, block, marks.
    pub heads: &'a [InstHead],
    /// Instructions: operands.
    pub operands: &'a [InstOperands],
    /// Instructions: place in the text.
    pub places: &'a [InstPlace],
    /// Virtual registers: class, type, facts.
    pub vregs: &'a [VRegHead],
    /// Virtual registers: names.
    pub vreg_names: &'a [VRegName],
    /// Anchors, sorted by place.
    pub anchors: &'a [Anchor],
    /// Declarations.
    pub decls: &'a [Decl],
    /// Jump tables, call-target lists, prototypes.
    pub tables: &'a [Table],
    /// The pools of the batch.
    pub pools: &'a Pools,
}

impl<'a> CodeView<'a> {
    /// The functions of the batch.
    pub fn functions(self) -> impl Iterator<Item = FunctionView<'a>> {
        (0..self.code_spans.len()).map(move |code| self.function(CodeId::new(code)))
    }

    /// One function.
    #[must_use]
    pub fn function(self, code: CodeId) -> FunctionView<'a> {
        let spans = self.code_spans[code.index()];
        let (blocks, insts, vregs) = (spans.blocks.range(), spans.insts.range(), spans.vregs.range());
        FunctionView {
            code,
            state: self.code_states[code.index()],
            text: self.code_texts[code.index()],
            blocks: &self.block_heads[blocks.clone()],
            edges: &self.block_edges[blocks.clone()],
            orders: &self.block_orders[blocks.clone()],
            labels: &self.block_labels[blocks],
            heads: &self.inst_heads[insts.clone()],
            operands: &self.inst_operands[insts.clone()],
            places: &self.inst_places[insts],
            vregs: &self.vreg_heads[vregs.clone()],
            vreg_names: &self.vreg_names[vregs],
            anchors: &self.pools.anchors[spans.anchors.range()],
            decls: &self.pools.decls[spans.decls.range()],
            tables: &self.pools.tables[spans.tables.range()],
            pools: self.pools,
        }
    }
}

impl<'a> FunctionView<'a> {
    /// The operands of an instruction: those of its form, hidden ones, the guard last.
    #[inline]
    #[must_use]
    pub fn operands_of(&self, inst: InstId) -> &'a [Operand] {
        let count = self.heads[inst.index()].operand_count;
        self.operands[inst.index()].get(count, &self.pools.operands)
    }

    /// The guard of an instruction.
    #[inline]
    #[must_use]
    pub fn guard_of(&self, inst: InstId) -> Option<Operand> {
        if self.heads[inst.index()].opcode.is_guarded() {
            self.operands_of(inst).last().copied()
        } else {
            None
        }
    }

    /// The live instructions of a block, in order.
    pub fn insts_of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> + use<'a> {
        let heads = self.heads;
        live_insts(heads, self.blocks[block.index()].insts)
    }

    /// The live instructions of a block with their rows, in order: what walks over all of a function take.
    #[inline]
    pub fn rows_of(
        &self,
        block: BlockId,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_in(self.blocks[block.index()].insts.range())
    }

    /// The live instructions of the function with their rows, in order.
    #[inline]
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_in(0..self.heads.len())
    }

    fn rows_in(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        let pool = &self.pools.operands[..];
        let columns = self.heads[range.clone()].iter().zip(&self.operands[range.clone()]);
        let rows = range.zip(columns).filter(|(_, (head, _))| head.is_live());
        rows.map(|(inst, (head, operands))| (InstId::new(inst), head, operands.get(head.operand_count, pool)))
    }

    /// Successors of a block; the fall-through last.
    #[inline]
    #[must_use]
    pub fn succs(&self, block: BlockId) -> &'a [BlockId] {
        &self.pools.edges[self.edges[block.index()].succs.range()]
    }

    /// Predecessors of a block.
    #[inline]
    #[must_use]
    pub fn preds(&self, block: BlockId) -> &'a [BlockId] {
        &self.pools.edges[self.edges[block.index()].preds.range()]
    }

    /// Block ids in textual order.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        (0..self.blocks.len()).map(BlockId::new)
    }

    /// Register ids.
    pub fn vreg_ids(&self) -> impl Iterator<Item = VRegId> + use<> {
        (0..self.vregs.len()).map(VRegId::new)
    }

    /// Number of instructions that are not deleted.
    #[must_use]
    pub fn live_inst_count(&self) -> usize {
        self.heads.iter().filter(|head| head.is_live()).count()
    }
}

/// The live rows of `insts`, in order.
pub fn live_insts(heads: &[InstHead], insts: Span) -> impl DoubleEndedIterator<Item = InstId> + use<'_> {
    insts.range().filter(|&inst| heads[inst].is_live()).map(InstId::new)
}
