//! Why a module cannot be loaded.

use ptxopt_engine::diagnostics::Diagnostics;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    #[test]
    fn an_error_says_where_and_what() {
        let text = b".version 8.0\n.target sm_90\n.global .u32 g = 1.5\n;";
        let place = text.iter().position(|&byte| byte == b'=').unwrap();
        let error = LoadError::declaration(text, place, "a real".to_owned());
        assert_eq!(error.summary("k.ptx", text), "k.ptx:3: a real");
        assert_eq!(error.to_string(), "line 3: a real");
        let text = b".version 8.0\n.target sm_90\n.entry k() { bra nowhere; }";
        let Err(error) = Module::load(text) else { panic!("there is no such label") };
        assert_eq!(error.summary("k.ptx", text), format!("k.ptx:3:18: {error}"));
        assert!(error.to_string().contains("`nowhere`"), "{error}");
    }
}
