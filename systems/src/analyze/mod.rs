//! Phases and analyses that compute facts.

pub mod control_flow;
pub mod def_use;
pub mod liveness;
pub mod loops;
pub mod post_dominators;
pub mod uniformity;

#[cfg(test)]
mod tests;
