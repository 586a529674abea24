//! The other way to change code, for comparison with the editor: changes are recorded, and a commit copies the function once.
//!
//! A function has rows in one of two sets of columns. A phase lists insertions, moves, splits and merges; the commit at its
//! end writes the function into the other set in program order, in runs of rows that nothing changes, and renumbers all
//! ids. The old rows stay as they are, so undoing is free. What a phase records is not visible before the commit, and
//! def-use is built anew after it.
//!
//! One phase either changes the graph or inserts and moves: that is all that the workloads of the bench need.

use ptxopt_components::anchor::{Anchor, AnchorKind, TableKind};
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeSpans, CodeState, CodeText};
use ptxopt_components::form::{FormFlags, Role};
use ptxopt_components::ids::{BlockId, CodeId, FormId, Id, InstId, Maybe, Span};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, Marks, OpcodeWord};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::{VRegHead, VRegName};
use ptxopt_engine::edit::accepts;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::build::{EdgeSource, connect_blocks};
use ptxopt_engine::store::tables::{CodeTables, Pools};
use ptxopt_engine::store::view::{CodeView, FunctionView};
use ptxopt_engine::values::def_use::DefUse;

/// The columns that a commit writes.
#[derive(Clone, Default)]
struct Columns {
    spans: Vec<CodeSpans>,
    states: Vec<CodeState>,
    blocks: Vec<BlockHead>,
    edges: Vec<BlockEdges>,
    orders: Vec<BlockOrder>,
    labels: Vec<BlockLabel>,
    heads: Vec<InstHead>,
    operands: Vec<InstOperands>,
    places: Vec<InstPlace>,
}

/// A row that is to stand before the old row `at`, in `block`. At the end of that, `at` is the row after it.
#[derive(Clone, Copy)]
struct Placed {
    at: u32,
    block: BlockId,
    row: Row,
}

#[derive(Clone, Copy)]
enum Row {
    /// An entry of [`Recorded::rows`].
    New(u32),
    /// A row that moves.
    Old(InstId),
    /// A row that has moved on.
    Gone,
}

/// What a phase has recorded for a function.
#[derive(Default)]
struct Recorded {
    rows: Vec<(InstHead, InstOperands, InstPlace)>,
    placed: Vec<Placed>,
    /// The rows that move, each with its entry of `placed`.
    moved: Vec<(InstId, u32)>,
    splits: Vec<InstId>,
    merges: Vec<BlockId>,
}

/// Tables in two sets of columns.
#[derive(Default)]
pub struct CopyOnce {
    sides: [Columns; 2],
    /// By function: the set that holds it.
    side_of: Vec<u8>,
    texts: Vec<CodeText>,
    vregs: Vec<VRegHead>,
    vreg_names: Vec<VRegName>,
    pools: Pools,
    recorded: Recorded,
    operands: Vec<Operand>,
    new_of: Vec<BlockId>,
    def_uses: Vec<DefUse>,
}

impl CopyOnce {
    /// Takes tables over, which have room, and keeps the memory of lists.
    pub fn load(&mut self, tables: CodeTables) {
        let side = Columns {
            spans: tables.code_spans,
            states: tables.code_states,
            blocks: tables.block_heads,
            edges: tables.block_edges,
            orders: tables.block_orders,
            labels: tables.block_labels,
            heads: tables.inst_heads,
            operands: tables.inst_operands,
            places: tables.inst_places,
        };
        self.side_of.clear();
        self.side_of.resize(side.spans.len(), 0);
        self.def_uses.resize_with(side.spans.len().max(self.def_uses.len()), DefUse::default);
        self.sides = [side.clone(), side];
        self.texts = tables.code_texts;
        self.vregs = tables.vreg_heads;
        self.vreg_names = tables.vreg_names;
        self.pools = tables.pools;
    }

