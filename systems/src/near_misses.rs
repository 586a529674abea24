//! What a phase leaves alone although it looks as if it should not: each reason that a remark gives, at its place.

use crate::check::tests::run;
use crate::flow::{optimize_branches, split_at_control_flow};
use crate::ssa::promote_locals;
use crate::values::remove_held_moves;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::Phase;

/// Checks that `phase` misses a change of a kernel with this body: for this reason, at the line that holds `at`.
#[track_caller]
fn misses(phase: &'static Phase, body: &str, at: &str, reason: &str) {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .u64 g;\n.func f(.param .b64 a) {{ ret; }}\n.entry k()\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %d<4>;\n{body}\nret;\n}}\n"
    );
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, phase]);
    let line_of = |offset: u32| {
        let (before, after) = text.split_at(offset as usize);
        let (start, end) =
            (before.rfind('\n').map_or(0, |at| at + 1), after.find('\n').unwrap_or(after.len()));
        &text[start..before.len() + end]
    };
    let missed = output.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missed);
    let found: Vec<(&str, &str)> = missed.map(|remark| (line_of(remark.offset), &*remark.reason)).collect();
    let is_wanted = |(line, told): &(&str, &str)| line.contains(at) && told.contains(reason);
    assert!(found.iter().any(is_wanted), "{found:?} of\n{text}");
}

#[test]
fn branches_that_are_not_led_past_empty_blocks() {
    let phase = &optimize_branches::PHASE;
    let store = "st.global.u64 [g], 1;";
    let pragma = ".pragma \"nounroll\";";
    let pinned = format!("@%p0 bra A;\n{store}\nA:\n{pragma}\nbra B;\nD: {store}\nB: {store}\n@%p2 bra D;");
    misses(phase, &pinned, "@%p0 bra A", "an empty block that a directive belongs to");
    let header = format!("@%p0 bra H;\n{store}\nH: bra B;\nC: {store}\nB: {store}\n@%p1 bra H;\n@%p2 bra C;");
    misses(phase, &header, "@%p1 bra H", "the header of a loop");
    let latch = format!("H: {store}\n@%p0 bra L;\n{store}\n@%p1 bra L;\nret;\nL: bra H;");
    misses(phase, &latch, "@%p0 bra L", "latch that others lead to");
    let idle = format!("{}END: {store}", "@%p0 bra END;\n".repeat(12));
    misses(phase, &idle, ".entry", "more rounds");
    let table = format!(
        "t: .branchtargets H, C;\nbrx.idx %r0, t;\nH: bra B;\nC: {store}\nret;\nB: {store}\n@%p3 bra B;\n@%p1 bra H;\n@%p2 bra C;"
    );
    misses(phase, &table, "brx.idx", "the header of a loop");
}

#[test]
fn branches_that_are_not_turned_around() {
    let phase = &optimize_branches::PHASE;
    let store = "st.global.u64 [g], 1;";
    let uniform = format!("@%p0 bra.uni A;\nbra B;\nA: {store}\nB: {store}");
    misses(phase, &uniform, "@%p0 bra.uni A", "promises to be uniform");
    let pinned = format!("@%p0 bra A;\n.pragma \"nounroll\";\nbra B;\nA: {store}\nB: {store}");
    misses(phase, &pinned, "@%p0 bra A", "a jump that a directive belongs to");
    let shared = format!("H: {store}\n@%p2 bra J;\n{store}\n@%p0 bra A;\nJ: bra H;\nA: {store}");
    misses(phase, &shared, "@%p0 bra A", "a jump that others lead to");
}

#[test]
fn blocks_that_are_not_merged() {
    let phase = &optimize_branches::PHASE;
    let store = "st.global.u64 [g], 1;";
    let pinned = format!("{store}\nbra A;\nA:\n.pragma \"nounroll\";\n{store}");
    misses(phase, &pinned, "bra A", "the block that only this one leads to");
    let elsewhere = format!("bra B;\nA: {store}\n@%p0 bra END;\nB: {store}\nbra A;\nEND: {store}");
    misses(phase, &elsewhere, "bra A", "stands elsewhere in the text");
}

#[test]
fn moves_that_are_looked_at_no_further() {
    let phase = &remove_held_moves::PHASE;
    let far = "st.global.u64 [g], 1;\n".repeat(remove_held_moves::ROWS_MAX as usize);
    let twice = format!("mov.b32 %r0, 0;\n{far}mov.b32 %r0, 0; // again\nst.global.u32 [g], %r0;");
    misses(phase, &twice, "again", "too far");
}

#[test]
fn local_variables_that_stay_in_memory() {
    let phase = &promote_locals::PHASE;
    let with = |use_of_address: &str| {
        format!(
            ".local .align 8 .b8 x[16];\nmov.u64 %d0, x;\nst.local.u32 [%d0], 1;\n{use_of_address}\nld.local.u32 %r0, [%d0];\n\
             st.global.u32 [g], %r0;"
        )
    };
    for (code, reason) in [
        ("st.global.u64 [g], %d0;", "is stored"),
        ("{ .param .b64 p; st.param.b64 [p], %d0; call f, (p); }", "goes to a call"),
        ("setp.eq.u64 %p0, %d0, 0;", "is compared"),
        ("selp.b64 %d1, %d0, %d2, %p0;", "one of several addresses"),
        ("atom.local.add.u32 %r1, [%d0], 1;", "an atomic instruction"),
        ("not.b64 %d1, %d0;", "no plain access"),
        ("@%p0 mov.u64 %d1, %d0;", "under a guard"),
        ("st.local.u32 [%d1+4], 2;\nadd.u64 %d1, %d0, %d2;", "is not constant"),
        ("mov.b64 {%r1, %r2}, %d0;", "no plain access"),
        ("st.volatile.local.u32 [%d0+4], 2;\nld.local.u32 %r1, [%d0+4];", "volatile"),
        ("ld.local.u32 %r1, [%d0+16];", "lies outside"),
        ("ld.global.u32 %r1, [%d0];", "in another space"),
    ] {
        let line = code.lines().next().unwrap_or_default();
        misses(phase, &with(code), line, reason);
    }
}
