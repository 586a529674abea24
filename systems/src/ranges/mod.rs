//! Phases that split live ranges.

mod again;
pub mod split_high_pressure;
pub mod split_ranges;
mod webs;

#[cfg(test)]
mod tests;
