//! PTX text taken apart by brackets and semicolons alone.
//!
//! A second opinion on what stands in a module. It shares no code with the reader, knows no opcode, and trusts its
//! input: what it is used on, `ptxas` has accepted. Comments and blanks are dropped; a `.loc` ends with its line.

use std::collections::BTreeSet;
use std::ops::Range;

/// A word, a string, or one byte of punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// First byte.
    pub first: usize,
    /// One past the last byte.
    pub end: usize,
    /// Line, counted from 0.
    pub line: usize,
}

/// Whether `byte` belongs to a word: a name, a part of a mnemonic or a number.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// The tokens of `text`.
#[must_use]
pub fn tokens(text: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 0);
    while at < text.len() {
        let first = at;
        let rest = &text[at..];
        if text[at].is_ascii_whitespace() || text[at] == 0 || text[at] == 0x0b {
            at += 1;
        } else if rest.starts_with(b"//") || text[at] == b'#' {
            at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4);
        } else if text[at] == b'"' {
            at += 1;
            while at < text.len() && text[at] != b'"' {
                at += if text[at] == b'\\' { 2 } else { 1 };
            }
            at = (at + 1).min(text.len());
            tokens.push(Token { first, end: at, line });
        } else {
            at += rest.iter().take_while(|&&byte| is_word(byte)).count().max(1);
            tokens.push(Token { first, end: at, line });
        }
        line += text[first..at].iter().filter(|&&byte| byte == b'\n').count();
    }
    tokens
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statement {
    /// An instruction: its mnemonic without blanks, after an `@` if it is guarded.
    Instruction(String),
    /// A `.loc`, its words separated by blanks.
    Loc(String),
    /// A `.pragma`, likewise.
    Pragma(String),
    /// A label.
    Label(String),
    /// Declarations, tables, other directives: their first word.
    Directive(String),
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Body {
    /// From its opening brace to after its closing one.
    pub range: Range<usize>,
    /// What stands in it, scopes flattened.
    pub statements: Vec<Statement>,
}

impl Body {
    /// The mnemonics of its instructions.
    pub fn instructions(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter_map(|statement| match statement {
            Statement::Instruction(mnemonic) => Some(mnemonic.as_str()),
            _ => None,
        })
    }

    /// What is bound to a place, with the number of instructions before it.
    pub fn places(&self, is_wanted: impl Fn(&Statement) -> bool) -> Vec<(usize, &Statement)> {
        let mut before = 0;
        let mut places = Vec::new();
        for statement in &self.statements {
            if matches!(statement, Statement::Instruction(_)) {
                before += 1;
            } else if is_wanted(statement) {
                places.push((before, statement));
            }
        }
        places
    }
}

/// A module.
#[derive(Clone, Debug)]
pub struct Plain<'t> {
    text: &'t [u8],
    /// Its functions with bodies.
    pub bodies: Vec<Body>,
    /// Every word inside `.section` braces.
    pub section_words: BTreeSet<&'t [u8]>,
}

impl<'t> Plain<'t> {
    /// Takes `text` apart.
    #[must_use]
    pub fn of(text: &'t [u8]) -> Self {
        let tokens = tokens(text);
        let mut walk = Walk { text, tokens: &tokens, at: 0 };
        let mut plain = Self { text, bodies: Vec::new(), section_words: BTreeSet::new() };
        while walk.at < tokens.len() {
            match (walk.word(0), walk.word(1)) {
                (b".", b"entry" | b"func") => plain.bodies.extend(walk.function()),
                (b".", b"section") => {
                    walk.skip_to(b"{");
                    let first = walk.at;
                    walk.skip_braces();
                    let words = tokens[first..walk.at].iter().map(|token| &text[token.first..token.end]);
                    plain.section_words.extend(words.filter(|word| is_word(word[0])));
                }
                (b"{", _) => walk.skip_braces(),
                // `@@DWARF`: what old producers put before lines that are none of the module's.
                (b"@", b"@") => walk.skip_line(),
                _ => walk.at += 1,
            }
        }
        plain
    }

    /// The text outside bodies, in order, without the blanks before each brace.
    #[must_use]
    pub fn outside(&self) -> Vec<&'t [u8]> {
        let ends = self.bodies.iter().map(|body| body.range.start).chain([self.text.len()]);
        let firsts = [0].into_iter().chain(self.bodies.iter().map(|body| body.range.end));
        let last = self.bodies.len();
        let chunk = |(index, (first, end)): (usize, (usize, usize))| {
            let chunk = &self.text[first..end];
            if index == last { chunk } else { chunk.trim_ascii_end() }
        };
        firsts.zip(ends).enumerate().map(chunk).collect()
    }

    /// Whether a debug section, or another one, names `label`.
    #[must_use]
    pub fn is_named_in_section(&self, label: &str) -> bool {
        self.section_words.contains(label.as_bytes())
    }
}

struct Walk<'a, 't> {
    text: &'t [u8],
    tokens: &'a [Token],
    at: usize,
}

