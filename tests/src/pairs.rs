//! Kernels before and after the optimizer, and how their figures compare.

use crate::assembly::{Assembly, Kernel};

/// A kernel before and after the optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The name of its module.
    pub module: &'a str,
    /// Its own.
    pub name: &'a str,
    /// What the assembler made of it before.
    pub before: Kernel,
    /// What it made of it after.
    pub after: Kernel,
}

/// A figure of a kernel.
pub type Figure = fn(&Kernel) -> u64;

impl Pair<'_> {
    /// After / before, as [`ratio`] has it.
    #[must_use]
    pub fn ratio(&self, figure: Figure) -> f64 {
        ratio(figure(&self.before), figure(&self.after))
    }
}

/// The kernels of a module that are there before and after, by name.
pub fn pairs<'a>(
    module: &'a str,
    before: &'a Assembly,
    after: &'a Assembly,
) -> impl Iterator<Item = Pair<'a>> {
    before.kernels.iter().filter_map(move |(name, &before)| {
        let &after = after.kernels.get(name)?;
        Some(Pair { module, name, before, after })
    })
}

/// After / before; where there was nothing before, what there is now counts as so many times it.
#[must_use]
pub fn ratio(before: u64, after: u64) -> f64 {
    if before == after { 1.0 } else { after as f64 / before.max(1) as f64 }
}

/// The geometric mean; not a number where there is nothing.
pub fn mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = ratios.fold((0u32, 0.0), |(count, sum), ratio| (count + 1, sum + ratio.ln()));
    (sum / f64::from(count)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn kernels_are_paired_by_name() {
        let assembly = |kernels: &[(&str, u64)]| {
            let kernel = |registers| Kernel { registers, ..Kernel::default() };
            let kernels: BTreeMap<_, _> =
                kernels.iter().map(|&(name, registers)| (name.to_owned(), kernel(registers))).collect();
            Assembly { kernels, ..Assembly::default() }
        };
        let (before, after) =
            (assembly(&[("k", 8), ("gone", 9), ("l", 12)]), assembly(&[("l", 6), ("k", 8), ("new", 1)]));
        let found: Vec<_> = pairs("m", &before, &after)
            .map(|pair| (pair.module, pair.name, pair.before.registers, pair.after.registers))
            .collect();
        assert_eq!(found, [("m", "k", 8, 8), ("m", "l", 12, 6)]);
        let ratios: Vec<f64> =
            pairs("m", &before, &after).map(|pair| pair.ratio(|kernel| kernel.registers)).collect();
        assert_eq!(ratios, [1.0, 0.5]);
    }

    #[test]
    fn a_ratio_to_nothing_is_what_there_is_now() {
        assert_eq!([ratio(0, 0), ratio(0, 12), ratio(8, 4)], [1.0, 12.0, 0.5]);
    }

    #[test]
    fn means_are_geometric() {
        assert!((mean([0.5, 8.0].into_iter()) - 2.0).abs() < 1e-12);
        assert!(mean(std::iter::empty()).is_nan());
    }
}
