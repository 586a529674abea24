//! Variables that a body declares: `.local`, `.shared`, `.param` and the rest.

use super::Reader;
use super::scopes::Binding;
use crate::diagnostics::{Diagnostic, Problem};
use crate::ptx::cursor::Cursor;
use ptxopt_components::anchor::Decl;
use ptxopt_components::ids::Span;
use ptxopt_components::operand::OPERAND_ID_MAX;
use ptxopt_components::types::StateSpace;

/// The state space that the directives in front of a name give it.
fn space_of(directives: &[u8]) -> StateSpace {
    let words = directives.split(|byte| *byte == b'.' || byte.is_ascii_whitespace());
    words.filter_map(StateSpace::parse).next().unwrap_or_default()
}

impl Reader<'_, '_> {
    /// The variables of one declaration, from its first directive at `first`.
    pub(super) fn variables(&mut self, first: usize) -> Result<(), Diagnostic> {
        let (mut name, directives_end) = self.variable_name()?;
        let directives = Span::between(first, directives_end);
        loop {
            let count = self.cursor.family_count()?;
            let end = self.skip_to_end_of_declarator()?;
            match count {
                None => self.declare_variable(directives, name, end)?,
                Some(count) => self.declare_variables(directives, name, count, end)?,
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
    fn declare_variables(
        &mut self,
        directives: Span,
        (first, end): (usize, usize),
        count: u32,
        rest_end: usize,
    ) -> Result<(), Diagnostic> {
        if count as usize > OPERAND_ID_MAX {
            return Err(Diagnostic::new(first, 1, Problem::TooMany("names")));
        }
        let name = self.out.pools.names.intern(self.cursor.text, first, end);
        self.declare_family(name, count);
        let rest = Span::between(end, rest_end);
        if self.cursor.text[rest.range()].contains(&b'=') {
            self.initialiser(rest);
        }
        let space = space_of(&self.cursor.text[directives.range()]);
        self.out.pools.decls.push(Decl { directives, name, rest, space, is_family: true });
        Ok(())
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
        if self.scopes.is_bound_here(name) || self.is_in_range_here(first, end) {
            return Err(self.duplicate(first, end));
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
        self.note_numbered(name, first, end);
        let written = if self.must_rename_value(name, first, end) { self.fresh_name(name) } else { name };
        if written == name {
            self.note_single(first, end);
        }
        if source[rest.range()].contains(&b'=') {
            self.initialiser(rest);
        }
        let space = space_of(&source[directives.range()]);
        let decl = Decl { directives, name: written, rest, space, is_family: false };
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
                let reason = self.why_not_copied(first, cursor.pos);
                self.leave_if(reason);
            } else {
                cursor.pos += 1;
            }
        }
    }

    /// Where the declared name stands: the first word after the directives, their numbers and parentheses. Also gives
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
