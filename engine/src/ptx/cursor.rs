//! A place in PTX text, and the bytes' classes.

use crate::diagnostics::{Diagnostic, Problem, shown_name};

/// White space: blank, tab, line ends, and the NUL that some producers leave at the end.
const BLANK: u8 = 1 << 0;
/// May continue a name. A `%` may not: `.reg .b32%r;` declares `%r`.
const NAME: u8 = 1 << 1;
/// May start a name.
const NAME_START: u8 = 1 << 2;
/// A decimal digit.
const DIGIT: u8 = 1 << 3;
/// May continue a mnemonic: a name with dots and double colons.
const MNEMONIC: u8 = 1 << 4;
/// Stands between data: white space and commas.
const BETWEEN: u8 = 1 << 5;
/// Starts a number or a directive, in which what may continue a name is no name.
const DATA_START: u8 = 1 << 6;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | 0 => BLANK | BETWEEN,
            b'a'..=b'z' | b'A'..=b'Z' => NAME | NAME_START | MNEMONIC,
            b'_' => NAME | NAME_START | MNEMONIC,
            b'$' => NAME | NAME_START,
            b'%' => NAME_START,
            b'0'..=b'9' => NAME | DIGIT | MNEMONIC | DATA_START,
            b'.' => MNEMONIC | DATA_START,
            b':' => MNEMONIC,
            b',' => BETWEEN,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// A place in PTX text. Reading past the end gives NUL bytes, so look-ahead needs no bounds.
#[derive(Clone, Copy)]
pub struct Cursor<'t> {
    /// The text.
    pub text: &'t [u8],
    /// The place.
    pub pos: usize,
}

impl<'t> Cursor<'t> {
    /// The start of `text[pos..]`.
    #[must_use]
    pub fn new(text: &'t [u8], pos: usize) -> Self {
        Self { text, pos }
    }

    /// The byte at the place.
    #[inline(always)]
    #[must_use]
    pub fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte `ahead` bytes further on.
    #[inline(always)]
    #[must_use]
    pub fn peek_at(&self, ahead: usize) -> u8 {
        self.text.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Whether the text ends here.
    #[inline(always)]
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Whether `byte` may start a name.
    #[inline(always)]
    #[must_use]
    pub fn starts_name(byte: u8) -> bool {
        CLASS[byte as usize] & NAME_START != 0
    }

    /// Whether `byte` may continue a name.
    #[inline(always)]
    #[must_use]
    pub fn continues_name(byte: u8) -> bool {
        CLASS[byte as usize] & NAME != 0
    }

    /// Whether `byte` is a decimal digit.
    #[inline(always)]
    #[must_use]
    pub fn is_digit(byte: u8) -> bool {
        CLASS[byte as usize] & DIGIT != 0
    }

    #[inline(always)]
    fn skip_class(&mut self, class: u8) {
        while let Some(&byte) = self.text.get(self.pos)
            && CLASS[byte as usize] & class != 0
        {
            self.pos += 1;
        }
    }

    /// Skips blanks, comments and line directives (`# 1 "file"`).
    ///
    /// # Errors
    /// A block comment that does not end.
    #[inline(always)]
    pub fn skip_blank(&mut self) -> Result<(), Diagnostic> {
        self.skip_class(BLANK);
        if matches!(self.peek(), b'/' | b'#') { self.skip_comments() } else { Ok(()) }
    }

    #[cold]
    fn skip_comments(&mut self) -> Result<(), Diagnostic> {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (b'#', _) | (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => {
                    let body = &self.text[self.pos + 2..];
                    let Some(end) = memchr::memmem::find(body, b"*/") else {
                        return Err(Diagnostic::new(self.pos, 2, Problem::UnterminatedComment));
                    };
                    self.pos += 2 + end + 2;
                }
                _ => return Ok(()),
            }
            self.skip_class(BLANK);
        }
    }

    /// Moves to the end of the line.
    pub fn skip_line(&mut self) {
        self.pos = memchr::memchr(b'\n', &self.text[self.pos..]).map_or(self.text.len(), |at| self.pos + at);
    }

