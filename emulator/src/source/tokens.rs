//! Words, numbers, strings and punctuation of module-level text.

use crate::load_error::LoadError;
use ptxopt_engine::diagnostics::shown_name;
use std::fmt;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'t> {
    /// `.align`, without its dot.
    Directive(&'t [u8]),
    /// A name.
    Word(&'t [u8]),
    /// An integer.
    Integer(u64),
    /// An integer with the suffix `U`.
    Unsigned(u64),
    /// `0f3F800000`: the bits of a single.
    Single(u32),
    /// A double, written as such or by its bits.
    Double(f64),
    /// A string without its quotes, escapes as written.
    Text(&'t [u8]),
    /// Anything else, one byte.
    Mark(u8),
    /// The end.
    End,
}

/// The token as messages show it.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directive(word) => write!(f, "`.{}`", shown_name(word)),
            Self::Word(word) => write!(f, "`{}`", shown_name(word)),
            Self::Integer(value) | Self::Unsigned(value) => write!(f, "{value}"),
            Self::Single(bits) => write!(f, "0f{bits:08X}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Text(_) => f.write_str("a string"),
            Self::Mark(byte) if byte.is_ascii_graphic() => write!(f, "`{}`", char::from(*byte)),
            Self::Mark(byte) => write!(f, "byte {byte:#04x}"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// A place in a text, moving from token to token.
#[derive(Clone)]
pub struct Tokens<'t> {
    text: &'t [u8],
    at: usize,
    end: usize,
    /// Where the last token started.
    pub first: usize,
}

fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

impl<'t> Tokens<'t> {
    /// The tokens of `text[first..end]`.
    #[must_use]
    pub fn new(text: &'t [u8], first: usize, end: usize) -> Self {
        Self { text, at: first, end, first }
    }

    /// Where the next token is looked for.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes on at byte `at` of the text.
    pub fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// The error `reason` at the last token.
    #[must_use]
    pub fn error(&self, reason: impl Into<String>) -> LoadError {
        LoadError::declaration(self.text, self.first, reason.into())
    }

    fn byte(&self) -> u8 {
        if self.at < self.end { self.text[self.at] } else { 0 }
    }

    fn skip_blank(&mut self) {
        while self.at < self.end {
            let rest = &self.text[self.at..self.end];
            if rest[0].is_ascii_whitespace() {
                self.at += 1;
            } else if rest.starts_with(b"//") || rest[0] == b'#' {
                self.skip_line();
            } else if rest.starts_with(b"/*") {
                let close = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                self.at += close.map_or(rest.len(), |close| close + 4);
            } else {
                return;
            }
        }
    }

    /// Moves past the end of the line.
    pub fn skip_line(&mut self) {
        let rest = &self.text[self.at.min(self.end)..self.end];
        self.at += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
    }

    /// Moves to the next line that holds `word` alone.
    pub fn skip_to_line(&mut self, word: &[u8]) {
        loop {
            self.skip_line();
            let rest = &self.text[self.at.min(self.end)..self.end];
            let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
            if rest.is_empty() || line.trim_ascii() == word {
                return;
            }
        }
    }

    fn name(&mut self) -> &'t [u8] {
        let first = self.at;
        while continues_name(self.byte()) || self.text[self.at.min(self.end)..self.end].starts_with(b"::") {
            self.at += if self.byte() == b':' { 2 } else { 1 };
        }
        &self.text[first..self.at]
    }

    /// The next token.
    ///
    /// # Errors
    /// A number that is none.
    pub fn next(&mut self) -> Result<Token<'t>, LoadError> {
        self.skip_blank();
        self.first = self.at;
        let byte = self.byte();
        let following = self.text.get(self.at + 1).copied().unwrap_or(0);
        Ok(match byte {
            _ if self.at >= self.end => Token::End,
            b'.' if following.is_ascii_digit() => self.decimal()?,
            b'.' if continues_name(following) => {
                self.at += 1;
                Token::Directive(self.name())
            }
            b'"' => self.string(),
            b'0'..=b'9' => self.number()?,
            // A name may start with a percent sign; alone it is an operator.
            b'%' if !continues_name(following) => {
                self.at += 1;
                Token::Mark(byte)
            }
            _ if continues_name(byte) => Token::Word(self.name()),
            _ => {
                self.at += 1;
                Token::Mark(byte)
            }
        })
    }

    /// Moves past a parenthesised list with what is nested in it.
    ///
    /// # Errors
    /// A list that does not end.
    pub fn skip_parentheses(&mut self) -> Result<(), LoadError> {
        let mut depth = 0;
        loop {
            match self.next()? {
                Token::Mark(b'(') => depth += 1,
                Token::Mark(b')') => depth -= 1,
                Token::End => return Err(self.error("expected `)`")),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The next token, left standing.
    ///
    /// # Errors
    /// A number that is none.
    pub fn peek(&self) -> Result<Token<'t>, LoadError> {
        self.clone().next()
    }

    /// Takes the mark `byte` if it stands here.
    ///
    /// # Errors
    /// A number that is none.
    pub fn eat(&mut self, byte: u8) -> Result<bool, LoadError> {
        let is_here = self.peek()? == Token::Mark(byte);
        if is_here {
            self.next()?;
        }
        Ok(is_here)
    }

    /// Takes the mark `byte`.
    ///
    /// # Errors
    /// Anything else.
    pub fn expect(&mut self, byte: u8) -> Result<(), LoadError> {
        match self.next()? {
            Token::Mark(found) if found == byte => Ok(()),
            found => Err(self.error(format!("found {found}, expected `{}`", char::from(byte)))),
        }
    }

    /// Takes a name.
    ///
    /// # Errors
    /// Anything else.
    pub fn word(&mut self) -> Result<&'t [u8], LoadError> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            found => Err(self.error(format!("found {found}, expected a name"))),
        }
    }

    fn string(&mut self) -> Token<'t> {
        self.at += 1;
        let first = self.at;
        while self.at < self.end && self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        let end = self.at.min(self.end);
        self.at = (end + 1).min(self.end);
        Token::Text(&self.text[first..end])
    }

    fn number(&mut self) -> Result<Token<'t>, LoadError> {
        let first = self.at;
        let word = self.name();
        let spelled = std::str::from_utf8(word).unwrap_or_default();
        let text = &self.text[first..self.end];
        let after_digits = &text[text.iter().take_while(|byte| byte.is_ascii_digit()).count()..];
        if let [b'.', ..] | [b'e' | b'E', b'0'..=b'9', ..] | [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] =
            after_digits
        {
            self.at = first;
            return self.decimal();
        }
        let (prefix, radix, digits_max) = match spelled.get(..2) {
            Some("0f" | "0F") => (2, 16, 8),
            Some("0d" | "0D") => (2, 16, 16),
            Some("0x" | "0X") => (2, 16, usize::MAX),
            Some("0b" | "0B") => (2, 2, usize::MAX),
            Some(octal) if octal.starts_with('0') && octal.as_bytes()[1].is_ascii_digit() => {
                (1, 8, usize::MAX)
            }
            _ => (0, 10, usize::MAX),
        };
        // The number ends where no digit follows; what is left is a word of its own.
        let digits =
            spelled[prefix..].chars().take(digits_max).take_while(|digit| digit.is_digit(radix)).count();
        let end = prefix + digits;
        let value = value_of(&spelled[prefix..end], radix).ok_or_else(|| self.error("malformed number"))?;
        let is_unsigned = digits_max == usize::MAX && spelled[end..].starts_with('U');
        self.at = first + end + usize::from(is_unsigned);
        Ok(match digits_max {
            8 => Token::Single(value as u32),
            16 => Token::Double(f64::from_bits(value)),
            _ if is_unsigned => Token::Unsigned(value),
            _ => Token::Integer(value),
        })
    }

    fn decimal(&mut self) -> Result<Token<'t>, LoadError> {
        let first = self.at;
        while self.byte().is_ascii_digit() || self.byte() == b'.' {
            self.at += 1;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            while self.byte().is_ascii_digit() {
                self.at += 1;
            }
        }
        let spelled = std::str::from_utf8(&self.text[first..self.at]).unwrap_or_default();
        spelled.parse().map(Token::Double).map_err(|_| self.error("malformed number"))
    }
}

