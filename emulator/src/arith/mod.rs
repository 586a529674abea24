//! What arithmetic instructions compute: mnemonics become evaluators over the lanes of a warp.

pub mod float;
mod integer;

use crate::lanes::Lanes;

/// An evaluator: sources in, results out, all 32 lanes at once.
///
/// Sources and results stand in textual order (results first in the text, so `d|p` are results 0 and 1), braces
/// flattened, immediates already spread over the lanes. The caller passes raw register cells: an evaluator truncates
/// what it reads, applies the selectors and signs of the [`Request`] and writes whole cells. A 128-bit register takes
/// two results or two sources, the low half first. A sink (`_`) counts as a result or source like any other. A merge
/// operand of a video instruction is its last source.
/// Width: results are zero-extended, but for `cvt`, whose destination register may be wider than its type: there the
/// sign fills the cell, and the caller cuts it to the register's width.
/// Carry: an instruction that reads the carry flag gets it as one more source after the others, one that writes it
/// has one more result after the others. Lanes that are not active hold arbitrary values and their results are
/// ignored: evaluators never panic on them.
pub type Evaluator = Box<dyn Fn(&[&Lanes], &mut [Lanes]) + Send + Sync>;

/// What a module's `.version` and `.target` change about the meaning of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Plain `f32` arithmetic flushes denormals (`.target sm_1x`).
    pub flushes: bool,
    /// Conversions from and to types of 64 bits do not, unless they say so (`.version 1.4` and older).
    pub wide_conversions_keep: bool,
}

impl Dialect {
    /// That of modules of today.
    pub const TODAY: Self = Self { flushes: false, wide_conversions_keep: false };
}

/// One arithmetic instruction, as its text gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Root and qualifiers, without operands: `mad.lo.u32`.
    pub mnemonic: &'a str,
    /// Results in the text, braces flattened, the carry flag left out.
    pub results: usize,
    /// Sources in the text, braces flattened, the carry flag left out.
    pub sources: usize,
    /// The selector or lane mask after each operand without its dot (`b0`, `h1`, `h10`, `b3210`): one for each
    /// result, then one for each source (a merge operand is a source). Empty where no operand has one.
    pub selectors: &'a [Option<&'a str>],
    /// Whether a minus sign (`vmad`) or a `!` (predicates) stands before the source: one for each source. Empty
    /// where no source has one.
    pub negated: &'a [bool],
    /// What the module's header says.
    pub dialect: Dialect,
}

impl<'a> Request<'a> {
    /// A request without selectors and signs, for a module of today.
    #[must_use]
    pub const fn plain(mnemonic: &'a str, results: usize, sources: usize) -> Self {
        Self { mnemonic, results, sources, selectors: &[], negated: &[], dialect: Dialect::TODAY }
    }

    /// Whether a minus sign or a `!` stands before source `index`.
    #[must_use]
    pub fn is_negated(&self, index: usize) -> bool {
        self.negated.get(index).copied().unwrap_or(false)
    }
}

/// The evaluator of one instruction; `None` where it is no arithmetic or not known.
#[must_use]
pub fn evaluator(request: &Request) -> Option<Evaluator> {
    integer::evaluator(request).or_else(|| float::evaluator(request))
}
