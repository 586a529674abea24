//! The PTX reader: bytes to rows in one pass.
//!
//! No syntax tree stands between. A whole mnemonic is looked up once as a byte slice; a register of a declared range
//! resolves by prefix and number without hashing; operands go straight into their packed form. Scopes are flattened
//! while reading. What a function's labels mean is settled when its last brace closes, and its blocks are built then.
//!
//! An instruction whose root is unknown, or whose operands fit no signature, is kept whole and pinned: every register
//! that it names is read and written.

mod directive;
mod fresh;
mod instruction;
mod labels;
mod launch;
mod left;
mod literal;
mod operand;
mod ranges;
mod scopes;
mod statement;
mod table;
mod variable;

use super::cursor::{Cursor, at_the_missing_mark};
use super::declaration::RegisterDeclarator;
use super::scan::{FunctionText, Module, Part};
use crate::diagnostics::{Diagnostic, Problem, shown_name};
use crate::forms::FormTable;
use crate::graph::build::connect;
use crate::store::left::LeftReason;
use crate::store::tables::CodeTables;
use labels::{Labels, Place};
use ptxopt_components::anchor::{Anchor, AnchorKind, TableKind};
use ptxopt_components::block::{BlockEdges, BlockHead, BlockLabel, BlockOrder};
use ptxopt_components::code_object::{CodeFlags, CodeSpans, CodeState, CodeText, LaunchLimits, Room};
use ptxopt_components::ids::{BlockId, CodeId, Id, Maybe, Span, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use scopes::{Binding, Scopes};
use std::ops::Range;

/// Edges of a function through branch tables: 32 MB in each direction. Branches times targets grow like the square of
/// the text, and such a function keeps its text.
const EDGES_MAX: usize = 1 << 22;

/// Memory that the reader uses again for each batch.
#[derive(Default)]
pub struct ReaderScratch {
    scopes: Scopes,
    labels: Labels,
    operands: Vec<Operand>,
    results: Vec<VRegId>,
    shape: Vec<u8>,
    nesting: Vec<u8>,
    block_of_label_count: Vec<BlockId>,
    is_table_named: Vec<bool>,
}

/// Row and pool lengths when the function started.
#[derive(Clone, Copy, Default)]
struct First {
    inst: usize,
    block: usize,
    vreg: usize,
    anchor: usize,
    decl: usize,
    table: usize,
    target: usize,
}

/// Reads functions of one module into the tables of a batch.
pub struct Reader<'t, 'a> {
    module: &'a Module<'t>,
    /// Its number in the batch.
    module_number: u32,
    forms: &'a mut FormTable,
    out: &'a mut CodeTables,
    cursor: Cursor<'t>,
    first: First,
    carry: Option<VRegId>,
    /// What its header promises of launches.
    launch: LaunchLimits,
    /// The statement at hand holds something that only copying its text keeps.
    wants_verbatim: bool,
    /// The statement at hand has a branch table among its operands.
    names_branch_table: bool,
    /// Why the function keeps its text, if it does.
    left: Option<LeftReason>,
    scopes: &'a mut Scopes,
    labels: &'a mut Labels,
    operands: &'a mut Vec<Operand>,
    results: &'a mut Vec<VRegId>,
    shape: &'a mut Vec<u8>,
    nesting: &'a mut Vec<u8>,
    block_of_label_count: &'a mut Vec<BlockId>,
    /// By table of the function, as far as it reaches: whether an operand names it.
    is_table_named: &'a mut Vec<bool>,
}

/// Reads `functions` of `module` into `out`, which is cleared first.
///
/// # Errors
/// The first thing in their text that no assembler would take.
pub fn read(
    module: &Module<'_>,
    functions: &[FunctionText],
    forms: &mut FormTable,
    scratch: &mut ReaderScratch,
    out: &mut CodeTables,
) -> Result<(), Diagnostic> {
    read_parts(&[Part { module, functions }], forms, scratch, out)
}

/// Reads functions of several modules into `out`, which is cleared first. Each comes to be what it would be alone, but that
/// its ids are others.
///
/// # Errors
/// The first thing in their text that no assembler would take.
pub fn read_parts(
    parts: &[Part<'_>],
    forms: &mut FormTable,
    scratch: &mut ReaderScratch,
    out: &mut CodeTables,
) -> Result<(), Diagnostic> {
    out.clear();
    scratch.scopes.start_batch();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            out.pools.names.start_next_module();
        }
        read_part(part, number as u32, forms, scratch, out)?;
    }
    Ok(())
}

