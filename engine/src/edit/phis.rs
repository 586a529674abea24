//! Changes of phis, and what changes of blocks do to them.
//!
//! A phase that gives a block another predecessor gives its phis another pair. The rest is done here: where a block is split
//! or joins another one, the phis after it name the block from which control comes now; and pairs of blocks that are no
//! predecessors any more go when edges are built again.

use super::session::{Change, FunctionEditor};
use crate::values::phis::{PairFinder, incoming, phis_of};
use ahash::AHashMap;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::vreg::VRegFlags;
use std::collections::hash_map::Entry;

impl Change<'_, '_> {
    /// Notes that the function is in SSA form from now on, or that it is not any more.
    pub fn set_ssa(&mut self, is_in_ssa: bool) {
        self.f.set_flags(CodeFlags::SSA, is_in_ssa);
    }

    /// Notes that SSA form is built: what names registers from now on is new.
    pub fn ssa_is_built(&mut self) {
        for vreg in (0..self.f.rows.spans.vregs.len()).map(VRegId::new) {
            self.f.set_vreg_flags(vreg, VRegFlags::REUSED, false);
        }
    }

    /// Inserts a phi after those that `block` has. `incoming` names each predecessor once, with the value that comes from
    /// there: a register of the type of `to`, or a literal.
    ///
    /// # Panics
    /// Where the function is not in SSA form ([`CodeFlags::SSA`]), and where a value does not fit.
    pub fn phi(&mut self, block: BlockId, to: VRegId, incoming: &[(BlockId, Operand)]) -> InstId {
        let after = self.first_after_phis(block);
        self.phi_before(block, after, to, incoming)
    }

    /// The first instruction of a block that is no phi.
    #[must_use]
    pub fn first_after_phis(&self, block: BlockId) -> Option<InstId> {
        self.f.insts_of(block).find(|&inst| !self.f.head(inst).is_phi())
    }

    /// As [`Change::phi`], where `after` is what [`Change::first_after_phis`] says of `block`: for many phis of one block.
    pub fn phi_before(
        &mut self,
        block: BlockId,
        after: Option<InstId>,
        to: VRegId,
        incoming: &[(BlockId, Operand)],
    ) -> InstId {
        assert!(self.f.is_in_ssa(), "phis belong to SSA form");
        let (form, operands) = self.f.phi_of(to, incoming);
        match after {
            Some(after) => self.insert_before(after, form, &operands, None),
            None => self.insert_at_end(block, form, &operands, None),
        }
    }

    /// Gives the phis of `block` the pairs of new predecessors. From each they take what they take from the other block that stands
    /// beside it. One that is a predecessor already must take the same ([`FunctionEditor::takes_alike`]).
    ///
    /// Each phi is written anew: who has several predecessors for a block names them together.
    pub fn take_alike(&mut self, block: BlockId, new_and_like: &[(BlockId, BlockId)]) {
        self.f.add_preds(block, new_and_like);
    }

    /// Gives a phi other pairs. Where they are more than those that it keeps, in their order, its registers are reused.
    pub fn set_incoming(&mut self, phi: InstId, incoming: &[(BlockId, Operand)]) {
        let keeps_all = {
            let mut before = self::incoming(self.f.rows.operands_of(phi));
            incoming.iter().all(|pair| before.any(|kept| kept == *pair))
        };
        self.f.set_pairs(phi, incoming);
        if !keeps_all {
            self.f.note_all_reused(phi);
        }
    }
}

/// The first instruction after the phis of a block, looked for once for all phis of it that one change after the other replaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct AfterPhis(Option<(BlockId, Option<InstId>)>);

impl AfterPhis {
    /// Of `block`: it stays what it is while other instructions are inserted before it.
    pub fn of(&mut self, change: &Change<'_, '_>, block: BlockId) -> Option<InstId> {
        let after = match self.0 {
            Some((known, after)) if known == block => after,
            _ => change.first_after_phis(block),
        };
        self.0 = Some((block, after));
        after
    }
}

