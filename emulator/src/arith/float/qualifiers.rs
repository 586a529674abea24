//! The parts of a mnemonic: the root and the qualifiers after it.
//!
//! `ptxas` takes many qualifiers in more than one order (`cvt.rn.relu.bf16x2.f32`, `cvt.rn.bf16x2.relu.f32`), so they
//! are taken out by name, and the types by the order in which they stand. What was not taken is unknown, and makes the
//! whole mnemonic unknown.

use super::format::Rounding;

/// A mnemonic whose qualifiers are taken one by one.
#[derive(Clone, Debug)]
pub struct Qualifiers<'a> {
    /// The word before the first dot.
    pub root: &'a str,
    rest: Vec<&'a str>,
}

impl<'a> Qualifiers<'a> {
    /// Splits `mnemonic` at its dots.
    #[must_use]
    pub fn split(mnemonic: &'a str) -> Self {
        let mut words = mnemonic.split('.');
        Self { root: words.next().unwrap_or(""), rest: words.collect() }
    }

    /// Takes the qualifier `word` if it is there.
    pub fn take(&mut self, word: &str) -> bool {
        match self.rest.iter().position(|&other| other == word) {
            Some(index) => {
                self.rest.remove(index);
                true
            }
            None => false,
        }
    }

    /// Takes the first qualifier that `read` understands.
    pub fn take_first<T>(&mut self, read: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let (index, value) =
            self.rest.iter().enumerate().find_map(|(index, word)| Some((index, read(word)?)))?;
        self.rest.remove(index);
        Some(value)
    }

    /// Takes the rounding of a floating-point result: `.rn`, `.rz`, `.rm`, `.rp` or `.rna`.
    pub fn take_rounding(&mut self) -> Option<Rounding> {
        self.take_first(|word| match word {
            "rn" => Some(Rounding::NearestEven),
            "rz" => Some(Rounding::Zero),
            "rm" => Some(Rounding::Down),
            "rp" => Some(Rounding::Up),
            "rna" => Some(Rounding::NearestAway),
            _ => None,
        })
    }

    /// Whether every qualifier was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The qualifiers that were not taken, in textual order.
    #[must_use]
    pub fn rest(&self) -> &[&'a str] {
        &self.rest
    }
}