    /// A function as the last commit left it.
    #[must_use]
    pub fn view(&self, code: CodeId) -> FunctionView<'_> {
        let side = &self.sides[usize::from(self.side_of[code.index()])];
        let view = CodeView {
            code_spans: &side.spans,
            code_states: &side.states,
            code_texts: &self.texts,
            block_heads: &side.blocks,
            block_edges: &side.edges,
            block_orders: &side.orders,
            block_labels: &side.labels,
            inst_heads: &side.heads,
            inst_operands: &side.operands,
            inst_places: &side.places,
            inst_links: &[],
            vreg_heads: &self.vregs,
            vreg_names: &self.vreg_names,
            pools: &self.pools,
        };
        view.function(code)
    }

    /// Builds def-use of a function.
    pub fn build_def_use(&mut self, code: CodeId) {
        let mut def_use = std::mem::take(&mut self.def_uses[code.index()]);
        def_use.build(&self.view(code));
        self.def_uses[code.index()] = def_use;
    }

    /// Records an instruction before another one, without a guard.
    ///
    /// # Panics
    /// Where the form does not take the operands.
    pub fn insert_before(
        &mut self,
        forms: &FormTable,
        code: CodeId,
        before: InstId,
        form: FormId,
        operands: &[Operand],
    ) {
        let view = self.view(code);
        let (block, place) = (view.heads[before.index()].block, view.places[before.index()]);
        let (description, slots) = (forms.get(form), forms.slots(form));
        assert_eq!(operands.len(), slots.len(), "the form has another number of operands");
        let is_modelled = description.flags.contains(FormFlags::MODELLED);
        self.operands.clear();
        for (&operand, slot) in operands.iter().zip(slots) {
            assert!(!is_modelled || accepts(slot, operand), "the form does not take {operand:?}");
            let is_written = operand.vreg().is_some() && matches!(slot.role, Role::Def | Role::DefUse);
            let operand = if is_written { operand.as_definition(slot.role == Role::DefUse) } else { operand };
            self.operands.push(operand);
        }
        let head = InstHead {
            opcode: OpcodeWord::new(description.root, false),
            form,
            block,
            marks: description.marks,
            operand_count: operands.len() as u16,
        };
        let operands = InstOperands::store(&self.operands, &mut self.pools.operands);
        let row = Row::New(self.recorded.rows.len() as u32);
        self.recorded.rows.push((head, operands, place));
        self.recorded.placed.push(Placed { at: before.0, block, row });
    }

    /// Records that an instruction moves before another one. The last such record of an instruction holds.
    pub fn move_before(&mut self, code: CodeId, inst: InstId, before: InstId) {
        let block = self.view(code).heads[before.index()].block;
        self.recorded.moved.push((inst, self.recorded.placed.len() as u32));
        self.recorded.placed.push(Placed { at: before.0, block, row: Row::Old(inst) });
    }

    /// Records that an instruction moves to the end of a block.
    pub fn move_to_end(&mut self, code: CodeId, inst: InstId, block: BlockId) {
        let at = self.view(code).blocks[block.index()].insts.end() as u32;
        self.recorded.moved.push((inst, self.recorded.placed.len() as u32));
        self.recorded.placed.push(Placed { at, block, row: Row::Old(inst) });
    }

    /// Records that a block ends after `inst`.
    pub fn split_after(&mut self, inst: InstId) {
        self.recorded.splits.push(inst);
    }

    /// Records that a block joins the one before it, which falls through to it.
    pub fn merge(&mut self, block: BlockId) {
        self.recorded.merges.push(block);
    }

    /// Makes what was recorded for a function true.
    pub fn commit(&mut self, code: CodeId) {
        let Self { sides: [one, other], side_of, pools, recorded, new_of, .. } = self;
        recorded.order();
        let side = &mut side_of[code.index()];
        let (from, to) = if *side == 0 { (&*one, other) } else { (&*other, one) };
        *side = 1 - *side;
        let spans = from.spans[code.index()];
        to.states[code.index()] = from.states[code.index()];
        to.states[code.index()].inst_epoch += 1;
        to.states[code.index()].row_epoch += 1;
        to.states[code.index()].live_insts += recorded.rows.len() as u32;
        let count = copy_rows(from, to, spans, recorded);
        to.spans[code.index()] = spans;
        let placed = &mut to.spans[code.index()];
        placed.room.insts -= count as u32 - placed.insts.count;
        placed.insts.count = count as u32;
        if recorded.splits.is_empty() && recorded.merges.is_empty() {
            copy_blocks(from, to, spans, recorded);
        } else {
            to.states[code.index()].cfg_epoch += 1;
            cut_blocks(from, to, code, recorded, new_of);
            connect(to, code, pools, new_of);
        }
        copy_anchors(from, to, code, pools, recorded, new_of);
        recorded.clear();
    }
}

