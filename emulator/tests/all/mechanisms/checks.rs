//! What is reported of reads before writes, and of races.

use super::{kernel, load, run_with, with_checks};
use ptxopt_emulator::{Argument, Checks, Finding, Launch, Report, StateSpace, run};

fn uninitialised(body: &str, threads: u32) -> Vec<Report> {
    let checks = Checks { uninitialised: true, ..Checks::default() };
    let outcome = run_with(&kernel(body), threads, threads as usize, &with_checks(checks));
    assert_eq!(outcome.stop, None);
    outcome.reports
}

fn races(body: &str, threads: u32) -> Vec<Report> {
    let checks = Checks { races: true, silent_writes: true, ..Checks::default() };
    let outcome = run_with(&kernel(body), threads, threads as usize, &with_checks(checks));
    assert_eq!(outcome.stop, None);
    outcome.reports
}

#[test]
fn a_register_that_only_some_lanes_write() {
    let found = uninitialised(
        "setp.gt.u32 %p1, %t, 4;
         @%p1 mov.u32 %r1, 1;
         st.global.u32 [%own], %r1; ret;",
        32,
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].finding, Finding::UninitialisedRegister);
    assert_eq!((found[0].place.thread.tid, found[0].place.line), ([0, 0, 0], 10));
}

#[test]
fn memory_that_nobody_wrote() {
    let found = uninitialised(
        ".shared .align 4 .b32 s[4]; .local .align 4 .b32 l[2]; st.shared.u32 [s+4], 1; st.local.u32 [l], 1;
         ld.shared.u32 %r1, [s+4]; ld.local.u32 %r2, [l];
         ld.shared.u32 %r3, [s];
         ld.local.u32 %r4, [l+4]; ret;",
        1,
    );
    let places: Vec<(StateSpace, u32)> = found
        .iter()
        .map(|report| match report.finding {
            Finding::UninitialisedMemory(access) => (access.space, report.place.line),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, [(StateSpace::Shared, 10), (StateSpace::Local, 11)]);
}

#[test]
fn a_frame_of_an_earlier_call_holds_nothing() {
    let functions = ".func (.reg .u32 d) f(.reg .pred p) { .local .align 4 .b32 l;
        @p st.local.u32 [l], 1; ld.local.u32 d, [l]; ret; }\n";
    let body =
        "setp.eq.u32 %p1, %t, %t; setp.ne.u32 %p2, %t, %t; call (%r1), f, (%p1); call (%r2), f, (%p2); ret;";
    let checks = Checks { uninitialised: true, ..Checks::default() };
    let outcome = run_with(&(functions.to_owned() + &kernel(body)), 1, 1, &with_checks(checks));
    assert_eq!(outcome.stop, None);
    assert_eq!(outcome.reports.len(), 1, "{:?}", outcome.reports);
}

/// Compilers read a structure of twelve bytes as a vector of sixteen.
#[test]
fn the_bytes_after_a_parameter_are_not_missed() {
    let function = ".func f(.param .align 16 .b8 a[12], .param .align 16 .b8 b[12]) { .reg .b32 %r<9>;
        ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [a]; ld.param.v4.b32 {%r5, %r6, %r7, %r8}, [b]; ret; }\n";
    let found = |stores: &str| {
        let body = format!(
            "{{ .param .align 16 .b8 a[12]; .param .align 16 .b8 b[12]; {stores} call f, (a, b); }} ret;"
        );
        let checks = Checks { uninitialised: true, ..Checks::default() };
        run_with(&(function.to_owned() + &kernel(&body)), 1, 1, &with_checks(checks)).reports.len()
    };
    let all = "st.param.v2.b32 [a], {1, 2}; st.param.b32 [a+8], 3; st.param.v2.b32 [b], {1, 2}; st.param.b32 [b+8], 3;";
    assert_eq!(found(all), 0);
    assert_eq!(found(&all.replace("st.param.b32 [a+8], 3;", "")), 1);
    assert_eq!(found(&all.replace("st.param.v2.b32 [b], {1, 2};", "")), 1);
}

/// A function without `ret` returns at its end.
#[test]
fn a_result_that_nobody_wrote_is_missed_at_the_end_of_the_function() {
    let function = ".func (.reg .u32 d) f()\n{\n.reg .u32 x;\n}\n";
    let checks = Checks { uninitialised: true, ..Checks::default() };
    let body = "call (%r1), f, (); ret;";
    let outcome = run_with(&(function.to_owned() + &kernel(body)), 1, 1, &with_checks(checks));
    let found: Vec<(Finding, u32)> =
        outcome.reports.iter().map(|report| (report.finding, report.place.line)).collect();
    // The header takes three lines.
    assert_eq!(found, [(Finding::UninitialisedRegister, 7)]);
}

