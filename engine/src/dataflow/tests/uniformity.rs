//! Uniformity on kernels of a few lines: which registers all threads of a warp share.

use super::Built;
use crate::dataflow::uniformity::{SameThreads, Scratch, Uniformity, count, solve};
use crate::graph::edges::Graph;
use crate::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_components::ids::Id;

fn nest_of(built: &Built) -> LoopNest {
    let function = built.function();
    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
    let mut nest = LoopNest::default();
    build_nest(graph, function.blocks, function.orders, &mut NestScratch::default(), &mut nest);
    nest
}

fn verdicts(built: &Built) -> Uniformity {
    let (nest, set, mut verdicts) = (nest_of(built), built.live_set(), Uniformity::default());
    solve(&built.function(), &built.forms, &nest, &set, &mut Scratch::default(), &mut verdicts);
    verdicts
}

/// Checks the verdicts on registers of a kernel with `body`.
#[track_caller]
fn expect(body: &str, uniform: &[&str], divergent: &[&str]) {
    let built = Built::kernel(body);
    let verdicts = verdicts(&built);
    for name in uniform {
        assert!(verdicts.is_uniform(built.vreg(name)), "{name} is uniform in {body}");
    }
    for name in divergent {
        assert!(!verdicts.is_uniform(built.vreg(name)), "{name} is divergent in {body}");
    }
}

#[test]
fn sources_and_what_follows_from_them() {
    expect(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u32 %r3, [n]; add.u32 %r4, %r2, %r3; \
         add.u32 %r5, %r4, %r1; mov.u32 %r6, %laneid; mov.u32 %r7, %ntid.x; mov.u32 %r8, %clock;",
        &["%r2", "%r3", "%r4", "%r7"],
        &["%r1", "%r5", "%r6", "%r8"],
    );
}

#[test]
fn loads_are_as_their_addresses_and_atomics_are_not() {
    expect(
        "mov.u64 %rd1, g; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; \
         ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd2]; atom.global.add.u32 %r4, [%rd1], 1; \
         ld.volatile.global.u32 %r5, [%rd1]; ld.global.nc.u32 %r6, [%rd1]; ld.u32 %r7, [%rd1];",
        &["%rd1", "%r2", "%r6"],
        &["%rd2", "%r3", "%r4", "%r5", "%r7"],
    );
}

#[test]
fn a_divergent_guard_makes_the_result_divergent() {
    let setup =
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; ld.param.u32 %r2, [n]; setp.lt.u32 %p2, %r2, 9;";
    expect(
        &format!("{setup} mov.u32 %r3, 7; @%p1 mov.u32 %r3, 8; mov.u32 %r4, 7; @%p2 mov.u32 %r4, 8;"),
        &["%p2", "%r4"],
        &["%p1", "%r3"],
    );
}

#[test]
fn what_joins_after_a_divergent_branch_is_divergent() {
    let arms = |predicate: &str| {
        format!(
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; ld.param.u32 %r2, [n]; setp.lt.u32 %p2, %r2, 9; \
             mov.u32 %r5, 3; @{predicate} bra B1; B2: mov.u32 %r3, 7; add.u32 %r4, %r5, 1; st.global.u32 [g], %r4; \
             bra B3; B1: mov.u32 %r3, 8; B3: st.global.u32 [g], %r3; st.global.u32 [g], %r5;"
        )
    };
    expect(&arms("%p1"), &["%r4", "%r5"], &["%r3"]);
    expect(&arms("%p2"), &["%r3", "%r4", "%r5"], &["%p1"]);
}

#[test]
fn a_register_that_dies_before_the_join_stays_uniform() {
    expect(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; @%p1 bra B1; B2: mov.u32 %r3, 7; st.global.u32 [g], %r3; \
         bra B3; B1: mov.u32 %r3, 8; st.global.u32 [g], %r3; B3: st.global.u32 [g], %r1;",
        &["%r3"],
        &["%r1"],
    );
}

