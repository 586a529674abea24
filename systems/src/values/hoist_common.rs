//! Hoist what both arms of a branch compute: it is computed once, before the branch.
//!
//! Source phase  56 SpeculativeHoistComInsts (the sources give its name, its place and its knob only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        places of instructions, operands, tombstones
//! Needs         SSA form; control flow ends its block
//! Leaves        among the first instructions of the two arms of a branch, no computation that both have
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look-up in a hash table for each of the first instructions of blocks that only one branch leads to; where
//!               something is found, a pass over all operands
//! Papers        Click 1995, "Global code motion, global value numbering"
//! Checked by    check/ssa.rs, check/definitions.rs; its tests on the emulator; the judge
//!
//! # How it works
//! ```text
//! @p bra L;                          mul.lo.s32 r3, r1, r2;
//! mul.lo.s32 r3, r1, r2;             @p bra L;
//! add.s32 r4, r3, 1;          ->     add.s32 r4, r3, 1;
//! ...                                ...
//! L: mul.lo.s32 r5, r1, r2;          L: sub.s32 r6, r3, 1;
//! sub.s32 r6, r5, 1;
//! ```
//! Only the branch leads to either arm, so that all threads that execute the branch execute one of the two instructions:
//! nothing is computed that was not computed before. So plain loads move, too, where nothing in their arms comes before
//! them that writes, orders or waits. What means something only where it is executed does not move over a call, which may
//! not return. Two that read the results of two that were found are found as well.
//!
//! Inner branches come last in the text and are looked at first; what comes out of them is in an arm of the outer one in the next
//! round. Where the last round has moved something, that is counted and told.
//!
//! # Why at -O3 alone
//! On real modules it takes out 9 of 10,000 instructions, for two passes over all operands where it finds something.
//!
//! # What does not move
//! What other threads take part in; what has a guard or an effect; carries; clocks, and what comes after one; what reads or writes
//! a variable; what would fill more registers for the arms than `SLOTS_MAX`. And what a
//! phi reads: its register is that of the phi where SSA form is left, and may hold another value at the branch, so that a
//! copy would stay where the instruction was.

use crate::values::movable::varies;
use ahash::{AHashMap, AHashSet};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{BlockId, FormId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::read_by_phis;

/// Phase 56.
pub const PHASE: Phase = Phase {
    name: "hoist_common",
    needs: &[Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 10,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Instructions of an arm that are looked at: what stands further down would live long before it is read.
const INSTS_MAX: usize = 64;

/// Slots of 32 bits that hoisted instructions of one branch may fill for what stays in the arms. `ptxas` does not sink a load below a
/// branch: sixty hoisted loads, each of which an instruction of its own arm reads, took it from 30 registers to 66.
const SLOTS_MAX: u32 = 16;

/// Rounds over a function: what comes out of inner branches may come out of the outer one.
const ROUNDS_MAX: usize = 4;

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        // It ends early where the bisect limit is reached.
        let _ = hoist(&mut f, &mut scratch);
    });
}

/// An instruction of one arm, with its twin in the other one.
#[derive(Clone, Copy)]
struct Pair {
    inst: InstId,
    twin: InstId,
    /// The branch.
    before: InstId,
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    pairs: Vec<Pair>,
    /// By register: a phi reads it.
    is_in_phis: Vec<bool>,
    /// The instructions of an arm, by what they compute.
    of_arm: AHashMap<Key, InstId>,
    /// Of one branch: results of twins, by those of the instructions that they are twins of.
    known_as: AHashMap<VRegId, VRegId>,
    /// By branch: the slots that are filled so far.
    slots: AHashMap<InstId, u32>,
    /// Of one branch: results that no hoisted instruction reads so far.
    filled: AHashSet<VRegId>,
    key: Vec<Operand>,
    /// Reads of results of twins: the pair, the instruction, the position, and what is read then.
    reads: Vec<(usize, InstId, usize, VRegId)>,
    /// By register: one more than its pair.
    pair_of: Vec<u32>,
    /// Pairs that stay because of the limit.
    limit_hits: u64,
}

