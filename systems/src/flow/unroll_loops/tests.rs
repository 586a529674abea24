//! Where the limits of unrolling lie: counted by hand, and found by making kernels longer.

use super::PHASE;
use crate::check::tests::run;
use crate::flow::split_at_control_flow;
use crate::flow::tests::FORGETS;
use crate::ssa::promote_locals;
use ptxopt_engine::run::shard::BatchOutput;

/// The kernel that has so many copies that nothing needs, and then this body.
fn kernel(copies: usize, body: &str) -> String {
    let copies = "mov.b32 %r9, %r2;\n".repeat(copies);
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{{\n\
         .local .align 16 .b8 depot[64];\n.reg .pred %p<4>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<9>;\n.reg .b64 %SP;\n.reg .b32 %i;\n\
         .reg .b32 %j;\n.reg .b32 %n;\n\
         mov.b64 %rd8, depot;\ncvta.local.u64 %SP, %rd8;\nld.param.u64 %rd1, [out];\nld.global.u32 %r2, [%rd1];\n\
         ld.global.u32 %n, [%rd1];\n{copies}{body}st.global.u32 [%rd1+4], %r1;\nret;\n}}\n"
    )
}

/// What the phase makes of such a kernel.
fn output(copies: usize, body: &str) -> BatchOutput {
    let text = kernel(copies, body);
    let output = run(text.as_bytes(), &[&split_at_control_flow::PHASE, &promote_locals::PHASE, &PHASE]);
    for function in &output.functions {
        assert_eq!((&function.left, &function.undone[..]), (&None, &[][..]), "{text}");
    }
    output
}

