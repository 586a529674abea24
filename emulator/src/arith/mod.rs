//! What arithmetic instructions compute: mnemonics become evaluators over the lanes of a warp.

use crate::lanes::Lanes;

/// An evaluator: sources in, results out, all 32 lanes at once.
///
/// Sources and results stand in textual order (results first in the text, so `d|p` are results 0 and 1), braces
/// flattened, component selectors already applied, immediates already spread over the lanes. Every source is masked
/// to the width that its slot reads (the caller passes raw register cells; evaluators truncate what they read).
/// Carry: an instruction that reads the carry flag gets it as one more source behind the others, one that writes it
/// has one more result behind the others. Lanes that are not active hold arbitrary values and their results are
/// ignored: evaluators never panic on them.
pub type Evaluator = Box<dyn Fn(&[&Lanes], &mut [Lanes]) + Send + Sync>;

/// What a module's `.version` and `.target` change about the meaning of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Plain `f32` arithmetic flushes denormals (`.target sm_1x`).
    pub flushes: bool,
}

/// The evaluator of `mnemonic` (root and qualifiers, without operands), given how many results and sources stand in
/// the text (carry flag excluded, braces flattened); `None` where it is no arithmetic or not known.
#[must_use]
pub fn evaluator(mnemonic: &str, results: usize, sources: usize, dialect: Dialect) -> Option<Evaluator> {
    let _ = (mnemonic, results, sources, dialect);
    None
}
