//! Operands of an instruction: pushed one by one, with their punctuation as the instruction's shape.

use super::Reader;
use super::scopes::Binding;
use crate::diagnostics::{Diagnostic, Problem};
use crate::forms::Operands;
use crate::ptx::constant::WARP_SIZE;
use crate::ptx::cursor::Cursor;
use crate::store::left::LeftReason;
use ptxopt_components::anchor::TableKind;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{NameId, VRegId};
use ptxopt_components::operand::{LiteralKind, OPERAND_ID_MAX, Operand, Selector};
use ptxopt_components::special_registers;
use ptxopt_components::types::RegClass;

/// Operands of one instruction, `wgmma` with its 128 accumulators included.
const OPERANDS_MAX: usize = 4096;

/// Operands of a call, and registers of a copied statement with the text between them. Rows count operands in 16 bits.
const PARTS_MAX: usize = u16::MAX as usize - 16;

/// What may stand after an address.
const UNIFIED: &[u8] = b".unified";

/// How the names of functions begin that OptiX puts in the place of calls. Its modules do not declare them, and `ptxas` is never
/// given any.
const OPTIX: &[u8] = b"_optix_";

impl Reader<'_, '_> {
    /// Reads operands and punctuation up to the semicolon, which is left standing.
    pub(super) fn operands(&mut self, how: Operands) -> Result<(), Diagnostic> {
        self.operands.clear();
        self.shape.clear();
        let mut wants_operand = true;
        loop {
            self.cursor.skip_blank()?;
            let byte = self.cursor.peek();
            match byte {
                b';' if wants_operand && !self.shape.is_empty() => {
                    return Err(self.cursor.unexpected("an operand"));
                }
                b';' => break,
                b',' if wants_operand => return Err(self.cursor.unexpected("an operand")),
                b',' => {
                    self.punctuation(shape::COMMA);
                    wants_operand = true;
                }
                b'[' | b'{' if wants_operand => {
                    self.nesting.push(byte);
                    self.punctuation(byte);
                    wants_operand = true;
                }
                b']' | b'}' if wants_operand => return Err(self.cursor.unexpected("an operand")),
                b']' | b'}' => {
                    self.close(byte)?;
                    wants_operand = false;
                }
                b'(' if how == Operands::Call && wants_operand => {
                    self.nesting.push(byte);
                    self.punctuation(shape::PAREN_OPEN);
                    wants_operand = true;
                }
                b')' if how == Operands::Call => {
                    if wants_operand && self.shape.last() != Some(&shape::PAREN_OPEN) {
                        return Err(self.cursor.unexpected("an operand"));
                    }
                    self.close(byte)?;
                    wants_operand = false;
                }
                b'.' if self.is_at_unified() => {
                    self.shape.push(shape::UNIFIED);
                    self.cursor.pos += UNIFIED.len();
                }
                b'|' => {
                    self.punctuation(shape::PIPE);
                    wants_operand = true;
                }
                _ if !wants_operand => return Err(self.cursor.unexpected("`,` or `;`")),
                _ => {
                    let most = if how == Operands::Call { PARTS_MAX } else { OPERANDS_MAX };
                    if self.operands.len() >= most {
                        let problem = Problem::TooLong("operands in one instruction", most);
                        return Err(Diagnostic::new(self.cursor.pos, 1, problem));
                    }
                    self.shape.push(shape::OPERAND);
                    let is_target = how == Operands::Branch && self.operands.is_empty();
                    let operand = if is_target { self.target()? } else { self.operand()? };
                    self.operands.push(operand);
                    wants_operand = false;
                }
            }
        }
        match self.nesting.pop() {
            Some(open) => {
                self.nesting.clear();
                Err(self.cursor.unexpected(closing(open).1))
            }
            None => Ok(()),
        }
    }

    /// Whether `.unified` stands here, after an address.
    #[cold]
    fn is_at_unified(&self) -> bool {
        let text = &self.cursor.text[self.cursor.pos..];
        self.shape.last() == Some(&shape::BRACKET_CLOSE)
            && text
                .strip_prefix(UNIFIED)
                .is_some_and(|after| !after.first().is_some_and(|&byte| Cursor::continues_name(byte)))
    }

    #[inline]
    fn punctuation(&mut self, code: u8) {
        self.shape.push(code);
        self.cursor.pos += 1;
    }

    fn close(&mut self, byte: u8) -> Result<(), Diagnostic> {
        match self.nesting.pop() {
            Some(open) if closing(open).0 == byte => {
                self.punctuation(byte);
                Ok(())
            }
            Some(open) => Err(self.cursor.unexpected(closing(open).1)),
            None => Err(self.cursor.unexpected("`,` or `;`")),
        }
    }

