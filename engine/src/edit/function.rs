//! The rows of one function, to be written: slices that end with the function's own room.

use crate::graph::build::EdgeSource;
use crate::run::facts::CodeFacts;
use crate::store::tables::{CodeTables, Pools};
use crate::store::view::{CodeView, FunctionView, RowIds};
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::{VRegFlags, VRegHead, VRegName};

/// Every column of a batch, to be written.
pub struct CodeColumns<'a> {
    /// Code objects: where their rows are.
    pub code_spans: &'a mut [CodeSpans],
    /// Code objects: state and epochs.
    pub code_states: &'a mut [CodeState],
    /// Code objects: the facts that hold.
    pub code_facts: &'a mut [CodeFacts],
    /// Code objects: their text.
    pub code_texts: &'a [CodeText],
    /// Blocks: instructions and flags.
    pub block_heads: &'a mut [BlockHead],
    /// Blocks: successors and predecessors.
    pub block_edges: &'a mut [BlockEdges],
    /// Blocks: ranks, loops and dominators.
    pub block_orders: &'a mut [BlockOrder],
    /// Blocks: labels.
    pub block_labels: &'a mut [BlockLabel],
    /// Instructions: opcode, form, block, marks.
    pub inst_heads: &'a mut [InstHead],
    /// Instructions: operands.
    pub inst_operands: &'a mut [InstOperands],
    /// Instructions: place in the text.
    pub inst_places: &'a mut [InstPlace],
    /// Instructions: neighbours in chained blocks.
    pub inst_links: &'a mut [InstLinks],
    /// Virtual registers: class, type, facts.
    pub vreg_heads: &'a mut [VRegHead],
    /// Virtual registers: names.
    pub vreg_names: &'a mut [VRegName],
    /// The pools.
    pub pools: &'a mut Pools,
}

/// One function: its rows and its room, indexed by its own ids, and the pools.
pub struct FunctionRows<'a> {
    /// Its number in the batch.
    pub code: CodeId,
    /// Where its rows are.
    pub spans: &'a mut CodeSpans,
    /// State and epochs.
    pub state: &'a mut CodeState,
    /// The facts that hold.
    pub facts: &'a mut CodeFacts,
    /// Its text.
    pub text: CodeText,
    /// Blocks: instructions and flags.
    pub blocks: &'a mut [BlockHead],
    /// Blocks: successors and predecessors.
    pub edges: &'a mut [BlockEdges],
    /// Blocks: ranks, loops and dominators.
    pub orders: &'a mut [BlockOrder],
    /// Blocks: labels.
    pub labels: &'a mut [BlockLabel],
    /// Instructions: opcode, form, block, marks.
    pub heads: &'a mut [InstHead],
    /// Instructions: operands.
    pub operands: &'a mut [InstOperands],
    /// Instructions: place in the text.
    pub places: &'a mut [InstPlace],
    /// Instructions: neighbours in chained blocks.
    pub links: &'a mut [InstLinks],
    /// Virtual registers: class, type, facts.
    pub vregs: &'a mut [VRegHead],
    /// Virtual registers: names.
    pub vreg_names: &'a mut [VRegName],
    /// The pools of the batch.
    pub pools: &'a mut Pools,
}

impl CodeTables {
    /// The tables, to be written.
    pub fn columns_mut(&mut self) -> CodeColumns<'_> {
        CodeColumns {
            code_spans: &mut self.code_spans,
            code_states: &mut self.code_states,
            code_facts: &mut self.code_facts,
            code_texts: &self.code_texts,
            block_heads: &mut self.block_heads,
            block_edges: &mut self.block_edges,
            block_orders: &mut self.block_orders,
            block_labels: &mut self.block_labels,
            inst_heads: &mut self.inst_heads,
            inst_operands: &mut self.inst_operands,
            inst_places: &mut self.inst_places,
            inst_links: &mut self.inst_links,
            vreg_heads: &mut self.vreg_heads,
            vreg_names: &mut self.vreg_names,
            pools: &mut self.pools,
        }
    }
}

