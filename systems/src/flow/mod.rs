//! Phases that change blocks and edges, and what they share: [`conditions`], [`guards`],
//! [`loop_entries`], [`depends_on_convergence`].

pub mod conditions;
pub mod guard_accesses;
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

use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::forms::FormTable;

/// Whether what an instruction does depends on the threads that execute it together, or it may lead to one that does: a call.
pub fn depends_on_convergence(head: &InstHead, forms: &FormTable) -> bool {
    let asks = Effects::CONVERGENT | Effects::CALL | Effects::UNKNOWN;
    head.marks.contains(Marks::KEPT) && forms.get(head.form).effects.intersects(asks)
}
