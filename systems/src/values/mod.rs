//! Phases about values.

pub mod conditional_constants;
pub mod eliminate_dead;
pub mod general_optimize;
pub mod known_bits;

#[cfg(test)]
mod folding;
