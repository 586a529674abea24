//! Statements of a body: scopes, labels, directives, instructions.

use super::Reader;
use super::labels::Label;
use super::scopes::Binding;
use crate::diagnostics::{Diagnostic, Problem, shown_name};
use crate::forms::{MnemonicId, Operands};
use crate::ptx::cursor::Cursor;
use ptxopt_components::anchor::{Anchor, AnchorKind, Decl, Table, TableKind};
use ptxopt_components::form::{FormFlags, Role};
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, NameId, Span};
use ptxopt_components::instruction::{InstHead, InstOperands, InstPlace, Marks, OpcodeWord};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{OPERAND_ID_MAX, Operand};
use ptxopt_components::types::{PackedType, PtxType};
use ptxopt_components::vreg::{VRegFlags, VRegName};

impl Reader<'_, '_> {
    /// The statements of the body whose brace is here, up to and with its closing brace.
    pub(super) fn body(&mut self) -> Result<(), Diagnostic> {
        self.open_scope();
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b'}' => {
                    self.close_scope()?;
                    if self.scopes.depth() < Self::BODY_DEPTH {
                        return Ok(());
                    }
                }
                b'{' => self.open_scope(),
                b'.' => self.directive()?,
                b'@' => self.guarded()?,
                b';' => self.cursor.pos += 1,
                byte if Cursor::starts_name(byte) => self.label_or_instruction()?,
                _ if self.cursor.is_at_end() => {
                    return Err(Diagnostic::new(self.scopes.innermost_offset(), 1, Problem::UnclosedBrace));
                }
                _ => return Err(self.cursor.unexpected("a statement")),
            }
        }
    }

    /// Opens the scope of the brace here.
    pub(super) fn open_scope(&mut self) {
        let (labels, pending) = self.labels.marks();
        self.scopes.open(self.cursor.pos, labels, pending);
        self.cursor.pos += 1;
    }

    fn close_scope(&mut self) -> Result<(), Diagnostic> {
        let marks = self.scopes.close();
        self.labels.close(marks).map_err(|label| {
            let name = self.out.pools.names.bytes(self.cursor.text, label.name);
            Diagnostic::new(label.offset as usize, name.len(), Problem::DuplicateName(shown_name(name)))
        })?;
        self.cursor.pos += 1;
        Ok(())
    }

    #[inline]
    fn label_or_instruction(&mut self) -> Result<(), Diagnostic> {
        let first = self.cursor.name();
        if self.cursor.peek() != b'.' {
            let mut behind = self.cursor;
            behind.skip_blank()?;
            if behind.peek() == b':' {
                let end = self.cursor.pos;
                self.cursor.pos = behind.pos + 1;
                return self.label(first, end);
            }
        }
        self.instruction(first, first, None)
    }

    /// `@p`, `@!p`, then an instruction.
    fn guarded(&mut self) -> Result<(), Diagnostic> {
        let first = self.cursor.pos;
        self.cursor.pos += 1;
        self.cursor.skip_blank()?;
        let negated = self.cursor.eat(b'!');
        if negated {
            self.cursor.skip_blank()?;
        }
        let guard = self.predicate(negated)?;
        self.cursor.skip_blank()?;
        if !Cursor::starts_name(self.cursor.peek()) {
            return Err(self.cursor.unexpected("an instruction"));
        }
        let mnemonic = self.cursor.name();
        self.instruction(first, mnemonic, Some(guard))
    }

    /// An instruction: the cursor stands behind the root of the mnemonic that starts at `mnemonic`.
    fn instruction(
        &mut self,
        first: usize,
        mnemonic: usize,
        guard: Option<Operand>,
    ) -> Result<(), Diagnostic> {
        self.cursor.skip_mnemonic();
        let mut behind = self.cursor.pos;
        self.cursor.skip_blank()?;
        let id = if self.cursor.peek() == b'.' {
            let (id, end) = self.spaced_mnemonic(mnemonic)?;
            behind = end;
            id
        } else {
            self.forms.mnemonic(&self.cursor.text[mnemonic..behind], self.module.dialect)
        };
        let how = self.forms.operands(id);
        match self.operands(how) {
            Ok(()) => {}
            Err(_) if how == Operands::Unknown || std::mem::take(&mut self.wants_verbatim) => {
                self.verbatim_operands(behind)?;
            }
            Err(diagnostic) => return Err(diagnostic),
        }
        self.cursor.pos += 1;
        let form = self.forms.form(id, self.shape);
        self.push_instruction(form, first, guard)
    }

    /// A mnemonic with blanks in it, `mov .u32`: interned without them. Also says where it ends.
    #[cold]
    fn spaced_mnemonic(&mut self, first: usize) -> Result<(MnemonicId, usize), Diagnostic> {
        let mut end = self.cursor.pos;
        while self.cursor.peek() == b'.' {
            self.cursor.pos += 1;
            self.cursor.skip_blank()?;
            self.cursor.skip_mnemonic();
            end = self.cursor.pos;
            self.cursor.skip_blank()?;
        }
        let mut without_blanks = Vec::new();
        let mut source = Cursor::new(&self.cursor.text[..end], first);
        while !source.is_at_end() {
            let from = source.pos;
            source.skip_mnemonic();
            without_blanks.extend_from_slice(&source.text[from..source.pos]);
            source.skip_blank()?;
            if source.pos == from {
                return Err(self.cursor.unexpected("an instruction"));
            }
        }
        Ok((self.forms.mnemonic(&without_blanks, self.module.dialect), end))
    }

    /// Appends the row of an instruction with the operands just read.
    #[inline]
    fn push_instruction(
        &mut self,
        form_id: FormId,
        first: usize,
        guard: Option<Operand>,
    ) -> Result<(), Diagnostic> {
        let form = *self.forms.get(form_id);
        if std::mem::take(&mut self.names_branch_table) && !form.effects.contains(Effects::BRANCH_INDEXED) {
            // The table is written before the branch that names it, and this is none.
            self.is_left = true;
        }
        if form.flags.contains(FormFlags::DEFINES) {
            for (operand, slot) in self.operands.iter_mut().zip(self.forms.slots(form_id)) {
                if operand.vreg().is_some() && matches!(slot.role, Role::Def | Role::DefUse) {
                    *operand = operand.as_definition(slot.role == Role::DefUse);
                }
            }
        }
        let mut marks = Marks::empty();
        if form.effects != Effects::PURE {
            marks = marks_of(form.effects);
            if form.effects.intersects(Effects::ASYNC | Effects::UNKNOWN) {
                self.pin_registers(form_id);
            }
            if form.effects.intersects(Effects::CARRY_IN | Effects::CARRY_OUT) {
                self.push_carry(form.effects)?;
            }
        }
        self.operands.extend(guard);
        let row = InstOperands::store(self.operands, &mut self.out.pools.operands);
        self.out.inst_heads.push(InstHead {
            opcode: OpcodeWord::new(form.root, guard.is_some()),
            form: form_id,
            // Number of labels so far; replaced by the block when all labels are known.
            block: BlockId(self.labels.all.len() as u32),
            marks,
            operand_count: self.operands.len() as u16,
        });
        self.out.inst_operands.push(row);
        self.out.inst_places.push(InstPlace { offset: first as u32 });
        Ok(())
    }

    /// Pins the registers that the instruction just read goes on using after it issues.
    fn pin_registers(&mut self, form: FormId) {
        for (operand, slot) in self.operands.iter().zip(self.forms.slots(form)) {
            if let Some(vreg) = operand.vreg()
                && slot.role != Role::Address
            {
                self.out.vreg_heads[self.first.vreg + vreg.index()].flags |= VRegFlags::PINNED;
            }
        }
    }

    /// Appends the carry register as a hidden operand: the only state that PTX instructions share without naming.
    fn push_carry(&mut self, effects: Effects) -> Result<(), Diagnostic> {
        let carry = match self.carry {
            Some(carry) => carry,
            None => {
                let name = self.out.pools.names.intern_fresh(self.cursor.text, b"CC.CF");
                let name = VRegName { prefix: name, number: VRegName::WHOLE };
                let vreg = self.new_vreg(PackedType::new(PtxType::B32, 1), VRegFlags::CARRY, name)?;
                *self.carry.insert(vreg)
            }
        };
        let operand = Operand::register(carry);
        self.operands.push(if effects.contains(Effects::CARRY_OUT) {
            operand.as_definition(effects.contains(Effects::CARRY_IN))
        } else {
            operand
        });
        Ok(())
    }

    fn next_inst(&self) -> u32 {
        (self.out.inst_heads.len() - self.first.inst) as u32
    }

    /// The label at `first..end`, its colon already passed; or the name of the table behind it.
    fn label(&mut self, first: usize, end: usize) -> Result<(), Diagnostic> {
        let text = self.cursor.text;
        let name = self.out.pools.names.intern(text, first, end);
        self.cursor.skip_blank()?;
        if self.cursor.peek() == b'.' {
            let mut behind = self.cursor;
            behind.pos += 1;
            let word = behind.name();
            match &text[word..behind.pos] {
                b"branchtargets" => return self.branch_targets(name, first, end, behind),
                b"calltargets" => return self.opaque_table(name, first, end, TableKind::Calls),
                b"callprototype" => return self.opaque_table(name, first, end, TableKind::Prototype),
                _ => {}
            }
        }
        let inst = self.next_inst();
        // In a debug module the name behind `mentions` is that of a debug label; elsewhere it may be a variable's.
        let is_mentioned = self.module.mentions(&text[first..end]);
        let hides_module = self.scopes.depth() > Self::BODY_DEPTH && is_mentioned && !self.module.is_debug;
        let is_renamed = self.must_rename(name, first, end) || hides_module;
        let written = if is_renamed { self.fresh_name(name) } else { name };
        if !is_renamed && is_mentioned {
            // A debug section may name it. Whether it stays an anchor is known when its function is complete.
            self.push_anchor(AnchorKind::DebugLabel, Span::between(first, end));
        }
        self.labels.declare(Label { name, written, inst, offset: first as u32, is_target: false });
        Ok(())
    }

    fn declare_table(
        &mut self,
        name: NameId,
        (first, end): (usize, usize),
        kind: TableKind,
        targets: Span,
        text: Span,
    ) {
        let written = if self.must_rename_value(name, first, end) { self.fresh_name(name) } else { name };
        let index = (self.out.pools.tables.len() - self.first.table) as u32;
        self.out.pools.tables.push(Table { kind, name: written, targets, text });
        self.scopes.bind(name, Binding::Table(index));
    }

    /// `name: .branchtargets a, b, c;`
    fn branch_targets(
        &mut self,
        name: NameId,
        first: usize,
        end: usize,
        behind: Cursor<'_>,
    ) -> Result<(), Diagnostic> {
        let directive = self.cursor.pos;
        self.cursor.pos = behind.pos;
        let targets_first = self.out.pools.targets.len();
        loop {
            self.cursor.skip_blank()?;
            if !Cursor::starts_name(self.cursor.peek()) {
                return Err(self.cursor.unexpected("a label"));
            }
            let at = self.cursor.name();
            let end = self.cursor.pos;
            match self.parameterized_count()? {
                None => {
                    let target = self.out.pools.names.intern(self.cursor.text, at, end);
                    self.push_target(target, at);
                }
                Some(count) => {
                    self.refuse_too_many(self.out.pools.targets.len(), count, at, "branch targets")?;
                    for number in 0..count {
                        let target = self.parameterized_name(at, end, number);
                        self.push_target(target, at);
                    }
                }
            }
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.cursor.expect(b';', "`,` or `;`")?;
        let targets = Span::between(targets_first, self.out.pools.targets.len());
        let text = Span::between(directive, self.cursor.pos);
        self.declare_table(name, (first, end), TableKind::Branch, targets, text);
        Ok(())
    }

    fn push_target(&mut self, target: NameId, offset: usize) {
        self.labels.refer_from_table(target, offset as u32, self.out.pools.targets.len() as u32);
        self.out.pools.targets.push(BlockId(0));
    }

    /// The count of `name<count>` behind a name, which stands for `name0`, `name1`, ...
    fn parameterized_count(&mut self) -> Result<Option<u32>, Diagnostic> {
        self.cursor.skip_blank()?;
        if !self.cursor.eat(b'<') {
            return Ok(None);
        }
        self.cursor.skip_blank()?;
        let at = self.cursor.pos;
        let count = u32::try_from(self.number_as_i64()?);
        let count = count.map_err(|_| Diagnostic::new(at, 1, Problem::MalformedNumber))?;
        self.cursor.expect(b'>', "`>`")?;
        self.cursor.skip_blank()?;
        Ok(Some(count))
    }

    /// Fails where `count` more members of a family would be more than operands can number: each becomes an entry
    /// here, however short its declaration is.
    fn refuse_too_many(
        &self,
        so_far: usize,
        count: u32,
        at: usize,
        what: &'static str,
    ) -> Result<(), Diagnostic> {
        if so_far + count as usize > OPERAND_ID_MAX {
            return Err(Diagnostic::new(at, 1, Problem::TooMany(what)));
        }
        Ok(())
    }

    fn parameterized_name(&mut self, first: usize, end: usize, number: u32) -> NameId {
        let mut name = self.cursor.text[first..end].to_vec();
        name.extend_from_slice(number.to_string().as_bytes());
        self.out.pools.names.intern_fresh(self.cursor.text, &name)
    }

    /// A call-target list or a prototype: copied through.
    fn opaque_table(
        &mut self,
        name: NameId,
        first: usize,
        end: usize,
        kind: TableKind,
    ) -> Result<(), Diagnostic> {
        let directive = self.cursor.pos;
        let text = Span::between(directive, self.skip_to_semicolon()?);
        self.cursor.pos += 1;
        self.declare_table(name, (first, end), kind, Span::default(), text);
        Ok(())
    }

    /// Moves to the semicolon that ends the statement here; initialisers may hold braces and strings. Gives the end of
    /// what stands before it, without the comments in between: a line comment must not swallow what we write behind.
    fn skip_to_semicolon(&mut self) -> Result<usize, Diagnostic> {
        self.skip_outside_braces(|byte| byte == b';')
    }

    /// Moves to the comma or semicolon behind the declared name here, its dimensions and its initialiser, whose end it
    /// gives.
    fn skip_to_end_of_declarator(&mut self) -> Result<usize, Diagnostic> {
        self.skip_outside_braces(|byte| matches!(byte, b';' | b','))
    }

    fn skip_outside_braces(&mut self, is_end: impl Fn(u8) -> bool) -> Result<usize, Diagnostic> {
        let mut depth = 0usize;
        let mut end = self.cursor.pos;
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                byte if depth == 0 && is_end(byte) => return Ok(end),
                b'"' => self.cursor.skip_string()?,
                _ if self.cursor.is_at_end() => return Err(self.cursor.unexpected("`;`")),
                byte => {
                    depth += usize::from(byte == b'{');
                    if byte == b'}' {
                        depth = depth.checked_sub(1).ok_or_else(|| self.cursor.unexpected("`;`"))?;
                    }
                    self.cursor.pos += 1;
                }
            }
            end = self.cursor.pos;
        }
    }

    fn push_anchor(&mut self, kind: AnchorKind, text: Span) {
        let before = InstId(self.next_inst());
        // As with instructions: the number of labels so far, replaced by the block later.
        let block = BlockId(self.labels.all.len() as u32);
        self.out.pools.anchors.push(Anchor { kind, before, block, text });
    }

    fn directive(&mut self) -> Result<(), Diagnostic> {
        let first = self.cursor.pos;
        self.cursor.pos += 1;
        let word = self.cursor.name();
        match &self.cursor.text[word..self.cursor.pos] {
            b"reg" => self.registers(VRegFlags::empty()),
            b"loc" => self.loc(first),
            b"pragma" => self.pragma(first),
            b"local" | b"shared" | b"param" | b"const" | b"global" | b"tex" | b"sampler" | b"surf"
            | b"extern" | b"visible" | b"weak" | b"common" | b"attribute" => self.variables(first),
            b"" => Err(self.cursor.unexpected("a directive")),
            b"branchtargets" | b"calltargets" | b"callprototype" => {
                self.cursor.pos = first;
                Err(self.cursor.unexpected("a label before the table"))
            }
            _ => {
                self.skip_to_semicolon()?;
                self.push_anchor(AnchorKind::Directive, Span::between(first, self.cursor.pos + 1));
                self.cursor.pos += 1;
                Ok(())
            }
        }
    }

    /// The declarations behind `.reg`, up to and with the semicolon.
    pub(super) fn registers(&mut self, flags: VRegFlags) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        let mut lanes = 1;
        if self.cursor.peek_at(1) == b'v' && self.cursor.peek_at(2).is_ascii_digit() {
            lanes = self.cursor.peek_at(2) - b'0';
            self.cursor.pos += 3;
            self.cursor.skip_blank()?;
        }
        let ty = PackedType::new(self.ptx_type()?, lanes);
        loop {
            self.cursor.skip_blank()?;
            if !Cursor::starts_name(self.cursor.peek()) {
                return Err(self.cursor.unexpected("a register name"));
            }
            let first = self.cursor.name();
            let end = self.cursor.pos;
            match self.parameterized_count()? {
                Some(count) => self.declare_range(first, end, count, ty, flags)?,
                None => self.declare_single(first, end, ty, flags)?,
            }
            if !self.cursor.eat(b',') {
                return self.cursor.expect(b';', "`,` or `;`");
            }
        }
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`: ends without a semicolon.
    fn loc(&mut self, first: usize) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        if !Cursor::is_digit(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a file number"));
        }
        let mut end = self.cursor.pos;
        loop {
            self.cursor.skip_blank()?;
            let word_first = self.cursor.pos;
            let byte = self.cursor.peek();
            let is_word = {
                let mut ahead = self.cursor;
                let word = ahead.name();
                let word = &ahead.text[word..ahead.pos];
                let is_behind_comma = self.cursor.text[first..end].ends_with(b",");
                Cursor::is_digit(byte)
                    || (is_behind_comma && matches!(word, b"function_name" | b"inlined_at"))
            };
            let is_label = end > first && self.cursor.text[first..end].ends_with(b"function_name");
            if Cursor::is_digit(byte) && !is_label {
                self.cursor.skip_digits();
            } else if is_word || is_label {
                self.cursor.name();
            } else if matches!(byte, b',' | b'+') {
                self.cursor.pos += 1;
            } else {
                break;
            }
            if self.cursor.pos == word_first {
                return Err(self.cursor.unexpected("a label"));
            }
            end = self.cursor.pos;
        }
        if self.cursor.text[..end].ends_with(b",") || self.cursor.text[..end].ends_with(b"+") {
            return Err(self.cursor.unexpected("a number or a label"));
        }
        self.push_anchor(AnchorKind::Loc, Span::between(first, end));
        Ok(())
    }

    fn pragma(&mut self, first: usize) -> Result<(), Diagnostic> {
        self.skip_to_semicolon()?;
        self.cursor.pos += 1;
        let text = Span::between(first, self.cursor.pos);
        let bytes = &self.cursor.text[text.range()];
        let is_of_inst = memchr::memmem::find(bytes, b"used_bytes_mask").is_some();
        self.push_anchor(if is_of_inst { AnchorKind::InstPragma } else { AnchorKind::BlockPragma }, text);
        Ok(())
    }

    /// The variables of one declaration, from its first directive at `first`.
    fn variables(&mut self, first: usize) -> Result<(), Diagnostic> {
        let (mut name, directives_end) = self.variable_name()?;
        let directives = Span::between(first, directives_end);
        loop {
            let count = self.parameterized_count()?;
            let end = self.skip_to_end_of_declarator()?;
            match count {
                None => self.declare_variable(directives, name, end)?,
                Some(count) => {
                    self.refuse_too_many(self.out.pools.names.len(), count, name.0, "names")?;
                    self.declare_parameterized(directives, name, count, end);
                }
            }
            let is_last = self.cursor.peek() == b';';
            self.cursor.pos += 1;
            if is_last {
                return Ok(());
            }
            (name, _) = self.variable_name()?;
        }
    }

    /// Declares `name<count>`, which stands for `count` variables.
    fn declare_parameterized(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        count: u32,
        rest_end: usize,
    ) {
        let base = self.out.pools.names.intern(self.cursor.text, first, end);
        // Members cannot be renamed one by one: where one would meet another name, the function keeps its text.
        self.is_left |= self.scopes.note_prefix(base, count) || self.scopes.depth() > Self::BODY_DEPTH;
        for number in 0..count {
            let name = self.parameterized_name(first, end, number);
            self.is_left |= self.scopes.mark_written(name);
            self.scopes.bind(name, Binding::Symbol(name));
        }
        let rest = Span::between(end, rest_end);
        self.out.pools.decls.push(Decl { directives, name: base, rest });
    }

    /// Declares the variable called `first..end`, whose dimensions and initialiser reach up to `rest_end`.
    fn declare_variable(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        rest_end: usize,
    ) -> Result<(), Diagnostic> {
        let source = self.cursor.text;
        let rest = Span::between(end, rest_end);
        let name = self.out.pools.names.intern(source, first, end);
        if self.scopes.is_bound_here(name) {
            let spelled = shown_name(&source[first..end]);
            return Err(Diagnostic::new(first, end - first, Problem::DuplicateName(spelled)));
        }
        // Call sequences declare the same parameters over and over, each in its own scope; one declaration serves.
        let is_param = source[directives.range()].starts_with(b".param");
        if is_param && self.scopes.binding(name) == Binding::Unbound {
            let is_same = self.scopes.params.get(&name).is_some_and(|declared| {
                source[declared.directives.range()] == source[directives.range()]
                    && source[declared.rest.range()] == source[rest.range()]
            });
            if is_same {
                self.scopes.bind(name, Binding::Symbol(name));
                return Ok(());
            }
        }
        let written = if self.must_rename_value(name, first, end) { self.fresh_name(name) } else { name };
        if source[rest.range()].contains(&b'=') {
            self.initialiser(rest);
        }
        let decl = Decl { directives, name: written, rest };
        if is_param && written == name {
            self.scopes.params.insert(name, decl);
        }
        self.out.pools.decls.push(decl);
        self.scopes.bind(name, Binding::Symbol(written));
        Ok(())
    }

    /// Looks at the names of an initialiser, which is copied: it cannot follow a new name.
    fn initialiser(&mut self, text: Span) {
        let mut cursor = Cursor::new(&self.cursor.text[..text.end()], text.first as usize);
        while !cursor.is_at_end() {
            if Cursor::starts_name(cursor.peek()) {
                let first = cursor.name();
                self.is_left |= self.is_renamed(first, cursor.pos);
            } else {
                cursor.pos += 1;
            }
        }
    }

    /// Where the declared name stands: the first word behind the directives, their numbers and parentheses. Also gives
    /// where those end.
    fn variable_name(&mut self) -> Result<((usize, usize), usize), Diagnostic> {
        let mut directives_end = self.cursor.pos;
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b'.' => {
                    self.cursor.pos += 1;
                    self.cursor.name();
                }
                b'(' => {
                    while !matches!(self.cursor.peek(), b')' | b';') && !self.cursor.is_at_end() {
                        self.cursor.pos += 1;
                    }
                    self.cursor.expect(b')', "`)`")?;
                }
                byte if Cursor::is_digit(byte) => {
                    self.cursor.name();
                }
                byte if Cursor::starts_name(byte) => {
                    let first = self.cursor.name();
                    return Ok(((first, self.cursor.pos), directives_end));
                }
                _ => return Err(self.cursor.unexpected("a variable's name")),
            }
            directives_end = self.cursor.pos;
        }
    }
}

/// What an instruction's effects mean to the phases that only look at its row.
fn marks_of(effects: Effects) -> Marks {
    let mut marks = Marks::empty();
    marks.set(Marks::KEPT, effects.intersects(Effects::KEEPS));
    marks.set(Marks::CONTROL, effects.intersects(Effects::CONTROL));
    marks.set(Marks::CONVERGENT, effects.contains(Effects::CONVERGENT));
    marks.set(Marks::PINNED, effects.intersects(Effects::PINNED | Effects::ASYNC | Effects::UNKNOWN));
    marks
}
