//! Read-only views of a batch and of one function: what writers, verifiers and dumps work on.

use crate::store::tables::{CodeTables, Pools};
use ptxopt_components::anchor::{Anchor, Decl, Table};
use ptxopt_components::block::{BlockEdges, BlockFlags, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands, InstPlace, Marks};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::{VRegHead, VRegName};

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
    /// Instructions: neighbours in chained blocks.
    pub inst_links: &'a [InstLinks],
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
            inst_links: &self.inst_links,
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
    /// Instructions: neighbours in chained blocks.
    pub links: &'a [InstLinks],
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
            places: &self.inst_places[insts.clone()],
            // Tables that nothing edits have no links.
            links: self.inst_links.get(insts).unwrap_or_default(),
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

    /// The instruction with which control leaves a block, if there is one.
    #[must_use]
    pub fn control_of(&self, block: BlockId) -> Option<InstId> {
        let last = self.insts_of(block).next_back()?;
        self.heads[last.index()].marks.contains(Marks::CONTROL).then_some(last)
    }

    /// Whether an anchor stands at the end of its block, after the last instruction.
    #[must_use]
    pub fn is_at_the_end(&self, anchor: &Anchor) -> bool {
        let head = &self.blocks[anchor.block.index()];
        let is_past_rows = if head.flags.contains(BlockFlags::CHAINED) {
            anchor.before == Anchor::END
        } else {
            !head.insts.range().contains(&anchor.before.index())
        };
        is_past_rows && !anchor.is_of_block()
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

    /// The rows of a block in order, tombstones included.
    #[inline]
    #[must_use]
    pub fn all_rows_of(&self, block: BlockId) -> RowIds<'a> {
        RowIds::of(&self.blocks[block.index()], self.links)
    }

    /// The row before one of the same block, tombstones included; none for the first.
    #[must_use]
    pub fn row_before(&self, inst: InstId) -> Option<InstId> {
        let block = &self.blocks[self.heads[inst.index()].block.index()];
        let is_first = block.insts.first == inst.0;
        let is_chained = block.flags.contains(BlockFlags::CHAINED);
        (!is_first).then(|| if is_chained { self.links[inst.index()].prev } else { InstId(inst.0 - 1) })
    }

    /// The row after one of the same block, tombstones included; none for the last.
    #[must_use]
    pub fn row_after(&self, inst: InstId) -> Option<InstId> {
        let block = &self.blocks[self.heads[inst.index()].block.index()];
        if block.flags.contains(BlockFlags::CHAINED) {
            // The ring closes at the first row.
            return Some(self.links[inst.index()].next).filter(|next| next.0 != block.insts.first);
        }
        Some(InstId(inst.0 + 1)).filter(|next| next.index() < block.insts.end())
    }

    /// The live instructions of a block, in order.
    #[inline]
    pub fn insts_of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> + use<'a> {
        let heads = self.heads;
        self.all_rows_of(block).filter(move |inst| heads[inst.index()].is_live())
    }

    /// The live instructions of a block with their rows, in order: what walks over all of a function take.
    #[inline]
    pub fn rows_of(
        &self,
        block: BlockId,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_of_by(block, InstOperands::get)
    }

    /// What [`rows_of`](Self::rows_of) gives, with operands that are [padded](InstOperands::padded).
    #[inline]
    pub fn padded_rows_of(
        &self,
        block: BlockId,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_of_by(block, InstOperands::padded)
    }

    #[inline]
    fn rows_of_by<F: Fn(&'a InstOperands, u16, &'a [Operand]) -> &'a [Operand]>(
        &self,
        block: BlockId,
        take: F,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a, F> {
        let (heads, operands, pool) = (self.heads, self.operands, &self.pools.operands[..]);
        self.all_rows_of(block).filter_map(move |inst| {
            let head = &heads[inst.index()];
            head.is_live().then(|| (inst, head, take(&operands[inst.index()], head.operand_count, pool)))
        })
    }

    /// The live instructions among the rows of a span with their rows, by id: those of a block, where ids are in program order.
    #[inline]
    pub fn rows_in(
        &self,
        span: Span,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        let pool = &self.pools.operands[..];
        let columns = self.heads[span.range()].iter().zip(&self.operands[span.range()]).enumerate();
        let live = columns.filter(|(_, (head, _))| head.is_live());
        live.map(move |(at, (head, operands))| {
            (InstId(span.first + at as u32), head, operands.get(head.operand_count, pool))
        })
    }

    /// The live instructions of the function with their rows, by id: that is program order only within blocks that are
    /// not chained.
    #[inline]
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_by(InstOperands::get)
    }

    /// What [`rows`](Self::rows) gives, with operands that are [padded](InstOperands::padded).
    #[inline]
    pub fn padded_rows(
        &self,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a> {
        self.rows_by(InstOperands::padded)
    }

    #[inline]
    fn rows_by<F: Fn(&'a InstOperands, u16, &'a [Operand]) -> &'a [Operand]>(
        &self,
        take: F,
    ) -> impl DoubleEndedIterator<Item = (InstId, &'a InstHead, &'a [Operand])> + use<'a, F> {
        let pool = &self.pools.operands[..];
        let columns = self.heads.iter().zip(self.operands).enumerate();
        let live = columns.filter(|(_, (head, _))| head.is_live());
        live.map(move |(inst, (head, row))| (InstId::new(inst), head, take(row, head.operand_count, pool)))
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

/// The rows of a block in order, tombstones included.
#[derive(Clone)]
pub struct RowIds<'a> {
    /// The next row from the front.
    front: u32,
    /// The next row from the back, where the block is chained; otherwise one past it.
    back: u32,
    /// Rows to come.
    count: u32,
    /// Of a chained block.
    links: Option<&'a [InstLinks]>,
}

impl<'a> RowIds<'a> {
    /// The rows of `block`; `links` are those of its function.
    #[inline]
    pub fn of(block: &BlockHead, links: &'a [InstLinks]) -> Self {
        let Span { first, count } = block.insts;
        if block.flags.contains(BlockFlags::CHAINED) && count > 0 {
            Self { front: first, back: links[first as usize].prev.0, count, links: Some(links) }
        } else {
            Self { front: first, back: first + count, count, links: None }
        }
    }
}

impl Iterator for RowIds<'_> {
    type Item = InstId;

    #[inline]
    fn next(&mut self) -> Option<InstId> {
        self.count = self.count.checked_sub(1)?;
        let inst = self.front;
        self.front = match self.links {
            None => inst + 1,
            Some(links) => links[inst as usize].next.0,
        };
        Some(InstId(inst))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count as usize, Some(self.count as usize))
    }
}

impl DoubleEndedIterator for RowIds<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<InstId> {
        self.count = self.count.checked_sub(1)?;
        match self.links {
            None => {
                self.back -= 1;
                Some(InstId(self.back))
            }
            Some(links) => {
                let inst = self.back;
                self.back = links[inst as usize].prev.0;
                Some(InstId(inst))
            }
        }
    }
}

impl ExactSizeIterator for RowIds<'_> {}
