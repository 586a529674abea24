//! General optimization: copies, constants and algebra, in one walk.
//!
//! Source phase  29 GeneralOptimize, 37, 46, 58, 65 (copy-prop-and-cse, "Forward Copy Propagation")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        operands, forms
//! Needs         control-flow facts; instruction ids in program order; control flow ends its block
//! Leaves        no use reads a copy where its slot takes what was copied; what has constant operands only is a constant
//! Breaks        liveness, uniformity; definitions, where the bisect limit is reached among phis that are constants; leaves dead
//!               instructions behind for dead-code elimination
//! Cost          a pass that lists definitions, where they are not known, one walk over all instructions in reverse
//!               postorder, another where an access comes of an index with a constant, one over phis where values of one variable
//!               are to be live at once; a comparison where nothing changed
//! Papers        Cytron et al. 1991 (values by reaching definitions); Wegman and Zadeck 1991 (conditional constants)
//! Checked by    check/operand_types.rs, check/forms.rs; the judge
//!
//! # Why one walk
//! A use sees the definition that [reaches](ptxopt_engine::values::reaching) it, and that was visited before: in reverse
//! postorder a dominator comes first. So a copy of a copy is found as a copy of the first register, and a constant that
//! comes of folding is seen by everything after it. What goes around a loop is not followed, but for copies that phis read
//! and, before the walk, for [constants](super::conditional_constants), which are looked for in SSA form.
//!
//! # When a register replaces another one
//! ```text
//! mov.b32 r2, r1;     // r1 has value A here
//! ...
//! add.s32 r3, r2, 1;  // r2 has the value of the mov, and r1 has value A still: add r3, r1, 1
//! ```
//! Both registers need their only reaching definition; a guarded or partial one is a value of its own, and so is what
//! meets at a join.
//!
//! # What is known of values
//! Rules ask for the bits and the range of an integer: a narrow load, a mask, `%tid.x` and what is computed from them. An
//! answer follows a few definitions backwards and is kept; phis join what their values have.
//!
//! # Rules
//! What an instruction computes of its operands is rewritten by [rules], a table. An instruction that a rule has changed is
//! tried again. So each rule sees what those before it have made of the operands, and none has to look for two patterns.
//! What defined the operands tells of most instructions, by one look at each, that no rule applies (`clues.rs`).
//!
//! # Offsets
//! In SSA form, constants that are added to an index become the offsets of the accesses (`offsets.rs`), where it is known that
//! the index does not wrap around; what is known of the counter of a loop tells that of most (`counters.rs`).
//!
//! # What is looked at again
//! A bundle that follows one looks at instructions that were written since, and at those that what they compute reaches
//! through a few others: as far as rules look. A function that nothing has changed costs a comparison.
//!
//! # What it says of what stays
//! Where remarks are wanted, it says why a float identity, a sum in an address, a division by a constant or a copy stays as
//! it is.
//!
//! # What unpacking leaves
//! ```text
//! mov.b64 x, {r1, r2};
//! mov.b64 {r3, r4}, x;    // r3 is a copy of r1 and r4 one of r2
//! ```
//!
//! # What it leaves alone
//! Branches and guards whose predicate has become a constant: the assembler follows those. Floats whose result the ISA does
//! not say to the bit are not folded, only moved. Copies under a guard, vector registers, and registers that leave the
//! function or are in flight stay as they are. The bundle of phase 13 does not run it: a row runs one
//! phase, and that one promotes local variables.

mod clues;
pub(crate) mod constants;
mod copies;
mod counters;
pub(super) mod evaluate;
mod groups;
#[cfg(test)]
mod half_tests;
mod known;
mod missed;
pub mod narrow;
#[cfg(test)]
mod offset_tests;
mod offsets;
#[cfg(test)]
mod part_tests;
mod parts;
mod passed_branches;
mod pattern;
mod phis;
mod propagation;
pub(in crate::values) mod rewrite;
pub mod rules;
mod stirred;
#[cfg(test)]
mod tests;

