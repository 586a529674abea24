//! Advance progress: how far along the pipeline each function is.
//!
//! Source phase  83 OriBackCopyPropagate and 95 SetAfterLegalization, whose bodies are these marks (copy-prop-and-cse,
//!               "Phase 83"; context offset +1552)
//! Reads         nothing
//! Writes        CodeState progress
//! Needs         nothing
//! Leaves        progress at 9, at 19; never less than it was
//! Breaks        nothing
//! Cost          a store a function
//! Checked by    its tests, and the header of each dump, which shows it
//!
//! Later phases ask for the mark and not for a phase's number, so that a plan without the phase keeps their promises.

use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_engine::run::phase::{Phase, Wanted};
use ptxopt_engine::store::columns::CodeObjectsMut;

/// Backward copy propagation is over: phase 83.
const BACK_COPIES_PROPAGATED: u32 = 9;
/// The code is legal for its target: phase 95.
const LEGALIZED: u32 = 19;

/// Phase 83.
pub const BACK_COPIES: Phase = Phase {
    name: "advance_progress_to_9",
    layout_only: true,
    wanted: Wanted::WhenShown,
    install: |slot| slot.add(|codes: CodeObjectsMut| run(codes, BACK_COPIES_PROPAGATED)),
    ..Phase::NOTHING
};

/// Phase 95.
pub const LEGALIZATION: Phase = Phase {
    name: "advance_progress_to_19",
    install: |slot| slot.add(|codes: CodeObjectsMut| run(codes, LEGALIZED)),
    ..BACK_COPIES
};

fn run(mut codes: CodeObjectsMut, progress: u32) {
    let (states, ..) = codes.columns();
    let living = states.iter_mut().filter(|state| !state.flags.contains(CodeFlags::LEFT));
    living.for_each(|state| advance(state, progress));
}

/// Progress never falls.
fn advance(state: &mut CodeState, progress: u32) {
    state.progress = state.progress.max(progress);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::run;
    use bevy_ecs::prelude::*;
    use ptxopt_engine::run::log::Dumps;
    use ptxopt_engine::store::columns::CodeObjects;

    #[test]
    fn progress_never_falls() {
        let mut state = CodeState::default();
        for (mark, is) in [(BACK_COPIES_PROPAGATED, 9), (LEGALIZED, 19), (BACK_COPIES_PROPAGATED, 19)] {
            advance(&mut state, mark);
            assert_eq!(state.progress, is);
        }
    }

    /// Dumps the progress of each function.
    static LOOKS: Phase = Phase { name: "looks", install: |slot| slot.add(look), ..Phase::NOTHING };

    fn look(codes: CodeObjects, mut dumps: ResMut<Dumps>) {
        let (states, ..) = codes.columns();
        states.iter().for_each(|state| dumps.text.push(state.progress as u8));
    }

    /// Something that is no branch names the table of the second function, which keeps its text.
    #[test]
    fn what_phases_work_on_gets_the_marks() {
        let text = b".version 8.0\n.target sm_90\n.entry k() { ret; }\n\
            .entry left() { .reg .b32 %r<2>; T: .branchtargets N; frobnicate %r1, T; N: ret; }\n";
        let output = run(text, &[&LOOKS, &BACK_COPIES, &LOOKS, &LEGALIZATION, &LOOKS]);
        assert_eq!(output.dumps, [0, 0, 9, 0, 19, 0]);
    }
}
