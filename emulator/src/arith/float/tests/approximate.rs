//! Approximate operations: the ISA's special values and error bounds.

use super::{Random, apply, flushing, known, run, single, unknown};

const INFINITY: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
/// A subnormal.
const TINY: f32 = 1e-40;

/// Checks results of an operation, zeros by their sign.
#[track_caller]
fn table(mnemonic: &str, rows: &[(f32, f32)]) {
    for &(source, want) in rows {
        let got = single(mnemonic, [source]);
        let want = if want.is_nan() { 0x7FFF_FFFF } else { want.to_bits() };
        assert_eq!(got.to_bits(), want, "{mnemonic} {source}: {got}");
    }
}

#[test]
fn special_values() {
    table(
        "rcp.approx.ftz.f32",
        &[
            (-INFINITY, -0.0),
            (-TINY, -INFINITY),
            (-0.0, -INFINITY),
            (0.0, INFINITY),
            (TINY, INFINITY),
            (INFINITY, 0.0),
            (NAN, NAN),
        ],
    );
    table(
        "sqrt.approx.f32",
        &[
            (-INFINITY, NAN),
            (-1.0, NAN),
            (-0.0, -0.0),
            (0.0, 0.0),
            (4.0, 2.0),
            (INFINITY, INFINITY),
            (NAN, NAN),
        ],
    );
    table("sqrt.approx.ftz.f32", &[(-TINY, -0.0), (TINY, 0.0)]);
    table(
        "rsqrt.approx.f32",
        &[
            (-INFINITY, NAN),
            (-1.0, NAN),
            (-0.0, -INFINITY),
            (0.0, INFINITY),
            (4.0, 0.5),
            (INFINITY, 0.0),
            (NAN, NAN),
        ],
    );
    table("rsqrt.approx.ftz.f32", &[(-TINY, -INFINITY), (TINY, INFINITY)]);
    table("sin.approx.f32", &[(-INFINITY, NAN), (-0.0, -0.0), (0.0, 0.0), (INFINITY, NAN), (NAN, NAN)]);
    table("sin.approx.ftz.f32", &[(-TINY, -0.0), (TINY, 0.0)]);
    table(
        "cos.approx.f32",
        &[(-INFINITY, NAN), (-TINY, 1.0), (-0.0, 1.0), (0.0, 1.0), (INFINITY, NAN), (NAN, NAN)],
    );
    table(
        "lg2.approx.ftz.f32",
        &[
            (-INFINITY, NAN),
            (-1.0, NAN),
            (-TINY, -INFINITY),
            (-0.0, -INFINITY),
            (0.0, -INFINITY),
            (TINY, -INFINITY),
            (INFINITY, INFINITY),
        ],
    );
    table(
        "ex2.approx.ftz.f32",
        &[
            (-INFINITY, 0.0),
            (-TINY, 1.0),
            (-0.0, 1.0),
            (0.0, 1.0),
            (TINY, 1.0),
            (INFINITY, INFINITY),
            (NAN, NAN),
            (-127.0, 0.0),
        ],
    );
    table(
        "tanh.approx.f32",
        &[
            (-INFINITY, -1.0),
            (-TINY, -TINY),
            (-0.0, -0.0),
            (0.0, 0.0),
            (TINY, TINY),
            (INFINITY, 1.0),
            (NAN, NAN),
        ],
    );
}

#[test]
fn powers_and_logarithms_of_two() {
    for exponent in -149..=127 {
        let power = f64::from(exponent).exp2() as f32;
        assert_eq!(single("ex2.approx.f32", [exponent as f32]), power);
        assert_eq!(single("lg2.approx.f32", [power]), exponent as f32);
    }
    assert_eq!(single("ex2.approx.f32", [0.5]), std::f32::consts::SQRT_2);
    assert_eq!(single("lg2.approx.f32", [10.0]), std::f32::consts::LOG2_10);
}

#[test]
fn angles() {
    // The ISA's bound between -pi and pi is 2^-20.5.
    let close =
        |got: f32, want: f64| assert!((f64::from(got) - want).abs() < 2.0_f64.powf(-20.5), "{got} {want}");
    let pi = std::f32::consts::PI;
    close(single("sin.approx.f32", [pi / 6.0]), 0.5);
    close(single("cos.approx.f32", [pi / 3.0]), 0.5);
    close(single("sin.approx.ftz.f32", [-pi / 2.0]), -1.0);
    close(single("cos.approx.ftz.f32", [pi]), -1.0);
    for step in -50..50 {
        let angle = step as f32 / 16.0;
        let (sin, cos) = (single("sin.approx.f32", [angle]), single("cos.approx.f32", [angle]));
        close(sin * sin + cos * cos, 1.0);
    }
}

#[test]
fn hyperbolic_tangents() {
    for step in -40..40 {
        let value = step as f32 / 8.0;
        let power = (2.0 * f64::from(value)).exp();
        let want = (power - 1.0) / (power + 1.0);
        let got = f64::from(single("tanh.approx.f32", [value]));
        assert!((got - want).abs() <= want.abs() * 2.0_f64.powi(-11), "{value}");
        let half = half::f16::from_f32(value);
        let got = half::f16::from_bits(run("tanh.approx.f16", [half.to_bits().into()]) as u16).to_f64();
        assert!((got - want).abs() <= 2.0_f64.powf(-10.987), "{value}");
    }
    assert_eq!(run("tanh.approx.bf16x2", [0x7F80_FF80]), 0x3F80_BF80);
    assert_eq!(run("tanh.approx.f16x2", [0x7E00_0000]), 0x7FFF_0000);
}

