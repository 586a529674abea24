//! What stands outside function bodies: variables with their initialisers, function headers, aliases.
//!
//! Bodies come from the engine's reader, which keeps module-level text as it is; here that text is taken apart.

pub mod declarations;
pub mod expressions;
pub mod headers;
pub mod tokens;
