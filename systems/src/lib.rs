//! The phases of ptxopt and their verifiers.
//!
//! One phase family is one file: a header that is its contract, its `PHASE`, its system, its algorithm. Phases never
//! import one another; they meet in components and in the facts of the engine.

pub mod advance_progress;
pub mod analyze_control_flow;
pub mod analyze_liveness;
pub mod analyze_uniformity;
pub mod check;
pub mod def_use;
pub mod dump_graph;
pub mod dump_registers;
pub mod eliminate_dead;
pub mod inspect;
pub mod loops;
pub mod optimize_branches;
pub mod post_dominators;
pub mod report_code;
pub mod simplify_loops;
pub mod split_at_control_flow;
pub mod sweep;

#[cfg(test)]
mod claims;
