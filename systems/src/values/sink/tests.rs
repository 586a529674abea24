//! The phase on random kernels and on a few lines each.

use super::PHASE;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::build_ssa;
use crate::values::gvn_cse::tests::check;
use crate::values::move_tests::{HEAD, after};
use ptxopt_engine::run::log::RemarkKind;

/// Kernels with arms and rounds that compute and load the same again and again, on the emulator: none executes more.
#[test]
fn what_one_arm_reads_is_computed_there() {
    let (without, with) = check(&[&PHASE], 7000..7040);
    assert!(with <= without, "{without} without, {with} with");
}

/// A kernel that has an address in `%a1`, two values from there in `%v1` and `%v2`, and two predicates.
fn kernel(body: &str) -> String {
    format!(
        ".func f() {{ ret; }}\n.entry k(.param .u64 p) {{ .reg .b32 %v<9>; .reg .b64 %a<2>; .reg .pred %p<3>;\n\
         ld.param.u64 %a1, [p]; ld.global.u32 %v1, [%a1]; ld.global.u32 %v2, [%a1+4];\n\
         setp.lt.u32 %p1, %v1, %v2; setp.lt.u32 %p2, %v1, 9;\n{body}\nret; }}\n"
    )
}

/// Whether the kernel after the phase holds these, in this order.
#[track_caller]
fn comes_out_in_order(body: &str, wanted: &[&str]) {
    let text = after(&kernel(body), &[&PHASE]);
    let mut rest = &text[..];
    for wanted in wanted {
        let Some(at) = rest.find(wanted) else { panic!("no `{wanted}` at its place in\n{text}") };
        rest = &rest[at + wanted.len()..];
    }
}

/// Both arms of the second branch read the chain, so it goes to the end of that block.
#[test]
fn a_chain_keeps_its_order_at_the_end_of_a_block() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, 77; xor.b32 %v4, %v3, %v2; @%p1 bra J; @%p2 bra M; st.global.u32 [%a1+8], %v4; bra J;\n\
         M: st.global.u32 [%a1+12], %v4; J: st.global.u32 [%a1+16], %v2;",
        &["@%p1 bra", "mul.lo", "xor", "@%p2 bra"],
    );
}

/// The operand is read before the first call, too, and in any case after the second one.
#[test]
fn what_is_read_after_a_later_call_is_kept_anyway() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, 77; st.global.u32 [%a1+8], %v1; call f; st.global.u32 [%a1+12], %v3; call f;\n\
         st.global.u32 [%a1+16], %v1;",
        &["[%a1+8]", "call", "mul.lo", "[%a1+12]", "call"],
    );
}

/// The value is there for the phi on the way that does not lead through the arm.
#[test]
fn what_a_phi_of_the_other_way_reads_does_not_sink() {
    comes_out_in_order(
        "mul.lo.u32 %v4, %v1, 77; @%p1 bra J; st.global.u32 [%a1+8], %v4; add.u32 %v4, %v1, %v2;\n\
         J: st.global.u32 [%a1+12], %v4; st.global.u32 [%a1+16], %v1;",
        &["mul.lo", "@%p1 bra"],
    );
}

/// Who comes to the branch comes to its target.
#[test]
fn a_branch_that_all_take_has_no_arms() {
    let reads = "st.global.u32 [%a1+8], %v3; st.global.u32 [%a1+12], %v1;";
    comes_out_in_order(&format!("mul.lo.u32 %v3, %v1, 77; bra L; L: {reads}"), &["mul.lo", "bra"]);
    let guarded = "@%p1 st.global.u32 [%a1+16], %v2;";
    comes_out_in_order(&format!("mul.lo.u32 %v3, %v1, 77; {guarded} L: {reads}"), &["mul.lo", "@%p1"]);
}

/// Both operands live at the start of the arm, whatever reads them before it; nothing keeps them at its end.
#[test]
fn what_lives_at_the_start_of_an_arm_is_kept_anyway() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, %v2; xor.b32 %v5, %v1, %v2; st.global.u32 [%a1+8], %v5; @%p1 bra J;\n\
         st.global.u32 [%a1+12], %v3; st.global.u32 [%a1+16], %v1; st.global.u32 [%a1+20], %v2; J:",
        &["[%a1+8]", "@%p1 bra", "mul.lo", "[%a1+12]"],
    );
}

