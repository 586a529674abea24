//! Phases that keep the house: progress, sweeps, the final inspection.

pub mod advance_progress;
pub mod inspect;
pub mod sweep;
