//! SIMD video instructions, against the ISA's pseudocode on exact numbers.

use super::*;

const FEW: [u64; 9] = [
    0,
    1,
    0x7F80_FF01,
    0x8000_7FFF,
    0xFFFF_FFFF,
    0x1234_ABCD,
    0x8180_0102,
    0x0001_FFFE,
    0xFFFF_FFFF_FEDC_BA98,
];

/// What an instruction computes with the exact numbers of a part.
type OfPart = fn(i128, i128) -> i128;

const OPERATIONS: [(&str, OfPart); 6] = [
    ("vadd", |a, b| a + b),
    ("vsub", |a, b| a - b),
    ("vavrg", |a, b| {
        let sum = a + b;
        if sum >= 0 { (sum + 1) >> 1 } else { sum >> 1 }
    }),
    ("vabsdiff", |a, b| (a - b).abs()),
    ("vmin", |a, b| a.min(b)),
    ("vmax", |a, b| a.max(b)),
];

/// A register width, and selectors with the parts of {b, a} they name from the lowest on.
struct Cut {
    suffix: u32,
    width: u32,
    sources: [(Option<&'static str>, &'static [u32]); 3],
    second: (Option<&'static str>, &'static [u32]),
    masks: [(Option<&'static str>, u32); 4],
}

const HALVES: Cut = Cut {
    suffix: 2,
    width: 16,
    sources: [(None, &[0, 1]), (Some("h10"), &[0, 1]), (Some("h02"), &[2, 0])],
    second: (None, &[2, 3]),
    masks: [(None, 0b11), (Some("h0"), 0b01), (Some("h1"), 0b10), (Some("h10"), 0b11)],
};

const BYTES: Cut = Cut {
    suffix: 4,
    width: 8,
    sources: [(None, &[0, 1, 2, 3]), (Some("b3210"), &[0, 1, 2, 3]), (Some("b7216"), &[6, 1, 2, 7])],
    second: (None, &[4, 5, 6, 7]),
    masks: [(None, 0b1111), (Some("b0"), 0b0001), (Some("b31"), 0b1010), (Some("b3210"), 0b1111)],
};

impl Cut {
    /// The parts of a source that `chosen` names.
    fn parts(&self, a: u64, b: u64, chosen: &[u32], signed: bool) -> Vec<i128> {
        let both = a & 0xFFFF_FFFF | b << 32;
        chosen.iter().map(|at| number(both >> (at * self.width), self.width, signed)).collect()
    }

    fn merged(&self, c: u64, results: &[i128], mask: u32) -> u64 {
        let mut d = c & 0xFFFF_FFFF;
        for (index, result) in results.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1) {
            let at = index as u32 * self.width;
            d = d & !(cut(-1, self.width) << at) | cut(*result, self.width) << at;
        }
        d
    }

    fn added(&self, c: u64, results: &[i128], mask: u32) -> u64 {
        let chosen = results.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1);
        cut(i128::from(c) + chosen.map(|(_, result)| result).sum::<i128>(), 32)
    }
}

fn name(signed: bool) -> &'static str {
    if signed { "s32" } else { "u32" }
}

#[test]
fn arithmetic_in_parallel() {
    let signs = |index: u32| [index & 1 == 1, index & 2 == 2, index & 4 == 4];
    for (shape, (root, operation)) in
        [HALVES, BYTES].iter().flat_map(|shape| OPERATIONS.map(|it| (shape, it)))
    {
        for (d, a, b) in (0..8).map(signs).map(|[d, a, b]| (d, a, b)) {
            let (least, most) = range(shape.width, d);
            let types = format!("{root}{}.{}.{}.{}", shape.suffix, name(d), name(a), name(b));
            for (source, mask) in shape.sources.iter().flat_map(|it| shape.masks.map(|mask| (it, mask))) {
                let selectors = [mask.0, source.0, shape.second.0, None];
                let results = |x, y| -> Vec<i128> {
                    let first = shape.parts(x, y, source.1, a);
                    let second = shape.parts(x, y, shape.second.1, b);
                    first.into_iter().zip(second).map(|(x, y)| operation(x, y)).collect()
                };
                check_selected(&types, &selectors, &FEW, |[x, y, c]| shape.merged(c, &results(x, y), mask.1));
                check_selected(&format!("{types}.sat"), &selectors, &FEW, |[x, y, c]| {
                    let clamped: Vec<i128> =
                        results(x, y).into_iter().map(|value| value.clamp(least, most)).collect();
                    shape.merged(c, &clamped, mask.1)
                });
                check_selected(&format!("{types}.add"), &selectors, &FEW, |[x, y, c]| {
                    shape.added(c, &results(x, y), mask.1)
                });
            }
        }
    }
}

#[test]
fn comparisons_in_parallel() {
    let comparisons: [(&str, OfPart); 6] = [
        ("eq", |a, b| i128::from(a == b)),
        ("ne", |a, b| i128::from(a != b)),
        ("lt", |a, b| i128::from(a < b)),
        ("le", |a, b| i128::from(a <= b)),
        ("gt", |a, b| i128::from(a > b)),
        ("ge", |a, b| i128::from(a >= b)),
    ];
    for (shape, (word, operation)) in
        [HALVES, BYTES].iter().flat_map(|shape| comparisons.map(|it| (shape, it)))
    {
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let types = format!("vset{}.{}.{}.{word}", shape.suffix, name(a), name(b));
            for mask in shape.masks {
                let selectors = [mask.0, None, None, None];
                let results = |x, y| -> Vec<i128> {
                    let first = shape.parts(x, y, shape.sources[0].1, a);
                    let second = shape.parts(x, y, shape.second.1, b);
                    first.into_iter().zip(second).map(|(x, y)| operation(x, y)).collect()
                };
                check_selected(&types, &selectors, &FEW, |[x, y, c]| shape.merged(c, &results(x, y), mask.1));
                check_selected(&format!("{types}.add"), &selectors, &FEW, |[x, y, c]| {
                    shape.added(c, &results(x, y), mask.1)
                });
            }
        }
    }
}

#[test]
fn wrong_selectors_are_refused() {
    let with = |mnemonic, selectors: &[Option<&str>]| {
        evaluator(&Request { selectors, ..Request::plain(mnemonic, 1, 3) }).is_some()
    };
    assert!(with("vadd2.u32.u32.u32", &[Some("h1"), Some("h32"), Some("h00"), None]));
    assert!(!with("vadd2.u32.u32.u32", &[None, Some("h0"), None, None]), "one half-word of two");
    assert!(!with("vadd2.u32.u32.u32", &[None, Some("h45"), None, None]), "there are four half-words");
    assert!(!with("vadd2.u32.u32.u32", &[None, Some("b10"), None, None]), "bytes of half-words");
    assert!(!with("vadd2.u32.u32.u32", &[Some("h01"), None, None, None]), "masks go down");
    assert!(!with("vadd2.u32.u32.u32", &[Some("h2"), None, None, None]));
    assert!(!with("vadd4.u32.u32.u32", &[None, None, None, Some("b0")]), "c has none");
    assert!(!with("vadd3.u32.u32.u32", &[]));
}

#[test]
fn absolute_differences_add_up() {
    // |0x10 - 0x01| + |0x20 - 0x02| + |0x30 - 0x03| + |0x40 - 0x04| = 15 * (1 + 2 + 3 + 4), on top of 1000.
    assert_eq!(once("vabsdiff4.u32.u32.u32.add", &[0x1020_3040, 0x0102_0304, 1000]), 1150);
}
