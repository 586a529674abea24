//! Breaks: a phase says which facts it breaks.
//!
//! Fast. Comparisons of epochs and flags, a fact, for each function that the step has changed.
//!
//! Whether a fact holds is told by epochs alone, so nothing goes wrong where a phase says too little; but the order of the
//! pipeline is reasoned about by what phases say. A phase breaks a fact that would no longer hold after the step, had it held
//! before ([`Fact::outlasts`]), and that was not computed again. Whether it did hold does not matter: in another pipeline it may.
//!
//! # Def-use that nothing has asked for
//! The editor keeps [`Fact::DefUse`] true where it holds and leaves it alone where it does not. So this fact is broken only where it
//! held: by what changes a function past the editor.

use super::{Verdict, each_function};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeState;
use ptxopt_components::ids::Id;
use ptxopt_engine::edit::Journal;
use ptxopt_engine::run::facts::{CodeFacts, Fact};
use ptxopt_engine::run::log::{StepLog, Violations};
use ptxopt_engine::run::phase::{Check, Phase, StepPhases, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};

/// The verifier of what phases say that they break.
pub const CHECK: Check = Check { name: "breaks", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function that the step has changed.
pub fn run(
    code: Code,
    codes: CodeObjects,
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
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let facts = &facts[function.code.index()];
        before[function.code.index()].map_or(Ok(()), |before| verify(phase, &before, &function.state, facts))
    });
}

/// Verifies that a phase says what it has done to a function with these facts after it.
pub fn verify(phase: &Phase, before: &CodeState, after: &CodeState, facts: &CodeFacts) -> Verdict {
    let is_broken = |&fact: &Fact| {
        let may_have_held = fact != Fact::DefUse || facts.holds(fact, before);
        may_have_held && !fact.outlasts(before, after) && !facts.holds(fact, after)
    };
    match Fact::ALL.iter().find(|fact| !phase.breaks.contains(fact) && is_broken(fact)) {
        Some(fact) => Err(format!("the phase breaks {fact:?} and does not say so")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::code_object::CodeFlags;

    /// A change of a state, and the facts that it breaks.
    type Case = (fn(&mut CodeState), &'static [Fact]);

    const CASES: [Case; 6] = [
        (|state| state.inst_epoch += 1, &[Fact::Liveness, Fact::Uniformity]),
        (
            |state| state.cfg_epoch += 1,
            &[
                Fact::ControlFlow,
                Fact::Loops,
                Fact::PostDominators,
                Fact::Liveness,
                Fact::Uniformity,
                Fact::Definitions,
            ],
        ),
        (|state| state.row_epoch += 1, &[Fact::Definitions]),
        (|state| state.def_epoch += 1, &[Fact::Definitions]),
        (|state| state.flags |= CodeFlags::OUT_OF_ORDER, &[Fact::ProgramOrder]),
        (|state| state.flags |= CodeFlags::HAS_TOMBSTONES, &[]),
    ];

    fn before() -> CodeState {
        CodeState { inst_epoch: 3, cfg_epoch: 2, row_epoch: 4, def_epoch: 7, ..CodeState::default() }
    }

    fn phase(breaks: Vec<Fact>) -> Phase {
        Phase { name: "changes", breaks: breaks.leak(), ..Phase::NOTHING }
    }

    #[test]
    fn each_fact_that_breaks_must_be_named() {
        for (change, broken) in CASES {
            let (before, mut after) = (before(), before());
            change(&mut after);
            let says = |breaks: Vec<Fact>| verify(&phase(breaks), &before, &after, &CodeFacts::default());
            assert_eq!(says(broken.to_vec()), Ok(()), "{broken:?}");
            for &silent in broken {
                let others = Fact::ALL.into_iter().filter(|&fact| fact != silent).collect();
                assert_eq!(says(others), Err(format!("the phase breaks {silent:?} and does not say so")));
            }
        }
    }

    #[test]
    fn what_is_computed_again_is_not_broken() {
        let (before, after) = (before(), CodeState { inst_epoch: 4, ..before() });
        let mut facts = CodeFacts::default();
        facts.computed(Fact::Liveness, &before);
        let silent = phase(vec![Fact::Uniformity]);
        assert!(verify(&silent, &before, &after, &facts).is_err());
        facts.computed(Fact::Liveness, &after);
        assert_eq!(verify(&silent, &before, &after, &facts), Ok(()));
    }

    #[test]
    fn what_was_out_of_order_before_is_not_broken() {
        let state = CodeState { flags: CodeFlags::OUT_OF_ORDER, ..before() };
        assert_eq!(verify(&Phase::NOTHING, &state, &state, &CodeFacts::default()), Ok(()));
    }

    #[test]
    fn def_use_is_broken_where_it_held() {
        let all_others = phase(Fact::ALL.into_iter().filter(|&fact| fact != Fact::DefUse).collect());
        let (before, mut facts) = (before(), CodeFacts::default());
        let changes: [fn(&mut CodeState); 2] = [|state| state.inst_epoch += 1, |state| state.row_epoch += 1];
        for change in changes {
            let mut after = before;
            change(&mut after);
            assert_eq!(verify(&all_others, &before, &after, &CodeFacts::default()), Ok(()), "it never held");
            facts.computed(Fact::DefUse, &before);
            assert!(verify(&all_others, &before, &after, &facts).unwrap_err().contains("DefUse"));
            assert_eq!(verify(&phase(Fact::ALL.to_vec()), &before, &after, &facts), Ok(()));
            facts.computed(Fact::DefUse, &after);
            assert_eq!(verify(&all_others, &before, &after, &facts), Ok(()), "the editor has kept it true");
        }
    }
}
