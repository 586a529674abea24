//! Phases about values.

pub mod eliminate_dead;
