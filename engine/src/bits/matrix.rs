//! [`BitMatrix`]: many rows of one width in one slab.

use super::{Ones, WORD_BITS, clear, complement, fill, ones, or_if_changed, set, test, words_for};
use bytemuck::{Pod, Zeroable};

/// Words in a cache line.
const LINE_WORDS: usize = 8;

/// The unit of the slab. Its alignment is what makes every row of eight words and more start on a cache line,
/// so that no vector load of a row touches two.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; LINE_WORDS]);

/// Rows of bits, all of one width, in one slab that starts on a cache line.
///
/// The distance between rows, [`stride`](BitMatrix::stride), is 1 word up to 64 bits, 4 words up to 256, and
/// a whole number of lines (8, 16, 24, ... words) from there on. A row is handed out with its padding, since
/// all padding is zero: its length is the stride.
///
/// A matrix is meant to be kept and [`reset`](BitMatrix::reset) for each function: it allocates only when the
/// shape needs more than any before.
#[derive(Clone, Default)]
pub struct BitMatrix {
    /// At least `row_count * stride` words. What comes after them is whatever an earlier shape left there.
    lines: Vec<Line>,
    row_count: usize,
    bit_count: usize,
    /// In words.
    stride: usize,
}

impl BitMatrix {
    /// A matrix of no rows, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// `row_count` rows of `bit_count` bits, all zero.
    ///
    /// # Panics
    /// When the shape is larger than the address space.
    pub fn with_shape(row_count: usize, bit_count: usize) -> Self {
        let mut matrix = Self::new();
        matrix.reset(row_count, bit_count);
        matrix
    }

    /// The distance in words between rows of `bit_count` bits.
    pub const fn stride_for(bit_count: usize) -> usize {
        match words_for(bit_count) {
            0 | 1 => 1,
            2..=4 => 4,
            word_count => word_count.next_multiple_of(LINE_WORDS),
        }
    }

    /// The bytes that a matrix of this shape takes, for a caller that has to choose another representation when it is
    /// too large. `None`: more than the address space.
    pub const fn byte_count_for(row_count: usize, bit_count: usize) -> Option<usize> {
        let Some(word_count) = row_count.checked_mul(Self::stride_for(bit_count)) else { return None };
        word_count.div_ceil(LINE_WORDS).checked_mul(size_of::<Line>())
    }

    fn line_count_for(row_count: usize, bit_count: usize) -> usize {
        let byte_count = Self::byte_count_for(row_count, bit_count);
        byte_count.expect("the bit matrix fits the address space") / size_of::<Line>()
    }

    /// Takes the shape `row_count` x `bit_count`, all bits zero. Costs a clearing of what this shape uses,
    /// however large the matrix once was.
    ///
    /// # Panics
    /// When the shape is larger than the address space.
    pub fn reset(&mut self, row_count: usize, bit_count: usize) {
        let line_count = Self::line_count_for(row_count, bit_count);
        match self.lines.get_mut(..line_count) {
            Some(used) => used.fill(Line::zeroed()),
            None => self.lines = self.larger_slab(line_count),
        }
        self.row_count = row_count;
        self.bit_count = bit_count;
        self.stride = Self::stride_for(bit_count);
    }

    /// Takes shape and bits of `other`.
    pub fn copy_from(&mut self, other: &Self) {
        let line_count = (other.row_count * other.stride).div_ceil(LINE_WORDS);
        if self.lines.len() < line_count {
            self.lines = self.larger_slab(line_count);
        }
        self.lines[..line_count].copy_from_slice(&other.lines[..line_count]);
        (self.row_count, self.bit_count, self.stride) = (other.row_count, other.bit_count, other.stride);
    }

    /// Grows to at least `row_count` rows and `bit_count` bits and keeps the contents; new rows and bits are
    /// zero. Neither number shrinks.
    ///
    /// # Panics
    /// When the shape is larger than the address space.
    pub fn grow(&mut self, row_count: usize, bit_count: usize) {
        let row_count = row_count.max(self.row_count);
        let bit_count = bit_count.max(self.bit_count);
        let line_count = Self::line_count_for(row_count, bit_count);
        let (old_stride, new_stride) = (self.stride, Self::stride_for(bit_count));
        let used = self.row_count * old_stride;

        if line_count > self.lines.len() {
            let mut lines = self.larger_slab(line_count);
            let old_words: &[u64] = bytemuck::cast_slice(&self.lines);
            let new_words: &mut [u64] = bytemuck::cast_slice_mut(&mut lines);
            new_words[..used].copy_from_slice(&old_words[..used]);
            self.lines = lines;
        }

        let words: &mut [u64] = bytemuck::cast_slice_mut(&mut self.lines);
        words[used..row_count * new_stride].fill(0);
        if new_stride != old_stride {
            // From the last row on: no row moves down, so each lands after all those that have yet to move.
            for row in (0..self.row_count).rev() {
                let (from, to) = (row * old_stride, row * new_stride);
                words.copy_within(from..from + old_stride, to);
                words[to + old_stride..to + new_stride].fill(0);
            }
        }
        self.row_count = row_count;
        self.bit_count = bit_count;
        self.stride = new_stride;
    }

