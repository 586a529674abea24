//! Bit sets: rows of words, the operations on them, and the matrix that holds them.
//!
//! A **row** is a `&[u64]`. Bit `b` is bit `b % 64` of word `b / 64`. A [`BitMatrix`] keeps many rows of one
//! width in one slab; the functions of this module work on rows from anywhere.
//!
//! # Rows of different lengths
//! A shorter row stands for the same set with zero words after it. The destination never grows: what a
//! longer source has past its end is dropped. So `or(dst, long)` drops bits, `and(dst, short)` clears the
//! rest of `dst`, and `is_subset_of(long, short)` asks whether the rest of `long` is empty.
//!
//! # Bits past the end
//! A set of 70 bits lives in a row of two words or more, and the bits past 70 are zero, always: [`popcount`],
//! [`ones()`] and [`is_subset_of`] would count them otherwise. Only [`fill`] and [`complement`] could make
//! such bits, so they take the bit count; every other operation sets no bit that none of its operands has.
//! ```text
//! complement(row, 70)   // of the empty set, in two words
//! popcount(row)         // 70; with the tail left as it comes out: 128
//! ```
//!
//! # How a row finds its loop
//! Rows of 1, 4 and 8 words (64, 256 and 512 bits) have loops of that exact length, see [`fixed`]: they
//! inline and branch on nothing. Every other row goes to the [`Kernel`] of the process, chosen once from what
//! the machine has: AVX-512, AVX2, SSE2, or plain words. All of them have a twin in plain words that the
//! tests compare them with.
//!
//! # Whether something changed
//! The `_if_changed` forms store always and collect `old ^ new` on the side, one vector for the whole row,
//! which is looked at once, at the end.

pub mod fixed;
mod kernels;
mod matrix;
mod ones;
mod scalar;
#[cfg(test)]
mod tests;

pub use kernels::Kernel;
pub use matrix::BitMatrix;
pub use ones::{Ones, extract_bits, first_one, ones, ones_from};

/// Bits in a word.
pub const WORD_BITS: usize = u64::BITS as usize;

/// The number of words that hold `bit_count` bits.
#[inline]
pub const fn words_for(bit_count: usize) -> usize {
    bit_count.div_ceil(WORD_BITS)
}

#[inline]
const fn mask_of(bit: usize) -> u64 {
    1 << (bit % WORD_BITS)
}

/// Sets bit `bit`.
///
/// # Panics
/// When `bit` is past the last word of the row: a row never grows.
#[inline]
pub fn set(row: &mut [u64], bit: usize) {
    row[bit / WORD_BITS] |= mask_of(bit);
}

/// Sets bit `bit` and says whether it was clear.
///
/// # Panics
/// When `bit` is past the last word of the row.
#[inline]
pub fn set_if_changed(row: &mut [u64], bit: usize) -> bool {
    let word = &mut row[bit / WORD_BITS];
    let old = *word;
    *word = old | mask_of(bit);
    *word != old
}

/// Clears bit `bit`. A bit past the last word is clear already.
#[inline]
pub fn clear(row: &mut [u64], bit: usize) {
    if let Some(word) = row.get_mut(bit / WORD_BITS) {
        *word &= !mask_of(bit);
    }
}

/// Whether bit `bit` is set. A bit past the last word is not.
#[inline]
pub fn test(row: &[u64], bit: usize) -> bool {
    row.get(bit / WORD_BITS).is_some_and(|word| word & mask_of(bit) != 0)
}

/// Clears every bit.
#[inline]
pub fn clear_all(row: &mut [u64]) {
    row.fill(0);
}

/// Sets bits `0..bit_count` and clears all others.
///
/// # Panics
/// When the row has fewer than `bit_count` bits.
pub fn fill(row: &mut [u64], bit_count: usize) {
    let word_count = words_for(bit_count);
    row[..word_count].fill(u64::MAX);
    row[word_count..].fill(0);
    clear_past(row, bit_count);
}

/// Flips bits `0..bit_count` and clears all others.
///
/// # Panics
/// When the row has fewer than `bit_count` bits.
pub fn complement(row: &mut [u64], bit_count: usize) {
    for word in &mut row[..words_for(bit_count)] {
        *word = !*word;
    }
    clear_past(row, bit_count);
}

/// Clears the bits from `bit_count` on, up to the end of the row.
pub fn clear_past(row: &mut [u64], bit_count: usize) {
    let Some((first, rest)) = row.get_mut(bit_count / WORD_BITS..).and_then(<[u64]>::split_first_mut) else {
        return;
    };
    *first &= mask_of(bit_count) - 1;
    rest.fill(0);
}

