//! What an edit has replaced, so that a phase can be undone for one function.
//!
//! Every writing call of the editor saves the rows that it is about to overwrite. Undoing writes them back, the last first.
//! Functions that a phase leaves alone cost nothing, and others cost in proportion to what changed. The journal is emptied
//! when the next step begins.
//!
//! Pools only grow while a phase runs, so what they hold past the old end needs no undoing: nothing refers to it any more.

use super::function::{CodeColumns, FunctionRows};
use bevy_ecs::resource::Resource;
use ptxopt_components::anchor::Anchor;
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span, VRegId};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;

/// A row or a run of rows as they were. Rows are relative to their function, and pool entries to the pool. 24 bytes: a phase
/// that inserts writes some for each instruction, so what is larger lies elsewhere.
#[derive(Clone, Copy, Debug)]
enum Saved {
    Head(InstId, InstHead),
    /// An entry of [`Journal::operands`].
    Operands(InstId, u32),
    Links(InstId, InstLinks),
    Block(BlockId, BlockHead),
    Label(BlockId, BlockLabel),
    VRegFlags(VRegId, VRegFlags),
    /// In the operand pool.
    PoolOperand(u32, Operand),
    /// All blocks: a run of [`Journal::blocks`].
    Blocks(Span),
    /// All instruction heads: a run of [`Journal::heads`].
    Heads(Span),
    /// A run of anchors at this place of the pool: a run of [`Journal::anchors`].
    Anchors(u32, Span),
    /// A run of branch-table targets at this place of the pool: a run of [`Journal::targets`].
    Targets(u32, Span),
}

type BlockRow = (BlockHead, BlockEdges, BlockOrder, BlockLabel);

/// One edit of a function: what is saved from its beginning up to the next one is its own.
#[derive(Clone, Copy, Debug)]
struct Edit {
    code: CodeId,
    /// Where the function lay and what state it was in.
    spans: CodeSpans,
    state: CodeState,
    /// Its first entry.
    first: usize,
    is_undone: bool,
}

/// What the running step has replaced.
#[derive(Resource, Debug, Default)]
pub struct Journal {
    edits: Vec<Edit>,
    entries: Vec<Saved>,
    operands: Vec<InstOperands>,
    blocks: Vec<BlockRow>,
    heads: Vec<InstHead>,
    anchors: Vec<Anchor>,
    targets: Vec<BlockId>,
}

/// Appends `rows` to `store`; says where they are.
fn keep<T: Copy>(store: &mut Vec<T>, rows: impl IntoIterator<Item = T>) -> Span {
    let first = store.len();
    store.extend(rows);
    Span::between(first, store.len())
}

impl Journal {
    /// Forgets everything: what was done stands.
    pub fn clear(&mut self) {
        let Self { edits, entries, operands, blocks, heads, anchors, targets } = self;
        edits.clear();
        entries.clear();
        operands.clear();
        blocks.clear();
        heads.clear();
        anchors.clear();
        targets.clear();
    }