    /// A branch target: known at the latest when its scope closes.
    fn target(&mut self) -> Result<Operand, Diagnostic> {
        if !Cursor::starts_name(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a label"));
        }
        let first = self.cursor.name();
        let name = self.out.pools.names.intern(self.cursor.text, first, self.cursor.pos);
        let inst = (self.out.inst_heads.len() - self.first.inst) as u32;
        self.labels.refer_from_operand(name, first as u32, inst, self.operands.len() as u16);
        Ok(Operand::block(ptxopt_components::ids::BlockId(0)))
    }

    /// One operand without its punctuation.
    #[inline]
    fn operand(&mut self) -> Result<Operand, Diagnostic> {
        let byte = self.cursor.peek();
        if Cursor::starts_name(byte) {
            return self.named_operand();
        }
        match byte {
            b'!' => {
                let mut after = self.cursor;
                after.pos += 1;
                after.skip_blank()?;
                if !Cursor::starts_name(after.peek()) || after.is_at_warp_size() {
                    return self.literal_operand();
                }
                self.cursor = after;
                self.predicate(true)
            }
            b'-' => {
                let mut after = self.cursor;
                after.pos += 1;
                after.skip_blank()?;
                if !Cursor::starts_name(after.peek()) || after.is_at_warp_size() {
                    return self.literal_operand();
                }
                self.cursor = after;
                let first = self.cursor.pos;
                let operand = self.named_operand()?;
                let is_register = operand.vreg().is_some_and(|vreg| self.class_of(vreg) == RegClass::R);
                if is_register { Ok(operand.with_minus()) } else { Err(self.undefined(first)) }
            }
            _ => self.literal_operand(),
        }
    }

    /// A predicate register, as a guard or after `!`.
    pub(super) fn predicate(&mut self, negated: bool) -> Result<Operand, Diagnostic> {
        if !Cursor::starts_name(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a predicate register"));
        }
        let first = self.cursor.name();
        match self.register_at(first, self.cursor.pos)? {
            Some(vreg) if self.class_of(vreg) == RegClass::P => Ok(Operand::predicate(vreg, negated)),
            _ => Err(self.undefined(first)),
        }
    }

    /// The register spelled at `first..end`, ranged or single.
    fn register_at(&mut self, first: usize, end: usize) -> Result<Option<VRegId>, Diagnostic> {
        if let Some(vreg) = self.ranged_register(first, end)? {
            return Ok(Some(vreg));
        }
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        match self.scopes.binding(name) {
            Binding::Register(index) => self.register_of_single(index).map(Some),
            Binding::Unbound => self.register_of_module(name),
            _ => Ok(None),
        }
    }

    fn class_of(&self, vreg: VRegId) -> RegClass {
        self.out.vreg_heads[self.first.vreg + vreg.0 as usize].class()
    }

    #[inline]
    fn register_operand(&mut self, vreg: VRegId) -> Operand {
        match self.class_of(vreg) {
            RegClass::P => Operand::predicate(vreg, false),
            _ => Operand::register(vreg),
        }
    }

    /// An operand that starts with a name: register, symbol, special register, sink; selector and offset after it.
    #[inline]
    fn named_operand(&mut self) -> Result<Operand, Diagnostic> {
        let first = self.cursor.name();
        let end = self.cursor.pos;
        let operand = match self.ranged_register(first, end)? {
            Some(vreg) => self.register_operand(vreg),
            None => self.operand_called(first, end)?,
        };
        // `[%rd1+8]`, `[%rd1 + 8]`, `var+8`, `%v.x`
        match self.cursor.peek() {
            b',' | b';' | b']' | b'}' => Ok(operand),
            b'.' | b'+' | b'-' | b'[' => self.after_name(operand, first),
            _ => {
                let mut after = self.cursor;
                after.skip_blank()?;
                if !matches!(after.peek(), b'.' | b'+' | b'-' | b'[') {
                    return Ok(operand);
                }
                self.cursor = after;
                self.after_name(operand, first)
            }
        }
    }

    /// What stands here, after the operand whose name started at `first`: a selector, an offset, or an index.
    fn after_name(&mut self, operand: Operand, first: usize) -> Result<Operand, Diagnostic> {
        let operand = if self.cursor.peek() == b'.' { self.selector(operand)? } else { operand };
        self.cursor.skip_blank()?;
        match self.cursor.peek() {
            b'+' | b'-' | b'[' if operand.selector().is_some() => {
                Err(self.cursor.unexpected("the end of a component"))
            }
            b'+' | b'-' => self.offset_after(operand),
            b'[' => self.indexed(operand, first),
            _ => Ok(operand),
        }
    }

