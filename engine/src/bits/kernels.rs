#![allow(unsafe_code)]
//! The loops over wide rows, one set for each instruction set, and the choice between them. All `unsafe` and
//! all intrinsics of the workspace are in this file.
//!
//! # What is unsafe here, and why it holds
//! - A function for an instruction set is called through a table, the table is reached through a [`Kernel`],
//!   and [`Kernel::available`] alone makes one, after asking the machine.
//! - An [`Update`] takes its rows as pointers and one length. [`Kernel`] makes the pointers from slices that
//!   it has compared the lengths of, and `updates` makes slices of them again.
//! - Loads and stores take an array of exactly one vector, and use the instructions that need no alignment.
//!
//! Everything between, the loops and the arithmetic, is safe code: slices are cut into arrays of vectors, and
//! the words that are left go to the twin.
//!
//! # How the loops are built
//! Each instruction set brings a vocabulary of functions on one vector; `bulk_operations` writes the loops
//! over it. A loop takes [`UNROLL`] vectors a round, then single vectors, then words. The changed flag is a
//! vector of `old ^ new` collected on the side and tested once after the loop, so nothing in the loop waits
//! for it. AVX-512 merges `gens | (input & !kills)` in one ternary operation and collects the flag in
//! another.
//!
//! # What limits them
//! The fused operation loads four vectors for each that it stores, and a core loads two a cycle: two cycles a
//! line with AVX-512. Measured on Zen 5 at 4.1 GHz, rows in L1, with AVX-512: 4,096 / 8,192 / 16,384 / 65,536
//! bits reach 66 / 75 / 83 / 92 % of that. The rest is a constant of about eight cycles a call, of which the
//! call of a function that does nothing takes six.
//!
//! # Tried and dropped
//! Same machine, AVX-512, [`Kernel::transfer_if_changed`], calls that change nothing / calls that all do:
//! - As it is: 5.8 / 5.9 ns at 4,096 bits, 19.3 / 20.0 at 16,384, 71.6 / 71.6 at 65,536.
//! - Looking for a change first and writing only when there is one, the form of the classic libraries: 5.8 /
//!   8.3, 18.6 / 21.1, 64.7 / 70.9. Gains a little where nothing changes, loses 43 % on short rows where
//!   something does.
//! - Storing a vector only where it changed: 5.8 / 6.2, 22.6 / 22.7, 68.1 / 72.6.
//! - Slices instead of pointers in [`Update`]: a call that does nothing took 10 cycles instead of 6, and the
//!   fused operation at 4,096 bits 30 instead of 26.
//! - The cutting into vectors with `array::map` over the sources: it is not inlined into a function with a
//!   target feature, so each call built the slices in memory.

use super::scalar::{update_extended, word};
use std::sync::OnceLock;

/// Vectors in one round of a loop. On Zen 5 with AVX-512, 1 / 4 / 8 of them take 5.7 / 5.8 / 5.9 ns at 4,096
/// bits and 21.8 / 19.3 / 20.5 ns at 16,384.
#[cfg(target_arch = "x86_64")]
const UNROLL: usize = 4;

/// Updates a row from three others of the same length, `word_count`; whether it changed. One of fewer sources
/// ignores the others. Pointers and not slices, so that the length is passed once and compared once, and all
/// arguments travel in registers.
///
/// # Safety
/// The machine has the instruction set of the function. The first pointer is that of a `&mut [u64]` of
/// `word_count` words, the others are those of `&[u64]` of as many.
type Update = unsafe fn(*mut u64, *const u64, *const u64, *const u64, usize) -> bool;

/// One function for each operation. The machine has the instruction set of all of them; the rows of one call
/// have one length.
struct Operations {
    name: &'static str,
    or: Update,
    and: Update,
    and_not: Update,
    xor: Update,
    assign_and: Update,
    or_and_not: Update,
    transfer: Update,
    popcount: unsafe fn(&[u64]) -> usize,
    is_subset_of: unsafe fn(&[u64], &[u64]) -> bool,
    intersects: unsafe fn(&[u64], &[u64]) -> bool,
    first_common: unsafe fn(&[u64], &[u64]) -> Option<usize>,
}

