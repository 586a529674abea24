//! Counts of registers, by class: as they are asked for, and packed as the walks add them.

use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::{VRegFlags, VRegHead};

/// The classes that registers of PTX have, in the order of [`Counts`]. Uniform registers and barriers are those of the
/// machine, for which PTX has no declaration.
pub const CLASSES: [RegClass; 2] = [RegClass::R, RegClass::P];

/// Registers of one class at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Registers.
    pub registers: u32,
    /// Slots of 32 bits that they take.
    pub slots: u32,
}

/// Registers at a point, by class.
pub type Counts = [Count; CLASSES.len()];

/// The place of a class in [`Counts`].
#[must_use]
pub fn place_of(class: RegClass) -> usize {
    CLASSES.iter().position(|&other| other == class).expect("PTX has registers of these classes only")
}

/// Counts, or the difference of two: a word a class, with slots in its upper half and registers in its lower one. So all are
/// added at once, modulo 2^64; and words are ordered as slots are, and registers where slots are equal, those of differences
/// as signed numbers.
pub(super) type Words = [u64; CLASSES.len()];

#[inline]
pub(super) fn plus(words: Words, more: Words) -> Words {
    std::array::from_fn(|class| words[class].wrapping_add(more[class]))
}

#[inline]
pub(super) fn minus(words: Words, less: Words) -> Words {
    std::array::from_fn(|class| words[class].wrapping_sub(less[class]))
}

/// Raises each word of a difference to that of another one where that is more.
#[inline]
pub(super) fn raise(most: &mut Words, words: Words) {
    for (most, word) in most.iter_mut().zip(words) {
        *most = (*most as i64).max(word as i64) as u64;
    }
}

/// Less than every difference.
pub(super) const LEAST: Words = [i64::MIN as u64; CLASSES.len()];

/// What a register counts for; the carry register for nothing.
#[inline]
pub(super) fn words_of(vreg: &VRegHead) -> Words {
    let mut words = Words::default();
    if !vreg.flags.contains(VRegFlags::CARRY) {
        words[place_of(vreg.class())] = u64::from(vreg.slots()) << 32 | 1;
    }
    words
}

pub(super) fn count_of(word: u64) -> Count {
    Count { registers: word as u32, slots: (word >> 32) as u32 }
}
