//! `cp.async`: copies happen at the wait that asks for them, so that a read that was moved above it sees old bytes.

use super::Exec;
use super::access::{READ, WRITE};
use crate::program::AsyncCopy;
use crate::stop::Stop;
use crate::warp::{PendingCopy, lanes_of};
use ptxopt_components::types::StateSpace;

impl Exec<'_, '_> {
    /// `cp.async` and its waits.
    pub(super) fn async_copy(&mut self, copy: &AsyncCopy, mask: u32) -> Result<(), Stop> {
        match copy {
            AsyncCopy::Start { to, from, bytes, source_bytes, ignores_source } => {
                let (to, from) = (self.addresses(to, mask), self.addresses(from, mask));
                let sizes = source_bytes.map(|source| self.value(source, mask));
                let ignored = ignores_source.map_or(0, |predicate| self.truths(predicate, mask));
                for lane in lanes_of(mask) {
                    let wanted = sizes.map_or(*bytes, |sizes| (sizes[lane] as u32).min(*bytes));
                    self.warp.copies.push(PendingCopy {
                        lane: lane as u8,
                        group: self.warp.commits[lane],
                        to: to[lane],
                        from: from[lane],
                        bytes: *bytes,
                        source_bytes: if ignored >> lane & 1 != 0 { 0 } else { wanted },
                        offset: self.offset,
                    });
                }
            }
            AsyncCopy::Commit => lanes_of(mask).for_each(|lane| self.warp.commits[lane] += 1),
            AsyncCopy::WaitGroup(count) => {
                let count = self.value(*count, mask)[mask.trailing_zeros() as usize] as u32;
                let commits = self.warp.commits;
                self.finish(mask, |copy| copy.group < commits[usize::from(copy.lane)].saturating_sub(count))?;
            }
            AsyncCopy::WaitAll => self.finish(mask, |_| true)?,
            AsyncCopy::Arrive { address, adds_pending } => {
                self.finish(mask, |_| true)?;
                self.arrive_after_copies(address, *adds_pending, mask)?;
                self.event();
            }
        }
        Ok(())
    }

    /// Does everything that the lanes of `mask` started.
    pub(super) fn finish_copies(&mut self, mask: u32) -> Result<(), Stop> {
        if self.warp.copies.is_empty() { Ok(()) } else { self.finish(mask, |_| true) }
    }

    fn finish(&mut self, mask: u32, is_due: impl Fn(&PendingCopy) -> bool) -> Result<(), Stop> {
        let is_done = |copy: &PendingCopy| mask >> copy.lane & 1 != 0 && is_due(copy);
        let due: Vec<PendingCopy> = self.warp.copies.iter().copied().filter(is_done).collect();
        self.warp.copies.retain(|copy| !is_done(copy));
        let offset = self.offset;
        for copy in due {
            self.offset = copy.offset;
            self.finish_one(copy)?;
        }
        self.offset = offset;
        Ok(())
    }

    fn finish_one(&mut self, copy: PendingCopy) -> Result<(), Stop> {
        let lane = usize::from(copy.lane);
        let mut bytes = [0; crate::program::ACCESS_MAX];
        let from = self.access(StateSpace::Global, copy.from, copy.bytes, lane)?;
        if copy.source_bytes > 0 {
            let from = crate::stop::Access { bytes: copy.source_bytes, ..from };
            bytes = self.read(from, lane, READ)?;
        }
        let to = self.access(StateSpace::Shared, copy.to, copy.bytes, lane)?;
        self.write_bytes(to, lane, &bytes[..copy.bytes as usize], WRITE)
    }
}
