//! Barriers of the CTA, and what is reported of them.

use super::{each, kernel, run_plain, run_with, with_checks, words};
use ptxopt_emulator::{Checks, Finding, Stop};

#[test]
fn what_is_written_before_a_barrier_is_read_after_it() {
    // Each of 96 threads reads what the thread opposite wrote.
    let body = ".shared .align 4 .b32 s[96];
        mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; mul.lo.u32 %r3, %t, 3; st.shared.u32 [%r2], %r3;
        bar.sync 0;
        sub.u32 %r4, 95, %t; mad.lo.u32 %r5, %r4, 4, %r1; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%own], %r6; ret;";
    assert_eq!(words(&kernel(body), 96, 96), each(96, |t| 3 * (95 - t)));
}

#[test]
fn reductions_count_and_combine() {
    let body = "setp.lt.u32 %p1, %t, 10; setp.lt.u32 %p2, %t, 100;
        bar.red.popc.u32 %r1, 0, %p1; barrier.red.popc.u32 %r2, 1, !%p1;
        bar.red.and.pred %p3, 0, %p1; bar.red.and.pred %p4, 0, %p2; bar.red.or.pred %p5, 0, %p1;
        selp.u32 %r3, 100, 0, %p3; selp.u32 %r4, 1000, 0, %p4; selp.u32 %r5, 10000, 0, %p5;
        add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; mad.lo.u32 %r1, %r2, 100000, %r1;
        st.global.u32 [%own], %r1; ret;";
    // 10 are below 10 and 54 are not; not all are below 10, all below 100, some below 10.
    assert_eq!(words(&kernel(body), 64, 64), each(64, |_| 10 + 1000 + 10000 + 54 * 100_000));
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let body = ".shared .align 4 .b32 s[32];
        mov.u32 %r1, s; and.b32 %r7, %t, 31; mad.lo.u32 %r2, %r7, 4, %r1; setp.ge.u32 %p1, %t, 32; @%p1 bra consumer;
        bar.sync 2, 64; ld.shared.u32 %r3, [%r2]; st.global.u32 [%own], %r3; ret;
        consumer: add.u32 %r4, %r7, 500; st.shared.u32 [%r2], %r4; bar.arrive 2, 64; ret;";
    assert_eq!(words(&kernel(body), 64, 32), each(32, |t| t + 500));
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let body = "setp.ge.u32 %p1, %t, 40; @%p1 exit; bar.sync 0; st.global.u32 [%own], 1; ret;";
    assert_eq!(words(&kernel(body), 64, 64), each(64, |t| u32::from(t < 40)));
}

#[test]
fn divergence_at_an_aligned_barrier_is_reported_where_it_happens() {
    let body = "setp.lt.u32 %p1, %t, 3; @%p1 bra low;
        bar.sync 0; bra done;
        low: bar.sync 0;
        done: ret;";
    let outcome = run_with(
        &kernel(body),
        32,
        1,
        &with_checks(Checks { barrier_divergence: true, ..Checks::default() }),
    );
    assert_eq!(outcome.stop, None);
    let found: Vec<(Finding, u32, u32)> = outcome
        .reports
        .iter()
        .map(|report| (report.finding, report.place.thread.tid[0], report.place.line))
        .collect();
    // The header takes three lines, the kernel's own directives four.
    assert_eq!(found, [(Finding::BarrierDivergence, 3, 9), (Finding::BarrierDivergence, 0, 10)]);
}

/// Reports of a kernel of one warp that ends; lines count from the first of `body`.
fn divergence(body: &str) -> Vec<u32> {
    let checks = Checks { barrier_divergence: true, ..Checks::default() };
    let outcome = run_with(&kernel(body), 32, 32, &with_checks(checks));
    assert_eq!(outcome.stop, None);
    assert!(outcome.reports.iter().all(|report| report.finding == Finding::BarrierDivergence));
    // The header takes three lines, the kernel's own directives four.
    outcome.reports.iter().map(|report| report.place.line - 7).collect()
}

