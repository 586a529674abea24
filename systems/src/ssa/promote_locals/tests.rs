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
    // What escapes gains nothing by bounds, so nothing asks for them.
    assert_eq!(hits_with(1_030, "setp.eq.u64 %p, %a, 0;\n"), (0, 0));
}

/// Whether indices are bounded that a predicate which two blocks write decides, in so many loops, and how often a limit was hit;
/// beside so many other indices in memory and so many more blocks.
fn asked(loops: usize, others: usize, blocks: usize) -> (bool, u64) {
    // As in the claim first-half-of-a-condition-bounds-an-index.
    let asks: String = (0..loops)
        .map(|at| {
            let place = 80 + 4 * at;
            format!(
                ".reg .pred %p{at}x<4>; .reg .b32 %r{at}x<8>; .reg .b64 %d{at}x<5>;\n\
                 LOOP{at}: ld.local.u32 %r{at}x1, [%a+{place}];\nsetp.eq.u32 %p{at}x1, %r{at}x1, 0;\nmov.pred %p{at}x2, 0;\n\
                 @%p{at}x1 bra ASK{at};\nld.global.u32 %r{at}x2, [g];\nsetp.gt.u32 %p{at}x2, %r{at}x2, 9;\n\
                 ASK{at}: @!%p{at}x2 bra END{at};\nld.local.u32 %r{at}x3, [%a+{place}];\nadd.s32 %r{at}x4, %r{at}x3, -1;\n\
                 cvt.u64.u32 %d{at}x1, %r{at}x4;\nshl.b64 %d{at}x2, %d{at}x1, 2;\nadd.u64 %d{at}x3, %a, 16;\n\
                 add.u64 %d{at}x4, %d{at}x3, %d{at}x2;\nst.local.u32 [%d{at}x4], %r{at}x2;\n\
                 ld.local.u32 %r{at}x5, [%a+{place}];\nadd.s32 %r{at}x6, %r{at}x5, -1;\nst.local.u32 [%a+{place}], %r{at}x6;\n\
                 bra LOOP{at};\nEND{at}:\n"
            )
        })
        .collect();
    let counters: String = (0..loops).map(|at| format!("st.local.u32 [%a+{}], 15;\n", 80 + 4 * at)).collect();
    let more: String = (0..others)
        .map(|at| {
            format!(
                "ld.local.u32 %o{at}, [y+{}];\ncvt.u64.u32 %e{at}, %o{at};\nadd.u64 %f{at}, %b, %e{at};\nst.local.u8 [%f{at}], 1;\n",
                4 * at
            )
        })
        .collect();
    let labels: String = (0..blocks).map(|at| format!("L{at}: @%q bra L{at};\n")).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n.entry k() {{ .local .align 4 .b8 x[96];\n\
         .local .align 4 .b8 y[512];\n.reg .b32 %o<64>; .reg .b64 %e<64>, %f<64>, %a, %b; .reg .pred %q;\n\
         mov.u64 %a, x;\nmov.u64 %b, y;\n{counters}{more}{asks}{labels} ret; }}\n"
    );
    let plan = plan(&[&split_at_control_flow::PHASE, &PHASE]);
    let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
    let is_bounded = !String::from_utf8(output.text).unwrap().contains("[%a+80]");
    (is_bounded, output.steps[1].limits_hit)
}

/// What is known of each cell at each block, and once more at each block that asks, has 65,536 places. Each loop has a counter, a
/// predicate and five blocks, and two blocks stand around them.
#[test]
fn blocks_ask_while_there_is_room_for_both_answers() {
    assert_eq!(asked(1, 62, 1_024 - 7 - 1), (true, 0));
    assert_eq!(asked(1, 62, 1_024 - 7), (false, 0));
    assert_eq!(asked(2, 60, 1_024 - 12 - 2), (true, 0));
    assert_eq!(asked(2, 60, 1_024 - 12 - 1), (false, 0));
}
