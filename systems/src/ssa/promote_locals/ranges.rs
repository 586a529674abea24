//! Ranges: between which bounds the distance of an address from the start of its variable lies.

/// Numbers are smaller than this, or nothing is said of them: sums of a few do not overflow.
const MAGNITUDE_MAX: i64 = 1 << 56;

/// Local memory has addresses of 32 bits, whatever holds them: two numbers that are smaller than this lead to two places.
const LOCAL_MAX: i64 = 1 << 31;

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
        Self { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }.told()
    }

    /// The numbers with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: self.high.saturating_neg(), high: self.low.saturating_neg() }.told()
    }

    /// The numbers of both, and those between them.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether all numbers of another range are in this one.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.join(other) == self
    }

    /// The range; any number where it has large ones. Addresses wrap, so that sums may come back to small numbers: they stay
    /// unknown.
    fn told(self) -> Self {
        self.counted().unwrap_or(Self::ANY)
    }

    /// The range of numbers of which the lower 32 bits count; any number where another one may have those of a number in the range.
    #[must_use]
    pub fn in_local(self) -> Self {
        if self.low > -LOCAL_MAX && self.high < LOCAL_MAX { self } else { Self::ANY }
    }

    /// The range, if its numbers are small enough to be added.
    #[must_use]
    pub fn counted(self) -> Option<Self> {
        (self.low > -MAGNITUDE_MAX && self.high < MAGNITUDE_MAX).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_memory_ends_after_32_bits_of_an_address() {
        let near = Range { low: -LOCAL_MAX + 1, high: LOCAL_MAX - 1 };
        assert_eq!(near.in_local(), near);
        for far in
            [Range { low: -LOCAL_MAX, ..near }, Range { high: LOCAL_MAX, ..near }, Range::exact(1 << 32)]
        {
            assert_eq!(far.in_local(), Range::ANY);
        }
    }

    #[test]
    fn ranges_join_around_what_lies_between_them() {
        let (one, other) = (Range { low: 0, high: 4 }, Range { low: 8, high: 12 });
        let both = Range { low: 0, high: 12 };
        assert_eq!((one.join(other), other.join(one), both.join(one)), (both, both, both));
        assert!(both.covers(one) && both.covers(other) && both.covers(both));
        assert!(!one.covers(both) && !one.covers(Range::exact(5)) && !other.covers(Range::exact(7)));
    }

    #[test]
    fn sums_of_large_numbers_are_any_number_and_stay_so() {
        let large = Range::exact(MAGNITUDE_MAX - 1);
        assert_eq!(large.plus(Range::exact(0)), large);
        let sum = large.plus(large);
        assert_eq!(sum, Range::ANY);
        assert_eq!(sum.plus(large.negated()).plus(large.negated()), Range::ANY, "no bounds come back");
        assert_eq!(Range::ANY.negated(), Range::ANY);
        for small in [-8, 0, 8] {
            assert_eq!(Range::ANY.plus(Range::exact(small)), Range::ANY);
            assert_eq!(Range::ANY.plus(Range::exact(small)).value(), None);
        }
        assert_eq!(Range { low: -3, high: 5 }.plus(Range::exact(2)), Range { low: -1, high: 7 });
        assert_eq!(Range { low: -3, high: 5 }.negated(), Range { low: -5, high: 3 });
    }
}
