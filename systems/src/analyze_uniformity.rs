//! Uniformity as a fact: which registers and branches are the same for all threads of a warp.
//!
//! Source phase  27 AnalyzeUniformsForSpeculation, 53 and 70 OriPropagateVarying (structurize-cfg, "Uniform Branch
//!               Classification"); the sources of divergence are those of the textbook
//! Reads         Blocks, Insts, VRegs, LoopNests, LiveSets
//! Writes        Uniformities; `UNIFORM` on registers and on ways out of the straight line
//! Needs         control flow ends its block; control-flow facts, loops, live sets
//! Leaves        Fact::Uniformity
//! Breaks        nothing
//! Cost          a pass over the instructions and one over the operands that diverge; a comparison where the fact holds
//! Paper         Rosemann, Moll, Hack 2021
//! Checked by    check/uniformity.rs, check/uniformity_full.rs
//!
//! The analysis is [`ptxopt_engine::dataflow::uniformity`].

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_components::instruction::Marks;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::cfg::nest::LoopNests;
use ptxopt_engine::columns::{Code, CodeObjectsMut, InstsMut, VRegsMut};
use ptxopt_engine::dataflow::liveness::LiveSets;
use ptxopt_engine::dataflow::uniformity::{Scratch, Uniformities, count, solve};
use ptxopt_engine::facts::Fact;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::log::{Remark, RemarkKind, Remarks, StepLog};
use ptxopt_engine::phase::{Phase, Slot};

/// What gives [`Fact::Uniformity`] wherever it is asked for.
pub const ANALYSIS: Phase = Phase {
    name: "analyze_uniformity",
    needs: &[Fact::ControlFlow, Fact::Loops, Fact::Liveness],
    gives: &[Fact::Uniformity],
    breaks: &[],
    required: false,
    install: |slot| {
        init(slot);
        slot.add((run, note).chain());
    },
};

/// Phases 27, 53 and 70: the analysis, and a remark about each function.
pub const PHASE: Phase = Phase {
    install: |slot| {
        init(slot);
        slot.add((run, note, remark).chain());
    },
    ..ANALYSIS
};

fn init(slot: &mut Slot<'_>) {
    slot.init_resource::<LoopNests>();
    slot.init_resource::<LiveSets>();
    slot.init_resource::<Uniformities>();
}

/// Solves the functions of the batch whose verdicts are not current.
pub fn run(
    code: Code,
    forms: Res<FormTable>,
    nests: Res<LoopNests>,
    sets: Res<LiveSets>,
    mut verdicts: ResMut<Uniformities>,
    mut scratch: Local<Scratch>,
) {
    for function in code.view().functions() {
        let id = function.code;
        let is_left = function.state.flags.contains(CodeFlags::LEFT);
        if is_left || code.fact_holds(id, Fact::Uniformity) || !code.fact_holds(id, Fact::Liveness) {
            continue;
        }
        if let (Some(nest), Some(set)) = (nests.get(id), sets.functions.get(id.index())) {
            solve(&function, &forms, nest, set, &mut scratch, verdicts.of(id));
        }
    }
}

/// Writes the verdicts to the rows, and notes that they are current.
fn note(
    mut codes: CodeObjectsMut,
    mut insts: InstsMut,
    mut vregs: VRegsMut,
    verdicts: Res<Uniformities>,
    mut log: ResMut<StepLog>,
) {
    let (states, facts, spans, _) = codes.columns();
    let (inst_heads, ..) = insts.columns();
    let (vreg_heads, _) = vregs.columns();
    for (code, span) in spans.iter().enumerate() {
        let state = &states[code];
        let is_fresh = !state.flags.contains(CodeFlags::LEFT)
            && !facts[code].holds(Fact::Uniformity, state)
            && facts[code].holds(Fact::Liveness, state);
        let Some(verdicts) = verdicts.get(CodeId::new(code)).filter(|_| is_fresh) else { continue };
        for (at, head) in vreg_heads[span.vregs.range()].iter_mut().enumerate() {
            head.flags.set(VRegFlags::UNIFORM, verdicts.is_uniform(Id::new(at)));
        }
        for (at, head) in inst_heads[span.insts.range()].iter_mut().enumerate() {
            if head.marks.contains(Marks::CONTROL) {
                head.marks.set(Marks::UNIFORM, verdicts.branch_is_uniform(Id::new(at)));
            }
        }
        facts[code].computed(Fact::Uniformity, state);
        log.current().facts_computed += 1;
    }
}

/// Says of each function how much of it is uniform.
fn remark(
    code: Code,
    forms: Res<FormTable>,
    verdicts: Res<Uniformities>,
    log: Res<StepLog>,
    mut remarks: ResMut<Remarks>,
) {
    if !remarks.wanted {
        return;
    }
    for function in code.view().functions() {
        let is_left = function.state.flags.contains(CodeFlags::LEFT);
        if is_left || !code.fact_holds(function.code, Fact::Uniformity) {
            continue;
        }
        let Some(verdicts) = verdicts.get(function.code) else { continue };
        remarks.push(Remark {
            kind: RemarkKind::Analysis,
            step: log.step,
            code: function.code,
            offset: function.text.name.first,
            reason: count(&function, &forms, verdicts).to_string().into(),
        });
    }
}
