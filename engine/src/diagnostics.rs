//! Diagnostics: what is wrong with a module, where, and what was expected instead.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A byte that cannot stand here.
    Unexpected {
        /// The byte; none at the end of the text.
        found: Option<u8>,
        /// What could stand here.
        expected: &'static str,
    },
    /// A string without its closing quote.
    UnterminatedString,
    /// A block comment without its end.
    UnterminatedComment,
    /// An opening brace without its closing one.
    UnclosedBrace,
    /// The text does not start as a PTX module does.
    NoVersion,
    /// A name that is no register, label, variable, function or special register here.
    UndefinedName(String),
    /// A branch to a label that does not exist.
    UndefinedLabel(String),
    /// A second declaration of a name in one scope.
    DuplicateName(String),
    /// Letters behind `.reg` that are no type.
    UnknownType(String),
    /// A number that does not fit 64 bits or is none.
    MalformedNumber,
    /// A constant expression without a value, such as a division by zero.
    MalformedExpression,
    /// A function uses more registers, names or literals than an operand can number.
    TooMany(&'static str),
    /// An instruction with more of something than its row counts.
    TooLong(&'static str, usize),
    /// A module of 2 GiB and more.
    ModuleTooLarge,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { found: None, expected } => write!(f, "text ends where {expected} is expected"),
            Self::Unexpected { found: Some(byte), expected } if byte.is_ascii_graphic() => {
                write!(f, "found `{}`, expected {expected}", char::from(*byte))
            }
            Self::Unexpected { found: Some(byte), expected } => {
                write!(f, "found byte {byte:#04x}, expected {expected}")
            }
            Self::UnterminatedString => f.write_str("string without its closing quote"),
            Self::UnterminatedComment => f.write_str("comment without its closing `*/`"),
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
            Self::MalformedNumber => f.write_str("malformed number, expected one of at most 64 bits"),
            Self::MalformedExpression => f.write_str("constant expression without a value"),
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
    /// A problem with the `length` bytes at `offset`.
    #[must_use]
    pub fn new(offset: usize, length: usize, problem: Problem) -> Self {
        Self { offset, length, problem }
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
        let problem = Problem::Unexpected { found: Some(b'%'), expected: "`,` or `;`" };
        let diagnostics = Diagnostics::from(Diagnostic::new(offset, 3, problem));
        assert_eq!(diagnostics.summary("k.ptx", text), "k.ptx:2:19: found `%`, expected `,` or `;`");
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
        let problem = Problem::Unexpected { found: Some(b'?'), expected: "`;`" };
        let rendered = Diagnostics::from(Diagnostic::new(1 << 19, 1, problem)).render("k.ptx", &text, false);
        assert!(rendered.len() < 1000, "{} bytes", rendered.len());
        assert!(rendered.contains(&format!("column {}", (1 << 19) + 1)), "{rendered}");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_all_the_same() {
        let text = [b'a', 0xff, 0, b'\r', b'\n'];
        let problem = Problem::Unexpected { found: Some(0xff), expected: "a directive" };
        let rendered = Diagnostics::from(Diagnostic::new(1, 1, problem)).render("k.ptx", &text, false);
        assert!(rendered.contains("found byte 0xff, expected a directive"), "{rendered}");
    }

    #[test]
    fn the_end_of_the_text_is_a_place() {
        let problem = Problem::Unexpected { found: None, expected: "`}`" };
        let rendered = Diagnostics::from(Diagnostic::new(4, 1, problem)).render("k.ptx", b"abc\n", false);
        assert!(rendered.contains("text ends where `}` is expected"), "{rendered}");
    }
}
