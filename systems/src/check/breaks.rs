//! Breaks: a phase says which facts it breaks.
//!
//! Fast. A comparison of epochs for each function that the step has changed.
//!
//! Whether a fact holds is told by epochs alone, so nothing goes wrong where a phase says too little; but the order of the
//! pipeline is reasoned about by what phases say. One that moves the epoch of edges breaks [`Fact::ControlFlow`], and one
//! that moves that of instructions breaks [`Fact::Liveness`].

use super::{Verdict, each_function};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeState;
use ptxopt_components::ids::Id;
use ptxopt_engine::edit::Journal;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::{StepLog, Violations};
use ptxopt_engine::run::phase::{Check, Phase, StepPhases, Verify};
use ptxopt_engine::store::columns::Code;

/// The verifier of what phases say that they break.
pub const CHECK: Check = Check { name: "breaks", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function that the step has changed.
pub fn run(
    code: Code,
    journal: Res<Journal>,
    phases: Res<StepPhases>,
    log: Res<StepLog>,
    mut before: Local<Vec<Option<CodeState>>>,
    mut violations: ResMut<Violations>,
) {
    let Some(phase) = phases.0.get(log.step) else { return };
    before.clear();
    before.resize(code.view().code_spans.len(), None);
    for (code, &state) in journal.states_before() {
        before[code.index()].get_or_insert(state);
    }
    each_function(&code, CHECK.name, &mut violations, |function| {
        before[function.code.index()].map_or(Ok(()), |before| verify(phase, &before, &function.state))
    });
}

/// Verifies that a phase says what it has done to a function.
pub fn verify(phase: &Phase, before: &CodeState, after: &CodeState) -> Verdict {
    let is_silent = |fact: Fact| !phase.breaks.contains(&fact);
    if before.cfg_epoch != after.cfg_epoch && is_silent(Fact::ControlFlow) {
        return Err(
            "the edges have changed, and the phase does not say that it breaks control flow".to_owned()
        );
    }
    if before.inst_epoch != after.inst_epoch && is_silent(Fact::Liveness) {
        return Err(
            "instructions have changed, and the phase does not say that it breaks liveness".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Phase = Phase { name: "silent", ..Phase::NOTHING };
    const OPEN: Phase = Phase { breaks: &[Fact::ControlFlow, Fact::Liveness], ..SILENT };

    #[test]
    fn what_changes_is_said() {
        let before = CodeState { inst_epoch: 3, cfg_epoch: 2, ..CodeState::default() };
        assert_eq!(verify(&SILENT, &before, &before), Ok(()));
        let with_insts = CodeState { inst_epoch: 4, ..before };
        assert!(verify(&SILENT, &before, &with_insts).unwrap_err().contains("liveness"));
        let with_edges = CodeState { cfg_epoch: 3, ..with_insts };
        assert!(verify(&SILENT, &before, &with_edges).unwrap_err().contains("control flow"));
        assert_eq!(verify(&OPEN, &before, &with_edges), Ok(()));
    }
}
