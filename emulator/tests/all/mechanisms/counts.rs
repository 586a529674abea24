//! What a launch is said to issue.

use super::{kernel, load};
use ptxopt_emulator::{Argument, Count, Launch, Options, run_counted};

/// What the instructions of `body`, for 32 threads, issue and activate, beside those that every kernel here begins with.
fn count_of(body: &str) -> (u64, u64) {
    let of = |text: &str| {
        let module = load(text);
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            shared_bytes: 0,
            args: vec![Argument::Buffer(vec![0; 4 * 256])],
        };
        run_counted(&module, &launch, &Options::default()).1
    };
    let (whole, head) = (of(&kernel(body)), of(&kernel("ret;")));
    assert_eq!(head.lanes, 32 * head.issued);
    let Count { issued, lanes } = whole;
    (issued + 1 - head.issued, lanes + 32 - head.lanes)
}

#[test]
fn straight_code_is_issued_once_a_warp() {
    assert_eq!(count_of("mov.u32 %r1, 1; mov.u32 %r2, 2; ret;"), (3, 96));
    // A guard leaves the instruction there.
    assert_eq!(count_of("setp.lt.u32 %p1, %t, 5; @%p1 mov.u32 %r2, 2; ret;"), (3, 96));
}

#[test]
fn both_arms_are_issued_where_threads_go_both_ways_and_the_rest_once() {
    let arms = |bound: u32| {
        format!(
            "setp.lt.u32 %p1, %t, {bound}; @%p1 bra low;
             mov.u32 %r1, 1; mov.u32 %r1, 2; bra join;
             low: mov.u32 %r1, 3;
             join: mov.u32 %r2, %r1; ret;"
        )
    };
    assert_eq!(count_of(&arms(8)), (2 + 3 + 1 + 2, 2 * 32 + 3 * 24 + 8 + 2 * 32));
    assert_eq!(count_of(&arms(32)), (2 + 1 + 2, 5 * 32));
    assert_eq!(count_of(&arms(0)), (2 + 3 + 2, 7 * 32));
}

/// The arm stands after the end: the emulator runs what follows the join first, and for each side.
#[test]
fn the_order_of_the_text_does_not_matter() {
    let body = "setp.lt.u32 %p1, %t, 8; @%p1 bra low;
        mov.u32 %r1, 1; mov.u32 %r1, 2; bra join;
        join: mov.u32 %r2, %r1; ret;
        low: mov.u32 %r1, 3; bra join;";
    assert_eq!(count_of(body), (2 + 3 + 2 + 2, 2 * 32 + 3 * 24 + 2 * 8 + 2 * 32));
}

#[test]
fn a_round_is_issued_while_a_thread_is_left() {
    // Thread t runs t + 1 rounds of three.
    let body = "mov.u32 %r1, 0;
        round: add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %t; @%p1 bra round;
        mov.u32 %r2, 1; ret;";
    let rounds: u64 = (1..=32).sum();
    assert_eq!(count_of(body), (1 + 3 * 32 + 2, 32 + 3 * rounds + 64));
}

/// Odd threads go back from one place, even ones from another, and both may leave there: they never meet inside of the loop.
#[test]
fn two_latches_keep_threads_apart_and_one_brings_them_together() {
    let head = "mov.u32 %r1, 0; and.b32 %r2, %t, 1; setp.eq.u32 %p2, %r2, 1;
        round: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4;";
    let two = format!(
        "{head} @%p2 bra odd; mov.u32 %r3, 1; @%p1 bra round; bra out; odd: @%p1 bra round; out: ret;"
    );
    let (odd, even) = (1 + 3 * (3 + 1), 2 + 3 * (3 + 2) + 1);
    assert_eq!(count_of(&two).0, 3 + 3 + odd + even + 1);
    let one = format!("{head} @%p2 bra latch; mov.u32 %r3, 1; latch: @%p1 bra round; ret;");
    assert_eq!(count_of(&one).0, 3 + 4 * (3 + 1 + 1) + 1);
}

#[test]
fn a_thread_that_ends_keeps_nobody_waiting() {
    let body = "setp.lt.u32 %p1, %t, 8; @%p1 bra low;
        mov.u32 %r1, 1; bra join;
        low: setp.lt.u32 %p2, %t, 4; @%p2 exit;
        join: mov.u32 %r2, %r1; ret;";
    assert_eq!(count_of(body), (2 + 2 + 2 + 2, 2 * 32 + 2 * 24 + 2 * 8 + 2 * 28));
}

#[test]
fn waiting_is_issued_once() {
    let body = "setp.lt.u32 %p1, %t, 8; @%p1 bra low;
        mov.u32 %r1, 1;
        low: bar.warp.sync -1; bar.sync 0; ret;";
    assert_eq!(count_of(body), (2 + 1 + 3, 2 * 32 + 24 + 3 * 32));
}

#[test]
fn a_table_sends_threads_several_ways() {
    let body = "and.b32 %r1, %t, 3; ways: .branchtargets a, b, c, c;
        brx.idx %r1, ways;
        a: mov.u32 %r2, 1; bra join;
        b: mov.u32 %r2, 2; bra join;
        c: mov.u32 %r2, 3;
        join: ret;";
    assert_eq!(count_of(body), (2 + 2 + 2 + 1 + 1, 2 * 32 + 16 + 16 + 16 + 32));
}

#[test]
fn threads_that_called_together_are_together_after_it() {
    let function =
        ".func f(.reg .b32 %a) { .reg .pred %q; setp.lt.u32 %q, %a, 8; @%q ret; mov.u32 %a, 1; ret; }";
    let body = "call f, (%t); mov.u32 %r1, 1; ret;";
    let text = kernel(body).replacen(".visible .entry", &format!("{function}\n.visible .entry"), 1);
    let module = load(&text);
    let args = vec![Argument::Buffer(vec![0; 4 * 256])];
    let launch = Launch { entry: "k".to_owned(), grid: [3, 1, 1], block: [64, 1, 1], shared_bytes: 0, args };
    let (_, called) = run_counted(&module, &launch, &Options::default());
    let plain = kernel("mov.u32 %r1, 1; ret;");
    let module = load(&plain);
    let (_, plain) = run_counted(&module, &launch, &Options::default());
    // Two warps a CTA; the first of them splits in the function.
    assert_eq!(called.issued - plain.issued, 6 * (1 + 4));
    assert_eq!(called.lanes - plain.lanes, 6 * 32 * (1 + 4) - 3 * 2 * 8);
    assert!(called.lanes_per_issue().is_some_and(|lanes| lanes < 32.0));
}

/// The lower half comes to the product first, and waits there for the upper one.
#[test]
fn waiting_at_a_matrix_is_issued_once() {
    let body = ".reg .f64 %d<3>; setp.lt.u32 %p1, %t, 16; @!%p1 bra far;
        near: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d0}, {%d0}, {%d0, %d0}; ret;
        far: mov.u32 %r1, 1; bra near;";
    assert_eq!(count_of(body), (2 + 2 + 2, 2 * 32 + 2 * 16 + 2 * 32));
}

#[test]
fn lanes_of_an_issue_are_a_mean() {
    assert_eq!(Count { issued: 4, lanes: 90 }.lanes_per_issue(), Some(22.5));
    assert_eq!(Count::default().lanes_per_issue(), None);
}
