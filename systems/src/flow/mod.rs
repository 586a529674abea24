//! Phases that change blocks and edges, and what they share: [`conditions`], [`guards`],
//! [`loop_entries`].

pub mod conditions;
pub mod guards;
pub mod loop_entries;
pub mod nested_branches;
pub mod optimize_branches;
pub mod optimize_switches;
pub mod predicate;
pub mod simplify_loops;
pub mod split_at_control_flow;
pub mod unroll_loops;

#[cfg(test)]
mod nested_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
