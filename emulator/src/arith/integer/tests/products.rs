//! Products, quotients, dot products.

use super::*;

const TYPES: [&str; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];

/// Products of 64-bit numbers need all 128 bits; as bits, wrapping signed and unsigned ones are the same.
fn product(a: i128, b: i128) -> i128 {
    a.wrapping_mul(b)
}

/// The low 64 bits from `shift` on; the bits above the product are of no interest.
fn high(product: i128, width: u32) -> u64 {
    cut(((product as u128) >> width) as i128, width)
}

#[test]
fn mul_in_halves_and_whole() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("mul.lo.{kind}"), &EDGES, |[a, b]| cut(product(value(a), value(b)), width));
        check_plain(&format!("mul.hi.{kind}"), &EDGES, |[a, b]| high(product(value(a), value(b)), width));
        if width < 64 {
            check_plain(&format!("mul.wide.{kind}"), &EDGES, |[a, b]| {
                cut(product(value(a), value(b)), 2 * width)
            });
        }
    }
}

#[test]
fn mad_adds_at_the_width_of_its_result() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("mad.lo.{kind}"), &EDGES, |[a, b, c]| {
            cut(product(value(a), value(b)).wrapping_add(value(c)), width)
        });
        check_plain(&format!("mad.hi.{kind}"), &EDGES, |[a, b, c]| {
            cut(i128::from(high(product(value(a), value(b)), width)) + value(c), width)
        });
        if width < 64 {
            check_plain(&format!("mad.wide.{kind}"), &EDGES, |[a, b, c]| {
                cut(product(value(a), value(b)) + number(c, 2 * width, signed), 2 * width)
            });
        }
    }
}

#[test]
fn mad_hi_saturates_the_sum() {
    let value = |cell| number(cell, 32, true);
    let (least, most) = range(32, true);
    check_plain("mad.hi.sat.s32", &EDGES, |[a, b, c]| {
        cut((((value(a) * value(b)) >> 32) + value(c)).clamp(least, most), 32)
    });
    // -2^31 squared is 2^62, its high half 2^30.
    assert_eq!(once("mad.hi.sat.s32", &[0x8000_0000, 0x8000_0000, 0x7000_0000]), 0x7FFF_FFFF);
}

#[test]
fn mad_carries() {
    for kind in ["u32", "s32", "u64", "s64"] {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        let sum = |half: u64, c: u64, flag: u64| {
            let sum = i128::from(half) + number(c, width, false) + i128::from(flag & 1);
            [cut(sum, width), cut(sum >> width, 1)]
        };
        let low = |a, b| cut(product(value(a), value(b)), width);
        let top = |a, b| high(product(value(a), value(b)), width);
        let values = &EDGES[..];

        check(&Request::plain(&format!("mad.lo.cc.{kind}"), 1, 3), values, |[a, b, c]| sum(low(a, b), c, 0));
        check(&Request::plain(&format!("mad.hi.cc.{kind}"), 1, 3), values, |[a, b, c]| sum(top(a, b), c, 0));
        let few = &EDGES[EDGES.len() - 12..];
        check(&Request::plain(&format!("madc.lo.cc.{kind}"), 1, 3), few, |[a, b, c, flag]| {
            sum(low(a, b), c, flag)
        });
        check(&Request::plain(&format!("madc.hi.cc.{kind}"), 1, 3), few, |[a, b, c, flag]| {
            sum(top(a, b), c, flag)
        });
        check(&Request::plain(&format!("madc.lo.{kind}"), 1, 3), few, |[a, b, c, flag]| {
            [sum(low(a, b), c, flag)[0]]
        });
        check(&Request::plain(&format!("madc.hi.{kind}"), 1, 3), few, |[a, b, c, flag]| {
            [sum(top(a, b), c, flag)[0]]
        });
    }
}

#[test]
fn a_chain_of_mads_multiplies_64_bits() {
    let [low, low_chained, high_chained, high, last] = [
        Request::plain("mul.lo.u32", 1, 2),
        Request::plain("mad.lo.cc.u32", 1, 3),
        Request::plain("madc.hi.cc.u32", 1, 3),
        Request::plain("mul.hi.u32", 1, 2),
        Request::plain("madc.hi.u32", 1, 3),
    ]
    .map(|request| known(&request));
    for (a, b) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))) {
        let ([a0, a1], [b0, b1]) = ([a & 0xFFFF_FFFF, a >> 32], [b & 0xFFFF_FFFF, b >> 32]);
        // a0*b0, then a0*b1 and a1*b0 one word up, then a1*b1 two words up.
        let [r0] = run(&low, &[a0, b0]);
        let [r1] = run(&high, &[a0, b0]);
        let [r1, flag] = run(&low_chained, &[a0, b1, r1]);
        let [r2, flag] = run(&high_chained, &[a0, b1, 0, flag]);
        let r3 = flag;
        let [r1, flag] = run(&low_chained, &[a1, b0, r1]);
        let [r2, flag] = run(&high_chained, &[a1, b0, r2, flag]);
        let r3 = r3 + flag;
        let [r2, flag] = run(&low_chained, &[a1, b1, r2]);
        let [r3] = run(&last, &[a1, b1, r3, flag]);
        let words = [r0, r1, r2, r3];
        let whole = words.into_iter().rev().fold(0, |all, word| all << 32 | u128::from(word));
        assert_eq!(whole, u128::from(a) * u128::from(b), "{a:#x} * {b:#x}");
    }
}