/// Expands to a static table of the functions of `$module`.
macro_rules! operations {
    ($table:ident, $module:ident) => {
        static $table: Operations = Operations {
            name: stringify!($module),
            or: $module::or,
            and: $module::and,
            and_not: $module::and_not,
            xor: $module::xor,
            assign_and: $module::assign_and,
            or_and_not: $module::or_and_not,
            transfer: $module::transfer,
            popcount: $module::popcount,
            is_subset_of: $module::is_subset_of,
            intersects: $module::intersects,
            first_common: $module::first_common,
        };
    };
}

operations!(SCALAR, scalar);
#[cfg(target_arch = "x86_64")]
operations!(SSE2, sse2);
#[cfg(target_arch = "x86_64")]
operations!(AVX2, avx2);
#[cfg(target_arch = "x86_64")]
operations!(AVX512, avx512);

/// One of the implementations of the operations over rows. A value exists only for what this machine can run.
///
/// The functions one module up use [`Kernel::best`]; a caller that wants another (a benchmark, a test) calls
/// the methods, which take rows of any lengths as the functions do. Rows of different lengths go word by
/// word, on every kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Of what this machine can run: [`Kernel::available`] is all that makes one.
    operations: &'static Operations,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Kernel {
    /// The kernel for this process: the widest that the machine has, found at the first call.
    #[inline]
    pub fn best() -> Kernel {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| *Self::available().last().expect("plain words run everywhere"))
    }

    /// Every kernel that this machine can run, plain words first, the widest vectors last.
    pub fn available() -> Vec<Kernel> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "only vectors add to it"))]
        let mut kernels = vec![Kernel { operations: &SCALAR }];
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("sse2") {
                kernels.push(Kernel { operations: &SSE2 });
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("popcnt") {
                kernels.push(Kernel { operations: &AVX2 });
            }
            if std::is_x86_feature_detected!("avx512f") {
                kernels.push(Kernel { operations: &AVX512 });
            }
        }
        kernels
    }

    /// `scalar`, `sse2`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        self.operations.name
    }

    #[inline(always)]
    fn update(
        self,
        operation: Update,
        dst: &mut [u64],
        [a, b, c]: [&[u64]; 3],
        on_word: impl Fn(u64, u64, u64, u64) -> u64,
    ) -> bool {
        if a.len() == dst.len() && b.len() == dst.len() && c.len() == dst.len() {
            // SAFETY: `operation` is from the table of this kernel, which the machine can run; the pointers
            // are those of slices of one length, the first of them a mutable one.
            unsafe { operation(dst.as_mut_ptr(), a.as_ptr(), b.as_ptr(), c.as_ptr(), dst.len()) }
        } else {
            update_extended(dst, [a, b, c], on_word)
        }
    }

    /// See [`or`](super::or).
    #[inline]
    pub fn or(self, dst: &mut [u64], src: &[u64]) {
        self.update(self.operations.or, dst, [src; 3], word::or);
    }

    /// See [`or_if_changed`](super::or_if_changed).
    #[inline]
    pub fn or_if_changed(self, dst: &mut [u64], src: &[u64]) -> bool {
        self.update(self.operations.or, dst, [src; 3], word::or)
    }

    /// See [`and`](super::and).
    #[inline]
    pub fn and(self, dst: &mut [u64], src: &[u64]) {
        self.update(self.operations.and, dst, [src; 3], word::and);
    }

    /// See [`and_if_changed`](super::and_if_changed).
    #[inline]
    pub fn and_if_changed(self, dst: &mut [u64], src: &[u64]) -> bool {
        self.update(self.operations.and, dst, [src; 3], word::and)
    }

    /// See [`and_not`](super::and_not).
    #[inline]
    pub fn and_not(self, dst: &mut [u64], src: &[u64]) {
        self.update(self.operations.and_not, dst, [src; 3], word::and_not);
    }

    /// See [`xor`](super::xor).
    #[inline]
    pub fn xor(self, dst: &mut [u64], src: &[u64]) {
        self.update(self.operations.xor, dst, [src; 3], word::xor);
    }

    /// See [`assign_and`](super::assign_and).
    #[inline]
    pub fn assign_and(self, dst: &mut [u64], a: &[u64], b: &[u64]) {
        // The answer that is dropped here costs one load of three.
        self.update(self.operations.assign_and, dst, [a, b, b], word::assign_and);
    }

    /// See [`or_and_not`](super::or_and_not).
    #[inline]
    pub fn or_and_not(self, dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) {
        self.update(self.operations.or_and_not, dst, [gens, input, kills], word::or_and_not);
    }

    /// See [`or_and_not_if_changed`](super::or_and_not_if_changed).
    #[inline]
    pub fn or_and_not_if_changed(self, dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) -> bool {
        self.update(self.operations.or_and_not, dst, [gens, input, kills], word::or_and_not)
    }

    /// See [`transfer_if_changed`](super::transfer_if_changed).
    #[inline]
    pub fn transfer_if_changed(self, dst: &mut [u64], gens: &[u64], input: &[u64], kills: &[u64]) -> bool {
        self.update(self.operations.transfer, dst, [gens, input, kills], word::transfer)
    }

    /// See [`popcount`](super::popcount).
    #[inline]
    pub fn popcount(self, row: &[u64]) -> usize {
        // SAFETY: the table is of what the machine can run.
        unsafe { (self.operations.popcount)(row) }
    }

    /// See [`is_subset_of`](super::is_subset_of).
    #[inline]
    pub fn is_subset_of(self, a: &[u64], b: &[u64]) -> bool {
        let common = a.len().min(b.len());
        let (both, rest) = a.split_at(common);
        // SAFETY: as in `popcount`.
        let is_subset = unsafe { (self.operations.is_subset_of)(both, &b[..common]) };
        is_subset && rest.iter().all(|&word| word == 0)
    }

    /// See [`intersects`](super::intersects).
    #[inline]
    pub fn intersects(self, a: &[u64], b: &[u64]) -> bool {
        let common = a.len().min(b.len());
        // SAFETY: as in `popcount`.
        unsafe { (self.operations.intersects)(&a[..common], &b[..common]) }
    }

    /// See [`first_common`](super::first_common).
    #[inline]
    pub fn first_common(self, a: &[u64], b: &[u64]) -> Option<usize> {
        let common = a.len().min(b.len());
        // SAFETY: as in `popcount`.
        unsafe { (self.operations.first_common)(&a[..common], &b[..common]) }
    }
}

