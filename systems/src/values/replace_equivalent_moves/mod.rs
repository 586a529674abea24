//! Replace equivalent moves of registers that have several: phis that are equal, variables that are equal, and guarded moves
//! that are selections.
//!
//! Source phase  52 OriReplaceEquivMultiDefMov (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        moves, selections, operands, `VRegFlags::VARIABLE`
//! Needs         SSA form; control-flow facts; instruction ids in program order
//! Leaves        no two phis of a block with the same pairs; moves in place of phis, for copy propagation to take away
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look at the first instructions of each block; where a block has several phis, a pass over their pairs; where
//!               there are variables, a pass over results; where a move to one has a guard, two passes over operands and a
//!               few rows a move
//! Paper         Alpern, Wegman and Zadeck 1988 (congruence; here of phis whose values are the same, without the cycles)
//! Checked by    check/ssa.rs, check/operand_types.rs; every guard and value on the emulator, in values/move_tests.rs; the judge
//!
//! # What the moves are
//! The source compiler writes a phi as moves of one register in each predecessor. Here a phi is an instruction, and what has
//! several definitions beside phis are *variables*: registers with guarded writes
//! ([decision 9](../../../../docs/decisions/0009-ssa-form-between-two-phases.md)). So the phase does for both what it does there.
//!
//! # Equal phis
//! ```text
//! r4 = phi {A, r1}, {B, r2};
//! r5 = phi {A, r1}, {B, r2};      ->      r5 = mov r4
//! ```
//! Control comes in from one place, and both take the same from there.
//!
//! # Selections
//! ```text
//! mov.b32 v, r1;
//! @p mov.b32 v, r2;               ->      selp.b32 v, r2, r1, p
//! ```
//! The first move may stand under the opposite guard. Nothing reads `v` in between, and `p`, `r1` hold at the second move what
//! they held at the first. A variable that has no other definition is a value from then on, if that one comes before each read.
//!
//! # Twins
//! Two variables of one type are equal if moves are all that writes them, pair by pair of the same source, under the same guard
//! and side by side: whenever one was written, so was the other. Before the first pair both are undefined.
//! ```text
//! mov.b32 v, r1;  mov.b32 w, r1;
//! @p mov.b32 v, r2;
//! st.b32 [a], w;                  // w is not v here: the pair is not complete
//! @p mov.b32 w, r2;
//! ```
//!
//! # Tried and dropped
//! Phis whose values are different moves of one constant: 3 more in 57,800 phis of the corpus and the wild set, where 104 are
//! equal. Phis that are equal if those around their loop are: none without numbers for arithmetic.

mod phis;
mod selections;
mod twins;

use super::variable_moves::VariableMoves;
use bevy_ecs::prelude::*;
use phis::EqualPhis;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use twins::Twins;

/// Phase 52.
pub const PHASE: Phase = Phase {
    name: "replace_equivalent_moves",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 10,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        // It ends early where the bisect limit is reached.
        let _ = replace(&mut f, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    moves: VariableMoves,
    twins: Twins,
    phis: EqualPhis,
}

/// Works on one function; gives nothing where the bisect limit is reached. Rows are put in between last: until then ids are
/// in program order.
pub fn replace(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) -> Option<()> {
    let Scratch { moves, twins, phis } = scratch;
    moves.collect(f);
    // What only unguarded moves write is a value, but for the limits of SSA form.
    if moves.all.iter().any(|found| found.guard.is_some()) {
        moves.count_definitions(&f.view());
        if twins.replace(f, moves)? {
            moves.collect(f);
        }
        selections::select(f, moves)?;
    }
    phis.replace(f)
}