    /// What the name at `first..end` is, when it is no register of a range.
    fn operand_called(&mut self, first: usize, end: usize) -> Result<Operand, Diagnostic> {
        let text = self.cursor.text;
        if &text[first..end] == b"_" {
            return Ok(Operand::sink());
        }
        let name = self.out.pools.names.intern(text, first, end);
        if name.0 as usize > OPERAND_ID_MAX {
            return Err(Diagnostic::new(first, end - first, Problem::TooMany("names")));
        }
        if let Some(member) = self.member_of_family(name) {
            return Ok(Operand::symbol(member));
        }
        match self.scopes.binding(name) {
            Binding::Register(index) => {
                let vreg = self.register_of_single(index)?;
                Ok(self.register_operand(vreg))
            }
            Binding::Symbol(written) => {
                // A later declaration of this name must not be hoisted above its use.
                self.scopes.fresh.mark_written(written);
                Ok(Operand::symbol(written))
            }
            Binding::Special(row) => {
                self.scopes.fresh.mark_written(name);
                Ok(Operand::special(row as usize))
            }
            Binding::Table(index) => {
                self.name_table(index as usize);
                Ok(Operand::table(ptxopt_components::ids::TableId(index)))
            }
            Binding::Unbound => self.bind_of_module(name, first),
        }
    }

    #[cold]
    fn name_table(&mut self, index: usize) {
        self.names_branch_table |= self.out.pools.tables[self.first.table + index].kind == TableKind::Branch;
        if self.is_table_named.len() <= index {
            self.is_table_named.resize(index + 1, false);
        }
        self.is_table_named[index] = true;
    }

    /// A name that the body does not declare: something of the module, a function of OptiX, or a special register.
    #[cold]
    fn bind_of_module(&mut self, name: NameId, first: usize) -> Result<Operand, Diagnostic> {
        let bytes = &self.cursor.text[first..self.cursor.pos];
        if let Some(vreg) = self.register_of_module(name)? {
            return Ok(self.register_operand(vreg));
        }
        if bytes == WARP_SIZE {
            self.cursor.pos = first;
            return self.literal_operand();
        }
        if self.module.mentions(bytes) || bytes.starts_with(OPTIX) {
            self.scopes.fresh.mark_written(name);
            self.scopes.bind_for_batch(name, Binding::Symbol(name));
            return Ok(Operand::symbol(name));
        }
        match special_registers::find(bytes.strip_prefix(b"%").unwrap_or(bytes)) {
            Some(row) => {
                self.scopes.fresh.mark_written(name);
                self.scopes.bind_for_batch(name, Binding::Special(row as u32));
                Ok(Operand::special(row))
            }
            None if self.spells_spread_member(bytes) => {
                self.leave(LeftReason::FamilyMeetsName);
                Ok(Operand::symbol(name))
            }
            None => Err(self.undefined(first)),
        }
    }

    /// The error that the name from `first` up to here means nothing.
    #[cold]
    pub(super) fn undefined(&self, first: usize) -> Diagnostic {
        self.cursor.wrong_name(first, Problem::UndefinedName)
    }

    /// `.x`, `.h0`, `.b3210` after an operand.
    fn selector(&mut self, operand: Operand) -> Result<Operand, Diagnostic> {
        self.cursor.pos += 1;
        let first = self.cursor.name();
        match Selector::parse(&self.cursor.text[first..self.cursor.pos]) {
            Some(selector) => Ok(operand.with_selector(selector)),
            None => Err(Diagnostic::unexpected(self.cursor.text, first, "a selector")),
        }
    }

    /// `+16`, `+-16` after a register or symbol; the offset may be an expression.
    ///
    /// Outside brackets it is a sum, computed at the width of the register: `st.u64 [x], r + 1`. The operand is a use of
    /// the register, and not of the register alone: where it moves, its offset moves with it.
    #[inline]
    fn offset_after(&mut self, operand: Operand) -> Result<Operand, Diagnostic> {
        if self.cursor.peek() == b'-' {
            return Err(self.cursor.unexpected("`+`, which may stand before a sign"));
        }
        self.cursor.pos += 1;
        self.cursor.skip_blank()?;
        let offset = self.cursor.integer_expression()?;
        self.with_offset(operand, offset)
    }

    fn with_offset(&mut self, operand: Operand, offset: i64) -> Result<Operand, Diagnostic> {
        match operand.with_offset(offset) {
            Some(operand) => Ok(operand),
            None => Ok(operand.with_wide_offset(self.new_literal(LiteralKind::Signed, offset as u64)?)),
        }
    }

