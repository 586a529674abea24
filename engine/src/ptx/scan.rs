//! The first look at a module: what is declared at module level, and where its function bodies are.
//!
//! Runs at memory speed over the bodies, which it only brackets, so that they can be read on every core; takes the
//! text between them apart far enough to know each name that a body may use.

use super::body::BodyEnds;
use super::cursor::{Cursor, at_the_missing_mark};
use super::declaration::ModuleRegisters;
use super::numbered::{digits_of, member_of};
use crate::diagnostics::{Diagnostic, Found, NumberFault, Problem, shown_name};
use crate::forms::Dialect;
use ahash::AHashSet;
use ptxopt_components::ids::Span;

/// A function with a body.
#[derive(Clone, Copy, Debug)]
pub struct FunctionText {
    /// From its first directive up to the brace.
    pub header: Span,
    /// Its name.
    pub name: Span,
    /// Its body, both braces included.
    pub body: Span,
    /// Whether it is an `.entry`.
    pub is_entry: bool,
    /// Number of semicolons in the body: no instruction is without one.
    pub inst_count_max: usize,
}

/// Functions of one module that are part of a batch.
#[derive(Clone, Copy)]
pub struct Part<'m> {
    /// The module.
    pub module: &'m Module<'m>,
    /// The functions, in textual order.
    pub functions: &'m [FunctionText],
}

/// A module's text, taken apart.
pub struct Module<'t> {
    /// The whole text.
    pub text: &'t [u8],
    /// What `.target` says about the meaning of instructions.
    pub dialect: Dialect,
    /// `.version`, as major and minor number.
    pub version: (u32, u32),
    /// Bytes of the `.target` line's operands.
    pub target: Span,
    /// The number of the processor that `.target` names, 90 of `sm_90a`; 0 where it names none.
    pub sm: u32,
    /// Whether `.target` names `debug`.
    pub is_debug: bool,
    /// End of the last of `.version`, `.target` and `.address_size`.
    pub head_end: usize,
    /// Whether a `.pragma` at module level says that no loop is unrolled.
    pub is_kept_rolled: bool,
    /// Functions with bodies, in textual order.
    pub functions: Vec<FunctionText>,
    /// Registers declared at module scope.
    pub(super) registers: ModuleRegisters<'t>,
    /// Every word of the module-level text: variables, functions, and the labels that debug sections name.
    names: AHashSet<&'t [u8]>,
    /// Words that stand for a family, `word<count>`: `word0`, `word1`, ...
    families: AHashSet<&'t [u8]>,
    /// Every word that ends in digits, without them.
    stems: AHashSet<&'t [u8]>,
    /// Functions with `.noreturn`, by name.
    never_returning: AHashSet<&'t [u8]>,
}

impl<'t> Module<'t> {
    /// Whether some function of the module is said to never return.
    #[inline]
    #[must_use]
    pub fn has_never_returning(&self) -> bool {
        !self.never_returning.is_empty()
    }

    /// Whether the function `name` is said to never return.
    #[must_use]
    pub fn never_returns(&self, name: &[u8]) -> bool {
        self.never_returning.contains(name)
    }

    /// Whether the module-level text holds `name` as a word, or as a member of a family.
    #[inline]
    #[must_use]
    pub fn mentions(&self, name: &[u8]) -> bool {
        self.names.contains(name) || (!self.families.is_empty() && self.is_of_family(name))
    }

    /// Whether the module-level text holds a word that is `prefix` and a number, or `prefix` as that of a family.
    #[must_use]
    pub fn mentions_member(&self, prefix: &[u8]) -> bool {
        self.stems.contains(prefix) || self.families.contains(prefix)
    }

    #[cold]
    fn is_of_family(&self, name: &[u8]) -> bool {
        member_of(name).is_some_and(|(split, _)| self.families.contains(&name[..split]))
    }

