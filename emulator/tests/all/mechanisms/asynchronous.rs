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
