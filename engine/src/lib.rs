//! The mechanism of ptxopt: shards, PTX reader and writer, bit matrices, dataflow, the phase runner.
//!
//! The engine knows no particular phase; phases live in `ptxopt-systems` and meet in components.

pub mod bits;
pub mod dataflow;
pub mod diagnostics;
pub mod edit;
pub mod fingerprint;
pub mod forms;
pub mod graph;
mod lists;
pub mod ptx;
pub mod run;
pub mod store;
pub mod values;
