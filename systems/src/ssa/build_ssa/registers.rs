//! What one pass over the code finds out about each register, and which ones get several names.

use ptxopt_components::block::BlockOrder;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::store::view::FunctionView;

use super::{Candidate, NO_CANDIDATE, Scratch};
use crate::ssa::moves::moved_as;

bitflags::bitflags! {
    /// What one pass over the code finds out about a register.
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    pub(super) struct Seen: u32 {
        /// It has a definition.
        const DEFINED = 1 << 0;
        /// It has several.
        const SEVERAL = 1 << 1;
        /// It can be no value: a definition is guarded or partial, stands where nothing leads, or is one of two in one
        /// instruction.
        const BROKEN = 1 << 2;
        /// Some block reads it before it defines it.
        const GLOBAL = 1 << 3;
        /// Its only definition does not dominate a read.
        const READ_FIRST = 1 << 4;
    }
}

/// What is known of a register while the pass goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    /// One more than the block of its last definition so far.
    pub(super) defined_in: u32,
    pub(super) seen: Seen,
}

impl Scratch {
    /// The one pass over all operands.
    pub(super) fn look_at_registers(&mut self, function: &FunctionView<'_>) {
        self.rows.clear();
        self.rows.resize(function.vregs.len(), Row::default());
        self.several.clear();
        self.crossing.clear();
        let orders = function.orders;
        if function.state.flags.contains(CodeFlags::OUT_OF_ORDER) {
            for block in function.block_ids() {
                for (_, head, operands) in function.rows_of(block) {
                    self.look_at(orders, head, operands);
                }
            }
        } else {
            for (_, head, operands) in function.rows() {
                self.look_at(orders, head, operands);
            }
        }
        for &(vreg, block) in &self.crossing {
            let row = &mut self.rows[vreg.index()];
            let Some(from) = row.defined_in.checked_sub(1).map(BlockId) else { continue };
            // In the block of the definition, a read that was noted comes before it.
            let is_first = from == block || !orders[from.index()].dominates(&orders[block.index()]);
            if !row.seen.contains(Seen::SEVERAL) && orders[block.index()].is_reachable() {
                row.seen.set(Seen::READ_FIRST, row.seen.contains(Seen::READ_FIRST) || is_first);
            }
        }
    }

    /// Looks at an instruction; those of a block come one after the other.
    #[inline]
    fn look_at(&mut self, orders: &[BlockOrder], head: &InstHead, operands: &[Operand]) {
        let (block, stamp) = (head.block, head.block.0 + 1);
        let is_reachable = orders[block.index()].is_reachable();
        let is_whole = is_reachable && !head.opcode.is_guarded();
        // Sources come after results, and are read before.
        for operand in operands.iter().rev() {
            let Some(vreg) = operand.vreg() else { continue };
            let row = &mut self.rows[vreg.index()];
            if operand.is_definition() {
                let is_whole = is_whole && !operand.is_partial();
                if row.seen.contains(Seen::DEFINED) || !is_whole {
                    self.look_closer(vreg, block, is_whole);
                } else {
                    *row = Row { defined_in: stamp, seen: row.seen | Seen::DEFINED };
                }
                continue;
            }
            if row.defined_in == stamp {
                continue;
            }
            row.seen |= Seen::GLOBAL;
            // If it stays the only one, the definition that was seen decides.
            match row.defined_in.checked_sub(1) {
                Some(from) if is_reachable => {
                    if !orders[from as usize].dominates(&orders[block.index()]) {
                        row.seen |= Seen::READ_FIRST;
                    }
                }
                Some(_) => {}
                None => self.crossing.push((vreg, block)),
            }
        }
    }

    /// Notes a definition that is not the only one, or not of the whole register.
    #[cold]
    fn look_closer(&mut self, vreg: VRegId, block: BlockId, is_whole: bool) {
        let row = &mut self.rows[vreg.index()];
        if row.seen.contains(Seen::DEFINED) {
            if !row.seen.contains(Seen::SEVERAL) {
                self.several.push((vreg, BlockId(row.defined_in - 1)));
            }
            self.several.push((vreg, block));
            row.seen |= Seen::SEVERAL;
        }
        row.seen |= Seen::DEFINED;
        row.seen.set(Seen::BROKEN, row.seen.contains(Seen::BROKEN) || !is_whole);
        row.defined_in = block.0 + 1;
    }

    /// Lists the registers that are not in SSA form and can be brought into it.
    pub(super) fn find_candidates(&mut self, function: &FunctionView<'_>) {
        let Self { rows, candidates, candidate_of, variables, .. } = self;
        candidate_of.clear();
        candidate_of.resize(function.vregs.len() + 1, NO_CANDIDATE);
        for (at, (vreg, row)) in function.vregs.iter().zip(&*rows).enumerate() {
            let id = VRegId::new(at);
            let was_variable = vreg.flags.contains(VRegFlags::VARIABLE);
            let is_other = vreg.flags.intersects(VRegFlags::SHARED);
            let not_in_form = Seen::SEVERAL | Seen::BROKEN | Seen::READ_FIRST;
            let is_value = !row.seen.intersects(not_in_form);
            if (is_value || is_other) && !was_variable {
                continue;
            }
            let can_be_moved = vreg.ty.lanes == 1 && moved_as(vreg.ty.element()).is_some();
            let is_candidate = !is_value && !is_other && !row.seen.contains(Seen::BROKEN) && can_be_moved;
            if is_candidate {
                candidate_of[at] = candidates.len() as u32;
                candidates.push(Candidate { vreg: id, current: None, is_taken: false, undefined: None });
            }
            let is_variable = !is_value && !is_other && !is_candidate;
            if is_variable != was_variable {
                variables.push((id, is_variable));
            }
        }
    }
}
