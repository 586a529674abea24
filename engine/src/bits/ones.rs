//! Reading positions out of a row: the set bits in order, the next one, a stretch of bits.

use super::{WORD_BITS, mask_of, words_for};
use std::iter::FusedIterator;

/// The set bits of a row in rising order, as bit numbers.
#[derive(Clone, Debug)]
pub struct Ones<'a> {
    /// The words that have not been looked at yet.
    rest: &'a [u64],
    /// What is left of the word at hand.
    word: u64,
    /// The bit number of bit 0 of `word`.
    base: usize,
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            let (&word, rest) = self.rest.split_first()?;
            self.word = word;
            self.rest = rest;
            self.base += WORD_BITS;
        }
        let bit = self.base + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(bit)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let here = self.word.count_ones() as usize;
        (here, Some(here + self.rest.len() * WORD_BITS))
    }
}

impl FusedIterator for Ones<'_> {}

/// The set bits of `row`, lowest first.
#[inline]
pub fn ones(row: &[u64]) -> Ones<'_> {
    ones_from(row, 0)
}

/// The set bits of `row` that are `start` or higher, lowest first. A start past the row finds none.
#[inline]
pub fn ones_from(row: &[u64], start: usize) -> Ones<'_> {
    let index = start / WORD_BITS;
    match row.get(index..).and_then(<[u64]>::split_first) {
        Some((&word, rest)) => Ones { rest, word: word & !(mask_of(start) - 1), base: index * WORD_BITS },
        None => Ones { rest: &[], word: 0, base: 0 },
    }
}

/// The lowest set bit of `row` that is `start` or higher.
#[inline]
pub fn first_one(row: &[u64], start: usize) -> Option<usize> {
    ones_from(row, start).next()
}

/// Copies bits `start..end` of `row` to bits `0..end - start` of `out` and clears the rest of `out`.
///
/// Bits past the end of `row` read as zero; what does not fit into `out` is dropped; `end <= start` is the
/// empty stretch.
pub fn extract_bits(out: &mut [u64], row: &[u64], start: usize, end: usize) {
    let bit_count = end.saturating_sub(start);
    let word_at = |index: usize| row.get(index).copied().unwrap_or(0);
    let (first, shift) = (start / WORD_BITS, start % WORD_BITS);

    let word_count = words_for(bit_count).min(out.len());
    for (index, word) in out[..word_count].iter_mut().enumerate() {
        let low = word_at(first + index) >> shift;
        // Shifted in two steps: a shift by the whole word, which `shift == 0` asks for, is not defined.
        let high = word_at(first + index + 1) << 1 << (WORD_BITS - 1 - shift);
        *word = low | high;
    }
    super::clear_past(out, bit_count);
}
