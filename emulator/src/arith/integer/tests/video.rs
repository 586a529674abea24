//! Scalar video instructions, against the ISA's pseudocode on exact numbers.

use super::*;

const SIGNS: [(&str, bool); 2] = [("u32", false), ("s32", true)];

/// Bit, width and name of each selector; the empty name is none.
const PARTS: [(&str, u32, u32); 7] =
    [("", 0, 32), ("b0", 0, 8), ("b1", 8, 8), ("b2", 16, 8), ("b3", 24, 8), ("h0", 0, 16), ("h1", 16, 16)];

/// Fewer numbers, for three operands with all their selectors.
const FEW: [u64; 10] =
    [0, 1, 5, 33, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x80FF_7F01, 0x0080_8000, 0xFFFF_FFFF_1234_ABCD];

fn selected((name, ..): (&'static str, u32, u32)) -> Option<&'static str> {
    Some(name).filter(|name| !name.is_empty())
}

fn part(cell: u64, (_, from, width): (&str, u32, u32), signed: bool) -> i128 {
    number(cell >> from, width, signed)
}

/// The `.s33` that an intermediate result is without saturation.
fn s33(value: i128) -> i128 {
    number(cut(value, 33), 33, true)
}

/// What an instruction computes with exact numbers.
type Exact = fn(i128, i128) -> i128;

const ARITHMETIC: [(&str, Exact); 5] = [
    ("vadd", |a, b| a + b),
    ("vsub", |a, b| a - b),
    ("vabsdiff", |a, b| (a - b).abs()),
    ("vmin", |a, b| a.min(b)),
    ("vmax", |a, b| a.max(b)),
];

/// Source types and signs in all combinations.
fn signs() -> impl Iterator<Item = [(&'static str, bool); 3]> {
    SIGNS.into_iter().flat_map(|d| SIGNS.into_iter().flat_map(move |a| SIGNS.map(move |b| [d, a, b])))
}

#[test]
fn sources_are_selected_and_extended() {
    for ((root, exact), [d, a, b]) in ARITHMETIC.into_iter().flat_map(|it| signs().map(move |s| (it, s))) {
        for (pa, pb) in PARTS.into_iter().flat_map(|pa| PARTS.map(|pb| (pa, pb))) {
            let selectors = [None, selected(pa), selected(pb)];
            let (least, most) = range(32, d.1);
            let value = |x, y| exact(part(x, pa, a.1), part(y, pb, b.1));
            let mnemonic = format!("{root}.{}.{}.{}", d.0, a.0, b.0);
            check_selected(&mnemonic, &selectors, &FEW, |[x, y]| cut(value(x, y), 32));
            check_selected(&(mnemonic + ".sat"), &selectors, &FEW, |[x, y]| {
                cut(value(x, y).clamp(least, most), 32)
            });
        }
    }
}

#[test]
fn second_operations_read_c_by_the_destination() {
    let second: [(&str, Exact); 3] =
        [("add", |t, c| t + c), ("min", |t, c| t.min(c)), ("max", |t, c| t.max(c))];
    for ((root, exact), [d, a, b]) in ARITHMETIC.into_iter().flat_map(|it| signs().map(move |s| (it, s))) {
        for (name, finish) in second {
            let (least, most) = range(32, d.1);
            let value = |x, y| exact(number(x, 32, a.1), number(y, 32, b.1));
            let types = format!("{}.{}.{}", d.0, a.0, b.0);
            check_plain(&format!("{root}.{types}.{name}"), &FEW, |[x, y, c]| {
                cut(finish(s33(value(x, y)), number(c, 32, d.1)), 32)
            });
            check_plain(&format!("{root}.{types}.sat.{name}"), &FEW, |[x, y, c]| {
                cut(finish(value(x, y).clamp(least, most), number(c, 32, d.1)), 32)
            });
        }
    }
}

/// The part of `c` that the selector names, replaced.
fn merged(c: u64, value: i128, (_, from, width): (&str, u32, u32)) -> u64 {
    let hole = cut(-1, width) << from;
    cut(i128::from(c & !hole | cut(value, width) << from), 32)
}

#[test]
fn merges_saturate_to_the_part() {
    for ((root, exact), [d, a, b]) in ARITHMETIC.into_iter().flat_map(|it| signs().map(move |s| (it, s))) {
        for to in &PARTS[1..] {
            let selectors = [Some(to.0), None, None, None];
            let (least, most) = range(to.2, d.1);
            let value = |x, y| exact(number(x, 32, a.1), number(y, 32, b.1));
            let mnemonic = format!("{root}.{}.{}.{}", d.0, a.0, b.0);
            check_selected(&mnemonic, &selectors, &FEW, |[x, y, c]| merged(c, value(x, y), *to));
            check_selected(&(mnemonic + ".sat"), &selectors, &FEW, |[x, y, c]| {
                merged(c, value(x, y).clamp(least, most), *to)
            });
        }
    }
}

#[test]
fn a_merge_and_a_second_operation_exclude_each_other() {
    let selectors = [Some("b0"), None, None, None];
    let plain = Request::plain("vadd.u32.u32.u32.add", 1, 3);
    assert!(evaluator(&plain).is_some());
    assert!(evaluator(&Request { selectors: &selectors, ..plain }).is_none());
    assert!(
        evaluator(&Request { mnemonic: "vadd.u32.u32.u32", ..plain }).is_none(),
        "a third source for nothing"
    );
}

#[test]
fn shifts_by_clamped_and_wrapped_amounts() {
    for [d, a, _] in signs() {
        for (mode, pb) in ["clamp", "wrap"].into_iter().flat_map(|mode| PARTS.map(|pb| (mode, pb))) {
            let selectors = [None, None, selected(pb)];
            let amount = |y| {
                let amount = part(y, pb, false);
                if mode == "clamp" { amount.min(32) } else { amount & 31 }
            };
            let (least, most) = range(32, d.1);
            let left = |x, y| number(x, 32, a.1) << amount(y);
            let right = |x, y| number(x, 32, a.1) >> amount(y);
            for (root, value) in
                [("vshl", &left as &dyn Fn(u64, u64) -> i128), ("vshr", &right as &dyn Fn(u64, u64) -> i128)]
            {
                let types = format!("{root}.{}.{}.u32", d.0, a.0);
                check_selected(&format!("{types}.{mode}"), &selectors, &FEW, |[x, y]| cut(value(x, y), 32));
                check_selected(&format!("{types}.sat.{mode}"), &selectors, &FEW, |[x, y]| {
                    cut(value(x, y).clamp(least, most), 32)
                });
            }
        }
    }
}

#[test]
fn vset_writes_one_or_zero() {
    let comparisons: [(&str, Exact); 6] = [
        ("eq", |a, b| i128::from(a == b)),
        ("ne", |a, b| i128::from(a != b)),
        ("lt", |a, b| i128::from(a < b)),
        ("le", |a, b| i128::from(a <= b)),
        ("gt", |a, b| i128::from(a > b)),
        ("ge", |a, b| i128::from(a >= b)),
    ];
    for ((name, holds), [_, a, b]) in comparisons.into_iter().flat_map(|it| signs().map(move |s| (it, s))) {
        let (pa, pb) = (PARTS[1], PARTS[6]);
        let value = |x, y| holds(part(x, pa, a.1), part(y, pb, b.1));
        let mnemonic = format!("vset.{}.{}.{name}", a.0, b.0);
        let selectors = [None, Some("b0"), Some("h1"), None];
        check_selected(&mnemonic, &selectors, &FEW, |[x, y]| cut(value(x, y), 32));
        check_selected(&(mnemonic + ".add"), &selectors, &FEW, |[x, y, c]| {
            cut(value(x, y) + i128::from(c), 32)
        });
    }
    let selectors = [Some("h1"), None, None, None];
    let request = Request { selectors: &selectors, ..Request::plain("vset.u32.u32.lt", 1, 3) };
    assert_eq!(run(&known(&request), &[1, 2, 0xAAAA_BBBB]), [0x0001_BBBB]);
}

/// The ISA's steps: complement instead of minus, then one more.
fn vmad(
    product: i128,
    c: u64,
    signs: [bool; 2],
    negated: [bool; 3],
    plus_one: bool,
    shift: u32,
) -> (i128, bool) {
    let minus_product = negated[0] ^ negated[1];
    let signed = signs[0] || signs[1] || minus_product || negated[2];
    let mut c = c & 0xFFFF_FFFF;
    let mut sum = product;
    let mut one = 0;
    if plus_one {
        one = 1;
    } else if minus_product {
        sum = !sum;
        one = 1;
    } else if negated[2] {
        c = !c & 0xFFFF_FFFF;
        one = 1;
    }
    ((sum + number(c, 32, signed) + one) >> shift, signed)
}

#[test]
fn vmad_negates_scales_and_saturates() {
    let minus = [
        [false, false, false],
        [true, false, false],
        [false, true, false],
        [true, true, false],
        [false, false, true],
    ];
    for ([d, a, b], (shift, scale)) in
        signs().flat_map(|s| [(0, ""), (7, ".shr7"), (15, ".shr15")].map(|scale| (s, scale)))
    {
        for negated in minus {
            let (pa, pb) = (PARTS[0], PARTS[5]);
            let selectors = [None, None, Some("h0"), None];
            let value = |x, y, c| {
                let product = part(x, pa, a.1) * part(y, pb, b.1);
                vmad(product, c, [a.1, b.1], negated, false, shift)
            };
            let mnemonic = format!("vmad.{}.{}.{}{scale}", d.0, a.0, b.0);
            let request =
                Request { selectors: &selectors, negated: &negated, ..Request::plain(&mnemonic, 1, 3) };
            check(&request, &FEW, |[x, y, c]| [cut(value(x, y, c).0, 32)]);
            let mnemonic = mnemonic.clone() + ".sat";
            let request = Request { mnemonic: &mnemonic, ..request };
            check(&request, &FEW, |[x, y, c]| {
                let (value, signed) = value(x, y, c);
                let (least, most) = range(32, signed);
                [cut(value.clamp(least, most), 32)]
            });
        }
        let mnemonic = format!("vmad.{}.{}.{}.po{scale}", d.0, a.0, b.0);
        check_plain(&mnemonic, &FEW, |[x, y, c]| {
            let product = number(x, 32, a.1) * number(y, 32, b.1);
            cut(vmad(product, c, [a.1, b.1], [false; 3], true, shift).0, 32)
        });
    }
}

#[test]
fn vmad_negates_one_thing_at_most() {
    let plain = Request::plain("vmad.u32.u32.u32", 1, 3);
    assert!(evaluator(&Request { negated: &[true, false, true], ..plain }).is_none());
    assert!(evaluator(&Request { negated: &[true, true, true], ..plain }).is_some());
    let plus_one = Request { mnemonic: "vmad.u32.u32.u32.po", ..plain };
    assert!(evaluator(&plus_one).is_some());
    assert!(evaluator(&Request { negated: &[false, true, false], ..plus_one }).is_none());
}
