//! Branches that split a warp, loops, guards, jump tables, locks.

use super::{each, kernel, words};

#[test]
fn a_loop_runs_as_often_as_each_thread_says() {
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0;
        again: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %t; @%p1 bra again;
        st.global.u32 [%own], %r1; ret;";
    // The sum of 0 to t.
    assert_eq!(words(&kernel(body), 40, 40), each(40, |t| t * (t + 1) / 2));
}

#[test]
fn branches_meet_again_where_they_join() {
    let body = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra even;
        mul.lo.u32 %r2, %t, 10; bra join;
        even: mul.lo.u32 %r2, %t, 100;
        join: activemask.b32 %r3; setp.eq.u32 %p2, %r3, -1; selp.u32 %r4, 1, 0, %p2; add.u32 %r2, %r2, %r4;
        st.global.u32 [%own], %r2; ret;";
    let expected = |t: u32| if t.is_multiple_of(2) { t * 100 + 1 } else { t * 10 + 1 };
    assert_eq!(words(&kernel(body), 32, 32), each(32, expected));
}

#[test]
fn guards_leave_what_they_do_not_write() {
    let body = "mov.u32 %r1, 7; setp.gt.u32 %p1, %t, 3; @%p1 mov.u32 %r1, 9; @!%p1 add.u32 %r1, %r1, 1;
        @%p1 st.global.u32 [%own], %r1; @!%p1 st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 8, 8), each(8, |t| if t > 3 { 9 } else { 8 }));
}

#[test]
fn a_jump_table_sends_each_lane_to_its_own_place() {
    let body = "and.b32 %r1, %t, 3;
        table: .branchtargets a, b, c, a;
        brx.idx %r1, table;
        a: mov.u32 %r2, 10; bra done;
        b: mov.u32 %r2, 20; bra done;
        c: mov.u32 %r2, 30;
        done: st.global.u32 [%own], %r2; ret;";
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| [10, 20, 30, 10][t as usize % 4]));
}

#[test]
fn threads_that_exit_leave_the_others_alone() {
    let body = "setp.lt.u32 %p1, %t, 5; @%p1 exit; activemask.b32 %r1; st.global.u32 [%own], %r1; ret;";
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| if t < 5 { 0 } else { 0xFFFF_FFE0 }));
}

/// The lane that holds the lock is behind those that wait for it, until it gets its turn.
#[test]
fn a_lock_between_lanes_of_a_warp_is_given_back() {
    let body = "add.u64 %rd1, %out, 4;
        again: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;
        ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1], %r2;
        atom.global.exch.b32 %r3, [%out], 0; ret;";
    assert_eq!(words(&kernel(body), 64, 2), [0, 64]);
}

#[test]
fn an_irreducible_loop_ends() {
    // Even lanes enter the loop at its middle.
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0; and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra middle;
        top: add.u32 %r1, %r1, 1;
        middle: add.u32 %r1, %r1, 10; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra top;
        st.global.u32 [%own], %r1; ret;";
    // Odd lanes pass the top three times, even ones twice.
    assert_eq!(words(&kernel(body), 32, 32), each(32, |t| if t % 2 == 1 { 33 } else { 32 }));
}
