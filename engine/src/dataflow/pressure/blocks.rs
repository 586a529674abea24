//! What is kept of each block: counts, and what it does to the registers that it names.

use super::counts::{LEAST, Words};
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::operand::OPERAND_ID_MAX;

/// What a block does to a register that it names.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// The register, and what is said of it in the bits above.
    word: u32,
    /// Instructions of the block that it lives across, or is written by; less those of the whole block where it is live
    /// out: so many count for whatever is. Modulo 2^32.
    pub(super) length: u32,
    pub(super) access_count: u32,
}

impl Named {
    /// It is live at the place of the walk; after the walk, at the start of the block.
    pub(super) const LIVE: u32 = 1 << 24;
    /// Read before it is defined.
    pub(super) const READ: u32 = 1 << 25;
    /// Defined for certain.
    pub(super) const DEFINED: u32 = 1 << 26;
    /// Live out of the block.
    pub(super) const OUT: u32 = 1 << 27;
    /// Among what the block named before it was walked again.
    const MET: u32 = 1 << 28;
    /// What the block does to live sets.
    pub(super) const EFFECT: u32 = Self::READ | Self::DEFINED;

    pub(super) fn new(vreg: VRegId, is_out: bool) -> Self {
        debug_assert!(vreg.index() <= OPERAND_ID_MAX);
        let marks = if is_out { Self::LIVE | Self::OUT } else { 0 };
        Self { word: vreg.0 | marks, length: 0, access_count: 0 }
    }

    #[inline]
    pub(super) fn vreg(self) -> VRegId {
        VRegId(self.word & OPERAND_ID_MAX as u32)
    }

    #[inline]
    pub(super) fn has(self, mark: u32) -> bool {
        self.word & mark != 0
    }

    #[inline]
    pub(super) fn effect(self) -> u32 {
        self.word & Self::EFFECT
    }

    /// Notes that the list of before has it, too; gives its effect.
    pub(super) fn meet(&mut self) -> u32 {
        self.word |= Self::MET;
        self.effect()
    }

    /// Whether the list of before has it, too; takes back the note.
    pub(super) fn unmeet(&mut self) -> bool {
        let is_met = self.has(Self::MET);
        self.word &= !Self::MET;
        is_met
    }

    #[inline]
    pub(super) fn read(&mut self) {
        self.word |= Self::LIVE | Self::READ;
    }

    #[inline]
    pub(super) fn define(&mut self) {
        self.word = self.word & !(Self::LIVE | Self::READ) | Self::DEFINED;
    }
}

/// What is kept of a block.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// What lives at its end.
    pub(super) out: Words,
    /// The highest counts of its points, relative to `out`.
    pub(super) peaks: Words,
    pub(super) inst_count: u32,
    /// Where its list starts, how long it is, and how long it may become there.
    first: u32,
    count: u32,
    capacity: u32,
    is_sorted: bool,
    /// Among the blocks that were touched.
    pub(super) is_touched: bool,
    /// Among the blocks whose live-out sets changed in registers that they name.
    pub(super) is_waiting: bool,
}

const NEW: Row = Row {
    out: [0; _],
    peaks: LEAST,
    inst_count: 0,
    first: 0,
    count: 0,
    capacity: 0,
    is_sorted: false,
    is_touched: false,
    is_waiting: false,
};

/// The blocks of a function.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) rows: Vec<Row>,
    /// The lists, with gaps where lists have moved.
    pool: Vec<Named>,
    /// Entries of the pool that belong to lists.
    used: usize,
}

impl Blocks {
    /// Starts with `count` blocks that name nothing.
    pub(super) fn start(&mut self, count: usize) {
        self.rows.clear();
        self.rows.resize(count, NEW);
        self.pool.clear();
        self.used = 0;
    }

    /// What a block names, in no particular order.
    pub(super) fn named(&self, block: BlockId) -> &[Named] {
        let row = &self.rows[block.index()];
        &self.pool[row.first as usize..][..row.count as usize]
    }

    /// Replaces what a block names.
    pub(super) fn store(&mut self, block: BlockId, named: &[Named]) {
        let row = &mut self.rows[block.index()];
        row.is_sorted = false;
        row.count = named.len() as u32;
        if row.count > row.capacity {
            self.used += (row.count - row.capacity) as usize;
            (row.first, row.capacity) = (self.pool.len() as u32, row.count);
            self.pool.extend_from_slice(named);
            // As much again may be gaps, so that each move pays for a part of the next time that all do.
            if self.pool.len() > 2 * self.used + GAPS_MIN {
                self.close_gaps();
            }
        } else {
            self.pool[row.first as usize..][..named.len()].copy_from_slice(named);
        }
    }

    fn close_gaps(&mut self) {
        let mut pool = Vec::with_capacity(self.used + GAPS_MIN);
        for row in &mut self.rows {
            let list = &self.pool[row.first as usize..][..row.count as usize];
            (row.first, row.capacity) = (pool.len() as u32, row.count);
            pool.extend_from_slice(list);
        }
        self.used = pool.len();
        self.pool = pool;
    }

    /// What a block does to a register; none where it does not name it.
    pub(super) fn effect(&mut self, block: BlockId, vreg: VRegId) -> Option<u32> {
        let row = &mut self.rows[block.index()];
        let list = &mut self.pool[row.first as usize..][..row.count as usize];
        // Most lists are never searched.
        if !std::mem::replace(&mut row.is_sorted, true) {
            list.sort_unstable_by_key(|named| named.vreg());
        }
        let at = list.binary_search_by_key(&vreg, |named| named.vreg()).ok()?;
        Some(list[at].effect())
    }
}

/// Entries of gaps that are left in any case.
const GAPS_MIN: usize = 256;
