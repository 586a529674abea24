//! Square roots and reciprocals, whose results are checked by their squares and products.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert};

use super::{DOUBLES, Random, SINGLES, apply, known};
use crate::arith::float::format::{Format, Rounding};

fn quad<F: FloatConvert<Quad> + Float>(bits: u64) -> Quad {
    F::from_bits(bits.into()).convert(&mut false).value
}

/// Whether `root` is the square root of `value`, rounded as `rounding` says. 113 bits hold every square exactly.
fn is_root<F: FloatConvert<Quad> + Float>(value: u64, root: u64, rounding: &str) -> bool {
    let target = quad::<F>(value);
    let square = |root: Quad| (root * root).value;
    let (below, exact, above) = (quad::<F>(root - 1), quad::<F>(root), quad::<F>(root + 1));
    let half = |a: Quad, b: Quad| ((a + b).value * Quad::from_u128(1).value.scalbn(-1)).value;
    match rounding {
        "rn" => square(half(below, exact)) <= target && target <= square(half(exact, above)),
        "rp" => square(below) < target && target <= square(exact),
        _ => square(exact) <= target && target < square(above),
    }
}

#[test]
fn square_roots() {
    let mut random = Random(11);
    for rounding in ["rn", "rz", "rm", "rp"] {
        let single = known(&format!("sqrt.{rounding}.f32"), 1, 1);
        let double = known(&format!("sqrt.{rounding}.f64"), 1, 1);
        let ties = (1..500_u64).map(|n| ((n * n) as f64).to_bits());
        let wild: Vec<u64> = (0..4000).map(|_| random.next()).collect();
        for bits in DOUBLES.into_iter().chain(wild.iter().copied()).chain(ties) {
            let root = apply(&double, [bits]);
            match f64::from_bits(bits) {
                value if value == 0.0 || value == f64::INFINITY => assert_eq!(root, bits),
                value if value.is_nan() || value < 0.0 => assert_eq!(root, Format::F64.nan()),
                _ => assert!(is_root::<Double>(bits, root, rounding), "sqrt.{rounding}.f64 {bits:#x}"),
            }
        }
        for bits in SINGLES.into_iter().map(u64::from).chain(wild.into_iter().map(|bits| bits & 0xFFFF_FFFF))
        {
            let root = apply(&single, [bits]);
            match f32::from_bits(bits as u32) {
                value if value == 0.0 || value == f32::INFINITY => assert_eq!(root, bits),
                value if value.is_nan() || value < 0.0 => assert_eq!(root, 0x7FFF_FFFF),
                _ => assert!(is_root::<Single>(bits, root, rounding), "sqrt.{rounding}.f32 {bits:#x}"),
            }
        }
    }
}

#[test]
fn reciprocals_are_quotients_of_one() {
    for rounding in ["rn", "rz", "rm", "rp"] {
        for (kind, one, values) in [
            ("f32", 0x3F80_0000, SINGLES.map(u64::from).to_vec()),
            ("f64", 0x3FF0_0000_0000_0000, DOUBLES.to_vec()),
        ] {
            let reciprocal = known(&format!("rcp.{rounding}.{kind}"), 1, 1);
            let quotient = known(&format!("div.{rounding}.{kind}"), 1, 2);
            for value in values {
                assert_eq!(apply(&reciprocal, [value]), apply(&quotient, [one, value]), "{value:#x}");
            }
        }
    }
}

#[test]
fn formats_decode_what_they_encode() {
    for format in [
        Format::F16,
        Format::BF16,
        Format::TF32,
        Format::E5M2,
        Format::E4M3,
        Format::E2M3,
        Format::E3M2,
        Format::E2M1,
    ] {
        for bits in 0..1_u64 << format.bits() {
            let value = format.decode(bits);
            let want = if value.is_nan() { format.nan() } else { bits };
            for rounding in [Rounding::NearestEven, Rounding::Zero, Rounding::Up, Rounding::Down] {
                assert_eq!(format.encode(value, rounding), want, "{format:?} {bits:#x}");
            }
        }
    }
}
