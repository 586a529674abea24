//! Loads, stores and atomics, lane by lane.

use super::Exec;
use super::access::{ATOMIC, READ, WRITE};
use crate::lanes::{Lanes, WARP_SIZE};
use crate::memory::races::Manner;
use crate::memory::{put_value, value_of};
use crate::program::{Atomic, Load, Source, Store};
use crate::stop::Stop;
use crate::warp::lanes_of;
use ptxopt_components::types::StateSpace;

impl Exec<'_, '_> {
    /// `ld`.
    pub(super) fn load(&mut self, load: &Load, mask: u32) -> Result<(), Stop> {
        let addresses = self.addresses(&load.address, mask);
        if !self.quick_load(load, &addresses, mask) {
            self.careful_load(load, &addresses, mask)?;
        }
        if load.is_signed {
            let shift = 64 - 8 * u32::from(load.cell_bytes);
            for result in &mut self.results[..load.targets.len()] {
                result.iter_mut().for_each(|value| *value = ((*value << shift) as i64 >> shift) as u64);
            }
        }
        for (at, &target) in load.targets.iter().enumerate() {
            self.write(at, target, mask);
        }
        if load.is_ordered {
            self.event();
        } else {
            self.plain_load();
        }
        Ok(())
    }

    /// Loads lane by lane, with all checks.
    fn careful_load(&mut self, load: &Load, addresses: &Lanes, mask: u32) -> Result<(), Stop> {
        let manner = Manner { is_atomic: load.is_ordered, ..READ };
        let cell = usize::from(load.cell_bytes);
        for lane in lanes_of(mask) {
            let access = self.access(load.address.space, addresses[lane], load.bytes, lane)?;
            let bytes = self.read(access, lane, manner)?;
            for (result, bytes) in
                self.results.iter_mut().zip(bytes[..load.bytes as usize].chunks_exact(cell))
            {
                result[lane] = value_of(bytes);
            }
        }
        Ok(())
    }

    /// `st`. Of two lanes that write to one address, the higher one wins.
    pub(super) fn store(&mut self, store: &Store, mask: u32) -> Result<(), Stop> {
        let addresses = self.addresses(&store.address, mask);
        let mut values = [[0; WARP_SIZE]; 8];
        for (value, &source) in values.iter_mut().zip(&store.sources) {
            *value = self.value(source, mask);
        }
        let values = &values[..store.sources.len()];
        if !self.quick_store(store, &addresses, values, mask) {
            self.careful_store(store, &addresses, values, mask)?;
        }
        if store.is_ordered {
            self.event();
        }
        Ok(())
    }

    /// Stores lane by lane, with all checks.
    fn careful_store(
        &mut self,
        store: &Store,
        addresses: &Lanes,
        values: &[Lanes],
        mask: u32,
    ) -> Result<(), Stop> {
        let manner = Manner { is_atomic: store.is_ordered, ..WRITE };
        let cell = usize::from(store.cell_bytes);
        for lane in lanes_of(mask) {
            let access = self.access(store.address.space, addresses[lane], store.bytes, lane)?;
            let mut bytes = [0; crate::program::ACCESS_MAX];
            for (bytes, value) in bytes[..store.bytes as usize].chunks_exact_mut(cell).zip(values) {
                put_value(bytes, value[lane]);
            }
            self.write_bytes(access, lane, &bytes[..store.bytes as usize], manner)?;
        }
        Ok(())
    }

    /// `atom`, `red`: lanes take turns, the lowest first.
    pub(super) fn atomic(&mut self, atomic: &Atomic, mask: u32) -> Result<(), Stop> {
        let addresses = self.addresses(&atomic.address, mask);
        let b = self.values(&atomic.b, mask);
        let c = self.values(&atomic.c, mask);
        let count = usize::from(atomic.cells);
        let bytes = u32::from(atomic.cells) * u32::from(atomic.cell_bytes);
        for lane in lanes_of(mask) {
            let access = self.access(atomic.address.space, addresses[lane], bytes, lane)?;
            let mut cells = self.read(access, lane, ATOMIC)?;
            let is_shared = access.space == StateSpace::Shared;
            let mut old = [0; 8];
            for (at, cell) in cells.chunks_exact(usize::from(atomic.cell_bytes)).take(count).enumerate() {
                old[at] = value_of(cell);
            }
            let is_kept = atomic.is_whole && !c.is_empty() && (0..count).any(|at| old[at] != b[at][lane]);
            for (at, cell) in cells.chunks_exact_mut(usize::from(atomic.cell_bytes)).take(count).enumerate() {
                let third = c.get(at).map_or(0, |c| c[lane]);
                let new = atomic.update.apply(old[at], b[at][lane], third, atomic.cell_bytes, is_shared);
                put_value(cell, if is_kept { old[at] } else { new });
                self.results[at][lane] = old[at];
            }
            self.write_bytes(access, lane, &cells[..bytes as usize], ATOMIC)?;
        }
        for (at, &target) in atomic.targets.iter().enumerate() {
            self.write(at, target, mask);
        }
        self.event();
        Ok(())
    }

    fn values(&mut self, sources: &[Source], mask: u32) -> Vec<Lanes> {
        sources.iter().map(|&source| self.value(source, mask)).collect()
    }
}
