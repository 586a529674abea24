//! Data races between the threads of a CTA.
//!
//! Each thread has a vector clock; barriers join the clocks of those that meet, atomic and ordered accesses join that
//! of their location. An access races with an earlier one of the same byte by another thread that no chain of such
//! meetings puts before it, if one of the two is a write and they are not both atomic or ordered.
//!
//! Paper: Flanagan and Freund, FastTrack, 2009. Unlike there, reads of a byte are kept as a list, from which those that
//! a later read follows are dropped: a write that races with the earlier one races with the later one, too.

use ahash::AHashMap;

/// A point in the life of a thread: the thread, its own clock, and the line that it was at.
#[derive(Clone, Copy)]
struct Event {
    thread: u32,
    clock: u32,
    line: u32,
    is_atomic: bool,
}

/// The last accesses of a byte.
#[derive(Default)]
struct Cell {
    write: Option<Event>,
    reads: Vec<Event>,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Writes.
    pub is_write: bool,
    /// Atomic, volatile, relaxed, acquire or release.
    pub is_atomic: bool,
}

/// The other side of a race: its thread in the CTA, and its line.
pub type Other = (u32, u32);

/// Clocks and accesses of a CTA.
pub struct Races {
    clocks: Vec<Vec<u32>>,
    cells: AHashMap<(bool, u64), Cell>,
    locations: AHashMap<(bool, u64), Vec<u32>>,
}

impl Races {
    /// For a CTA of `threads` threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let clock = |own: usize| (0..threads).map(|other| u32::from(other == own)).collect();
        Self { clocks: (0..threads).map(clock).collect(), cells: AHashMap::new(), locations: AHashMap::new() }
    }

    /// Thread `thread` accesses `count` bytes at `address` of shared or of global memory; the other side of a race.
    pub fn access(
        &mut self,
        is_shared: bool,
        (address, count): (u64, u32),
        manner: Manner,
        (thread, line): (u32, u32),
    ) -> Option<Other> {
        let clock = &self.clocks[thread as usize];
        let now = Event { thread, clock: clock[thread as usize], line, is_atomic: manner.is_atomic };
        let races = |before: &Event| {
            before.thread != thread
                && before.clock > clock[before.thread as usize]
                && !(before.is_atomic && manner.is_atomic)
        };
        let mut other = None;
        for byte in address..address + u64::from(count) {
            let cell = self.cells.entry((is_shared, byte)).or_default();
            let found = cell.write.filter(|write| races(write));
            let read = || cell.reads.iter().copied().find(|read| manner.is_write && races(read));
            if let Some(event) = found.or_else(read) {
                other = other.or(Some((event.thread, event.line)));
            }
            if manner.is_write {
                cell.write = Some(now);
                cell.reads.clear();
            } else {
                // Its own clock is past the reads of the thread itself.
                cell.reads.retain(|read| read.clock > clock[read.thread as usize]);
                cell.reads.push(now);
            }
        }
        if manner.is_atomic {
            self.meet_at(is_shared, address, thread);
        }
        other
    }

    /// The thread gives its clock to a location and takes that of those before it.
    pub fn meet_at(&mut self, is_shared: bool, address: u64, thread: u32) {
        let own = &mut self.clocks[thread as usize];
        let location = self.locations.entry((is_shared, address)).or_insert_with(|| vec![0; own.len()]);
        for (own, location) in own.iter_mut().zip(location.iter_mut()) {
            *own = (*own).max(*location);
            *location = *own;
        }
        own[thread as usize] += 1;
    }

    /// The threads meet: what each did before is before what all do from now on.
    pub fn join(&mut self, threads: &[u32]) {
        let mut joined = vec![0; self.clocks.len()];
        for &thread in threads {
            for (joined, &clock) in joined.iter_mut().zip(&self.clocks[thread as usize]) {
                *joined = clock.max(*joined);
            }
        }
        for &thread in threads {
            self.clocks[thread as usize].copy_from_slice(&joined);
            self.clocks[thread as usize][thread as usize] += 1;
        }
    }
}