const EXCHANGE: &str = ".shared .align 4 .b32 s[64];
    mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;
    BARRIER
    xor.b32 %r3, %t, MASK; mad.lo.u32 %r4, %r3, 4, %r1;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%own], %r5; ret;";

#[test]
fn an_exchange_without_a_barrier_races() {
    let found = races(&EXCHANGE.replace("BARRIER", "").replace("MASK", "1"), 64);
    assert_eq!(found.len(), 64);
    let Finding::Race { access, other } = found[0].finding else { panic!("{:?}", found[0]) };
    assert_eq!((access.space, access.bytes), (StateSpace::Shared, 4));
    assert_eq!((found[0].place.thread.tid[0], other.thread.tid[0]), (0, 1));
    assert_eq!((found[0].place.line, other.line), (12, 9));
}

#[test]
fn a_barrier_orders_the_exchange() {
    assert_eq!(races(&EXCHANGE.replace("BARRIER", "bar.sync 0;").replace("MASK", "33"), 64), []);
    // That of the warp is enough within a warp, and only there.
    assert_eq!(races(&EXCHANGE.replace("BARRIER", "bar.warp.sync -1;").replace("MASK", "1"), 64), []);
    // The first warp has read when the second writes, and written when the second reads.
    assert_eq!(races(&EXCHANGE.replace("BARRIER", "bar.warp.sync -1;").replace("MASK", "32"), 64).len(), 64);
}

#[test]
fn atomics_do_not_race_with_one_another() {
    assert_eq!(races("atom.global.add.u32 %r1, [%out], 1; red.global.add.u32 [%out], 1; ret;", 64), []);
    let mixed =
        "setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%out], 1; @!%p1 red.global.add.u32 [%out], 1; ret;";
    assert!(!races(mixed, 64).is_empty());
}

#[test]
fn equal_values_race_where_silent_writes_count() {
    let body = "st.global.u32 [%out], 5; ret;";
    assert_eq!(races(body, 2).len(), 1);
    let found = |body: &str| {
        let checks = Checks { races: true, ..Checks::default() };
        run_with(&kernel(body), 2, 1, &with_checks(checks)).reports
    };
    assert_eq!(found(body), []);
    // The first write changes what the second thread reads or writes.
    assert_eq!(found("st.global.u32 [%out], 5; ld.global.u32 %r1, [%out]; ret;").len(), 1);
    assert_eq!(found("st.global.u32 [%out], %t; add.u32 %t, %t, 1; st.global.u32 [%out], %t; ret;").len(), 2);
    assert_eq!(races("ld.global.u32 %r1, [%out]; ret;", 2), []);
    // An atomic that changes nothing is no silent write.
    let body =
        "setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%out], 5; @!%p1 red.global.add.u32 [%out], 0; ret;";
    assert_eq!(found(body).len(), 1);
}

#[test]
fn a_flag_orders_what_came_before_it() {
    let body = ".shared .align 4 .b32 s[2]; setp.eq.u32 %p1, %t, 32; @%p1 bra writer;
        setp.ne.u32 %p2, %t, 0; @%p2 ret;
        wait: ld.acquire.cta.shared.u32 %r1, [s+4]; setp.eq.u32 %p2, %r1, 0; @%p2 bra wait;
        ld.shared.u32 %r2, [s]; st.global.u32 [%out], %r2; ret;
        writer: st.shared.u32 [s], 9; st.release.cta.shared.u32 [s+4], 1; ret;";
    assert_eq!(races(body, 33), []);
}

/// Threads of a warp follow one another in the first dimension, then in the second.
#[test]
fn both_sides_of_a_race_are_named_in_three_dimensions() {
    let body = "mov.u32 %r1, %laneid; setp.ge.u32 %p1, %r1, 22; @%p1 st.global.u32 [%out], %r1; ret;";
    let args = vec![Argument::Buffer(vec![0; 4])];
    let launch = Launch { entry: "k".to_owned(), grid: [1; 3], block: [4, 3, 2], shared_bytes: 0, args };
    let options = with_checks(Checks { races: true, silent_writes: true, ..Checks::default() });
    let reports = run(&load(&kernel(body)), &launch, &options).reports;
    let [Report { finding: Finding::Race { other, .. }, place }] = &reports[..] else {
        panic!("{reports:?}")
    };
    // Threads 22 = (1 * 3 + 2) * 4 + 2, and 23.
    assert_eq!((other.thread.tid, place.thread.tid), ([2, 2, 1], [3, 2, 1]));
}
