//! The phases of ptxopt and their verifiers.
//!
//! One phase family is one file: a header that is its contract, its `PHASE`, its system, its algorithm. Phases do not call
//! one another, but for `unroll_loops`, which runs `promote_locals` on what it has unrolled; they meet in components and in the
//! facts of the engine.

pub mod analyze;
pub mod check;
pub mod flow;
pub mod ranges;
pub mod registers;
pub mod report;
pub mod ssa;
pub mod structurize;
pub mod upkeep;
pub mod values;

#[cfg(test)]
mod claims;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod headers;
#[cfg(test)]
mod near_misses;