fn read_part(
    &Part { module, functions }: &Part<'_>,
    module_number: u32,
    forms: &mut FormTable,
    scratch: &mut ReaderScratch,
    out: &mut CodeTables,
) -> Result<(), Diagnostic> {
    let ReaderScratch {
        scopes,
        labels,
        operands,
        results,
        shape,
        nesting,
        block_of_label_count,
        is_table_named,
    } = scratch;
    nesting.clear();
    let cursor = Cursor::new(module.text, 0);
    let first = First::default();
    let mut reader = Reader {
        module,
        module_number,
        forms,
        out,
        cursor,
        first,
        carry: None,
        launch: LaunchLimits::default(),
        wants_verbatim: false,
        names_branch_table: false,
        left: None,
        scopes,
        labels,
        operands,
        results,
        shape,
        nesting,
        block_of_label_count,
        is_table_named,
    };
    functions.iter().try_for_each(|function| {
        let from = function.header.first as usize;
        reader.function(function).map_err(|error| at_the_missing_mark(module.text, from, error))
    })
}

impl Reader<'_, '_> {
    fn function(&mut self, function: &FunctionText) -> Result<(), Diagnostic> {
        self.first = First {
            inst: self.out.inst_heads.len(),
            block: self.out.block_heads.len(),
            vreg: self.out.vreg_heads.len(),
            anchor: self.out.pools.anchors.len(),
            decl: self.out.pools.decls.len(),
            table: self.out.pools.tables.len(),
            target: self.out.pools.targets.len(),
        };
        self.carry = None;
        self.launch = LaunchLimits::default();
        self.left = None;
        self.labels.clear();
        self.is_table_named.clear();
        self.scopes.start_function();
        self.cursor.pos = function.header.first as usize;
        // Of the module's registers, and of the formals.
        self.open_scope();
        self.open_scope();
        self.cursor.pos = function.header.first as usize;
        self.formals(function)?;
        self.cursor.pos = function.body.first as usize;
        self.body()?;
        if let Some((name, offset)) = self.labels.unresolved() {
            let text = self.out.pools.names.bytes(self.cursor.text, name);
            return Err(Diagnostic::new(
                offset as usize,
                text.len(),
                Problem::UndefinedLabel(shown_name(text)),
            ));
        }
        self.finish(function);
        Ok(())
    }

    /// The parameter lists of the header: the first before the name holds results, the one after it arguments.
    fn formals(&mut self, function: &FunctionText) -> Result<(), Diagnostic> {
        let end = function.header.end();
        let mut name_seen = false;
        let mut depth = 0usize;
        while self.cursor.pos < end {
            self.cursor.skip_blank()?;
            let first = self.cursor.pos;
            match self.cursor.peek() {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b'"' => {
                    self.cursor.skip_string()?;
                    continue;
                }
                b'.' => {
                    self.cursor.pos += 1;
                    let word = self.cursor.name();
                    let directive = &self.cursor.text[word..self.cursor.pos];
                    if depth == 0 && function.is_entry {
                        self.note_launch(directive)?;
                    } else if depth > 0 && directive == b"reg" {
                        let role = if name_seen {
                            VRegFlags::INPUT | VRegFlags::INITIALISED
                        } else {
                            VRegFlags::OUTPUT
                        };
                        self.register_formal(VRegFlags::FORMAL | role)?;
                    }
                    continue;
                }
                byte if Cursor::is_digit(byte) => {
                    self.cursor.skip_integer();
                    continue;
                }
                byte if Cursor::starts_name(byte) => {
                    self.cursor.name();
                    name_seen |= first == function.name.first as usize;
                    if depth > 0 {
                        let text = self.cursor.text;
                        let name = self.out.pools.names.intern(text, first, self.cursor.pos);
                        if !self.scopes.is_bound_here(name) {
                            let end = self.cursor.pos;
                            self.must_rename(name, &text[first..end]);
                            self.note_numbered(name, first, end);
                            self.note_single(first, end);
                            self.scopes.bind(name, Binding::Symbol(name));
                        }
                    }
                    continue;
                }
                _ => {}
            }
            self.cursor.pos += 1;
        }
        self.scopes.fresh.has_noted_all();
        Ok(())
    }

