//! Memory: global allocations, and the local memory of a thread.

pub mod byte_set;
pub mod races;

use crate::layout::{ALLOCATION_ALIGN, GlobalMap};

/// A piece of global memory.
pub struct Allocation {
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it may be accessed: `free` ends that.
    pub is_live: bool,
}

/// Global memory: allocations sorted by address, with gaps between them.
#[derive(Default)]
pub struct Allocations {
    all: Vec<Allocation>,
    /// The one that the last access found: the next one is mostly there, too.
    last: usize,
}

impl Allocations {
    /// Adds an allocation.
    pub fn insert(&mut self, address: u64, bytes: Vec<u8>) {
        let at = self.all.partition_point(|other| other.address < address);
        self.all.insert(at, Allocation { address, bytes, is_live: true });
    }

    /// The allocation that starts at `address`.
    #[must_use]
    pub fn starting_at(&self, address: u64) -> Option<&Allocation> {
        let at = self.all.binary_search_by_key(&address, |one| one.address).ok()?;
        Some(&self.all[at])
    }

    /// Ends the life of the allocation at `address`; whether there was one.
    pub fn free(&mut self, address: u64) -> bool {
        match self.all.binary_search_by_key(&address, |one| one.address) {
            Ok(at) => std::mem::replace(&mut self.all[at].is_live, false),
            Err(_) => false,
        }
    }

    /// The allocation whose bytes go on from `address`, or end before it.
    #[inline]
    pub fn holding(&mut self, address: u64) -> Option<&mut Allocation> {
        let is_in = |one: &Allocation| address.wrapping_sub(one.address) < one.bytes.len() as u64;
        if !self.all.get(self.last).is_some_and(is_in) {
            self.last = self.all.partition_point(|one| one.address <= address).checked_sub(1)?;
        }
        Some(&mut self.all[self.last]).filter(|one| one.is_live)
    }

    /// The `count` bytes at `address`, if one allocation holds them all.
    #[inline]
    pub fn bytes(&mut self, address: u64, count: usize) -> Option<&mut [u8]> {
        let one = self.holding(address)?;
        let first = address.wrapping_sub(one.address);
        let end = first.checked_add(count as u64)?;
        one.bytes.get_mut(first as usize..usize::try_from(end).ok()?)
    }
}

/// What the device's `malloc` gives out.
pub struct Heap {
    next: u64,
    map: GlobalMap,
}

impl Heap {
    /// An empty heap.
    #[must_use]
    pub fn new(map: GlobalMap) -> Self {
        Self { next: map.heap, map }
    }

    /// Addresses for `size` bytes.
    pub fn reserve(&mut self, size: u64) -> u64 {
        let address = self.next.next_multiple_of(ALLOCATION_ALIGN);
        self.next = self.map.after(address, size.max(1));
        address
    }
}

/// First local address of what `alloca` gives; frames lie below.
pub const ALLOCA_FIRST: u64 = 0x0200_0000;
/// One past the last local address.
pub const LOCAL_END: u64 = 0x0600_0000;

/// The local memory of a thread.
#[derive(Default)]
pub struct Local {
    /// Frames, from address 0.
    pub stack: Vec<u8>,
    /// What `alloca` gave, from [`ALLOCA_FIRST`].
    pub allocated: Vec<u8>,
    /// Which bytes of the stack were written, where that is asked for.
    pub written: Option<byte_set::ByteSet>,
    /// Which bytes of the stack a variable or parameter owns, in a module whose variables lie apart.
    pub owned: Option<byte_set::ByteSet>,
}

impl Local {
    /// The `count` bytes at local address `address`, if a variable owns them; frames end at `top`.
    #[inline]
    pub fn bytes(&mut self, address: u64, count: usize, top: u64) -> Option<&mut [u8]> {
        let end = address.checked_add(count as u64)?;
        if address >= ALLOCA_FIRST {
            return self.allocated.get_mut((address - ALLOCA_FIRST) as usize..(end - ALLOCA_FIRST) as usize);
        }
        let is_owned = |owned: &byte_set::ByteSet| owned.holds(address, count as u64);
        if end > top || address < crate::layout::SPACE_FIRST || !self.owned.as_ref().is_none_or(is_owned) {
            return None;
        }
        self.stack.get_mut(address as usize..end as usize)
    }
}

/// The value of up to eight bytes, the lowest first.
#[inline]
#[must_use]
pub fn value_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    }
}

/// Writes the low bytes of `value`.
#[inline]
pub fn put_value(bytes: &mut [u8], value: u64) {
    let all = value.to_le_bytes();
    match bytes.len() {
        4 => bytes.copy_from_slice(&all[..4]),
        8 => bytes.copy_from_slice(&all),
        count => bytes.copy_from_slice(&all[..count.min(8)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_byte_of_a_value_comes_first() {
        for count in 0..=8 {
            let bytes: Vec<u8> = (1..=count).collect();
            let value = bytes.iter().enumerate().map(|(at, &byte)| u64::from(byte) << (8 * at)).sum();
            assert_eq!(value_of(&bytes), value);
            let mut written = vec![0xFF; bytes.len()];
            put_value(&mut written, value);
            assert_eq!(written, bytes);
        }
    }
}