/// Expands to an [`Update`] of each name, with the attribute: it hands its rows to the `update` of the module
/// that it stands in, with the operation on vectors, where one is given, and the one on words of the same
/// name.
macro_rules! updates {
    (#[$attribute:meta] $($name:ident $(: $on_vector:expr)?;)*) => {$(
        #[$attribute]
        pub(super) unsafe fn $name(
            dst: *mut u64,
            a: *const u64,
            b: *const u64,
            c: *const u64,
            word_count: usize,
        ) -> bool {
            // SAFETY: the caller of an `Update` has a `&mut [u64]` and three `&[u64]` of this length at these
            // pointers and lends them for the call.
            let (dst, srcs) = unsafe {
                let slice_at = |src| std::slice::from_raw_parts(src, word_count);
                (std::slice::from_raw_parts_mut(dst, word_count), [slice_at(a), slice_at(b), slice_at(c)])
            };
            update(dst, srcs, $($on_vector,)? word::$name)
        }
    )*};
}

/// Expands to the operations of one instruction set, over the vocabulary of the module that it stands in:
/// `Vector`, `LANES` and the functions from `zero` to `is_zero`. The rows of one call have one length, and
/// the caller has made sure of `$features`.
#[cfg(target_arch = "x86_64")]
macro_rules! bulk_operations {
    ($features:tt) => {
        /// `dst = operation(dst, a, b, c)` vector by vector, and `on_word` for the words after the last
        /// whole vector; whether `dst` changed. An operation of fewer sources names one of them again: the
        /// compiler drops loads that nothing uses, and the collecting of an answer that nothing takes.
        #[inline]
        #[target_feature(enable = $features)]
        fn update(
            dst: &mut [u64],
            [a, b, c]: [&[u64]; 3],
            operation: impl Fn(Vector, Vector, Vector, Vector) -> Vector,
            on_word: impl Fn(u64, u64, u64, u64) -> u64,
        ) -> bool {
            let (dst, dst_words) = dst.as_chunks_mut::<LANES>();
            let (a, a_words) = a.as_chunks::<LANES>();
            let (b, b_words) = b.as_chunks::<LANES>();
            let (c, c_words) = c.as_chunks::<LANES>();
            let (dst_rounds, dst) = dst.as_chunks_mut::<UNROLL>();
            let (a_rounds, a) = a.as_chunks::<UNROLL>();
            let (b_rounds, b) = b.as_chunks::<UNROLL>();
            let (c_rounds, c) = c.as_chunks::<UNROLL>();

            let mut change = zero();
            for (((dst, a), b), c) in dst_rounds.iter_mut().zip(a_rounds).zip(b_rounds).zip(c_rounds) {
                for step in 0..UNROLL {
                    let old = load(&dst[step]);
                    let new = operation(old, load(&a[step]), load(&b[step]), load(&c[step]));
                    change = note_change(change, old, new);
                    store(&mut dst[step], new);
                }
            }
            for (((dst, a), b), c) in dst.iter_mut().zip(a).zip(b).zip(c) {
                let old = load(dst);
                let new = operation(old, load(a), load(b), load(c));
                change = note_change(change, old, new);
                store(dst, new);
            }
            let words_changed =
                !dst_words.is_empty() && twin::update(dst_words, [a_words, b_words, c_words], on_word);
            words_changed | !is_zero(change)
        }

        updates! {
            #[target_feature(enable = $features)]
            or: |dst, src, _, _| join(dst, src);
            and: |dst, src, _, _| meet(dst, src);
            and_not: |dst, src, _, _| minus(dst, src);
            xor: |dst, src, _, _| differ(dst, src);
            assign_and: |_, a, b, _| meet(a, b);
            or_and_not: |dst, gens, input, kills| join(dst, merge(gens, input, kills));
            transfer: |_, gens, input, kills| merge(gens, input, kills);
        }

        /// Whether `operation(a, b)` is zero in every whole vector. Looks once a round.
        #[inline]
        #[target_feature(enable = $features)]
        fn all_zero(a: &[u64], b: &[u64], operation: impl Fn(Vector, Vector) -> Vector) -> bool {
            let (a_rounds, a) = a.as_chunks::<LANES>().0.as_chunks::<UNROLL>();
            let (b_rounds, b) = b.as_chunks::<LANES>().0.as_chunks::<UNROLL>();
            for (a, b) in a_rounds.iter().zip(b_rounds) {
                let mut found = zero();
                for step in 0..UNROLL {
                    found = join(found, operation(load(&a[step]), load(&b[step])));
                }
                if !is_zero(found) {
                    return false;
                }
            }
            let mut found = zero();
            for (a, b) in a.iter().zip(b) {
                found = join(found, operation(load(a), load(b)));
            }
            is_zero(found)
        }

        #[target_feature(enable = $features)]
        pub(super) fn is_subset_of(a: &[u64], b: &[u64]) -> bool {
            let (a_words, b_words) = (a.as_chunks::<LANES>().1, b.as_chunks::<LANES>().1);
            twin::is_subset_of(a_words, b_words) && all_zero(a, b, |a, b| minus(a, b))
        }

        #[target_feature(enable = $features)]
        pub(super) fn intersects(a: &[u64], b: &[u64]) -> bool {
            let (a_words, b_words) = (a.as_chunks::<LANES>().1, b.as_chunks::<LANES>().1);
            twin::intersects(a_words, b_words) || !all_zero(a, b, |a, b| meet(a, b))
        }

        #[target_feature(enable = $features)]
        pub(super) fn first_common(a: &[u64], b: &[u64]) -> Option<usize> {
            const ROUND: usize = UNROLL * LANES;
            let (a_rounds, a_words) = a.as_chunks::<ROUND>();
            let (b_rounds, b_words) = b.as_chunks::<ROUND>();
            let shared = a_rounds.iter().zip(b_rounds).position(|(a, b)| !all_zero(a, b, |a, b| meet(a, b)));
            let word_index = shared.unwrap_or(a_rounds.len()) * ROUND;
            let found = match shared {
                Some(round) => twin::first_common(&a_rounds[round], &b_rounds[round]),
                None => twin::first_common(a_words, b_words),
            };
            found.map(|bit| word_index * WORD_BITS + bit)
        }
    };
}

