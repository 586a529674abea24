//! The table of expressions: which instruction computed one first.

use ahash::RandomState;
use hashbrown::HashTable;
use ptxopt_components::ids::{InstId, Span};

/// An expression of the table.
struct Entry {
    key: Span,
    /// The instruction that computed it first.
    inst: InstId,
}

/// Hashes keys the same way in every run.
struct Hasher(RandomState);

impl Default for Hasher {
    fn default() -> Self {
        Self(RandomState::with_seeds(0x6e_75, 0x6d_62, 0x65_72, 0x73))
    }
}

impl Hasher {
    fn hash_one(&self, key: &[u64]) -> u64 {
        self.0.hash_one(key)
    }
}

/// The table. A key is appended to its words; where it is not put into the table, they are truncated again.
#[derive(Default)]
pub(super) struct Table {
    entries: HashTable<Entry>,
    pub words: Vec<u64>,
    hasher: Hasher,
}

/// The table has at most so many times the room that a function needs that has at least so many instructions.
const ROOM_MAX: usize = 8;
const ROOM_LEAST: usize = 256;

impl Table {
    /// Makes ready for a function, and says whether the memory of the one before was given back. A table that was made for a
    /// large function takes as long to clear as that one had instructions, and one that grows hashes all again.
    pub(super) fn start(&mut self, inst_count: usize) -> bool {
        let count = inst_count.max(ROOM_LEAST);
        let is_new = self.entries.capacity() < count || self.entries.capacity() > ROOM_MAX * count;
        if is_new {
            self.entries = HashTable::with_capacity(count);
        }
        self.entries.clear();
        self.words.clear();
        is_new
    }

    /// The hash of the key from `first` on.
    pub(super) fn hash(&self, first: usize) -> u64 {
        self.hasher.hash_one(&self.words[first..])
    }

    /// The instruction that has the key from `first` on, with its hash.
    pub(super) fn known(&self, hash: u64, first: usize) -> Option<InstId> {
        let (kept, key) = self.words.split_at(first);
        self.entries.find(hash, |entry| &kept[entry.key.range()] == key).map(|entry| entry.inst)
    }

    /// Lets another instruction stand for the key from `first` on.
    pub(super) fn replace(&mut self, inst: InstId, hash: u64, first: usize) {
        let (kept, key) = self.words.split_at(first);
        if let Some(entry) = self.entries.find_mut(hash, |entry| &kept[entry.key.range()] == key) {
            entry.inst = inst;
        }
    }

    /// Puts the key from `first` on into the table.
    pub(super) fn insert(&mut self, inst: InstId, hash: u64, first: usize) {
        let Self { entries, words, hasher } = self;
        let key = Span::between(first, words.len());
        entries.insert_unique(hash, Entry { key, inst }, |entry| hasher.hash_one(&words[entry.key.range()]));
    }
}
