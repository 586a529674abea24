//! Branches with short arms, and what the join takes from these.

use ahash::AHashMap;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::values::phis::PairFinder;

use super::arms::{Arm, arm_of};
use super::{Marks, Settings};
use crate::ssa::moves::moved_as;

/// A branch with its arms.
pub(super) struct Region {
    pub(super) head: BlockId,
    pub(super) branch: Branch,
    /// The arm that the branch leads to; none where it leads to the join.
    pub(super) taken: Option<BlockId>,
    /// The arm that it falls through to; none where that is the join.
    pub(super) fallen: Option<BlockId>,
    pub(super) join: BlockId,
    /// What the phis of the join take from the two arms.
    pub(super) values: Vec<Taken>,
    /// Rows of the arms.
    pub(super) inst_count: usize,
    /// Whether nothing else leads to the join.
    pub(super) is_sole: bool,
    /// Whether the head falls through to the join once the arms are gone.
    pub(super) falls_through: bool,
}

/// What is remembered from one region of a function to the next.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) literals: Literals,
    /// Where phis have the pairs of the two ways of a branch.
    ways: [PairFinder; 2],
}

impl Memory {
    /// Whether no phi of `block` takes another value from one of two of its predecessors than from the other one.
    pub(super) fn takes_alike(&mut self, f: &FunctionEditor<'_>, block: BlockId, from: [BlockId; 2]) -> bool {
        let [one, other] = &mut self.ways;
        f.phis_of(block).all(|(_, phi)| one.value(phi, from[0]) == other.value(phi, from[1]))
    }
}

/// The branch at the end of a block, under a guard.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) inst: InstId,
    pub(super) predicate: VRegId,
    pub(super) is_negated: bool,
    pub(super) target: BlockId,
    /// The block that it falls through to.
    pub(super) next: BlockId,
}

/// What a phi of the join takes from the arms.
pub(super) struct Taken {
    pub(super) phi: InstId,
    pub(super) taken: Operand,
    pub(super) fallen: Operand,
    /// What makes one value of the two; none where they are the same.
    pub(super) choice: Option<Choice>,
}

/// What makes one value of those of two arms.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    /// A selection of this type.
    Selection(PtxType),
    /// The predicate of the branch, or its contrary, and an operation with the value of one arm: the other one is a literal.
    Logic { operation: Operation, is_contrary: bool, value: VRegId },
}

impl Region {
    /// The region of the branch at the end of a block, if it may be predicated in this round.
    pub(super) fn of(
        f: &FunctionEditor<'_>,
        (head, branch): (BlockId, Branch),
        settings: Settings,
        marks: &Marks,
        memory: &mut Memory,
    ) -> Option<Self> {
        let Branch { target, next, .. } = branch;
        let [taken, fallen] = [target, next].map(|arm| arm_of(f, head, arm, settings.arm_insts_max));
        let (taken, fallen, join) = match (taken, fallen) {
            (Some(one), Some(other)) if one.join == other.join => (Some(one), Some(other), one.join),
            (Some(arm), _) if arm.join == next => (Some(arm), None, next),
            (_, Some(arm)) if arm.join == target => (None, Some(arm), target),
            _ => return None,
        };
        if join == head {
            return None;
        }
        let arms: Vec<Arm> = [taken, fallen].into_iter().flatten().collect();
        let [taken, fallen] = [taken, fallen].map(|arm| arm.map(|arm| arm.block));
        let is_changed = |block: BlockId| marks.is_changed[block.index()];
        let is_open = |arm: &Arm| !is_changed(arm.block) && !marks.is_pinned[arm.block.index()];
        if is_changed(head) || is_changed(join) || !arms.iter().all(is_open) {
            return None;
        }
        let from = [taken, fallen].map(|arm| arm.unwrap_or(head));
        let falls_through = next_but_for(f, head, [taken, fallen]) == Some(join);
        let branch_count = arms.iter().filter(|arm| arm.jumps).count() + usize::from(falls_through);
        let choices_max = settings.selections_max.min(branch_count);
        let values = values_of(f, join, from, branch.is_negated, choices_max, memory)?;
        let is_sole = f.preds(join).iter().all(|pred| from.contains(pred));
        let inst_count = arms.iter().map(|arm| arm.inst_count).sum();
        Some(Self { head, branch, taken, fallen, join, values, inst_count, is_sole, falls_through })
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = BlockId> {
        [Some(self.head), self.taken, self.fallen, Some(self.join)].into_iter().flatten()
    }
}

impl Branch {
    /// The branch at the end of a reachable block, if threads may go two ways there by a value.
    pub(super) fn of(f: &FunctionEditor<'_>, head: BlockId) -> Option<Self> {
        let inst = f.insts_of(head).next_back()?;
        let form = f.form_of(inst);
        if form.operation != Operation::Bra || form.flags.contains(FormFlags::UNIFORM) {
            return None;
        }
        let OperandKind::Predicate { vreg: predicate, negated } = f.guard_of(inst)?.kind() else {
            return None;
        };
        let target = f.operands_of(inst)[0].as_block()?;
        let next = f.next_in_text(head)?;
        let is_reachable = f.order_of(head).is_reachable();
        let is_wanted = target != next && is_reachable && f.vreg(predicate).is_value();
        is_wanted.then_some(Self { inst, predicate, is_negated: negated, target, next })
    }