    /// Half as much again as before, so that a run of functions, each a little larger than the last, does not
    /// allocate for each.
    fn larger_slab(&self, line_count: usize) -> Vec<Line> {
        let old = self.lines.len();
        bytemuck::zeroed_vec(line_count.max(old + old / 2))
    }

    /// The number of rows.
    #[inline]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The number of bits in each row, padding not counted.
    #[inline]
    pub fn bit_count(&self) -> usize {
        self.bit_count
    }

    /// The length of each row in words, padding counted.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    fn words(&self) -> &[u64] {
        &bytemuck::cast_slice(&self.lines)[..self.row_count * self.stride]
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.row_count * self.stride]
    }

    /// Row `row`, `stride` words.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words()[row * self.stride..][..self.stride]
    }

    /// Row `row`, `stride` words. Who writes words here keeps the bits from `bit_count` on zero.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        let stride = self.stride;
        &mut self.words_mut()[row * stride..][..stride]
    }

    /// Several rows at once, to write one and read others.
    ///
    /// # Panics
    /// When two of them are the same row, or there is no such row.
    #[inline]
    pub fn rows_disjoint_mut<const N: usize>(&mut self, rows: [usize; N]) -> [&mut [u64]; N] {
        let stride = self.stride;
        let spans = rows.map(|row| row * stride..row * stride + stride);
        self.words_mut().get_disjoint_mut(spans).expect("the rows exist and differ")
    }

    /// All rows in order.
    #[inline]
    pub fn rows(&self) -> std::slice::ChunksExact<'_, u64> {
        self.words().chunks_exact(self.stride.max(1))
    }

    /// All rows in order, to be written. Each goes to another thread if the caller likes.
    #[inline]
    pub fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        let stride = self.stride.max(1);
        self.words_mut().chunks_exact_mut(stride)
    }

    /// All rows as arrays of `WIDTH` words, for the loops of [`fixed`](super::fixed).
    ///
    /// # Panics
    /// When the stride is not `WIDTH`.
    #[inline]
    pub fn rows_fixed<const WIDTH: usize>(&self) -> &[[u64; WIDTH]] {
        assert_eq!(self.stride, WIDTH, "the rows have {} words", self.stride);
        self.words().as_chunks().0
    }

    /// All rows as arrays of `WIDTH` words, to be written.
    ///
    /// # Panics
    /// When the stride is not `WIDTH`.
    #[inline]
    pub fn rows_fixed_mut<const WIDTH: usize>(&mut self) -> &mut [[u64; WIDTH]] {
        assert_eq!(self.stride, WIDTH, "the rows have {} words", self.stride);
        self.words_mut().as_chunks_mut().0
    }

    /// Sets one bit.
    ///
    /// # Panics
    /// When the matrix has no such row or bit.
    #[inline]
    pub fn set(&mut self, row: usize, bit: usize) {
        assert!(bit < self.bit_count, "bit {bit} of {}", self.bit_count);
        set(self.row_mut(row), bit);
    }

    /// Clears one bit; a bit that the matrix does not have is clear already.
    ///
    /// # Panics
    /// When the matrix has no such row.
    #[inline]
    pub fn clear(&mut self, row: usize, bit: usize) {
        clear(self.row_mut(row), bit);
    }

    /// Whether a bit is set; a bit that the matrix does not have is not.
    ///
    /// # Panics
    /// When the matrix has no such row.
    #[inline]
    pub fn test(&self, row: usize, bit: usize) -> bool {
        test(self.row(row), bit)
    }

    /// The set bits of a row, lowest first.
    ///
    /// # Panics
    /// When the matrix has no such row.
    #[inline]
    pub fn ones(&self, row: usize) -> Ones<'_> {
        ones(self.row(row))
    }

    /// Sets all bits of a row, and none of its padding.
    ///
    /// # Panics
    /// When the matrix has no such row.
    pub fn fill_row(&mut self, row: usize) {
        let bit_count = self.bit_count;
        fill(self.row_mut(row), bit_count);
    }

    /// Flips all bits of a row, and none of its padding.
    ///
    /// # Panics
    /// When the matrix has no such row.
    pub fn complement_row(&mut self, row: usize) {
        let bit_count = self.bit_count;
        complement(self.row_mut(row), bit_count);
    }

    /// Row `dst` |= row `src`; whether row `dst` changed. With itself, a row does not change.
    ///
    /// # Panics
    /// When the matrix has no such rows.
    #[inline]
    pub fn union_rows_if_changed(&mut self, dst: usize, src: usize) -> bool {
        if dst == src {
            assert!(dst < self.row_count, "row {dst} of {}", self.row_count);
            return false;
        }
        let [dst, src] = self.rows_disjoint_mut([dst, src]);
        or_if_changed(dst, src)
    }

    /// Whether all bits from `bit_count` on are zero in each row: what every operation relies on and keeps.
    /// For assertions; looks at one or two lines of each row.
    pub fn tails_are_zero(&self) -> bool {
        let whole = self.bit_count / WORD_BITS;
        let tail_mask = !0 << (self.bit_count % WORD_BITS);
        self.rows().all(|row| match row[whole.min(row.len())..].split_first() {
            Some((first, rest)) => first & tail_mask == 0 && rest.iter().all(|&word| word == 0),
            None => true,
        })
    }
}
