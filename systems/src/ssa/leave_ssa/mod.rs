//! Leave SSA form: phis become moves, and most of those nothing at all.
//!
//! Source phase  73 ConvertAllMovPhiToMov (copy-prop-and-cse, "MOV.PHI")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        registers of operands, moves, phis, `CodeFlags::SSA`
//! Needs         control flow ends its block; dominators
//! Leaves        no phi; a move only where two registers of one web live at the same time
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look at the first instruction of each block; in functions with phis, or registers that SSA form made, a
//!               pass over all operands, and what grows with the lives of these registers
//! Papers        Sreedhar, Ju, Gillies and Santhanam 1999 (copies at both ends of a phi, then coalescing); Boissinot and
//!               others 2009 (copies that are never made unless they stay; parallel copies in sequence)
//! Checked by    check/ssa.rs; the values that random runs store, before and after, in ssa/tests.rs; the judge
//!
//! # How it works
//! A phi stands for copies: each predecessor copies its value to the *phi's own register* at its end, and the block
//! copies that to the phi's result at its start. So every phi is right on its own, whatever phases did to its values.
//!
//! ```text
//! r3 = phi {A, r1}, {B, r2}        A: P = r1     B: P = r2     C: r3 = P
//! ```
//! Then registers and phis that are connected (`webs`) are brought together again, those in the deepest loops first, where
//! they do not live at the same time (`interference`). In code that no phase has changed, all of a web is one register
//! again, and no copy is left. What is left is made as parallel copies (`copies`): what one of them writes, another may read.
//!
//! # Rounds
//! Where a loop keeps the value of the round before, the copy of that value moves up to where the next one is computed, which
//! then goes where it is read: one copy instead of two (`rounds`, `early`). Values are followed through sixteen rounds, and sixteen
//! copies move up for one value; what is beyond keeps its copies, and nothing tells so.
//!
//! # Numbers
//! Where a copy is left of a register that a number was moved into, the copy takes the number. The move goes where nothing else reads
//! the register.
//! ```text
//!     mov.u32 r1, 0;  ...  mov.b32 P, r1;               ...  mov.b32 P, 0;
//! ```
//!
//! # Variables that come back
//! The registers that were made for values of one register, and that one, did not live at the same time when the form was
//! built. Deleting instructions and edges only shortens lives. So where no phase has named any of them at another place
//! ([`VRegFlags::REUSED`](ptxopt_components::vreg::VRegFlags::REUSED), which the editor sets), they take their old name back
//! without any look at lives: on the wild set that halved the cost of the phase.
//!
//! # Differences from the papers
//! Registers that live at the same time are found by one walk that looks at the connected ones only, not by
//! comparing live ranges pair by pair. Values that are equal though they live at the same time are not brought together:
//! copies of copies were propagated before.
//!
//! # Lost copies and swaps
//! ```text
//! L: r2 = phi {A, r1}, {L, r3};      // r2 is read after the loop: it lives where the copies at the end of L write
//!    r3 = r2 + 1; @p bra L; use r2
//! ```
//! The phi's own register is written at the end of `L`, where `r2` is still live: they are kept apart, and `r2` stays
//! a copy at the start of `L`. Two phis of one block that read each other's results become a cycle of copies, which takes one
//! more register.
//!
//! # Names
//! Registers that were made for values of one register are a web, too, and come together last. So what no phase has changed
//! comes out as it went in. What comes together takes the register with the smallest number, which is one that the
//! function came with if there is one.

mod copies;
mod early;
mod interference;
mod live_ends;
mod numbers;
mod rounds;
mod webs;

use super::moves::{move_form, operand_of};
use super::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use copies::{Copy, Sequence};
use early::Early;
use interference::Interference;
use live_ends::LiveEnds;
use numbers::Numbers;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use webs::{Node, Webs};

