//! What declarations share: types, families `name<count>`, and the registers after `.reg`.

use super::cursor::Cursor;
use crate::diagnostics::{Diagnostic, NumberFault, Problem, shown_name};
use ahash::AHashMap;
use ptxopt_components::types::{PackedType, PtxType};

/// One name of a `.reg` declaration.
#[derive(Clone, Copy)]
pub(super) struct RegisterDeclarator {
    /// Where the name starts.
    pub first: usize,
    /// Where it ends.
    pub end: usize,
    /// Of a range, `name<count>`: how many registers it stands for.
    pub count: Option<u32>,
    /// The declared type.
    pub ty: PackedType,
}

impl Cursor<'_> {
    /// The type spelled at the dot here, `.b32`.
    pub(super) fn ptx_type(&mut self) -> Result<PtxType, Diagnostic> {
        if self.peek() != b'.' {
            return Err(self.unexpected("a type such as `.b32`"));
        }
        self.pos += 1;
        let first = self.name();
        let name = &self.text[first..self.pos];
        PtxType::parse(name).ok_or_else(|| self.wrong_name(first, Problem::UnknownType))
    }

    /// The type after `.reg`, `.b32` or `.v4 .b32`.
    pub(super) fn register_type(&mut self) -> Result<PackedType, Diagnostic> {
        self.skip_blank()?;
        // Registers have no address: the assembler takes an alignment and makes nothing of it.
        if self.text[self.pos..].starts_with(b".align") {
            self.pos += b".align".len();
            self.skip_blank()?;
            self.integer()?;
            self.skip_blank()?;
        }
        let mut lanes = 1;
        if let [b'.', b'v', digit @ (b'2' | b'4'), after, ..] = self.text[self.pos..]
            && !Self::continues_name(after)
        {
            lanes = digit - b'0';
            self.pos += 3;
            self.skip_blank()?;
        }
        Ok(PackedType::new(self.ptx_type()?, lanes))
    }

    /// The count of `name<count>` after a name, which stands for `name0`, `name1`, ...
    pub(super) fn family_count(&mut self) -> Result<Option<u32>, Diagnostic> {
        self.skip_blank()?;
        if !self.eat(b'<') {
            return Ok(None);
        }
        self.skip_blank()?;
        let at = self.pos;
        let count = u32::try_from(self.integer()?);
        let problem = Problem::MalformedNumber(NumberFault::Count);
        let count = count.map_err(|_| Diagnostic::new(at, self.pos - at, problem))?;
        self.expect(b'>', "`>`")?;
        self.skip_blank()?;
        Ok(Some(count))
    }

    /// The declarations after `.reg`, up to and with the semicolon: calls `each` for one after the other. There may be none, as the
    /// assembler has it.
    pub(super) fn registers(
        &mut self,
        mut each: impl FnMut(RegisterDeclarator) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let ty = self.register_type()?;
        self.skip_blank()?;
        if self.eat(b';') {
            return Ok(());
        }
        loop {
            self.skip_blank()?;
            if !Self::starts_name(self.peek()) {
                return Err(self.unexpected("a register name"));
            }
            let first = self.name();
            let end = self.pos;
            let count = self.family_count()?;
            each(RegisterDeclarator { first, end, count, ty })?;
            if !self.eat(b',') {
                return self.expect(b';', "`,` or `;`");
            }
        }
    }
}

/// Registers declared at module scope. They are looked up when a function names them: a function costs what it uses.
#[derive(Default)]
pub struct ModuleRegisters<'t> {
    singles: AHashMap<&'t [u8], PackedType>,
    /// By prefix: type and count.
    ranges: AHashMap<&'t [u8], (PackedType, u32)>,
}

impl<'t> ModuleRegisters<'t> {
    /// Adds what follows a `.reg` at `first`.
    pub(super) fn declare(&mut self, text: &'t [u8], first: usize) -> Result<(), Diagnostic> {
        Cursor::new(text, first).registers(|RegisterDeclarator { first, end, count, ty }| {
            let name = &text[first..end];
            let is_repeated = match count {
                Some(count) => self.ranges.insert(name, (ty, count)).is_some(),
                None => self.singles.insert(name, ty).is_some(),
            };
            let duplicate = || Problem::DuplicateName(shown_name(name));
            if is_repeated { Err(Diagnostic::new(first, end - first, duplicate())) } else { Ok(()) }
        })
    }

    /// Whether there is none, as almost always.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.ranges.is_empty()
    }

    /// The type of the register declared by its whole name.
    pub(super) fn single(&self, name: &[u8]) -> Option<PackedType> {
        self.singles.get(name).copied()
    }

    /// Type and count of the range with this prefix.
    pub(super) fn range(&self, prefix: &[u8]) -> Option<(PackedType, u32)> {
        self.ranges.get(prefix).copied()
    }
}
