//! Dataflow: the solvers that phases and facts share.

pub mod liveness;
pub mod pressure;
pub mod print;
pub mod uniformity;
pub mod uninitialised;
mod waiting;

#[cfg(test)]
mod tests;
