//! What is known of the results of operations, given what is known of their sources.

use super::{FIELD_MAX, Known, mask};
use ptxopt_components::types;

impl Known {
    /// `self + other`.
    pub(crate) fn add(self, other: Self) -> Self {
        self.add_bits(other, false).meet(
            self.sum_range(i128::from(other.low), i128::from(other.high))
                .meet(self.signed_sum_range(i128::from(other.least), i128::from(other.most))),
        )
    }

    /// `self - other`.
    pub(crate) fn sub(self, other: Self) -> Self {
        self.add_bits(other.not(), true).meet(
            self.sum_range(-i128::from(other.high), -i128::from(other.low))
                .meet(self.signed_sum_range(-i128::from(other.most), -i128::from(other.least))),
        )
    }

    /// The range of a sum with what lies in `least..=most`, where no sum leaves the width.
    fn sum_range(self, least: i128, most: i128) -> Self {
        from_range(i128::from(self.low) + least, i128::from(self.high) + most, self.width)
    }

    fn signed_sum_range(self, least: i128, most: i128) -> Self {
        from_signed_range(i128::from(self.least) + least, i128::from(self.most) + most, self.width)
    }

    /// The bits of `self + other + carry`. The largest and the smallest sum have the same carry into a bit only if all sums
    /// have it; then a bit of the sum is known where both of its sources are.
    fn add_bits(self, other: Self, carry: bool) -> Self {
        let largest = (!self.zeros).wrapping_add(!other.zeros).wrapping_add(u64::from(carry));
        let smallest = self.ones.wrapping_add(other.ones).wrapping_add(u64::from(carry));
        let carry_is_zero = !(largest ^ self.zeros ^ other.zeros);
        let carry_is_one = smallest ^ self.ones ^ other.ones;
        let are_known =
            (self.zeros | self.ones) & (other.zeros | other.ones) & (carry_is_zero | carry_is_one);
        Self::bits(!smallest & are_known, smallest & are_known, self.width)
    }

    /// The lower half of `self * other`.
    pub(crate) fn mul(self, other: Self) -> Self {
        let (low, high) = self.product(other);
        let (least, most) = self.signed_product(other);
        // The lowest bits of a product come of the lowest bits of its factors.
        let of_zeros = (self.trailing_zeros() + other.trailing_zeros()).min(self.width);
        let all_known =
            (self.zeros | self.ones).trailing_ones().min((other.zeros | other.ones).trailing_ones());
        let bits = self.ones.wrapping_mul(other.ones);
        let lowest = lowest(of_zeros.max(all_known.min(self.width)));
        let range = if high <= u128::from(mask(self.width)) {
            Self::range(low as u64, high as u64, self.width)
        } else {
            Self::unknown(self.width)
        };
        range.meet(from_signed_range(least, most, self.width)).with_bits(!bits & lowest, bits & lowest)
    }

    /// The upper half of `self * other` without a sign.
    pub(crate) fn mul_high(self, other: Self) -> Self {
        let (low, high) = self.product(other);
        Self::range((low >> self.width) as u64, (high >> self.width) as u64, self.width)
    }

    /// The upper half of `self * other` with a sign.
    pub(crate) fn mul_high_signed(self, other: Self) -> Self {
        let (least, most) = self.signed_product(other);
        from_signed_range(least >> self.width, most >> self.width, self.width)
    }

    fn product(self, other: Self) -> (u128, u128) {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        (product(self.low, other.low), product(self.high, other.high))
    }

    /// The ends of a product are among the products of the ends.
    fn signed_product(self, other: Self) -> (i128, i128) {
        let product = |one: i64, other: i64| i128::from(one) * i128::from(other);
        let ends = [
            product(self.least, other.least),
            product(self.least, other.most),
            product(self.most, other.least),
            product(self.most, other.most),
        ];
        let least = ends.iter().copied().fold(ends[0], i128::min);
        (least, ends.iter().copied().fold(ends[0], i128::max))
    }

