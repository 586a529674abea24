//! Liveness as a fact: which registers may still be read at each block boundary.
//!
//! Source phase  none of its own: the solver in front of phases that ask for live sets (liveness)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        LiveSets
//! Needs         control flow ends its block; control-flow facts
//! Gives         liveness
//! Leaves        the smallest sets that solve the equation of [`liveness`](ptxopt_engine::dataflow::liveness)
//! Breaks        nothing
//! Cost          a pass over the instructions, and that of the representation chosen; a comparison where nothing changed
//! Paper         Hecht and Ullman 1975
//! Checked by    check/liveness.rs, check/liveness_full.rs

use bevy_ecs::prelude::*;
use ptxopt_engine::dataflow::liveness::{LiveSets, LivenessScratch, solve};
use ptxopt_engine::edit::Editor;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;

/// The analysis.
pub const PHASE: Phase = Phase {
    name: "analyze_liveness",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    gives: &[Fact::Liveness],
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Solves the functions of the batch whose sets are not current.
pub fn run(mut editor: Editor, mut sets: ResMut<LiveSets>, mut scratch: Local<LivenessScratch>) {
    editor.each_without(Fact::Liveness, |f| {
        let (function, forms) = f.view_and_forms();
        solve(&function, forms, &mut scratch, sets.of(function.code));
    });
}