    /// Takes `text` apart.
    ///
    /// # Errors
    /// Text that is no PTX module, or whose braces, strings or comments do not close.
    pub fn scan(text: &'t [u8]) -> Result<Self, Diagnostic> {
        if text.len() >= i32::MAX as usize {
            return Err(Diagnostic::new(0, 1, Problem::ModuleTooLarge));
        }
        let module = Self {
            text,
            dialect: Dialect::default(),
            sm: 0,
            version: (0, 0),
            target: Span::default(),
            is_debug: false,
            head_end: 0,
            is_kept_rolled: false,
            functions: Vec::new(),
            registers: ModuleRegisters::default(),
            names: AHashSet::new(),
            families: AHashSet::new(),
            stems: AHashSet::new(),
            never_returning: AHashSet::new(),
        };
        let mut scanner = Scanner { cursor: Cursor::new(text, 0), bodies: BodyEnds::new(text), module };
        scanner.module_level().map_err(|error| at_the_missing_mark(text, 0, error))?;
        let mut module = scanner.module;
        let stem = |word: &&'t [u8]| {
            let digits = digits_of(word);
            (digits < word.len()).then(|| &word[..digits])
        };
        module.stems = module.names.iter().filter_map(stem).collect();
        Ok(module)
    }
}

struct Scanner<'t> {
    cursor: Cursor<'t>,
    bodies: BodyEnds<'t>,
    module: Module<'t>,
}

impl<'t> Scanner<'t> {
    fn module_level(&mut self) -> Result<(), Diagnostic> {
        let mut version_seen = false;
        loop {
            self.cursor.skip_blank()?;
            if self.cursor.is_at_end() {
                let no_version = || Diagnostic::new(0, 1, Problem::NoVersion);
                return if version_seen { Ok(()) } else { Err(no_version()) };
            }
            let first = self.cursor.pos;
            match self.cursor.peek() {
                b'.' => {}
                // `@@DWARF` lines of old producers.
                b'@' if self.cursor.peek_at(1) == b'@' => {
                    self.words_to_line_end();
                    continue;
                }
                _ if !version_seen => return Err(Diagnostic::new(first, 1, Problem::NoVersion)),
                _ => return Err(self.cursor.unexpected("a directive")),
            }
            let directive = self.directive();
            if !version_seen && directive != b"version" {
                return Err(Diagnostic::new(first, directive.len() + 1, Problem::NoVersion));
            }
            match directive {
                b"version" => {
                    version_seen = true;
                    self.version()?;
                }
                b"target" => self.target()?,
                b"address_size" => self.skip_number()?,
                b"pragma" => {
                    self.pragma()?;
                    let said = &self.cursor.text[first..self.cursor.pos];
                    self.module.is_kept_rolled |= memchr::memmem::find(said, b"\"nounroll\"").is_some();
                }
                b"file" => self.file()?,
                b"loc" => self.words_to_line_end(),
                b"section" => self.section()?,
                b"nv_intermediate_source_section" | b"metadata_section" => self.nested_section()?,
                _ => self.declaration(first, directive).map_err(|error| blame(error, first, directive))?,
            }
            if matches!(directive, b"version" | b"target" | b"address_size") {
                self.module.head_end = self.cursor.text[..self.cursor.pos].trim_ascii_end().len();
            }
        }
    }

