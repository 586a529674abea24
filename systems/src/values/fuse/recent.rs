//! Where registers were written last, in the block that is walked.

use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::operand::{Operand, writes};

/// The last instruction that wrote each register. Instructions are numbered in the order in which they are walked over, from
/// 1; 0 is before all of them.
#[derive(Default)]
pub(super) struct Recent {
    rows: Vec<Row>,
    /// The number of the last instruction.
    now: u32,
    /// The number of the last instruction before the block.
    block: u32,
}

#[derive(Clone, Copy, Default)]
struct Row {
    written: u32,
    writer: InstId,
}

impl Recent {
    /// Starts with a function of this many registers.
    pub(super) fn start(&mut self, vregs: usize) {
        self.rows.clear();
        self.rows.resize(vregs, Row::default());
        (self.now, self.block) = (0, 0);
    }

    pub(super) fn enter_block(&mut self) {
        self.block = self.now;
    }

    /// Notes what the next instruction writes.
    pub(super) fn note(&mut self, inst: InstId, head: InstHead, operands: &[Operand]) {
        self.now += 1;
        let first =
            if head.marks.contains(Marks::MORE_RESULTS) { operands.len() } else { operands.len().min(1) };
        for vreg in writes(&operands[..first]) {
            self.rows[vreg.index()] = Row { written: self.now, writer: inst };
        }
    }

    /// The last instruction of the block that wrote a register.
    pub(super) fn maker(&self, vreg: VRegId) -> Option<InstId> {
        let row = self.rows[vreg.index()];
        (row.written > self.block).then_some(row.writer)
    }

    /// Whether nothing has written `vreg` since `result` was written.
    pub(super) fn is_unchanged_since(&self, vreg: VRegId, result: VRegId) -> bool {
        self.rows[vreg.index()].written <= self.rows[result.index()].written
    }
}
