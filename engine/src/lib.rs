//! The mechanism of ptxopt: shards, PTX reader and writer, bit matrices, dataflow, the phase runner.
//!
//! The engine knows no particular phase; phases live in `ptxopt-systems` and meet in components.

pub mod as_read;
pub mod batches;
pub mod bits;
pub mod cfg;
pub mod columns;
pub mod dataflow;
pub mod diagnostics;
pub mod edit;
pub mod facts;
pub mod fingerprint;
pub mod forms;
pub mod fuel;
pub mod guard;
pub mod log;
pub mod names;
pub mod phase;
pub mod ptx;
pub mod room;
pub mod shard;
pub mod tables;
pub mod values;
pub mod view;