#[test]
fn powers_of_two_in_sixteen_bits() {
    assert_eq!(run("ex2.approx.f16", [0x3C00]), 0x4000);
    assert_eq!(run("ex2.approx.f16", [0xCC00]), 0x0100); // 2^-16, subnormal
    assert_eq!(run("ex2.approx.f16", [0x4C00]), 0x7C00); // 2^16
    assert_eq!(run("ex2.approx.f16x2", [0xFC00_7C00]), 0x0000_7C00);
    assert_eq!(run("ex2.approx.ftz.bf16", [0xBF80]), 0x3F00);
    assert_eq!(run("ex2.approx.ftz.bf16", [0xC2FE]), 0); // 2^-127, flushed
    assert_eq!(run("ex2.approx.ftz.bf16x2", [0x7FC0_4000]), 0x7FFF_4080);
}

#[test]
fn quotients() {
    let mut random = Random(23);
    let (full, approximate) = (known("div.full.f32", 1, 2), known("div.approx.f32", 1, 2));
    for _ in 0..4000 {
        let [a, b] = [random.next() as u32, random.next() as u32];
        let want = f32::from_bits(a) / f32::from_bits(b);
        let got = f32::from_bits(apply(&full, [a.into(), b.into()]) as u32);
        let ulps = (i64::from(got.to_bits()) - i64::from(want.to_bits())).abs();
        assert!(want.is_nan() && got.is_nan() || ulps <= 2, "{a:#x} / {b:#x}");
        if f32::from_bits(b).abs() <= 2.0_f32.powi(126) {
            assert_eq!(apply(&approximate, [a.into(), b.into()]), apply(&full, [a.into(), b.into()]));
        }
    }
}

#[test]
fn the_hole_of_approximate_division() {
    let large = 2.0_f32.powi(127);
    assert_eq!(single("div.approx.f32", [large, large]).to_bits(), 0);
    assert_eq!(single("div.approx.f32", [-1.0, f32::MAX]).to_bits(), 0x8000_0000);
    assert!(single("div.approx.f32", [INFINITY, large]).is_nan());
    assert_eq!(single("div.approx.f32", [large, 2.0_f32.powi(126)]), 2.0);
    assert_eq!(single("div.approx.f32", [1.0, INFINITY]), 0.0);
    assert_eq!(single("div.full.f32", [large, large]), 1.0);
    assert!(single("div.full.ftz.f32", [0.0, TINY]).is_nan());
    assert_eq!(single("div.approx.ftz.f32", [1.0, -TINY]), -INFINITY);
}

#[test]
fn doubles_in_their_upper_word() {
    let upper = |mnemonic: &str, value: f64| f64::from_bits(run(mnemonic, [value.to_bits()]));
    for (value, want) in [(-f64::INFINITY, -0.0), (-0.0, -f64::INFINITY), (1e-310, f64::INFINITY), (2.0, 0.5)]
    {
        assert_eq!(upper("rcp.approx.ftz.f64", value).to_bits(), want.to_bits(), "{value}");
    }
    for (value, want) in [(-0.0, -f64::INFINITY), (-1e-310, -f64::INFINITY), (f64::INFINITY, 0.0), (4.0, 0.5)]
    {
        assert_eq!(upper("rsqrt.approx.ftz.f64", value).to_bits(), want.to_bits(), "{value}");
    }
    assert!(upper("rsqrt.approx.ftz.f64", -1.0).is_nan() && upper("rcp.approx.ftz.f64", f64::NAN).is_nan());
    // 2^1023 has a subnormal reciprocal.
    assert_eq!(upper("rcp.approx.ftz.f64", 2.0_f64.powi(1023)), 0.0);
    let mut random = Random(5);
    for _ in 0..1000 {
        let value = f64::from_bits(random.next() >> 2 | 1 << 61);
        let root = upper("rsqrt.approx.ftz.f64", value);
        assert_eq!(root.to_bits() as u32, 0);
        assert!((root * root * value - 1.0).abs() < 2.0_f64.powi(-18), "{value}");
        let precise = f64::from_bits(run("rsqrt.approx.f64", [value.to_bits()]));
        assert!((precise * precise * value - 1.0).abs() < 2.0_f64.powi(-49), "{value}");
        // The lower word of the source counts as zero.
        let cut = value.to_bits() & 0xFFFF_FFFF_0000_0000;
        assert_eq!(run("rcp.approx.ftz.f64", [cut]), run("rcp.approx.ftz.f64", [cut | 0xFFFF_FFFF]));
    }
}

#[test]
fn forms_of_old_versions() {
    assert_eq!(single("sqrt.f32", [4.0]), 2.0);
    assert_eq!(single("rcp.f32", [4.0]), 0.25);
    assert_eq!(single("div.f32", [1.0, 2.0_f32.powi(127)]), 0.0);
    assert_eq!(single("ex2.f32", [3.0]), 8.0);
    assert_eq!(apply(&flushing("rcp.f32", 1), [1]), 0x7F80_0000);
    assert_eq!(run("rcp.f64", [2.0_f64.to_bits()]), 0.5_f64.to_bits());
}

#[test]
fn what_does_not_exist_is_not_known() {
    for mnemonic in [
        "lg2.approx.f16",
        "sin.approx.f64",
        "rcp.approx.f64",
        "sqrt.approx.f64",
        "sqrt.full.f32",
        "rcp.approx.rn.f32",
    ] {
        unknown(mnemonic, 1, 1);
    }
    unknown("div.full.f64", 1, 2);
    unknown("div.full.approx.f32", 1, 2);
    unknown("sin.approx.f32", 2, 1);
}