    /// `.reg .u32 name` in a header, from after `.reg`.
    fn register_formal(&mut self, flags: VRegFlags) -> Result<(), Diagnostic> {
        let ty = self.cursor.register_type()?;
        self.cursor.skip_blank()?;
        if !Cursor::starts_name(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a register name"));
        }
        let first = self.cursor.name();
        let end = self.cursor.pos;
        self.declare_single(RegisterDeclarator { first, end, count: None, ty }, flags)?;
        // A result must have a row even if the body never names it: it is live at every return.
        self.register_of_single((self.scopes.singles.len() - 1) as u32)?;
        Ok(())
    }

    /// Settles labels, blocks and edges, and appends the function's row.
    fn finish(&mut self, function: &FunctionText) {
        self.forget_unnamed_tables();
        self.number_blocks();
        self.place_in_blocks();
        self.resolve_references();
        self.place_block_labels();
        self.place_pragmas();
        let out = &mut *self.out;
        let spans = CodeSpans {
            insts: Span::between(self.first.inst, out.inst_heads.len()),
            blocks: Span::between(self.first.block, out.block_heads.len()),
            vregs: Span::between(self.first.vreg, out.vreg_heads.len()),
            anchors: Span::between(self.first.anchor, out.pools.anchors.len()),
            decls: Span::between(self.first.decl, out.pools.decls.len()),
            tables: Span::between(self.first.table, out.pools.tables.len()),
            room: Room::default(),
        };
        let blocks_in = spans.blocks.count;
        let insts_in = spans.insts.count;
        self.leave_if(self.names_meet());
        let spans = if self.edge_count() > EDGES_MAX { self.without_rows(spans) } else { spans };
        let out = &mut *self.out;
        connect(out, &spans);
        let mut flags = CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST;
        flags.set(CodeFlags::ENTRY, function.is_entry);
        flags.set(CodeFlags::LEFT, self.left.is_some());
        flags |= directive::flags_of_pragmas(self.cursor.text, &out.pools.anchors[self.first.anchor..]);
        out.left.extend(self.left.map(|reason| (CodeId::new(out.code_spans.len()), reason)));
        out.code_spans.push(spans);
        let live_insts = spans.insts.count;
        out.code_states.push(CodeState {
            flags,
            inst_epoch: CodeState::FIRST_EPOCH,
            cfg_epoch: CodeState::FIRST_EPOCH,
            row_epoch: CodeState::FIRST_EPOCH,
            def_epoch: CodeState::FIRST_EPOCH,
            live_insts,
            progress: 0,
        });
        out.code_texts.push(CodeText {
            header: function.header,
            body: function.body,
            name: function.name,
            insts_in,
            blocks_in,
            vregs_in: spans.vregs.count,
            module: self.module_number,
            sm: self.module.sm,
            launch: self.launch,
        });
    }

    /// Edges that lead out of branches through tables, over all branches.
    fn edge_count(&self) -> usize {
        let out = &self.out;
        let tables = &out.pools.tables[self.first.table..];
        if tables.is_empty() {
            return 0;
        }
        let heads = &out.inst_heads[self.first.inst..];
        let operands = &out.inst_operands[self.first.inst..];
        let controls = heads.iter().zip(operands).filter(|(head, _)| head.marks.contains(Marks::CONTROL));
        let named = controls.flat_map(|(head, row)| row.get(head.operand_count, &out.pools.operands));
        named.filter_map(|operand| operand.as_table()).map(|table| tables[table.index()].targets.len()).sum()
    }

