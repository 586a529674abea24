//! Comparisons against Rust's own.

use super::{DOUBLES, HALVES, SINGLES, apply, evaluator, flushing, known, pairs, run, unknown};
use crate::arith::{Evaluator, Request};
use crate::lanes::WARP_SIZE;
use std::cmp::Ordering;

const RELATIONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// Whether the ISA's relation holds for an outcome.
fn holds(relation: &str, outcome: Option<Ordering>) -> bool {
    let Some(order) = outcome else {
        return relation == "nan" || relation.len() == 3 && relation.ends_with('u');
    };
    match relation.trim_end_matches('u') {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        "ge" => order.is_ge(),
        "n" | "num" => true,
        _ => false,
    }
}

#[test]
fn all_relations() {
    for relation in RELATIONS {
        let [single, double, half] =
            ["f32", "f64", "f16"].map(|kind| known(&format!("setp.{relation}.{kind}"), 1, 2));
        for [a, b] in pairs(&SINGLES) {
            let want = holds(relation, f32::from_bits(a).partial_cmp(&f32::from_bits(b)));
            assert_eq!(apply(&single, [a.into(), b.into()]), want.into(), "{relation} {a:#x} {b:#x}");
        }
        for [a, b] in pairs(&DOUBLES) {
            let want = holds(relation, f64::from_bits(a).partial_cmp(&f64::from_bits(b)));
            assert_eq!(apply(&double, [a, b]), want.into(), "{relation} {a:#x} {b:#x}");
        }
        for [a, b] in pairs(&HALVES) {
            let want = holds(relation, half::f16::from_bits(a).partial_cmp(&half::f16::from_bits(b)));
            assert_eq!(apply(&half, [a.into(), b.into()]), want.into(), "{relation} {a:#x} {b:#x}");
        }
    }
    unknown("setp.lo.f32", 1, 2);
    unknown("setp.lt.and.f32", 1, 2);
}

/// Both results.
fn both<const N: usize>(evaluator: &Evaluator, sources: [u64; N]) -> [u64; 2] {
    let lanes = sources.map(|cell| [cell; WARP_SIZE]);
    let mut results = [[9; WARP_SIZE]; 2];
    evaluator(&lanes.each_ref()[..], &mut results);
    results.map(|lanes| lanes[31])
}

#[test]
fn two_predicates() {
    let (one, two, nan) = (0x3F80_0000, 0x4000_0000, 0x7FC0_0000);
    let less = known("setp.lt.f32", 2, 2);
    assert_eq!(both(&less, [one, two]), [1, 0]);
    assert_eq!(both(&less, [two, one]), [0, 1]);
    assert_eq!(both(&less, [nan, one]), [0, 1]);
    for (operator, a, b, want) in [
        ("and", one, two, [[0, 0], [1, 0]]),
        ("and", two, one, [[0, 0], [0, 1]]),
        ("or", one, two, [[1, 0], [1, 1]]),
        ("xor", one, two, [[1, 0], [0, 1]]),
    ] {
        let mnemonic = format!("setp.lt.{operator}.f32");
        for predicate in [0, 1] {
            let plain = known(&mnemonic, 2, 3);
            assert_eq!(both(&plain, [a, b, predicate]), want[predicate as usize], "{operator} {predicate}");
            let request = Request { negated: &[false, false, true], ..Request::plain(&mnemonic, 2, 3) };
            let negated = evaluator(&request).unwrap();
            assert_eq!(both(&negated, [a, b, 1 - predicate]), want[predicate as usize]);
            assert_eq!(run(&mnemonic, [a, b, predicate]), want[predicate as usize][0]);
        }
    }
}

#[test]
fn pairs_give_a_predicate_each() {
    // Low halves 1 < 2, high halves 2 < 1.
    assert_eq!(both(&known("setp.lt.f16x2", 2, 2), [0x4000_3C00, 0x3C00_4000]), [1, 0]);
    assert_eq!(both(&known("setp.lt.f16x2", 2, 2), [0x3C00_4000, 0x4000_3C00]), [0, 1]);
    assert_eq!(both(&known("setp.gt.bf16x2", 2, 2), [0x4000_3F80, 0x3F80_4000]), [0, 1]);
    assert_eq!(both(&known("setp.nan.f16x2", 2, 2), [0x7E00_3C00, 0]), [0, 1]);
    assert_eq!(both(&known("setp.lt.and.f16x2", 2, 3), [0x3C00_3C00, 0x4000_4000, 0]), [0, 0]);
    assert_eq!(run("setp.lt.f16x2", [0x4000_3C00, 0x3C00_4000]), 1);
}

#[test]
fn flushed_comparisons() {
    assert_eq!(run("setp.eq.ftz.f32", [1, 0x8000_0000]), 1);
    assert_eq!(run("setp.eq.f32", [1, 0x8000_0000]), 0);
    assert_eq!(apply(&flushing("setp.eq.f32", 2), [1, 0]), 1);
    assert_eq!(run("setp.lt.ftz.f16", [0x8001, 0]), 0);
    // Doubles keep their subnormals on the oldest devices, too.
    assert_eq!(apply(&flushing("setp.eq.f64", 2), [1, 0]), 0);
}

#[test]
fn set_writes_the_truth_of_its_type() {
    let (one, two) = (0x3F80_0000, 0x4000_0000);
    assert_eq!(run("set.lt.u32.f32", [one, two]), 0xFFFF_FFFF);
    assert_eq!(run("set.lt.s32.f32", [two, one]), 0);
    assert_eq!(run("set.lt.f32.f32", [one, two]), 0x3F80_0000);
    assert_eq!(run("set.le.and.f32.f32", [one, two, 0]), 0);
    assert_eq!(run("set.le.and.f32.f32", [one, two, 1]), 0x3F80_0000);
    assert_eq!(run("set.ge.f32.f64", [1.0_f64.to_bits(), 1.0_f64.to_bits()]), 0x3F80_0000);
    assert_eq!(run("set.lt.f16.f32", [one, two]), 0x3C00);
    assert_eq!(run("set.lt.bf16.f32", [one, two]), 0x3F80);
    assert_eq!(run("set.lt.u16.f16", [0x3C00, 0x4000]), 0xFFFF);
    assert_eq!(run("set.lt.u32.f16", [0x3C00, 0x4000]), 0xFFFF_FFFF);
    assert_eq!(run("set.lt.f16x2.f16x2", [0x3C00_4000, 0x4000_3C00]), 0x3C00_0000);
    assert_eq!(run("set.lt.bf16x2.bf16x2", [0x3F80_4000, 0x4000_3F80]), 0x3F80_0000);
    assert_eq!(run("set.lt.u32.f16x2", [0x3C00_4000, 0x4000_3C00]), 0xFFFF_0000);
    // The predicate belongs to both halves.
    assert_eq!(run("set.lt.or.bf16x2.bf16x2", [0x3F80_4000, 0x4000_3F80, 1]), 0x3F80_3F80);
    unknown("set.lt.f64.f32", 1, 2);
}
