//! Limits, which golden files are too short for.

use super::{PHASE, SLOTS_MAX};
use crate::check::tests::{plan, run_plan};
use crate::flow::split_at_control_flow;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::{Plan, Verify};

/// Stores that are left of so many to slots of their own, which nothing reads; how often the limit was hit, and what was said
/// of it.
fn left_of(count: usize) -> (usize, u64, usize) {
    let stores: String = (0..count).map(|at| format!("st.local.u32 [x+{}], 7;\n", 4 * at)).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{ .local .align 4 .b8 x[{}];\n{stores} ret; }}\n",
        4 * count
    );
    let plan = plan(&[&split_at_control_flow::PHASE, &PHASE]);
    let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
    let left = String::from_utf8(output.text).unwrap().matches("st.local").count();
    let missed = output.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missed);
    let of_slots = missed.filter(|remark| remark.reason.contains("more slots")).count();
    (left, output.steps[1].limits_hit, of_slots)
}

#[test]
fn slots_past_the_limit_stay_in_memory_and_are_told_of() {
    assert_eq!(left_of(SLOTS_MAX), (0, 0, 0));
    assert_eq!(left_of(SLOTS_MAX + 1), (1, 1, 1));
}

/// How often a limit was hit where 64 indices lie in memory and the function has about so many blocks, and what was said of it.
/// `more` is done with the address of the variable.
fn hits_with(blocks: usize, more: &str) -> (u64, usize) {
    let accesses: String = (0..64)
        .map(|at| {
            format!(
                "ld.local.u32 %r{at}, [x+{}];\ncvt.u64.u32 %d{at}, %r{at};\nadd.u64 %e{at}, %a, %d{at};\nst.local.u8 [%e{at}], 1;\n",
                4 * at
            )
        })
        .collect();
    let labels: String = (0..blocks).map(|at| format!("L{at}: @%p bra L{at};\n")).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{ .local .align 4 .b8 x[512];\n.reg .b32 %r<64>; \
         .reg .b64 %d<64>, %e<64>, %a; .reg .pred %p;\nmov.u64 %a, x;\n{more}{accesses}{labels} ret; }}\n"
    );
    let plan = plan(&[&split_at_control_flow::PHASE, &PHASE]);
    let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
    let missed = output.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missed);
    let of_blocks = missed.filter(|remark| remark.reason.contains("too many blocks")).count();
    (output.steps[1].limits_hit, of_blocks)
}

#[test]
fn indices_of_functions_with_many_blocks_are_not_bounded() {
    assert_eq!(hits_with(1_000, ""), (0, 0));
    assert_eq!(hits_with(1_030, ""), (1, 1));
    // What escapes gains nothing by bounds, so nobody asks for them.
    assert_eq!(hits_with(1_030, "setp.eq.u64 %p, %a, 0;\n"), (0, 0));
}
