//! Phases that describe code.

pub mod code;
pub mod divergence;
pub mod graph;
pub mod registers;

#[cfg(test)]
mod tests;