impl<'t> Walk<'_, 't> {
    /// The token `ahead` further on; empty past the end.
    fn word(&self, ahead: usize) -> &'t [u8] {
        self.tokens.get(self.at + ahead).map_or(&[], |token| &self.text[token.first..token.end])
    }

    fn skip_to(&mut self, wanted: &[u8]) {
        while self.at < self.tokens.len() && self.word(0) != wanted {
            self.at += 1;
        }
    }

    /// To the first token of the next line.
    fn skip_line(&mut self) {
        let line = self.tokens[self.at].line;
        while self.tokens.get(self.at).is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    /// From an opening brace to after its closing one.
    fn skip_braces(&mut self) {
        let mut depth = 0usize;
        loop {
            depth += usize::from(self.word(0) == b"{");
            depth -= usize::from(self.word(0) == b"}");
            self.at += 1;
            if depth == 0 || self.at >= self.tokens.len() {
                return;
            }
        }
    }

    /// To after the semicolon that ends the statement here.
    fn skip_statement(&mut self) {
        while self.at < self.tokens.len() && self.word(0) != b";" {
            if self.word(0) == b"{" { self.skip_braces() } else { self.at += 1 }
        }
        self.at += 1;
    }

    /// From `.entry` or `.func`: the body, if it has one.
    fn function(&mut self) -> Option<Body> {
        loop {
            match (self.word(0), self.word(1)) {
                (b";", _) | (b"", _) => {
                    self.at += 1;
                    return None;
                }
                (b".", b"pragma") => self.skip_statement(),
                (b"{", _) => break,
                _ => self.at += 1,
            }
        }
        let first = self.tokens[self.at].first;
        let mut statements = Vec::new();
        let mut depth = 0usize;
        while self.at < self.tokens.len() {
            match self.word(0) {
                b"{" => {
                    depth += 1;
                    self.at += 1;
                }
                b"}" => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                b";" => self.at += 1,
                _ => statements.push(self.statement()),
            }
        }
        Some(Body { range: first..self.tokens[self.at - 1].end, statements })
    }

    fn statement(&mut self) -> Statement {
        let first = self.at;
        match (self.word(0), self.word(1)) {
            (b".", b"loc" | b"loc_intermediate") => {
                self.skip_line();
                Statement::Loc(self.joined(first, " "))
            }
            (b".", b"pragma") => {
                self.skip_statement();
                Statement::Pragma(self.joined(first, " "))
            }
            (b".", word) => {
                self.skip_statement();
                Statement::Directive(String::from_utf8_lossy(word).into_owned())
            }
            (name, b":") if self.word(2) == b"." && is_table(self.word(3)) => {
                self.skip_statement();
                Statement::Directive(String::from_utf8_lossy(name).into_owned())
            }
            (name, b":") => {
                self.at += 2;
                Statement::Label(String::from_utf8_lossy(name).into_owned())
            }
            _ => self.instruction(),
        }
    }

    fn instruction(&mut self) -> Statement {
        let mut mnemonic = String::new();
        if self.word(0) == b"@" {
            mnemonic.push('@');
            self.at += if self.word(1) == b"!" { 3 } else { 2 };
        }
        let first = self.at;
        self.at += 1;
        while matches!(self.word(0), b"." | b":") {
            self.at += if self.word(1) == b":" { 1 } else { 2 };
        }
        mnemonic.push_str(&self.joined(first, ""));
        self.skip_statement();
        Statement::Instruction(mnemonic)
    }

    fn joined(&self, first: usize, between: &str) -> String {
        let words = self.tokens[first..self.at].iter().map(|token| &self.text[token.first..token.end]);
        words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(between)
    }
}

fn is_table(word: &[u8]) -> bool {
    matches!(word, b"branchtargets" | b"calltargets" | b"callprototype")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart() {
        let text = b".version 8.0 // { not a body\n.target sm_90\n.global .u32 g[2] = {1, 2};\n.func p(.reg .u32 a);\n\
            .visible .entry k(.param .u64 p) .pragma \"a;{\"; .maxntid 1\n{ .reg .b32 %r<3>; /* ; */ L: { \
            @!%p1 cp.async .bulk.shared::cta.x [%r1], {%r1, %r2};\n.loc 1 2 3, function_name A, inlined_at 1 1 1\n bra L; }\n\
            t: .branchtargets L; ; .pragma \"n\"; ret; }\n.section .debug_x { .b32 L\n }\n";
        let plain = Plain::of(text);
        assert_eq!(plain.bodies.len(), 1);
        let body = &plain.bodies[0];
        assert_eq!(body.instructions().collect::<Vec<_>>(), ["@cp.async.bulk.shared::cta.x", "bra", "ret"]);
        let is_loc = |statement: &Statement| matches!(statement, Statement::Loc(_));
        let loc = Statement::Loc(". loc 1 2 3 , function_name A , inlined_at 1 1 1".to_owned());
        assert_eq!(body.places(is_loc), [(1, &loc)]);
        assert_eq!(
            body.places(|s| matches!(s, Statement::Label(_))),
            [(0, &Statement::Label("L".to_owned()))]
        );
        assert!(plain.is_named_in_section("L") && !plain.is_named_in_section("K"));
        let outside = plain.outside();
        assert_eq!(outside.len(), 2);
        assert!(outside[0].ends_with(b".maxntid 1") && outside[1].starts_with(b"\n.section"));
    }
}
