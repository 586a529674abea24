//! Liveness as a fact: which registers may still be read at each block boundary.
//!
//! Source phase  none of its own: the solver in front of phases that ask for live sets (liveness)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        LiveSets
//! Needs         control flow ends its block; control-flow facts
//! Gives         liveness
//! Leaves        the smallest sets that solve the equation of [`liveness`](ptxopt_engine::dataflow::liveness)
//! Breaks        nothing
//! Cost          a pass over the instructions, and that of the road taken; a comparison where nothing changed
//! Paper         Hecht and Ullman 1975
//! Checked by    check/liveness.rs, check/liveness_full.rs

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::dataflow::liveness::{LiveSets, LivenessScratch, solve};
use ptxopt_engine::edits::Editor;
use ptxopt_engine::facts::Fact;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::phase::Phase;

/// The analysis.
pub const PHASE: Phase = Phase {
    name: "analyze_liveness",
    needs: &[Fact::ControlFlow],
    gives: &[Fact::Liveness],
    breaks: &[],
    required: false,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
};

/// Solves the functions of the batch whose sets are not current.
pub fn run(
    mut editor: Editor,
    forms: Res<FormTable>,
    mut sets: ResMut<LiveSets>,
    mut scratch: Local<LivenessScratch>,
) {
    for code in (0..editor.code_count()).map(CodeId::new) {
        let function = editor.view().function(code);
        let flags = function.state.flags;
        if flags.contains(CodeFlags::LEFT)
            || !flags.contains(CodeFlags::TERMINATORS_LAST)
            || editor.fact_holds(code, Fact::Liveness)
        {
            continue;
        }
        solve(&editor.view().function(code), &forms, &mut scratch, sets.of(code.index()));
        editor.fact_computed(code, Fact::Liveness);
        editor.log.current().facts_computed += 1;
    }
}
