//! Rematerialize: a value that waits through what has too few registers is computed again after it.
//!
//! Source phase  69 OriDoRemat, and 28 SinkRemat, its second half
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow, Fact::Loops, Fact::Definitions
//! Writes        instructions, registers of operands
//! Needs         SSA form; control-flow facts; the loop nest; instruction ids in program order
//! Leaves        every function as it was that fits the registers which it may take, by its forecast and at its calls, or
//!               since all of its registers together are no more; and every function without a budget
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look at blocks and registers; where a kernel may have too few, what the estimator costs; where it has,
//!               live sets and two walks for each value and place, bounded
//! Papers        Briggs, Cooper and Torczon 1992, "Rematerialization"; for values that live anyway, Punjani 2004, "Register
//!               rematerialization in GCC"
//! Checked by    check/ssa.rs, check/definitions.rs; the symbolic checker in ranges/tests; its tests on the emulator; the judge
//!
//! # How it works
//! ```text
//!     mad.lo.s32 r5, r1, r2, 7;               mad.lo.s32 r5, r1, r2, 7;
//!     st.global.u32 [a], r5;                  st.global.u32 [a], r5;
//! L:  ...          // does not read r5    L:  ...
//!     @p bra L;                       ->      @p bra L;
//!                                             mad.lo.s32 r9, r1, r2, 7;
//!     st.global.u32 [b], r5;                  st.global.u32 [b], r9;
//!     st.global.u32 [c], r1;                  st.global.u32 [c], r1;
//! ```
//! The loop, an arm of a branch or a call may lie between: `find` says how the places are found. What the value is computed from
//! must live to there in any case, or be computed from such values by one instruction more. So nothing lives longer, and the value
//! lives through no block between. Each block and call gives up as many registers as it needs too many, and no more.
//!
//! # Why such values alone
//! `ptxas` makes constants, parameters, addresses of symbols and addresses plus a constant again by itself, and arithmetic never. A
//! quotient that was computed again took more registers, not fewer. `docs/LIVE_RANGES.md` has the table.
//!
//! # Why only with a budget
//! It is one instruction more. It saves registers without a budget, too, but whether a kernel is faster for that the phase does
//! not know. A budget says that registers are what is missing.
//!
//! # Why it is right
//! The definition dominates the place, and in SSA form its operands hold there what they held at the definition. It is pure, so
//! it can run once more; and it runs in no loop that the definition is not in.
//!
//! # What stays
//! - What reads memory, is guarded, takes part in what other threads do, divides, or is in double precision.
//! - What a phi reads after the place: its register is that of the phi.
//! - What would keep its operands alive:
//!   ```text
//!   add.s32 r3, r1, r2;   st [a], r3;   call f;   st [b], r3;      // r1 and r2 would live instead of r3
//!   ```
//! - What the loop or the arm reads, and what lives through it for another reader, around an outer loop.
//! - What would make the function longer than it came in: it would be given back as it was.

pub(super) mod find;

use super::chains;
use crate::registers::{
    Callees, Estimator, REGISTERS_MAX, Settings, budget_of, forecast, has_more_slots, promises_of,
};
use bevy_ecs::prelude::*;
use find::{Finder, Look};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::instruction::InstHead;
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::Ancestors;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::ReachingValues;

/// Phase 69.
pub const PHASE: Phase = Phase {
    name: "rematerialize",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Loops],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    // As phase 23: phis are rows like others.
    room_percent: 100,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.init_resource::<LoopNests>();
        slot.init_resource::<ReachingValues>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// A function that came out longer than it came in would be given back as it was. So new instructions take one in so many of those
/// that other phases have saved, phis not counted; the rest is there for moves that some phis become.
const SPARE_PART: u32 = 2;

/// Works on every kernel in SSA form.
pub fn run(
    mut editor: Editor,
    nests: Res<LoopNests>,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA | CodeFlags::ENTRY, |mut f| {
        let Some(nest) = nests.get(f.code()) else { return };
        work(&mut f, nest, *settings, &mut values, &mut scratch);
    });
}

/// Works on one kernel.
pub fn work(
    f: &mut FunctionEditor<'_>,
    nest: &LoopNest,
    settings: Settings,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) {
    let (function, forms) = f.view_and_forms();
    let budget = budget_of(&function, settings);
    // A kernel that may take all registers hardly ever has too few, and the estimator costs more than the phase.
    if budget >= REGISTERS_MAX || !has_more_slots(&function, budget) {
        return;
    }
    let calls = |(_, head, _): (_, &InstHead, _)| forms.get(head.form).effects.contains(Effects::CALL);
    if function.blocks.len() > 1 || function.rows().any(calls) {
        // It ends early where the bisect limit is reached.
        let _ = rematerialize(f, nest, budget, values, scratch);
    }
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    estimator: Estimator,
    finder: Finder,
    ancestors: Ancestors,
    liveness: LivenessScratch,
    live_set: LiveSet,
}

/// Works on a kernel that may have too few registers; gives nothing where the bisect limit is reached.
fn rematerialize(
    f: &mut FunctionEditor<'_>,
    nest: &LoopNest,
    budget: u32,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { estimator, finder, ancestors, liveness, live_set } = scratch;
    let (function, forms) = f.view_and_forms();
    let features = estimator.look_at(&function, forms, nest);
    let promises = promises_of(&function);
    let found = forecast(&features, Callees::default(), function.text.sm, promises, Some(budget));
    // Spills at calls are not forecast.
    if features.sets_limit || !finder.list_spots(&function, estimator, budget, found.spills > 0) {
        return Some(());
    }
    let reaching = &*values.of(f);
    let (function, forms) = f.view_and_forms();
    solve(&function, forms, liveness, live_set);
    ancestors.compute(&function, reaching.tree());
    let look = Look { function: &function, forms, nest, live: live_set, reaching, ancestors, estimator };
    let phi_count = function.rows().filter(|(_, head, _)| head.is_phi()).count() as u32;
    let (insts_in, live_insts) = (function.text.insts_in, f.state().live_insts);
    let saved = (insts_in + phi_count).saturating_sub(live_insts);
    // Phis take room, too, and a function that outgrows it is given back at once.
    let roof = u64::from(insts_in) * u64::from(100 + PHASE.room_percent) / 100;
    let room = (roof as u32).saturating_sub(live_insts);
    if finder.find(&look, saved / SPARE_PART, room) {
        f.stats().limits_hit += 1;
        f.missed(f.text().body.first, "values live through too many blocks");
    }
    for &(inst, reason) in &finder.missed {
        f.missed(f.offset_of(inst), reason);
    }
    for again in &finder.found {
        chains::apply(f, again, "computed again after what has too few registers")?;
    }
    Some(())
}
