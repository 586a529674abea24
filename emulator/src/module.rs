//! A loaded module: its variables placed, its functions decoded once for every launch.

use crate::decode;
use crate::layout::Layout;
use crate::program::{Function, Program};
use crate::source::declarations::{Variable, variables};
use crate::source::headers::{Formal, Header, header};
use crate::source::tokens::{Token, Tokens};
use ahash::AHashMap;
use ptxopt_components::types::StateSpace;
use ptxopt_engine::diagnostics::Diagnostics;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan;
use ptxopt_engine::store::tables::CodeTables;
use std::fmt;

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// Text that no assembler takes.
    Text(Diagnostics),
    /// A declaration that means nothing here.
    Declaration {
        /// Line of the text, from 1.
        line: u32,
        /// What is wrong.
        reason: String,
    },
}

impl LoadError {
    /// One line: file, line, where it is known the column, and what is wrong with the module `text`.
    #[must_use]
    pub fn summary(&self, file: &str, text: &[u8]) -> String {
        match self {
            Self::Text(diagnostics) => diagnostics.summary(file, text),
            Self::Declaration { line, reason } => format!("{file}:{line}: {reason}"),
        }
    }

    /// The error `reason` at byte `offset` of `text`.
    pub(crate) fn declaration(text: &[u8], offset: usize, reason: String) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32;
        Self::Declaration { line, reason }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(diagnostics) => {
                let problems: Vec<String> = diagnostics.0.iter().map(|one| one.problem.to_string()).collect();
                f.write_str(&problems.join("; "))
            }
            Self::Declaration { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<Diagnostics> for LoadError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Text(diagnostics)
    }
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its element type without the dot: `u64`, `b8`.
    pub ty: &'static str,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// `.ptr`: the space that it points to, and the alignment there.
    pub pointer: Option<(StateSpace, u64)>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `.reqntid`: the only block that it runs with; none where any will do.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid`: blocks have at most as many threads as this one; none where any will do.
    pub maximal_block: Option<[u32; 3]>,
    /// CTAs of a cluster; more than one only runs uninterpreted.
    pub cluster_size: u64,
}

/// A module that can be run.
pub struct Module {
    pub(crate) layout: Layout,
    pub(crate) program: Program,
    entries: Vec<Entry>,
}

impl Module {
    /// Loads a module's text.
    ///
    /// Instructions that are not modelled are no error here: they stop the launch that executes one.
    ///
    /// # Errors
    /// Text that is no PTX module, or a declaration that means nothing.
    pub fn load(text: &[u8]) -> Result<Self, LoadError> {
        let scanned = scan::Module::scan(text).map_err(|error| LoadError::Text(error.into()))?;
        let mut forms = FormTable::default();
        let mut tables = CodeTables::default();
        read(&scanned, &scanned.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
            .map_err(|error| LoadError::Text(error.into()))?;
        let mut outline = Outline::default();
        outline.read(text, &scanned)?;
        let layout = Layout::new(text, address_size(text), &outline)?;
        let program = decode::program(&scanned, &tables, &forms, &outline, layout)?;
        let (program, layout) = program;
        let entries = program.functions.iter().filter(|function| function.is_entry).map(entry).collect();
        Ok(Self { layout, program, entries })
    }

    /// The kernels, in textual order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Addresses of 32 or of 64 bits.
    #[must_use]
    pub fn address_bits(&self) -> u32 {
        self.layout.address_bits
    }
}

fn entry(function: &Function) -> Entry {
    let given = |extent| Some(extent).filter(|&extent| extent != [0; 3]);
    let parameter = |formal: &Formal| Parameter {
        name: formal.name.clone(),
        ty: formal.ty.name(),
        size: formal.size,
        align: formal.align,
        pointer: formal.pointer,
    };
    Entry {
        name: function.header.name.clone(),
        parameters: function.header.parameters.iter().map(parameter).collect(),
        required_block: given(function.header.required_block),
        maximal_block: given(function.header.maximal_block),
        cluster_size: function.header.cluster,
    }
}

/// What `.address_size` says; 32 where it says nothing, as old modules leave it.
fn address_size(text: &[u8]) -> u32 {
    let mut tokens = Tokens::new(text, 0, text.len().min(1 << 16));
    while let Ok(token) = tokens.next() {
        match token {
            Token::Directive(b"address_size") => {
                return if tokens.next() == Ok(Token::Integer(64)) { 64 } else { 32 };
            }
            Token::Directive(b"entry" | b"func" | b"global") | Token::End => return 32,
            _ => {}
        }
    }
    32
}

/// Declarations of the module-level text, in order.
#[derive(Default)]
pub(crate) struct Outline {
    /// Variables.
    pub variables: Vec<Variable>,
    /// Headers of functions with bodies, in the order of the bodies.
    pub headers: Vec<Header>,
    /// Headers of functions without.
    pub prototypes: Vec<Header>,
    /// Other names of functions: name and what it stands for.
    pub aliases: Vec<(String, String)>,
    /// Number of the function with a body by name.
    pub by_name: AHashMap<String, usize>,
}

impl Outline {
    fn read(&mut self, text: &[u8], scanned: &scan::Module<'_>) -> Result<(), LoadError> {
        let mut at = 0;
        for function in &scanned.functions {
            self.between(&mut Tokens::new(text, at, function.header.first as usize))?;
            let first = function.header.first as usize;
            let header = header(&mut Tokens::new(text, first, function.header.end()))?;
            self.by_name.insert(header.name.clone(), self.headers.len());
            self.headers.push(header);
            at = function.body.end();
        }
        self.between(&mut Tokens::new(text, at, text.len()))?;
        for (name, target) in &self.aliases {
            if let Some(&function) = self.by_name.get(target) {
                self.by_name.insert(name.clone(), function);
            }
        }
        Ok(())
    }

    /// Declarations between two bodies.
    fn between(&mut self, tokens: &mut Tokens<'_>) -> Result<(), LoadError> {
        loop {
            let mut ahead = tokens.clone();
            match ahead.next()? {
                Token::End => return Ok(()),
                // What follows is taken token by token up to the next directive.
                Token::Directive(b"version" | b"target" | b"address_size" | b"file" | b"loc") => {
                    *tokens = ahead;
                }
                // A line of an old producer's debug sections.
                Token::Mark(b'@') => {
                    *tokens = ahead;
                    tokens.skip_line();
                }
                Token::Directive(b"section") => {
                    *tokens = ahead;
                    while !matches!(tokens.next()?, Token::Mark(b'}') | Token::End) {}
                }
                Token::Directive(b"alias") => {
                    let name = ahead.word()?;
                    ahead.expect(b',')?;
                    let target = ahead.word()?;
                    let owned = |name| String::from_utf8_lossy(name).into_owned();
                    self.aliases.push((owned(name), owned(target)));
                    *tokens = ahead;
                }
                Token::Directive(b"pragma" | b"reg") => {
                    *tokens = ahead;
                    while !matches!(tokens.next()?, Token::Mark(b';') | Token::End) {}
                }
                Token::Directive(_) => self.declaration(tokens)?,
                _ => *tokens = ahead,
            }
        }
    }

    /// Variables, or a function without a body.
    fn declaration(&mut self, tokens: &mut Tokens<'_>) -> Result<(), LoadError> {
        let mut ahead = tokens.clone();
        loop {
            match ahead.next()? {
                Token::Directive(b"visible" | b"extern" | b"weak" | b"common") => {}
                Token::Directive(b"func" | b"entry") => {
                    self.prototypes.push(header(&mut ahead)?);
                    *tokens = ahead;
                    return Ok(());
                }
                _ => {
                    self.variables.extend(variables(tokens)?);
                    return Ok(());
                }
            }
        }
    }

    /// What the function called `name` looks like.
    pub fn header(&self, name: &str) -> Option<&Header> {
        match self.by_name.get(name) {
            Some(&function) => Some(&self.headers[function]),
            None => self.prototypes.iter().find(|header| header.name == name),
        }
    }
}
