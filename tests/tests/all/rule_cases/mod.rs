//! Kernels to which the rules of general optimization apply.
//!
//! `%h1`, `%w1` and `%d1` hold 16, 32 and 64 bits of the first operand, as they come from memory; those of the second and
//! third end in 2 and 3. Results are `%h0`, `%w0`, `%d0` and `%p0`. `%d9` is where the first operand lies.

mod arithmetic;
mod bits;
mod choices;
mod conversions;

/// The name of a rule, and instructions to which it applies: one string a kernel.
type Case = (&'static str, &'static [&'static str]);

/// All of them, one for each rule.
pub(crate) fn cases() -> Vec<Case> {
    [arithmetic::CASES, bits::CASES, choices::CASES, conversions::CASES].concat()
}
