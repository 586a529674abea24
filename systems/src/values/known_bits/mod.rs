//! What is known of an integer before the program runs: some of its bits, and the ranges that it lies in, read without and
//! with a sign.
//!
//! A [`Known`] stands for the set of values that have its bits and lie in both ranges. Every function here is sound:
//! where the sources are in their sets, the result is in its set. The tests try all values of all sets of a few bits.
//!
//! Paper: Regehr and Duongsaa 2006 (bits); Harrison 1977 (ranges); the sum of partly known numbers is that of LLVM's
//! `KnownBits`, derived here from the largest and the smallest sum.

mod instruction;
mod special;
#[cfg(test)]
mod tests;
mod transfer;

use ptxopt_components::types;

pub use instruction::{
    decided, in_register, is_integer, is_past_the_literal, passing, result_of, slot_width, tells,
};
pub use special::of_special_register;

/// A set of integers of `width` bits, 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    width: u32,
    /// Bits that are 0.
    zeros: u64,
    /// Bits that are 1.
    ones: u64,
    /// The least and the greatest value without a sign.
    low: u64,
    high: u64,
    /// The least and the greatest value with a sign.
    least: i64,
    most: i64,
}

impl Known {
    /// Any value.
    #[must_use]
    pub fn unknown(width: u32) -> Self {
        let mask = mask(width);
        let (least, most) = (types::extend(1 << (width - 1), width), (mask >> 1) as i64);
        Self { width, zeros: 0, ones: 0, low: 0, high: mask, least, most }
    }

    /// One value; bits above the width are ignored.
    #[must_use]
    pub fn constant(bits: u64, width: u32) -> Self {
        let bits = bits & mask(width);
        let signed = types::extend(bits, width);
        let zeros = !bits & mask(width);
        Self { width, zeros, ones: bits, low: bits, high: bits, least: signed, most: signed }
    }

    /// What lies in a range without a sign.
    #[must_use]
    pub fn range(low: u64, high: u64, width: u32) -> Self {
        Self::unknown(width).within(low, high)
    }

    /// What lies in a range with a sign.
    #[must_use]
    pub fn signed_range(least: i64, most: i64, width: u32) -> Self {
        Self::unknown(width).within_signed(least, most)
    }

    /// What has these bits.
    #[must_use]
    pub fn bits(zeros: u64, ones: u64, width: u32) -> Self {
        Self::unknown(width).with_bits(zeros, ones)
    }

    /// Number of bits.
    #[must_use]
    pub fn width(self) -> u32 {
        self.width
    }

    /// The bits that are 0.
    #[must_use]
    pub fn zeros(self) -> u64 {
        self.zeros
    }

    /// The bits that are 1.
    #[must_use]
    pub fn ones(self) -> u64 {
        self.ones
    }

    /// The bits that may be 1.
    #[must_use]
    pub fn possible(self) -> u64 {
        !self.zeros & mask(self.width)
    }

    /// The least value without a sign.
    #[must_use]
    pub fn low(self) -> u64 {
        self.low
    }

    /// The greatest value without a sign.
    #[must_use]
    pub fn high(self) -> u64 {
        self.high
    }

    /// The least value with a sign.
    #[must_use]
    pub fn least(self) -> i64 {
        self.least
    }

    /// The greatest value with a sign.
    #[must_use]
    pub fn most(self) -> i64 {
        self.most
    }

    /// Whether it is any value.
    #[must_use]
    pub fn is_any(self) -> bool {
        self == Self::unknown(self.width)
    }

    /// The only value, if there is one.
    #[must_use]
    pub fn only(self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    /// The bits that are the same in all values.
    #[must_use]
    pub fn certain(self) -> u64 {
        self.zeros | self.ones
    }

    /// Whether no value has its sign bit set.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.least >= 0
    }

    /// Whether a value is in the set.
    #[must_use]
    pub fn contains(self, value: u64) -> bool {
        let signed = types::extend(value, self.width);
        value & self.zeros == 0
            && value & self.ones == self.ones
            && (self.low..=self.high).contains(&value)
            && (self.least..=self.most).contains(&signed)
    }