    /// Moves past the string that starts here.
    ///
    /// # Errors
    /// A string that does not end.
    pub fn skip_string(&mut self) -> Result<(), Diagnostic> {
        debug_assert_eq!(self.peek(), b'"');
        let open = self.pos;
        self.pos += 1;
        loop {
            match memchr::memchr2(b'"', b'\\', &self.text[self.pos..]) {
                Some(at) if self.text[self.pos + at] == b'"' => {
                    self.pos += at + 1;
                    return Ok(());
                }
                Some(at) if self.pos + at + 2 <= self.text.len() => self.pos += at + 2,
                _ => return Err(Diagnostic::new(open, 1, Problem::UnterminatedString)),
            }
        }
    }

    /// Moves past the name that starts here and gives where it started.
    #[inline(always)]
    pub fn name(&mut self) -> usize {
        let first = self.pos;
        if CLASS[self.peek() as usize] & (NAME | NAME_START) != 0 {
            self.pos += 1;
            self.skip_class(NAME);
        }
        first
    }

    /// Moves past the mnemonic that starts here.
    #[inline(always)]
    pub fn skip_mnemonic(&mut self) {
        self.skip_class(MNEMONIC);
    }

    /// Moves past decimal digits.
    pub fn skip_digits(&mut self) {
        self.skip_class(DIGIT);
    }

    /// Moves past names, numbers, directives, commas and white space: what stands between marks in a list of parameters.
    pub fn skip_words(&mut self) {
        self.skip_class(MNEMONIC | NAME_START | BETWEEN);
    }

    /// Moves past directives, numbers, commas and white space: what debug sections are made of. Long runs of them are passed by chunks;
    /// then a step is the same for each byte, since where a number ends cannot be foreseen.
    pub fn skip_data(&mut self) {
        let mut goes_on = BETWEEN | DATA_START;
        while let Some(chunk) = self.text.get(self.pos..).and_then(<[u8]>::first_chunk::<CHUNK>)
            && is_data(chunk, goes_on & NAME != 0)
        {
            goes_on = after_data(CLASS[chunk[CHUNK - 1] as usize]);
            self.pos += CHUNK;
        }
        while let Some(&byte) = self.text.get(self.pos)
            && let class = CLASS[byte as usize]
            && class & goes_on != 0
        {
            goes_on = after_data(class);
            self.pos += 1;
        }
    }

    /// Moves past the integer that starts here, and no further: a name may follow it without a blank, as the `q` of
    /// `.align 0x8q`.
    pub fn skip_integer(&mut self) {
        let (prefix, is_digit): (usize, fn(&u8) -> bool) = match self.text[self.pos..] {
            [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (2, u8::is_ascii_hexdigit),
            [b'0', b'b' | b'B', b'0' | b'1', ..] => (2, |byte| matches!(byte, b'0' | b'1')),
            _ => (0, u8::is_ascii_digit),
        };
        self.pos += prefix;
        while self.text.get(self.pos).is_some_and(is_digit) {
            self.pos += 1;
        }
        self.eat(b'U');
    }

    /// Moves past `byte`, if it stands here.
    #[inline(always)]
    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && !self.is_at_end();
        self.pos += usize::from(found);
        found
    }

