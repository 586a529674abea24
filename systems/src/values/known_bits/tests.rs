//! Every function against all values of all sets of a few bits.

use super::*;
use ptxopt_components::code_object::LaunchLimits;
use ptxopt_components::description::{Description, Dialect};
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::PtxType;

const WIDTH: u32 = 4;
const END: u64 = 1 << WIDTH;

/// All sets of bits, all ranges and all ranges with a sign, of four bits.
fn sets() -> Vec<Known> {
    let mut sets = Vec::new();
    for zeros in 0..END {
        let ones = (0..END).filter(|ones| zeros & ones == 0);
        sets.extend(ones.map(|ones| Known::bits(zeros, ones, WIDTH)));
    }
    let signed = -(END as i64) / 2..END as i64 / 2;
    for (low, high) in (0..END).flat_map(|low| (low..END).map(move |high| (low, high))) {
        sets.push(Known::range(low, high, WIDTH));
    }
    for (least, most) in signed.clone().flat_map(|least| (least..signed.end).map(move |most| (least, most))) {
        sets.push(Known::signed_range(least, most, WIDTH));
    }
    sets
}

fn values(known: Known) -> Vec<u64> {
    (0..END).filter(|&value| known.contains(value)).collect()
}

fn description(mnemonic: &str) -> Description {
    let mut words = mnemonic.split('.').map(str::as_bytes);
    let root = words.next().unwrap();
    Description::parse(root, &words.collect::<Vec<_>>(), Dialect::default()).unwrap()
}

/// What is made holds what it was made of, and nothing that one of its parts alone excludes.
#[test]
fn sets_hold_what_they_are_made_of() {
    for zeros in 0..END {
        for ones in (0..END).filter(|ones| zeros & ones == 0) {
            let held: Vec<u64> =
                (0..END).filter(|value| value & zeros == 0 && value & ones == ones).collect();
            assert_eq!(values(Known::bits(zeros, ones, WIDTH)), held);
        }
    }
    for (low, high) in (0..END).flat_map(|low| (low..END).map(move |high| (low, high))) {
        assert_eq!(values(Known::range(low, high, WIDTH)), (low..=high).collect::<Vec<_>>());
    }
    for least in -8..8 {
        for most in least..8 {
            let mut held: Vec<u64> = (least..=most).map(|value| value as u64 & (END - 1)).collect();
            held.sort_unstable();
            assert_eq!(values(Known::signed_range(least, most, WIDTH)), held);
        }
    }
    assert_eq!(values(Known::unknown(WIDTH)).len(), END as usize);
    // Without values: it comes of code that is never reached.
    assert_eq!(Known::range(3, 2, WIDTH), Known::unknown(WIDTH));
    assert_eq!(Known::bits(1, 1, WIDTH), Known::unknown(WIDTH));
}

#[test]
fn bits_and_ranges_tell_one_another() {
    let range = Known::range(0b1000, 0b1011, WIDTH);
    assert_eq!((range.zeros(), range.ones()), (0b0100, 0b1000));
    assert_eq!((range.possible(), range.least(), range.most()), (0b1011, -8, -5));
    let bits = Known::bits(0b1100, 0b0001, WIDTH);
    assert_eq!((bits.low(), bits.high(), bits.least(), bits.most()), (1, 3, 1, 3));
    let signed = Known::signed_range(2, 3, WIDTH);
    assert_eq!((signed.zeros(), signed.ones(), signed.low()), (0b1100, 0b0010, 2));
    assert!(Known::constant(7, WIDTH).is_positive() && !Known::constant(8, WIDTH).is_positive());
    assert_eq!(Known::range(0x12, 0x15, 8).truncate(WIDTH), Known::range(2, 5, WIDTH));
    assert_eq!(Known::range(0x0E, 0x12, 8).truncate(WIDTH), Known::unknown(WIDTH));
}