/// `dst = src`. What `src` lacks becomes zero.
#[inline]
pub fn copy(dst: &mut [u64], src: &[u64]) {
    let common = dst.len().min(src.len());
    let (both, rest) = dst.split_at_mut(common);
    both.copy_from_slice(&src[..common]);
    rest.fill(0);
}

/// Expands to: the inlined loop of exactly 1, 4 or 8 words where all rows have that width, else the kernel
/// that the process chose. The first row is the one written (`mut`) or, in the operations that only look, the
/// left one.
macro_rules! by_width {
    ($operation:ident(mut $dst:ident $(, $src:ident)*)) => {{
        by_width!(@fixed 1 $operation, as_mut_array, $dst $(, $src)*);
        by_width!(@fixed 4 $operation, as_mut_array, $dst $(, $src)*);
        by_width!(@fixed 8 $operation, as_mut_array, $dst $(, $src)*);
        Kernel::best().$operation($dst $(, $src)*)
    }};
    ($operation:ident($left:ident $(, $src:ident)*)) => {{
        by_width!(@fixed 1 $operation, as_array, $left $(, $src)*);
        by_width!(@fixed 4 $operation, as_array, $left $(, $src)*);
        by_width!(@fixed 8 $operation, as_array, $left $(, $src)*);
        Kernel::best().$operation($left $(, $src)*)
    }};
    (@fixed $width:literal $operation:ident, $view:ident, $dst:ident $(, $src:ident)*) => {
        if let Some($dst) = $dst.$view::<$width>()
            $(&& let Some($src) = $src.as_array::<$width>())*
        {
            return fixed::$operation($dst $(, $src)*);
        }
    };
}

/// `dst |= src`.
#[inline]
pub fn or(dst: &mut [u64], src: &[u64]) {
    by_width!(or(mut dst, src))
}

/// `dst |= src`; whether `dst` changed.
#[inline]
pub fn or_if_changed(dst: &mut [u64], src: &[u64]) -> bool {
    by_width!(or_if_changed(mut dst, src))
}

/// `dst &= src`. What `src` lacks is cleared.
#[inline]
pub fn and(dst: &mut [u64], src: &[u64]) {
    by_width!(and(mut dst, src))
}

/// `dst &= src`; whether `dst` changed.
#[inline]
pub fn and_if_changed(dst: &mut [u64], src: &[u64]) -> bool {
    by_width!(and_if_changed(mut dst, src))
}

/// `dst &= !src`: takes the bits of `src` out of `dst`.
#[inline]
pub fn and_not(dst: &mut [u64], src: &[u64]) {
    by_width!(and_not(mut dst, src))
}

/// `dst ^= src`.
#[inline]
pub fn xor(dst: &mut [u64], src: &[u64]) {
    by_width!(xor(mut dst, src))
}

/// `dst = a & b`.
#[inline]
pub fn assign_and(dst: &mut [u64], a: &[u64], b: &[u64]) {
    by_width!(assign_and(mut dst, a, b))
}

/// `dst |= gens | (input & !kills)`.
#[inline]
pub fn or_and_not(dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) {
    by_width!(or_and_not(mut dst, gens, input, kills))
}

/// `dst |= gens | (input & !kills)`; whether `dst` changed.
#[inline]
pub fn or_and_not_if_changed(dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) -> bool {
    by_width!(or_and_not_if_changed(mut dst, gens, input, kills))
}

/// `dst = gens | (input & !kills)`; whether `dst` changed. The transfer of a backward analysis:
/// `transfer_if_changed(live_in, gens, live_out, kills)`.
#[inline]
pub fn transfer_if_changed(dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) -> bool {
    by_width!(transfer_if_changed(mut dst, gens, input, kills))
}

/// The number of set bits.
#[inline]
pub fn popcount(row: &[u64]) -> usize {
    by_width!(popcount(row))
}

/// Whether every bit of `a` is in `b`.
#[inline]
pub fn is_subset_of(a: &[u64], b: &[u64]) -> bool {
    by_width!(is_subset_of(a, b))
}

/// Whether `a` and `b` share a bit.
#[inline]
pub fn intersects(a: &[u64], b: &[u64]) -> bool {
    by_width!(intersects(a, b))
}

/// The lowest bit that `a` and `b` share, found without writing their intersection anywhere.
#[inline]
pub fn first_common(a: &[u64], b: &[u64]) -> Option<usize> {
    by_width!(first_common(a, b))
}
