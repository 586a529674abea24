//! What stands around the bodies of a module: headers, prototypes, variables and aliases.

use crate::load_error::LoadError;
use crate::source::declarations::{Variable, variables};
use crate::source::headers::{Header, header};
use crate::source::tokens::{Token, Tokens};
use ahash::AHashMap;
use ptxopt_engine::ptx::scan;

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
    /// The first of `prototypes` that has a name.
    prototype_by_name: AHashMap<String, usize>,
}

impl Outline {
    /// Reads the text around the bodies.
    pub fn read(&mut self, text: &[u8], scanned: &scan::Module<'_>) -> Result<(), LoadError> {
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
                Token::Directive(b"nv_intermediate_source_section" | b"metadata_section") => {
                    *tokens = ahead;
                    nested_section(tokens)?;
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
                    let prototype = header(&mut ahead)?;
                    self.prototype_by_name.entry(prototype.name.clone()).or_insert(self.prototypes.len());
                    self.prototypes.push(prototype);
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
            None => self.prototype_by_name.get(name).map(|&prototype| &self.prototypes[prototype]),
        }
    }
}

/// Moves past the braces of a section. Sources of other languages in it (ISA 9.4) are lines of any text.
fn nested_section(tokens: &mut Tokens<'_>) -> Result<(), LoadError> {
    let mut depth = 0;
    loop {
        match tokens.next()? {
            Token::Mark(b'{') => depth += 1,
            Token::Mark(b'}') => depth -= 1,
            Token::Directive(b"source_begin") => tokens.skip_to_line(b".source_end"),
            Token::End => return Ok(()),
            _ => {}
        }
        if depth == 0 {
            return Ok(());
        }
    }
}
