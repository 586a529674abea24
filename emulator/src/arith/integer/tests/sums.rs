//! Sums, carries, distances, extremes.

use super::*;

const TYPES: [&str; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];

#[test]
fn add_and_sub_wrap() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("add.{kind}"), &EDGES, |[a, b]| cut(value(a) + value(b), width));
        check_plain(&format!("sub.{kind}"), &EDGES, |[a, b]| cut(value(a) - value(b), width));
    }
}

#[test]
fn saturation_stops_at_the_range() {
    for kind in ["s32", "u32"] {
        let (width, signed) = shape(kind);
        let (least, most) = range(width, signed);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("add.sat.{kind}"), &EDGES, |[a, b]| {
            cut((value(a) + value(b)).clamp(least, most), width)
        });
        check_plain(&format!("sub.sat.{kind}"), &EDGES, |[a, b]| {
            cut((value(a) - value(b)).clamp(least, most), width)
        });
    }
    assert_eq!(once("add.sat.s32", &[0x7FFF_FFFF, 1]), 0x7FFF_FFFF);
    assert_eq!(once("sub.sat.s32", &[0x8000_0000, 1]), 0x8000_0000);
}

#[test]
fn neg_and_abs_wrap_at_the_smallest_number() {
    for kind in ["s16", "s32", "s64"] {
        let (width, _) = shape(kind);
        let value = |cell| number(cell, width, true);
        check_plain(&format!("neg.{kind}"), &EDGES, |[a]| cut(-value(a), width));
        check_plain(&format!("abs.{kind}"), &EDGES, |[a]| cut(value(a).abs(), width));
        let smallest = 1 << (width - 1);
        assert_eq!(once(&format!("neg.{kind}"), &[smallest]), smallest);
        assert_eq!(once(&format!("abs.{kind}"), &[smallest]), smallest);
    }
}

#[test]
fn sad_adds_the_distance() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("sad.{kind}"), &EDGES, |[a, b, c]| {
            cut(value(c) + (value(a) - value(b)).abs(), width)
        });
    }
}

#[test]
fn extremes_follow_the_sign_of_the_type() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("min.{kind}"), &EDGES, |[a, b]| cut(value(a).min(value(b)), width));
        check_plain(&format!("max.{kind}"), &EDGES, |[a, b]| cut(value(a).max(value(b)), width));
    }
    let value = |cell| number(cell, 32, true);
    check_plain("min.relu.s32", &EDGES, |[a, b]| cut(value(a).min(value(b)).max(0), 32));
    check_plain("max.s32.relu", &EDGES, |[a, b]| cut(value(a).max(value(b)).max(0), 32));
}

/// What an instruction computes with the numbers of one part.
type OfPart = fn(i128, i128) -> i128;

#[test]
fn packed_parts_do_not_touch_one_another() {
    let operations: [(&str, OfPart); 4] =
        [("add", |a, b| a + b), ("sub", |a, b| a - b), ("min", |a, b| a.min(b)), ("max", |a, b| a.max(b))];
    for (kind, width, signed) in
        [("u16x2", 16, false), ("s16x2", 16, true), ("u8x4", 8, false), ("s8x4", 8, true)]
    {
        let (least, most) = range(width, signed);
        let each = |part: &dyn Fn(u32) -> i128| {
            (0..32).step_by(width as usize).map(|at| cut(part(at), width) << at).sum::<u64>()
        };
        let value = |cell: u64, at: u32| number(cell >> at, width, signed);
        for (name, operation) in operations {
            check_plain(&format!("{name}.{kind}"), &EDGES, |[a, b]| {
                each(&|at| operation(value(a, at), value(b, at)))
            });
        }
        for (name, operation) in &operations[..2] {
            check_plain(&format!("{name}.sat.{kind}"), &EDGES, |[a, b]| {
                each(&|at| operation(value(a, at), value(b, at)).clamp(least, most))
            });
        }
        if signed {
            for (name, operation) in &operations[2..] {
                check_plain(&format!("{name}.relu.{kind}"), &EDGES, |[a, b]| {
                    each(&|at| operation(value(a, at), value(b, at)).max(0))
                });
            }
            check_plain(&format!("neg.{kind}"), &EDGES, |[a]| each(&|at| -value(a, at)));
        }
    }
    assert_eq!(once("add.u16x2", &[0x0001_FFFF, 0x0001_0001]), 0x0002_0000, "no carry between halves");
}

