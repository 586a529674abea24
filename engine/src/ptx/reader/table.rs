//! Tables: `.branchtargets`, whose labels become blocks, and call targets and prototypes, which are copied.

use super::Reader;
use super::scopes::Binding;
use crate::diagnostics::{Diagnostic, Problem};
use crate::ptx::cursor::Cursor;
use ptxopt_components::anchor::{Table, TableKind};
use ptxopt_components::ids::{BlockId, NameId, Span};
use ptxopt_components::operand::OPERAND_ID_MAX;

impl Reader<'_, '_> {
    fn declare_table(
        &mut self,
        name: NameId,
        (first, end): (usize, usize),
        kind: TableKind,
        targets: Span,
        text: Span,
    ) {
        let spelled = &self.cursor.text[first..end];
        let written = if self.must_rename_value(name, spelled) { self.fresh_name(name) } else { name };
        let index = (self.out.pools.tables.len() - self.first.table) as u32;
        self.out.pools.tables.push(Table { kind, name: written, targets, text });
        self.scopes.bind(name, Binding::Table(index));
    }

    /// `name: .branchtargets a, b, c;`
    pub(super) fn branch_targets(
        &mut self,
        name: NameId,
        first: usize,
        end: usize,
        after: Cursor<'_>,
    ) -> Result<(), Diagnostic> {
        let directive = self.cursor.pos;
        self.cursor.pos = after.pos;
        let targets_first = self.out.pools.targets.len();
        loop {
            self.cursor.skip_blank()?;
            if !Cursor::starts_name(self.cursor.peek()) {
                return Err(self.cursor.unexpected("a label"));
            }
            let at = self.cursor.name();
            let end = self.cursor.pos;
            match self.cursor.family_count()? {
                None => {
                    let target = self.out.pools.names.intern(self.cursor.text, at, end);
                    self.push_target(target, at);
                }
                Some(count) => {
                    // Each becomes an entry here, however short its declaration is; and no text has more labels than bytes.
                    let so_far = self.out.pools.targets.len() - self.first.target;
                    let count_max = self.cursor.text.len().min(OPERAND_ID_MAX.saturating_sub(so_far));
                    if count as usize > count_max {
                        return Err(Diagnostic::new(at, 1, Problem::TooMany("branch targets")));
                    }
                    for number in 0..count {
                        let target = self.member(at, end, number);
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

    /// The name at `first..end` with a number after it.
    fn member(&mut self, first: usize, end: usize, number: u32) -> NameId {
        let mut name = self.cursor.text[first..end].to_vec();
        name.extend_from_slice(number.to_string().as_bytes());
        self.out.pools.names.intern_fresh(self.cursor.text, &name)
    }

    /// A call-target list or a prototype: copied through.
    pub(super) fn opaque_table(
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
}
