//! Asynchronous copies and barriers in memory.

use super::{each, kernel, words};

#[test]
fn copies_are_seen_after_their_wait() {
    let body = ".shared .align 16 .b32 s[64]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;
        add.u32 %r3, %t, 50; st.global.u32 [%own], %r3; st.shared.u32 [%r2], 1; st.shared.u32 [%r2+128], 2;
        cp.async.ca.shared.global [%r2], [%own], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r2+128], [%own], 4; cp.async.commit_group;
        ld.shared.u32 %r4, [%r2]; cp.async.wait_group 1; ld.shared.u32 %r5, [%r2]; ld.shared.u32 %r6, [%r2+128];
        cp.async.wait_all; ld.shared.u32 %r7, [%r2+128];
        mad.lo.u32 %r4, %r5, 100, %r4; mad.lo.u32 %r4, %r6, 10000, %r4; mad.lo.u32 %r4, %r7, 100000, %r4;
        st.global.u32 [%own], %r4; ret;";
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| 1 + (t + 50) * 100 + 20_000 + (t + 50) * 100_000));
}

#[test]
fn short_sources_are_filled_with_zeros() {
    let body = ".shared .align 16 .b32 s[4]; st.global.v4.u32 [%out], {1, 2, 3, 4};
        st.shared.v4.u32 [s], {9, 9, 9, 9}; mov.u32 %r1, s; cp.async.cg.shared.global [%r1], [%out], 16, 8;
        cp.async.wait_all; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s]; st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5};
        ret;";
    assert_eq!(words(&kernel(body), 1, 4), [1, 2, 0, 0]);
}

#[test]
fn a_barrier_in_memory_counts_arrivals() {
    let body =
        ".shared .align 8 .b64 m; .shared .align 4 .b32 s[64]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;
        setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 64; bar.sync 0;
        st.shared.u32 [%r2], %t; mbarrier.arrive.shared.b64 %rd1, [m];
        wait: mbarrier.test_wait.shared.b64 %p2, [m], %rd1; @!%p2 bra wait;
        sub.u32 %r3, 63, %t; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r5, [%r4]; st.global.u32 [%own], %r5;
        mbarrier.arrive.shared.b64 %rd1, [m];
        again: mbarrier.try_wait.parity.shared.b64 %p2, [m], 1; @!%p2 bra again; ret;";
    assert_eq!(words(&kernel(body), 64, 64), each(64, |t| 63 - t));
}

#[test]
fn copies_arrive_at_a_barrier_in_memory() {
    let body =
        ".shared .align 8 .b64 m; .shared .align 4 .b32 s[32]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;
        setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 32; bar.sync 0; st.global.u32 [%own], %t;
        cp.async.ca.shared.global [%r2], [%own], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [m];
        wait: mbarrier.test_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra wait;
        ld.shared.u32 %r3, [%r2]; add.u32 %r3, %r3, 7; st.global.u32 [%own], %r3; ret;";
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| t + 7));
}

/// The upper half of the warp waits first, while what the lower half has started is still to come.
#[test]
fn a_wait_is_for_the_copies_of_the_lanes_that_wait() {
    let body = ".shared .align 4 .b32 s[32]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;
        add.u32 %r3, %t, 50; st.global.u32 [%own], %r3; st.shared.u32 [%r2], 1; setp.lt.u32 %p1, %t, 16;
        cp.async.ca.shared.global [%r2], [%own], 4; @%p1 bra low;
        cp.async.wait_all; ld.shared.u32 %r4, [%r2]; bra join;
        low: ld.shared.u32 %r4, [%r2]; cp.async.wait_all;
        join: ld.shared.u32 %r5, [%r2]; mad.lo.u32 %r5, %r5, 100, %r4; st.global.u32 [%own], %r5; ret;";
    let expected = |t| (t + 50) * 100 + if t < 16 { 1 } else { t + 50 };
    assert_eq!(words(&kernel(body), 32, 32), each(32, expected));
}

#[test]
fn an_ignored_source_is_zeros() {
    let body =
        ".shared .align 4 .b32 s[32]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; setp.lt.u32 %p1, %t, 3;
        st.global.u32 [%own], 7; st.shared.u32 [%r2], 1; cp.async.ca.shared.global [%r2], [%own], 4, %p1;
        cp.async.wait_all; ld.shared.u32 %r4, [%r2]; st.global.u32 [%own], %r4; ret;";
    assert_eq!(words(&kernel(body), 8, 8), each(8, |t| if t < 3 { 0 } else { 7 }));
}

/// What one thread does with an object in `m`, and whether the phase with parity 0 is over after each step.
fn phases(count: u32, steps: &[&str]) -> Vec<u32> {
    let mut body = format!(".shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], {count};");
    for (at, step) in steps.iter().enumerate() {
        body += &format!(
            "{step}; mbarrier.test_wait.parity.shared.b64 %p1, [m], 0; selp.u32 %r1, 1, 0, %p1;
             st.global.u32 [%out+{}], %r1;",
            4 * at
        );
    }
    words(&kernel(&(body + " ret;")), 1, steps.len())
}

#[test]
fn a_phase_waits_for_arrivals_and_for_bytes() {
    let arrive = "mbarrier.arrive.shared.b64 %rd1, [m]";
    let expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16";
    let complete = |bytes| format!("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], {bytes}");
    let (first, second) = (complete(12), complete(4));
    assert_eq!(phases(1, &[expect, arrive, &first, &second]), [0, 0, 0, 1]);
    assert_eq!(phases(2, &[arrive, expect, &first, &second, arrive]), [0, 0, 0, 0, 1]);
    let both = "mbarrier.arrive.expect_tx.shared.b64 %rd1, [m], 12";
    assert_eq!(phases(1, &[both, &first]), [0, 1]);
    // A thread that drops out is not expected in the next phase, which ends with parity 0 again.
    let drop = "mbarrier.arrive_drop.shared.b64 %rd1, [m]";
    assert_eq!(phases(2, &[drop, arrive, arrive]), [0, 1, 0]);
}

/// The arrival after copies is one more than what was expected, unless it is said not to be.
#[test]
fn an_arrival_after_copies_is_expected_or_adds_itself() {
    let after = "cp.async.mbarrier.arrive.shared.b64 [m]";
    let expected = "cp.async.mbarrier.arrive.noinc.shared.b64 [m]";
    let arrive = "mbarrier.arrive.shared.b64 %rd1, [m]";
    assert_eq!(phases(1, &[after, arrive]), [0, 1]);
    assert_eq!(phases(2, &[expected, arrive]), [0, 1]);
}

/// The states are those before the arrivals.
#[test]
fn a_state_tells_its_phase_and_what_was_pending() {
    let body = ".shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 3;
        mbarrier.arrive.noComplete.shared.b64 %rd1, [m], 1; mbarrier.arrive.noComplete.shared.b64 %rd2, [m], 1;
        mbarrier.pending_count.b64 %r1, %rd1; mbarrier.pending_count.b64 %r2, %rd2;
        mbarrier.arrive.shared.b64 %rd3, [m]; mbarrier.arrive.shared.b64 %rd4, [m];
        mbarrier.test_wait.shared.b64 %p3, [m], %rd3; mbarrier.test_wait.shared.b64 %p4, [m], %rd4;
        selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; ret;";
    assert_eq!(words(&kernel(body), 1, 4), [3, 2, 1, 0]);
}
