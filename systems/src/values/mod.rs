//! Phases about values.

pub mod conditional_constants;
pub mod eliminate_dead;
pub mod fuse;
pub mod general_optimize;
pub mod gvn_cse;
pub mod hoist_common;
pub mod hoist_invariants;
pub mod known_bits;
pub(crate) mod literals;
pub(crate) mod movable;
mod names;
pub mod propagate_back_copies;
pub mod reassociate;
pub mod remove_held_moves;
pub mod remove_redundant_moves;
pub mod replace_equivalent_moves;
pub mod sink;
pub mod value_numbers;
mod variable_moves;

#[cfg(test)]
mod carry_tests;
#[cfg(test)]
mod folding;
#[cfg(test)]
mod hoist_tests;
#[cfg(test)]
pub(crate) mod move_tests;
