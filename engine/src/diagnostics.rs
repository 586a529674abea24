//! Diagnostics: what is wrong with a module, where, and what was expected instead.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A token that cannot stand here.
    Unexpected {
        /// What stands here.
        found: Found,
        /// What could stand here.
        expected: &'static str,
    },
    /// A string without its closing quote.
    UnterminatedString,
    /// A block comment without its end.
    UnterminatedComment,
    /// An opening brace without its closing one.
    UnclosedBrace,
    /// No line ends a source of another language.
    UnclosedSource,
    /// The text does not start as a PTX module does.
    NoVersion,
    /// A name that is no register, label, variable, function or special register here.
    UndefinedName(String),
    /// A branch to a label that does not exist.
    UndefinedLabel(String),
    /// A second declaration of a name in one scope.
    DuplicateName(String),
    /// Letters after `.reg` that are no type.
    UnknownType(String),
    /// A number that does not fit its place or is none.
    MalformedNumber(NumberFault),
    /// A constant expression without a value, such as a division by zero.
    MalformedExpression(ExpressionFault),
    /// A function uses more registers, names or literals than an operand can number.
    TooMany(&'static str),
    /// An instruction with more of something than its row counts.
    TooLong(&'static str, usize),
    /// A module of 2 GiB and more.
    ModuleTooLarge,
}

/// What stands where something else is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The end of the text.
    End,
    /// A word, a number or a mark, as messages show it.
    Token(String),
    /// A byte that starts no token.
    Byte(u8),
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// A prefix such as `0x` without digits.
    NoDigits,
    /// A character that is no digit of the radix.
    Digit {
        /// The character.
        found: char,
        /// 2, 8, 10 or 16.
        radix: u32,
    },
    /// A real by its bits, with another number of hexadecimal digits than these.
    BitCount(usize),
    /// An `e` without digits.
    Exponent,
    /// An integer of more than 64 bits.
    Overflow,
    /// A real that no double holds.
    RealOverflow,
    /// A real where an integer is expected.
    NotAnInteger,
    /// A count or a version of more than 32 bits.
    Count,
}

impl fmt::Display for NumberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoDigits => f.write_str("expected digits"),
            Self::Digit { found, radix } => {
                let name = match radix {
                    2 => "binary",
                    8 => "octal",
                    10 => "decimal",
                    _ => "hexadecimal",
                };
                write!(f, "`{found}` is no {name} digit")
            }
            Self::BitCount(digits) => write!(f, "expected {digits} hexadecimal digits"),
            Self::Exponent => f.write_str("expected digits in the exponent"),
            Self::Overflow => f.write_str("expected an integer of at most 64 bits"),
            Self::RealOverflow => f.write_str("expected a real that a double holds"),
            Self::NotAnInteger => f.write_str("expected an integer"),
            Self::Count => f.write_str("expected an integer of at most 32 bits"),
        }
    }
}

/// Why a constant expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionFault {
    /// `/` or `%` by zero.
    DivisionByZero,
    /// The smallest integer divided by -1.
    Overflow,
    /// A real where an integer is needed, or beside an integer.
    Real,
    /// A cast to anything but `.s64` and `.u64`.
    Cast,
    /// More operators and parentheses wait for an operand than the reader holds.
    TooDeep,
}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DivisionByZero => "division by zero",
            Self::Overflow => "the quotient does not fit 64 bits",
            Self::Real => "the operator takes no real here, expected integers",
            Self::Cast => "expected a cast to `.s64` or `.u64`",
            Self::TooDeep => "nested too deep",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { found: Found::End, expected } => {
                write!(f, "text ends where {expected} is expected")
            }
            Self::Unexpected { found: Found::Token(token), expected } => {
                write!(f, "found `{token}`, expected {expected}")
            }
            Self::Unexpected { found: Found::Byte(byte), expected } => {
                write!(f, "found byte {byte:#04x}, expected {expected}")
            }
            Self::UnterminatedString => f.write_str("string without its closing quote"),
            Self::UnterminatedComment => f.write_str("comment without its closing `*/`"),
            Self::UnclosedSource => f.write_str("source that no `.source_end` ends"),
            Self::UnclosedBrace => f.write_str("brace that is never closed"),
            Self::NoVersion => f.write_str("no PTX module: expected `.version` first"),
            Self::UndefinedName(name) => {
                write!(
                    f,
                    "undefined name `{name}`, expected a register, variable, function or special register"
                )
            }
            Self::UndefinedLabel(name) => {
                write!(f, "undefined label `{name}`, expected a label of this function")
            }
            Self::DuplicateName(name) => write!(f, "`{name}` is already declared in this scope"),
            Self::UnknownType(name) => write!(f, "`.{name}` is no type, expected one such as `.b32`"),
            Self::MalformedNumber(fault) => write!(f, "malformed number: {fault}"),
            Self::MalformedExpression(fault) => write!(f, "constant expression without a value: {fault}"),
            Self::TooMany(what) => write!(f, "too many {what} in one function, expected at most 2^24"),
            Self::TooLong(what, most) => write!(f, "too many {what}, expected at most {most}"),
            Self::ModuleTooLarge => f.write_str("module too large, expected less than 2 GiB"),
        }
    }
}

