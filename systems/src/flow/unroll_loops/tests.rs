//! Where the limits of unrolling lie: counted by hand, and found by making kernels longer.

use super::PHASE;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::ssa::promote_locals;

/// The kernel that has so many copies that nobody needs, and then this body; whether none of its branches leads to L any more.
fn is_unrolled(copies: usize, body: &str) -> bool {
    let copies = "mov.b32 %r9, %r2;\n".repeat(copies);
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{{\n\
         .local .align 16 .b8 depot[64];\n.reg .pred %p<4>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<9>;\n.reg .b64 %SP;\n.reg .b32 %i;\n\
         .reg .b32 %j;\n.reg .b32 %n;\n\
         mov.b64 %rd8, depot;\ncvta.local.u64 %SP, %rd8;\nld.param.u64 %rd1, [out];\nld.global.u32 %r2, [%rd1];\n\
         ld.global.u32 %n, [%rd1];\n{copies}{body}st.global.u32 [%rd1+4], %r1;\nret;\n}}\n"
    );
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &promote_locals::PHASE, &PHASE]);
    for function in &output.functions {
        assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    }
    !String::from_utf8(output.text).unwrap().contains("bra L;")
}

/// The fewest copies with which a loop is unrolled, if thirty are enough.
fn copies_for(body: &str) -> Option<usize> {
    let fewest = (0..30).find(|&copies| is_unrolled(copies, body));
    assert!(fewest.is_none_or(|fewest| (fewest..30).all(|copies| is_unrolled(copies, body))));
    fewest
}

/// What stands around the loop: 7 instructions before and after it, the first value of the counter, a load and another one.
const STAYS_AROUND: usize = 7 + 1 + 2;

/// A loop of four rounds that leave the instructions of `round` each, which may name the counter %i and set %r3.
fn four_rounds(round: &str) -> String {
    format!(
        "mov.b32 %i, 0;\nL: setp.gt.u32 %p1, %i, 3;\n@%p1 bra D;\nmul.wide.u32 %rd2, %i, 4;\nadd.s64 %rd3, %SP, %rd2;\n\
         {round}st.b32 [%rd3], %r3;\nadd.u32 %i, %i, 1;\nbra L;\nD: ld.b32 %r4, [%SP];\nadd.u32 %r1, %r4, %r2;\n"
    )
}

/// The instructions of such a loop that do not come from `round`: comparison, branch, address, store, sum, jump.
const OF_LOOP: usize = 7;

/// Checks how many copies a loop of four rounds needs, each of which comes with `given` instructions and keeps `kept`.
fn check(round: &str, given: usize, kept: usize) {
    let (before, after) = (STAYS_AROUND + OF_LOOP + given, STAYS_AROUND + 4 * kept);
    assert_eq!(copies_for(&four_rounds(round)), Some(after.saturating_sub(before)), "{round}");
}

#[test]
fn the_function_gets_no_longer_than_it_was() {
    check("add.u32 %r3, %r2, %i;\n", 1, 1);
    let four =
        "xor.b32 %r5, %r2, %i;\nadd.u32 %r6, %r5, %r5;\nxor.b32 %r7, %r6, %r2;\nadd.u32 %r3, %r7, %r6;\n";
    check(four, 4, 4);
    let five = format!("{four}add.u32 %r3, %r3, %r2;\n");
    check(&five, 5, 5);
}

/// A copy and a jump go, and so does what is the same in all threads and all runs.
#[test]
fn what_goes_anyway_is_not_counted() {
    let four =
        "xor.b32 %r5, %r2, %i;\nadd.u32 %r6, %r5, %r5;\nxor.b32 %r7, %r6, %r2;\nadd.u32 %r8, %r7, %r6;\n";
    check(&format!("{four}mov.b32 %r3, %r8;\n"), 5, 4);
    check(&format!("{four}mul.lo.u32 %r10, %i, 3;\nadd.u32 %r3, %r8, %r10;\n"), 6, 5);
    check(&format!("{four}mov.b32 %r3, %r8;\nbra M;\nM:\n"), 6, 4);
    // A constant is moved into a register once a round, and that goes too.
    check(&format!("{four}mov.b32 %r3, 7;\nadd.u32 %r3, %r3, %r8;\n"), 6, 5);
}

/// Under a guard a copy stays; a branch that is known goes, one that is not stays.
#[test]
fn what_a_guard_decides_is_counted_where_it_stays() {
    let three = "xor.b32 %r5, %r2, %i;\nadd.u32 %r6, %r5, %r5;\nxor.b32 %r3, %r6, %r2;\n";
    check(&format!("{three}setp.eq.u32 %p2, %r2, 9;\n@%p2 mov.b32 %r3, %r5;\n"), 5, 5);
    check(&format!("{three}setp.eq.u32 %p2, %i, 9;\n@%p2 bra M;\nadd.u32 %r3, %r3, %r2;\nM:\n"), 6, 4);
    check(&format!("{three}setp.eq.u32 %p2, %r2, 9;\n@%p2 bra M;\nadd.u32 %r3, %r3, %r2;\nM:\n"), 6, 6);
}

/// The header of each loop that stays one looks at all that it holds: with a dozen of them in one another that is too much.
#[test]
fn loops_in_one_another_are_not_looked_at_for_ever() {
    let nest = |depth: usize| {
        let front: String = (0..depth)
            .map(|level| format!("mov.u32 %j, 0;\nH{level}: xor.b32 %r1, %r1, {level};\n"))
            .collect();
        let back = |level| format!("add.u32 %j, %j, 1;\nsetp.lt.u32 %p2, %j, %n;\n@%p2 bra H{level};\n");
        let back: String = (0..depth).rev().map(back).collect();
        format!(
            "mov.u32 %r1, 0;\nmov.u32 %i, 0;\nL: mul.wide.u32 %rd2, %i, 4;\nadd.s64 %rd3, %SP, %rd2;\nst.b32 [%rd3], %r1;\n{front}{back}\
             add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 2;\n@%p1 bra L;\nld.b32 %r4, [%SP+4];\nadd.u32 %r1, %r1, %r4;\n"
        )
    };
    assert!(is_unrolled(100, &nest(2)));
    assert!(is_unrolled(100, &nest(4)));
    assert!(!is_unrolled(400, &nest(64)));
}

/// Where each round begins as the one before, no number of rounds ends the loop.
#[test]
fn a_loop_that_data_ends_is_given_up() {
    let body = "mov.b32 %i, 0;\nmov.b32 %j, 0;\nL: mul.wide.u32 %rd2, %i, 4;\nadd.s64 %rd3, %SP, %rd2;\nst.b32 [%rd3], %r2;\n\
                ld.global.u32 %j, [%rd1+8];\nsetp.lt.u32 %p1, %j, %n;\n@%p1 bra L;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 3;\n\
                @%p1 bra L;\nld.b32 %r4, [%SP];\nadd.u32 %r1, %r4, %r2;\n";
    assert!(!is_unrolled(200, body));
}
