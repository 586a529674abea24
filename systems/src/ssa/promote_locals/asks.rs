//! Asks: blocks that branch on what the ways to them have found out.
//!
//! A condition of two parts is one predicate that several blocks write, and what one of them has tested holds only where
//! the others did not lead:
//! ```text
//!     setp.eq.u32 %p1, %r1, 0;       // is at 0?
//!     mov.pred %p2, 0;
//!     @%p1 bra B;
//!     setp.gt.s32 %p2, ..;           // at is not 0: is the element before it greater?
//! B:  @!%p2 bra END;
//!     sub.u32 %r3, %r1, 1;           // at is not 0
//! ```
//! So what is known at the start of such a block is kept apart for both answers.
//!
//! Paper: Bodik, Gupta and Soffa 1997, "Interprocedural Conditional Branch Elimination" (a branch is decided by the way to it).

use super::indices::{Action, Discovery, Place, STATES_MAX};
use super::numbers::Sources;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::values::def_use::OperandRef;

/// Moves that are followed to a register or a literal: front ends make two.
const MOVES_MAX: u32 = 4;

/// Instructions that write a predicate which is asked: one for each part of a condition.
const DEFS_MAX: usize = 16;

/// A block that asks a predicate which is written before it is come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    /// The cell of the predicate.
    pub cell: usize,
    /// Where the block leads if it does not hold, and where if it does.
    pub ways: [BlockId; 2],
    /// The number of the block among those that ask.
    pub number: usize,
}

/// Whether the predicate that is defined at `at` is a literal, through moves.
pub(super) fn literal_truth(sources: Sources<'_>, at: OperandRef) -> Option<bool> {
    let Sources { view, forms, def_use, .. } = sources;
    let mut at = at;
    for _ in 0..MOVES_MAX {
        let head = &view.heads[at.inst.index()];
        let &[_, source] = view.operands_of(at.inst) else { return None };
        if forms.get(head.form).operation != Operation::Mov {
            return None;
        }
        match source.kind() {
            OperandKind::Int(value) => return Some(value != 0),
            OperandKind::Predicate { vreg, negated: false } => {
                let is_own = !view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START);
                let def = def_use.only_def(vreg).filter(|_| is_own)?;
                // On a way past its definition it holds something else as well.
                at = Some(def).filter(|def| sources.is_before(def.inst, at.inst))?;
            }
            _ => return None,
        }
    }
    None
}

impl Discovery<'_> {
    /// Finds the blocks that ask, as many as there is room for.
    pub(super) fn find_asks(&mut self) {
        if self.indices.cells.is_empty() {
            return;
        }
        for block in self.sources.view.block_ids() {
            let Some((vreg, ways)) = self.asked_by(block) else { continue };
            let count = self.indices.asks.len();
            let states = (self.indices.cells.len() + 1) * (self.sources.view.blocks.len() + count + 1);
            if states > STATES_MAX {
                break;
            }
            if let Some(cell) = self.predicate(vreg) {
                self.indices.asks.insert(block, Ask { cell, ways, number: count });
            }
        }
    }

    /// The predicate that the branch at the end of a block asks, as the ways to the block have left it, and where the block leads
    /// if it does not hold and if it does.
    fn asked_by(&self, block: BlockId) -> Option<(VRegId, [BlockId; 2])> {
        let Sources { view, forms, def_use, .. } = self.sources;
        let &[taken, other] = view.succs(block) else { return None };
        let mut reader = view.insts_of(block).next_back().filter(|_| taken != other)?;
        let is_branch = forms.get(view.heads[reader.index()].form).operation == Operation::Bra;
        let OperandKind::Predicate { mut vreg, mut negated } =
            view.guard_of(reader).filter(|_| is_branch)?.kind()
        else {
            return None;
        };
        for _ in 0..MOVES_MAX {
            let Some(def) = def_use.only_def(vreg) else { break };
            let head = &view.heads[def.inst.index()];
            let &[_, source] = view.operands_of(def.inst) else { return None };
            let OperandKind::Predicate { vreg: moved, negated: false } = source.kind() else {
                return None;
            };
            let is_negation = match forms.get(head.form).operation {
                Operation::Mov => false,
                Operation::Not => true,
                _ => return None,
            };
            if !self.sources.is_above(def.inst, reader)
                || view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START)
            {
                return None;
            }
            negated ^= is_negation;
            (vreg, reader) = (moved, def.inst);
        }
        if !(2..=DEFS_MAX).contains(&def_use.def_count(vreg)) {
            return None;
        }
        let is_from_before = def_use.defs(vreg).all(|def| view.heads[def.inst.index()].block != block);
        let is_open = def_use.defs(vreg).any(|def| literal_truth(self.sources, def).is_some());
        let ways = if negated { [taken, other] } else { [other, taken] };
        (is_from_before && is_open).then_some((vreg, ways))
    }

    /// The cell of a predicate.
    fn predicate(&mut self, vreg: VRegId) -> Option<usize> {
        let place = Place::Register(vreg);
        if let Some(&cell) = self.indices.cell_at.get(&place) {
            return Some(cell);
        }
        let cell = self.new_cell(place, 1)?;
        for at in self.sources.def_use.defs(vreg) {
            self.note(cell, Action::Define(at));
        }
        Some(cell)
    }
}
