//! Phases that split live ranges.

mod again;
mod chains;
pub mod rematerialize;
pub mod split_high_pressure;
pub mod split_ranges;
mod webs;

#[cfg(test)]
mod tests;