/// The twin in plain words, with the same signatures.
mod scalar {
    use super::super::scalar::update;
    pub(super) use super::super::scalar::{first_common, intersects, is_subset_of, popcount};
    use super::word;

    updates! {
        #[inline]
        or; and; and_not; xor; assign_and; or_and_not; transfer;
    }
}

/// Two words a vector. Every x86-64 machine has it.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::super::{WORD_BITS, scalar as twin};
    use super::{UNROLL, word};
    use std::arch::x86_64::*;

    type Vector = __m128i;
    const LANES: usize = 2;

    #[inline]
    #[target_feature(enable = "sse2")]
    fn zero() -> Vector {
        _mm_setzero_si128()
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(words: &[u64; LANES]) -> Vector {
        // SAFETY: the array is one vector of readable words, and this load needs no alignment.
        unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn store(words: &mut [u64; LANES], vector: Vector) {
        // SAFETY: the array is one vector of words that nothing else borrows; no alignment is needed.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn join(a: Vector, b: Vector) -> Vector {
        _mm_or_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn meet(a: Vector, b: Vector) -> Vector {
        _mm_and_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn minus(a: Vector, b: Vector) -> Vector {
        _mm_andnot_si128(b, a)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn differ(a: Vector, b: Vector) -> Vector {
        _mm_xor_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn merge(gens: Vector, input: Vector, kills: Vector) -> Vector {
        join(gens, minus(input, kills))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn note_change(change: Vector, old: Vector, new: Vector) -> Vector {
        join(change, differ(old, new))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn is_zero(vector: Vector) -> bool {
        _mm_movemask_epi8(_mm_cmpeq_epi8(vector, zero())) == 0xFFFF
    }
    bulk_operations!("sse2");

    #[target_feature(enable = "sse2")]
    pub(super) fn popcount(row: &[u64]) -> usize {
        twin::popcount(row)
    }
}

/// Four words a vector.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::super::{WORD_BITS, scalar as twin};
    use super::{UNROLL, word};
    use std::arch::x86_64::*;

    type Vector = __m256i;
    const LANES: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn zero() -> Vector {
        _mm256_setzero_si256()
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn load(words: &[u64; LANES]) -> Vector {
        // SAFETY: the array is one vector of readable words, and this load needs no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn store(words: &mut [u64; LANES], vector: Vector) {
        // SAFETY: the array is one vector of words that nothing else borrows; no alignment is needed.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn join(a: Vector, b: Vector) -> Vector {
        _mm256_or_si256(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn meet(a: Vector, b: Vector) -> Vector {
        _mm256_and_si256(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn minus(a: Vector, b: Vector) -> Vector {
        _mm256_andnot_si256(b, a)
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn differ(a: Vector, b: Vector) -> Vector {
        _mm256_xor_si256(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn merge(gens: Vector, input: Vector, kills: Vector) -> Vector {
        join(gens, minus(input, kills))
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn note_change(change: Vector, old: Vector, new: Vector) -> Vector {
        join(change, differ(old, new))
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn is_zero(vector: Vector) -> bool {
        _mm256_testz_si256(vector, vector) == 1
    }
    bulk_operations!("avx2,popcnt");

    /// The loop of the twin. The compiler makes vectors of it with what these features give.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn popcount(row: &[u64]) -> usize {
        twin::popcount(row)
    }
}

/// Eight words a vector: a cache line.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::super::{WORD_BITS, scalar as twin};
    use super::{UNROLL, word};
    use std::arch::x86_64::*;

    type Vector = __m512i;
    const LANES: usize = 8;

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Vector {
        _mm512_setzero_si512()
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(words: &[u64; LANES]) -> Vector {
        // SAFETY: the array is one vector of readable words, and this load needs no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(words: &mut [u64; LANES], vector: Vector) {
        // SAFETY: the array is one vector of words that nothing else borrows; no alignment is needed.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn join(a: Vector, b: Vector) -> Vector {
        _mm512_or_si512(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn meet(a: Vector, b: Vector) -> Vector {
        _mm512_and_si512(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn minus(a: Vector, b: Vector) -> Vector {
        _mm512_andnot_si512(b, a)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn differ(a: Vector, b: Vector) -> Vector {
        _mm512_xor_si512(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn merge(gens: Vector, input: Vector, kills: Vector) -> Vector {
        // 0xF0, 0xCC and 0xAA are the truth tables of the first, second and third operand.
        const GENS_OR_INPUT_NOT_KILLS: i32 = 0xF0 | (0xCC & !0xAA);
        _mm512_ternarylogic_epi64::<GENS_OR_INPUT_NOT_KILLS>(gens, input, kills)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn note_change(change: Vector, old: Vector, new: Vector) -> Vector {
        // As in `merge`.
        const CHANGE_OR_DIFFERENCE: i32 = 0xF0 | (0xCC ^ 0xAA);
        _mm512_ternarylogic_epi64::<CHANGE_OR_DIFFERENCE>(change, old, new)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn is_zero(vector: Vector) -> bool {
        _mm512_test_epi64_mask(vector, vector) == 0
    }
    bulk_operations!("avx512f");

    #[target_feature(enable = "avx512f")]
    pub(super) fn popcount(row: &[u64]) -> usize {
        if std::is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: the machine has it, as was just asked.
            unsafe { popcount_by_vector(row) }
        } else {
            twin::popcount(row)
        }
    }

    /// Its instruction came later than AVX-512 itself.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn popcount_by_vector(row: &[u64]) -> usize {
        let (rounds, words) = row.as_chunks::<{ UNROLL * LANES }>();
        let mut counts = [zero(); UNROLL];
        for round in rounds {
            for (count, vector) in counts.iter_mut().zip(round.as_chunks::<LANES>().0) {
                *count = _mm512_add_epi64(*count, _mm512_popcnt_epi64(load(vector)));
            }
        }
        let (singles, words) = words.as_chunks::<LANES>();
        for vector in singles {
            counts[0] = _mm512_add_epi64(counts[0], _mm512_popcnt_epi64(load(vector)));
        }
        let halves = [_mm512_add_epi64(counts[0], counts[1]), _mm512_add_epi64(counts[2], counts[3])];
        let count = _mm512_reduce_add_epi64(_mm512_add_epi64(halves[0], halves[1]));
        count as usize + twin::popcount(words)
    }
}
