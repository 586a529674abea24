//! Copies and phis: a phi of one value is a copy of it, and phis read what was copied.
//!
//! ```text
//! r4 = phi {A, r1}, {B, r2};          // r2 is a copy of r1: so is r4
//! L: r5 = phi {A, r1}, {L, r6};       // r6 is a copy of r5, found after the phi: so is r5 of r1, when the phase runs again
//! ```
//! A phi reads at the ends of the predecessors. What comes around a loop is copied after the phi in the order of the walk, so
//! phis are visited once more when everything is known.
//!
//! # What phis do not read
//! Constants: where SSA form is left, a constant would need a move in each predecessor, and there is one already. Variables:
//! they may hold something else at the end of the predecessor.

use super::Walk;
use super::clues::Clues;
use super::copies::Source;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, reads};
use ptxopt_engine::values::phis::phis_of;

/// Copies that one value of a phi is followed through.
const CHAIN_MAX: usize = 4;

/// Registers that phis read, found when something asks.
#[derive(Default)]
pub(super) struct PhiReads {
    is_found: bool,
    /// By register.
    is_read: Vec<bool>,
}

impl PhiReads {
    /// Forgets the function before.
    pub(super) fn start(&mut self) {
        self.is_found = false;
    }
}

impl Walk<'_, '_> {
    /// Whether a phi reads a register, or did when something first asked.
    pub(super) fn is_read_by_phi(&mut self, vreg: VRegId) -> bool {
        let PhiReads { is_found, is_read } = &mut *self.phi_reads;
        if !std::mem::replace(is_found, true) {
            let function = self.f.view();
            is_read.clear();
            is_read.resize(function.vregs.len(), false);
            let phis = function.block_ids().flat_map(|block| phis_of(&function, block));
            phis.flat_map(|(_, operands)| reads(operands)).for_each(|read| is_read[read.index()] = true);
        }
        is_read.get(vreg.index()).copied().unwrap_or(false)
    }

    /// Notes a phi all of whose values are one register, or the phi's own.
    pub(super) fn note_phi(&mut self, phi: InstId) {
        let Some(result) = self.f.operands_of(phi)[0].vreg() else { return };
        let mut only = None;
        for at in (2..self.f.operands_of(phi).len()).step_by(2) {
            let Some(vreg) = self.f.operands_of(phi)[at].vreg() else { return };
            let source = self.value_behind(vreg);
            if source != result && only.replace(source).is_some_and(|other| other != source) {
                return;
            }
        }
        let Some(source) = only.filter(|&source| self.reaching.is_defined(source)) else { return };
        let value = self.value(source, phi);
        let operand = self.f.operands_of(phi)[0];
        self.add_copy(phi, result, Source::Register(read(operand).with_vreg(source), value));
    }

    /// Puts what was copied in the place of copies among the values of the phis of `block`.
    pub(super) fn replace_in_phis(&mut self, block: BlockId) -> Option<()> {
        for phi in self.reaching.rows_of(block).range().map(InstId::new) {
            if !self.f.head(phi).is_live() {
                continue;
            }
            if !self.f.head(phi).is_phi() {
                break;
            }
            for at in (2..self.f.operands_of(phi).len()).step_by(2) {
                let operand = self.f.operands_of(phi)[at];
                let Some(vreg) = operand.vreg() else { continue };
                let source = self.value_behind(vreg);
                if source != vreg && self.may_propagate_to_phi() {
                    let mut change = self.f.change_in_place(phi, "what was copied in place of the copy")?;
                    change.set_operand(phi, at, operand.with_vreg(source));
                }
            }
        }
        Some(())
    }

    /// The value that the register of a phi is a copy of; the register itself if it is none.
    fn value_behind(&self, vreg: VRegId) -> VRegId {
        let mut value = vreg;
        for _ in 0..CHAIN_MAX {
            if !self.made.by(value).contains(Clues::COPY) {
                break;
            }
            let Some(definition) = self.reaching.only_definition(value) else { break };
            let Some(Source::Register(operand, _)) = self.copy_in(value, definition) else { break };
            let Some(source) = operand.vreg().filter(|&source| operand == read(operand).with_vreg(source))
            else {
                break;
            };
            let (from, to) = (self.f.vreg(source), self.f.vreg(vreg));
            if !from.is_value() || from.ty != to.ty {
                break;
            }
            value = source;
        }
        value
    }
}

/// The register of an operand, read and not negated.
fn read(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Predicate { vreg, .. } => Operand::predicate(vreg, false),
        _ => Operand::register(operand.vreg().expect("it names a register")),
    }
}