impl FunctionEditor<'_> {
    /// Notes that a register keeps several definitions in SSA form, or partial or guarded ones, or that it does not.
    pub fn set_variable(&mut self, vreg: VRegId, is_variable: bool) {
        self.save();
        self.set_vreg_flags(vreg, VRegFlags::VARIABLE, is_variable);
        if is_variable {
            self.rows.state.flags |= CodeFlags::HAS_VARIABLES;
        }
    }

    /// Sets or clears flags of a register; the function is saved.
    pub(super) fn set_vreg_flags(&mut self, vreg: VRegId, flags: VRegFlags, on: bool) {
        let is_other = |now: VRegFlags| if on { !now.contains(flags) } else { now.intersects(flags) };
        if is_other(self.rows.vregs[vreg.index()].flags) {
            self.tools.journal.save_vreg_flags(&self.rows, vreg);
            self.rows.vregs[vreg.index()].flags.set(flags, on);
        }
    }

    pub(super) fn is_in_ssa(&self) -> bool {
        self.rows.state.flags.contains(CodeFlags::SSA)
    }

    /// Whether no phi of `block` takes another value from `one` than from `other`; one of which it takes none is like any.
    #[must_use]
    pub fn takes_alike(&self, block: BlockId, one: BlockId, other: BlockId) -> bool {
        let [mut of_one, mut of_other] = [PairFinder::default(); 2];
        self.phis_of(block).all(|(_, operands)| {
            match (of_one.value(operands, one), of_other.value(operands, other)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            }
        })
    }

    /// Form and operands of a phi.
    fn phi_of(&mut self, to: VRegId, incoming: &[(BlockId, Operand)]) -> (FormId, Vec<Operand>) {
        let ty = self.rows.vregs[to.index()].ty.element();
        let form = self.tools.forms.phi(ty, incoming.len());
        let mut operands = Vec::with_capacity(1 + 2 * incoming.len());
        operands.push(self.register(to));
        for &(block, value) in incoming {
            operands.extend_from_slice(&[Operand::block(block), value]);
        }
        (form, operands)
    }

    fn set_pairs(&mut self, phi: InstId, incoming: &[(BlockId, Operand)]) {
        let to = self.rows.operands_of(phi)[0].vreg().expect("a phi has a result");
        let before = self.rows.operands_of(phi).len() / 2;
        let (form, operands) = self.phi_of(to, incoming);
        self.rewrite(phi, form, &operands, None);
        if incoming.len() > before {
            self.note_all_reused(phi);
        }
    }

    /// The pairs of the phis of a block.
    fn pairs_of(&self, block: BlockId) -> Vec<(InstId, Vec<(BlockId, Operand)>)> {
        let function = self.view();
        phis_of(&function, block).map(|(phi, operands)| (phi, incoming(operands).collect())).collect()
    }

    /// Control that came to other blocks from `old`, which is alive, comes from `new`, or from both where `old` still leads
    /// there.
    pub(super) fn share_in_phis(&mut self, old: BlockId, new: BlockId) {
        let (still, after) = (self.successors_in_ssa(old), self.successors_in_ssa(new));
        for succ in after {
            if still.contains(&succ) {
                self.add_preds(succ, &[(new, old)]);
            } else {
                self.rename_pred(succ, old, new);
            }
        }
    }

    /// Where control goes from a block, each block once; none where there are no phis. Cost: the rows of the block.
    pub(super) fn successors_in_ssa(&self, block: BlockId) -> Vec<BlockId> {
        if !self.is_in_ssa() {
            return Vec::new();
        }
        let mut succs = self.successors_now(block);
        succs.sort_unstable();
        succs.dedup();
        succs
    }

    /// Gives phis the pairs of new predecessors, each beside another one from which they take the same.
    fn add_preds(&mut self, block: BlockId, new_and_like: &[(BlockId, BlockId)]) {
        for (phi, mut pairs) in self.pairs_of(block) {
            let before = pairs.len();
            let mut values: AHashMap<BlockId, Operand> = pairs.iter().copied().collect();
            for &(new, like) in new_and_like {
                let value = values.get(&like).copied();
                if let (Some(value), Entry::Vacant(entry)) = (value, values.entry(new)) {
                    pairs.push((new, *entry.insert(value)));
                }
            }
            if pairs.len() > before {
                self.set_pairs(phi, &pairs);
            }
        }
    }

    /// Names a predecessor in the phis of `block` by another block.
    pub(super) fn rename_pred(&mut self, block: BlockId, old: BlockId, new: BlockId) {
        let phis: Vec<InstId> = self.phis_of(block).map(|(phi, _)| phi).collect();
        for phi in phis {
            if let Some(pair) = self.scratch.pairs.find(self.rows.operands_of(phi), old) {
                self.replace_operand(phi, 1 + 2 * pair, Operand::block(new));
            }
        }
    }

    /// Takes the pairs of blocks that are no predecessors out of all phis. Edges are those of the instructions.
    pub(super) fn prune_phis(&mut self) {
        if !self.is_in_ssa() {
            return;
        }
        let function = self.view();
        // By block: one more than the block that it was last seen to lead to.
        let mut leads_to = vec![0; function.blocks.len()];
        let mut pruned = Vec::new();
        for block in (0..function.blocks.len()).map(BlockId::new) {
            let mut phis = phis_of(&function, block).peekable();
            if phis.peek().is_none() {
                continue;
            }
            function.preds(block).iter().for_each(|pred| leads_to[pred.index()] = block.0 + 1);
            let is_left = |&(from, _): &(BlockId, Operand)| leads_to[from.index()] == block.0 + 1;
            for (phi, operands) in phis {
                if !incoming(operands).all(|pair| is_left(&pair)) {
                    pruned.push((phi, incoming(operands).filter(is_left).collect::<Vec<_>>()));
                }
            }
        }
        for (phi, pairs) in pruned {
            self.set_pairs(phi, &pairs);
        }
    }
}
