//! Statements of a body: scopes and labels here, the others each in a file of their own.

use super::Reader;
use super::labels::Label;
use crate::diagnostics::{Diagnostic, Problem, shown_name};
use crate::ptx::cursor::Cursor;
use ptxopt_components::anchor::{AnchorKind, TableKind};
use ptxopt_components::ids::Span;

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
            let mut after = self.cursor;
            after.skip_blank()?;
            if after.peek() == b':' {
                let end = self.cursor.pos;
                self.cursor.pos = after.pos + 1;
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

    /// The row that the next instruction gets.
    pub(super) fn next_inst(&self) -> u32 {
        (self.out.inst_heads.len() - self.first.inst) as u32
    }

    /// The label at `first..end`, its colon already passed; or the name of the table after it.
    fn label(&mut self, first: usize, end: usize) -> Result<(), Diagnostic> {
        let text = self.cursor.text;
        let name = self.out.pools.names.intern(text, first, end);
        self.cursor.skip_blank()?;
        if self.cursor.peek() == b'.' {
            let mut after = self.cursor;
            after.pos += 1;
            let word = after.name();
            match &text[word..after.pos] {
                b"branchtargets" => return self.branch_targets(name, first, end, after),
                b"calltargets" => return self.opaque_table(name, first, end, TableKind::Calls),
                b"callprototype" => return self.opaque_table(name, first, end, TableKind::Prototype),
                _ => {}
            }
        }
        let inst = self.next_inst();
        // In a debug module the name after `mentions` is that of a debug label; elsewhere it may be a variable's.
        let is_mentioned = self.module.mentions(&text[first..end]);
        let hides_module = self.scopes.depth() > Self::BODY_DEPTH && is_mentioned && !self.module.is_debug;
        let is_renamed = self.must_rename(name, &text[first..end]) || hides_module;
        let written = if is_renamed { self.fresh_name(name) } else { name };
        if !is_renamed && is_mentioned {
            // A debug section may name it. Whether it stays an anchor is known when its function is complete.
            self.push_anchor(AnchorKind::DebugLabel, Span::between(first, end));
        }
        self.labels.declare(Label {
            name,
            written,
            inst,
            offset: first as u32,
            is_target: false,
            pragma: None,
        });
        Ok(())
    }
}