    /// Whether the step has changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.iter().all(|edit| edit.is_undone)
    }

    /// The functions that the step has changed, each perhaps several times.
    pub fn changed(&self) -> impl Iterator<Item = CodeId> + '_ {
        self.edits.iter().filter(|edit| !edit.is_undone).map(|edit| edit.code)
    }

    /// The functions that the step has changed, each perhaps several times, and their states before.
    pub fn states_before(&self) -> impl Iterator<Item = (CodeId, &CodeState)> + '_ {
        self.edits.iter().filter(|edit| !edit.is_undone).map(|edit| (edit.code, &edit.state))
    }

    /// Instructions that a function had alive before the step.
    #[must_use]
    pub fn live_insts_before(&self, code: CodeId) -> Option<u32> {
        self.edits.iter().find(|edit| edit.code == code).map(|edit| edit.state.live_insts)
    }

    /// Begins an edit.
    pub(super) fn save_function(&mut self, rows: &FunctionRows<'_>) {
        let (spans, state, first) = (*rows.spans, *rows.state, self.entries.len());
        self.edits.push(Edit { code: rows.code, spans, state, first, is_undone: false });
    }

    #[inline]
    pub(super) fn save_head(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push(Saved::Head(inst, rows.heads[inst.index()]));
    }

    /// Saves the operands of an instruction, those in the pool too.
    pub(super) fn save_operands(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push(Saved::Operands(inst, self.operands.len() as u32));
        self.operands.push(rows.operands[inst.index()]);
        let count = rows.heads[inst.index()].operand_count;
        if let Some(span) = rows.operands[inst.index()].pool_span(count) {
            let pooled = span.range().map(|at| Saved::PoolOperand(at as u32, rows.pools.operands[at]));
            self.entries.extend(pooled);
        }
    }

    /// Saves one operand of an instruction: of a phi with thousands of values each may change by itself.
    pub(super) fn save_operand(&mut self, rows: &FunctionRows<'_>, inst: InstId, position: usize) {
        let (row, count) = (rows.operands[inst.index()], rows.heads[inst.index()].operand_count);
        let Some(span) = row.pool_span(count) else {
            return self.save_operands(rows, inst);
        };
        let at = span.range().start + position;
        self.entries.push(Saved::PoolOperand(at as u32, rows.pools.operands[at]));
    }

    #[inline]
    pub(super) fn save_links(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push(Saved::Links(inst, rows.links[inst.index()]));
    }

    #[inline]
    pub(super) fn save_block(&mut self, rows: &FunctionRows<'_>, block: BlockId) {
        self.entries.push(Saved::Block(block, rows.blocks[block.index()]));
    }

    #[inline]
    pub(super) fn save_vreg_flags(&mut self, rows: &FunctionRows<'_>, vreg: VRegId) {
        self.entries.push(Saved::VRegFlags(vreg, rows.vregs[vreg.index()].flags));
    }

    pub(super) fn save_label(&mut self, rows: &FunctionRows<'_>, block: BlockId) {
        self.entries.push(Saved::Label(block, rows.labels[block.index()]));
    }

    /// Saves every block, head, anchor and table target: before the graph changes and blocks are given new ids.
    pub(super) fn save_numbering(&mut self, rows: &FunctionRows<'_>) {
        let spans = *rows.spans;
        let columns = (0..spans.blocks.len())
            .map(|at| (rows.blocks[at], rows.edges[at], rows.orders[at], rows.labels[at]));
        let blocks = keep(&mut self.blocks, columns);
        let heads = keep(&mut self.heads, rows.heads[..spans.insts.len()].iter().copied());
        let anchors = keep(&mut self.anchors, rows.pools.anchors[spans.anchors.range()].iter().copied());
        self.entries.extend([
            Saved::Blocks(blocks),
            Saved::Heads(heads),
            Saved::Anchors(spans.anchors.first, anchors),
        ]);
        for table in &rows.pools.tables[spans.tables.range()] {
            let targets = keep(&mut self.targets, rows.pools.targets[table.targets.range()].iter().copied());
            self.entries.push(Saved::Targets(table.targets.first, targets));
        }
    }

    /// Saves an anchor.
    pub(super) fn save_anchor(&mut self, rows: &FunctionRows<'_>, at: usize) {
        let saved = keep(&mut self.anchors, [rows.pools.anchors[at]]);
        self.entries.push(Saved::Anchors(at as u32, saved));
    }

    /// Undoes what the step did to a function; says whether it did anything. Facts about the function are stale then.
    pub fn undo(&mut self, code: CodeId, columns: CodeColumns<'_>) -> bool {
        let state = columns.code_states[code.index()];
        let mut rows = columns.function(code);
        let mut has_changed = false;
        let mut end = self.entries.len();
        for at in (0..self.edits.len()).rev() {
            let edit = self.edits[at];
            if edit.code == code && !edit.is_undone {
                for entry in (edit.first..end).rev() {
                    self.restore(self.entries[entry], &mut rows);
                }
                (*rows.spans, *rows.state) = (edit.spans, edit.state);
                self.edits[at].is_undone = true;
                has_changed = true;
            }
            end = edit.first;
        }
        if has_changed {
            // Epochs never fall: facts of the code that was undone must not be taken for facts of the code before.
            rows.state.inst_epoch = state.inst_epoch + 1;
            rows.state.cfg_epoch = state.cfg_epoch + 1;
            rows.state.row_epoch = state.row_epoch + 1;
            rows.state.def_epoch = state.def_epoch + 1;
        }
        has_changed
    }

    fn restore(&self, saved: Saved, rows: &mut FunctionRows<'_>) {
        match saved {
            Saved::Head(inst, head) => rows.heads[inst.index()] = head,
            Saved::Operands(inst, at) => rows.operands[inst.index()] = self.operands[at as usize],
            Saved::Links(inst, links) => rows.links[inst.index()] = links,
            Saved::Block(block, head) => rows.blocks[block.index()] = head,
            Saved::Label(block, label) => rows.labels[block.index()] = label,
            Saved::VRegFlags(vreg, flags) => rows.vregs[vreg.index()].flags = flags,
            Saved::PoolOperand(at, operand) => rows.pools.operands[at as usize] = operand,
            Saved::Blocks(span) => {
                for (at, &(head, edges, order, label)) in self.blocks[span.range()].iter().enumerate() {
                    rows.blocks[at] = head;
                    rows.edges[at] = edges;
                    rows.orders[at] = order;
                    rows.labels[at] = label;
                }
            }
            Saved::Heads(span) => {
                rows.heads[..span.len()].copy_from_slice(&self.heads[span.range()]);
            }
            Saved::Anchors(first, span) => {
                let to = first as usize..first as usize + span.len();
                rows.pools.anchors[to].copy_from_slice(&self.anchors[span.range()]);
            }
            Saved::Targets(first, span) => {
                let to = first as usize..first as usize + span.len();
                rows.pools.targets[to].copy_from_slice(&self.targets[span.range()]);
            }
        }
    }
}
