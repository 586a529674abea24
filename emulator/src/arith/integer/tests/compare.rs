//! Comparisons and choices.

use super::*;

/// A comparison of numbers.
type Holds = fn(i128, i128) -> bool;

/// Comparisons as `setp` and `set` name them.
const SIGNED: [(&str, Holds); 6] = [
    ("eq", |a, b| a == b),
    ("ne", |a, b| a != b),
    ("lt", |a, b| a < b),
    ("le", |a, b| a <= b),
    ("gt", |a, b| a > b),
    ("ge", |a, b| a >= b),
];

/// The names that only unsigned types have.
const UNSIGNED: [(&str, Holds); 4] =
    [("lo", |a, b| a < b), ("ls", |a, b| a <= b), ("hi", |a, b| a > b), ("hs", |a, b| a >= b)];

/// A function of predicates.
type Combine = fn(bool, bool) -> bool;

/// How predicates are combined.
const COMBINED: [(&str, Combine); 3] = [("and", |a, b| a & b), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)];

/// All comparisons of all types, each with its meaning for cells.
fn each_comparison(mut with: impl FnMut(&str, &str, &dyn Fn(u64, u64) -> bool)) {
    for kind in ["u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64"] {
        let (width, signed) = shape(kind);
        let names = match &kind[..1] {
            "u" => [&SIGNED[..], &UNSIGNED].concat(),
            "s" => SIGNED.to_vec(),
            _ => SIGNED[..2].to_vec(),
        };
        for (name, holds) in names {
            with(name, kind, &|a, b| holds(number(a, width, signed), number(b, width, signed)));
        }
    }
}

#[test]
fn setp_alone_and_in_pairs() {
    each_comparison(|name, kind, holds| {
        let mnemonic = format!("setp.{name}.{kind}");
        check(&Request::plain(&mnemonic, 1, 2), &EDGES, |[a, b]| [u64::from(holds(a, b))]);
        check(&Request::plain(&mnemonic, 2, 2), &EDGES, |[a, b]| {
            [u64::from(holds(a, b)), u64::from(!holds(a, b))]
        });
    });
}

#[test]
fn setp_combined() {
    // Predicates 0 and 1, and numbers on both sides of each other as signed and unsigned.
    let values = [0, 1, 0xFFFF_FFFF_FFFF_FFFF];
    each_comparison(|name, kind, holds| {
        for ((operator, combine), not) in COMBINED.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let mnemonic = format!("setp.{name}.{operator}.{kind}");
            let negated = [false, false, not];
            let request = |results| Request { negated: &negated, ..Request::plain(&mnemonic, results, 3) };
            let p = |a, b, c: u64| u64::from(combine(holds(a, b), (c != 0) ^ not));
            let q = |a, b, c: u64| u64::from(combine(!holds(a, b), (c != 0) ^ not));
            check(&request(1), &values, |[a, b, c]| [p(a, b, c)]);
            check(&request(2), &values, |[a, b, c]| [p(a, b, c), q(a, b, c)]);
        }
    });
}

#[test]
fn set_writes_ones_or_one() {
    // 1.0 by its exponent field: the bias, above a fraction of zeros.
    let yes = [
        ("u32", 0xFFFF_FFFF),
        ("s32", 0xFFFF_FFFF),
        ("f32", 127 << 23),
        ("f16", 15 << 10),
        ("bf16", 127 << 7),
    ];
    for (result, yes) in yes {
        each_comparison(|name, kind, holds| {
            let value = |holds: bool| if holds { yes } else { 0 };
            check_plain(&format!("set.{name}.{result}.{kind}"), &EDGES, |[a, b]| value(holds(a, b)));
            let mnemonic = format!("set.{name}.xor.{result}.{kind}");
            let negated = [false, false, true];
            let request = Request { negated: &negated, ..Request::plain(&mnemonic, 1, 3) };
            check(&request, &[0, 1], |[a, b, c]| [value(holds(a, b) ^ (c == 0))]);
        });
    }
}

#[test]
fn selp_chooses() {
    for kind in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let (width, _) = shape(kind);
        for not in [false, true] {
            let mnemonic = format!("selp.{kind}");
            let negated = [false, false, not];
            let request = Request { negated: &negated, ..Request::plain(&mnemonic, 1, 3) };
            check(&request, &EDGES, |[a, b, p]| [cut(i128::from(if (p != 0) ^ not { a } else { b }), width)]);
        }
    }
}

#[test]
fn slct_by_integer() {
    for kind in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let (width, _) = shape(kind);
        check_plain(&format!("slct.{kind}.s32"), &EDGES, |[a, b, c]| {
            cut(i128::from(if number(c, 32, true) >= 0 { a } else { b }), width)
        });
    }
}

#[test]
fn slct_by_float() {
    // The ISA: a where c >= 0, -0.0 is 0, b for NaN; .ftz makes signed zeros of subnormal numbers.
    let smallest = 1;
    let minus = 1 << 31;
    let cases = [
        (1f32.to_bits(), true, true),
        (0, true, true),
        (minus, true, true),
        ((-1f32).to_bits(), false, false),
        (f32::INFINITY.to_bits(), true, true),
        (f32::NEG_INFINITY.to_bits(), false, false),
        (f32::NAN.to_bits(), false, false),
        (f32::NAN.to_bits() | minus, false, false),
        (smallest, true, true),
        (smallest | minus, false, true),
    ];
    for (c, plain, flushed) in cases {
        let chosen = |first| if first { 11 } else { 22 };
        assert_eq!(once("slct.u32.f32", &[11, 22, c.into()]), chosen(plain), "{c:#x}");
        assert_eq!(once("slct.ftz.u32.f32", &[11, 22, c.into()]), chosen(flushed), "{c:#x}");
        let dialect = crate::arith::Dialect { flushes: true, ..crate::arith::Dialect::TODAY };
        let old = Request { dialect, ..Request::plain("slct.f64.f32", 1, 3) };
        assert_eq!(run(&known(&old), &[11, 22, c.into()]), [chosen(flushed)], "{c:#x}");
    }
}
