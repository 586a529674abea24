//! The limit of slots, which golden files are too short for.

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
