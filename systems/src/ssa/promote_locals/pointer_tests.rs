//! Stored addresses: which loads give one back, and which variables escape where that is not certain.

use super::PHASE;
use crate::check::tests::{plan, run_plan};
use crate::flow::split_at_control_flow;
use ptxopt_engine::run::log::RemarkKind;
use ptxopt_engine::run::phase::{Plan, Verify};

/// `%d1` and `%d2` are the addresses of `a` and `b`, `%d9` one in global memory.
const DECLARED: &str = ".local .align 16 .b8 q[32], p[32], a[8], b[8]; .reg .b64 %d<10>; .reg .b32 %r<10>; .reg .pred %c; \
                        ld.param.u64 %d9, [out]; mov.u64 %d1, a; mov.u64 %d2, b;";

/// What is done with `a`: it goes where it does not escape.
const OF_A: &str = "st.local.u32 [a], 7; ld.local.u32 %r1, [a]; st.global.u32 [%d9], %r1;";

/// Loads and stores of local memory that are left of a body, and how often too many ways led to loads.
fn left_of(body: &str) -> (usize, usize) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {{ {DECLARED}\n{body}\n{OF_A} ret; }}\n"
    );
    let plan = plan(&[&split_at_control_flow::PHASE, &PHASE]);
    let output = run_plan(text.as_bytes(), Plan { checks: &[], verify: Verify::Off, ..plan });
    let missed = output.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missed);
    let of_ways = missed.filter(|remark| remark.reason.contains("too many ways")).count();
    let text = String::from_utf8(output.text).unwrap();
    let is_access = |line: &&str| line.contains(".local") && (line.contains("ld.") || line.contains("st."));
    (text.lines().filter(is_access).count(), of_ways)
}

/// Bodies after which nothing is left in memory.
#[test]
fn what_is_certain_becomes_registers() {
    let bodies = [
        // The address comes back.
        "st.local.u64 [p], %d1; ld.local.u64 %d3, [p]; st.local.u32 [%d3], 9;",
        // It does after a number, and a number does after it: a store of both halves leaves nothing of it.
        "st.local.u64 [p], 0; st.local.u64 [p], %d1; ld.local.u64 %d3, [p]; st.local.u32 [%d3], 9;",
        "st.local.u64 [p], %d1; st.local.v2.u64 [p], {0, 0}; ld.local.u64 %d3, [p]; st.global.u64 [%d9], %d3;",
        // What is stored before it and behind it, or as far into another variable, is elsewhere.
        "st.local.u64 [p+8], %d1; st.local.u64 [p], 5; st.local.u64 [p+16], 6; ld.local.u64 %d3, [p+8]; st.local.u32 [%d3], 9;",
        "st.local.u64 [p], %d1; st.local.u64 [q+8], 5; ld.local.u64 %d4, [q+8]; ld.local.u64 %d3, [p]; \
         st.local.u32 [%d3], 9; st.global.u64 [%d9], %d4;",
        // A store that begins before others, all of which end before the place, writes it.
        "st.local.u64 [p+8], %d1; st.local.v2.u64 [p], {0, 0}; st.local.u8 [p+1], 3; ld.local.u64 %d3, [p+8]; \
         st.global.u64 [%d9], %d3;",
        // One that ends where the place begins writes none of it, beside a longer one that does.
        "st.local.v2.u64 [p], {0, 0}; st.local.u64 [p+8], %d1; st.local.u32 [p+4], 5; ld.local.u64 %d3, [p+8]; st.local.u32 [%d3], 9;",
        // What nothing was stored to may hold anything, the address too.
        "ld.local.u64 %d3, [p]; st.local.u32 [%d3], 9; st.local.u64 [p], %d1;",
        // One of two ways: the number is none, and the load on the other way is asked for itself.
        "st.local.u64 [p], 0; setp.eq.u64 %c, %d9, 0; @%c bra B; st.local.u64 [p], %d1; ld.local.u64 %d3, [p]; \
         st.local.u32 [%d3], 9; bra C; B: ld.local.u64 %d4, [p]; st.global.u64 [%d9], %d4; C:",
    ];
    for body in bodies {
        assert_eq!(left_of(body), (0, 0), "{body}");
    }
}

