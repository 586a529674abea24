//! Phases that change blocks and edges.

pub mod optimize_branches;
pub mod simplify_loops;
pub mod split_at_control_flow;

#[cfg(test)]
mod tests;
