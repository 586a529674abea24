//! Live sets that registers are put into and taken out of one by one.
//!
//! Rows of bits, a row a block, where the [live sets](LiveSet) are those. Where rows would be large, blocks are taken in
//! groups of 64, as the walks of liveness do: of each register that lives somewhere in the group there is one word, a bit a
//! block.

use super::super::liveness::{LiveSet, Representation, Side};
use crate::bits::{self, BitMatrix};
use ptxopt_components::ids::{BlockId, Id};

/// Blocks of a group: bits of a word.
const GROUP: usize = u64::BITS as usize;

/// A set of registers a block, by their bits.
pub(super) enum Sets {
    Dense(BitMatrix),
    /// By group: bits of registers, in order, and the blocks where these live.
    Grouped(Vec<Vec<(u32, u64)>>),
}

impl Default for Sets {
    fn default() -> Self {
        Self::Dense(BitMatrix::new())
    }
}

impl Sets {
    /// Takes over one side of the live sets of a function.
    pub(super) fn copy(&mut self, set: &LiveSet, side: Side) {
        if set.representation() == Representation::Dense {
            if !matches!(self, Self::Dense(_)) {
                *self = Self::default();
            }
        } else if !matches!(self, Self::Grouped(_)) {
            *self = Self::Grouped(Vec::new());
        }
        match self {
            Self::Dense(rows) => rows.copy_from(set.rows(side)),
            Self::Grouped(groups) => {
                groups.iter_mut().for_each(Vec::clear);
                groups.resize_with(set.block_count().div_ceil(GROUP), Vec::new);
                set.each_run(side, |blocks, vreg| {
                    let bit = set.bit_of(vreg).expect("it lives across a block boundary") as u32;
                    let (first, end) = (blocks.start as usize, blocks.end as usize);
                    let touched = first / GROUP..end.div_ceil(GROUP);
                    for (number, group) in touched.clone().zip(&mut groups[touched]) {
                        let from = first.saturating_sub(number * GROUP);
                        let to = (end - number * GROUP).min(GROUP);
                        *blocks_of(group, bit) |= !0 >> (GROUP - to) & !0 << from;
                    }
                });
            }
        }
    }

    /// Makes room for so many bits.
    pub(super) fn grow(&mut self, bit_count: usize) {
        if let Self::Dense(rows) = self
            && rows.bit_count() < bit_count
        {
            // Half as many again: bits come one by one, and each growth moves all rows.
            rows.grow(rows.row_count(), bit_count + bit_count / 2);
        }
    }

    /// The set of a block.
    #[inline]
    pub(super) fn of(&self, block: BlockId) -> Set<'_> {
        match self {
            Self::Dense(rows) => Set::Dense(rows.row(block.index())),
            Self::Grouped(groups) => {
                Set::Grouped(&groups[block.index() / GROUP], 1 << (block.index() % GROUP))
            }
        }
    }

    pub(super) fn has(&self, block: BlockId, bit: u32) -> bool {
        self.of(block).has(bit)
    }

    pub(super) fn put(&mut self, block: BlockId, bit: u32, is_member: bool) {
        match self {
            Self::Dense(rows) if is_member => rows.set(block.index(), bit as usize),
            Self::Dense(rows) => rows.clear(block.index(), bit as usize),
            Self::Grouped(groups) => {
                let blocks = blocks_of(&mut groups[block.index() / GROUP], bit);
                let mask = 1 << (block.index() % GROUP);
                *blocks = if is_member { *blocks | mask } else { *blocks & !mask };
            }
        }
    }
}

/// The blocks of a group where a register lives.
fn blocks_of(group: &mut Vec<(u32, u64)>, bit: u32) -> &mut u64 {
    // Those that are taken over come in order.
    if group.last().is_none_or(|&(last, _)| last < bit) {
        group.push((bit, 0));
    }
    let at = match group.binary_search_by_key(&bit, |&(bit, _)| bit) {
        Ok(at) => at,
        Err(at) => {
            group.insert(at, (bit, 0));
            at
        }
    };
    &mut group[at].1
}

/// The set of one block.
#[derive(Clone, Copy)]
pub(super) enum Set<'a> {
    Dense(&'a [u64]),
    /// The registers of the group, and the bit of the block.
    Grouped(&'a [(u32, u64)], u64),
}

impl Set<'_> {
    #[inline]
    pub(super) fn has(self, bit: u32) -> bool {
        match self {
            Self::Dense(row) => bits::test(row, bit as usize),
            Self::Grouped(group, mask) => {
                group.binary_search_by_key(&bit, |&(bit, _)| bit).is_ok_and(|at| group[at].1 & mask != 0)
            }
        }
    }

    /// Calls `visit` with the bit of each member.
    pub(super) fn each(self, mut visit: impl FnMut(u32)) {
        match self {
            Self::Dense(row) => bits::ones(row).for_each(|bit| visit(bit as u32)),
            Self::Grouped(group, mask) => {
                group.iter().filter(|(_, blocks)| blocks & mask != 0).for_each(|&(bit, _)| visit(bit));
            }
        }
    }
}
