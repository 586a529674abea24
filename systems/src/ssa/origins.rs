//! Which registers stand for values of which: what SSA form remembers, so that code which nothing changes comes back with
//! its own names.

use ptxopt_components::ids::{Id, VRegId};
use ptxopt_engine::store::per_function::PerFunction;

/// The origins of a batch, by function.
pub type Origins = PerFunction<OriginsOf>;

/// The registers that SSA form has given to values of the registers of a function.
#[derive(Default)]
pub struct OriginsOf {
    /// The first of them.
    first: usize,
    /// From there on: whose value each was made for.
    origins: Vec<VRegId>,
}

impl OriginsOf {
    /// Of a function in which no register was made so.
    pub const NONE: &Self = &Self { first: 0, origins: Vec::new() };

    /// Notes that registers from `first` on were made for values of `origins`.
    pub fn note(&mut self, first: usize, origins: impl Iterator<Item = VRegId>) {
        self.first = first;
        self.origins.clear();
        self.origins.extend(origins);
    }

    /// Whose value a register was made for; the register itself if it was not made so.
    #[must_use]
    pub fn origin(&self, vreg: VRegId) -> VRegId {
        self.made_for(vreg).unwrap_or(vreg)
    }

    /// Whose value a register was made for, if it was made so.
    #[inline]
    #[must_use]
    pub fn made_for(&self, vreg: VRegId) -> Option<VRegId> {
        vreg.index().checked_sub(self.first).and_then(|at| self.origins.get(at)).copied()
    }

    /// Each register that was made, and whose value it was made for.
    pub fn pairs(&self) -> impl Iterator<Item = (VRegId, VRegId)> + '_ {
        let numbers = (self.first..).map(VRegId::new);
        numbers.zip(self.origins.iter().copied())
    }
}
