//! Dataflow: the solvers that phases and facts share.

pub mod liveness;