/// What an instruction computes: its form and what it reads.
type Key = (FormId, Box<[Operand]>);

/// Works on one function; gives nothing where the bisect limit is reached.
fn hoist(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) -> Option<()> {
    scratch.slots.clear();
    let mut is_done = false;
    for _ in 0..ROUNDS_MAX {
        scratch.find(f);
        is_done = scratch.pairs.is_empty();
        if is_done {
            break;
        }
        scratch.find_reads(&f.view());
        scratch.apply(f)?;
    }
    if !is_done {
        scratch.limit_hits += 1;
        f.missed(f.text().body.first, "the last round has moved something: more rounds might move more");
    }
    f.stats().limits_hit += std::mem::take(&mut scratch.limit_hits);
    Some(())
}

impl Scratch {
    /// Finds what both arms of branches compute.
    fn find(&mut self, f: &FunctionEditor<'_>) {
        self.pairs.clear();
        let function = f.view();
        self.is_in_phis.clear();
        self.is_in_phis.resize(function.vregs.len(), false);
        read_by_phis(&function).for_each(|vreg| self.is_in_phis[vreg.index()] = true);
        for head in function.block_ids().rev() {
            let &[one, other] = function.succs(head) else { continue };
            let is_arm = |block: BlockId| {
                function.preds(block) == [head] && function.orders[block.index()].is_reachable()
            };
            if !is_arm(one) || !is_arm(other) {
                continue;
            }
            let Some(branch) = function.insts_of(head).next_back() else { continue };
            if f.form_of(branch).operation == Operation::Bra && function.guard_of(branch).is_some() {
                self.find_in(f, branch, one, other);
            }
        }
    }

    fn find_in(&mut self, f: &FunctionEditor<'_>, before: InstId, one: BlockId, other: BlockId) {
        self.of_arm.clear();
        self.known_as.clear();
        self.filled.clear();
        let mut slots = self.slots.get(&before).copied().unwrap_or_default();
        for inst in movable(f, one) {
            if let Some(key) = self.key_of(f, inst) {
                self.of_arm.entry(key).or_insert(inst);
            }
        }
        if self.of_arm.is_empty() {
            return;
        }
        for twin in movable(f, other) {
            let Some(key) = self.key_of(f, twin) else { continue };
            let Some(&inst) = self.of_arm.get(&key).filter(|&&inst| have_like_results(f, inst, twin)) else {
                continue;
            };
            // What a hoisted instruction reads is taken for read by that alone.
            let of = |vreg: VRegId| f.vreg(vreg).slots();
            let read: u32 =
                reads(f.operands_of(inst)).filter(|vreg| self.filled.contains(vreg)).map(of).sum();
            let written: u32 = writes(f.operands_of(inst)).map(of).sum();
            if (slots + written).saturating_sub(read) > SLOTS_MAX {
                self.limit_hits += 1;
                continue;
            }
            slots = (slots + written).saturating_sub(read);
            reads(f.operands_of(inst)).for_each(|vreg| {
                self.filled.remove(&vreg);
            });
            self.filled.extend(writes(f.operands_of(inst)));
            self.of_arm.remove(&key);
            for (result, own) in f.operands_of(inst).iter().zip(f.operands_of(twin)) {
                if let (true, Some(result), Some(own)) = (own.is_definition(), result.vreg(), own.vreg()) {
                    self.known_as.insert(own, result);
                }
            }
            self.pairs.push(Pair { inst, twin, before });
        }
        if slots > 0 {
            self.slots.insert(before, slots);
        }
    }

    /// What an instruction computes, in terms of the first arm; none where not all of that is values.
    fn key_of(&mut self, f: &FunctionEditor<'_>, inst: InstId) -> Option<Key> {
        self.key.clear();
        for &operand in f.operands_of(inst) {
            let Some(vreg) = operand.vreg() else {
                self.key.push(operand);
                continue;
            };
            let is_tied = operand.is_definition() && self.is_in_phis[vreg.index()];
            if is_tied || !f.vreg(vreg).is_value() {
                return None;
            }
            if !operand.is_definition() {
                self.key.push(operand.with_vreg(self.known_as.get(&vreg).copied().unwrap_or(vreg)));
            }
        }
        Some((f.head(inst).form, self.key.as_slice().into()))
    }

