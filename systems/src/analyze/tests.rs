//! The analyses inside a shard: each is run for the functions whose fact is stale and for no other, and what they say holds.

use super::{control_flow, uniformity};
use crate::check::tests::{plan, run, run_plan};
use crate::check::updates::rebuild;
use crate::flow::split_at_control_flow;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_components::instruction::Marks;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::uniformity::Uniformities;
use ptxopt_engine::edit::Editor;
use ptxopt_engine::graph::nest::LoopNests;
use ptxopt_engine::graph::post_dominators::PostDominatorTrees;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::{Phase, Plan, Slot, Verify};
use ptxopt_engine::store::columns::Code;

/// A loop; a function that keeps its text, since something that is no branch names its table; a diamond.
const TEXT: &str = ".version 8.0\n.target sm_90\n.global .u32 g;\n\
    .entry k() { .reg .pred %p<3>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 9; \
    L: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra L; @%p1 bra M; st.global.u32 [g], %r2; M: ret; }\n\
    .entry left() { .reg .b32 %r<2>; T: .branchtargets N; frobnicate %r1, T; N: ret; }\n\
    .entry l() { .reg .pred %p<3>; .reg .b32 %r<3>; mov.u32 %r1, %ctaid.x; setp.lt.u32 %p1, %r1, 9; @%p1 bra E; \
    mov.u32 %r2, 1; bra J; E: mov.u32 %r2, 2; J: st.global.u32 [g], %r2; ret; }\n";

/// For each fact how many are computed for a function, with those that it needs: at first, and after a change. The editor keeps
/// def-use true. And a phase that needs it.
static FACTS: [(Fact, [u64; 2], Phase); 6] = [
    (Fact::ControlFlow, [1, 1], looks(&[Fact::ControlFlow])),
    (Fact::Loops, [2, 2], looks(&[Fact::Loops])),
    (Fact::PostDominators, [2, 2], looks(&[Fact::PostDominators])),
    (Fact::Liveness, [2, 2], looks(&[Fact::Liveness])),
    (Fact::Uniformity, [4, 4], looks(&[Fact::Uniformity])),
    (Fact::DefUse, [1, 0], looks(&[Fact::DefUse])),
];

const fn looks(needs: &'static [Fact]) -> Phase {
    Phase { name: "looks", needs, install: install_look, ..Phase::NOTHING }
}

fn install_look(slot: &mut Slot<'_>) {
    slot.init_resource::<LoopNests>();
    slot.init_resource::<PostDominatorTrees>();
    slot.init_resource::<Uniformities>();
    slot.add(look);
}

/// What no verifier looks at.
fn look(code: Code, nests: Res<LoopNests>, trees: Res<PostDominatorTrees>, verdicts: Res<Uniformities>) {
    for function in code.view().functions() {
        if function.state.flags.contains(CodeFlags::LEFT) {
            for (fact, ..) in &FACTS {
                assert!(!code.fact_holds(function.code, *fact), "{fact:?}");
            }
            continue;
        }
        if code.fact_holds(function.code, Fact::Loops) {
            assert_eq!(nests.get(function.code), Some(&rebuild(&function).nest));
        }
        if code.fact_holds(function.code, Fact::PostDominators) {
            assert_eq!(trees.get(function.code), Some(&rebuild(&function).tree));
        }
        if !code.fact_holds(function.code, Fact::Uniformity) {
            continue;
        }
        let verdicts = verdicts.get(function.code).expect("the fact holds");
        for vreg in function.vreg_ids() {
            let is_uniform = function.vregs[vreg.index()].flags.contains(VRegFlags::UNIFORM);
            assert_eq!(is_uniform, verdicts.is_uniform(vreg), "{vreg:?}");
        }
        for inst in function.block_ids().flat_map(|block| function.insts_of(block)) {
            let head = function.heads[inst.index()];
            let says = head.marks.contains(Marks::CONTROL) && head.marks.contains(Marks::UNIFORM);
            let is_way = head.marks.contains(Marks::CONTROL);
            assert_eq!(says, is_way && verdicts.block_goes_alike(head.block), "{inst:?}");
        }
    }
}

