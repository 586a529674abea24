//! What comparisons leave of a range, against all numbers of a few bits; and what a range grows to.

use super::sweeps::{limited, widened};
use crate::flow::conditions::comparison::{Order, Outcomes};
use crate::values::known_bits::Known;

const WIDTH: u32 = 3;

fn members(known: Known) -> impl Iterator<Item = u64> {
    (0..1 << WIDTH).filter(move |&value| known.contains(value))
}

/// The sets of numbers in a row, without and with a sign.
fn ranges() -> Vec<Known> {
    let mut ranges = Vec::new();
    for low in 0..1u64 << WIDTH {
        for high in low..1 << WIDTH {
            ranges.push(Known::range(low, high, WIDTH));
            let (low, high) = (low as i64 - 4, high as i64 - 4);
            ranges.push(Known::signed_range(low, high, WIDTH));
        }
    }
    ranges
}

/// Nothing that may be is left out, and where something is known of the other number, less is left.
#[test]
fn what_a_comparison_leaves_holds_all_that_passes_it() {
    let all = [
        Outcomes::LESS,
        Outcomes::EQUAL,
        Outcomes::GREATER,
        Outcomes::LESS | Outcomes::EQUAL,
        Outcomes::GREATER | Outcomes::EQUAL,
        Outcomes::LESS | Outcomes::GREATER,
        Outcomes::ORDERED,
    ];
    let (mut left, mut passing) = (0, 0);
    for known in ranges() {
        for other in ranges() {
            for order in [Order::Signed, Order::Unsigned] {
                for outcomes in all {
                    let limited = limited(known, other, order, outcomes);
                    left += limited.map_or(0, |limited| members(limited).count());
                    for one in members(known) {
                        let passes = members(other)
                            .any(|other| outcomes.contains(Outcomes::of_constants(one, other, order, WIDTH)));
                        passing += usize::from(passes);
                        let is_left = limited.is_some_and(|limited| limited.contains(one));
                        assert!(is_left || !passes, "{one} of {known:?} against {other:?}: {outcomes:?}");
                    }
                }
            }
        }
    }
    // Ranges are told apart exactly, but for those that go around the end and for what is not equal to one in the middle.
    assert!(left >= passing && left * 100 < passing * 103, "{left} left, {passing} may be");
}

fn bounds(known: Known) -> (u64, u64, i64, i64) {
    (known.low(), known.high(), known.least(), known.most())
}

#[test]
fn what_grows_grows_to_the_next_constant() {
    let (before, joined) = (Known::range(4, 8, 32), Known::range(4, 9, 32));
    assert_eq!(bounds(widened(before, joined, &[2, 15, 40], false)), (4, 15, 4, 15));
    // A constant is enough, and what does not grow stays.
    assert_eq!(bounds(widened(before, joined, &[2, 9, 40], false)), (4, 9, 4, 9));
    let joined = Known::range(3, 8, 32);
    assert_eq!(bounds(widened(before, joined, &[2, 9, 40], false)), (2, 8, 2, 8));
    assert_eq!(bounds(widened(before, joined, &[3, 9, 40], false)), (3, 8, 3, 8));
    // Below zero no number without a sign is, and one with a sign is far above.
    assert_eq!(bounds(widened(before, joined, &[-7, 9], false)), (0, 8, 0, 8));
    let (before, joined) = (Known::signed_range(-2, 5, 32), Known::signed_range(-3, 5, 32));
    assert_eq!(bounds(widened(before, joined, &[-7, 9], false)), (0, u64::from(u32::MAX), -7, 5));
    let joined = Known::signed_range(-2, 6, 32);
    assert_eq!(bounds(widened(before, joined, &[-7, 9], false)), (0, u64::from(u32::MAX), -2, 9));
}

/// Where numbers without a sign lie on both sides of the largest one with a sign, nothing is known of them with a sign.
#[test]
fn what_grows_on_both_sides_of_the_sign_grows_at_one_end() {
    const HALF: u64 = 1 << 31;
    let (before, joined) = (Known::range(4, HALF, 32), Known::range(4, HALF + 1, 32));
    let constants = [2, HALF as i64 + 100];
    let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    assert_eq!(bounds(widened(before, joined, &constants, false)), (4, HALF + 100, least, most));
    assert_eq!(bounds(widened(before, joined, &constants, true)), (4, u64::from(u32::MAX), least, most));
    let joined = Known::range(3, HALF, 32);
    assert_eq!(bounds(widened(before, joined, &constants, false)), (2, HALF, least, most));
}

#[test]
fn what_grows_past_all_constants_or_too_often_grows_to_the_end() {
    let (before, joined) = (Known::range(4, 8, 32), Known::range(4, 9, 32));
    // The end of what has been positive so far is below the sign.
    let last = i64::from(i32::MAX);
    assert_eq!(bounds(widened(before, joined, &[2, 5], false)), (4, last as u64, 4, last));
    assert_eq!(bounds(widened(before, joined, &[2, 15], true)), (4, last as u64, 4, last));
    let joined = Known::range(3, 8, 32);
    assert_eq!(bounds(widened(before, joined, &[5], false)), (0, 8, 0, 8));
    assert_eq!(bounds(widened(before, joined, &[2], true)), (0, 8, 0, 8));
    let (before, joined) = (Known::signed_range(-2, 5, 32), Known::signed_range(-3, 6, 32));
    let all = (0, u64::from(u32::MAX), i64::from(i32::MIN), last);
    assert_eq!(bounds(widened(before, joined, &[-7, 9], true)), all);
    // A constant that needs more bits than there are is no end.
    let (before, joined) = (Known::range(4, 8, 8), Known::range(4, 9, 8));
    assert_eq!(bounds(widened(before, joined, &[300], false)), (4, 127, 4, 127));
}

/// A number that is a multiple of a power of two stays one.
#[test]
fn what_grows_keeps_its_lowest_bits() {
    let words = |high: u64| Known::range(0, high, 32).and(Known::bits(3, 0, 32));
    let grown = widened(words(8), words(12), &[16], false);
    assert_eq!((grown.low(), grown.high(), grown.zeros() & 3), (0, 16, 3));
}
