//! The PTX writer: rows to text.
//!
//! The text outside function bodies is the module's own, byte for byte. A body is written from its rows: variables
//! and tables first, without `.local` variables whose accesses were all replaced, then registers (only those that are
//! used, sorted, so that equal rows give equal bytes), then blocks with their labels, instructions and anchors.

use super::scan::Module;
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ahash::{AHashMap, AHashSet};
use ptxopt_components::anchor::{Anchor, AnchorKind, Decl, TableKind};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{BlockId, Id, InstId, LiteralId, NameId, Span, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::special_registers::SPECIAL_REGISTERS;
use ptxopt_components::types::{PackedType, StateSpace};
use ptxopt_components::vreg::{VRegFlags, VRegName};

/// Memory that the writer uses again for each function.
#[derive(Default)]
pub struct WriterScratch {
    code: Vec<u8>,
    /// By register of the function: how the text spells it.
    spelled: Vec<Spelled>,
    /// By table of the function: whether it was written.
    is_written: Vec<bool>,
}

/// How a register is written: the bytes of its name, and behind the places for them how many there are. 0 where the text has not named
/// it, and [`LONG`] where they are too many.
type Spelled = [u8; SPELLED_MAX + 1];

/// Bytes of a register's name that are kept for the next time.
const SPELLED_MAX: usize = 15;

/// In the place of a number of bytes: there are more.
const LONG: u8 = u8::MAX;

/// Puts a module together: its own text, with each function replaced. `functions[i]` is the text of
/// `module.functions[i]`, header included. With `keep_rolled` a pragma at module level asks the assembler to unroll no loop
/// (PTX ISA, "Pragma Strings: nounroll"); a module that has one gets no other.
pub fn assemble<'a>(
    module: &Module<'_>,
    functions: impl Iterator<Item = &'a [u8]>,
    keep_rolled: bool,
    out: &mut Vec<u8>,
) {
    let mut copied = 0;
    if keep_rolled && !module.is_kept_rolled {
        out.extend_from_slice(&module.text[..module.head_end]);
        out.extend_from_slice(b"\n.pragma \"nounroll\";");
        copied = module.head_end;
    }
    for (place, text) in module.functions.iter().zip(functions) {
        out.extend_from_slice(&module.text[copied..place.header.first as usize]);
        out.extend_from_slice(text);
        copied = place.body.end();
    }
    out.extend_from_slice(&module.text[copied..]);
}

/// Appends the text of a function, header included, to `out`; `text` is its module's text.
pub fn write_function(
    function: &FunctionView<'_>,
    forms: &FormTable,
    text: &[u8],
    scratch: &mut WriterScratch,
    out: &mut Vec<u8>,
) {
    let place = function.text;
    if function.state.flags.contains(CodeFlags::LEFT) {
        out.extend_from_slice(&text[place.header.first as usize..place.body.end()]);
        return;
    }
    let WriterScratch { code, spelled, is_written } = scratch;
    is_written.clear();
    is_written.resize(function.tables.len(), false);
    code.clear();
    spelled.clear();
    spelled.resize(function.vregs.len(), Spelled::default());
    let mut writer =
        Writer { function, forms, text, spelled, is_written, last: (None, None), labelled: None, out: code };
    writer.code();
    out.extend_from_slice(text[place.header.range()].trim_ascii_end());
    out.extend_from_slice(b"\n{\n");
    write_variables(function, text, out);
    write_registers(function, text, spelled, out);
    out.extend_from_slice(code);
    out.push(b'}');
}

/// Whether a function declares `.local` variables that nothing names, which only takes memory. Where
/// [`CodeFlags::DROPS_LOCALS`] says so, they are not declared again.
#[must_use]
pub fn has_unnamed_locals(function: &FunctionView<'_>) -> bool {
    let is_unnamed = |named: AHashSet<NameId>| {
        function.decls.iter().any(|decl| may_go(decl) && !named.contains(&decl.name))
    };
    function.decls.iter().any(may_go) && names_in_operands(function).is_some_and(is_unnamed)
}

/// Whether a variable need not be declared where the operands of the function do not name it.
fn may_go(decl: &Decl) -> bool {
    decl.space == StateSpace::Local && !decl.is_named_outside
}

/// The names in the operands of a function; nothing where an operand is text, which may have any name in it.
fn names_in_operands(function: &FunctionView<'_>) -> Option<AHashSet<NameId>> {
    let mut names = AHashSet::new();
    for operand in function.rows().flat_map(|(.., operands)| operands) {
        match operand.kind() {
            OperandKind::Symbol(name) => {
                names.insert(name);
            }
            OperandKind::Text(_) => return None,
            _ => {}
        }
    }
    Some(names)
}

