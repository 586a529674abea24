//! Directives in a body: lines, pragmas, and what is copied through.

use super::Reader;
use crate::diagnostics::Diagnostic;
use crate::ptx::cursor::Cursor;
use crate::store::left::LeftReason;
use ptxopt_components::anchor::{Anchor, AnchorKind};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, InstId, Span};

/// Attributes of a function with which the structurizer leaves it alone, as pragmas name them.
const KEEPING: [&[u8]; 5] =
    [b"\"convergent\"", b"\"nodivergencesource\"", b"\"nounwind\"", b"\"alwaysinline\"", b"\"optnone\""];

/// The mark of a block that handles an exception.
const FUNCLET: &[u8] = b"\"ehfunclet\"";

/// What the pragmas of blocks say about their function.
pub(super) fn flags_of_pragmas(text: &[u8], anchors: &[Anchor]) -> CodeFlags {
    let mut flags = CodeFlags::empty();
    for anchor in anchors.iter().filter(|anchor| anchor.kind == AnchorKind::BlockPragma) {
        let says = |word: &[u8]| memchr::memmem::find(&text[anchor.text.range()], word).is_some();
        flags.set(
            CodeFlags::KEEPS_FLOW,
            flags.contains(CodeFlags::KEEPS_FLOW) || KEEPING.iter().any(|word| says(word)),
        );
        flags.set(CodeFlags::HAS_FUNCLETS, flags.contains(CodeFlags::HAS_FUNCLETS) || says(FUNCLET));
    }
    flags
}

impl Reader<'_, '_> {
    pub(super) fn directive(&mut self) -> Result<(), Diagnostic> {
        let first = self.cursor.pos;
        self.cursor.pos += 1;
        let word = self.cursor.name();
        match &self.cursor.text[word..self.cursor.pos] {
            b"reg" => self.registers(),
            b"loc" | b"loc_intermediate" => self.loc(first),
            b"pragma" => self.pragma(first),
            b"target" => self.target_in_body(),
            b"local" | b"shared" | b"param" | b"const" | b"global" | b"tex" | b"sampler" | b"surf"
            | b"extern" | b"visible" | b"weak" | b"common" | b"attribute" => self.variables(first),
            b"" => Err(self.cursor.unexpected("a directive")),
            b"branchtargets" | b"calltargets" | b"callprototype" => {
                self.cursor.pos = first;
                Err(self.cursor.unexpected("a label before the table"))
            }
            _ => {
                self.skip_to_semicolon()?;
                // One that ends with its line would hide an instruction in its text.
                if memchr::memchr(b'\n', &self.cursor.text[first..self.cursor.pos]).is_some() {
                    self.leave(LeftReason::UnknownDirective);
                }
                self.push_anchor(AnchorKind::Directive, Span::between(first, self.cursor.pos + 1));
                self.cursor.pos += 1;
                Ok(())
            }
        }
    }

    /// `.target name [, name]`: ends without a semicolon.
    fn target_in_body(&mut self) -> Result<(), Diagnostic> {
        loop {
            self.cursor.skip_blank()?;
            self.cursor.name();
            self.cursor.skip_blank()?;
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.leave(LeftReason::TargetInBody);
        Ok(())
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`, or `.loc_intermediate` (ISA 9.4) with the
    /// same: ends without a semicolon.
    fn loc(&mut self, first: usize) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        if !Cursor::is_digit(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a file number"));
        }
        let mut end = self.cursor.pos;
        let mut last_word: &[u8] = b"";
        loop {
            self.cursor.skip_blank()?;
            let word_first = self.cursor.pos;
            let byte = self.cursor.peek();
            let is_word = {
                let mut ahead = self.cursor;
                let word = ahead.name();
                let word = &ahead.text[word..ahead.pos];
                let is_after_comma = self.cursor.text[first..end].ends_with(b",");
                Cursor::is_digit(byte) || (is_after_comma && matches!(word, b"function_name" | b"inlined_at"))
            };
            let is_label = last_word == b"function_name";
            last_word = b"";
            if Cursor::is_digit(byte) && !is_label {
                self.cursor.skip_integer();
            } else if is_word || is_label {
                let word = self.cursor.name();
                if !is_label {
                    last_word = &self.cursor.text[word..self.cursor.pos];
                }
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
        if !is_of_inst {
            self.labels.note_pragma(self.next_inst());
        }
        self.push_anchor(if is_of_inst { AnchorKind::InstPragma } else { AnchorKind::BlockPragma }, text);
        Ok(())
    }

    pub(super) fn push_anchor(&mut self, kind: AnchorKind, text: Span) {
        let before = InstId(self.next_inst());
        // As with instructions: the number of labels so far, replaced by the block later.
        let block = BlockId(self.labels.all.len() as u32);
        self.out.pools.anchors.push(Anchor { kind, before, block, text });
    }

    /// Moves to the semicolon that ends the statement here; initialisers may hold braces and strings. Gives the end of
    /// what stands before it, without the comments in between: a line comment must not swallow what we write after.
    pub(super) fn skip_to_semicolon(&mut self) -> Result<usize, Diagnostic> {
        self.skip_outside_braces(|byte| byte == b';')
    }

    /// Moves to the comma or semicolon after the declared name here, its dimensions and its initialiser, whose end it
    /// gives.
    pub(super) fn skip_to_end_of_declarator(&mut self) -> Result<usize, Diagnostic> {
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
}
