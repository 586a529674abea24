//! Votes, shuffles, matches, reductions of a warp.

use super::{each, kernel, run_plain, words};
use ptxopt_emulator::Stop;

fn with(body: &str) -> String {
    kernel(&format!("{body} st.global.u32 [%own], %r1; ret;"))
}

#[test]
fn votes() {
    let ballot = "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 1; vote.sync.ballot.b32 %r1, %p1, -1;";
    assert_eq!(words(&with(ballot), 32, 32), each(32, |_| 0xAAAA_AAAA));
    let negated = "setp.lt.u32 %p1, %t, 4; vote.sync.ballot.b32 %r1, !%p1, -1;";
    assert_eq!(words(&with(negated), 32, 32), each(32, |_| 0xFFFF_FFF0));
    let rest = "setp.lt.u32 %p1, %t, 40; setp.lt.u32 %p2, %t, 4; setp.gt.u32 %p3, %t, 90;
        vote.sync.all.pred %p4, %p1, -1; vote.sync.any.pred %p5, %p3, -1; vote.sync.uni.pred %p6, %p2, -1;
        vote.sync.uni.pred %p7, %p3, -1; vote.sync.any.pred %p8, %p2, -1;
        selp.u32 %r1, 1, 0, %p4; selp.u32 %r2, 2, 0, %p5; selp.u32 %r3, 4, 0, %p6; selp.u32 %r4, 8, 0, %p7;
        selp.u32 %r5, 16, 0, %p8; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
        add.u32 %r1, %r1, %r5;";
    assert_eq!(words(&with(rest), 32, 32), each(32, |_| 1 + 8 + 16));
}

#[test]
fn lanes_know_who_is_before_and_after_them() {
    let mask = |name: &str| words(&with(&format!("mov.u32 %r1, %lanemask_{name};")), 32, 32);
    assert_eq!(mask("eq"), each(32, |t| 1 << t));
    assert_eq!(mask("lt"), each(32, |t| (1 << t) - 1));
    assert_eq!(mask("le"), each(32, |t| u32::MAX >> (31 - t)));
    assert_eq!(mask("ge"), each(32, |t| u32::MAX << t));
    assert_eq!(mask("gt"), each(32, |t| (u32::MAX << t) - (1 << t)));
}

#[test]
fn shuffles_pick_lanes_as_the_isa_says() {
    let shuffle = |mode: &str, b: &str, c: &str| {
        let body = format!(
            "add.u32 %r2, %t, 100; shfl.sync.{mode}.b32 %r1|%p1, %r2, {b}, {c}, -1;
             selp.u32 %r3, 1000, 0, %p1; add.u32 %r1, %r1, %r3;"
        );
        words(&with(&body), 32, 32)
    };
    // Without segments; the predicate says whether the lane is in range.
    assert_eq!(shuffle("up", "3", "0"), each(32, |t| if t >= 3 { t - 3 + 1100 } else { t + 100 }));
    assert_eq!(shuffle("down", "3", "31"), each(32, |t| if t <= 28 { t + 3 + 1100 } else { t + 100 }));
    assert_eq!(shuffle("bfly", "5", "31"), each(32, |t| (t ^ 5) + 1100));
    assert_eq!(shuffle("idx", "6", "31"), each(32, |_| 1106));
    // Segments of 8: mask 0b11000 in bits 8 to 12, clamp 7.
    assert_eq!(shuffle("idx", "6", "0x1807"), each(32, |t| t / 8 * 8 + 6 + 1100));
    assert_eq!(shuffle("down", "6", "0x1807"), each(32, |t| if t % 8 < 2 { t + 6 + 1100 } else { t + 100 }));
    assert_eq!(shuffle("up", "6", "0x1800"), each(32, |t| if t % 8 >= 6 { t - 6 + 1100 } else { t + 100 }));
}

#[test]
fn lanes_meet_from_different_instructions() {
    // The halves of the warp reach two shuffles with the same qualifiers and mask.
    let body = "setp.lt.u32 %p1, %t, 16; @%p1 bra low;
        mov.u32 %r2, 7; shfl.sync.bfly.b32 %r1, %t, 31, 31, -1; bra done;
        low: shfl.sync.bfly.b32 %r1, %t, 31, 31, -1;
        done:";
    assert_eq!(words(&with(body), 32, 32), each(32, |t| t ^ 31));
}