    /// Takes the rows of the function back but for an empty entry: it keeps its text, and no table has to hold them.
    #[cold]
    fn without_rows(&mut self, spans: CodeSpans) -> CodeSpans {
        self.leave(LeftReason::TooManyEdges);
        let (out, first) = (&mut *self.out, self.first);
        out.inst_heads.truncate(first.inst);
        out.inst_operands.truncate(first.inst);
        out.inst_places.truncate(first.inst);
        out.block_heads.truncate(first.block + 1);
        out.block_edges.truncate(first.block + 1);
        out.block_orders.truncate(first.block + 1);
        out.block_labels.truncate(first.block + 1);
        out.block_heads[first.block] = BlockHead::default();
        out.vreg_heads.truncate(first.vreg);
        out.vreg_names.truncate(first.vreg);
        out.pools.anchors.truncate(first.anchor);
        out.pools.decls.truncate(first.decl);
        out.pools.tables.truncate(first.table);
        let emptied = |span: Span| Span { count: 0, ..span };
        CodeSpans {
            insts: emptied(spans.insts),
            blocks: Span { count: 1, ..spans.blocks },
            vregs: emptied(spans.vregs),
            anchors: emptied(spans.anchors),
            decls: emptied(spans.decls),
            tables: emptied(spans.tables),
            room: Room::default(),
        }
    }

    /// A branch table that no instruction names is not written, so what only it names is no target.
    fn forget_unnamed_tables(&mut self) {
        let is_named = |index: usize| self.is_table_named.get(index).copied().unwrap_or(false);
        let tables = self.out.pools.tables[self.first.table..].iter().enumerate();
        let forgotten: Vec<Span> = tables
            .filter(|&(index, table)| table.kind == TableKind::Branch && !is_named(index))
            .map(|(_, table)| table.targets)
            .collect();
        if !forgotten.is_empty() {
            self.labels.forget_targets(|target| {
                let next = forgotten.partition_point(|span| span.first <= target);
                next > 0 && (target as usize) < forgotten[next - 1].end()
            });
        }
    }

    /// Makes the block rows and places instructions in them: the entry, one block for each label that a branch or table
    /// names, and one after each control-flow instruction that is not the last before such a label. A label right before
    /// another leads an empty block, so that a block that was emptied reads back as what it was.
    ///
    /// Where control runs off the end of the function past a guard, an empty block stands there, so that each way on from a
    /// guarded branch, return or trap leads to a block.
    ///
    /// The entry has no predecessor: where its first instruction is a target, an empty entry stands before it.
    fn number_blocks(&mut self) {
        let out = &mut *self.out;
        let first_block = self.first.block;
        let push = |out: &mut CodeTables, inst: usize, label: BlockLabel| {
            out.block_heads.push(BlockHead { insts: Span::between(inst, inst), ..BlockHead::default() });
            out.block_edges.push(BlockEdges::default());
            out.block_orders.push(BlockOrder::default());
            out.block_labels.push(label);
            BlockId::new(out.block_heads.len() - 1 - first_block)
        };
        let unlabelled = |offset| BlockLabel { name: Maybe::NONE, offset };
        let offset = out.inst_places.get(self.first.inst).map_or(0, |place| place.offset);
        let mut current = push(out, 0, unlabelled(offset));
        self.block_of_label_count.clear();
        self.block_of_label_count.push(current);
        let mut labels = self.labels.all.iter().peekable();
        let (mut is_after_control, mut is_after_guard) = (false, false);
        let inst_count = out.inst_heads.len() - self.first.inst;
        for inst in 0..=inst_count {
            while let Some(label) = labels.next_if(|label| label.inst as usize == inst) {
                let has_control = |run: Range<usize>| {
                    let mut heads = out.inst_heads[self.first.inst..][run].iter();
                    heads.any(|head| head.marks.contains(Marks::CONTROL))
                };
                if label.begins_block(has_control) {
                    let block = BlockLabel { name: Maybe::some(label.written), offset: label.offset };
                    current = push(out, inst, block);
                    (is_after_control, is_after_guard) = (false, false);
                }
                self.block_of_label_count.push(current);
            }
            let Some(&head) = out.inst_heads.get(self.first.inst + inst) else { break };
            if is_after_control {
                let offset = out.inst_places[self.first.inst + inst].offset;
                current = push(out, inst, unlabelled(offset));
            }
            is_after_control = head.marks.contains(Marks::CONTROL);
            is_after_guard = is_after_control && head.opcode.is_guarded();
            out.block_heads[first_block + current.index()].insts.count += 1;
        }
        if is_after_guard {
            let offset = out.inst_places.last().map_or(0, |place| place.offset);
            push(out, inst_count, unlabelled(offset));
        }
    }