/// Phase 73.
pub const PHASE: Phase = Phase {
    name: "leave_ssa",
    needs: &[Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    required: true,
    room_percent: 50,
    install: |slot| {
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// What a remark says where a limit ended a search.
const CUT_SHORT: &str =
    "values meet, or are kept for rounds of loops, in too many places to look at them all: copies may stay";

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, mut origins: ResMut<Origins>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::SSA, |mut f| {
        let origins = origins.of(f.code());
        leave(&mut f, origins, &mut scratch);
    });
}

/// The memory of the phase.
#[derive(Default)]
pub struct Scratch {
    webs: Webs,
    ends: LiveEnds,
    interference: Interference,
    plan: Plan,
}

/// Takes a function out of SSA form.
pub fn leave(f: &mut FunctionEditor<'_>, origins: &OriginsOf, scratch: &mut Scratch) {
    let Scratch { webs, ends, interference, plan } = scratch;
    webs.collect(&f.view(), origins);
    if webs.is_any() {
        let (function, forms) = f.view_and_forms();
        let limits_hit = interference.find(&function, webs, ends) + webs.coalesce(&function, interference);
        plan.make(&function, forms, webs);
        let limits_hit = limits_hit + plan.early.limits_hit;
        f.stats().limits_hit += limits_hit;
        if limits_hit > 0 {
            f.missed(f.text().body.first, CUT_SHORT);
        }
        if !plan.fits(f.room()) {
            // PTX has no phis.
            f.stats().limits_hit += 1;
            f.set_flags(CodeFlags::LEFT, true);
            return;
        }
        let has_nothing_dead = f.remembers(Memo::NothingDead);
        if plan.changes(webs) {
            plan.apply(&mut f.required_change(), webs);
        }
        if has_nothing_dead {
            // Every move takes the place of a phi that something reads.
            f.remember(Memo::NothingDead);
        }
    }
    f.set_flags(CodeFlags::SSA, false);
}

/// What is done to a function.
#[derive(Default)]
struct Plan {
    /// The registers of phis that came together with no other.
    new: Vec<PtxType>,
    /// By block: the end of a predecessor, or the start of a block with phis.
    parallel: Vec<Parallel>,
    copies: Vec<Copy>,
    sequence: Sequence,
    early: Early,
    /// Number of the first new register.
    first_new: usize,
    /// By node: the name of what it came together with.
    names: Vec<VRegId>,
    numbers: Numbers,
    /// Moves of numbers that copies take from them.
    dead: Vec<InstId>,
    renamed: Vec<(InstId, usize, Operand)>,
}

/// Copies that are made at once.
#[derive(Clone, Copy)]
struct Parallel {
    block: BlockId,
    is_at_end: bool,
    /// Where they are in the list of copies.
    first: usize,
    end: usize,
}

impl Plan {
    /// Names what came together, and lists the copies that are left.
    fn make(&mut self, function: &FunctionView<'_>, forms: &FormTable, webs: &mut Webs) {
        self.name_all(function, webs);
        self.rename(function, webs);
        self.parallel.clear();
        self.copies.clear();
        for phis in webs.phis.chunk_by(|one, other| one.block == other.block) {
            let first = self.copies.len();
            for phi in phis {
                let (from, to) = (self.names[phi.node.index()], self.names[phi.result.index()]);
                if from != to {
                    self.copies.push(Copy { to, from: operand_of(phi.ty, from), ty: phi.ty });
                }
            }
            self.close(phis[0].block, false, first);
        }
        self.numbers.find(function, forms, webs, &self.names);
        webs.sort_pairs_by_pred();
        for pairs in webs.pairs.chunk_by(|one, other| one.pred == other.pred) {
            let first = self.copies.len();
            for pair in pairs {
                let phi = &webs.phis[pair.phi];
                let to = self.names[phi.node.index()];
                let from = match pair.node {
                    Some(node) if self.names[node.index()] == to => continue,
                    Some(node) => {
                        let name = self.names[node.index()];
                        self.numbers.take(node, phi.ty).unwrap_or_else(|| operand_of(phi.ty, name))
                    }
                    None if pair.value.vreg().is_some() => continue,
                    None => pair.value,
                };
                self.copies.push(Copy { to, from, ty: phi.ty });
            }
            self.close(pairs[0].pred, true, first);
        }
        self.dead.clear();
        self.dead.extend(self.numbers.dead());
        self.move_up(function, webs);
    }

    /// Finds the copies that move up to let what is computed be computed where it goes.
    fn move_up(&mut self, function: &FunctionView<'_>, webs: &Webs) {
        let Self { new, first_new, early, .. } = self;
        let type_of = |vreg: VRegId| match vreg.index().checked_sub(*first_new) {
            Some(at) => new[at],
            None => function.vregs[vreg.index()].ty.element(),
        };
        let count = *first_new + new.len();
        let is_alike = |one, other| type_of(one) == type_of(other);
        early.find(function, webs, (&self.parallel, &self.copies), (&self.names, count), is_alike);
        self.renamed.extend_from_slice(&early.renamed);
    }

    /// Puts the copies since `first` in sequence. Phis of several successors may have come together: then they get one
    /// value.
    fn close(&mut self, block: BlockId, is_at_end: bool, first: usize) {
        self.copies[first..].sort_unstable_by_key(|copy| copy.to);
        let mut last = None;
        let mut place = first;
        for at in first..self.copies.len() {
            let copy = self.copies[at];
            if last.replace(copy.to) != Some(copy.to) {
                self.copies[place] = copy;
                place += 1;
            } else {
                assert_eq!(copy, self.copies[place - 1], "phis that came together get one value");
            }
        }
        self.copies.truncate(place);
        let (new, next) = (&mut self.new, self.first_new);
        self.sequence.order(&mut self.copies, first, |ty| {
            new.push(ty);
            VRegId::new(next + new.len() - 1)
        });
        let end = self.copies.len();
        if first < end {
            self.parallel.push(Parallel { block, is_at_end, first, end });
        }
    }

    fn name_all(&mut self, function: &FunctionView<'_>, webs: &mut Webs) {
        self.new.clear();
        self.names.clear();
        self.names.resize(webs.node_count(), VRegId(u32::MAX));
        self.first_new = function.vregs.len();
        for (node, vreg) in webs.registers() {
            let name = &mut self.names[webs.class_of(node).index()];
            *name = vreg.min(*name);
        }
        for phi in 0..webs.phis.len() {
            let class = webs.class_of(webs.phis[phi].node);
            if self.names[class.index()] == VRegId(u32::MAX) {
                self.names[class.index()] = VRegId::new(self.first_new + self.new.len());
                self.new.push(webs.phis[phi].ty);
            }
        }
        for node in (0..webs.node_count()).map(Node::new) {
            self.names[node.index()] = self.names[webs.class_of(node).index()];
        }
    }

    fn changes(&self, webs: &Webs) -> bool {
        !(self.renamed.is_empty()
            && webs.phis.is_empty()
            && webs.returning.is_empty()
            && webs.returning_phis.is_empty())
    }

    fn fits(&self, room: Room) -> bool {
        self.copies.len() <= room.insts as usize && self.new.len() <= room.vregs as usize
    }

    fn apply(&self, change: &mut Change<'_, '_>, webs: &Webs) {
        for &ty in &self.new {
            change.new_vreg(ty);
        }
        for &(inst, position, operand) in &self.renamed {
            change.set_operand(inst, position, operand);
        }
        change.rename_each(
            webs.returning.iter().map(|&(inst, position, vreg)| (inst, position as usize, vreg)),
        );
        for parallel in &self.parallel {
            let before = if parallel.is_at_end {
                change.function().control_of(parallel.block)
            } else {
                change.first_after_phis(parallel.block)
            };
            for at in (parallel.first..parallel.end).filter(|&at| !self.early.is_gone[at]) {
                make(change, &self.copies[at], parallel.block, before);
            }
        }
        for (copy, before) in &self.early.moved {
            let block = change.function().heads[before.index()].block;
            make(change, copy, block, Some(*before));
        }
        let phis = webs.phis.iter().map(|phi| phi.inst);
        let gone = phis.chain(webs.returning_phis.iter().copied()).chain(self.dead.iter().copied());
        gone.for_each(|inst| change.delete(inst));
    }

    /// Lists the operands that name another register from now on.
    fn rename(&mut self, function: &FunctionView<'_>, webs: &Webs) {
        self.renamed.clear();
        let mut last = None;
        for mention in &webs.mentions {
            let name = self.names[mention.node.index()];
            let place = (mention.inst, mention.position as usize);
            let operand = function.operands_of(place.0)[place.1];
            if operand.vreg() != Some(name) && last.replace(place) != Some(place) {
                self.renamed.push((place.0, place.1, operand.with_vreg(name)));
            }
        }
    }
}

/// Makes a copy in `block`, at its end where nothing stands after it.
fn make(change: &mut Change<'_, '_>, copy: &Copy, block: BlockId, before: Option<InstId>) {
    let form = move_form(change.forms(), copy.ty);
    let operands = [operand_of(copy.ty, copy.to), copy.from];
    match before {
        Some(before) => change.insert_before(before, form, &operands, None),
        None => change.insert_at_end(block, form, &operands, None),
    };
}