    /// `array[3]` is kept as text: what the index scales by is the assembler's knowledge.
    #[cold]
    fn indexed(&mut self, operand: Operand, first: usize) -> Result<Operand, Diagnostic> {
        if operand.vreg().is_some() {
            return Err(self.cursor.unexpected("`,` or `;`"));
        }
        let mut name = Cursor::new(self.cursor.text, first);
        name.name();
        let reason = self.why_not_copied(first, name.pos);
        self.leave_if(reason);
        self.cursor.pos += 1;
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b']' => break,
                byte if Cursor::starts_name(byte) => {
                    // A register as an index: the whole statement is copied, so that the register can keep a row.
                    self.wants_verbatim = true;
                    return Err(self.cursor.unexpected("a constant index"));
                }
                byte if Cursor::is_digit(byte) => {
                    self.cursor.name();
                }
                b';' | b'"' | b'{' | b'}' => return Err(self.cursor.unexpected("`]`")),
                _ if self.cursor.is_at_end() => return Err(self.cursor.unexpected("`]`")),
                _ => self.cursor.pos += 1,
            }
        }
        self.cursor.pos += 1;
        self.shape.pop();
        self.shape.push(shape::INDEXED);
        Ok(Operand::text(self.new_text(first, self.cursor.pos)?))
    }

    /// Takes the statement from `first` as text between the registers that it names. The cursor moves to the
    /// semicolon.
    pub(super) fn verbatim_operands(&mut self, first: usize) -> Result<(), Diagnostic> {
        self.operands.clear();
        self.shape.clear();
        self.nesting.clear();
        self.shape.push(shape::VERBATIM);
        self.cursor.pos = first;
        let mut chunk = first;
        let mut depth = 0usize;
        loop {
            match self.cursor.peek() {
                b';' if depth == 0 => break,
                b';' => return Err(self.cursor.unexpected("`}`")),
                b'{' => {
                    depth += 1;
                    self.cursor.pos += 1;
                }
                // A brace that opened before the statement closes a scope, perhaps the body.
                b'}' if depth == 0 => return Err(self.cursor.unexpected("`;`")),
                b'}' => {
                    depth -= 1;
                    self.cursor.pos += 1;
                }
                b'"' => self.cursor.skip_string()?,
                // A semicolon in a comment ends no statement.
                b'/' if matches!(self.cursor.peek_at(1), b'/' | b'*') => self.cursor.skip_blank()?,
                b'#' => self.cursor.skip_blank()?,
                _ if self.cursor.is_at_end() => return Err(self.cursor.unexpected("`;`")),
                byte if Cursor::starts_name(byte) => {
                    let name = self.cursor.name();
                    let end = self.cursor.pos;
                    let reason = self.why_not_copied(name, end);
                    self.leave_if(reason);
                    if let Some(vreg) = self.register_at(name, end)? {
                        if self.operands.len() >= PARTS_MAX {
                            let problem = Problem::TooLong("registers in one statement", PARTS_MAX);
                            return Err(Diagnostic::new(name, end - name, problem));
                        }
                        self.push_chunk(chunk, name)?;
                        let operand = self.register_operand(vreg);
                        self.shape.push(shape::OPERAND);
                        self.operands.push(operand);
                        chunk = end;
                    } else {
                        self.copied_word(name, end);
                    }
                }
                byte if Cursor::is_digit(byte) || byte == b'.' => {
                    self.cursor.pos += 1;
                    self.cursor.skip_mnemonic();
                }
                _ => self.cursor.pos += 1,
            }
        }
        self.push_chunk(chunk, self.cursor.pos)
    }

    /// Notes the word at `first..end` of a copied statement, which is no register.
    fn copied_word(&mut self, first: usize, end: usize) {
        let word = self.out.pools.names.intern(self.cursor.text, first, end);
        match self.scopes.binding(word) {
            Binding::Unbound if self.member_of_family(word).is_none() => {
                self.scopes.fresh.note_loose_word(word)
            }
            // A later declaration of this name must not be hoisted above its use.
            Binding::Symbol(written) => {
                self.scopes.fresh.mark_written(written);
            }
            _ => {}
        }
    }

    /// Why the name at `first..end` cannot be copied: it is written otherwise than it is spelled, or elsewhere.
    pub(super) fn why_not_copied(&mut self, first: usize, end: usize) -> Option<LeftReason> {
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        let written = match self.scopes.binding(name) {
            Binding::Symbol(written) => written,
            Binding::Table(index) => {
                let table = &self.out.pools.tables[self.first.table + index as usize];
                if table.kind == TableKind::Branch {
                    return Some(LeftReason::TableNamedByNoBranch);
                }
                table.name
            }
            _ => return None,
        };
        (written != name).then_some(LeftReason::CopiedTextNamesRenamed)
    }

    fn push_chunk(&mut self, first: usize, end: usize) -> Result<(), Diagnostic> {
        if first < end {
            let text = self.new_text(first, end)?;
            self.shape.push(shape::OPERAND);
            self.operands.push(Operand::text(text));
        }
        Ok(())
    }
}

/// What closes an opening bracket, and its name in messages.
fn closing(open: u8) -> (u8, &'static str) {
    match open {
        b'[' => (b']', "`]`"),
        b'{' => (b'}', "`}`"),
        _ => (b')', "`)`"),
    }
}