#[test]
fn what_leaves_a_loop_in_different_rounds_is_divergent() {
    let count = |bound: &str, after: &str| {
        format!(
            "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; mov.u32 %r3, 0; \
             B1: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {bound}; @%p1 bra B1; B2: {after}"
        )
    };
    expect(&count("%r1", "st.global.u32 [g], %r3;"), &["%r2"], &["%r3", "%p1"]);
    expect(&count("%r1", ""), &["%r3"], &["%p1"]);
    expect(&count("%r2", "st.global.u32 [g], %r3;"), &["%r3", "%p1"], &["%r1"]);
}

#[test]
fn votes_and_shuffles_tell_everyone_the_same() {
    expect(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; vote.sync.ballot.b32 %r2, %p1, -1; \
         shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1; \
         shfl.sync.idx.b32 %r5, %r1, %r1, 31, -1; redux.sync.add.u32 %r6, %r1, -1; elect.sync %r7|%p2, -1; \
         match.any.sync.b32 %r8, %r1, -1; activemask.b32 %r9;",
        &["%r2", "%r3", "%r6", "%r7"],
        &["%r4", "%r5", "%p2", "%r8", "%r9"],
    );
}

#[test]
fn a_vote_that_only_some_take_part_in_is_divergent() {
    expect(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; @%p1 vote.sync.ballot.b32 %r2, %p1, -1; \
         mov.u32 %r3, -1; vote.sync.ballot.b32 %r4, %p1, %r1;",
        &["%r3"],
        &["%r2", "%r4"],
    );
}

#[test]
fn a_plain_load_is_uniform_only_where_threads_came_together() {
    let body = |between: &str| {
        format!(
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; @%p1 bra B1; B2: st.global.u32 [g], %r1; \
             B1: {between} ld.global.u32 %r2, [g]; st.global.u32 [g], %r2;"
        )
    };
    expect(&body(""), &[], &["%r2"]);
    expect(&body("bar.sync 0;"), &["%r2"], &["%r1"]);
    expect(&body("bar.warp.sync -1;"), &["%r2"], &["%r1"]);
    expect(&body("bar.warp.sync 3;"), &[], &["%r2"]);
    expect(&body("bar.warp.sync %r1;"), &[], &["%r2"]);
}

#[test]
fn in_a_function_with_a_cycle_of_two_entries_what_lives_across_blocks_is_divergent() {
    expect(
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 9; @%p1 bra B1; bra B2; \
         B1: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 20; @%p2 bra B2; B3: ret; \
         B2: add.u32 %r1, %r1, 2; mov.u32 %r3, %nctaid.x; setp.lt.u32 %p2, %r1, 30; @%p2 bra B1;",
        &[],
        &["%r1"],
    );
}

/// A kernel with registers `%v0` to `%v<count>`, in whose body `%r1` is the thread's number and `%r2` a parameter.
fn large(count: usize, body: &str) -> Built {
    Built::of_module(format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;\n.entry k(.param .u32 n)\n{{\n.reg .pred %p<3>; \
         .reg .b32 %r<4>; .reg .b32 %v<{count}>;\nmov.u32 %r1, %tid.x; ld.param.u32 %r2, [n];\n{body}\nret;\n}}\n"
    ))
}

/// A loop that defines `count` registers and has as many exits besides its end, after which the last of the registers is read.
fn loop_with_exits(count: usize) -> Built {
    use std::fmt::Write;
    let mut body = "mov.u32 %r3, 0; L: add.u32 %r3, %r3, 1;".to_owned();
    for n in 0..count {
        write!(body, "add.u32 %v{n}, %r2, {n}; setp.eq.u32 %p1, %r1, {n}; @%p1 bra X{n};").unwrap();
    }
    (0..count).for_each(|n| write!(body, "st.global.u32 [g], %v{n};").unwrap());
    body.push_str("setp.lt.u32 %p2, %r3, %r2; @%p2 bra L; bra E;");
    (0..count).for_each(|n| write!(body, "X{n}: st.global.u32 [g], %r2;").unwrap());
    write!(body, "E: st.global.u32 [g], %v{};", count - 1).unwrap();
    large(count, &body)
}

#[test]
fn what_a_loop_with_many_exits_defines_is_divergent_where_it_lives_after_one_of_them() {
    let built = loop_with_exits(60);
    let verdicts = verdicts(&built);
    assert!(!count(&built.function(), &built.forms, &verdicts).is_tangled);
    assert!(verdicts.is_uniform(built.vreg("%v0")) && verdicts.is_uniform(built.vreg("%v58")));
    assert!(!verdicts.is_uniform(built.vreg("%v59")) && verdicts.is_uniform(built.vreg("%r3")));
}

