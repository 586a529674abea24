//! Which value each register holds: what a function that was split must still read.
//!
//! A state says which registers of the function as it was have the value that a register of the function as it is holds, and
//! which definitions could be made again there. Both functions are walked together, to the largest fixpoint, the slow and
//! obvious way. An instruction that was not there before computes what a definition computed whose operands hold the same,
//! or something unknown.

use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, definitions, reads};
use ptxopt_components::types::StateSpace;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// A row of bits.
#[derive(Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize, is_set: bool) -> Self {
        Self(vec![if is_set { u64::MAX } else { 0 }; count.div_ceil(64)])
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, at: usize, is_set: bool) {
        let bit = 1 << (at % 64);
        if is_set { self.0[at / 64] |= bit } else { self.0[at / 64] &= !bit }
    }

    fn meet(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one &= other);
    }
}

#[derive(Clone, PartialEq, Eq)]
struct State {
    /// By register of the function as it is: the registers as they were that have its value.
    holds: Vec<Bits>,
    /// By instruction as it was: its operands hold what they held when it was executed last, and so does its result.
    again: Bits,
}

/// Compares a function as it was with what a phase made of it.
pub(super) struct Checker<'a> {
    pub before: FunctionView<'a>,
    pub after: FunctionView<'a>,
    pub forms: &'a FormTable,
}