impl Recorded {
    fn order(&mut self) {
        let Self { placed, moved, .. } = self;
        moved.sort_unstable();
        for pair in moved.windows(2) {
            if pair[0].0 == pair[1].0 {
                placed[pair[0].1 as usize].row = Row::Gone;
            }
        }
        moved.dedup_by_key(|&mut (inst, _)| inst);
        if moved.len() < placed.len() {
            placed.retain(|placed| !matches!(placed.row, Row::Gone));
        }
        if !placed.is_sorted_by_key(|placed| (placed.at, placed.block)) {
            placed.sort_by_key(|placed| (placed.at, placed.block));
        }
        self.splits.sort_unstable();
        self.merges.sort_unstable();
    }

    fn clear(&mut self) {
        let Self { rows, placed, moved, splits, merges } = self;
        rows.clear();
        placed.clear();
        moved.clear();
        splits.clear();
        merges.clear();
    }
}

/// Where old rows come to stand, asked in ascending order.
struct Shift<'a> {
    placed: &'a [Placed],
    moved: &'a [(InstId, u32)],
    placed_before: usize,
    moved_before: usize,
}

impl<'a> Shift<'a> {
    fn of(recorded: &'a Recorded) -> Self {
        Self { placed: &recorded.placed, moved: &recorded.moved, placed_before: 0, moved_before: 0 }
    }

    /// The new id of `row`, or of what comes after it where it has moved away. `goes` says of a row that is placed before
    /// the old row `row` whether it stands in front of the place in question.
    fn new_id(&mut self, row: usize, goes: impl Fn(&Placed) -> bool) -> usize {
        let stands_before =
            |placed: &Placed| (placed.at as usize) < row || (placed.at as usize == row && goes(placed));
        while self.placed.get(self.placed_before).is_some_and(stands_before) {
            self.placed_before += 1;
        }
        while self.moved.get(self.moved_before).is_some_and(|&(inst, _)| inst.index() < row) {
            self.moved_before += 1;
        }
        row + self.placed_before - self.moved_before
    }
}

/// Copies the rows in runs; says how many there are.
fn copy_rows(from: &Columns, to: &mut Columns, spans: CodeSpans, recorded: &Recorded) -> usize {
    let old = spans.insts.range();
    let new = spans.insts.first as usize..spans.insts.end() + spans.room.insts as usize;
    let (old_heads, heads) = (&from.heads[old.clone()], &mut to.heads[new.clone()]);
    let (old_operands, operands) = (&from.operands[old.clone()], &mut to.operands[new.clone()]);
    let (old_places, places) = (&from.places[old], &mut to.places[new]);
    let (mut placed, mut moved) = (recorded.placed.iter().peekable(), recorded.moved.iter().peekable());
    let (mut row, mut out) = (0, 0);
    loop {
        let next_placed = placed.peek().map_or(usize::MAX, |placed| placed.at as usize);
        let next_moved = moved.peek().map_or(usize::MAX, |moved| moved.0.index());
        let stop = next_placed.min(next_moved).min(old_heads.len());
        let count = stop - row;
        heads[out..out + count].copy_from_slice(&old_heads[row..stop]);
        operands[out..out + count].copy_from_slice(&old_operands[row..stop]);
        places[out..out + count].copy_from_slice(&old_places[row..stop]);
        (row, out) = (stop, out + count);
        if next_placed == stop {
            let placed = placed.next().expect("it was peeked at");
            (heads[out], operands[out], places[out]) = match placed.row {
                Row::New(at) => recorded.rows[at as usize],
                Row::Old(inst) => {
                    let head = InstHead { block: placed.block, ..old_heads[inst.index()] };
                    (head, old_operands[inst.index()], old_places[inst.index()])
                }
                Row::Gone => unreachable!("what has moved on is not listed"),
            };
            out += 1;
        } else if next_moved == stop {
            moved.next();
            row += 1;
        } else {
            return out;
        }
    }
}

