//! A region becomes straight: its arms are computed before the branch, and what they differ in is selected.

use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::Room;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::values::phis::incoming;

use super::region::{Branch, Choice, Region, Taken};
use crate::ssa::moves::{move_form, operand_of};

impl Region {
    /// Computes the arms before the branch, and selects. Where nothing else leads to the join, that is part of the block then.
    pub(super) fn convert(&self, f: &mut FunctionEditor<'_>, join_is_pinned: bool) -> Option<()> {
        let count = (self.inst_count + self.values.len()) as u32;
        let room = Room { insts: count, blocks: 0, vregs: self.values.len() as u32 };
        let offset = f.offset_of(self.branch.inst);
        let mut change = f.change_with_room(offset, "short arms of a branch are computed always", room)?;
        for (arm, is_taken) in [(self.taken, true), (self.fallen, false)] {
            let Some(arm) = arm else { continue };
            let guard = Operand::predicate(self.branch.predicate, self.branch.is_negated == is_taken);
            self.branch.take_in(&mut change, arm, guard);
        }
        change.set_block_flags(self.head, BlockFlags::ARMS_JOINED);
        let is_joined = self.is_sole && self.falls_through && !join_is_pinned;
        for value in &self.values {
            if is_joined {
                self.select_for_good(&mut change, value);
            } else {
                self.select_for_phi(&mut change, value);
            }
        }
        if self.falls_through {
            change.delete_branch(self.branch.inst);
        } else {
            change.redirect(self.branch.inst, self.join);
            change.drop_guard(self.branch.inst);
        }
        let arms: Vec<BlockId> = [self.taken, self.fallen].into_iter().flatten().collect();
        change.delete_blocks(&arms);
        if is_joined {
            change.merge(self.join);
        }
        Some(())
    }

    /// Lets a phi take the selection from the head, in the place of what it took from the arms.
    fn select_for_phi(&self, change: &mut Change<'_, '_>, value: &Taken) {
        let selected = match value.choice {
            Some(choice) => {
                let result = change.new_vreg_like(value.taken.vreg().expect("a phi takes registers"));
                self.choose(change, result, value, choice);
                operand_of(change.function().vregs[result.index()].ty.element(), result)
            }
            None => value.taken,
        };
        // The join may be a loop of its own.
        let own = [Some(self.head), self.taken, self.fallen];
        let is_other = |&(pred, _): &(BlockId, Operand)| !own.contains(&Some(pred));
        let mut pairs: Vec<_> = incoming(change.operands_of(value.phi)).filter(is_other).collect();
        pairs.push((self.head, selected));
        change.set_incoming(value.phi, &pairs);
    }

    /// Puts the selection in the place of a phi that takes nothing else.
    fn select_for_good(&self, change: &mut Change<'_, '_>, value: &Taken) {
        let result = change.operands_of(value.phi)[0].vreg().expect("a phi has a result");
        change.delete(value.phi);
        if let Some(choice) = value.choice {
            return self.choose(change, result, value, choice);
        }
        let ty = change.function().vregs[result.index()].ty.element();
        let form = move_form(change.forms(), ty);
        change.insert_before(self.branch.inst, form, &[operand_of(ty, result), value.taken], None);
    }

    /// Makes one value of two before the branch.
    fn choose(&self, change: &mut Change<'_, '_>, result: VRegId, value: &Taken, choice: Choice) {
        match choice {
            Choice::Selection(ty) => {
                let [taken, fallen] =
                    [value.taken, value.fallen].map(|value| value.vreg().expect("a phi takes registers"));
                let (one, other) = if self.branch.is_negated { (fallen, taken) } else { (taken, fallen) };
                let [result, one, other] = [result, one, other].map(Operand::register);
                let predicate = Operand::predicate(self.branch.predicate, false);
                let description = Description::new(Operation::Selp, Qualifiers::default(), &[ty]);
                self.branch.insert(change, &description, &[result, one, other, predicate]);
            }
            Choice::Logic { operation, is_contrary, value } => {
                let predicates = [(self.branch.predicate, is_contrary), (value, false)];
                let sources = predicates.map(|(vreg, negated)| Operand::predicate(vreg, negated));
                self.branch.combine(change, operation, result, sources);
            }
        }
    }
}

impl Branch {
    /// Moves what a block computes before the branch; its stores get a guard.
    pub(super) fn take_in(&self, change: &mut Change<'_, '_>, block: BlockId, guard: Operand) {
        let insts: Vec<InstId> = change.function().insts_of(block).collect();
        for inst in insts {
            let head = change.function().heads[inst.index()];
            let form = *change.forms().get(head.form);
            if form.effects.contains(Effects::WRITE) {
                let operands = change.operands_of(inst).to_vec();
                change.insert_before(self.inst, head.form, &operands, Some(guard));
            } else if !form.effects.intersects(Effects::CONTROL) {
                change.move_before(inst, self.inst);
            }
        }
    }

    /// Combines two predicates before the branch.
    pub(super) fn combine(
        &self,
        change: &mut Change<'_, '_>,
        operation: Operation,
        result: VRegId,
        [one, other]: [Operand; 2],
    ) {
        let description = Description::new(operation, Qualifiers::default(), &[PtxType::Pred]);
        self.insert(change, &description, &[Operand::predicate(result, false), one, other]);
    }

    fn insert(&self, change: &mut Change<'_, '_>, description: &Description, operands: &[Operand]) {
        let form = change.forms().build(description, shape::plain(operands.len()));
        change.insert_before(self.inst, form.expect("the operation takes the type"), operands, None);
    }
}