    /// What is in one of two sets.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        debug_assert_eq!(self.width, other.width);
        Self {
            width: self.width,
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// What lies in a range without a sign, too; none where that is nothing.
    #[must_use]
    pub fn limited(self, low: u64, high: u64) -> Option<Self> {
        if low > high { None } else { self.if_any(self.within(low, high)) }
    }

    /// What lies in a range with a sign, too; none where that is nothing.
    #[must_use]
    pub fn limited_signed(self, least: i64, most: i64) -> Option<Self> {
        if least > most { None } else { self.if_any(self.within_signed(least, most)) }
    }

    /// A part of this set, unless there is nothing in it: such a part has become the set of all.
    fn if_any(self, part: Self) -> Option<Self> {
        (!part.is_any() || self.is_any()).then_some(part)
    }

    /// What is in both sets, where that is anything.
    fn meet(self, other: Self) -> Self {
        if other.is_any() {
            return self;
        }
        let zeros = self.zeros | other.zeros;
        let ones = self.ones | other.ones;
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        let (least, most) = (self.least.max(other.least), self.most.min(other.most));
        Self { width: self.width, zeros, ones, low, high, least, most }.settled()
    }

    /// All but one value, where that is at an end of a range.
    fn without(self, value: u64) -> Self {
        let signed = types::extend(value, self.width);
        let low = self.low.saturating_add(u64::from(self.low == value));
        let high = self.high.saturating_sub(u64::from(self.high == value));
        let least = self.least.saturating_add(i64::from(self.least == signed));
        let most = self.most.saturating_sub(i64::from(self.most == signed));
        Self { low, high, least, most, ..self }.settled()
    }

    fn within(self, low: u64, high: u64) -> Self {
        Self { low: self.low.max(low), high: self.high.min(high), ..self }.settled()
    }

    fn within_signed(self, least: i64, most: i64) -> Self {
        Self { least: self.least.max(least), most: self.most.min(most), ..self }.settled()
    }

    fn with_bits(self, zeros: u64, ones: u64) -> Self {
        let mask = mask(self.width);
        Self { zeros: (self.zeros | zeros) & mask, ones: (self.ones | ones) & mask, ..self }.settled()
    }

    /// Lets bits and ranges tell one another what they know. A set without values, as it comes of code that is never
    /// reached, becomes the set of all: no rule has to think of it.
    fn settled(mut self) -> Self {
        // What the signed range says of the bits goes through the other range: twice is enough.
        for _ in 0..2 {
            let before = self;
            self.low = self.low.max(self.ones);
            self.high = self.high.min(mask(self.width) & !self.zeros);
            self.settle_signs();
            if self.low > self.high || self.least > self.most || self.zeros & self.ones != 0 {
                return Self::unknown(self.width);
            }
            // Above the highest bit in which the ends of the range differ, all values have the same bits.
            let differing = self.low ^ self.high;
            let shared = mask(self.width) & !(u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0));
            self.zeros |= !self.low & shared;
            self.ones |= self.low & shared;
            if self == before {
                break;
            }
        }
        self
    }

    /// Brings the two ranges together, where the sign is known; else the bits bound the signed range.
    fn settle_signs(&mut self) {
        let sign = 1 << (self.width - 1);
        let extend = |bits: u64| types::extend(bits, self.width);
        let largest = mask(self.width) & !self.zeros;
        if self.high < sign || self.low >= sign {
            self.least = self.least.max(extend(self.low));
            self.most = self.most.min(extend(self.high));
        } else {
            self.least = self.least.max(extend(sign | self.ones));
            self.most = self.most.min((largest & !sign) as i64);
        }
        if self.least >= 0 || self.most < 0 {
            self.low = self.low.max(self.least as u64 & mask(self.width));
            self.high = self.high.min(self.most as u64 & mask(self.width));
        }
    }
}

/// The greatest position and length of a field that the ISA and the assembler read alike: the ISA reads the lowest byte.
pub const FIELD_MAX: u64 = 0xFF;

/// The lowest `width` bits.
const fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}