    /// The word after the dot here.
    fn directive(&mut self) -> &'t [u8] {
        self.cursor.pos += 1;
        let first = self.cursor.name();
        &self.cursor.text[first..self.cursor.pos]
    }

    fn skip_number(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        if !Cursor::is_digit(self.cursor.peek()) {
            return Err(self.cursor.unexpected("a number"));
        }
        self.cursor.name();
        Ok(())
    }

    fn number(&mut self) -> Result<u32, Diagnostic> {
        let first = self.cursor.pos;
        self.cursor.skip_digits();
        if self.cursor.pos == first {
            return Err(self.cursor.unexpected("a number"));
        }
        let digits = &self.cursor.text[first..self.cursor.pos];
        std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or_else(|| {
            let problem = Problem::MalformedNumber(NumberFault::Count);
            Diagnostic::new(first, digits.len(), problem)
        })
    }

    fn version(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        let major = self.number()?;
        self.cursor.expect(b'.', "`.` and a minor version")?;
        self.module.version = (major, self.number()?);
        self.module.dialect.wide_conversions_keep = self.module.version < (1, 5);
        Ok(())
    }

    /// `.target a, b, c`: a list without a semicolon.
    fn target(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        let first = self.cursor.pos;
        loop {
            self.cursor.skip_blank()?;
            let word_first = self.cursor.name();
            let word = &self.cursor.text[word_first..self.cursor.pos];
            match word {
                b"" => return Err(self.cursor.unexpected("a target such as `sm_90`")),
                b"debug" => self.module.is_debug = true,
                [b's', b'm', b'_', number @ ..] => {
                    let digits = number.iter().take_while(|byte| byte.is_ascii_digit());
                    self.module.sm = digits.fold(0, |sm: u32, digit| {
                        sm.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
                    });
                    self.module.dialect.flushes |= matches!(number, [b'1', digit] if digit.is_ascii_digit());
                }
                _ => {}
            }
            let end = self.cursor.pos;
            self.cursor.skip_blank()?;
            if !self.cursor.eat(b',') {
                self.module.target = Span::between(first, end);
                return Ok(());
            }
        }
    }

    /// `.file n "name" [, time, size]`.
    fn file(&mut self) -> Result<(), Diagnostic> {
        self.skip_number()?;
        self.cursor.skip_blank()?;
        if self.cursor.peek() != b'"' {
            return Err(self.cursor.unexpected("a file name"));
        }
        self.cursor.skip_string()?;
        let mut ahead = self.cursor;
        ahead.skip_blank()?;
        while ahead.eat(b',') {
            ahead.skip_blank()?;
            ahead.name();
            self.cursor = ahead;
            ahead.skip_blank()?;
        }
        Ok(())
    }

    fn section(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        while self.cursor.peek() != b'{' {
            if self.cursor.is_at_end() {
                return Err(self.cursor.unexpected("`{`"));
            }
            self.word()?;
        }
        let open = self.cursor.pos;
        self.cursor.pos += 1;
        loop {
            self.cursor.skip_data();
            self.cursor.skip_blank()?;
            if self.cursor.eat(b'}') {
                return Ok(());
            }
            if self.cursor.is_at_end() {
                return Err(Diagnostic::new(open, 1, Problem::UnclosedBrace));
            }
            self.word()?;
        }
    }

    /// `.nv_intermediate_source_section { .code_block { ... .source_begin, lines of any text, .source_end } ... }`
    /// (ISA 9.4): the sources that `.loc_intermediate` points into. `.metadata_section { ... }`, which says what the marks of
    /// `trace.mark` are of.
    fn nested_section(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip_blank()?;
        let open = self.cursor.pos;
        self.cursor.expect(b'{', "`{`")?;
        let mut depth = 1;
        while depth > 0 {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                _ if self.cursor.is_at_end() => return Err(Diagnostic::new(open, 1, Problem::UnclosedBrace)),
                b'.' => {
                    let first = self.cursor.pos;
                    if self.directive() == b"source_begin" {
                        self.source_lines(first)?;
                    }
                }
                mark @ (b'{' | b'}') => {
                    depth += if mark == b'{' { 1 } else { -1 };
                    self.cursor.pos += 1;
                }
                _ => self.word()?,
            }
        }
        Ok(())
    }

    /// Moves past the line that ends the source whose first directive stands at `first`.
    fn source_lines(&mut self, first: usize) -> Result<(), Diagnostic> {
        self.cursor.skip_line();
        while !self.cursor.is_at_end() {
            let line = self.cursor.pos + 1;
            self.cursor.pos = line;
            self.cursor.skip_line();
            if self.cursor.text[line..self.cursor.pos].trim_ascii() == b".source_end" {
                return Ok(());
            }
        }
        Err(Diagnostic::new(first, ".source_begin".len(), Problem::UnclosedSource))
    }

    /// Moves past one word, number, string or punctuation byte and the blanks after it; remembers words.
    fn word(&mut self) -> Result<(), Diagnostic> {
        match self.cursor.peek() {
            b'"' => self.cursor.skip_string()?,
            byte if Cursor::starts_name(byte) => {
                let first = self.cursor.name();
                let word = &self.cursor.text[first..self.cursor.pos];
                self.module.names.insert(word);
                self.cursor.skip_blank()?;
                if self.cursor.peek() == b'<' {
                    self.module.families.insert(word);
                }
            }
            byte if Cursor::is_digit(byte) || byte == b'.' => {
                self.cursor.pos += 1;
                self.cursor.name();
            }
            _ => self.cursor.pos += 1,
        }
        self.cursor.skip_blank()
    }

    fn words_to_line_end(&mut self) {
        let first = self.cursor.pos;
        self.cursor.skip_line();
        let mut line = Cursor::new(&self.cursor.text[..self.cursor.pos], first);
        while !line.is_at_end() {
            let word = line.name();
            if line.pos > word {
                self.module.names.insert(&line.text[word..line.pos]);
            } else {
                line.pos += 1;
            }
        }
    }

    /// A variable, a prototype or a function; `first` is where its first directive stands.
    fn declaration(&mut self, first: usize, mut directive: &'t [u8]) -> Result<(), Diagnostic> {
        loop {
            match directive {
                b"entry" | b"func" => return self.function(first, directive == b"entry"),
                b"visible" | b"extern" | b"weak" | b"common" => {}
                _ => return self.variable(directive),
            }
            self.cursor.skip_blank()?;
            if self.cursor.peek() == b'.' {
                directive = self.directive();
            } else {
                return Err(self.cursor.unexpected("a directive"));
            }
        }
    }

    /// Anything that ends with a semicolon outside braces.
    fn variable(&mut self, directive: &[u8]) -> Result<(), Diagnostic> {
        let first = self.cursor.pos;
        let mut open = Vec::new();
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b';' if open.is_empty() => break,
                b'{' => {
                    open.push(self.cursor.pos);
                    self.cursor.pos += 1;
                }
                b'}' => {
                    if open.pop().is_none() {
                        return Err(self.cursor.unexpected("`;`"));
                    }
                    self.cursor.pos += 1;
                }
                _ if self.cursor.is_at_end() => {
                    return Err(match open.pop() {
                        Some(at) => Diagnostic::new(at, 1, Problem::UnclosedBrace),
                        None => self.cursor.unexpected("`;`"),
                    });
                }
                _ => self.word()?,
            }
        }
        if directive == b"reg" {
            self.module.registers.declare(self.cursor.text, first)?;
        }
        self.cursor.pos += 1;
        Ok(())
    }

    /// A prototype or function, from after `.entry` or `.func`.
    fn function(&mut self, first: usize, is_entry: bool) -> Result<(), Diagnostic> {
        let mut name = Span::default();
        // The assembler takes a prototype without its semicolon.
        let may_end = !is_entry;
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b';' => {
                    self.cursor.pos += 1;
                    return Ok(());
                }
                b'{' => break,
                b'(' => self.parentheses()?,
                b'.' => {
                    let at = self.cursor.pos;
                    match self.directive() {
                        b"pragma" => self.pragma()?,
                        b"noreturn" => {
                            self.module.never_returning.insert(&self.cursor.text[name.range()]);
                        }
                        word if may_end && !name.is_empty() && follows_a_prototype(word) => {
                            self.cursor.pos = at;
                            return Ok(());
                        }
                        _ => {}
                    }
                }
                byte if Cursor::starts_name(byte) => {
                    let at = self.cursor.name();
                    self.module.names.insert(&self.cursor.text[at..self.cursor.pos]);
                    if name.is_empty() {
                        name = Span::between(at, self.cursor.pos);
                    }
                }
                _ if self.cursor.is_at_end() => {
                    let is_prototype = may_end && !name.is_empty();
                    return if is_prototype { Ok(()) } else { Err(self.cursor.unexpected("`{` or `;`")) };
                }
                _ => self.cursor.pos += 1,
            }
        }
        if name.is_empty() {
            return Err(self.cursor.unexpected("the function's name"));
        }
        let header = Span::between(first, self.cursor.pos);
        let open = self.cursor.pos;
        self.cursor.pos = self.bodies.end(open)?;
        let body = Span::between(open, self.cursor.pos);
        let inst_count_max = memchr::memchr_iter(b';', &self.cursor.text[body.range()]).count();
        self.module.functions.push(FunctionText { header, name, body, is_entry, inst_count_max });
        Ok(())
    }

    /// The strings of a `.pragma` in a header, up to and with its semicolon.
    fn pragma(&mut self) -> Result<(), Diagnostic> {
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b'"' => self.cursor.skip_string()?,
                b',' => self.cursor.pos += 1,
                _ => return self.cursor.expect(b';', "`;`"),
            }
        }
    }

    /// A parenthesised list of a header; its names are the function's own.
    fn parentheses(&mut self) -> Result<(), Diagnostic> {
        let mut depth = 0usize;
        loop {
            self.cursor.skip_words();
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'{' | b'}' | b';' => return Err(self.cursor.unexpected("`)`")),
                _ if self.cursor.is_at_end() => return Err(self.cursor.unexpected("`)`")),
                _ => {}
            }
            self.cursor.pos += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// Words that may start a declaration.
const DECLARATIONS: &[&[u8]] = &[
    b"alias",
    b"align",
    b"attribute",
    b"common",
    b"const",
    b"entry",
    b"extern",
    b"func",
    b"global",
    b"local",
    b"param",
    b"pragma",
    b"reg",
    b"shared",
    b"surf",
    b"tex",
    b"visible",
    b"weak",
];

/// Whether a word at module level ends the prototype before it, which needs no semicolon then: it stands in no header.
fn follows_a_prototype(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 13] = [
        b"alias", b"common", b"const", b"entry", b"extern", b"file", b"func", b"global", b"section",
        b"shared", b"tex", b"visible", b"weak",
    ];
    WORDS.contains(&word)
}

