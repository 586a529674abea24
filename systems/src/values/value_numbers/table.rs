//! The table of expressions: which instruction computed one first.

use ptxopt_components::ids::{InstId, Span};

/// An expression of the table.
struct Entry {
    hash: Hash,
    /// One more than the number of the entry before in its bucket; 0 where there is none.
    before: u32,
    key: Span,
    /// The instruction that computed it first.
    inst: InstId,
}

/// The hash of a key, the same in every run. Its upper bits say the bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash(u32);

/// What hashes are multiplied with: 2^64 divided by the golden ratio, so that all bits of a word reach the upper ones.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hash {
    #[inline]
    fn of(key: &[u64]) -> Self {
        let hash = key.iter().fold(0u64, |hash, &word| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR));
        Self((hash >> 32) as u32)
    }
}

/// The table. A key is appended to its words; where it is not put into the table, they are truncated again.
#[derive(Default)]
pub(super) struct Table {
    /// By the upper bits of a hash: one more than the number of the last entry; 0 where there is none.
    buckets: Vec<u32>,
    /// By how much a hash is shifted to be that of a bucket.
    shift: u32,
    entries: Vec<Entry>,
    pub words: Vec<u64>,
}

/// The table has at most so many times the room that a function needs that has at least so many instructions.
const ROOM_MAX: usize = 8;
const ROOM_LEAST: usize = 256;

/// Most keys have no more words.
const WORDS_OF_A_KEY: usize = 4;

impl Table {
    /// Makes ready for a function, with a bucket for each instruction at least, and says whether the memory of the one before was
    /// given back: it was much larger.
    pub(super) fn start(&mut self, inst_count: usize) -> bool {
        let count = inst_count.max(ROOM_LEAST).next_power_of_two();
        let is_new = self.buckets.capacity() > ROOM_MAX * count;
        if is_new {
            *self = Self::default();
        }
        self.buckets.clear();
        self.buckets.resize(count, 0);
        self.shift = u32::BITS - count.trailing_zeros();
        self.entries.clear();
        self.entries.reserve(inst_count);
        self.words.clear();
        self.words.reserve(inst_count * WORDS_OF_A_KEY);
        is_new
    }

    /// The hash of the key from `first` on.
    #[inline]
    pub(super) fn hash(&self, first: usize) -> Hash {
        Hash::of(&self.words[first..])
    }

    /// The instruction that has the key from `first` on, with its hash.
    #[inline]
    pub(super) fn known(&self, hash: Hash, first: usize) -> Option<InstId> {
        self.number(hash, first).map(|number| self.entries[number].inst)
    }

    /// Lets another instruction stand for the key from `first` on.
    pub(super) fn replace(&mut self, inst: InstId, hash: Hash, first: usize) {
        if let Some(number) = self.number(hash, first) {
            self.entries[number].inst = inst;
        }
    }

    /// Puts the key from `first` on into the table.
    #[inline]
    pub(super) fn insert(&mut self, inst: InstId, hash: Hash, first: usize) {
        let key = Span::between(first, self.words.len());
        let bucket = &mut self.buckets[(hash.0 >> self.shift) as usize];
        self.entries.push(Entry { hash, before: *bucket, key, inst });
        *bucket = self.entries.len() as u32;
    }

    /// The number of the entry that has the key from `first` on.
    #[inline]
    fn number(&self, hash: Hash, first: usize) -> Option<usize> {
        let (kept, key) = self.words.split_at(first);
        let mut next = self.buckets[(hash.0 >> self.shift) as usize];
        while let Some(number) = next.checked_sub(1) {
            let entry = &self.entries[number as usize];
            if entry.hash == hash && &kept[entry.key.range()] == key {
                return Some(number as usize);
            }
            next = entry.before;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Keys of one to three words, most of them in one bucket with others: against a map.
    #[test]
    fn a_key_is_known_by_the_instruction_that_was_put_in_last() {
        let mut table = Table::default();
        for inst_count in [3, 5000, 3] {
            table.start(inst_count);
            let mut expected: HashMap<Vec<u64>, InstId> = HashMap::new();
            for number in 0..4000_u32 {
                let (one, other) = (u64::from(number % 61), u64::from(number % 7) << 40);
                let key = [one, other, one ^ 3];
                let key = &key[..1 + number as usize % 3];
                let first = table.words.len();
                table.words.extend(key);
                let (hash, inst) = (table.hash(first), InstId(number));
                let known = table.known(hash, first);
                assert_eq!(known, expected.get(key).copied(), "{key:?}");
                if known.is_some() {
                    table.replace(inst, hash, first);
                    table.words.truncate(first);
                } else {
                    table.insert(inst, hash, first);
                }
                expected.insert(key.to_vec(), inst);
            }
            assert!(expected.len() > 500);
        }
    }
}
