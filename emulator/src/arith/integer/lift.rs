//! From a function of one lane to an evaluator of all.

use super::super::Evaluator;
use super::types::Int;
use crate::lanes::{Lanes, WARP_SIZE};

/// An evaluator, and the operands it has in the text.
pub(super) struct Shaped {
    pub(super) results: usize,
    pub(super) sources: usize,
    pub(super) run: Evaluator,
}

impl Shaped {
    /// Takes the last source and, or, the last result out of the text: they are the carry flag.
    pub(super) fn with_carry(self, read: bool, written: bool) -> Self {
        Self {
            results: self.results - usize::from(written),
            sources: self.sources - usize::from(read),
            run: self.run,
        }
    }
}

/// `lane` over all lanes. Its type is known here, so that the loop has no calls and the compiler makes vectors of it.
pub(super) fn lift<const S: usize, const R: usize>(
    lane: impl Fn([u64; S]) -> [u64; R] + Send + Sync + 'static,
) -> Shaped {
    let run = move |sources: &[&Lanes], results: &mut [Lanes]| {
        let sources: [&Lanes; S] = *sources.first_chunk().expect("an instruction has all its sources");
        let results: &mut [Lanes; R] = results.first_chunk_mut().expect("an instruction has all its results");
        for at in 0..WARP_SIZE {
            let values = lane(sources.map(|source| source[at]));
            for (result, value) in results.iter_mut().zip(values) {
                result[at] = value;
            }
        }
    };
    Shaped { results: R, sources: S, run: Box::new(run) }
}

/// One source.
pub(super) fn unary<T: Int, U: Int>(lane: impl Fn(T) -> U + Send + Sync + 'static) -> Shaped {
    lift(move |[a]| [lane(T::read(a)).cell()])
}

/// Two sources of one type.
pub(super) fn binary<T: Int>(lane: impl Fn(T, T) -> T + Send + Sync + 'static) -> Shaped {
    lift(move |[a, b]| [lane(T::read(a), T::read(b)).cell()])
}

/// Three sources of one type.
pub(super) fn ternary<T: Int>(lane: impl Fn(T, T, T) -> T + Send + Sync + 'static) -> Shaped {
    lift(move |[a, b, c]| [lane(T::read(a), T::read(b), T::read(c)).cell()])
}
