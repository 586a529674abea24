//! Lanes: one value for each thread of a warp.

/// Threads of a warp.
pub const WARP_SIZE: usize = 32;

/// One 64-bit cell for each lane of a warp.
///
/// Values narrower than 64 bits are kept zero-extended: an `.s16` of -1 is `0xFFFF`, an `.f32` its bits, a predicate 0
/// or 1. A 128-bit value takes two cells, the low half first.
pub type Lanes = [u64; WARP_SIZE];