#[test]
fn carries_follow_the_machine() {
    for kind in ["u32", "s32", "u64", "s64"] {
        let (width, _) = shape(kind);
        let flags: Vec<u64> = EDGES.into_iter().collect();
        let value = |cell| number(cell, width, false);
        let up = |sum: i128| [cut(sum, width), cut(sum >> width, 1)];
        // Set where nothing is borrowed.
        let down = |difference: i128| [cut(difference, width), u64::from(difference >= 0)];
        let plain = |mnemonic: &str| mnemonic.replace("TYPE", kind);

        check(&Request::plain(&plain("add.cc.TYPE"), 1, 2), &flags, |[a, b]| up(value(a) + value(b)));
        check(&Request::plain(&plain("sub.cc.TYPE"), 1, 2), &flags, |[a, b]| down(value(a) - value(b)));
        check(&Request::plain(&plain("addc.cc.TYPE"), 1, 2), &flags, |[a, b, flag]| {
            up(value(a) + value(b) + i128::from(flag & 1))
        });
        check(&Request::plain(&plain("subc.cc.TYPE"), 1, 2), &flags, |[a, b, flag]| {
            down(value(a) - value(b) - 1 + i128::from(flag & 1))
        });
        check(&Request::plain(&plain("addc.TYPE"), 1, 2), &flags, |[a, b, flag]| {
            [up(value(a) + value(b) + i128::from(flag & 1))[0]]
        });
        check(&Request::plain(&plain("subc.TYPE"), 1, 2), &flags, |[a, b, flag]| {
            [down(value(a) - value(b) - 1 + i128::from(flag & 1))[0]]
        });
    }
}

/// The four words of a 128-bit number, the low one first.
fn words(value: u128) -> [u64; 4] {
    std::array::from_fn(|index| (value >> (32 * index)) as u64 & 0xFFFF_FFFF)
}

fn join(words: [u64; 4]) -> u128 {
    words.into_iter().rev().fold(0, |all, word| all << 32 | u128::from(word))
}

#[test]
fn chains_reach_through_128_bits() {
    let numbers = [
        0,
        1,
        u128::MAX,
        1 << 32,
        (1 << 96) - 1,
        0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210,
        0xFFFF_FFFF_0000_0000_FFFF_FFFF_FFFF_FFFF,
    ];
    for (first, next, last, whole) in [
        ("add.cc.u32", "addc.cc.u32", "addc.u32", u128::wrapping_add as fn(u128, u128) -> u128),
        ("sub.cc.u32", "subc.cc.u32", "subc.u32", u128::wrapping_sub),
    ] {
        let evaluators = [first, next, next, last].map(|mnemonic| known(&Request::plain(mnemonic, 1, 2)));
        for (a, b) in numbers.iter().flat_map(|&a| numbers.map(|b| (a, b))) {
            let (x, y) = (words(a), words(b));
            let mut flag = 0;
            let mut sum = [0; 4];
            for index in 0..4 {
                let sources = [x[index], y[index], flag];
                match index {
                    0 => [sum[0], flag] = run(&evaluators[0], &sources[..2]),
                    3 => [sum[3]] = run(&evaluators[3], &sources),
                    _ => [sum[index], flag] = run(&evaluators[index], &sources),
                }
            }
            assert_eq!(join(sum), whole(a, b), "{first} chain of {a:#x} and {b:#x}");
        }
    }
}