#[test]
fn mul24_takes_24_bits() {
    for (kind, signed) in [("u32", false), ("s32", true)] {
        let value = |cell| number(cell, 24, signed);
        let third = |cell| number(cell, 32, signed);
        check_plain(&format!("mul24.lo.{kind}"), &EDGES, |[a, b]| cut(value(a) * value(b), 32));
        check_plain(&format!("mul24.hi.{kind}"), &EDGES, |[a, b]| cut((value(a) * value(b)) >> 16, 32));
        check_plain(&format!("mad24.lo.{kind}"), &EDGES, |[a, b, c]| cut(value(a) * value(b) + third(c), 32));
        check_plain(&format!("mad24.hi.{kind}"), &EDGES, |[a, b, c]| {
            cut(((value(a) * value(b)) >> 16) + third(c), 32)
        });
    }
    let (least, most) = range(32, true);
    check_plain("mad24.hi.sat.s32", &EDGES, |[a, b, c]| {
        let product = (number(a, 24, true) * number(b, 24, true)) >> 16;
        cut((product + number(c, 32, true)).clamp(least, most), 32)
    });
}

#[test]
fn division_truncates() {
    for kind in TYPES {
        let (width, signed) = shape(kind);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("div.{kind}"), &EDGES, |[a, b]| {
            cut(value(a).checked_div(value(b)).unwrap_or(-1), width)
        });
        check_plain(&format!("rem.{kind}"), &EDGES, |[a, b]| {
            // What the product of any quotient and 0 leaves.
            cut(value(a).checked_rem(value(b)).unwrap_or(if width == 64 { value(a) } else { -1 }), width)
        });
    }
    // Towards zero, the remainder with the sign of the dividend: -7 = -3 * 2 - 1.
    assert_eq!(once("div.s32", &[cut(-7, 32), 2]), cut(-3, 32));
    assert_eq!(once("rem.s32", &[cut(-7, 32), 2]), cut(-1, 32));
    assert_eq!(once("rem.s32", &[7, cut(-2, 32)]), 1);
    assert_eq!(once("div.s64", &[1 << 63, u64::MAX]), 1 << 63);
    assert_eq!(once("rem.s64", &[1 << 63, u64::MAX]), 0);
}

#[test]
fn dot_products() {
    for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
        let name = |signed| if signed { "s32" } else { "u32" };
        let kinds = format!("{}.{}", name(first), name(second));
        check_plain(&format!("dp4a.{kinds}"), &EDGES, |[a, b, c]| {
            let byte = |cell, index, signed| number(cell >> (8 * index), 8, signed);
            let sum: i128 = (0..4).map(|index| byte(a, index, first) * byte(b, index, second)).sum();
            cut(sum + i128::from(c), 32)
        });
        for (half, base) in [("lo", 0), ("hi", 16)] {
            check_plain(&format!("dp2a.{half}.{kinds}"), &EDGES, |[a, b, c]| {
                let low = number(a, 16, first) * number(b >> base, 8, second);
                let high = number(a >> 16, 16, first) * number(b >> (base + 8), 8, second);
                cut(low + high + i128::from(c), 32)
            });
        }
    }
}

#[test]
fn carryless_products() {
    // (x + 1)^2 = x^2 + 1 without carries; 2^63 * 2^63 = 2^126.
    assert_eq!(once("clmad.lo.u64", &[3, 3, 0]), 5);
    assert_eq!(once("clmad.lo.u64", &[3, 3, 0xF0]), 0xF5);
    assert_eq!(once("clmad.hi.u64", &[1 << 63, 1 << 63, 1]), 1 << 62 | 1);
    // Times all ones is the parity of all bits up to each: for a single bit, all from there on.
    assert_eq!(once("clmad.lo.u64", &[1 << 5, u64::MAX, 0]), u64::MAX << 5);
    assert_eq!(once("clmad.hi.u64", &[1 << 5, u64::MAX, 0]), 0x1F);
}
