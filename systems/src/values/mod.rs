//! Phases about values.

pub mod eliminate_dead;
pub mod general_optimize;

#[cfg(test)]
mod folding;
