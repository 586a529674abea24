//! The operations in plain words: the twin that each vector kernel is compared with, the kernel of machines
//! without vectors, what the vector kernels do with the words after the last whole vector, and what every
//! kernel does with rows of different lengths.

/// What an operation does to one word: to that of the destination and those of up to three sources. One of
/// fewer sources ignores the rest, and its callers name a source again to fill the places.
pub(super) mod word {
    /// `dst | src`.
    #[inline(always)]
    pub fn or(dst: u64, src: u64, _: u64, _: u64) -> u64 {
        dst | src
    }

    /// `dst & src`.
    #[inline(always)]
    pub fn and(dst: u64, src: u64, _: u64, _: u64) -> u64 {
        dst & src
    }

    /// `dst & !src`.
    #[inline(always)]
    pub fn and_not(dst: u64, src: u64, _: u64, _: u64) -> u64 {
        dst & !src
    }

    /// `dst ^ src`.
    #[inline(always)]
    pub fn xor(dst: u64, src: u64, _: u64, _: u64) -> u64 {
        dst ^ src
    }

    /// `a & b`.
    #[inline(always)]
    pub fn assign_and(_: u64, a: u64, b: u64, _: u64) -> u64 {
        a & b
    }

    /// `dst | gens | (input & !kills)`.
    #[inline(always)]
    pub fn or_and_not(dst: u64, gens: u64, input: u64, kills: u64) -> u64 {
        dst | gens | (input & !kills)
    }

    /// `gens | (input & !kills)`.
    #[inline(always)]
    pub fn transfer(_: u64, gens: u64, input: u64, kills: u64) -> u64 {
        gens | (input & !kills)
    }
}

/// `dst[i] = operation(dst[i], a[i], b[i], c[i])` for each word; whether one changed. A source that is
/// shorter than `dst` reads as zero past its end.
#[cold]
pub(super) fn update_extended(
    dst: &mut [u64],
    [a, b, c]: [&[u64]; 3],
    operation: impl Fn(u64, u64, u64, u64) -> u64,
) -> bool {
    let word_of = |src: &[u64], index: usize| src.get(index).copied().unwrap_or(0);
    let mut difference = 0;
    for (index, word) in dst.iter_mut().enumerate() {
        let old = *word;
        *word = operation(old, word_of(a, index), word_of(b, index), word_of(c, index));
        difference |= old ^ *word;
    }
    difference != 0
}

/// As [`update_extended`], for sources as long as `dst`: of its own because the compiler makes vectors of it.
#[inline(always)]
pub(super) fn update(
    dst: &mut [u64],
    [a, b, c]: [&[u64]; 3],
    operation: impl Fn(u64, u64, u64, u64) -> u64,
) -> bool {
    let mut difference = 0;
    for (((dst, &a), &b), &c) in dst.iter_mut().zip(a).zip(b).zip(c) {
        let old = *dst;
        *dst = operation(old, a, b, c);
        difference |= old ^ *dst;
    }
    difference != 0
}

#[inline]
pub(super) fn popcount(row: &[u64]) -> usize {
    row.iter().map(|word| word.count_ones() as usize).sum()
}

pub(super) fn is_subset_of(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & !b == 0)
}

pub(super) fn intersects(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

pub(super) fn first_common(a: &[u64], b: &[u64]) -> Option<usize> {
    a.iter().zip(b).enumerate().find(|(_, (a, b))| *a & *b != 0).map(|(index, (a, b))| {
        let bit_in_word = (a & b).trailing_zeros() as usize;
        index * super::WORD_BITS + bit_in_word
    })
}
