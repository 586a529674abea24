//! Phases that give values registers of their own.

pub mod build_ssa;
pub mod leave_ssa;
pub(crate) mod moves;
pub mod origins;
pub mod promote_locals;

#[cfg(test)]
mod tests;
