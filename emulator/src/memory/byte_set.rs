//! Sets of bytes: those that were written, which tell a read of memory that holds nothing yet, and those that a variable owns.

/// A flag a byte, from some first address.
#[derive(Default)]
pub struct ByteSet {
    flags: Vec<bool>,
}

impl ByteSet {
    /// An empty set with room for `size` bytes.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { flags: vec![false; size] }
    }

    /// Adds `count` bytes at `at`.
    pub fn note(&mut self, at: u64, count: u64) {
        self.set(at, count, true);
    }

    /// Takes out the bytes from `at` up to `end`.
    pub fn forget(&mut self, at: u64, end: u64) {
        self.set(at, end.saturating_sub(at), false);
    }

    fn set(&mut self, at: u64, count: u64, value: bool) {
        let end = (at + count) as usize;
        if self.flags.len() < end {
            self.flags.resize(end, false);
        }
        self.flags[at as usize..end].fill(value);
    }

    /// Whether all of `count` bytes at `at` are in it.
    #[must_use]
    pub fn holds(&self, at: u64, count: u64) -> bool {
        self.flags.get(at as usize..(at + count) as usize).is_some_and(|flags| flags.iter().all(|&flag| flag))
    }
}
