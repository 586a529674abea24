//! In SSA form: what is known of values that meet, where a phi says what they are, and sums of a register with itself.

use super::PHASE;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::{build_ssa, leave_ssa};

/// What a kernel becomes that runs `body`, through SSA form and back.
fn optimized(body: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %d; \
         .reg .pred %p; ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; setp.lt.u32 %p, %r1, 9; {body} \
         st.global.u32 [%d], %r3; ret; }}\n"
    );
    let phases = [&split_at_control_flow::PHASE, &build_ssa::PHASE, &PHASE, &leave_ssa::PHASE];
    let output = run(text.as_bytes(), &phases);
    assert_eq!(output.functions[0].left, None);
    String::from_utf8(output.text).unwrap()
}

/// Whether a mask is left of such a kernel.
fn keeps_mask(body: &str) -> bool {
    optimized(body).contains("and.b32")
}

#[test]
fn a_phi_has_the_bits_that_all_its_values_have() {
    let either = |one: &str, other: &str| {
        keeps_mask(&format!(
            "@%p bra A; ld.global.{one} %r2, [%d+4]; bra B; A: ld.global.{other} %r2, [%d+8]; \
             B: and.b32 %r3, %r2, 65535;"
        ))
    };
    assert!(!either("u8", "u16"));
    assert!(either("u8", "u32"));
    assert!(either("s16", "u8"));
}

#[test]
fn what_comes_around_a_loop_may_be_anything() {
    let around = |step: &str| {
        keeps_mask(&format!(
            "mov.u32 %r2, 5; L: and.b32 %r3, %r2, 255; {step} setp.lt.u32 %p, %r2, %r1; @%p bra L;"
        ))
    };
    assert!(around("add.u32 %r2, %r2, 1;"));
    assert!(!around("ld.global.u8 %r2, [%d+4];"));
}

/// One arm leaves what the register held before, which nothing has written.
#[test]
fn a_phi_of_what_nobody_wrote_may_be_anything() {
    assert!(keeps_mask("@%p bra B; ld.global.u8 %r2, [%d+4]; B: and.b32 %r3, %r2, 255;"));
}

/// `p = p + 8; p = p + 2048` is one sum; where a loop adds, the sum of before would need a register of its own.
#[test]
fn sums_in_one_register_are_one_sum_outside_of_loops() {
    let straight = optimized("add.s32 %r1, %r1, 5; add.s32 %r1, %r1, 7; mov.u32 %r3, %r1;");
    assert!(straight.contains(", 12;"), "{straight}");
    let around =
        optimized("L: add.s32 %r1, %r1, 5; add.s32 %r3, %r1, 7; setp.lt.u32 %p, %r3, 90; @%p bra L;");
    assert!(around.contains(", 5;") && around.contains(", 7;"), "{around}");
}