    /// Lists the reads of results of twins, by pair.
    fn find_reads(&mut self, function: &FunctionView<'_>) {
        self.pair_of.clear();
        self.pair_of.resize(function.vregs.len(), 0);
        self.reads.clear();
        for (number, pair) in self.pairs.iter().enumerate() {
            for operand in function.operands_of(pair.twin).iter().filter(|operand| operand.is_definition()) {
                let vreg = operand.vreg().expect("results of twins are registers");
                self.pair_of[vreg.index()] = number as u32 + 1;
            }
        }
        for (inst, _, operands) in function.rows() {
            for (position, operand) in operands.iter().enumerate() {
                let Some(vreg) = operand.vreg().filter(|_| !operand.is_definition()) else { continue };
                let Some(number) = self.pair_of[vreg.index()].checked_sub(1) else { continue };
                let pair = self.pairs[number as usize];
                let results = function.operands_of(pair.twin).iter().zip(function.operands_of(pair.inst));
                let mut like = results.filter(|(own, _)| own.vreg() == Some(vreg) && own.is_definition());
                let (_, result) = like.next().expect("it is a result");
                let result = result.vreg().expect("its twin has a register there");
                self.reads.push((number as usize, inst, position, result));
            }
        }
        self.reads.sort_unstable();
    }

    fn apply(&self, f: &mut FunctionEditor<'_>) -> Option<()> {
        let mut reads = &self.reads[..];
        for (number, pair) in self.pairs.iter().enumerate() {
            let mut change = f.change(pair.inst, "both arms of a branch compute it")?;
            change.move_before(pair.inst, pair.before);
            let own = reads.partition_point(|read| read.0 <= number);
            for &(_, inst, position, result) in &reads[..own] {
                if change.function().heads[inst.index()].is_live() {
                    let operand = change.operands_of(inst)[position].with_vreg(result);
                    change.set_operand(inst, position, operand);
                }
            }
            reads = &reads[own..];
            change.delete(pair.twin);
        }
        Some(())
    }
}

/// The first instructions of an arm that may stand before its branch, if the other arm has them: those before anything that reads
/// a clock, whose difference measures them.
fn movable(f: &FunctionEditor<'_>, block: BlockId) -> impl Iterator<Item = InstId> {
    let (mut is_quiet, mut comes_here) = (true, true);
    let stays = |inst: &InstId| !f.operands_of(*inst).iter().any(varies);
    f.insts_of(block).take(INSTS_MAX).take_while(stays).filter(move |&inst| {
        let (head, form) = (f.head(inst), f.form_of(inst));
        let is_plain_load = form.operation == Operation::Ld && form.effects == Effects::READ;
        let may_move = form.is_pure() && (comes_here || form.is_speculatable()) || is_plain_load && is_quiet;
        is_quiet &= is_harmless(form);
        comes_here &= !form.effects.intersects(Effects::CALL | Effects::UNKNOWN);
        may_move && !head.is_phi()
    })
}

/// Whether loads after it see what loads before it see.
fn is_harmless(form: &Form) -> bool {
    form.is_pure() || form.effects == Effects::READ
}

/// Whether what reads the results of one instruction can read those of the other: they stand at the same places.
fn have_like_results(f: &FunctionEditor<'_>, inst: InstId, twin: InstId) -> bool {
    let result =
        |operand: &Operand| operand.vreg().filter(|_| operand.is_definition()).map(|vreg| f.vreg(vreg).ty);
    let results = |inst: InstId| f.operands_of(inst).iter().map(result);
    results(inst).eq(results(twin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::gvn_cse::tests::check;

    /// Kernels with two arms that compute and load the same again and again, on the emulator.
    #[test]
    fn what_both_arms_compute_is_computed_once() {
        let (without, with) = check(&[&PHASE], 4000..4200);
        assert!(with <= without, "{without} without, {with} with");
    }
}