/// The value of `digits` as `ptxas` has it: past 64 bits the high ones are lost, but a digit that follows a value of 2^63
/// or more is an error.
fn value_of(digits: &str, radix: u32) -> Option<u64> {
    let mut value = None;
    for digit in digits.chars() {
        let before = value.unwrap_or(0u64);
        if before > i64::MAX as u64 {
            return None;
        }
        let raised = before.wrapping_mul(u64::from(radix));
        value = Some(raised.wrapping_add(u64::from(digit.to_digit(radix)?)));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shown_as_they_are_written() {
        let text = b".reg // a comment\n name 7 0x10U 0f3F800000 1.5 \"text\" { /* another */ \x07";
        let mut tokens = Tokens::new(text, 0, text.len());
        for expected in
            ["`.reg`", "`name`", "7", "16", "0f3F800000", "1.5", "a string", "`{`", "byte 0x07", "the end"]
        {
            assert_eq!(tokens.next().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_name_may_begin_where_a_number_ends() {
        let text = b"8p 4name 1f4 0x8g 0b10b 8UUq 0f3F800000f 1e3 017 0 0U 09";
        let mut tokens = Tokens::new(text, 0, text.len());
        for expected in [
            "8",
            "`p`",
            "4",
            "`name`",
            "1",
            "`f4`",
            "8",
            "`g`",
            "2",
            "`b`",
            "8",
            "`Uq`",
            "0f3F800000",
            "`f`",
            "1000.0",
        ] {
            assert_eq!(tokens.next().unwrap().to_string(), expected);
        }
        let numbers = [15, 0].map(Token::Integer);
        assert_eq!([tokens.next().unwrap(), tokens.next().unwrap()], numbers);
        assert_eq!(tokens.next().unwrap(), Token::Unsigned(0));
        assert!(tokens.next().is_err());
    }

    #[test]
    fn a_line_of_one_word_is_found_past_any_text() {
        let text = b"first\n } \"\n.endless\n x .end\n\t.end \n{";
        let mut tokens = Tokens::new(text, 0, text.len());
        tokens.skip_to_line(b".end");
        assert_eq!(tokens.next().unwrap(), Token::Directive(b"end"));
        assert_eq!(tokens.next().unwrap(), Token::Mark(b'{'));
        tokens.skip_to_line(b".end");
        assert_eq!(tokens.next().unwrap(), Token::End);
    }
}
