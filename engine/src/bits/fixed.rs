//! The operations on rows of a width that the compiler knows: no length test, no loop, no choice of a kernel.
//!
//! Meant for 1, 4 and 8 words, the strides that [`BitMatrix`](super::BitMatrix) gives to sets of up to 64,
//! 256 and 512 bits. A solver that is generic over `WIDTH` takes its rows from
//! [`BitMatrix::rows_fixed`](super::BitMatrix::rows_fixed) and calls these; the functions of the same name
//! one module up come here by themselves when the lengths fit.
//!
//! The changed flag is collected over the whole row before it is tested: at these widths a branch for each
//! word costs more than the words.

use super::WORD_BITS;
use super::scalar::word;

#[inline(always)]
fn update<const WIDTH: usize>(
    dst: &mut [u64; WIDTH],
    [a, b, c]: [&[u64; WIDTH]; 3],
    operation: impl Fn(u64, u64, u64, u64) -> u64,
) -> bool {
    let mut difference = 0;
    for index in 0..WIDTH {
        let old = dst[index];
        let new = operation(old, a[index], b[index], c[index]);
        difference |= old ^ new;
        dst[index] = new;
    }
    difference != 0
}

/// `dst |= src`.
#[inline]
pub fn or<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) {
    update(dst, [src; 3], word::or);
}

/// `dst |= src`; whether `dst` changed.
#[inline]
pub fn or_if_changed<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) -> bool {
    update(dst, [src; 3], word::or)
}

/// `dst &= src`.
#[inline]
pub fn and<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) {
    update(dst, [src; 3], word::and);
}

/// `dst &= src`; whether `dst` changed.
#[inline]
pub fn and_if_changed<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) -> bool {
    update(dst, [src; 3], word::and)
}

/// `dst &= !src`.
#[inline]
pub fn and_not<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) {
    update(dst, [src; 3], word::and_not);
}

/// `dst ^= src`.
#[inline]
pub fn xor<const WIDTH: usize>(dst: &mut [u64; WIDTH], src: &[u64; WIDTH]) {
    update(dst, [src; 3], word::xor);
}

/// `dst = a & b`.
#[inline]
pub fn assign_and<const WIDTH: usize>(dst: &mut [u64; WIDTH], a: &[u64; WIDTH], b: &[u64; WIDTH]) {
    update(dst, [a, b, b], word::assign_and);
}

/// `dst |= gens | (input & !kills)`.
#[inline]
pub fn or_and_not<const WIDTH: usize>(
    dst: &mut [u64; WIDTH],
    gens: &[u64; WIDTH],
    input: &[u64; WIDTH],
    kills: &[u64; WIDTH],
) {
    update(dst, [gens, input, kills], word::or_and_not);
}

/// `dst |= gens | (input & !kills)`; whether `dst` changed.
#[inline]
pub fn or_and_not_if_changed<const WIDTH: usize>(
    dst: &mut [u64; WIDTH],
    gens: &[u64; WIDTH],
    input: &[u64; WIDTH],
    kills: &[u64; WIDTH],
) -> bool {
    update(dst, [gens, input, kills], word::or_and_not)
}

/// `dst = gens | (input & !kills)`; whether `dst` changed.
#[inline]
pub fn transfer_if_changed<const WIDTH: usize>(
    dst: &mut [u64; WIDTH],
    gens: &[u64; WIDTH],
    input: &[u64; WIDTH],
    kills: &[u64; WIDTH],
) -> bool {
    update(dst, [gens, input, kills], word::transfer)
}

/// The number of set bits.
#[inline]
pub fn popcount<const WIDTH: usize>(row: &[u64; WIDTH]) -> usize {
    row.iter().map(|word| word.count_ones() as usize).sum()
}

/// Whether every bit of `a` is in `b`.
#[inline]
pub fn is_subset_of<const WIDTH: usize>(a: &[u64; WIDTH], b: &[u64; WIDTH]) -> bool {
    let outside = a.iter().zip(b).fold(0, |found, (a, b)| found | (a & !b));
    outside == 0
}

/// Whether `a` and `b` share a bit.
#[inline]
pub fn intersects<const WIDTH: usize>(a: &[u64; WIDTH], b: &[u64; WIDTH]) -> bool {
    let shared = a.iter().zip(b).fold(0, |found, (a, b)| found | (a & b));
    shared != 0
}

/// The lowest bit that `a` and `b` share.
#[inline]
pub fn first_common<const WIDTH: usize>(a: &[u64; WIDTH], b: &[u64; WIDTH]) -> Option<usize> {
    for index in 0..WIDTH {
        let shared = a[index] & b[index];
        if shared != 0 {
            return Some(index * WORD_BITS + shared.trailing_zeros() as usize);
        }
    }
    None
}