    /// The way that does not lead to `block`; none where both lead elsewhere.
    pub(super) fn other_than(&self, block: BlockId) -> Option<BlockId> {
        match (self.target == block, self.next == block) {
            (true, _) => Some(self.next),
            (_, true) => Some(self.target),
            _ => None,
        }
    }

    /// What holds where it leads to `to`, one of its two ways.
    pub(super) fn when_to(&self, to: BlockId) -> Operand {
        Operand::predicate(self.predicate, self.is_negated == (to == self.target))
    }
}

/// What the phis of a join take from the blocks where the two ways come from: that of the branch, and that past it. None where
/// more than `choices_max` of them take two values.
fn values_of(
    f: &FunctionEditor<'_>,
    join: BlockId,
    from: [BlockId; 2],
    is_negated: bool,
    choices_max: usize,
    memory: &mut Memory,
) -> Option<Vec<Taken>> {
    let Memory { literals, ways } = memory;
    let mut values = Vec::new();
    let mut choice_count = 0;
    for (phi, operands) in f.phis_of(join) {
        let mut value = |way: usize| ways[way].value(operands, from[way]);
        let (taken, fallen) = (value(0)?, value(1)?);
        choice_count += usize::from(taken != fallen);
        if choice_count > choices_max {
            return None;
        }
        let choice = match taken == fallen {
            true => None,
            false => Some(choice(f, [taken.vreg()?, fallen.vreg()?], is_negated, literals)?),
        };
        values.push(Taken { phi, taken, fallen, choice });
    }
    Some(values)
}

/// The block that comes next in the text once the arms are gone.
pub(super) fn next_but_for(
    f: &FunctionEditor<'_>,
    head: BlockId,
    arms: [Option<BlockId>; 2],
) -> Option<BlockId> {
    let mut after = f.next_in_text(head)?;
    while arms.contains(&Some(after)) {
        after = f.next_in_text(after)?;
    }
    Some(after)
}

/// What makes one value of two, which a branch leads to and falls through to, if there is an instruction that does.
fn choice(
    f: &FunctionEditor<'_>,
    [taken, fallen]: [VRegId; 2],
    is_negated: bool,
    literals: &mut Literals,
) -> Option<Choice> {
    let head = f.vreg(taken);
    let ty = moved_as(head.ty.element()).filter(|_| head.ty.lanes == 1)?;
    if ty.kind() != TypeKind::Predicate {
        return Some(Choice::Selection(ty));
    }
    // Where the branch leads to a literal, or where it falls through to one.
    let (truth, value, is_where_taken) = match literals.truth(f, taken) {
        Some(truth) => (truth, fallen, true),
        None => (literals.truth(f, fallen)?, taken, false),
    };
    let operation = if truth { Operation::Or } else { Operation::And };
    // True on the way to the literal, or false there.
    let is_contrary = is_negated != (truth != is_where_taken);
    Some(Choice::Logic { operation, is_contrary, value })
}

/// The predicates of a function that are literals, once they were asked for.
#[derive(Default)]
pub(super) struct Literals {
    truths: AHashMap<VRegId, bool>,
    is_filled: bool,
}

impl Literals {
    pub(super) fn start(&mut self) {
        self.truths.clear();
        self.is_filled = false;
    }

    /// What a value is that is moved from a literal.
    fn truth(&mut self, f: &FunctionEditor<'_>, vreg: VRegId) -> Option<bool> {
        if !std::mem::replace(&mut self.is_filled, true) {
            let function = f.view();
            for (inst, _, operands) in function.block_ids().flat_map(|block| function.rows_of(block)) {
                // A guard would be a third operand.
                let &[result, source] = operands else { continue };
                let form = f.form_of(inst);
                let is_move = form.operation == Operation::Mov && form.types[0] == Some(PtxType::Pred);
                if let (true, Some(vreg), OperandKind::Int(value)) = (is_move, result.vreg(), source.kind()) {
                    self.truths.insert(vreg, value != 0);
                }
            }
        }
        self.truths.get(&vreg).copied().filter(|_| f.vreg(vreg).is_value())
    }
}
