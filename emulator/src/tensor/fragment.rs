//! Where the elements of a matrix lie in the registers of a warp.

use crate::lanes::{Lanes, WARP_SIZE};

/// The place of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Slot {
    /// The register, counted from the first of the matrix.
    pub register: u8,
    /// The lane.
    pub lane: u8,
    /// The lowest bit.
    pub shift: u8,
}

/// How the elements of a fragment fill its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    /// Registers of a lane.
    pub registers: usize,
    /// Elements of a register.
    pub per_register: usize,
    /// Bits from one element of a register to the next.
    pub stride: u32,
    /// Bits below the element in its place.
    pub padding: u32,
}

impl Filling {
    /// Of `elements` elements a lane that lie `stride` bits apart.
    #[must_use]
    pub fn dense(elements: usize, stride: u32) -> Self {
        let per_register = if stride >= 32 { 1 } else { 32 / stride as usize };
        Self { registers: elements / per_register, per_register, stride, padding: 0 }
    }

    /// Elements of a lane.
    #[must_use]
    pub fn elements(self) -> usize {
        self.registers * self.per_register
    }
}

/// A matrix in registers: the slots of its elements, row by row.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Columns of the matrix.
    pub columns: usize,
    /// Registers of a lane.
    pub registers: usize,
    slots: Vec<Slot>,
    /// Places that repeat an element of another place.
    copies: Vec<(usize, Slot)>,
}

impl Fragment {
    /// The matrix of `rows` by `columns` whose element `index` of `lane` is at `place(lane, index)`, as row and column.
    #[must_use]
    pub fn new(
        rows: usize,
        columns: usize,
        filling: Filling,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) -> Self {
        let mut slots = vec![None; rows * columns];
        let mut copies = Vec::new();
        for lane in 0..WARP_SIZE {
            for index in 0..filling.elements() {
                let (row, column) = place(lane, index);
                let (register, element) = (index / filling.per_register, index % filling.per_register);
                let shift = element as u32 * filling.stride + filling.padding;
                let slot = Slot { register: register as u8, lane: lane as u8, shift: shift as u8 };
                let position = row * columns + column;
                match &mut slots[position] {
                    empty @ None => *empty = Some(slot),
                    Some(_) => copies.push((position, slot)),
                }
            }
        }
        debug_assert!(slots.iter().all(Option::is_some), "every element has a place");
        let slots = slots.into_iter().flatten().collect();
        Self { columns, registers: filling.registers, slots, copies }
    }

    /// The elements, row by row; `read` gets the bits from the element's lowest on.
    pub fn gather<T>(&self, registers: &[&Lanes], read: impl Fn(u64) -> T) -> Vec<T> {
        let bits = |slot: &Slot| registers[slot.register as usize][slot.lane as usize] >> slot.shift;
        self.slots.iter().map(|slot| read(bits(slot))).collect()
    }

    /// Writes elements, given row by row as their bits, into registers that are cleared before.
    pub fn scatter(&self, elements: impl Iterator<Item = u64>, registers: &mut [Lanes]) {
        for register in &mut registers[..self.registers] {
            *register = [0; WARP_SIZE];
        }
        let elements: Vec<u64> = elements.collect();
        let first = self.slots.iter().enumerate();
        for (position, slot) in first.chain(self.copies.iter().map(|(position, slot)| (*position, slot))) {
            registers[slot.register as usize][slot.lane as usize] |= elements[position] << slot.shift;
        }
    }
}