/// Bodies after which `a` is left in memory, and how many accesses are left there.
#[test]
fn what_is_not_certain_lets_the_variable_escape() {
    let bodies = [
        // Half of an address, loaded or stored.
        (
            "st.local.u64 [p], %d1; ld.local.u32 %r2, [p]; ld.local.u32 %r3, [%r2]; st.global.u32 [%d9], %r3;",
            3,
        ),
        (
            "st.local.u32 [p], %d1; ld.local.u32 %r2, [p]; ld.local.u32 %r3, [%r2]; st.global.u32 [%d9], %r3;",
            3,
        ),
        (
            "st.local.u32 [p], %d1; ld.local.u32 %d3, [p]; ld.local.u32 %r3, [%d3]; st.global.u32 [%d9], %r3;",
            3,
        ),
        // All of an address of 32 bits, loaded into a wider register, or in half of one of 64.
        ("mov.u32 %r5, a; st.local.u32 [p], %r5; ld.local.u32 %d3, [p]; st.local.u32 [%d3], 9;", 3),
        (
            "st.local.u64 [p], %d1; mov.u32 %r5, a; st.local.u32 [p], %r5; ld.local.u64 %d3, [p]; st.local.u32 [%d3], 9;",
            3,
        ),
        // A number in half of it.
        ("st.local.u64 [p], %d1; st.local.u32 [p], 0; ld.local.u64 %d3, [p]; st.global.u64 [%d9], %d3;", 2),
        // An address and a number, loaded at once.
        (
            "st.local.u64 [p], %d1; st.local.u64 [p+8], 0; ld.local.v2.u64 {%d3, %d4}, [p]; st.global.u64 [%d9], %d4;",
            2,
        ),
        // An access that stays: what it stores or loads is what it is.
        (
            "st.local.u64 [p], %d1; ld.volatile.local.u64 %d3, [p]; ld.local.u32 %r3, [%d3]; st.global.u32 [%d9], %r3;",
            5,
        ),
        (
            "st.local.u64 [p], %d1; st.volatile.local.u64 [p], 0; ld.local.u64 %d3, [p]; st.global.u64 [%d9], %d3;",
            5,
        ),
        // The address or a number.
        (
            "st.local.u64 [p], 0; setp.eq.u64 %c, %d9, 0; @%c bra B; st.local.u64 [p], %d1; \
             B: ld.local.u64 %d3, [p]; st.global.u64 [%d9], %d3;",
            2,
        ),
        (
            "st.local.u64 [p], 0; setp.eq.u64 %c, %d9, 0; @%c st.local.u64 [p], %d1; ld.local.u64 %d3, [p]; st.global.u64 [%d9], %d3;",
            2,
        ),
    ];
    for (body, left) in bodies {
        assert_eq!(left_of(body), (left, 0), "{body}");
    }
}

/// `p` escapes, and with it what is stored there; `b`, which lies in `q`, does not.
#[test]
fn what_lies_in_a_variable_that_escapes_does_too() {
    let body = "mov.u64 %d5, p; st.global.u64 [%d9], %d5; st.local.u64 [p], %d1; st.local.u64 [q], %d2; \
                ld.local.u64 %d3, [q]; st.local.u32 [%d3], 9; ld.local.u32 %r2, [b]; st.global.u32 [%d9], %r2;";
    assert_eq!(left_of(body), (3, 0), "the store to `p` and both accesses to `a`");
}

/// A chain of so many blocks, each of which loads what the first one stored.
fn chain(blocks: usize) -> String {
    let loads = (0..blocks).map(|at| format!("L{at}: ld.local.u64 %d3, [p]; @%c bra L{at};\n"));
    let stores = "setp.eq.u64 %c, %d9, 0; st.local.u64 [p], 0; st.local.u64 [p], %d1;\n";
    stores.to_owned() + &loads.collect::<String>()
}

#[test]
fn too_many_ways_to_loads_are_told_of() {
    assert_eq!(left_of(&chain(20)), (0, 0));
    let (left, of_ways) = left_of(&chain(600));
    assert_eq!((left, of_ways), (2, 1));
}
