//! What phases say of themselves beside their algorithm: the pipeline, its messages and its documentation go by it.

use crate::analyze::{control_flow, def_use, liveness, loops, post_dominators, uniformity};
use crate::flow::{
    guard_accesses, nested_branches, optimize_branches, optimize_switches, simplify_loops,
    split_at_control_flow,
};
use crate::ranges::{rematerialize, split_high_pressure, split_ranges};
use crate::report::{code, graph, registers};
use crate::ssa::promote_locals;
use crate::structurize::{self, irreducible};
use crate::upkeep::{advance_progress, inspect, sweep};
use crate::values::{
    eliminate_dead, fuse, general_optimize, gvn_cse, hoist_common, hoist_invariants, propagate_back_copies,
    reassociate, remove_held_moves, sink,
};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Wanted};

/// Each phase with the name of its file, followed by what tells those of one file apart.
const NAMES: [(&Phase, &str); 45] = [
    (&control_flow::ANALYSIS, "analyze_control_flow"),
    (&control_flow::PHASE, "analyze_control_flow"),
    (&def_use::ANALYSIS, "def_use"),
    (&liveness::PHASE, "analyze_liveness"),
    (&loops::ANALYSIS, "loops"),
    (&post_dominators::ANALYSIS, "post_dominators"),
    (&uniformity::ANALYSIS, "analyze_uniformity"),
    (&uniformity::PHASE, "analyze_uniformity"),
    (&guard_accesses::PHASE, "guard_accesses"),
    (&nested_branches::PHASE, "nested_branches"),
    (&optimize_branches::PHASE, "optimize_branches"),
    (&optimize_switches::PHASE, "optimize_switches"),
    (&simplify_loops::PHASE, "simplify_loops"),
    (&split_at_control_flow::PHASE, "split_at_control_flow"),
    (&structurize::PHASE, "structurizecfg"),
    (&structurize::TAGGING, "structurizecfg"),
    (&irreducible::PHASE, "fix_irreducible"),
    (&code::INITIAL, "report_initial_code"),
    (&code::PHASE, "report_code"),
    (&graph::DOT, "dump_graph"),
    (&registers::LIVENESS, "dump_registers"),
    (&advance_progress::BACK_COPIES, "advance_progress_to_9"),
    (&advance_progress::LEGALIZATION, "advance_progress_to_19"),
    (&inspect::INITIAL, "check_initial"),
    (&inspect::FINAL, "check_final"),
    (&sweep::PHASE, "sweep"),
    (&eliminate_dead::SIMPLE, "eliminate_dead_simple"),
    (&eliminate_dead::EARLY, "eliminate_dead_early"),
    (&eliminate_dead::QUICK, "eliminate_dead_quick"),
    (&fuse::PHASE, "fuse"),
    (&general_optimize::PHASE, "general_optimize"),
    (&general_optimize::narrow::PHASE, "narrow"),
    (&gvn_cse::PHASE, "gvn_cse"),
    (&gvn_cse::late::PHASE, "late_commoning"),
    (&hoist_common::PHASE, "hoist_common"),
    (&hoist_invariants::PHASE, "hoist_invariants"),
    (&remove_held_moves::PHASE, "remove_held_moves"),
    (&propagate_back_copies::PHASE, "propagate_back_copies"),
    (&reassociate::PHASE, "reassociate"),
    (&sink::PHASE, "sink"),
    (&promote_locals::PHASE, "promote_locals"),
    (&promote_locals::WITHOUT_UNROLLING, "promote_locals"),
    (&rematerialize::PHASE, "rematerialize"),
    (&split_ranges::PHASE, "split_ranges"),
    (&split_high_pressure::PHASE, "split_high_pressure"),
];

fn named(is_it: impl Fn(&Phase) -> bool) -> Vec<&'static str> {
    NAMES.iter().filter(|(phase, _)| is_it(phase)).map(|(_, name)| *name).collect()
}