    /// Replaces "labels seen so far" by the block, on anchors and instructions.
    fn place_in_blocks(&mut self) {
        let out = &mut *self.out;
        let heads = &mut out.inst_heads[self.first.inst..];
        for (at, block) in out.block_heads[self.first.block..].iter().enumerate() {
            for head in &mut heads[block.insts.range()] {
                head.block = BlockId::new(at);
            }
        }
        let labels = &out.block_labels[self.first.block..];
        let block_of = |inst: usize| heads.get(inst).map(|head| head.block);
        for anchor in &mut out.pools.anchors[self.first.anchor..] {
            let before = anchor.before.index();
            let of_label = self.block_of_label_count[anchor.block.index()];
            let current =
                before.checked_sub(1).and_then(block_of).map_or(of_label, |last| last.max(of_label));
            // Control flow has ended the block where the next one has no label; a label may still come after the anchor.
            let next = block_of(before).filter(|next| labels[next.index()].name.is_none());
            anchor.block = next.map_or(current, |next| next.max(current));
        }
    }

    fn resolve_references(&mut self) {
        let out = &mut *self.out;
        for reference in &self.labels.resolved {
            // The count just after the label is the first at which its own block is current.
            let block = self.block_of_label_count[reference.label as usize + 1];
            match reference.place {
                Place::Operand { inst, slot } => {
                    let row = self.first.inst + inst as usize;
                    let count = out.inst_heads[row].operand_count;
                    let operands = out.inst_operands[row].get_mut(count, &mut out.pools.operands);
                    operands[slot as usize] = operands[slot as usize].with_block(block);
                }
                Place::Table { target } => out.pools.targets[target as usize] = block,
            }
        }
    }

    /// Moves the anchors of labels that are written as their block's label into that block. The writer passes them over
    /// there; where the block is merged or dies, the label that a debug section names is still written.
    fn place_block_labels(&mut self) {
        let (text, first) = (self.cursor.text, self.first);
        let out = &mut *self.out;
        let (names, labels) = (&out.pools.names, &out.block_labels[first.block..]);
        let has_label = |block: BlockId, label: Span| {
            let name = labels.get(block.index()).and_then(|label| label.name.get());
            name.is_some_and(|name| names.bytes(text, name) == &text[label.range()])
        };
        for anchor in &mut out.pools.anchors[first.anchor..] {
            // The anchor was pushed before its label was counted, so it lies in the block before.
            let own = BlockId(anchor.block.0 + 1);
            if anchor.kind == AnchorKind::DebugLabel && has_label(own, anchor.text) {
                anchor.block = own;
            }
        }
    }

    /// Puts pragmas of a block before what else is in it. One that speaks of nothing goes: of an instruction past a label, to which
    /// others come, too; of a block that would begin after a branch, and has no instruction.
    fn place_pragmas(&mut self) {
        let out = &mut *self.out;
        let heads = &out.inst_heads[self.first.inst..];
        let blocks = &out.block_heads[self.first.block..];
        let anchors = &mut out.pools.anchors;
        let ends_in_control = |block: BlockId| {
            let last = blocks[block.index()].insts.range().next_back();
            last.is_some_and(|last| heads[last].marks.contains(Marks::CONTROL))
        };
        let speaks = |anchor: &Anchor| {
            let is_at_end = heads.get(anchor.before.index()).is_none_or(|head| head.block != anchor.block);
            match anchor.kind {
                AnchorKind::InstPragma => !is_at_end,
                AnchorKind::BlockPragma => !(is_at_end && ends_in_control(anchor.block)),
                _ => true,
            }
        };
        let mut kept = self.first.anchor;
        for at in self.first.anchor..anchors.len() {
            if speaks(&anchors[at]) {
                anchors[kept] = anchors[at];
                kept += 1;
            }
        }
        anchors.truncate(kept);
        let place = |anchor: &Anchor| (anchor.block, !anchor.is_of_block());
        let anchors = &mut anchors[self.first.anchor..];
        if !anchors.is_sorted_by_key(place) {
            anchors.sort_by_key(place);
        }
    }
}

#[cfg(test)]
mod corner_tests;
#[cfg(test)]
mod tests;
