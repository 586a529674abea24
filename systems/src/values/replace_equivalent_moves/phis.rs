//! Phis of one block with the same pairs.

use crate::ssa::moves::{move_form, operand_of};
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::edit::{AfterPhis, FunctionEditor};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};

/// Memory of the search.
#[derive(Default)]
pub(super) struct EqualPhis {
    /// Those of the block.
    phis: Vec<InstId>,
    /// Phis that are equal to another one, and the result of that.
    found: Vec<(InstId, VRegId)>,
    /// By result of a phi in `found`: the other result.
    same_as: AHashMap<VRegId, VRegId>,
}

impl EqualPhis {
    /// Makes a move of each phi that is equal to another one; gives nothing where the bisect limit is reached.
    pub(super) fn replace(&mut self, f: &mut FunctionEditor<'_>) -> Option<()> {
        self.find(&f.view());
        let mut after_phis = AfterPhis::default();
        for &(phi, same) in &self.found {
            let (block, result) = (f.head(phi).block, result_of(f.operands_of(phi)));
            let ty = f.vreg(result).ty.element();
            let form = move_form(f.forms(), ty);
            let mut change = f.change(phi, "a phi that is equal to another one of its block")?;
            let operands = [operand_of(ty, result), operand_of(ty, same)];
            match after_phis.of(&change, block) {
                Some(after) => change.insert_before(after, form, &operands, None),
                None => change.insert_at_end(block, form, &operands, None),
            };
            change.delete(phi);
        }
        Some(())
    }

    fn find(&mut self, function: &FunctionView<'_>) {
        self.found.clear();
        self.same_as.clear();
        for block in function.block_ids() {
            if phis_of(function, block).nth(1).is_some() {
                self.find_in(function, block);
            }
        }
    }

    /// Compares the phis of a block. The first in the text stays.
    fn find_in(&mut self, function: &FunctionView<'_>, block: BlockId) {
        let Self { phis, found, same_as } = self;
        phis.clear();
        phis.extend(phis_of(function, block).map(|(phi, _)| phi));
        // Pairs of a block come and go together, so they stand in one order.
        phis.sort_by(|&one, &other| {
            let [one, other] = [one, other].map(|phi| values(function.operands_of(phi), same_as));
            one.cmp(other)
        });
        let mut kept = phis[0];
        for &phi in &phis[1..] {
            let [one, other] = [kept, phi].map(|phi| function.operands_of(phi));
            let ty = |operands| function.vregs[result_of(operands).index()].ty;
            if ty(one) == ty(other) && values(one, same_as).eq(values(other, same_as)) {
                found.push((phi, result_of(one)));
            } else {
                kept = phi;
            }
        }
        // Not before all of the block are compared: the order is that of their values as they were.
        for &(phi, same) in
            found.iter().rev().take_while(|(phi, _)| function.heads[phi.index()].block == block)
        {
            same_as.insert(result_of(function.operands_of(phi)), same);
        }
    }
}

fn result_of(phi: &[Operand]) -> VRegId {
    phi[0].vreg().expect("a phi has a result")
}

/// What comes from each predecessor, to be compared; of phis that are equal, the one that stays.
fn values<'a>(
    phi: &'a [Operand],
    same_as: &'a AHashMap<VRegId, VRegId>,
) -> impl Iterator<Item = (BlockId, u32, u32)> + 'a {
    incoming(phi).map(|(pred, value)| {
        let same = value.vreg().filter(|_| !same_as.is_empty()).and_then(|vreg| same_as.get(&vreg));
        let value = same.map_or(value, |&same| value.with_vreg(same));
        (pred, value.word(), value.modifiers())
    })
}
