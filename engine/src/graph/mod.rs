//! Control flow: edges, ranks, dominators, loops, and the service that keeps them current.

pub mod analyze;
pub mod build;
pub mod dominator_tree;
pub mod dominators;
pub mod dump;
pub mod edges;
pub mod figures;
pub mod frontiers;
pub mod iterated_frontier;
pub mod loops;
pub mod nest;
pub mod post_dominators;
pub mod ranks;
pub mod way;

#[cfg(test)]
pub(crate) mod random;
