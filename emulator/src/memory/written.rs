//! Which bytes were written: what tells a read of memory that holds nothing yet.

/// A flag a byte, from some first address.
#[derive(Default)]
pub struct Written {
    flags: Vec<bool>,
}

impl Written {
    /// Nothing is written.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { flags: vec![false; size] }
    }

    /// Notes a write of `count` bytes at `at`.
    pub fn note(&mut self, at: u64, count: u64) {
        self.set(at, count, true);
    }

    /// Forgets what was written from `at` up to `end`: a new frame holds nothing.
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

    /// Whether all of `count` bytes at `at` were written.
    #[must_use]
    pub fn holds(&self, at: u64, count: u64) -> bool {
        self.flags.get(at as usize..(at + count) as usize).is_some_and(|flags| flags.iter().all(|&flag| flag))
    }
}