/// Bytes of a name that messages show. Names can be gigabytes long, and messages are for people.
const NAME_SHOWN_MAX: usize = 80;

/// A name as messages show it: its first bytes, and dots where there are more.
#[cold]
#[must_use]
pub fn shown_name(name: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&name[..name.len().min(NAME_SHOWN_MAX)]).into_owned();
    if name.len() > NAME_SHOWN_MAX { shown + "..." } else { shown }
}

/// A problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Byte offset of the place.
    pub offset: usize,
    /// Number of bytes to underline.
    pub length: usize,
    /// What is wrong.
    pub problem: Problem,
}

impl Diagnostic {
    /// The problem that what stands at `offset` of `text` is not what is expected there.
    #[cold]
    #[must_use]
    pub fn unexpected(text: &[u8], offset: usize, expected: &'static str) -> Self {
        let (found, length) = found_at(text, offset);
        Self::new(offset, length, Problem::Unexpected { found, expected })
    }

    /// A problem with the `length` bytes at `offset`.
    #[must_use]
    pub fn new(offset: usize, length: usize, problem: Problem) -> Self {
        Self { offset, length, problem }
    }
}

/// The token at `offset`, and its length. Names keep their dots, numbers too: `mov.u32`, `%tid.x`, `1.5`.
fn found_at(text: &[u8], offset: usize) -> (Found, usize) {
    let Some(&first) = text.get(offset) else { return (Found::End, 1) };
    let continues = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    let rest = &text[offset + 1..];
    let is_word = continues(first) || first == b'%';
    let length = if is_word { rest.iter().take_while(|&&byte| continues(byte)).count() } else { 0 } + 1;
    if first.is_ascii_graphic() {
        (Found::Token(shown_name(&text[offset..offset + length])), length)
    } else {
        (Found::Byte(first), 1)
    }
}

/// The word at `offset`, as messages show it: letters, digits and dots.
#[cold]
#[must_use]
pub fn word_at(text: &[u8], offset: usize) -> String {
    match found_at(text, offset) {
        (Found::Token(word), _) => word,
        (Found::End | Found::Byte(_), _) => String::new(),
    }
}

/// Everything that is wrong with a module. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

/// The line of a place, cut to what a terminal can show.
struct Excerpt {
    line: usize,
    column: usize,
    text: String,
    /// Bytes of `text` to underline.
    mark: std::ops::Range<usize>,
    is_cut: bool,
}

/// Bytes of a line shown on either side of the place. Lines can be gigabytes long.
const EXCERPT_REACH: usize = 60;

