//! The claims of `tests/golden`, checked by this crate alone: a mistake in a phase fails here in seconds.
//!
//! The golden tests of the `tests` crate compare every line with a blessed diff. Here only the claim counts: its `CHECK`
//! and `CHECK-NOT` lines, and whether the phase changes anything at all.

use crate::check::tests::run;
use crate::flow::{
    guard_accesses, nested_branches, optimize_branches, optimize_switches, predicate, simplify_loops,
    split_at_control_flow, unroll_loops,
};
use crate::ranges::{rematerialize, split_high_pressure, split_ranges};
use crate::ssa::{build_ssa, leave_ssa, promote_locals};
use crate::structurize::{self, irreducible};
use crate::upkeep::sweep;
use crate::values::{
    eliminate_dead, fuse, general_optimize, gvn_cse, hoist_common, hoist_invariants, propagate_back_copies,
    reassociate, remove_held_moves, remove_redundant_moves, replace_equivalent_moves, sink,
};
use ptxopt_engine::run::phase::Phase;
use std::fs;
use std::path::{Path, PathBuf};

fn claims(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut claims: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx")).collect();
    claims.sort();
    claims
}

/// The text of the functions after `phases`, without comments. What a verifier has something against is undone, and passes for
/// unchanged: that is asked for, too.
fn output(text: &str, phases: &[&'static Phase]) -> String {
    let output = run(text.as_bytes(), phases);
    for function in &output.functions {
        assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    }
    String::from_utf8(output.text).unwrap()
}

/// Checks the claims about `phase`, which runs after `before`; gives how many there are.
fn check(folder: &str, before: &[&'static Phase], phase: &'static Phase) -> usize {
    let mut count = 0;
    for path in claims(folder) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        // Knobs are the pipeline's, and so is what a module with debug sections gets: layout only.
        if text.lines().any(|line| line.starts_with("// KNOB:") || line == "// FAITHFUL") {
            continue;
        }
        if text.lines().any(|line| line.starts_with(".target") && line.contains("debug")) {
            continue;
        }
        let unchanged = output(&text, &[before, &[SWEEP]].concat());
        let changed = output(&text, &[before, &[phase, SWEEP]].concat());
        let diff = fs::read_to_string(path.with_extension("diff")).unwrap();
        assert_eq!(diff.is_empty(), unchanged == changed, "{name} comes out as\n{changed}");
        // Lines about what stands around functions are not for here.
        let directive = |name| text.lines().filter_map(move |line| line.strip_prefix(name)).map(str::trim);
        let mut lines = changed.lines();
        for wanted in directive("// CHECK: ").filter(|wanted| !wanted.starts_with("bix")) {
            assert!(
                lines.any(|line| line.contains(wanted)),
                "{name}: no `{wanted}` at its place in\n{changed}"
            );
        }
        for unwanted in directive("// CHECK-NOT: ") {
            assert!(!changed.contains(unwanted), "{name}: `{unwanted}` in\n{changed}");
        }
        count += 1;
    }
    count
}

const SPLIT: &Phase = &split_at_control_flow::PHASE;
const SWEEP: &Phase = &sweep::PHASE;

#[test]
fn general_optimize() {
    assert!(check("general_optimize", &[SPLIT], &general_optimize::PHASE) > 40);
}

#[test]
fn eliminate_dead() {
    assert!(check("eliminate_dead", &[SPLIT], &eliminate_dead::FULL) > 80);
}

#[test]
fn eliminate_dead_simple() {
    assert!(check("eliminate_dead_simple", &[SPLIT], &eliminate_dead::SIMPLE) > 14);
}

#[test]
fn eliminate_dead_quick() {
    assert!(check("eliminate_dead_quick", &[SPLIT], &eliminate_dead::QUICK) > 3);
}

#[test]
fn optimize_branches() {
    assert!(check("optimize_branches", &[SPLIT, SWEEP], &optimize_branches::PHASE) > 35);
}

#[test]
fn guard_accesses() {
    assert!(check("guard_accesses", &[SPLIT, SWEEP], &guard_accesses::PHASE) > 10);
}

#[test]
fn optimize_switches() {
    assert!(check("optimize_switches", &[SPLIT, SWEEP], &optimize_switches::PHASE) > 8);
}

#[test]
fn nested_branches() {
    assert!(check("nested_branches", &[SPLIT, SWEEP], &nested_branches::PHASE) > 26);
}

#[test]
fn simplify_loops() {
    assert!(check("simplify_loops", &[SPLIT], &simplify_loops::PHASE) > 8);
}

#[test]
fn structurizecfg() {
    for phase in [&structurize::PHASE, &structurize::TAGGING] {
        assert!(check("structurizecfg", &[SPLIT, SWEEP], phase) > 14);
    }
}

#[test]
fn fix_irreducible() {
    assert!(check("fix_irreducible", &[SPLIT, SWEEP], &irreducible::PHASE) > 2);
}

#[test]
fn build_ssa() {
    assert!(check("build_ssa", &[SPLIT], &build_ssa::PHASE) > 8);
}

/// A part of general optimization.
#[test]
fn conditional_constants() {
    let before = [SPLIT, &build_ssa::PHASE];
    assert!(check("conditional_constants", &before, &general_optimize::PHASE) > 18);
}

/// A part of general optimization.
#[test]
fn offsets() {
    let before = [SPLIT, &build_ssa::PHASE];
    assert!(check("offsets", &before, &general_optimize::PHASE) > 25);
}

/// A part of general optimization.
#[test]
fn passed_branches() {
    let before = [SPLIT, &build_ssa::PHASE];
    assert!(check("passed_branches", &before, &general_optimize::PHASE) > 14);
}

/// What runs before phases that work on values.
const TO_VALUES: &[&Phase] = &[SPLIT, &build_ssa::PHASE, &general_optimize::PHASE, &eliminate_dead::FULL];

#[test]
fn leave_ssa() {
    assert!(check("leave_ssa", TO_VALUES, &leave_ssa::PHASE) > 4);
}

#[test]
fn gvn_cse() {
    assert!(check("gvn_cse", TO_VALUES, &gvn_cse::PHASE) > 60);
}

#[test]
fn replace_equivalent_moves() {
    assert!(check("replace_equivalent_moves", TO_VALUES, &replace_equivalent_moves::PHASE) > 25);
}

#[test]
fn remove_redundant_moves() {
    assert!(check("remove_redundant_moves", TO_VALUES, &remove_redundant_moves::PHASE) > 10);
}

#[test]
fn reassociate() {
    let before = [TO_VALUES, &[&gvn_cse::PHASE]].concat();
    assert!(check("reassociate", &before, &reassociate::PHASE) > 14);
}

#[test]
fn hoist_common() {
    assert!(check("hoist_common", TO_VALUES, &hoist_common::PHASE) > 8);
}

#[test]
fn sink() {
    assert!(check("sink", TO_VALUES, &sink::PHASE) > 30);
}

#[test]
fn fuse() {
    assert!(check("fuse", &[SPLIT, SWEEP], &fuse::PHASE) > 44);
}

#[test]
fn remove_held_moves() {
    assert!(check("remove_held_moves", &[SPLIT, SWEEP], &remove_held_moves::PHASE) > 14);
}

#[test]
fn propagate_back_copies() {
    assert!(check("propagate_back_copies", &[SPLIT, SWEEP], &propagate_back_copies::PHASE) > 8);
}

#[test]
fn late_commoning() {
    let before = [TO_VALUES, &[&predicate::PHASE]].concat();
    assert!(check("late_commoning", &before, &gvn_cse::late::PHASE) > 3);
}

#[test]
fn predicate() {
    assert!(check("predicate", TO_VALUES, &predicate::PHASE) > 20);
}

#[test]
fn hoist_invariants() {
    assert!(check("hoist_invariants", TO_VALUES, &hoist_invariants::PHASE) > 45);
}

#[test]
fn promote_locals() {
    assert!(check("promote_locals", &[SPLIT], &promote_locals::PHASE) > 40);
}

#[test]
fn unroll_loops() {
    assert!(check("unroll_loops", &[SPLIT, &promote_locals::PHASE, SWEEP], &unroll_loops::PHASE) > 25);
}

#[test]
fn split_ranges() {
    assert!(check("split_ranges", &[SPLIT, SWEEP], &split_ranges::PHASE) > 12);
}

#[test]
fn rematerialize() {
    assert!(check("rematerialize", TO_VALUES, &rematerialize::PHASE) > 16);
}

#[test]
fn split_high_pressure() {
    assert!(check("split_high_pressure", &[SPLIT, SWEEP], &split_high_pressure::PHASE) > 14);
}