#[test]
fn joins_hold_both() {
    for one in sets() {
        for other in [Known::constant(3, WIDTH), Known::bits(4, 2, WIDTH), Known::signed_range(-3, 1, WIDTH)]
        {
            let join = one.join(other);
            assert!(values(one).into_iter().chain(values(other)).all(|value| join.contains(value)));
        }
    }
}

type Binary = (&'static str, fn(Known, Known) -> Known, fn(u64, u64) -> Option<u64>);

fn extend(value: u64) -> i64 {
    (value << 60) as i64 >> 60
}

/// Operations on two values of four bits, and what they compute, where that is defined.
const BINARY: &[Binary] = &[
    ("add", Known::add, |a, b| Some(a + b)),
    ("sub", Known::sub, |a, b| Some(a.wrapping_sub(b))),
    ("mul", Known::mul, |a, b| Some(a * b)),
    ("mul_high", Known::mul_high, |a, b| Some((a * b) >> WIDTH)),
    ("mul_high_signed", Known::mul_high_signed, |a, b| Some(((extend(a) * extend(b)) >> WIDTH) as u64)),
    ("div", Known::div, |a, b| a.checked_div(b)),
    ("rem", Known::rem, |a, b| a.checked_rem(b)),
    ("rem_signed", Known::rem_signed, |a, b| extend(a).checked_rem(extend(b)).map(|rest| rest as u64)),
    ("and", Known::and, |a, b| Some(a & b)),
    ("or", Known::or, |a, b| Some(a | b)),
    ("xor", Known::xor, |a, b| Some(a ^ b)),
    ("min", Known::min, |a, b| Some(a.min(b))),
    ("max", Known::max, |a, b| Some(a.max(b))),
    ("min_signed", Known::min_signed, |a, b| Some(extend(a).min(extend(b)) as u64)),
    ("max_signed", Known::max_signed, |a, b| Some(extend(a).max(extend(b)) as u64)),
    ("shl", Known::shl, |a, b| Some(a << b)),
    ("shr", Known::shr, |a, b| Some(a >> b)),
    ("shr_signed", Known::shr_signed, |a, b| Some((extend(a) >> b) as u64)),
];

#[test]
fn results_of_two_sources_are_in_their_sets() {
    let sets: Vec<(Known, Vec<u64>)> = sets().into_iter().map(|known| (known, values(known))).collect();
    for &(name, transfer, compute) in BINARY {
        for (one, of_one) in &sets {
            for (other, of_other) in &sets {
                let result = transfer(*one, *other);
                assert_eq!(result.width(), WIDTH);
                for (a, b) in of_one.iter().flat_map(|&a| of_other.iter().map(move |&b| (a, b))) {
                    let holds = compute(a, b).is_none_or(|value| result.contains(value & (END - 1)));
                    assert!(holds, "{name} of {a} in {one:?} and {b} in {other:?}: {result:?}");
                }
            }
        }
    }
}

/// Of two values the result is one value. (What is not defined is not known.)
#[test]
fn results_of_values_are_values() {
    for &(name, transfer, compute) in BINARY {
        for (a, b) in (0..END).flat_map(|a| (0..END).map(move |b| (a, b))) {
            let expected = compute(a, b).map(|value| value & (END - 1));
            let result = transfer(Known::constant(a, WIDTH), Known::constant(b, WIDTH)).only();
            let is_missed = name == "rem_signed" && (extend(b) < 0 || extend(a) < 0);
            assert!(result == expected || is_missed && result.is_none(), "{name} of {a} and {b}: {result:?}");
        }
    }
}

/// The narrowest set that holds all of these.
fn hull(values: impl Iterator<Item = u64>) -> Known {
    values.map(|value| Known::constant(value, WIDTH)).reduce(Known::join).unwrap()
}

/// Sets that are bits, ranges, and ranges with a sign, and nothing more.
fn kinds() -> [Vec<Known>; 3] {
    let mut bits = sets();
    let mut ranges = bits.split_off(3_usize.pow(WIDTH));
    let signed_ranges = ranges.split_off((END * (END + 1) / 2) as usize);
    [bits, ranges, signed_ranges]
}

/// What a set says as bits, as a range, or as a range with a sign.
fn said(known: Known, kind: usize) -> (i128, i128) {
    match kind {
        0 => (known.zeros().into(), known.ones().into()),
        1 => (known.low().into(), known.high().into()),
        _ => (known.least().into(), known.most().into()),
    }
}

/// Bits of `add`, `sub`, and logic depend on no other bits but by carries, which the sources bound; the ends of other ranges come of the
/// ends of their sources. So for these nothing narrower can be said.
#[test]
fn results_are_no_wider_than_their_values() {
    let [bits, range, signed] = [0, 1, 2];
    let exact: &[(&str, &[usize])] = &[
        ("add", &[bits, range, signed]),
        ("sub", &[bits, range, signed]),
        ("mul", &[range, signed]),
        ("mul_high", &[range]),
        ("mul_high_signed", &[signed]),
        ("div", &[range]),
        ("and", &[bits]),
        ("or", &[bits]),
        ("xor", &[bits]),
        ("min", &[range, signed]),
        ("max", &[range, signed]),
        ("min_signed", &[range, signed]),
        ("max_signed", &[range, signed]),
        ("shr", &[range]),
        ("shr_signed", &[signed]),
    ];
    // What wraps around is in no range of its own.
    let wraps = |name: &str, kind: usize, a: u64, b: u64| {
        let [a, b] = if kind == range { [a as i64, b as i64] } else { [extend(a), extend(b)] };
        let result = match name {
            "add" => a + b,
            "sub" => a - b,
            "mul" => a * b,
            _ => return false,
        };
        let fits = if kind == range { 0..END as i64 } else { -(END as i64) / 2..END as i64 / 2 };
        kind != bits && !fits.contains(&result)
    };
    let sets = kinds();
    for &(name, kinds) in exact {
        let &(_, transfer, compute) = BINARY.iter().find(|(other, ..)| *other == name).unwrap();
        for &kind in kinds {
            for (&one, &other) in
                sets[kind].iter().flat_map(|one| sets[kind].iter().map(move |other| (one, other)))
            {
                let pairs: Vec<(u64, u64)> = values(one)
                    .into_iter()
                    .flat_map(|a| values(other).into_iter().map(move |b| (a, b)))
                    .collect();
                let is_told = pairs.iter().all(|&(a, b)| compute(a, b).is_some() && !wraps(name, kind, a, b));
                if is_told {
                    let all = hull(pairs.iter().map(|&(a, b)| compute(a, b).unwrap()));
                    let result = transfer(one, other);
                    assert_eq!(said(result, kind), said(all, kind), "{name} of {one:?} and {other:?}");
                }
            }
        }
    }
}

/// As of two sources.
#[test]
fn results_of_one_source_are_no_wider_than_their_values() {
    let [bits, range, signed] = [0, 1, 2];
    let sets = kinds();
    let check = |name: &str, kinds: &[usize], transfer: fn(Known) -> Known, compute: fn(u64) -> u64| {
        for &kind in kinds {
            for &known in &sets[kind] {
                let result = transfer(known);
                let width = result.width();
                let of_values = values(known).into_iter().map(|value| Known::constant(compute(value), width));
                let all = of_values.reduce(Known::join).unwrap();
                assert_eq!(said(result, kind), said(all, kind), "{name} of {known:?}");
            }
        }
    };
    check("not", &[bits, range, signed], Known::not, |value| !value);
    check("popc", &[bits], Known::count_ones, |value| u64::from(value.count_ones()));
    check("clz", &[range], Known::leading_zeros, |value| u64::from(value.leading_zeros() - 60));
    check("truncate", &[bits], |known| known.truncate(2), |value| value);
    check("extend", &[bits, range], |known| known.extend(7), |value| value);
    check("extend_signed", &[bits, signed], |known| known.extend_signed(7), |value| extend(value) as u64);
}

/// As of two sources, wherever nothing of a range is shifted out; an amount of all bits or more leaves 0.
#[test]
fn what_is_shifted_left_is_no_wider_than_its_values() {
    let [bits, range] = [0, 1];
    let sets = kinds();
    for (kind, amount) in (0..3).flat_map(|kind| (0..6).map(move |amount| (kind, amount))) {
        let fits = |value: u64| match kind {
            _ if kind == bits || amount >= 4 => true,
            _ if kind == range => value << amount < END,
            _ => (-(END as i64) / 2..END as i64 / 2).contains(&(extend(value) << amount)),
        };
        for &known in sets[kind].iter().filter(|&&known| values(known).into_iter().all(fits)) {
            let all = hull(values(known).into_iter().map(|value| value << amount & (END - 1)));
            let result = known.shl(Known::constant(amount, 4));
            assert_eq!(said(result, kind), said(all, kind), "{known:?} by {amount}");
        }
    }
    for shift in [Known::shl, Known::shr] {
        assert_eq!(shift(Known::unknown(64), Known::constant(64, 32)), Known::constant(0, 64));
    }
}

/// Of two ranges it is known which values are less, and of bits which are other ones, wherever all pairs agree.
#[test]
fn comparisons_are_decided_wherever_all_values_agree() {
    let [bits, ranges, signed_ranges] = kinds();
    let check = |sets: &[Known], decide: fn(Known, Known) -> Option<bool>, holds: fn(u64, u64) -> bool| {
        for (&one, &other) in sets.iter().flat_map(|one| sets.iter().map(move |other| (one, other))) {
            let mut answers =
                values(one).into_iter().flat_map(|a| values(other).into_iter().map(move |b| holds(a, b)));
            let first = answers.next();
            let all = first.filter(|&first| answers.all(|answer| answer == first));
            assert_eq!(decide(one, other), all, "{one:?} and {other:?}");
        }
    };
    check(&ranges, Known::is_less, |a, b| a < b);
    check(&signed_ranges, Known::is_less_signed, |a, b| extend(a) < extend(b));
    for sets in [bits, ranges, signed_ranges] {
        check(&sets, Known::is_equal, |a, b| a == b);
    }
}

/// What the machine makes of it may be anything.
#[test]
fn nothing_is_known_where_a_divisor_may_be_zero() {
    for divisor in sets().into_iter().filter(|divisor| divisor.contains(0)) {
        for dividend in sets() {
            for divide in [Known::div, Known::rem, Known::rem_signed] {
                assert!(divide(dividend, divisor).is_any(), "{dividend:?} by {divisor:?}");
            }
        }
    }
}

#[test]
fn results_of_one_source_are_in_their_sets() {
    for known in sets() {
        for value in values(known) {
            let holds = |name: &str, result: Known, expected: u64| {
                assert!(result.contains(expected), "{name} of {value} in {known:?}: {result:?}");
            };
            holds("not", known.not(), !value & (END - 1));
            holds("neg", known.neg(), value.wrapping_neg() & (END - 1));
            holds("abs", known.abs(), extend(value).unsigned_abs() & (END - 1));
            holds("popc", known.count_ones(), u64::from(value.count_ones()));
            holds("clz", known.leading_zeros(), u64::from(value.leading_zeros() - 60));
            holds("truncate", known.truncate(2), value & 3);
            holds("extend", known.extend(7), value);
            holds("extend_signed", known.extend_signed(7), extend(value) as u64 & 0x7F);
            assert!(value.trailing_zeros() >= known.trailing_zeros());
        }
    }
}

/// Fields of four bits, by position and length.
#[test]
fn fields_are_in_their_sets() {
    let few = |known: &Known| known.high() - known.low() < 4;
    let places: Vec<Known> = sets().into_iter().filter(few).collect();
    for known in sets() {
        for &position in places.iter().step_by(7) {
            for &length in places.iter().step_by(5) {
                let result = known.field(position, length);
                for value in values(known) {
                    for (position, length) in values(position)
                        .into_iter()
                        .flat_map(|at| values(length).into_iter().map(move |of| (at, of)))
                    {
                        let field = value >> position & ((1 << length) - 1);
                        assert!(
                            result.contains(field),
                            "{length} bits at {position} of {value} in {known:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn comparisons_are_decided_where_all_values_agree() {
    let all_of = |known: Known| values(known);
    for one in sets() {
        for other in sets().into_iter().step_by(3) {
            let pairs =
                || all_of(one).into_iter().flat_map(|a| all_of(other).into_iter().map(move |b| (a, b)));
            let agree = |decided: Option<bool>, holds: fn(u64, u64) -> bool, name: &str| {
                let Some(decided) = decided else { return };
                assert!(pairs().all(|(a, b)| holds(a, b) == decided), "{name} of {one:?} and {other:?}");
            };
            agree(one.is_equal(other), |a, b| a == b, "equal");
            agree(one.is_less(other), |a, b| a < b, "less");
            agree(one.is_less_signed(other), |a, b| extend(a) < extend(b), "less with a sign");
        }
    }
    // Decided they are, where they can be.
    let (below, above) = (Known::range(2, 5, WIDTH), Known::range(6, 7, WIDTH));
    assert_eq!(
        (below.is_less(above), above.is_less(below), below.is_equal(above)),
        (Some(true), Some(false), Some(false))
    );
    assert_eq!(Known::range(2, 6, WIDTH).is_less(above), None);
    let (odd, even) = (Known::bits(0, 1, WIDTH), Known::bits(1, 0, WIDTH));
    assert_eq!((odd.is_equal(even), odd.is_equal(odd)), (Some(false), None));
}

/// What passes a comparison stays in the set, and of ranges nothing else does.
#[test]
fn what_passes_a_comparison_stays() {
    let few = [
        Known::unknown(WIDTH),
        Known::constant(0, WIDTH),
        Known::constant(7, WIDTH),
        Known::constant(8, WIDTH),
        Known::constant(END - 1, WIDTH),
        Known::bits(4, 2, WIDTH),
        Known::range(3, 9, WIDTH),
        Known::signed_range(-3, 1, WIDTH),
    ];
    for (ty, comparison, holds) in COMPARISONS {
        for (one, other) in sets().into_iter().flat_map(|one| few.map(|other| (one, other))) {
            // The types are those of four bits here: the lowest ones.
            let passing = passing(*ty, *comparison, one, other);
            let passes = |value: u64| values(other).into_iter().any(|against| holds(value, against));
            for value in values(one).into_iter().filter(|&value| passes(value)) {
                assert!(passing.contains(value), "{value} of {one:?} {comparison:?} {other:?}");
            }
            let is_exact = one.is_any() && other.only().is_some() && *comparison != Comparison::NotEqual;
            if is_exact && values(one).into_iter().any(passes) {
                assert!(values(passing).into_iter().all(passes), "{one:?} {comparison:?} {other:?}");
            }
        }
    }
    let without = |value| {
        passing(PtxType::U8, Comparison::NotEqual, Known::range(2, 5, WIDTH), Known::constant(value, WIDTH))
    };
    assert_eq!(
        [2, 5, 3].map(|value| (without(value).low(), without(value).high())),
        [(3, 5), (2, 4), (2, 5)]
    );
    let without = |value| {
        passing(
            PtxType::S8,
            Comparison::NotEqual,
            Known::signed_range(-2, 1, WIDTH),
            Known::constant(value, WIDTH),
        )
    };
    assert_eq!(
        [14, 1, 0].map(|value| (without(value).least(), without(value).most())),
        [(-1, 1), (-2, 0), (-2, 1)]
    );
}

type Compares = (PtxType, Comparison, fn(u64, u64) -> bool);

/// Comparisons of four bits, with and without a sign.
const COMPARISONS: &[Compares] = &[
    (PtxType::B8, Comparison::Equal, |a, b| a == b),
    (PtxType::B8, Comparison::NotEqual, |a, b| a != b),
    (PtxType::U8, Comparison::Less, |a, b| a < b),
    (PtxType::U8, Comparison::LessEqual, |a, b| a <= b),
    (PtxType::U8, Comparison::Greater, |a, b| a > b),
    (PtxType::U8, Comparison::GreaterEqual, |a, b| a >= b),
    (PtxType::U8, Comparison::Lower, |a, b| a < b),
    (PtxType::U8, Comparison::LowerSame, |a, b| a <= b),
    (PtxType::U8, Comparison::Higher, |a, b| a > b),
    (PtxType::U8, Comparison::HigherSame, |a, b| a >= b),
    (PtxType::S8, Comparison::Less, |a, b| extend(a) < extend(b)),
    (PtxType::S8, Comparison::LessEqual, |a, b| extend(a) <= extend(b)),
    (PtxType::S8, Comparison::Greater, |a, b| extend(a) > extend(b)),
    (PtxType::S8, Comparison::GreaterEqual, |a, b| extend(a) >= extend(b)),
];

/// Of constants each comparison is, with the sign of the type that is compared. Floats compare in another order.
#[test]
fn comparisons_of_instructions_are_decided() {
    for &(ty, comparison, holds) in COMPARISONS {
        let ty = match ty {
            PtxType::S8 => "s32",
            PtxType::U8 => "u32",
            _ => "b32",
        };
        for mnemonic in
            [format!("setp.{}.{ty}", comparison.word()), format!("set.{}.u32.{ty}", comparison.word())]
        {
            let compares = description(&mnemonic);
            for (a, b) in (0..END).flat_map(|a| (0..END).map(move |b| (a, b))) {
                let [one, other] = [a, b].map(|value| Known::constant(value, WIDTH));
                assert_eq!(decided(&compares, one, other), Some(holds(a, b)), "{mnemonic} {a}, {b}");
            }
            assert_eq!(decided(&compares, Known::unknown(WIDTH), Known::constant(3, WIDTH)), None);
        }
    }
    let (one, other) = (Known::constant(1, 32), Known::constant(2, 32));
    assert_eq!(decided(&description("setp.lt.f32"), one, other), None);
    assert_eq!(passing(PtxType::F32, Comparison::Less, Known::unknown(32), other), Known::unknown(32));
}

/// Loads and conversions fill a register that is wider, with the sign of their type; of bits, loads alone do.
#[test]
fn registers_hold_what_was_written_to_them() {
    let holds = |mnemonic: &str, width| in_register(&description(mnemonic), Known::constant(0x80, 8), width);
    for (mnemonic, bits) in
        [("cvt.s8.s32", 0xFF80), ("cvt.u8.u32", 0x80), ("ld.global.s8", 0xFF80), ("ld.global.u8", 0x80)]
    {
        assert_eq!(holds(mnemonic, 16), Some(Known::constant(bits, 16)), "{mnemonic}");
        assert_eq!(holds(mnemonic, 8), Some(Known::constant(0x80, 8)), "{mnemonic}");
    }
    assert_eq!(holds("ld.global.b8", 16), Some(Known::constant(0x80, 16)));
    for mnemonic in ["add.u16", "not.b16", "ld.global.f32"] {
        assert_eq!(holds(mnemonic, 32), None, "{mnemonic}");
    }
}

#[test]
fn wide_values_do_not_wrap() {
    let tid = of_special_register(0, "x", &LaunchLimits::default()).unwrap();
    assert_eq!((tid.high(), tid.is_positive()), (1023, true));
    let all = Known::unknown(64);
    assert_eq!(all.field(Known::constant(0, 32), Known::constant(64, 32)), all);
    let field = |bits: u64, [position, length]: [u64; 2]| {
        Known::range(0, bits, 64).field(Known::range(0, position, 32), Known::range(0, length, 32))
    };
    assert_eq!(field(99, [255, 255]), Known::range(0, 99, 64));
    assert_eq!(field(99, [256, 255]), Known::range(0, 99, 64));
    assert_eq!(field(99, [256, 4]), Known::range(0, 15, 64));
    assert_eq!(field(99, [255, 256]), all);
    let past = Known::constant(256, 32);
    assert_eq!(Known::constant(1, 64).field(past, Known::constant(4, 32)), Known::range(0, 1, 64));
    assert_eq!(all.add(all), all);
    assert_eq!(all.mul(all), all);
    let top = Known::range(u64::MAX - 1, u64::MAX, 64);
    assert_eq!(top.add(Known::constant(1, 64)).low(), 0);
    assert_eq!((top.least(), top.most()), (-2, -1));
    assert_eq!(top.mul_high(top), Known::range(u64::MAX - 3, u64::MAX - 1, 64));
    assert_eq!(Known::unknown(32).extend(64).high(), u64::from(u32::MAX));
    assert_eq!(Known::unknown(32).extend_signed(64).least(), i64::from(i32::MIN));
}

/// Descriptions choose the operation with the sign of their type, and the width of each source.
#[test]
fn instructions_are_understood() {
    let of = |mnemonic: &str, sources: &[Known]| result_of(&description(mnemonic), sources);
    let byte = Known::range(0, 255, 32);
    assert_eq!(of("cvt.u64.u32", &[Known::unknown(32)]), Some(Known::unknown(32).extend(64)));
    assert_eq!(of("cvt.s64.s32", &[Known::unknown(32)]), Some(Known::unknown(32).extend_signed(64)));
    assert_eq!(of("cvt.u16.u32", &[byte]), Some(Known::range(0, 255, 16)));
    assert_eq!(of("mul.wide.u32", &[byte, byte]), Some(Known::range(0, 255 * 255, 64)));
    assert_eq!(of("mad.lo.s32", &[byte, byte, byte]).map(Known::high), Some(255 * 256));
    assert_eq!(of("shr.s32", &[byte, Known::constant(4, 32)]), Some(Known::range(0, 15, 32)));
    let (few, minus) = (Known::range(2, 3, 32), Known::signed_range(-3, -2, 32));
    for (mnemonic, sources, expected) in [
        ("min.u32", &[few, minus][..], few),
        ("min.s32", &[few, minus], minus),
        ("max.u32", &[few, minus], minus),
        ("max.s32", &[few, minus], few),
        ("abs.s32", &[minus], Known::range(0, 3, 32)),
        ("neg.s32", &[few], minus),
        ("popc.b32", &[few], Known::range(1, 2, 32)),
        ("clz.b32", &[few], Known::constant(30, 32)),
        ("selp.b32", &[few, Known::constant(7, 32), Known::unknown(1)], few.join(Known::constant(7, 32))),
        ("bfe.u32", &[byte, Known::constant(4, 32), Known::constant(28, 32)], Known::range(0, 15, 32)),
        ("rem.u32", &[byte, Known::constant(8, 32)], Known::range(0, 7, 32)),
        ("div.s32", &[byte, Known::constant(8, 32)], Known::range(0, 31, 32)),
        ("mul.hi.u32", &[byte, byte], Known::constant(0, 32)),
        ("mul.hi.s32", &[few, minus], Known::constant(u64::MAX, 32)),
    ] {
        assert_eq!(of(mnemonic, sources), Some(expected), "{mnemonic}");
    }
    let truth = Known::signed_range(-1, 0, 32);
    for mnemonic in ["set.lt.u32.s32", "set.lt.s32.f32", "set.eq.u32.b64", "set.lt.u32.f16"] {
        assert_eq!(of(mnemonic, &[byte, byte]), Some(truth), "{mnemonic}");
    }
    assert_eq!(of("set.lt.u32.f16x2", &[byte, byte]), None);
    assert_eq!(of("set.lt.f32.s32", &[byte, byte]), None);
    assert_eq!(of("bfe.s32", &[byte, few, few]), None);
    assert_eq!(of("div.s32", &[minus, few]), None);
    assert_eq!(of("add.sat.s32", &[byte, byte]), None);
    assert_eq!(of("add.f32", &[byte, byte]), None);
    assert_eq!(of("div.s32", &[Known::unknown(32), byte]), None);
    assert_eq!(of("cvt.rzi.s32.f32", &[byte]), None);
    assert_eq!(slot_width(&description("mad.wide.u32"), 2), Some(64));
    assert_eq!(slot_width(&description("shl.b64"), 1), Some(32));
    assert_eq!(slot_width(&description("cvt.u64.u16"), 0), Some(16));
    assert_eq!(slot_width(&description("set.lt.u32.s64"), 1), Some(64));
    let decided = |mnemonic: &str, a, b| decided(&description(mnemonic), a, b);
    let (one, minus) = (Known::constant(1, 32), Known::constant(u64::MAX, 32));
    assert_eq!(decided("setp.lt.s32", minus, one), Some(true));
    assert_eq!(decided("setp.lt.u32", minus, one), Some(false));
    assert_eq!(decided("setp.ge.u32", byte, Known::constant(256, 32)), Some(false));
    assert_eq!(decided("setp.gt.s32", byte, minus), Some(true));
    assert_eq!(decided("setp.lt.f32", minus, one), None);
    assert_eq!(decided("set.lo.u32.u32", byte, minus), Some(true));
}

/// The limits of the ISA.
#[test]
fn special_registers_are_within_their_limits() {
    use ptxopt_components::special_registers::find;
    let of = |name: &str, component: &str| {
        of_special_register(find(name.as_bytes()).unwrap(), component, &LaunchLimits::default())
            .map(|known| (known.low(), known.high()))
    };
    assert_eq!(of("tid", "y"), Some((0, 1023)));
    assert_eq!(of("tid", "z"), Some((0, 63)));
    assert_eq!(of("ntid", "x"), Some((1, 1024)));
    assert_eq!(of("ctaid", "x"), Some((0, (1 << 31) - 2)));
    assert_eq!(of("nctaid", "z"), Some((1, 65_535)));
    assert_eq!(of("laneid", ""), Some((0, 31)));
    assert_eq!((of("tid", ""), of("clock", ""), of("warpid", "")), (None, None, None));
}

/// A limit takes away what lies outside and nothing else; where it says that nothing is left, nothing is.
#[test]
fn limits_take_away_what_lies_outside() {
    for known in sets() {
        for (low, high) in (0..END).flat_map(|low| (0..END).map(move |high| (low, high))) {
            let mut inside = values(known);
            inside.retain(|value| (low..=high).contains(value));
            match known.limited(low, high) {
                Some(part) => {
                    assert!(inside.iter().all(|&value| part.contains(value)), "{known:?} {low} {high}")
                }
                None => assert!(inside.is_empty(), "{known:?} {low} {high}"),
            }
        }
        for (least, most) in (-8..8).flat_map(|least| (-8..8).map(move |most| (least, most))) {
            let mut inside = values(known);
            inside.retain(|&value| (least..=most).contains(&types::extend(value, WIDTH)));
            match known.limited_signed(least, most) {
                Some(part) => {
                    assert!(inside.iter().all(|&value| part.contains(value)), "{known:?} {least} {most}")
                }
                None => assert!(inside.is_empty(), "{known:?} {least} {most}"),
            }
        }
    }
    assert_eq!(Known::range(4, 9, WIDTH).limited(0, 3), None);
    assert_eq!(Known::bits(3, 0, WIDTH).limited(13, 15), None);
    assert_eq!(Known::bits(3, 0, WIDTH).limited(0, 7), Some(Known::bits(11, 0, WIDTH)));
}