/// Changes instructions and edges of the first function.
static CHANGES: Phase =
    Phase { name: "changes", breaks: &Fact::ALL, install: |slot| slot.add(change), ..Phase::NOTHING };

fn change(mut editor: Editor) {
    editor.each(CodeFlags::empty(), |mut f| {
        if f.code() == CodeId(0) {
            let view = f.view();
            let is_guarded = |inst: &_| view.guard_of(*inst).is_some();
            let branch =
                view.block_ids().filter_map(|block| view.insts_of(block).next_back()).find(is_guarded);
            let branch = branch.expect("a loop has a branch");
            f.change(branch, "changed").expect("there is fuel").delete_branch(branch);
        }
    });
}

#[test]
fn a_fact_is_computed_where_it_is_stale_and_nowhere_else() {
    for (fact, [first, again], looks) in &FACTS {
        let phases = [&split_at_control_flow::PHASE, looks, looks, &CHANGES, looks];
        let output = run(TEXT.as_bytes(), &phases);
        let left: Vec<bool> = output.functions.iter().map(|function| function.left.is_some()).collect();
        assert_eq!(left, [false, true, false], "{fact:?}: {:?}", output.functions);
        let computed: Vec<u64> = output.steps.iter().map(|step| step.facts_computed).collect();
        assert_eq!(computed, [0, 2 * first, 0, 0, *again], "{fact:?}");
    }
}

/// Verifiers bring what they look at as well: without them, each analysis has to.
#[test]
fn an_analysis_brings_what_it_writes() {
    static NEEDS: [Phase; 6] = [
        needs(&[Fact::ControlFlow]),
        needs(&[Fact::Loops]),
        needs(&[Fact::PostDominators]),
        needs(&[Fact::Liveness]),
        needs(&[Fact::Uniformity]),
        needs(&[Fact::DefUse]),
    ];
    for phase in NEEDS.iter().chain([&control_flow::PHASE, &uniformity::PHASE]) {
        let plan = plan(&[&split_at_control_flow::PHASE, phase]);
        let output = run_plan(TEXT.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
        assert!(output.steps[1].facts_computed > 0, "{:?} {}", phase.needs, phase.name);
    }
}

const fn needs(needs: &'static [Fact]) -> Phase {
    Phase { name: "needs", needs, ..Phase::NOTHING }
}

/// Remarks of an analysis: where, and what.
fn remarks(text: &str, phase: &'static Phase) -> Vec<(u32, String)> {
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, phase]);
    let analysis =
        output.remarks.iter().filter(|remark| remark.kind == RemarkKind::Analysis && remark.step == 1);
    analysis.map(|remark| (remark.offset, remark.reason.to_string())).collect()
}

#[test]
fn an_irreducible_cycle_is_remarked_where_it_is_entered() {
    assert_eq!(remarks(TEXT, &control_flow::PHASE), []);
    let text =
        ".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p<3>; @%p1 bra M; L: @%p2 exit; M: bra L; }\n";
    let found = remarks(text, &control_flow::PHASE);
    let place = text.find("L: @%p2").expect("it is there") as u32;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0.abs_diff(place) < 20 && found[0].1.starts_with("irreducible control flow"),
        "{found:?}"
    );
}

#[test]
fn verdicts_are_counted_in_a_remark() {
    let found = remarks(TEXT, &uniformity::PHASE);
    let places: Vec<u32> = ["k()", "l()"].map(|name| TEXT.find(name).expect("it is there") as u32).into();
    assert_eq!(found.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), places, "{found:?}");
    assert!(found.iter().all(|(_, reason)| reason.contains("uniform")), "{found:?}");
}