fn write_variables(function: &FunctionView<'_>, text: &[u8], out: &mut Vec<u8>) {
    let names = &function.pools.names;
    let drops = function.state.flags.contains(CodeFlags::DROPS_LOCALS);
    let named = drops.then(|| names_in_operands(function)).flatten();
    let is_declared =
        |decl: &&Decl| !may_go(decl) || named.as_ref().is_none_or(|named| named.contains(&decl.name));
    for decl in function.decls.iter().filter(is_declared) {
        out.push(b'\t');
        out.extend_from_slice(text[decl.directives.range()].trim_ascii_end());
        out.push(b' ');
        out.extend_from_slice(names.bytes(text, decl.name));
        out.extend_from_slice(text[decl.rest.range()].trim_ascii_end());
        out.extend_from_slice(b";\n");
    }
    for table in function.tables.iter().filter(|table| table.kind != TableKind::Branch) {
        out.push(b'\t');
        out.extend_from_slice(names.bytes(text, table.name));
        out.extend_from_slice(b": ");
        out.extend_from_slice(text[table.text.range()].trim_ascii_end());
        out.extend_from_slice(b";\n");
    }
}

/// Ranges that are compared one after the other. Where there are more, hashing a prefix is cheaper.
const COMPARED_MAX: usize = 16;

/// Declares the registers that the text names: ranges by prefix, then single names; both sorted by type and bytes.
fn write_registers(function: &FunctionView<'_>, text: &[u8], spelled: &[Spelled], out: &mut Vec<u8>) {
    let mut ranges: Vec<(PackedType, VRegName)> = Vec::new();
    let mut range_of_prefix: AHashMap<NameId, usize> = AHashMap::new();
    let mut singles: Vec<(PackedType, VRegName)> = Vec::new();
    let is_named = |vreg: &VRegId| spelled[vreg.index()][SPELLED_MAX] > 0;
    for vreg in function.vreg_ids().filter(is_named) {
        let (head, name) = (function.vregs[vreg.index()], function.vreg_names[vreg.index()]);
        if head.flags.intersects(VRegFlags::FORMAL | VRegFlags::CARRY) {
            continue;
        }
        if name.number == VRegName::WHOLE {
            singles.push((head.ty, name));
        } else {
            let known = match ranges.len() {
                ..=COMPARED_MAX => ranges.iter().position(|(_, range)| range.prefix == name.prefix),
                _ => range_of_prefix.get(&name.prefix).copied(),
            };
            let range = known.unwrap_or_else(|| {
                range_of_prefix.insert(name.prefix, ranges.len());
                ranges.push((head.ty, name));
                ranges.len() - 1
            });
            let range = &mut ranges[range].1;
            range.number = range.number.max(name.number);
        }
    }
    let names = &function.pools.names;
    let key =
        |(ty, name): &(PackedType, VRegName)| (ty.element() as u8, ty.lanes, names.bytes(text, name.prefix));
    ranges.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    singles.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    for (ty, name) in ranges.iter().chain(&singles) {
        out.extend_from_slice(b"\t.reg ");
        if ty.lanes > 1 {
            out.extend_from_slice(b".v");
            number(i64::from(ty.lanes), out);
            out.push(b' ');
        }
        out.push(b'.');
        out.extend_from_slice(ty.element().name().as_bytes());
        out.push(b' ');
        out.extend_from_slice(names.bytes(text, name.prefix));
        if name.number != VRegName::WHOLE {
            out.push(b'<');
            number(i64::from(name.number) + 1, out);
            out.push(b'>');
        }
        out.extend_from_slice(b";\n");
    }
}

