//! Where function bodies end: brace matching at memory speed, aware of strings and comments.

use super::cursor::Cursor;
use crate::diagnostics::{Diagnostic, Problem};

/// Finds the ends of bodies of one text, in textual order.
///
/// Strings and comments are rare in most modules, so the next of each is looked up once and remembered: between
/// here and there only braces matter.
pub struct BodyEnds<'t> {
    text: &'t [u8],
    /// The first quote at or after the last place asked for; the text's length where there is none.
    quote: usize,
    /// As `quote`, for a slash.
    slash: usize,
    /// As `quote`, for the sign that starts a line of the C preprocessor.
    hash: usize,
}

impl<'t> BodyEnds<'t> {
    /// The finder of `text`.
    #[must_use]
    pub fn new(text: &'t [u8]) -> Self {
        let mut ends = Self { text, quote: 0, slash: 0, hash: 0 };
        ends.quote = ends.next(b'"', 0);
        ends.slash = ends.next(b'/', 0);
        ends.hash = ends.next(b'#', 0);
        ends
    }

    fn next(&self, byte: u8, from: usize) -> usize {
        memchr::memchr(byte, &self.text[from..]).map_or(self.text.len(), |at| from + at)
    }

    /// One past the brace that closes the one at `open`, which lies after every end found before.
    ///
    /// # Errors
    /// A brace, string or comment that does not close.
    pub fn end(&mut self, open: usize) -> Result<usize, Diagnostic> {
        let mut depth = 0usize;
        let mut pos = open;
        loop {
            if self.quote < pos {
                self.quote = self.next(b'"', pos);
            }
            if self.slash < pos {
                self.slash = self.next(b'/', pos);
            }
            if self.hash < pos {
                self.hash = self.next(b'#', pos);
            }
            let stop = self.quote.min(self.slash).min(self.hash);
            for at in memchr::memchr2_iter(b'{', b'}', &self.text[pos..stop]) {
                if self.text[pos + at] == b'{' {
                    depth += 1;
                } else {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(pos + at + 1);
                    }
                }
            }
            let mut cursor = Cursor::new(self.text, stop);
            match (cursor.peek(), cursor.peek_at(1)) {
                _ if cursor.is_at_end() => return Err(Diagnostic::new(open, 1, Problem::UnclosedBrace)),
                (b'"', _) => cursor.skip_string()?,
                (b'#', _) | (_, b'/' | b'*') => cursor.skip_blank()?,
                _ => cursor.pos += 1,
            }
            pos = cursor.pos;
        }
    }
}