/// Half of the warp takes so many turns of its own that the other half gets to the barrier first. All threads come to
/// the same one in the end.
#[test]
fn threads_that_are_late_do_not_diverge() {
    let spin = "setp.lt.u32 %p1, %t, 16; @%p1 bra late; bra meet;
        late: mov.u32 %r1, 0;
        again: atom.global.add.u32 %r2, [%own], 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 2000; @%p2 bra again;
        meet: bar.sync 0; ret;";
    assert_eq!(divergence(spin), []);
    assert_eq!(divergence(&spin.replace("bar.sync 0", "bar.red.popc.u32 %r3, 0, %p1")), []);
    // At the same number, but at another instruction, they do.
    let apart = spin.replace("@%p2 bra again;", "@%p2 bra again; bar.sync 0; ret;");
    assert_eq!(divergence(&apart), [4, 3]);
}

/// That a thread has exited when others are at a barrier is no matter of which ran first.
#[test]
fn threads_that_exit_do_not_diverge() {
    for branch in ["@%p1 exit;", "@%p1 bra done;"] {
        let body =
            format!("setp.ge.u32 %p1, %t, 16; {branch} bar.sync 0; st.global.u32 [%own], 1; done: ret;");
        assert_eq!(divergence(&body), []);
    }
}

#[test]
fn a_barrier_that_waits_for_ever_is_reported_where_the_warp_is_apart() {
    let body = "setp.lt.u32 %p1, %t, 16;
        @%p1 bra low; bar.sync 0, 32; ret;
        low: bar.sync 1, 32; ret;";
    let checks = Checks { barrier_divergence: true, ..Checks::default() };
    let outcome = run_with(&kernel(body), 32, 1, &with_checks(checks));
    assert!(matches!(outcome.stop, Some(Stop::Deadlock { .. })), "{:?}", outcome.stop);
    let lines: Vec<u32> = outcome.reports.iter().map(|report| report.place.line - 7).collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn a_barrier_that_nobody_else_reaches_is_a_deadlock() {
    let body = "setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 0, 64; @%p1 ret; bar.sync 1, 64; ret;";
    let stop = run_plain(&kernel(body), 64, 1).stop;
    assert!(matches!(stop, Some(Stop::Deadlock { .. })), "{stop:?}");
}

/// Even threads wait at the first barrier and odd ones at the second; each goes on once.
#[test]
fn lanes_that_name_different_barriers_wait_apart() {
    let body = "and.b32 %r1, %t, 1; add.u32 %r1, %r1, 1; barrier.sync %r1, 32;
        red.global.add.u32 [%own], 1; ret;";
    assert_eq!(words(&kernel(body), 64, 64), each(64, |_| 1));
}

/// Counts are those of whole warps: the second has eight threads.
#[test]
fn lanes_that_do_not_exist_count() {
    let body =
        ".shared .align 4 .b32 s[40]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;
        bar.sync 0, 64; sub.u32 %r3, 39, %t; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %r4, [%r2];
        st.global.u32 [%own], %r4; bar.sync 0, 64; ret;";
    assert_eq!(words(&kernel(body), 40, 40), each(40, |t| 39 - t));
}

/// The rest of the warp ends after the others have come to the barrier, at which a warp is missing.
#[test]
fn a_barrier_that_waits_for_another_warp_is_no_divergence() {
    let body = "setp.lt.u32 %p1, %t, 16; @%p1 bra low; bar.sync 0, 64; ret; low: mov.u32 %r1, 1; exit;";
    let checks = Checks { barrier_divergence: true, ..Checks::default() };
    let outcome = run_with(&kernel(body), 32, 1, &with_checks(checks));
    assert!(matches!(outcome.stop, Some(Stop::Deadlock { .. })), "{:?}", outcome.stop);
    assert_eq!(outcome.reports, []);
}
