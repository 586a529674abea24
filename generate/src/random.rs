//! Random numbers whose stream is the same on every platform and for ever.
//!
//! `rand_pcg` documents its algorithms as value-stable and portable. What `rand` adds on top (ranges, shuffles, weights)
//! is free to change between releases, so the few derivations that the generator needs are here, over plain `u32`s.

use rand_core::Rng as _;
use rand_pcg::Pcg32;

/// A stream of random choices.
#[derive(Clone, Debug)]
pub struct Random(Pcg32);

impl Random {
    /// The stream of a seed. `purpose` tells streams of one seed apart.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self(Pcg32::new(mixed(seed), purpose))
    }

    /// A stream of its own, which leaves this one as it is. `purpose` tells those apart that are made at one place.
    #[must_use]
    pub fn apart(&self, purpose: u64) -> Self {
        Self::new(self.clone().long(), purpose)
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn long(&mut self) -> u64 {
        let low = u64::from(self.word());
        u64::from(self.word()) << 32 | low
    }

    /// A number below `count`.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).expect("no platform has wider sizes");
        assert!(count > 0, "there is nothing to choose from");
        usize::try_from((u64::from(self.word()) * count) >> 32).expect("below the count")
    }

    /// A number of `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some things.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len())]
    }

    /// An index, as often as its weight says; none when all weights are 0.
    pub fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let total: u32 = weights.clone().sum();
        if total == 0 {
            return None;
        }
        let mut ticket = u32::try_from(self.below(total as usize)).expect("below a u32");
        weights.into_iter().position(|weight| {
            let is_hit = ticket < weight;
            ticket = ticket.wrapping_sub(weight);
            is_hit
        })
    }

    /// Bits that arithmetic is likely to get wrong: borders, powers of two, small numbers, else any.
    pub fn bits(&mut self) -> u64 {
        let power = 1_u64 << self.below(64);
        match self.below(9) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => power,
            4 => power.wrapping_sub(1),
            5 => power.wrapping_neg(),
            6 | 7 => self.below(40) as u64,
            _ => self.long(),
        }
    }
}

/// Spreads a seed over all bits, so that neighbours start far apart: the finaliser of SplitMix64 (Steele, Lea and Flood
/// 2014).
fn mixed(seed: u64) -> u64 {
    let bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PCG XSH RR 64/32 as its paper gives it (O'Neill 2014): the stream may never change, since seeds are kept in
    /// documents and in reports of failures.
    #[test]
    fn the_stream_is_that_of_the_paper() {
        let increment = 2_u64 << 1 | 1;
        let step = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(increment);
        let mut state = step(mixed(77).wrapping_add(increment));
        let mut random = Random::new(77, 2);
        for _ in 0..100 {
            let shifted = u32::try_from((state >> 18 ^ state) >> 27 & 0xFFFF_FFFF).expect("32 bits");
            let rotation = u32::try_from(state >> 59).expect("5 bits");
            assert_eq!(random.word(), shifted.rotate_right(rotation));
            state = step(state);
        }
    }

    /// The first output of SplitMix64 from state 0, as its authors' program prints it.
    #[test]
    fn seeds_are_mixed() {
        assert_eq!(mixed(0), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn choices_stay_in_range_and_reach_their_ends() {
        let mut random = Random::new(1, 0);
        let drawn: Vec<usize> = (0..200).map(|_| random.between(3, 5)).collect();
        assert!(drawn.iter().all(|&number| (3..=5).contains(&number)));
        assert!(drawn.contains(&3) && drawn.contains(&5));
        assert_eq!(random.weighted([0, 4, 0].into_iter()), Some(1));
        assert_eq!(random.weighted([0, 0].into_iter()), None);
    }
}