#[inline]
fn number(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn hex(bits: u64, digits: usize, out: &mut Vec<u8>) {
    out.extend((0..digits).rev().map(|digit| b"0123456789ABCDEF"[(bits >> (4 * digit) & 0xf) as usize]));
}

struct Writer<'a> {
    function: &'a FunctionView<'a>,
    forms: &'a FormTable,
    text: &'a [u8],
    spelled: &'a mut [Spelled],
    is_written: &'a mut [bool],
    /// The block before the one that is written, and the control-flow instruction that was written last.
    last: (Option<BlockId>, Option<InstId>),
    /// The block whose label was written last.
    labelled: Option<BlockId>,
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn code(&mut self) {
        let mut anchors = self.function.anchors.iter().peekable();
        let is_live = |block: &BlockId| !self.function.blocks[block.index()].flags.contains(BlockFlags::DEAD);
        let mut before = None;
        for block in self.function.block_ids() {
            if is_live(&block) {
                self.last.0 = before.replace(block);
            }
            let has_pragma =
                anchors.peek().is_some_and(|anchor| anchor.block <= block && anchor.is_of_block());
            self.label(block, has_pragma);
            if anchors.peek().is_none_or(|anchor| anchor.block > block) {
                self.function.insts_of(block).for_each(|inst| self.instruction(inst));
                continue;
            }
            let begins = has_pragma && self.begins(block);
            while let Some(anchor) = anchors.next_if(|a| a.block <= block && a.is_of_block()) {
                if begins {
                    self.anchor(anchor);
                }
            }
            // Tombstones too: an anchor may stand before one.
            for inst in self.function.all_rows_of(block) {
                while let Some(anchor) = anchors.next_if(|a| a.block <= block && a.before == inst) {
                    self.anchor(anchor);
                }
                if self.function.heads[inst.index()].is_live() {
                    self.instruction(inst);
                }
            }
            while let Some(anchor) = anchors.next_if(|a| a.block <= block) {
                self.anchor(anchor);
            }
        }
    }

    /// Whether a reader sees a block begin here: at the entry, at a label, or at an instruction that follows a branch. Elsewhere a pragma
    /// would speak of another block.
    fn begins(&self, block: BlockId) -> bool {
        let is_after_branch = |before| self.function.control_of(before).is_some();
        let has_insts = || self.function.insts_of(block).next().is_some();
        let is_labelled = self.labelled == Some(block);
        is_labelled || self.last.0.is_none_or(|before| is_after_branch(before) && has_insts())
    }

    /// Writes the label of a block that something names, or that has a pragma.
    fn label(&mut self, block: BlockId, has_pragma: bool) {
        if let Some(name) = self.function.labels[block.index()].name.get()
            && (has_pragma || self.is_target(block))
        {
            self.out.extend_from_slice(self.function.pools.names.bytes(self.text, name));
            self.out.extend_from_slice(b":\n");
            self.labelled = Some(block);
        }
    }

    /// Whether anything names the block that is written next: a label that nothing names would not be read back. Phis name
    /// theirs.
    fn is_target(&self, block: BlockId) -> bool {
        let function = self.function;
        let (before, last) = self.last;
        let names = |operand: &Operand| {
            let table = operand.as_table().map(|table| function.tables[table.index()]);
            let targets = table.filter(|table| table.kind == TableKind::Branch).map(|table| table.targets);
            operand.as_block() == Some(block)
                || targets.is_some_and(|span| function.pools.targets[span.range()].contains(&block))
        };
        function.state.flags.contains(CodeFlags::SSA)
            || function.preds(block).iter().any(|&pred| Some(pred) != before)
            || last.is_some_and(|last| function.operands_of(last).iter().any(names))
    }

    fn anchor(&mut self, anchor: &Anchor) {
        let is_deleted =
            |inst: InstId| self.function.heads.get(inst.index()).is_some_and(|head| !head.is_live());
        if anchor.kind == AnchorKind::InstPragma && is_deleted(anchor.before) {
            return;
        }
        if anchor.kind == AnchorKind::DebugLabel {
            // As the label of its block it was written already.
            let is_labelled = self.labelled == Some(anchor.block);
            let own = self.function.labels[anchor.block.index()].name.get().filter(|_| is_labelled);
            let names = &self.function.pools.names;
            if own.is_some_and(|own| names.bytes(self.text, own) == &self.text[anchor.text.range()]) {
                return;
            }
        } else {
            self.out.push(b'\t');
        }
        self.out.extend_from_slice(&self.text[anchor.text.range()]);
        self.out.extend_from_slice(if anchor.kind == AnchorKind::DebugLabel { b":\n" } else { b"\n" });
    }

    /// A branch table stands right before the first instruction that names it.
    fn branch_tables(&mut self, operands: &[Operand]) {
        for id in operands.iter().filter_map(|operand| operand.as_table()) {
            let table = self.function.tables[id.index()];
            if table.kind != TableKind::Branch || std::mem::replace(&mut self.is_written[id.index()], true) {
                continue;
            }
            let names = &self.function.pools.names;
            self.out.extend_from_slice(names.bytes(self.text, table.name));
            self.out.extend_from_slice(b": .branchtargets ");
            for (position, target) in self.function.pools.targets[table.targets.range()].iter().enumerate() {
                self.out.extend_from_slice(if position == 0 { b"" } else { b", " });
                self.block_name(target.index());
            }
            self.out.extend_from_slice(b";\n");
        }
    }

    fn block_name(&mut self, block: usize) {
        let name = self.function.labels[block].name.get();
        if name.is_none() && self.function.state.flags.contains(CodeFlags::SSA) {
            // A phi's predecessor, in a dump.
            self.out.extend_from_slice(b"bix");
            return number(block as i64, self.out);
        }
        let name = name.expect("every branch target has a label");
        self.out.extend_from_slice(self.function.pools.names.bytes(self.text, name));
    }

    #[inline]
    fn instruction(&mut self, inst: InstId) {
        let head = self.function.heads[inst.index()];
        let operands = self.function.operands_of(inst);
        if head.marks.contains(Marks::CONTROL) {
            self.branch_tables(operands);
            self.last.1 = Some(inst);
        }
        self.out.push(b'\t');
        if head.opcode.is_guarded() {
            self.out.push(b'@');
            self.operand(operands[operands.len() - 1]);
            self.out.push(b' ');
        }
        self.out.extend_from_slice(self.forms.mnemonic_text(head.form));
        let codes = self.forms.shape(head.form);
        if !codes.is_empty() && codes[0] != shape::VERBATIM {
            self.out.push(b' ');
        }
        let mut operands = operands.iter();
        for &code in codes {
            match code {
                shape::OPERAND | shape::INDEXED => {
                    if let Some(&operand) = operands.next() {
                        self.operand(operand);
                    }
                }
                shape::COMMA => self.out.extend_from_slice(b", "),
                shape::UNIFIED => self.out.extend_from_slice(b".unified"),
                shape::VERBATIM => {}
                code => self.out.push(code),
            }
        }
        self.out.extend_from_slice(b";\n");
    }

    /// Most registers are named more than once: the bytes are copied then, all places for them at once.
    #[inline]
    fn register(&mut self, vreg: VRegId) {
        let spelled = self.spelled[vreg.index()];
        match spelled[SPELLED_MAX] {
            0 | LONG => self.spell(vreg),
            length => {
                let end = self.out.len() + usize::from(length);
                self.out.extend_from_slice(&spelled);
                self.out.truncate(end);
            }
        }
    }

    /// Writes the name of a register and keeps it.
    fn spell(&mut self, vreg: VRegId) {
        let first = self.out.len();
        let name = self.function.vreg_names[vreg.index()];
        self.out.extend_from_slice(self.function.pools.names.bytes(self.text, name.prefix));
        if name.number != VRegName::WHOLE {
            number(i64::from(name.number), self.out);
        }
        let (bytes, spelled) = (&self.out[first..], &mut self.spelled[vreg.index()]);
        spelled[SPELLED_MAX] = LONG;
        if bytes.len() <= SPELLED_MAX {
            spelled[..bytes.len()].copy_from_slice(bytes);
            spelled[SPELLED_MAX] = bytes.len() as u8;
        }
    }

    #[inline]
    fn operand(&mut self, operand: Operand) {
        match operand.kind() {
            OperandKind::Register { vreg, minus } => {
                if minus {
                    self.out.push(b'-');
                }
                self.register(vreg);
            }
            OperandKind::Predicate { vreg, negated } => {
                if negated {
                    self.out.push(b'!');
                }
                self.register(vreg);
            }
            OperandKind::Int(value) => {
                number(i64::from(value), self.out);
                return;
            }
            OperandKind::F32(bits) => {
                self.out.extend_from_slice(b"0f");
                hex(u64::from(bits), 8, self.out);
                return;
            }
            OperandKind::Literal(literal) => self.literal(literal),
            OperandKind::Block(block) => self.block_name(block.index()),
            OperandKind::Symbol(name) => {
                self.out.extend_from_slice(self.function.pools.names.bytes(self.text, name));
            }
            OperandKind::Special(row) => {
                self.out.push(b'%');
                self.out.extend_from_slice(SPECIAL_REGISTERS[row as usize].name.as_bytes());
            }
            OperandKind::Sink => self.out.push(b'_'),
            OperandKind::Table(table) => {
                let name = self.function.tables[table.index()].name;
                self.out.extend_from_slice(self.function.pools.names.bytes(self.text, name));
            }
            OperandKind::Text(literal) => self.literal(literal),
        }
        if operand.has_payload() {
            self.payload(operand);
        }
    }

    fn payload(&mut self, operand: Operand) {
        if let Some(offset) = operand.offset() {
            self.out.push(b'+');
            number(i64::from(offset), self.out);
        } else if let Some(literal) = operand.wide_offset() {
            self.out.push(b'+');
            self.literal(literal);
        } else if let Some(selector) = operand.selector() {
            self.out.push(b'.');
            self.out.extend_from_slice(selector.text().as_bytes());
        }
    }

    fn literal(&mut self, literal: LiteralId) {
        let literal = self.function.pools.literals[literal.index()];
        match literal.kind() {
            LiteralKind::Signed => number(literal.bits as i64, self.out),
            LiteralKind::Unsigned => {
                self.out.extend_from_slice(b"0x");
                hex(literal.bits, 16, self.out);
            }
            LiteralKind::F64 => {
                self.out.extend_from_slice(b"0d");
                hex(literal.bits, 16, self.out);
            }
            LiteralKind::Text => {
                let span = Span { first: literal.bits as u32, count: literal.length };
                self.out.extend_from_slice(&self.text[span.range()]);
            }
        }
    }
}