/// Copies the blocks of a function whose graph is as before.
fn copy_blocks(from: &Columns, to: &mut Columns, spans: CodeSpans, recorded: &Recorded) {
    let range = spans.blocks.range();
    to.edges[range.clone()].copy_from_slice(&from.edges[range.clone()]);
    to.orders[range.clone()].copy_from_slice(&from.orders[range.clone()]);
    to.labels[range.clone()].copy_from_slice(&from.labels[range.clone()]);
    let mut shift = Shift::of(recorded);
    let mut first = 0;
    for (at, row) in range.clone().enumerate() {
        let head = from.blocks[row];
        let end = shift.new_id(head.insts.end(), |placed| placed.block.index() <= at);
        to.blocks[row] = BlockHead { insts: Span::between(first, end), ..head };
        first = end;
    }
}

/// Cuts the blocks of a function as recorded, renumbers them, and gives instructions and branches the new numbers.
fn cut_blocks(
    from: &Columns,
    to: &mut Columns,
    code: CodeId,
    recorded: &Recorded,
    new_of: &mut Vec<BlockId>,
) {
    let spans = from.spans[code.index()];
    let old_first = spans.blocks.first as usize;
    new_of.clear();
    let (mut splits, mut merges) = (recorded.splits.iter().peekable(), recorded.merges.iter().peekable());
    let mut out = old_first;
    for (at, row) in spans.blocks.range().enumerate() {
        let head = from.blocks[row];
        if merges.next_if(|block| block.index() == at).is_some() {
            to.blocks[out - 1].insts.count += head.insts.count;
        } else {
            to.blocks[out] = head;
            to.orders[out] = from.orders[row];
            to.labels[out] = from.labels[row];
            out += 1;
        }
        new_of.push(BlockId::new(out - 1 - old_first));
        while let Some(&split) = splits.next_if(|inst| inst.index() < head.insts.end()) {
            let insts = &mut to.blocks[out - 1].insts;
            let (first, end) = (split.index() + 1, insts.end());
            insts.count = (first - insts.first as usize) as u32;
            to.blocks[out] = BlockHead { insts: Span::between(first, end), ..BlockHead::default() };
            to.orders[out] = BlockOrder::default();
            let offset = from.places[spans.insts.first as usize + first].offset;
            to.labels[out] = BlockLabel { name: Maybe::NONE, offset };
            out += 1;
        }
    }
    let count = out - old_first;
    let placed = &mut to.spans[code.index()];
    placed.room.blocks = placed.room.blocks + placed.blocks.count - count as u32;
    placed.blocks.count = count as u32;
    let moved =
        |block: Maybe<BlockId>| block.get().map_or(Maybe::NONE, |block| Maybe::some(new_of[block.index()]));
    for order in &mut to.orders[old_first..out] {
        order.loop_header = moved(order.loop_header);
        order.loop_around = moved(order.loop_around);
        order.idom = moved(order.idom);
    }
    let insts = placed.insts.range();
    let (heads, operands) = (&mut to.heads[insts.clone()], &mut to.operands[insts]);
    for (block, head) in to.blocks[old_first..out].iter().enumerate() {
        for inst in head.insts.range() {
            let row = &mut heads[inst];
            row.block = BlockId::new(block);
            // No branch has so many operands that they lie in the pool.
            if row.marks.contains(Marks::CONTROL) && operands[inst].pool_span(row.operand_count).is_none() {
                for operand in operands[inst].get_mut(row.operand_count, &mut []) {
                    if let Some(block) = operand.as_block() {
                        *operand = operand.with_block(new_of[block.index()]);
                    }
                }
            }
        }
    }
}

