//! What the header of a phase says that it breaks is what the phase says.

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
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Each file whose phases break something, with its phases.
const BREAKING: [(&str, &[&Phase]); 30] = [
    ("flow/guard_accesses.rs", &[&guard_accesses::PHASE]),
    ("flow/nested_branches.rs", &[&nested_branches::PHASE]),
    ("flow/optimize_branches/mod.rs", &[&optimize_branches::PHASE]),
    ("flow/optimize_switches.rs", &[&optimize_switches::PHASE]),
    ("flow/predicate/mod.rs", &[&predicate::PHASE]),
    ("flow/simplify_loops.rs", &[&simplify_loops::PHASE]),
    ("flow/split_at_control_flow.rs", &[&split_at_control_flow::PHASE]),
    ("flow/unroll_loops/mod.rs", &[&unroll_loops::PHASE]),
    ("ranges/rematerialize/mod.rs", &[&rematerialize::PHASE]),
    ("ranges/split_high_pressure.rs", &[&split_high_pressure::PHASE]),
    ("ranges/split_ranges.rs", &[&split_ranges::PHASE]),
    ("ssa/build_ssa/mod.rs", &[&build_ssa::PHASE]),
    ("ssa/leave_ssa/mod.rs", &[&leave_ssa::PHASE]),
    ("ssa/promote_locals/mod.rs", &[&promote_locals::PHASE, &promote_locals::WITHOUT_UNROLLING]),
    ("structurize/irreducible.rs", &[&irreducible::PHASE]),
    ("structurize/mod.rs", &[&structurize::PHASE, &structurize::TAGGING]),
    ("upkeep/sweep.rs", &[&sweep::PHASE]),
    (
        "values/eliminate_dead/mod.rs",
        &[&eliminate_dead::SIMPLE, &eliminate_dead::QUICK, &eliminate_dead::EARLY, &eliminate_dead::FULL],
    ),
    ("values/fuse/mod.rs", &[&fuse::PHASE]),
    ("values/general_optimize/narrow/mod.rs", &[&general_optimize::narrow::PHASE]),
    ("values/general_optimize/mod.rs", &[&general_optimize::PHASE]),
    ("values/gvn_cse/mod.rs", &[&gvn_cse::PHASE, &gvn_cse::late::PHASE]),
    ("values/hoist_common.rs", &[&hoist_common::PHASE]),
    ("values/hoist_invariants/mod.rs", &[&hoist_invariants::PHASE]),
    ("values/propagate_back_copies.rs", &[&propagate_back_copies::PHASE]),
    ("values/reassociate/mod.rs", &[&reassociate::PHASE]),
    ("values/remove_held_moves.rs", &[&remove_held_moves::PHASE]),
    ("values/remove_redundant_moves.rs", &[&remove_redundant_moves::PHASE]),
    ("values/replace_equivalent_moves/mod.rs", &[&replace_equivalent_moves::PHASE]),
    ("values/sink/mod.rs", &[&sink::PHASE]),
];

/// What headers call a fact.
const fn name_of(fact: Fact) -> &'static str {
    match fact {
        Fact::ControlFlow => "control flow",
        Fact::Loops => "loops",
        Fact::PostDominators => "post-dominators",
        Fact::Liveness => "liveness",
        Fact::Uniformity => "uniformity",
        Fact::DefUse => "def-use",
        Fact::Definitions => "definitions",
        Fact::ProgramOrder => "program order",
    }
}

/// The item `Breaks` of a header, on one line.
fn breaks_of(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("//! Breaks  "));
    let first = lines.next()?.trim_start_matches("//! Breaks").trim();
    let others = lines.map_while(|line| line.strip_prefix("//!               "));
    Some(others.fold(first.to_owned(), |text, line| text + " " + line))
}

fn sources_in(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_in(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn headers_name_the_facts_that_phases_break() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (file, phases) in BREAKING {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let said = breaks_of(&text).unwrap_or_else(|| panic!("{file} has no item `Breaks`"));
        let named: Vec<Fact> = Fact::ALL.into_iter().filter(|&fact| said.contains(name_of(fact))).collect();
        let broken: BTreeSet<Fact> = phases.iter().flat_map(|phase| phase.breaks).copied().collect();
        assert!(named.iter().eq(&broken), "{file}: its header says `{said}`, its phases say {broken:?}");
    }
}

#[test]
fn other_headers_say_that_nothing_breaks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources_in(&root, &mut files);
    let mut others = 0;
    for path in files.iter().filter(|path| !BREAKING.iter().any(|(file, _)| path.ends_with(file))) {
        let Some(said) = breaks_of(&std::fs::read_to_string(path).unwrap()) else { continue };
        assert!(["nothing", "as phase 49"].contains(&&said[..]), "{}: {said}", path.display());
        others += 1;
    }
    assert!(others > 10, "{others} headers");
}
