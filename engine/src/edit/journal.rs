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
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, Span};
use ptxopt_components::instruction::{InstHead, InstLinks, InstOperands};
use ptxopt_components::operand::Operand;

/// A row or a run of rows as they were. Rows are relative to their function, and pool entries to the pool.
#[derive(Clone, Copy, Debug)]
enum Saved {
    Head(InstId, InstHead),
    Operands(InstId, InstOperands),
    Links(InstId, InstLinks),
    Block(BlockId, BlockHead),
    Label(BlockId, BlockLabel),
    /// In the operand pool.
    PoolOperand(u32, Operand),
    /// Where the function lies and what state it is in: an entry of [`Journal::functions`].
    Function(u32),
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

/// What the running step has replaced.
#[derive(Resource, Debug, Default)]
pub struct Journal {
    entries: Vec<(CodeId, Saved)>,
    functions: Vec<(CodeSpans, CodeState)>,
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
        let Self { entries, functions, blocks, heads, anchors, targets } = self;
        entries.clear();
        functions.clear();
        blocks.clear();
        heads.clear();
        anchors.clear();
        targets.clear();
    }

    /// Whether the step has changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The functions that the step has changed, each perhaps several times.
    pub fn changed(&self) -> impl Iterator<Item = CodeId> + '_ {
        let is_start = |entry: &&(CodeId, Saved)| matches!(entry.1, Saved::Function(_));
        self.entries.iter().filter(is_start).map(|&(code, _)| code)
    }

    pub(super) fn save_function(&mut self, rows: &FunctionRows<'_>) {
        self.entries.push((rows.code, Saved::Function(self.functions.len() as u32)));
        self.functions.push((*rows.spans, *rows.state));
    }

    #[inline]
    pub(super) fn save_head(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push((rows.code, Saved::Head(inst, rows.heads[inst.index()])));
    }

    /// Saves the operands of an instruction, those in the pool too.
    pub(super) fn save_operands(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push((rows.code, Saved::Operands(inst, rows.operands[inst.index()])));
        let count = rows.heads[inst.index()].operand_count;
        if let Some(span) = rows.operands[inst.index()].pool_span(count) {
            let pooled = span.range().map(|at| Saved::PoolOperand(at as u32, rows.pools.operands[at]));
            self.entries.extend(pooled.map(|saved| (rows.code, saved)));
        }
    }

    #[inline]
    pub(super) fn save_links(&mut self, rows: &FunctionRows<'_>, inst: InstId) {
        self.entries.push((rows.code, Saved::Links(inst, rows.links[inst.index()])));
    }

    #[inline]
    pub(super) fn save_block(&mut self, rows: &FunctionRows<'_>, block: BlockId) {
        self.entries.push((rows.code, Saved::Block(block, rows.blocks[block.index()])));
    }

    pub(super) fn save_label(&mut self, rows: &FunctionRows<'_>, block: BlockId) {
        self.entries.push((rows.code, Saved::Label(block, rows.labels[block.index()])));
    }

    /// Saves every block, head, anchor and table target: before the graph changes and blocks are given new ids.
    pub(super) fn save_numbering(&mut self, rows: &FunctionRows<'_>) {
        let (code, spans) = (rows.code, *rows.spans);
        let columns = (0..spans.blocks.len())
            .map(|at| (rows.blocks[at], rows.edges[at], rows.orders[at], rows.labels[at]));
        let blocks = keep(&mut self.blocks, columns);
        let heads = keep(&mut self.heads, rows.heads[..spans.insts.len()].iter().copied());
        let anchors = keep(&mut self.anchors, rows.pools.anchors[spans.anchors.range()].iter().copied());
        self.entries.extend([
            (code, Saved::Blocks(blocks)),
            (code, Saved::Heads(heads)),
            (code, Saved::Anchors(spans.anchors.first, anchors)),
        ]);
        for table in &rows.pools.tables[spans.tables.range()] {
            let targets = keep(&mut self.targets, rows.pools.targets[table.targets.range()].iter().copied());
            self.entries.push((code, Saved::Targets(table.targets.first, targets)));
        }
    }

    /// Saves an anchor.
    pub(super) fn save_anchor(&mut self, rows: &FunctionRows<'_>, at: usize) {
        let saved = keep(&mut self.anchors, [rows.pools.anchors[at]]);
        self.entries.push((rows.code, Saved::Anchors(at as u32, saved)));
    }

    /// Undoes what the step did to a function; says whether it did anything. Facts about the function are stale then.
    pub fn undo(&mut self, code: CodeId, columns: CodeColumns<'_>) -> bool {
        let state = columns.code_states[code.index()];
        let mut rows = columns.function(code);
        let mut has_changed = false;
        for at in (0..self.entries.len()).rev() {
            let (changed, saved) = self.entries[at];
            if changed == code {
                self.restore(saved, &mut rows);
                has_changed = true;
            }
        }
        if has_changed {
            self.entries.retain(|&(changed, _)| changed != code);
            // Epochs never fall: facts of the code that was undone must not be taken for facts of the code before.
            rows.state.inst_epoch = state.inst_epoch + 1;
            rows.state.cfg_epoch = state.cfg_epoch + 1;
            rows.state.row_epoch = state.row_epoch + 1;
        }
        has_changed
    }

    fn restore(&self, saved: Saved, rows: &mut FunctionRows<'_>) {
        match saved {
            Saved::Head(inst, head) => rows.heads[inst.index()] = head,
            Saved::Operands(inst, operands) => rows.operands[inst.index()] = operands,
            Saved::Links(inst, links) => rows.links[inst.index()] = links,
            Saved::Block(block, head) => rows.blocks[block.index()] = head,
            Saved::Label(block, label) => rows.labels[block.index()] = label,
            Saved::PoolOperand(at, operand) => rows.pools.operands[at as usize] = operand,
            Saved::Function(at) => {
                let (spans, state) = self.functions[at as usize];
                (*rows.spans, *rows.state) = (spans, state);
            }
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
