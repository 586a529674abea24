//! Which name each operand of a candidate gets, by a walk over the dominator tree, and which of the names become registers.

use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::store::view::FunctionView;

use super::{
    Candidate, NO_CANDIDATE, Name, OF_ROWS_PERCENT, PHASE, Planned, ROOM_LEFT, Scratch, VALUES_MORE,
};
use crate::ssa::moves::operand_of;

impl Scratch {
    /// Walks over the dominator tree and finds the name that each operand gets.
    pub(super) fn rename(&mut self, function: &FunctionView<'_>) {
        self.renamed.clear();
        self.needed.clear();
        self.outside.clear();
        self.parts.clear();
        self.seen.fill(0);
        for place in 0..self.tree.preorder().len() {
            let block = self.tree.preorder()[place];
            self.leave_parts_before(place as u32);
            self.parts.push((self.tree.interval(block).end, self.outside.len()));
            for phi in self.phis_in(block) {
                let Planned { candidate, to, .. } = self.phis[phi];
                self.set_current(candidate, to);
            }
            for (inst, _, operands) in function.padded_rows_of(block) {
                // Most instructions name no candidate.
                if self.names_candidate(operands) {
                    self.rename_operands(function, inst, operands);
                }
            }
            self.fill_pairs(function, block);
        }
    }

    /// Numbers of the phis of a block.
    fn phis_in(&self, block: BlockId) -> std::ops::Range<usize> {
        self.phis_of[block.index()] as usize..self.phis_of[block.index() + 1] as usize
    }

    /// Gives candidates back what they held outside of the parts of the tree that end before `place`.
    fn leave_parts_before(&mut self, place: u32) {
        while let Some((_, first)) = self.parts.pop_if(|(end, _)| *end <= place) {
            for (candidate, before) in self.outside.drain(first..).rev() {
                self.candidates[candidate as usize].current = before;
            }
        }
    }

    /// What a candidate holds here.
    fn current(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        let Candidate { current, undefined, .. } = self.candidates[candidate as usize];
        current.or(undefined).unwrap_or_else(|| {
            let new = self.new_name(function, candidate);
            self.candidates[candidate as usize].undefined = Some(new);
            new
        })
    }

    fn new_name(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        self.names.push(Name { candidate, number: None });
        VRegId::new(function.vregs.len() + self.names.len() - 1)
    }

    /// Notes that something reads `vreg`: the phi that defines it is needed then.
    fn need(&mut self, function: &FunctionView<'_>, vreg: VRegId) {
        let Some(number) = vreg.index().checked_sub(function.vregs.len()) else { return };
        if let Some(phi) = self.phis.get_mut(number).filter(|phi| !phi.is_needed) {
            phi.is_needed = true;
            self.needed.push(number);
        }
    }

    /// Finds the phis that only such phis read as nothing reads.
    pub(super) fn prune(&mut self, function: &FunctionView<'_>) {
        while let Some(number) = self.needed.pop() {
            let Planned { pairs, filled, .. } = self.phis[number];
            for at in pairs..pairs + filled {
                let value = self.pairs[at].1.vreg().expect("a register comes from there");
                self.need(function, value);
            }
        }
    }

