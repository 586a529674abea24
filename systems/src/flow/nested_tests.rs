//! Nested branches in SSA form, and the limits, which golden files are too short for.

use super::{nested_branches, split_at_control_flow};
use crate::check::tests::run;
use crate::ssa::{build_ssa, leave_ssa};
use crate::upkeep::sweep;
use ptxopt_engine::run::phase::Phase;
use std::fmt::Write;

const SPLIT: &Phase = &split_at_control_flow::PHASE;

/// A kernel with this body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.global .b32 g[64];\n.entry k() {{\n.reg .pred %p<4>; .reg .b32 %r<4>;\n\
         ld.global.u32 %r1, [g];\nsetp.eq.s32 %p1, %r1, 3;\n{body}}}\n"
    )
}

/// Checks that the way that adds to [g+4] and jumps to J is led to `leads_to`, which is F or T, and that J asks no more.
#[track_caller]
fn check_in_ssa_form(jumps: &str, falls: &str, asks: &str, leads_to: char) {
    let text = kernel(&format!(
        "@%p1 bra A;\n{jumps}\natom.global.add.u32 %r2, [g+4], 1;\nbra J;\n\
         A:\n{falls}\natom.global.add.u32 %r2, [g+8], 1;\n\
         J:\n{asks}\n@%p2 bra F;\n\
         T:\nst.global.u32 [g+12], %r1;\nret;\n\
         F:\nst.global.u32 [g+16], %r1;\nret;\n"
    ));
    let phases = [SPLIT, &build_ssa::PHASE, &nested_branches::PHASE, &leave_ssa::PHASE, &sweep::PHASE];
    let output = String::from_utf8(run(text.as_bytes(), &phases).text).unwrap();
    assert!(!output.contains("@%p2"), "{output}");
    // Nothing branches to T, so it has a label only after the phase.
    let after_jump = output.split("[g+4], 1;\n").nth(1).unwrap();
    let target = after_jump.trim_start().strip_prefix("bra ").unwrap().split(';').next().unwrap();
    let store = output.split(&format!("\n{target}:\n")).nth(1).unwrap().trim_start();
    let place = if leads_to == 'T' { "[g+12]" } else { "[g+16]" };
    assert!(store.starts_with(&format!("st.global.u32 {place}")), "{output}");
}

/// The predicate of a phi is known where its value for that way is.
#[test]
fn answers_of_phis_are_those_of_their_ways() {
    check_in_ssa_form("mov.pred %p2, -1;", "mov.pred %p2, 0;", "", 'F');
    check_in_ssa_form("mov.pred %p2, 0;", "mov.pred %p2, -1;", "", 'T');
}

/// So is a comparison of a phi.
#[test]
fn numbers_of_phis_are_those_of_their_ways() {
    check_in_ssa_form("mov.u32 %r3, 5;", "mov.u32 %r3, 4;", "setp.gt.u32 %p2, %r3, 4;", 'F');
    check_in_ssa_form("mov.u32 %r3, 4;", "mov.u32 %r3, 5;", "setp.gt.u32 %p2, %r3, 4;", 'T');
}

/// Whether a branch is led past J where `blocks` blocks lie between J and M, at which all ways from J meet; and how often a limit
/// was hit.
fn is_led_past(blocks: usize) -> (bool, u64) {
    let mut between = String::new();
    for at in 0..blocks {
        writeln!(between, "ld.global.u32 %r2, [g+8];\nsetp.eq.u32 %p3, %r2, {at};\n@%p3 bra M;").unwrap();
    }
    let text = kernel(&format!(
        "mov.pred %p2, -1;\n@%p1 bra J;\nld.global.u32 %r2, [g+4];\nsetp.eq.u32 %p2, %r2, 7;\n\
         J:\n@%p2 bra M;\n{between}st.global.u32 [g+12], %r1;\nM:\nret;\n"
    ));
    let output = run(text.as_bytes(), &[SPLIT, &nested_branches::PHASE]);
    let is_led = !String::from_utf8(output.text).unwrap().contains("bra J;");
    (is_led, output.steps[1].limits_hit)
}

#[test]
fn ways_that_meet_too_late_are_not_led_past_and_are_counted() {
    // One more block stores, and M is looked at as well.
    let most = nested_branches::Settings::default().region_max - 2;
    assert_eq!(is_led_past(most), (true, 0));
    assert_eq!(is_led_past(most + 1), (false, 1));
}