/// Gives branch tables the new numbers, and builds the edges.
fn connect(to: &mut Columns, code: CodeId, pools: &mut Pools, new_of: &[BlockId]) {
    let spans = to.spans[code.index()];
    for table in &pools.tables[spans.tables.range()] {
        if table.kind == TableKind::Branch {
            for target in &mut pools.targets[table.targets.range()] {
                *target = new_of[target.index()];
            }
        }
    }
    let source = EdgeSource {
        heads: &to.heads[spans.insts.range()],
        operands: &to.operands[spans.insts.range()],
        links: &[],
        pool: &pools.operands,
        tables: &pools.tables[spans.tables.range()],
        targets: &pools.targets,
    };
    let blocks = spans.blocks.range();
    connect_blocks(source, &to.blocks[blocks.clone()], &mut to.edges[blocks], &mut pools.edges);
}

/// Appends the anchors to the pool, with new places.
fn copy_anchors(
    from: &Columns,
    to: &mut Columns,
    code: CodeId,
    pools: &mut Pools,
    recorded: &Recorded,
    new_of: &[BlockId],
) {
    let (old, new) = (from.spans[code.index()], to.spans[code.index()]);
    if old.anchors.is_empty() {
        return;
    }
    let first = pools.anchors.len();
    let is_graph_changed = !recorded.splits.is_empty() || !recorded.merges.is_empty();
    let heads = &to.heads[new.insts.range()];
    let (old_blocks, blocks) = (&from.blocks[old.blocks.range()], &to.blocks[new.blocks.range()]);
    let mut shift = Shift::of(recorded);
    let mut moved = recorded.moved.iter().peekable();
    for at in old.anchors.range() {
        let anchor = pools.anchors[at];
        let insts = old_blocks[anchor.block.index()].insts;
        let is_inside = insts.range().contains(&anchor.before.index());
        let row = if is_inside { anchor.before.index() } else { insts.end() };
        while moved.next_if(|&&(inst, _)| inst.index() < row).is_some() {}
        let has_moved = is_inside && moved.peek().is_some_and(|&&(inst, _)| inst.index() == row);
        if has_moved && anchor.kind == AnchorKind::InstPragma {
            continue;
        }
        let id = shift.new_id(row, |placed| placed.block <= anchor.block);
        let placed = if is_graph_changed {
            // The end of a block that another one joins lies before the first row of that.
            let joins = recorded.merges.binary_search(&BlockId(anchor.block.0 + 1)).is_ok();
            if is_inside || (joins && id < heads.len()) {
                Anchor { before: InstId::new(id), block: heads[id].block, ..anchor }
            } else {
                let last = new_of.get(anchor.block.index() + 1).map_or(blocks.len(), |block| block.index());
                let block = BlockId::new(if joins { last } else { last - 1 });
                Anchor { before: Anchor::END, block, ..anchor }
            }
        } else {
            let has_row = blocks[anchor.block.index()].insts.range().contains(&id);
            Anchor { before: if has_row { InstId::new(id) } else { Anchor::END }, ..anchor }
        };
        pools.anchors.push(placed);
    }
    to.spans[code.index()].anchors = Span::between(first, pools.anchors.len());
}
