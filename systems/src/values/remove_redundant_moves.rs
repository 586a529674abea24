//! Remove moves to variables that hold already what the move writes.
//!
//! Source phase  62 OriRemoveRedundantMultiDefMov (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        tombstones
//! Needs         SSA form; control-flow facts; instruction ids in program order
//! Leaves        no move of a variable to itself, and none that the same move dominates with nothing written in between
//! Breaks        liveness, uniformity, definitions
//! Cost          where there are variables, a pass over results; where two moves to one of them have the same source, what it
//!               costs to ask for reaching definitions
//! Checked by    check/ssa.rs; random kernels on the emulator, in values/move_tests.rs; the judge
//!
//! # How it works
//! ```text
//! mov.b32 v, r1;
//! @p mov.b32 v, r1;       // v holds r1 whether or not p is true: this one goes
//! ```
//! The definition of the variable that [reaches](ptxopt_engine::values::reaching) the move is a move of the same source, on every
//! path the last one. Its source has the value that it had there. It is unguarded, or under the same guard, which has the
//! value that it had there, too:
//! ```text
//! @p mov.b32 v, r1;
//! setp.eq.u32 p, r2, 0;
//! @p mov.b32 v, r1;       // stays: this p is another one
//! ```
//!
//! # What it does not look at
//! Where several definitions meet, the move stays, even if all of them write the same. A move that is overwritten before
//! anything reads it is for dead-code elimination. A phi all of whose values are one is a copy, which copy propagation
//! takes away; phis that feed each other and one value only were not found in the corpus and the wild set.

use super::variable_moves::{Move, VariableMoves, find_repeated};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::{Place, Reaching, ReachingValues, Value};

/// Phase 62.
pub const PHASE: Phase = Phase {
    name: "remove_redundant_moves",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, mut values: ResMut<ReachingValues>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| remove(&mut f, &mut values, &mut scratch));
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    moves: VariableMoves,
    /// The moves by variable and source.
    sorted: Vec<Move>,
    /// Moves that have the same variable and source as another one, in the order of the text.
    repeated: Vec<Move>,
    redundant: Vec<InstId>,
}

/// Removes the redundant moves of a function, as far as the bisect limit allows.
pub fn remove(f: &mut FunctionEditor<'_>, values: &mut ReachingValues, scratch: &mut Scratch) {
    let Scratch { moves, sorted, repeated, redundant } = scratch;
    moves.collect(f);
    redundant.clear();
    redundant.extend(moves.all.iter().filter(|found| found.is_of_itself()).map(|found| found.inst));
    find_repeated(&moves.all, |found| (found.to, found.source.key()), sorted, repeated);
    if !repeated.is_empty() {
        let reaching = values.of(f);
        redundant.extend(repeated.iter().filter(|found| is_held(f, reaching, found)).map(|found| found.inst));
    }
    f.delete_each(redundant, "the variable holds this already");
}

/// Whether the variable of a move holds already what it writes. Moves before it may have been found to be redundant: then their
/// variables hold what they write all the same.
fn is_held(f: &FunctionEditor<'_>, reaching: &mut Reaching, found: &Move) -> bool {
    let mut value = |vreg: VRegId, at: &Move| {
        let place = Place { block: at.block, before: at.inst };
        reaching.value(vreg, place, || f.view())
    };
    let Value::Of(definition) = value(found.to, found) else { return false };
    let Some(before) = Move::of(f, definition) else { return false };
    let has_same_guard = before.guard.is_none() || before.guard == found.guard;
    before.source == found.source
        && has_same_guard
        && before.read().all(|vreg| value(vreg, &before) == value(vreg, found))
}
