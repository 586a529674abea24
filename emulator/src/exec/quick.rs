//! Loads and stores of a whole warp at once, where nothing is wrong with them.
//!
//! Mostly all lanes access one piece of memory within its bounds and on their alignment. That costs one
//! comparison a lane; anything else is left to the careful way, which finds out what is wrong and with which lane.

use super::{Cta, Exec};
use crate::lanes::Lanes;
use crate::layout::{LOCAL_WINDOW, SPACE_FIRST, resolve};
use crate::program::{Load, Store};
use crate::warp::lanes_of;
use crate::world::World;
use ptxopt_components::types::StateSpace;

/// A piece of memory, and the address of its first byte as the lanes spell it.
struct Piece<'a> {
    first: u64,
    bytes: &'a mut [u8],
}

/// The piece that holds `address` of `space`; what lies below the first variable of a space is cut off.
fn piece<'a>(
    world: &'a mut World<'_>,
    cta: &'a mut Cta,
    space: StateSpace,
    address: u64,
    is_write: bool,
) -> Option<Piece<'a>> {
    let (found, within) = if space == StateSpace::Generic { resolve(address) } else { (space, address) };
    let bytes = match found {
        StateSpace::Global => {
            let allocation = world.global.holding(within)?;
            return Some(Piece { first: allocation.address, bytes: &mut allocation.bytes });
        }
        StateSpace::Shared | StateSpace::SharedCluster => &mut cta.shared,
        StateSpace::Const if !is_write => &mut world.constants,
        StateSpace::Param if !is_write => &mut world.params,
        _ => return None,
    };
    let first = address.wrapping_sub(within).wrapping_add(SPACE_FIRST);
    Some(Piece { first, bytes: bytes.get_mut(SPACE_FIRST as usize..)? })
}

/// Whether each lane of `mask` has `count` bytes within `size` bytes from `first`, on their alignment.
fn all_fit(addresses: &Lanes, mask: u32, first: u64, size: usize, count: u32) -> bool {
    let Some(last) = (size as u64).checked_sub(u64::from(count)) else { return false };
    let align = u64::from(count.next_power_of_two()) - 1;
    let mut fits = true;
    for (lane, &address) in addresses.iter().enumerate() {
        let is_in = (address.wrapping_sub(first) <= last) & (address & align == 0);
        fits &= is_in | (mask >> lane & 1 == 0);
    }
    fits
}

/// The value of `N` bytes.
#[inline]
fn get<const N: usize>(bytes: &[u8]) -> u64 {
    let mut value = [0; 8];
    value[..N].copy_from_slice(&bytes[..N]);
    u64::from_le_bytes(value)
}

#[inline]
fn get_cell(bytes: &[u8], cell: usize) -> u64 {
    match cell {
        1 => get::<1>(bytes),
        2 => get::<2>(bytes),
        4 => get::<4>(bytes),
        _ => get::<8>(bytes),
    }
}

#[inline]
fn put_cell(bytes: &mut [u8], value: u64, cell: usize) {
    let value = value.to_le_bytes();
    match cell {
        1 => bytes[..1].copy_from_slice(&value[..1]),
        2 => bytes[..2].copy_from_slice(&value[..2]),
        4 => bytes[..4].copy_from_slice(&value[..4]),
        _ => bytes[..8].copy_from_slice(&value),
    }
}

impl Exec<'_, '_> {
    fn has_checks(&self) -> bool {
        let is_apart = self.world.module.layout.is_apart;
        self.world.options.checks.uninitialised || self.cta.races.is_some() || is_apart
    }

    /// First address and end of the frames in local memory as the lanes spell them, if that is where they point.
    fn frames(&self, space: StateSpace, address: u64) -> Option<(u64, u64)> {
        let window = match space {
            StateSpace::Local => 0,
            StateSpace::Generic if resolve(address).0 == StateSpace::Local => LOCAL_WINDOW,
            _ => return None,
        };
        Some((window, self.frame_end(&self.group)))
    }

    /// Loads into the results; whether it could.
    pub(super) fn quick_load(&mut self, load: &Load, addresses: &Lanes, mask: u32) -> bool {
        if self.has_checks() {
            return false;
        }
        let (space, cell, count) = (load.address.space, usize::from(load.cell_bytes), load.targets.len());
        let address = addresses[mask.trailing_zeros() as usize];
        let fits = |first, size| all_fit(addresses, mask, first, size, load.bytes);
        if let Some((window, end)) = self.frames(space, address) {
            if !fits(window + SPACE_FIRST, end.saturating_sub(SPACE_FIRST) as usize) {
                return false;
            }
            for lane in lanes_of(mask) {
                let at = (addresses[lane] - window) as usize;
                let bytes = &self.warp.locals[lane].stack[at..];
                for (index, result) in self.results[..count].iter_mut().enumerate() {
                    result[lane] = get_cell(&bytes[index * cell..], cell);
                }
            }
            return true;
        }
        let Some(piece) = piece(self.world, self.cta, space, address, false) else { return false };
        if !fits(piece.first, piece.bytes.len()) {
            return false;
        }
        for lane in lanes_of(mask) {
            let bytes = &piece.bytes[(addresses[lane] - piece.first) as usize..];
            for (index, result) in self.results[..count].iter_mut().enumerate() {
                result[lane] = get_cell(&bytes[index * cell..], cell);
            }
        }
        true
    }

    /// Stores; whether it could.
    pub(super) fn quick_store(
        &mut self,
        store: &Store,
        addresses: &Lanes,
        values: &[Lanes],
        mask: u32,
    ) -> bool {
        if self.has_checks() {
            return false;
        }
        let (space, cell) = (store.address.space, usize::from(store.cell_bytes));
        let address = addresses[mask.trailing_zeros() as usize];
        let fits = |first, size| all_fit(addresses, mask, first, size, store.bytes);
        if let Some((window, end)) = self.frames(space, address) {
            if !fits(window + SPACE_FIRST, end.saturating_sub(SPACE_FIRST) as usize) {
                return false;
            }
            for lane in lanes_of(mask) {
                let at = (addresses[lane] - window) as usize;
                let bytes = &mut self.warp.locals[lane].stack[at..];
                for (index, value) in values.iter().enumerate() {
                    put_cell(&mut bytes[index * cell..], value[lane], cell);
                }
            }
            return true;
        }
        let Some(piece) = piece(self.world, self.cta, space, address, true) else { return false };
        if !fits(piece.first, piece.bytes.len()) {
            return false;
        }
        for lane in lanes_of(mask) {
            let bytes = &mut piece.bytes[(addresses[lane] - piece.first) as usize..];
            for (index, value) in values.iter().enumerate() {
                put_cell(&mut bytes[index * cell..], value[lane], cell);
            }
        }
        true
    }
}
