//! Running phases: batches, shards, schedules, facts, limits, statistics.

pub mod arena;
pub mod batches;
mod clock;
pub mod facts;
pub mod fuel;
pub mod guard;
pub mod log;
pub mod phase;
pub mod shard;
mod steps;

#[cfg(test)]
mod tests;