/// The numbers of the thread and of its block would have to live on instead of one product.
#[test]
fn what_reads_special_registers_takes_registers() {
    comes_out_in_order(
        "mov.u32 %v4, %tid.x; mov.u32 %v5, %ctaid.x; mul.lo.u32 %v3, %v4, %v5; @%p1 bra J; st.global.u32 [%a1+8], %v3; J:",
        &["mul.lo", "@%p1 bra"],
    );
}

/// Both are read in the block at whose end the product would stand, and nowhere after it: the product is one register, they are two.
#[test]
fn what_is_read_for_the_last_time_before_the_place_would_be_kept_for_it() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, %v2; @%p1 bra J; st.global.u32 [%a1+8], %v1; st.global.u32 [%a1+12], %v2; @%p2 bra M;\n\
         st.global.u32 [%a1+16], %v3; bra J; M: st.global.u32 [%a1+20], %v3; J:",
        &["mul.lo", "@%p1 bra"],
    );
}

/// The block reads it before its call, and so does the next one.
#[test]
fn what_a_block_and_the_next_one_read_stands_before_the_first_of_them() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, 77; @%p1 bra J; st.global.u32 [%a1+8], %v3; call f; @%p2 bra J;\n\
         st.global.u32 [%a1+12], %v3; J:",
        &["@%p1 bra", "mul.lo", "[%a1+8]", "call"],
    );
}

#[test]
fn an_entry_of_a_table_is_an_arm() {
    comes_out_in_order(
        "mul.lo.u32 %v3, %v1, 77; T: .branchtargets A, B; and.b32 %v4, %v2, 1; brx.idx %v4, T;\n\
         A: st.global.u32 [%a1+8], %v3; B: st.global.u32 [%a1+12], %v1;",
        &["brx.idx", "mul.lo", "[%a1+8]"],
    );
}

/// Two ways out of a loop lead to the place, so that none of them is an arm; but it is left once only.
#[test]
fn what_is_read_where_the_ways_out_of_a_loop_meet_leaves_it() {
    comes_out_in_order(
        "mov.u32 %v5, 0; H: mul.lo.u32 %v3, %v1, 77; add.u32 %v5, %v5, 1; @%p1 bra OUT; setp.lt.u32 %p2, %v5, %v2;\n\
         @%p2 bra H; OUT: st.global.u32 [%a1+8], %v3; st.global.u32 [%a1+12], %v1;",
        &["@%p2 bra", "mul.lo", "[%a1+8]"],
    );
}

/// It goes before the loop that reads it, and stays in the one in which its operand is loaded.
#[test]
fn a_value_of_an_outer_loop_goes_before_the_inner_one() {
    comes_out_in_order(
        "mov.u32 %v5, 0; mov.u32 %v7, 0; H: ld.volatile.global.u32 %v8, [%a1]; mul.lo.u32 %v3, %v8, 77; @%p1 bra J;\n\
         mov.u32 %v6, 0; st.global.u32 [%a1+8], %v5; I: add.u32 %v7, %v7, %v3; add.u32 %v6, %v6, 1;\n\
         setp.lt.u32 %p2, %v6, %v5; @%p2 bra I; J: add.u32 %v5, %v5, 1; setp.lt.u32 %p2, %v5, %v2; @%p2 bra H;\n\
         st.global.u32 [%a1+12], %v7;",
        &["ld.volatile", "@%p1 bra", "mul.lo", "add.u32 %v7"],
    );
}

#[test]
fn nothing_is_said_of_limits_that_are_not_reached() {
    let text =
        format!("{HEAD}{}", kernel("mul.lo.u32 %v3, %v1, 77; @%p1 bra J; st.global.u32 [%a1+8], %v3; J:"));
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &build_ssa::PHASE, &PHASE]);
    assert!(output.steps[2].changes > 0);
    assert!(output.remarks.iter().all(|remark| remark.kind != RemarkKind::Missed), "{:?}", output.remarks);
}