#[test]
fn parts_of_a_warp_meet_under_their_own_masks() {
    let body = "shr.u32 %r2, %t, 3; shl.b32 %r3, %r2, 3; mov.u32 %r4, 255; shl.b32 %r5, %r4, %r3;
        redux.sync.add.u32 %r1, %t, %r5;";
    // The sum of the eight lanes of the part: 8 * first + 28.
    assert_eq!(words(&with(body), 32, 32), each(32, |t| 64 * (t / 8) + 28));
    // None of them runs ahead: they are one group again.
    let body = format!("{body} activemask.b32 %r1;");
    assert_eq!(words(&with(&body), 32, 32), each(32, |_| u32::MAX));
}

#[test]
fn matches() {
    let any = "and.b32 %r2, %t, 3; match.any.sync.b32 %r1, %r2, -1;";
    assert_eq!(words(&with(any), 32, 32), each(32, |t| 0x1111_1111 << (t % 4)));
    let all = "mov.u64 %rd1, 5; match.all.sync.b64 %r1|%p1, %rd1, -1; match.all.sync.b32 %r2|%p2, %t, -1;
        @%p2 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2; add.u32 %r1, %r1, %r2;";
    assert_eq!(words(&with(all), 32, 32), each(32, |_| u32::MAX));
}

#[test]
fn reductions() {
    let of = |operation: &str| {
        words(&with(&format!("sub.u32 %r2, %t, 5; redux.sync.{operation} %r1, %r2, -1;")), 32, 32)[9]
    };
    // The values are -5 to 26.
    assert_eq!(of("add.s32"), (-5..27).sum::<i32>() as u32);
    assert_eq!((of("min.s32"), of("max.s32")), ((-5i32) as u32, 26));
    assert_eq!((of("min.u32"), of("max.u32")), (0, u32::MAX));
    assert_eq!(of("and.b32"), 0);
    assert_eq!(of("or.b32"), u32::MAX);
    assert_eq!(of("xor.b32"), (-5..27).fold(0, |all, value: i32| all ^ value as u32));
}

#[test]
fn reductions_of_reals_prefer_numbers_unless_told() {
    let of = |operation: &str, special: &str| {
        let body = format!(
            "cvt.rn.f32.u32 %f1, %t; sub.f32 %f1, %f1, 0f40A00000; setp.eq.u32 %p1, %t, 8;
             @%p1 mov.f32 %f1, {special}; redux.sync.{operation}.f32 %f2, %f1, -1; mov.b32 %r1, %f2;"
        );
        f32::from_bits(words(&with(&body), 32, 32)[0])
    };
    assert_eq!(of("min", "0f7FC00000"), -5.0);
    assert_eq!(of("max", "0f7FC00000"), 26.0);
    assert!(of("min.NaN", "0f7FC00000").is_nan());
    assert_eq!(of("max.abs", "0fC2C80000"), 100.0);
}

#[test]
fn elect_picks_one() {
    let body = "elect.sync %r1|%p1, 0xFFFFFF00; @%p1 add.u32 %r1, %r1, 1000;";
    let body = format!("setp.lt.u32 %p2, %t, 8; @%p2 exit; {body}");
    let expected = |t| if t < 8 { 0 } else { 8 + if t == 8 { 1000 } else { 0 } };
    assert_eq!(words(&with(&body), 32, 32), each(32, expected));
}

#[test]
fn old_forms_take_the_lanes_that_are_active() {
    let body = "setp.lt.u32 %p1, %t, 4; @!%p1 exit; vote.ballot.b32 %r1, %p1; shfl.idx.b32 %r2, %t, 2, 31;
        mad.lo.u32 %r1, %r2, 100, %r1;";
    assert_eq!(words(&with(body), 32, 32), each(32, |t| if t < 4 { 215 } else { 0 }));
}

#[test]
fn waiting_for_a_lane_that_never_comes_is_a_deadlock() {
    let body = "setp.eq.u32 %p1, %t, 3; @%p1 bra other; bar.warp.sync -1; bra done;
        other: bar.sync 0; done:";
    let stop = run_plain(&with(body), 32, 32).stop;
    assert!(matches!(stop, Some(Stop::Deadlock { .. })), "{stop:?}");
}