/// Whether none of the branches of such a kernel leads to L any more.
fn is_unrolled(copies: usize, body: &str) -> bool {
    !String::from_utf8(output(copies, body).text).unwrap().contains("bra L;")
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
    check(&format!("{four}mov.b64 %rd4, %rd3;\nmov.b32 %r3, %r8;\n"), 6, 4);
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

/// What copies may take where a function has `count` instructions, blocks or registers: there is room for 212 percent of them and
/// `least` more, and a quarter of that is for later phases.
fn room(count: usize, least: usize) -> usize {
    (least + count * 212 / 100) / 4 * 3
}

/// A loop of so many rounds, which has `round` before the store of %r2.
fn rounds(count: usize, round: &str) -> String {
    format!(
        "mov.b32 %i, 0;\nL: setp.ge.u32 %p1, %i, {count};\n@%p1 bra D;\nmul.wide.u32 %rd2, %i, 4;\nadd.s64 %rd3, %SP, %rd2;\n\
         {round}st.b32 [%rd3], %r2;\nadd.u32 %i, %i, 1;\nbra L;\nD: ld.b32 %r4, [%SP];\nadd.u32 %r1, %r4, %r2;\n"
    )
}

/// A round takes rows for the address, the store, the counter and a jump after each of its two blocks; the header that ends the
/// loop takes one for its jump.
#[test]
fn copies_take_no_more_instructions_than_there_is_room_for() {
    let insts = |copies: usize| STAYS_AROUND + OF_LOOP + copies;
    assert_eq!((room(insts(7), 16), room(insts(8), 16)), (48, 5 * 10 + 1));
    assert!(!is_unrolled(7, &rounds(10, "")));
    assert!(is_unrolled(8, &rounds(10, "")));
    // A byte is stored from a register, so a move comes before the store.
    let byte = rounds(6, "add.u32 %r3, %i, 7;\nst.global.u8 [%rd1+8], %r3;\n");
    let taken = 7 * 6 + 1;
    assert!(room(insts(3), 16) < taken && taken <= room(insts(4), 16));
    assert!(!is_unrolled(1, &byte));
    assert!(is_unrolled(2, &byte));
    // A branch that stays takes a row, and so does the jump after it.
    let branch = rounds(5, "setp.eq.u32 %p2, %r2, 9;\n@%p2 bra M;\nmov.b32 %r3, %n;\nM:\n");
    assert_eq!((room(insts(7), 16), room(insts(8), 16)), (48, 9 * 5 + 6));
    assert!(!is_unrolled(4, &branch));
    assert!(is_unrolled(5, &branch));
}

/// Each of the two loops would fit alone.
#[test]
fn copies_of_two_loops_take_the_same_room() {
    let first = "mov.b32 %i, 0;\nK: setp.ge.u32 %p2, %i, 5;\n@%p2 bra F;\nmul.wide.u32 %rd4, %i, 4;\n\
                 add.s64 %rd5, %SP, %rd4;\nst.b32 [%rd5], %n;\nadd.u32 %i, %i, 1;\nbra K;\nF:\n";
    let both = format!("{first}{}", rounds(5, ""));
    let insts = |copies: usize| STAYS_AROUND + 8 + OF_LOOP + copies;
    let taken = 2 * (5 * 5 + 1);
    assert!(room(insts(1), 16) < taken && taken <= room(insts(2), 16));
    assert!(!is_unrolled(1, &both));
    assert!(is_unrolled(2, &both));
}

/// Each round has a register of its own for the address, and one for what is copied.
#[test]
fn copies_take_no_more_registers_than_there_is_room_for() {
    let copied = "mov.b32 %r3, %n;\n";
    // Five registers of 64 bits, %r1 to %r4, %r9, %i, %n and a predicate.
    assert_eq!((room(13, 8), room(14, 8)), (2 * 12, 27));
    assert!(is_unrolled(30, &rounds(12, copied)));
    assert!(!is_unrolled(30, &rounds(13, copied)));
    let one_more = "mov.b32 %r10, %r2;\n";
    assert!(is_unrolled(30, &format!("{one_more}{}", rounds(13, copied))));
}

/// Each round takes four blocks: one up to the first branch, one for each of its two ways, and one for a jump after the second way.
#[test]
fn copies_take_no_more_blocks_than_there_is_room_for() {
    let zeros: String = (0..5).map(|at| format!("st.b32 [%SP+{}], 0;\n", 4 * at)).collect();
    let round = "add.u32 %r3, %r2, %i;\nsetp.eq.u32 %p2, %r3, 50;\n@%p2 bra O;\nadd.u32 %r3, %r3, 100;\nbra E;\n\
                 O: add.u32 %r3, %r3, %r2;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bra D;\nE:\n";
    let with_blocks = |count: usize| {
        let more: String = (7..count).map(|at| format!("@%p3 bra M{at};\nM{at}:\n")).collect();
        is_unrolled(300, &format!("{zeros}{more}{}", rounds(5, round)))
    };
    assert_eq!((room(11, 4), room(12, 4)), (18, 4 * 5 + 1));
    assert!(!with_blocks(11));
    assert!(with_blocks(12));
}

/// A loop that is too large is counted.
#[test]
fn limits_are_counted() {
    let hits = |copies| output(copies, &rounds(10, "")).steps[2].limits_hit;
    assert_eq!((hits(7), hits(8)), (1, 0));
}

/// Each copy of an instruction is looked at. At the header of a loop that stays a loop, all its instructions are. Sixteen registers
/// that the nest writes count as an instruction for each copy of a block.
#[test]
fn four_times_the_instructions_of_a_function_are_looked_at() {
    const DEPTH: usize = 12;
    let levels = 0..DEPTH;
    let front: String = levels
        .clone()
        .map(|level| format!("mov.u32 %j, 0;\nH{level}: xor.b32 %r1, %r1, {level};\n"))
        .collect();
    let back: String = levels
        .clone()
        .rev()
        .map(|level| format!("add.u32 %j, %j, 1;\nsetp.lt.u32 %p2, %j, %n;\n@%p2 bra H{level};\n"))
        .collect();
    let writes: String = (10..22).map(|number| format!("mov.b32 %r{number}, %r2;\n")).collect();
    // Room for blocks.
    let more: String = (0..8).map(|at| format!("@%p3 bra M{at};\nM{at}:\n")).collect();
    let body = format!(
        "{more}mov.u32 %r1, 0;\nmov.u32 %i, 0;\nL: mul.wide.u32 %rd2, %i, 4;\nadd.s64 %rd3, %SP, %rd2;\nst.b32 [%rd3], %r1;\n\
         {writes}{front}{back}add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 2;\n@%p1 bra L;\nld.b32 %r4, [%SP+4];\n\
         add.u32 %r1, %r1, %r4;\n"
    );
    let (insts_of_round, blocks) = (3 + 12 + 5 * DEPTH + 3, 1 + 2 * DEPTH);
    let in_inner_loops: usize = levels.map(|level| 5 * (DEPTH - level) - 1).sum();
    // The nest writes %rd2, %rd3, %i, %j, %r1, two predicates and twelve more registers.
    let states = 19 / 16;
    let looks = blocks + 2 * (insts_of_round + in_inner_loops + blocks * states);
    let insts = 7 + 8 + 2 + insts_of_round + 2;
    let fewest = looks.div_ceil(4) - insts;
    assert!(!is_unrolled(fewest - 1, &body));
    assert!(is_unrolled(fewest, &body));
}

#[test]
fn loops_are_left_alone_until_blocks_end_at_branches() {
    let text = kernel(8, &rounds(10, ""));
    let split = &split_at_control_flow::PHASE;
    let output = run(text.as_bytes(), &[split, &promote_locals::PHASE, &FORGETS, &PHASE]);
    assert_eq!(output.steps[3].changes, 0);
}