    /// Gives the names that are needed their registers, as far as there is room; says how many candidates stay variables
    /// because there is none. What becomes of one candidate does not depend on the others.
    pub(super) fn number_names(&mut self, function: &FunctionView<'_>, room: Room) -> u64 {
        let Self { names, costs, phis, candidates, variables, candidate_of, new_registers, .. } = self;
        let is_needed = |number: usize| phis.get(number).is_none_or(|phi| phi.is_needed);
        costs.clear();
        costs.resize(candidates.len(), (0, 0));
        for (number, name) in names.iter().enumerate().filter(|&(number, _)| is_needed(number)) {
            let (registers, phi_count) = &mut costs[name.candidate as usize];
            *registers += 1;
            *phi_count += u32::from(number < phis.len());
        }
        let most = |rows: usize, more: u32| more + (rows as u64 * OF_ROWS_PERCENT / 100) as u32;
        let of = |rows: u32| rows - rows / ROOM_LEFT;
        let values_max = most(function.vregs.len(), VALUES_MORE);
        // What is more than the phase announces would be undone, and the function be none in SSA form.
        let announced = u64::from(function.text.insts_in) * u64::from(PHASE.room_percent) / 100;
        let phis_max = most(function.heads.len(), 2 * VALUES_MORE).min(announced as u32);
        let mut left = (of(room.vregs.min(values_max)), of(room.insts.min(phis_max)));
        let mut left_out = 0;
        for (candidate, cost) in candidates.iter().zip(&*costs) {
            if candidate_of[candidate.vreg.index()] == NO_CANDIDATE {
                continue;
            }
            if cost.0 <= left.0 && cost.1 <= left.1 {
                left = (left.0 - cost.0, left.1 - cost.1);
            } else {
                candidate_of[candidate.vreg.index()] = NO_CANDIDATE;
                variables.push((candidate.vreg, true));
                left_out += 1;
            }
        }
        new_registers.clear();
        for number in 0..names.len() {
            let Candidate { vreg, .. } = candidates[names[number].candidate as usize];
            if is_needed(number) && candidate_of[vreg.index()] != NO_CANDIDATE {
                names[number].number = Some(VRegId::new(function.vregs.len() + new_registers.len()));
                new_registers.push(names[number].candidate);
            }
        }
        left_out
    }

    fn set_current(&mut self, candidate: u32, vreg: VRegId) {
        let current = &mut self.candidates[candidate as usize].current;
        self.outside.push((candidate, current.replace(vreg)));
    }

    /// Whether some operand names a candidate.
    #[inline]
    fn names_candidate(&self, operands: &[Operand]) -> bool {
        let nothing = self.candidate_of.len() - 1;
        let candidate = |operand: &Operand| self.candidate_of[operand.vreg_or(nothing)];
        operands.iter().fold(NO_CANDIDATE, |all, operand| all & candidate(operand)) != NO_CANDIDATE
    }

    fn rename_operands(&mut self, function: &FunctionView<'_>, inst: InstId, operands: &[Operand]) {
        // Sources come after results, and are read before.
        for (position, operand) in operands.iter().enumerate().rev() {
            let Some(vreg) = operand.vreg() else { continue };
            let candidate = self.candidate_of[vreg.index()];
            if candidate == NO_CANDIDATE {
                continue;
            }
            let name = if operand.is_definition() {
                self.next_name(function, candidate)
            } else {
                let current = self.current(function, candidate);
                self.need(function, current);
                current
            };
            if name != vreg {
                self.renamed.push((inst, position, candidate, name));
            }
        }
    }

    /// The name of the next definition of a candidate, which holds it from there on.
    fn next_name(&mut self, function: &FunctionView<'_>, candidate: u32) -> VRegId {
        let Candidate { vreg, is_taken, .. } = self.candidates[candidate as usize];
        self.candidates[candidate as usize].is_taken = true;
        let name = if is_taken { self.new_name(function, candidate) } else { vreg };
        self.set_current(candidate, name);
        name
    }

    /// Gives the phis of the successors of `block` what comes from there.
    fn fill_pairs(&mut self, function: &FunctionView<'_>, block: BlockId) {
        for &succ in function.succs(block) {
            if std::mem::replace(&mut self.seen[succ.index()], block.0 + 1) == block.0 + 1 {
                continue;
            }
            for number in self.phis_in(succ) {
                let candidate = self.phis[number].candidate;
                let current = self.current(function, candidate);
                let phi = &mut self.phis[number];
                let like = function.vregs[self.candidates[candidate as usize].vreg.index()];
                self.pairs[phi.pairs + phi.filled] = (block, operand_of(like.ty.element(), current));
                phi.filled += 1;
            }
        }
    }
}