    /// How many of the lowest bits are 0.
    pub(crate) fn trailing_zeros(self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// `self / other` without a sign. Nothing is known of a quotient by zero.
    pub(crate) fn div(self, other: Self) -> Self {
        if other.low == 0 {
            return Self::unknown(self.width);
        }
        Self::range(self.low / other.high, self.high / other.low, self.width)
    }

    /// `self % other` without a sign. Nothing is known of a remainder by zero.
    pub(crate) fn rem(self, other: Self) -> Self {
        if other.low == 0 {
            return Self::unknown(self.width);
        }
        if self.high < other.low {
            return self;
        }
        let range = Self::range(0, self.high.min(other.high - 1), self.width);
        match (self.only(), other.only()) {
            (Some(dividend), Some(divisor)) => Self::constant(dividend % divisor, self.width),
            // The lowest bits stay.
            (None, Some(divisor)) if divisor.is_power_of_two() => {
                range.with_bits(self.zeros & (divisor - 1), self.ones & (divisor - 1))
            }
            _ => range,
        }
    }

    /// `self % other` with a sign, which is that of `self`.
    pub(crate) fn rem_signed(self, other: Self) -> Self {
        if other.least <= 0 {
            return Self::unknown(self.width);
        }
        if self.is_positive() {
            return self.rem(other);
        }
        let most = other.most - 1;
        Self::signed_range(self.least.max(-most), self.most.min(most).max(0), self.width)
    }

    /// `self & other`.
    pub(crate) fn and(self, other: Self) -> Self {
        Self::bits(self.zeros | other.zeros, self.ones & other.ones, self.width)
            .within(0, self.high.min(other.high))
    }

    /// `self | other`.
    pub(crate) fn or(self, other: Self) -> Self {
        let low = self.low.max(other.low);
        Self::bits(self.zeros & other.zeros, self.ones | other.ones, self.width).within(low, mask(self.width))
    }

    /// `self ^ other`.
    pub(crate) fn xor(self, other: Self) -> Self {
        let zeros = self.zeros & other.zeros | self.ones & other.ones;
        let ones = self.zeros & other.ones | self.ones & other.zeros;
        Self::bits(zeros, ones, self.width)
    }

    /// `!self`.
    pub(crate) fn not(self) -> Self {
        let mask = mask(self.width);
        Self::bits(self.ones, self.zeros, self.width)
            .within(mask & !self.high, mask & !self.low)
            .within_signed(!self.most, !self.least)
    }

    /// `-self`.
    pub(crate) fn neg(self) -> Self {
        Self::constant(0, self.width).sub(self)
    }

    /// The absolute value; that of the least value is the least value.
    pub(crate) fn abs(self) -> Self {
        if self.is_positive() {
            return self;
        }
        let high = self.least.unsigned_abs().max(self.most.unsigned_abs());
        Self::range(0, high, self.width)
    }

    /// `self << amount`.
    pub(crate) fn shl(self, amount: Self) -> Self {
        if amount.low >= u64::from(self.width) {
            return Self::constant(0, self.width);
        }
        let least = amount.low as u32;
        let zeros = (self.trailing_zeros() + least).min(self.width);
        let low_zeros = lowest(zeros);
        if amount.only().is_none() {
            return Self::bits(low_zeros, 0, self.width);
        }
        let known = Self::bits(self.zeros << least | low_zeros, self.ones << least, self.width);
        let ends = (i128::from(self.low) << least, i128::from(self.high) << least);
        let signed_ends = (i128::from(self.least) << least, i128::from(self.most) << least);
        known.meet(from_range(ends.0, ends.1, self.width)).meet(from_signed_range(
            signed_ends.0,
            signed_ends.1,
            self.width,
        ))
    }

    /// `self >> amount` without a sign.
    pub(crate) fn shr(self, amount: Self) -> Self {
        let shifted = |bits: u64, by: u64| if by >= u64::from(self.width) { 0 } else { bits >> by };
        let range = Self::range(shifted(self.low, amount.high), shifted(self.high, amount.low), self.width);
        match amount.only() {
            Some(amount) if amount < u64::from(self.width) => {
                let upper = mask(self.width) & !(mask(self.width) >> amount);
                range.with_bits(self.zeros >> amount | upper, self.ones >> amount)
            }
            _ => range,
        }
    }

    /// `self >> amount` with a sign.
    pub(crate) fn shr_signed(self, amount: Self) -> Self {
        if self.is_positive() {
            return self.shr(amount);
        }
        let limit = u64::from(self.width - 1);
        let (least, most) = (amount.low.min(limit), amount.high.min(limit));
        // The further, the nearer to 0 or -1.
        let low = self.least >> least;
        let high = if self.most < 0 { self.most >> most } else { self.most >> least };
        let range = Self::signed_range(low, high, self.width);
        match amount.only() {
            Some(_) => {
                let shifted = |bits: u64| (types::extend(bits, self.width) >> least) as u64;
                range.with_bits(shifted(self.zeros), shifted(self.ones))
            }
            None => range,
        }
    }

    /// The field of `length` bits at `position`, as `bfe` of a type without a sign takes it out. The ISA reads the lowest byte of
    /// both, and the assembler (13.0) all of them, of 64 bits: of larger ones is known what both have in common.
    pub(crate) fn field(self, position: Self, length: Self) -> Self {
        if length.high > FIELD_MAX {
            return Self::unknown(self.width);
        }
        let shifted = if position.high > FIELD_MAX {
            Self::range(0, self.high, self.width)
        } else {
            self.shr(position)
        };
        let longest =
            if length.high >= u64::from(self.width) { mask(self.width) } else { (1 << length.high) - 1 };
        let mask = match length.only() {
            Some(_) => Self::constant(longest, self.width),
            None => Self::range(0, longest, self.width),
        };
        shifted.and(mask)
    }

    /// The smaller value without a sign.
    pub(crate) fn min(self, other: Self) -> Self {
        self.join(other).within(self.low.min(other.low), self.high.min(other.high))
    }

    /// The greater value without a sign.
    pub(crate) fn max(self, other: Self) -> Self {
        self.join(other).within(self.low.max(other.low), self.high.max(other.high))
    }

    /// The smaller value with a sign.
    pub(crate) fn min_signed(self, other: Self) -> Self {
        self.join(other).within_signed(self.least.min(other.least), self.most.min(other.most))
    }

    /// The greater value with a sign.
    pub(crate) fn max_signed(self, other: Self) -> Self {
        self.join(other).within_signed(self.least.max(other.least), self.most.max(other.most))
    }

    /// How many bits are 1, in 32 bits.
    pub(crate) fn count_ones(self) -> Self {
        let (least, most) = (self.ones.count_ones(), self.width - self.zeros.count_ones());
        Self::range(u64::from(least), u64::from(most), 32)
    }

    /// How many of the highest bits are 0, in 32 bits.
    pub(crate) fn leading_zeros(self) -> Self {
        let of = |bits: u64| u64::from(bits.leading_zeros() - (64 - self.width));
        Self::range(of(self.high), of(self.low), 32)
    }

    /// The lowest bits.
    pub(crate) fn truncate(self, width: u32) -> Self {
        if width >= self.width {
            return self;
        }
        let known = Self::bits(self.zeros, self.ones, width);
        let is_shared = self.low >> width == self.high >> width;
        let known =
            if is_shared { known.within(self.low & mask(width), self.high & mask(width)) } else { known };
        known.meet(from_signed_range(i128::from(self.least), i128::from(self.most), width))
    }

    /// The same value without a sign in more bits.
    pub(crate) fn extend(self, width: u32) -> Self {
        if width <= self.width {
            return self;
        }
        Self::range(self.low, self.high, width)
            .with_bits(self.zeros | mask(width) & !mask(self.width), self.ones)
    }

    /// The same value with its sign in more bits.
    pub(crate) fn extend_signed(self, width: u32) -> Self {
        if width <= self.width {
            return self;
        }
        let extend = |bits: u64| types::extend(bits, self.width) as u64;
        Self::signed_range(self.least, self.most, width).with_bits(extend(self.zeros), extend(self.ones))
    }

    /// Whether the two are equal, where that is known.
    pub(crate) fn is_equal(self, other: Self) -> Option<bool> {
        let has_other_bit = self.zeros & other.ones | self.ones & other.zeros != 0;
        let is_apart = self.high < other.low || other.high < self.low;
        let is_apart_signed = self.most < other.least || other.most < self.least;
        if has_other_bit || is_apart || is_apart_signed {
            return Some(false);
        }
        (self.only().is_some() && self.only() == other.only()).then_some(true)
    }

    /// Whether `self < other` without a sign, where that is known.
    pub(crate) fn is_less(self, other: Self) -> Option<bool> {
        if self.high < other.low { Some(true) } else { (self.low >= other.high).then_some(false) }
    }

    /// Whether `self < other` with a sign, where that is known.
    pub(crate) fn is_less_signed(self, other: Self) -> Option<bool> {
        if self.most < other.least { Some(true) } else { (self.least >= other.most).then_some(false) }
    }
}

/// The lowest `count` bits, which may be none.
fn lowest(count: u32) -> u64 {
    if count == 0 { 0 } else { mask(count) }
}

/// What lies in a range without a sign; anything where the range leaves the width.
fn from_range(low: i128, high: i128, width: u32) -> Known {
    let fits = low >= 0 && high <= i128::from(mask(width));
    if fits { Known::range(low as u64, high as u64, width) } else { Known::unknown(width) }
}

/// What lies in a range with a sign; anything where the range leaves the width.
fn from_signed_range(least: i128, most: i128, width: u32) -> Known {
    let any = Known::unknown(width);
    let fits = least >= i128::from(any.least) && most <= i128::from(any.most);
    if fits { Known::signed_range(least as i64, most as i64, width) } else { any }
}