#[test]
fn where_looking_at_all_exits_takes_too_long_what_lives_across_blocks_is_divergent() {
    let built = loop_with_exits(900);
    let verdicts = verdicts(&built);
    assert!(count(&built.function(), &built.forms, &verdicts).is_tangled);
    for name in ["%v0", "%v898", "%v899", "%r3"] {
        assert!(!verdicts.is_uniform(built.vreg(name)), "{name}");
    }
}

#[test]
fn where_definitions_meet_in_too_many_places_what_lives_across_blocks_is_divergent() {
    // Each of the registers is written again before a table of blocks, which lie after another table, too.
    let built = |count: usize| {
        let each = |text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
        let body = format!(
            "{} ways: .branchtargets E{}; setp.eq.u32 %p1, %r1, 3; @%p1 bra B; brx.idx %r2, ways; B: {} brx.idx %r2, ways; {} E: {}",
            each(&|n| format!("mov.u32 %v{n}, {n};")),
            each(&|n| format!(", X{n}")),
            each(&|n| format!("add.u32 %v{n}, %v{n}, 1;")),
            each(&|n| format!("X{n}: st.global.u32 [g], {n};")),
            each(&|n| format!("st.global.u32 [g], %v{n};")),
        );
        large(count, &body)
    };
    for (size, is_tangled) in [(40, false), (900, true)] {
        let built = built(size);
        let verdicts = verdicts(&built);
        assert_eq!(count(&built.function(), &built.forms, &verdicts).is_tangled, is_tangled);
        assert!(!verdicts.is_uniform(built.vreg("%v0")), "it meets where threads do");
        assert_eq!(verdicts.is_uniform(built.vreg("%r2")), !is_tangled);
    }
}

#[test]
fn branches_go_alike_where_their_guards_are_uniform() {
    let built = Built::kernel(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; ld.param.u32 %r2, [n]; setp.lt.u32 %p2, %r2, 9; \
         @%p2 bra B2; B1: @%p1 bra B3; B2: st.global.u32 [g], %r1; B3: st.global.u32 [g], %r2; @%p1 exit; B4: ret;",
    );
    let (function, verdicts) = (built.function(), verdicts(&built));
    let last = |block| function.insts_of(block).next_back().expect("an instruction");
    let [one, three] = ["B1", "B3"].map(|name| built.block(name));
    assert!(verdicts.block_goes_alike(Id::new(0)) && verdicts.branch_is_uniform(&function, last(Id::new(0))));
    for block in [one, three] {
        assert!(!verdicts.block_goes_alike(block) && !verdicts.branch_is_uniform(&function, last(block)));
    }
    let store = function.insts_of(built.block("B2")).next().expect("a store");
    assert!(verdicts.branch_is_uniform(&function, store), "it is no branch");
    // All threads come to B1, if any do; only some come to B2 and B4.
    assert!(verdicts.is_executed_by_all(one) && verdicts.is_executed_by_all(three));
    assert!(!verdicts.is_executed_by_all(built.block("B2")));
}

#[test]
fn a_meeting_may_move_between_places_that_the_same_threads_come_to() {
    let built = Built::kernel(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 9; @%p1 bra B2; \
         B1: st.global.u32 [g], %r1; bra B3; B2: bar.warp.sync 1; @%p2 bra B4; B5: st.global.u32 [g], %r1; \
         B4: st.global.u32 [g], 3; B3: st.global.u32 [g], 2;",
    );
    let (function, nest, verdicts) = (built.function(), nest_of(&built), verdicts(&built));
    let mut same = SameThreads::default();
    same.compute(&function, &nest);
    let meeting = function.insts_of(built.block("B2")).next().expect("the meeting");
    let may = |name| verdicts.may_move_convergent(&function, &nest, &same, meeting, built.block(name));
    assert_eq!(["B2", "B4"].map(may), [true; 2]);
    assert_eq!(["B1", "B5", "B3"].map(may), [false; 3]);
    assert!(!verdicts.may_move_convergent(&function, &nest, &same, meeting, Id::new(0)));
}