impl Checker<'_> {
    /// Checks every read; gives the first that may see something else than before.
    pub fn check(&self) -> Result<(), String> {
        let (all, count) = (self.after.vregs.len(), self.before.vregs.len());
        let top = State {
            holds: vec![Bits::new(count, true); all],
            again: Bits::new(self.before.heads.len(), true),
        };
        let mut entry = top.clone();
        entry.again = Bits::new(self.before.heads.len(), false);
        // What comes from outside is told apart; what nothing has written is like anything.
        for (at, vreg) in self.before.vregs.iter().enumerate() {
            if vreg.flags.intersects(VRegFlags::INPUT | VRegFlags::MODULE | VRegFlags::INITIALISED) {
                entry.holds.iter_mut().enumerate().for_each(|(new, bits)| bits.set(at, new == at));
            }
        }
        let mut starts = vec![top; self.after.blocks.len()];
        starts[0] = entry;
        loop {
            let mut changed = false;
            for block in self.after.block_ids() {
                let mut state = starts[block.index()].clone();
                let _ = self.walk(block, &mut state);
                for succ in self.after.succs(block) {
                    let start = &mut starts[succ.index()];
                    let old = start.clone();
                    start.holds.iter_mut().zip(&state.holds).for_each(|(one, other)| one.meet(other));
                    start.again.meet(&state.again);
                    changed |= *start != old;
                }
            }
            if !changed {
                break;
            }
        }
        let reachable = |block: &BlockId| self.after.orders[block.index()].is_reachable();
        self.after
            .block_ids()
            .filter(reachable)
            .try_for_each(|block| self.walk(block, &mut starts[block.index()].clone()))
    }

    /// Walks through a block; gives the first read that is wrong, and goes on.
    fn walk(&self, block: BlockId, state: &mut State) -> Result<(), String> {
        let mut result = Ok(());
        let mut old = self.before.insts_of(block).peekable();
        for inst in self.after.insts_of(block) {
            let is_old = inst.index() < self.before.heads.len() && self.before.heads[inst.index()].is_live();
            if !is_old {
                self.make_again(inst, state);
                continue;
            }
            while let Some(gone) = old.next_if(|&gone| gone != inst) {
                result = result.and_then(|()| self.may_go(gone));
                self.define(gone, None, state);
            }
            if old.next() != Some(inst) {
                return Err(format!("{inst:?} stands elsewhere"));
            }
            result = result.and_then(|()| self.compare(inst, state));
            self.define(inst, Some(inst), state);
        }
        for gone in old {
            result = result.and_then(|()| self.may_go(gone));
            self.define(gone, None, state);
        }
        result
    }

    fn may_go(&self, inst: InstId) -> Result<(), String> {
        let keeps = self.effects(inst).intersects(Effects::KEEPS);
        if keeps { Err(format!("{inst:?} had an effect")) } else { Ok(()) }
    }

    fn effects(&self, inst: InstId) -> Effects {
        self.forms.get(self.before.heads[inst.index()].form).effects
    }

    /// Whether the operands of an instruction read what they read before.
    fn compare(&self, inst: InstId, state: &State) -> Result<(), String> {
        let (old, new) = (self.before.operands_of(inst), self.after.operands_of(inst));
        let is_same_form = self.before.heads[inst.index()].form == self.after.heads[inst.index()].form;
        let reads_same = old.len() == new.len()
            && old.iter().zip(new).all(|(old, new)| match (old.vreg(), new.vreg()) {
                (Some(was), Some(is)) => {
                    old.is_definition() == new.is_definition()
                        && old.with_vreg(is) == new.with_vreg(is)
                        && (!new.is_use() || state.holds[is.index()].has(was.index()))
                }
                _ => old == new,
            });
        if is_same_form && reads_same { Ok(()) } else { Err(format!("{inst:?} reads {new:?}, not {old:?}")) }
    }

    /// An instruction defines its results; `new` is the one that does it now, if there is one.
    fn define(&self, inst: InstId, new: Option<InstId>, state: &mut State) {
        let head = &self.before.heads[inst.index()];
        let operands = self.before.operands_of(inst);
        let is_guarded = head.opcode.is_guarded();
        for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_definition())
        {
            let Some(was) = operand.vreg() else { continue };
            let is = new.and_then(|new| self.after.operands_of(new)[position].vreg());
            let is_whole = !is_guarded && !operand.is_partial();
            let held = is.is_some_and(|is| is_whole || state.holds[is.index()].has(was.index()));
            state.holds.iter_mut().for_each(|bits| bits.set(was.index(), false));
            if let Some(is) = is {
                state.holds[is.index()] = Bits::new(self.before.vregs.len(), false);
                state.holds[is.index()].set(was.index(), held);
            }
        }
        let is_loud = self.effects(inst).intersects(Effects::KEEPS.difference(Effects::CONTROL));
        for (other, _, others) in self.before.rows() {
            let names = |vreg: VRegId| others.iter().any(|operand| operand.vreg() == Some(vreg));
            let is_const = self.forms.get(self.before.heads[other.index()].form).space == StateSpace::Const;
            let may_change = is_loud && self.effects(other).contains(Effects::READ) && !is_const;
            if may_change || definitions(operands).any(|(vreg, _)| names(vreg)) {
                state.again.set(other.index(), false);
            }
        }
        let is_of_itself = definitions(operands).any(|(vreg, _)| reads(operands).any(|read| read == vreg));
        state.again.set(
            inst.index(),
            !is_guarded && !is_of_itself && !self.effects(inst).intersects(Effects::KEEPS),
        );
    }

    /// A new instruction.
    fn make_again(&self, inst: InstId, state: &mut State) {
        let (head, operands) = (&self.after.heads[inst.index()], self.after.operands_of(inst));
        let is_alike = |old: &Operand, new: &Operand| match (old.vreg(), new.vreg()) {
            _ if old.is_definition() => new.is_definition(),
            (Some(was), Some(is)) => old.with_vreg(is) == *new && state.holds[is.index()].has(was.index()),
            _ => old == new,
        };
        let mut held = Bits::new(self.before.vregs.len(), false);
        for (other, other_head, others) in self.before.rows() {
            let is_it = state.again.has(other.index())
                && other_head.form == head.form
                && !head.opcode.is_guarded()
                && others.len() == operands.len()
                && others.iter().zip(operands).all(|(old, new)| is_alike(old, new));
            if let (true, Some((vreg, false))) = (is_it, definitions(others).next()) {
                held.set(vreg.index(), true);
            }
        }
        for (at, (vreg, _)) in definitions(operands).enumerate() {
            let nothing = Bits::new(self.before.vregs.len(), false);
            state.holds[vreg.index()] = if at == 0 { held.clone() } else { nothing };
        }
    }
}

/// The same, for tests.
pub(super) fn check(
    before: FunctionView<'_>,
    after: FunctionView<'_>,
    forms: &FormTable,
) -> Result<(), String> {
    Checker { before, after, forms }.check()
}

/// Instructions that are not in both.
pub(super) fn made(before: &FunctionView<'_>, after: &FunctionView<'_>) -> usize {
    let old = |inst: InstId| inst.index() < before.heads.len() && before.heads[inst.index()].is_live();
    after.rows().filter(|&(inst, ..)| !old(inst)).count()
}