#[test]
fn a_phase_has_the_name_of_its_file() {
    for (phase, name) in NAMES {
        assert_eq!(phase.name, name);
    }
    assert_eq!(eliminate_dead::FULL.name, "eliminate_dead");
}

/// Without these, later phases are wrong.
#[test]
fn what_cannot_be_switched_off() {
    let required = ["analyze_control_flow", "split_at_control_flow", "check_initial", "check_final"];
    assert_eq!(named(|phase| phase.required), required);
}

/// These change no instruction, so that they run at `-O0` and in debug modules.
#[test]
fn what_runs_where_only_the_layout_may_change() {
    let layout = [
        "analyze_control_flow",
        "split_at_control_flow",
        "report_initial_code",
        "report_code",
        "advance_progress_to_9",
        "advance_progress_to_19",
        "check_initial",
        "check_final",
        "sweep",
    ];
    assert_eq!(named(|phase| phase.layout_only), layout);
}

#[test]
fn what_is_left_out_where_nobody_looks() {
    assert_eq!(named(|phase| phase.wanted == Wanted::WhenLookedAt), ["analyze_uniformity"]);
    assert_eq!(named(|phase| phase.wanted == Wanted::ForRemarks), ["report_initial_code", "report_code"]);
    let shown = ["advance_progress_to_9", "advance_progress_to_19", "check_initial"];
    assert_eq!(named(|phase| phase.wanted == Wanted::WhenShown), shown);
    assert_eq!(named(|phase| phase.verified), ["check_final"]);
}

/// Blocks of loops are made, Flow blocks, and several moves of a vector access, which rows must be there for.
#[test]
fn what_adds_rows_asks_for_room() {
    assert_eq!(
        named(|phase| phase.room_percent > 0),
        [
            "simplify_loops",
            "structurizecfg",
            "structurizecfg",
            "fix_irreducible",
            "narrow",
            "gvn_cse",
            "late_commoning",
            "hoist_common",
            "hoist_invariants",
            "reassociate",
            "sink",
            "promote_locals",
            "promote_locals",
            "rematerialize",
            "split_ranges",
            "split_high_pressure"
        ]
    );
}

/// These change instructions and leave blocks and edges as they are, so that what is known of those holds after them.
#[test]
fn what_leaves_control_flow_as_it_is() {
    let changes_only_instructions =
        |phase: &Phase| phase.breaks.contains(&Fact::Liveness) && !phase.breaks.contains(&Fact::ControlFlow);
    assert_eq!(
        named(changes_only_instructions),
        [
            "eliminate_dead_simple",
            "fuse",
            "general_optimize",
            "narrow",
            "hoist_common",
            "remove_held_moves",
            "propagate_back_copies",
            "reassociate",
            "sink",
            "promote_locals",
            "promote_locals",
            "rematerialize",
            "split_ranges",
            "split_high_pressure"
        ]
    );
    // What renames registers, and makes, deletes and moves nothing, or deletes alone.
    assert!(
        [&split_ranges::PHASE, &eliminate_dead::SIMPLE]
            .iter()
            .all(|phase| !phase.breaks.contains(&Fact::ProgramOrder))
    );
    assert!(
        [&split_high_pressure::PHASE, &sink::PHASE]
            .iter()
            .all(|phase| phase.breaks.contains(&Fact::ProgramOrder))
    );
}

/// What says something about edges, or about instructions, follows their epochs, whichever phase moves them.
#[test]
fn what_follows_a_broken_fact_is_broken() {
    let follows = [
        (Fact::ControlFlow, &[Fact::Loops, Fact::PostDominators, Fact::Liveness, Fact::Definitions][..]),
        (Fact::Liveness, &[Fact::Uniformity]),
    ];
    for (phase, name) in NAMES {
        for (fact, others) in follows {
            if phase.breaks.contains(&fact) {
                assert!(others.iter().all(|other| phase.breaks.contains(other)), "{name}");
            }
        }
    }
}
