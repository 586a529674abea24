//! Bytes in memory, with the checks of every access.

use super::Exec;
use crate::checks::Finding;
use crate::lanes::Lanes;
use crate::layout::{SPACE_FIRST, resolve};
use crate::memory::races::Manner;
use crate::program::{ACCESS_MAX, Address};
use crate::stop::{Access, Place, Stop};
use ptxopt_components::types::StateSpace;

/// A plain read.
pub const READ: Manner = Manner { is_write: false, is_atomic: false };
/// A plain write.
pub const WRITE: Manner = Manner { is_write: true, is_atomic: false };
/// Both, at once.
pub const ATOMIC: Manner = Manner { is_write: true, is_atomic: true };

impl Exec<'_, '_> {
    /// The addresses of an operand.
    #[inline]
    pub(super) fn addresses(&mut self, address: &Address, mask: u32) -> Lanes {
        let mut lanes = self.value(address.base, mask);
        if address.offset != 0 {
            let (offset, mask) = (address.offset as u64, address.mask);
            lanes.iter_mut().for_each(|lane| *lane = lane.wrapping_add(offset) & mask);
        }
        if let Some(observer) = &mut self.world.observer {
            observer.addresses(&lanes);
        }
        lanes
    }

    /// The bytes that are found there; none out of bounds.
    #[inline]
    fn find(&mut self, access: Access, lane: usize, is_write: bool) -> Option<&mut [u8]> {
        let (at, count) = (access.address, access.bytes as usize);
        if self.world.module.layout.is_in_gap(access.space, at, u64::from(access.bytes)) {
            return None;
        }
        let arena = match access.space {
            StateSpace::Global => return self.world.global.bytes(at, count),
            StateSpace::Local => {
                let top = self.frame_end(&self.group);
                return self.warp.locals[lane].bytes(at, count, top);
            }
            StateSpace::Shared => &mut self.cta.shared,
            StateSpace::Const if !is_write => &mut self.world.constants,
            StateSpace::Param if !is_write => &mut self.world.params,
            _ => return None,
        };
        let end = at.checked_add(count as u64)?;
        if at < SPACE_FIRST { None } else { arena.get_mut(at as usize..end as usize) }
    }

    /// What `count` bytes at `address` of `space` are, generic addresses resolved.
    #[inline]
    pub(super) fn access(
        &mut self,
        space: StateSpace,
        address: u64,
        count: u32,
        lane: usize,
    ) -> Result<Access, Stop> {
        let (space, address) = match space {
            StateSpace::Generic => resolve(address),
            StateSpace::SharedCluster => (StateSpace::Shared, address),
            space => (space, address),
        };
        let access = Access { space, address, bytes: count };
        if address & u64::from(count.next_power_of_two() - 1) != 0 {
            return Err(Stop::Misaligned { place: self.place(lane as u32), access });
        }
        Ok(access)
    }

    /// Reads up to [`ACCESS_MAX`] bytes.
    #[inline]
    pub(super) fn read(
        &mut self,
        access: Access,
        lane: usize,
        manner: Manner,
    ) -> Result<[u8; ACCESS_MAX], Stop> {
        let mut read = [0; ACCESS_MAX];
        match self.find(access, lane, manner.is_write) {
            Some(bytes) => read[..bytes.len()].copy_from_slice(bytes),
            None => return Err(self.out_of_bounds(access, lane)),
        }
        if self.world.options.checks.uninitialised {
            self.check_written(access, lane);
        }
        if self.cta.races.is_some() {
            self.check_races(access, lane, manner, false);
        }
        Ok(read)
    }

    /// Writes bytes.
    #[inline]
    pub(super) fn write_bytes(
        &mut self,
        access: Access,
        lane: usize,
        bytes: &[u8],
        manner: Manner,
    ) -> Result<(), Stop> {
        let is_silent = match self.find(access, lane, true) {
            Some(to) => {
                let is_silent = to == bytes;
                to.copy_from_slice(bytes);
                is_silent
            }
            None => return Err(self.out_of_bounds(access, lane)),
        };
        if self.world.options.checks.uninitialised {
            self.note_written(access, lane);
        }
        if self.cta.races.is_some() {
            self.check_races(access, lane, manner, is_silent && !manner.is_atomic);
        }
        Ok(())
    }

    /// The bytes from a generic address up to the first zero, for messages.
    pub(super) fn text_at(&mut self, address: u64, lane: usize) -> Vec<u8> {
        const LENGTH_MAX: u64 = 1 << 16;
        let mut text = Vec::new();
        for at in 0..LENGTH_MAX {
            let (space, address) = resolve(address.wrapping_add(at));
            match self.find(Access { space, address, bytes: 1 }, lane, false) {
                Some(&mut [byte]) if byte != 0 => text.push(byte),
                _ => break,
            }
        }
        text
    }

    #[cold]
    fn out_of_bounds(&self, access: Access, lane: usize) -> Stop {
        Stop::OutOfBounds { place: self.place(lane as u32), access }
    }

    /// Notes that bytes hold something.
    #[cold]
    fn note_written(&mut self, access: Access, lane: usize) {
        let written = match access.space {
            StateSpace::Shared => &mut self.cta.written,
            StateSpace::Local if access.address < crate::memory::ALLOCA_FIRST => {
                &mut self.warp.locals[lane].written
            }
            _ => return,
        };
        if let Some(written) = written {
            written.note(access.address, u64::from(access.bytes));
        }
    }

    #[cold]
    fn check_written(&mut self, access: Access, lane: usize) {
        let written = match access.space {
            StateSpace::Shared => &self.cta.written,
            StateSpace::Local if access.address < crate::memory::ALLOCA_FIRST => {
                &self.warp.locals[lane].written
            }
            _ => return,
        };
        let is_unwritten =
            written.as_ref().is_some_and(|written| !written.holds(access.address, u64::from(access.bytes)));
        if is_unwritten {
            self.report(Finding::UninitialisedMemory(access), lane as u32);
        }
    }

    #[cold]
    fn check_races(&mut self, access: Access, lane: usize, manner: Manner, is_silent: bool) {
        let is_shared = access.space == StateSpace::Shared;
        if !is_shared && access.space != StateSpace::Global {
            return;
        }
        let line = self.program.line(self.offset);
        let thread = self.warp.first_thread + lane as u32;
        let Some(races) = &mut self.cta.races else { return };
        let found = races.access(is_shared, (access.address, access.bytes), manner, (thread, line));
        let counts = !is_silent || self.world.options.checks.silent_writes;
        if let Some((other, line)) = found.filter(|_| counts) {
            let other = Place { thread: self.world.thread(self.cta.id, other), line };
            self.report(Finding::Race { access, other }, lane as u32);
        }
    }
}
