//! Ranges: between which bounds the distance of an address from the start of its variable lies.

/// Numbers are smaller than this, or nothing is said of them: sums of a few do not overflow.
const MAGNITUDE_MAX: i64 = 1 << 56;

/// The numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

impl Range {
    /// Numbers without known bounds.
    pub const ANY: Self = Self { low: -MAGNITUDE_MAX, high: MAGNITUDE_MAX };

    /// One number.
    #[must_use]
    pub const fn exact(value: i64) -> Self {
        Self { low: value, high: value }
    }

    /// The number, if it is only one.
    #[must_use]
    pub fn value(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    /// The sums.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    /// The numbers with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: self.high.saturating_neg(), high: self.low.saturating_neg() }
    }

    /// The range, if its numbers are small enough to be added.
    #[must_use]
    pub fn counted(self) -> Option<Self> {
        (self.low > -MAGNITUDE_MAX && self.high < MAGNITUDE_MAX).then_some(self)
    }
}
