//! Phases that split live ranges.

pub mod split_ranges;
mod webs;

#[cfg(test)]
mod tests;