impl<'a> CodeColumns<'a> {
    /// Every column, to be read.
    #[must_use]
    pub fn into_view(self) -> CodeView<'a> {
        CodeView {
            code_spans: self.code_spans,
            code_states: self.code_states,
            code_texts: self.code_texts,
            block_heads: self.block_heads,
            block_edges: self.block_edges,
            block_orders: self.block_orders,
            block_labels: self.block_labels,
            inst_heads: self.inst_heads,
            inst_operands: self.inst_operands,
            inst_places: self.inst_places,
            inst_links: self.inst_links,
            vreg_heads: self.vreg_heads,
            vreg_names: self.vreg_names,
            pools: self.pools,
        }
    }

    /// The same columns, for a while.
    #[inline]
    #[must_use]
    pub fn reborrow(&mut self) -> CodeColumns<'_> {
        CodeColumns {
            code_spans: self.code_spans,
            code_states: self.code_states,
            code_facts: self.code_facts,
            code_texts: self.code_texts,
            block_heads: self.block_heads,
            block_edges: self.block_edges,
            block_orders: self.block_orders,
            block_labels: self.block_labels,
            inst_heads: self.inst_heads,
            inst_operands: self.inst_operands,
            inst_places: self.inst_places,
            inst_links: self.inst_links,
            vreg_heads: self.vreg_heads,
            vreg_names: self.vreg_names,
            pools: self.pools,
        }
    }

    /// The rows of one function, its room included.
    #[inline]
    #[must_use]
    pub fn function(self, code: CodeId) -> FunctionRows<'a> {
        let spans = &mut self.code_spans[code.index()];
        let with_room = |span: Span, room: u32| span.first as usize..span.end() + room as usize;
        let blocks = with_room(spans.blocks, spans.room.blocks);
        let insts = with_room(spans.insts, spans.room.insts);
        let vregs = with_room(spans.vregs, spans.room.vregs);
        FunctionRows {
            code,
            spans,
            state: &mut self.code_states[code.index()],
            facts: &mut self.code_facts[code.index()],
            text: self.code_texts[code.index()],
            blocks: &mut self.block_heads[blocks.clone()],
            edges: &mut self.block_edges[blocks.clone()],
            orders: &mut self.block_orders[blocks.clone()],
            labels: &mut self.block_labels[blocks],
            heads: &mut self.inst_heads[insts.clone()],
            operands: &mut self.inst_operands[insts.clone()],
            places: &mut self.inst_places[insts.clone()],
            links: &mut self.inst_links[insts],
            vregs: &mut self.vreg_heads[vregs.clone()],
            vreg_names: &mut self.vreg_names[vregs],
            pools: self.pools,
        }
    }
}

impl FunctionRows<'_> {
    /// The function, to be read.
    #[inline]
    #[must_use]
    pub fn view(&self) -> FunctionView<'_> {
        let (blocks, insts) = (self.spans.blocks.len(), self.spans.insts.len());
        let vregs = self.spans.vregs.len();
        FunctionView {
            code: self.code,
            state: *self.state,
            text: self.text,
            blocks: &self.blocks[..blocks],
            edges: &self.edges[..blocks],
            orders: &self.orders[..blocks],
            labels: &self.labels[..blocks],
            heads: &self.heads[..insts],
            operands: &self.operands[..insts],
            places: &self.places[..insts],
            links: &self.links[..insts],
            vregs: &self.vregs[..vregs],
            vreg_names: &self.vreg_names[..vregs],
            anchors: &self.pools.anchors[self.spans.anchors.range()],
            decls: &self.pools.decls[self.spans.decls.range()],
            tables: &self.pools.tables[self.spans.tables.range()],
            pools: self.pools,
        }
    }

    /// The operands of an instruction.
    #[inline]
    pub(super) fn operands_of(&self, inst: InstId) -> &[Operand] {
        let count = self.heads[inst.index()].operand_count;
        self.operands[inst.index()].get(count, &self.pools.operands)
    }

    /// The carry register, where an instruction reads or writes it: a hidden operand, for which no slot of its form is.
    pub(super) fn carry_of(&self, inst: InstId) -> Option<VRegId> {
        let mut vregs = self.operands_of(inst).iter().filter_map(|operand| operand.vreg());
        vregs.find(|vreg| self.vregs[vreg.index()].flags.contains(VRegFlags::CARRY))
    }

    /// The operands of an instruction, to be written.
    #[inline]
    pub(super) fn operands_mut(&mut self, inst: InstId) -> &mut [Operand] {
        let count = self.heads[inst.index()].operand_count;
        self.operands[inst.index()].get_mut(count, &mut self.pools.operands)
    }

    /// The rows of a block in order, tombstones included.
    #[inline]
    pub(super) fn rows_of(&self, block: BlockId) -> RowIds<'_> {
        RowIds::of(&self.blocks[block.index()], self.links)
    }

    /// What a walk over edges needs.
    pub(super) fn edge_source(&self) -> EdgeSource<'_> {
        let insts = self.spans.insts.len();
        EdgeSource {
            heads: &self.heads[..insts],
            operands: &self.operands[..insts],
            links: &self.links[..insts],
            pool: &self.pools.operands,
            tables: &self.pools.tables[self.spans.tables.range()],
            targets: &self.pools.targets,
        }
    }
}