impl Excerpt {
    fn of(text: &[u8], offset: usize, length: usize) -> Self {
        let offset = offset.min(text.len());
        let line_first = memchr::memrchr(b'\n', &text[..offset]).map_or(0, |at| at + 1);
        let line_end = memchr::memchr(b'\n', &text[offset..]).map_or(text.len(), |at| offset + at);
        let first = line_first.max(offset.saturating_sub(EXCERPT_REACH));
        let end = line_end.min(offset + EXCERPT_REACH);
        let printable = |bytes: &[u8]| -> String {
            String::from_utf8_lossy(bytes).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
        };
        let before = printable(&text[first..offset]);
        let marked = printable(&text[offset..end.min(offset + length.max(1)).max(offset)]);
        let after = printable(&text[end.min(offset + length.max(1)).max(offset)..end.max(offset)]);
        let mark = before.len()..before.len() + marked.len();
        Self {
            line: memchr::memchr_iter(b'\n', &text[..line_first]).count() + 1,
            column: offset - line_first + 1,
            text: before + &marked + &after,
            mark,
            is_cut: first != line_first || end != line_end,
        }
    }
}

impl Diagnostics {
    /// One line: file, line, column, problem.
    #[must_use]
    pub fn summary(&self, file: &str, text: &[u8]) -> String {
        let first = &self.0[0];
        let excerpt = Excerpt::of(text, first.offset, first.length);
        format!("{file}:{}:{}: {}", excerpt.line, excerpt.column, first.problem)
    }

    /// Each problem with its line and a caret under the place.
    #[must_use]
    pub fn render(&self, file: &str, text: &[u8], color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut rendered = String::new();
        for diagnostic in &self.0 {
            let excerpt = Excerpt::of(text, diagnostic.offset, diagnostic.length);
            let label = if excerpt.is_cut { format!("column {}", excerpt.column) } else { String::new() };
            let title = diagnostic.problem.to_string();
            let snippet = Snippet::source(excerpt.text.as_str())
                .path(file)
                .line_start(excerpt.line)
                .annotation(AnnotationKind::Primary.span(excerpt.mark.clone()).label(label.as_str()));
            let group = [Level::ERROR.primary_title(title.as_str()).element(snippet)];
            rendered.push_str(&renderer.render(&group));
            rendered.push('\n');
        }
        rendered
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.0[0].offset, self.0[0].problem)
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let text = b"first\n\tadd.s32 %r1, %r2 %r3;\nlast\n";
        let offset = text.windows(3).position(|window| window == b"%r3").unwrap();
        let problem = Problem::Unexpected { found: Found::Token("%r3".into()), expected: "`,` or `;`" };
        let diagnostics = Diagnostics::from(Diagnostic::new(offset, 3, problem));
        assert_eq!(diagnostics.summary("k.ptx", text), "k.ptx:2:19: found `%r3`, expected `,` or `;`");
        let rendered = diagnostics.render("k.ptx", text, false);
        assert!(rendered.contains("k.ptx:2:19"), "{rendered}");
        let lines: Vec<&str> = rendered.lines().collect();
        let shown = lines.iter().position(|line| line.contains("add.s32")).unwrap();
        assert_eq!(lines[shown].find("%r3"), lines[shown + 1].find("^^^"), "{rendered}");
    }

    #[test]
    fn a_gigantic_line_is_cut() {
        let mut text = vec![b'x'; 1 << 20];
        text[1 << 19] = b'?';
        let problem = Problem::Unexpected { found: Found::Token("?".into()), expected: "`;`" };
        let rendered = Diagnostics::from(Diagnostic::new(1 << 19, 1, problem)).render("k.ptx", &text, false);
        assert!(rendered.len() < 1000, "{} bytes", rendered.len());
        assert!(rendered.contains(&format!("column {}", (1 << 19) + 1)), "{rendered}");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_all_the_same() {
        let text = [b'a', 0xff, 0, b'\r', b'\n'];
        let problem = Problem::Unexpected { found: Found::Byte(0xff), expected: "a directive" };
        let rendered = Diagnostics::from(Diagnostic::new(1, 1, problem)).render("k.ptx", &text, false);
        assert!(rendered.contains("found byte 0xff, expected a directive"), "{rendered}");
    }

    #[test]
    fn the_end_of_the_text_is_a_place() {
        let problem = Problem::Unexpected { found: Found::End, expected: "`}`" };
        let rendered = Diagnostics::from(Diagnostic::new(4, 1, problem)).render("k.ptx", b"abc\n", false);
        assert!(rendered.contains("text ends where `}` is expected"), "{rendered}");
    }
}
