//! Two branches in a row of which both lead to one block become one, on both conditions.

use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::values::phis::{incoming, phis_of};

use super::arms::Rows;
use super::region::{Branch, Memory, next_but_for};
use super::{Marks, Settings};

/// A branch, and the one that it leads to on one of its ways.
pub(super) struct Pair {
    head: BlockId,
    first: Branch,
    /// The block of the second branch.
    between: BlockId,
    second: Branch,
    /// The block that both lead to.
    shared: BlockId,
    /// Where the second one leads to else.
    other: BlockId,
    /// Rows of the block between, without its branch.
    inst_count: usize,
}

impl Pair {
    /// The branch at the end of a block and the one after it, if they may become one in this round.
    pub(super) fn of(
        f: &FunctionEditor<'_>,
        (head, first): (BlockId, Branch),
        settings: Settings,
        marks: &Marks,
        memory: &mut Memory,
    ) -> Option<Self> {
        let ways = [(first.target, first.next), (first.next, first.target)];
        ways.into_iter().find_map(|(between, shared)| {
            // Most blocks end in no such branch, so rows are looked at last.
            let second = Branch::of(f, between)?;
            let other = second.other_than(shared)?;
            let rows = Rows::of(f, head, between, settings.between_insts_max)?;
            let is_open = |block: BlockId| !marks.is_changed[block.index()];
            let may_join = !rows.has_stores
                && !marks.is_pinned[between.index()]
                && [head, between, other].into_iter().all(is_open)
                // In a loop of the first block alone, more would be computed each time around.
                && shared != head
                && memory.takes_alike(f, shared, [head, between]);
            may_join.then_some(Self {
                head,
                first,
                between,
                second,
                shared,
                other,
                inst_count: rows.inst_count,
            })
        })
    }

    /// Computes what stands between before the first branch, and lets that ask for both.
    pub(super) fn convert(&self, f: &mut FunctionEditor<'_>) -> Option<()> {
        let &Self { head, first, between, second, shared, other, inst_count } = self;
        let falls_to = next_but_for(f, head, [Some(between), None]);
        let offset = f.offset_of(first.inst);
        let room = Room { insts: inst_count as u32 + 1, blocks: 0, vregs: 1 };
        let mut change = f.change_with_room(offset, "two branches to one block become one", room)?;
        let conditions = [first.when_to(shared), second.when_to(shared)];
        first.take_in(&mut change, between, conditions[0]);
        self.rename_in_other(&mut change);
        let (operation, target, conditions) = match falls_to == Some(other) {
            true => (Operation::Or, shared, conditions),
            false => (Operation::And, other, conditions.map(contrary)),
        };
        let both = change.new_vreg(PtxType::Pred);
        first.combine(&mut change, operation, both, conditions);
        let guard = change.operands_of(first.inst).len() - 1;
        change.redirect(first.inst, target);
        change.set_operand(first.inst, guard, Operand::predicate(both, false));
        change.delete_blocks(&[between]);
        Some(())
    }

    /// Lets the phis of the other block take from the head what they took from the block between. Those of the shared block lose a pair
    /// when edges are made again.
    fn rename_in_other(&self, change: &mut Change<'_, '_>) {
        let phis: Vec<_> = phis_of(&change.function(), self.other).map(|(phi, _)| phi).collect();
        for phi in phis {
            let renamed = |(pred, value)| (if pred == self.between { self.head } else { pred }, value);
            let pairs: Vec<_> = incoming(change.operands_of(phi)).map(renamed).collect();
            change.set_incoming(phi, &pairs);
        }
    }

    /// The blocks that the round looks at no more. Fewer lead to the shared one than its edges say until the next round, which keeps it from
    /// nothing that it may not do.
    pub(super) fn blocks(&self) -> [BlockId; 3] {
        [self.head, self.between, self.other]
    }
}

/// The condition that holds where `condition` does not.
fn contrary(condition: Operand) -> Operand {
    let OperandKind::Predicate { vreg, negated } = condition.kind() else {
        unreachable!("the guard of a branch is a predicate")
    };
    Operand::predicate(vreg, !negated)
}