use super::conditional_constants;
use crate::ssa::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use clues::{Clues, Made};
use copies::{Copies, is_copy};
use known::KnownResults;
use offsets::Offsets;
use passed_branches::PassedBranches;
use phis::PhiReads;
pub use propagation::Propagation;
use propagation::Spent;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::writes;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::RegClass;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::{Place, Reaching, ReachingValues, Value};
use rules::Index;
use stirred::Stirred;

/// Phases 29, 37, 46, 58 and 65.
pub const PHASE: Phase = Phase {
    name: "general_optimize",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    memo: Some(Memo::NothingToPropagate),
    breaks: Fact::OF_INSTRUCTIONS,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// What of the phase runs.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Forward copy propagation, which the source calls OriCopyProp.
    pub copies: bool,
    /// The rules.
    pub rules: bool,
    /// How far copies are propagated.
    pub propagation: Propagation,
}

impl Default for Settings {
    fn default() -> Self {
        Self { copies: true, rules: true, propagation: Propagation::default() }
    }
}

/// Optimizes every function. One that nothing has changed since the last time costs a comparison.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    origins: Res<Origins>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let is_in_ssa = f.state().flags.contains(CodeFlags::SSA);
        let origins = origins.get(f.code()).filter(|_| is_in_ssa).unwrap_or(OriginsOf::NONE);
        optimize(&mut f, *settings, origins, &mut values, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    constants: conditional_constants::Scratch,
    noted: Noted,
    offsets: Offsets,
    order: Vec<BlockId>,
}

/// What a walk notes.
#[derive(Default)]
struct Noted {
    copies: Copies,
    made: Made,
    spent: Spent,
    known_results: KnownResults,
    passed_branches: PassedBranches,
    phi_reads: PhiReads,
    stirred: Stirred,
}

impl Noted {
    /// A walk over a function that has noted nothing so far.
    fn walk<'w, 'a>(
        &'w mut self,
        f: &'w mut FunctionEditor<'a>,
        reaching: &'w mut Reaching,
        origins: &'w OriginsOf,
        settings: Settings,
    ) -> Walk<'w, 'a> {
        let Self { copies, made, spent, known_results, passed_branches, phi_reads, stirred } = self;
        *spent = Spent::default();
        let function = f.view();
        copies.start(function.heads.len());
        made.start(function.vregs.len());
        known_results.start(function.heads.len());
        passed_branches.start(function.blocks.len());
        phi_reads.start();
        stirred.start(function.heads, function.vregs.len());
        let looks_at_all = settings.propagation.under_guards || f.remarks_are_wanted();
        Walk {
            f,
            reaching,
            copies,
            made,
            spent,
            known_results,
            passed_branches,
            phi_reads,
            stirred,
            rules: Index::get(),
            settings,
            looks_at_all,
            may_move_constants: false,
            is_rewritten: false,
            origins,
        }
    }
}

/// Optimizes one function, as far as the bisect limit allows.
pub fn optimize(
    f: &mut FunctionEditor<'_>,
    settings: Settings,
    origins: &OriginsOf,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) {
    if f.remembers(Memo::NothingToPropagate) {
        return;
    }
    let Scratch { constants, noted, offsets, order } = scratch;
    let mut reaching = values.of(f);
    if settings.rules && f.state().flags.contains(CodeFlags::SSA) {
        match conditional_constants::replace(f, reaching, constants) {
            None => return,
            Some(false) => {}
            Some(true) => reaching = values.of(f),
        }
    }
    order.clear();
    order.extend_from_slice(reaching.tree().reverse_postorder());
    let mut walk = noted.walk(f, reaching, origins, settings);
    for &block in &*order {
        for inst in walk.reaching.rows_of(block).range().map(InstId::new) {
            if walk.visit(inst).is_none() {
                return;
            }
        }
    }
    let is_in_ssa = walk.f.state().flags.contains(CodeFlags::SSA);
    if settings.rules
        && is_in_ssa
        && walk.may_move_constants
        && walk.move_into_offsets(offsets, order).is_none()
    {
        return;
    }
    if settings.copies
        && is_in_ssa
        && order.iter().try_for_each(|&block| walk.replace_in_phis(block)).is_none()
    {
        return;
    }
    walk.f.remember(Memo::NothingToPropagate);
}