/// What is wrong with a declaration that does not end: its directive, where that is none. One that the ISA gains
/// one day is copied through as long as it ends with a semicolon.
fn blame(error: Diagnostic, first: usize, directive: &[u8]) -> Diagnostic {
    if DECLARATIONS.contains(&directive) {
        return error;
    }
    let found = Found::Token(format!(".{}", shown_name(directive)));
    let problem = Problem::Unexpected { found, expected: "a directive of PTX" };
    Diagnostic::new(first, directive.len() + 1, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_90, debug\n.address_size 64\n";

    fn bodies(text: &str) -> Vec<String> {
        let module = Module::scan(text.as_bytes()).unwrap();
        module.functions.iter().map(|f| text[f.body.range()].to_owned()).collect()
    }

    #[test]
    fn bodies_end_at_their_own_brace() {
        let tricky = "{ // }\n /* } */ { ret; } .pragma \"}\\\"}\"; mov.b64 {a,b}, c; }";
        let text = format!("{HEAD}.visible .entry k(.param .u64 a)\n{tricky}\n.func f {{ ret; }}");
        assert_eq!(bodies(&text), [tricky, "{ ret; }"]);
    }

    #[test]
    fn a_prototype_needs_no_semicolon() {
        for after in
            ["", ".visible .entry k() { ret; }", ".func h() { ret; }", ".global .b32 x;", ".file 1 \"a\""]
        {
            let text =
                format!(".version 8.0\n.target sm_90\n.extern .func f(.param .b32 m) .noreturn\n{after}");
            let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let names: Vec<&str> =
                module.functions.iter().map(|function| &text[function.name.range()]).collect();
            let expected: &[&str] = if after.contains(" k(") {
                &["k"]
            } else if after.contains(" h(") {
                &["h"]
            } else {
                &[]
            };
            assert_eq!(names, expected, "{text}");
            assert!(module.functions.iter().all(|function| function.is_entry == after.contains(".entry")));
        }
        for text in [
            ".version 8.0 .entry k(.param .b32 m)",
            ".version 8.0 .func",
            ".version 8.0 .func (.param .b32 r)",
        ] {
            assert!(Module::scan(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn pragmas_in_a_header_end_no_prototype() {
        let text = format!(
            "{HEAD}.entry k() .maxntid 128, 1, 1 .pragma \"a;b\", \"c\"; {{ ret; }}\n.func p (.reg .u32 a);"
        );
        assert_eq!(bodies(&text), ["{ ret; }"]);
    }

    #[test]
    fn targets_and_versions_are_read() {
        let module = Module::scan(HEAD.as_bytes()).unwrap();
        assert_eq!(module.version, (8, 0));
        assert!(module.is_debug && !module.dialect.flushes);
        let old = Module::scan(b".version 1.4\n.target sm_13, map_f64_to_f32\n").unwrap();
        assert!(old.dialect.flushes && !old.is_debug && old.dialect.wide_conversions_keep);
        let later = Module::scan(b".version 1.5\n.target sm_13\n").unwrap();
        assert!(later.dialect.flushes && !later.dialect.wide_conversions_keep);
        assert_eq!((module.sm, old.sm), (90, 13));
        let new = Module::scan(b".version 8.7\n.target sm_100a\n").unwrap();
        assert!(new.sm == 100 && !new.dialect.flushes);
    }

    #[test]
    fn functions_that_never_return_are_known_by_their_headers() {
        let text = ".version 8.0\n.target sm_80\n.extern .func a (.param .b32 x) .noreturn;\n// .func b () .noreturn\n\
                    .func c () .noreturn { ret; }\n.func d () { ret; }\n.global .b32 e;";
        let module = Module::scan(text.as_bytes()).unwrap();
        assert!(module.has_never_returning());
        let found = [b"a", b"b", b"c", b"d", b"e"].map(|name| module.never_returns(name));
        assert_eq!(found, [true, false, true, false, false]);
    }

    #[test]
    fn words_of_sections_and_variables_are_remembered() {
        let text = format!(
            "{HEAD}.global .u32 g[2] = {{ 1, other }};\n.section .debug_info {{ .b32 $L__tmp1-$L__x\n }}"
        );
        let module = Module::scan(text.as_bytes()).unwrap();
        for name in ["g", "other", "$L__tmp1", "$L__x"] {
            assert!(module.mentions(name.as_bytes()), "{name}");
        }
        assert!(!module.mentions(b"$L__tmp2"));
    }

    /// Letters are a name only where they begin neither in a number nor in a directive.
    #[test]
    fn what_directives_and_numbers_hold_is_no_name() {
        let data = ".b8 1,0x2a,0x3b\n.b64 a/* x */+b // y\n.b8.c 5d e 6.f,%g,.h\t-i 7\u{0}j";
        let text = format!("{HEAD}.section .debug_str {{ {data}k }}");
        let module = Module::scan(text.as_bytes()).unwrap();
        let found: Vec<char> =
            ('a'..='z').filter(|name| module.mentions(name.to_string().as_bytes())).collect();
        assert_eq!(found, ['a', 'b', 'e', 'i']);
        assert!(module.mentions(b"%g") && module.mentions(b"jk") && !module.mentions(b"x2a"));
    }

    /// Sources of another language are text: only the line that ends them counts.
    #[test]
    fn intermediate_sources_are_passed_over() {
        let block = ".code_block { .ir_name: \"}\" .sourceFileName: 2\n .source_begin\n a } { \"unb // x /* y\n.source_ending }\n\t.source_end \n}";
        let after = ".entry k() { ret; }";
        let text = format!("{HEAD}.nv_intermediate_source_section {{ {block} /* }} */ {block} }}\n{after}");
        let module = Module::scan(text.as_bytes()).unwrap();
        assert_eq!(module.functions.len(), 1);
        assert_eq!(&text[module.functions[0].header.range()], ".entry k() ");
        for section in [".nv_intermediate_source_section {}", ".metadata_section { .metadata_domain 1 }"] {
            let text = format!("{HEAD}{section} {after}");
            assert_eq!(Module::scan(text.as_bytes()).unwrap().functions.len(), 1, "{section}");
        }
    }

    #[test]
    fn each_way_of_not_ending_is_an_error() {
        let problem = |tail: &str| match Module::scan(format!("{HEAD}{tail}").as_bytes()) {
            Err(diagnostic) => diagnostic.problem,
            Ok(_) => panic!("accepted"),
        };
        assert_eq!(problem(".entry k() { ret;"), Problem::UnclosedBrace);
        assert_eq!(problem(".entry k() { /* "), Problem::UnterminatedComment);
        assert_eq!(problem(".entry k() { .pragma \"x"), Problem::UnterminatedString);
        assert_eq!(problem(".global .u32 g = { 1"), Problem::UnclosedBrace);
        let sources = ".nv_intermediate_source_section";
        assert_eq!(problem(&format!("{sources} {{ .code_block {{ }}")), Problem::UnclosedBrace);
        assert_eq!(
            problem(&format!("{sources} {{ .source_begin\n x .source_end\n}}")),
            Problem::UnclosedSource
        );
        assert_eq!(problem(&format!("{sources} {{ .source_begin")), Problem::UnclosedSource);
        assert!(matches!(problem(".global .u32 g"), Problem::Unexpected { found: Found::End, .. }));
        assert!(matches!(problem(".entry k("), Problem::Unexpected { found: Found::End, .. }));
        assert!(
            matches!(problem("stray"), Problem::Unexpected { found: Found::Token(token), .. } if token == "stray")
        );
        assert_eq!(Module::scan(b"\x7fELF").err().unwrap().problem, Problem::NoVersion);
        assert_eq!(Module::scan(b"").err().unwrap().problem, Problem::NoVersion);
    }
}