    /// Moves past blanks and then `byte`.
    ///
    /// # Errors
    /// Another byte stands there; `expected` says what was wanted.
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Diagnostic> {
        self.skip_blank()?;
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The error that the byte here is not `expected`.
    #[cold]
    #[must_use]
    pub fn unexpected(&self, expected: &'static str) -> Diagnostic {
        Diagnostic::unexpected(self.text, self.pos, expected)
    }

    /// The error that the name from `first` up to here has, as `problem` says it.
    #[cold]
    #[must_use]
    pub fn wrong_name(&self, first: usize, problem: impl Fn(String) -> Problem) -> Diagnostic {
        let name = &self.text[first..self.pos];
        Diagnostic::new(first, name.len().max(1), problem(shown_name(name)))
    }
}

/// Bytes of data that are looked at together.
const CHUNK: usize = 32;

/// The classes of what may follow a byte of data: inside a number or a directive what may continue a name, too.
#[inline(always)]
fn after_data(class: u8) -> u8 {
    BETWEEN | DATA_START | if class & BETWEEN == 0 { NAME } else { 0 }
}

/// Whether all of a chunk is data, `goes_on` where a number or a directive may go on at its start. In the arithmetic of bytes, and not
/// by [`CLASS`], so that the compiler makes vectors of it.
fn is_data(chunk: &[u8; CHUNK], goes_on: bool) -> bool {
    let is_between = |byte: u8| {
        (byte == b' ') | (byte == b',') | (byte == 0) | (byte.wrapping_sub(b'\t') <= b'\r' - b'\t')
    };
    let is_letter =
        |byte: u8| ((byte | 0x20).wrapping_sub(b'a') <= b'z' - b'a') | (byte == b'_') | (byte == b'$');
    let is_start = |byte: u8| (byte.wrapping_sub(b'0') <= 9) | (byte == b'.');
    let mut before = [if goes_on { b'0' } else { b' ' }; CHUNK];
    before[1..].copy_from_slice(&chunk[..CHUNK - 1]);
    let is_other = |(&byte, &before): (&u8, &u8)| {
        let is_name = is_letter(byte) & is_between(before);
        is_name | !(is_between(byte) | is_letter(byte) | is_start(byte))
    };
    chunk.iter().zip(&before).fold(true, |is_all, pair| is_all & !is_other(pair))
}

/// The diagnostic, moved to the end of the line before where that is what has to change: a mark is missing, and what
/// stands instead of it is on a later line. `from` is a place before it that no string or comment reaches over.
///
/// ```text
/// mov.u32 %r1, 5          <- here
/// mov.u32 %r2, 6;         <- not here, where the reader noticed
/// ```
#[cold]
pub(super) fn at_the_missing_mark(text: &[u8], from: usize, diagnostic: Diagnostic) -> Diagnostic {
    let is_mark =
        matches!(diagnostic.problem, Problem::Unexpected { expected, .. } if expected.starts_with('`'));
    if !is_mark {
        return diagnostic;
    }
    let mut cursor = Cursor::new(text, from);
    let mut end = from;
    while cursor.skip_blank().is_ok() && cursor.pos < diagnostic.offset {
        let byte = cursor.peek();
        if byte == b'"' {
            if cursor.skip_string().is_err() {
                break;
            }
        } else if Cursor::starts_name(byte) || Cursor::is_digit(byte) {
            cursor.name();
        } else {
            cursor.pos += 1;
        }
        end = cursor.pos;
    }
    let is_on_a_later_line = end <= diagnostic.offset && text[end..diagnostic.offset].contains(&b'\n');
    if end > from && is_on_a_later_line {
        Diagnostic { offset: end, length: 1, ..diagnostic }
    } else {
        diagnostic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, word by word.
    fn end_of_data(text: &[u8]) -> usize {
        let mut cursor = Cursor::new(text, 0);
        loop {
            cursor.skip_class(BLANK);
            if Cursor::is_digit(cursor.peek()) || cursor.peek() == b'.' {
                cursor.pos += 1;
                cursor.skip_class(NAME);
            } else if !cursor.eat(b',') {
                return cursor.pos;
            }
        }
    }

    fn check(text: &[u8]) {
        let mut cursor = Cursor::new(text, 0);
        cursor.skip_data();
        assert_eq!(cursor.pos, end_of_data(text), "{}", text.escape_ascii());
    }

    #[test]
    fn each_byte_ends_data_or_does_not_at_each_place() {
        let data = b".b8 105,0x2f\t.b64 7\n.b32 12345,6 .b8 1\r\n.b8 99,100,101,102 .b16 7,8,9,10\n0";
        for place in 0..data.len() {
            for byte in 0..=u8::MAX {
                let mut text = *data;
                text[place] = byte;
                check(&text);
            }
            check(&data[..place]);
        }
    }

    #[test]
    fn chunks_end_where_single_bytes_do() {
        let mut state = 1u32;
        let mut random = |count: usize| {
            // The minimal standard generator (Park and Miller 1988).
            state = (u64::from(state) * 48_271 % 0x7fff_ffff) as u32;
            state as usize % count
        };
        let data = [".b8 ", "1", "0x7f", ",", "\n", "\t", " ", ".u64", "12345", "\0", ".debug_$x"];
        let others = ["name", "%r1", "}", "\"", "-", ":", "/", "\u{e9}", "_", "$L", "_1"];
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..random(60) {
                text += data[random(data.len())];
            }
            text += others[random(others.len())];
            text += &" 1".repeat(random(20));
            check(text.as_bytes());
        }
    }
}