/// The walk over a function. Its methods give nothing where the bisect limit is reached.
struct Walk<'w, 'a> {
    f: &'w mut FunctionEditor<'a>,
    reaching: &'w mut Reaching,
    copies: &'w mut Copies,
    made: &'w mut Made,
    spent: &'w mut Spent,
    known_results: &'w mut KnownResults,
    passed_branches: &'w mut PassedBranches,
    phi_reads: &'w mut PhiReads,
    stirred: &'w mut Stirred,
    rules: &'static Index,
    settings: Settings,
    /// Whether more than copies and rules is to be done at an instruction: guards are looked through, or remarks are wanted.
    looks_at_all: bool,
    /// Whether an access was seen whose address is computed of a sum with a constant, by the looks of it.
    may_move_constants: bool,
    /// Whether the instruction that is looked at has been rewritten.
    is_rewritten: bool,
    origins: &'w OriginsOf,
}

impl Walk<'_, '_> {
    #[inline]
    fn visit(&mut self, inst: InstId) -> Option<()> {
        let (head, operands) = self.f.row(inst);
        if !head.is_live() {
            return Some(());
        }
        let near = self.stirred.near(head, operands);
        let mut asks_anew = false;
        if head.is_phi() {
            self.note_phi(inst);
        } else {
            let mut operation = self.f.form(head.form).operation;
            let mut clues =
                if near.is_some() { self.made.clues(operation, operands) } else { Clues::empty() };
            // Of most instructions the clues tell that there is nothing to do.
            let may_change = clues.contains(Clues::COPY)
                || self.rules.may_apply(operation, clues)
                || self.looks_at_all && near.is_some();
            if may_change {
                self.is_rewritten = false;
                self.look_at(inst, operation, clues)?;
                if self.is_rewritten {
                    operation = self.f.form_of(inst).operation;
                    clues = self.clues_now(inst, operation);
                    asks_anew = self.computes_predicate(inst);
                }
                self.made.note_result(operation, self.f.operands_of(inst));
            } else {
                self.made.note_result(operation, operands);
            }
            if clues.contains(Clues::OF_PARTS) {
                self.made.note_part(operation, self.f.operands_of(inst));
            }
            if clues.intersects(Clues::OF_INDICES) {
                self.made.note_index(operation, clues, self.f.operands_of(inst));
                self.may_move_constants |= offsets::may_take(operation, clues);
            }
            if is_copy(operation) {
                self.note(inst);
            }
        }
        let Some(near) = near else { return Some(()) };
        if self.stirred.is_asked() {
            let (head, operands) = self.f.row(inst);
            let was_written = !head.marks.contains(Marks::SETTLED);
            self.stirred.stir(head, operands, if was_written { Stirred::WRITTEN } else { near });
        }
        // What a branch asks may decide phis that were looked at before the walk.
        if !asks_anew {
            self.f.note_settled(inst);
        }
        Some(())
    }

    fn computes_predicate(&self, inst: InstId) -> bool {
        writes(self.f.operands_of(inst)).any(|vreg| self.f.vreg(vreg).class() == RegClass::P)
    }

    /// Does to an instruction with an operation, to which there are these clues, what can be done.
    fn look_at(&mut self, inst: InstId, operation: Operation, mut clues: Clues) -> Option<()> {
        let may_read_copy = clues.contains(Clues::COPY) || self.reads_under_guard(inst);
        if self.settings.copies && may_read_copy && self.may_look() {
            self.replace_copies(inst)?;
            if self.is_rewritten {
                clues = self.clues_now(inst, operation);
            }
        }
        if self.settings.rules {
            self.apply_rules(inst, operation, clues)?;
        }
        Some(())
    }

    /// The clues to an instruction as it stands, whose operation this is.
    fn clues_now(&self, inst: InstId, operation: Operation) -> Clues {
        self.made.clues(operation, self.f.operands_of(inst))
    }

    /// What a register holds right before an instruction.
    fn value(&mut self, vreg: VRegId, before: InstId) -> Value {
        let place = Place { block: self.f.head(before).block, before };
        let f = &*self.f;
        self.reaching.value(vreg, place, || f.view())
    }
}
