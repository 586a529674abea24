//! `min` and `max`, by hand from the ISA's pseudocode.

use super::{apply, flushing, run, single, unknown};

#[test]
fn numbers_win_against_nan() {
    assert_eq!(single("min.f32", [f32::NAN, 3.0]), 3.0);
    assert_eq!(single("max.f32", [3.0, f32::NAN]), 3.0);
    assert_eq!(single("max.NaN.f32", [3.0, f32::NAN]).to_bits(), 0x7FFF_FFFF);
    assert_eq!(run("min.f32", [0xFFC0_0001, 0x7F80_0001]), 0x7FFF_FFFF);
    assert_eq!(run("min.f16", [0x7E00, 0xFC00]), 0xFC00);
    assert_eq!(run("max.NaN.bf16", [0x7FC1, 0x3F80]), 0x7FFF);
    assert_eq!(run("min.f64", [f64::NAN.to_bits(), 2.0_f64.to_bits()]), 2.0_f64.to_bits());
}

#[test]
fn zeros_are_ordered() {
    for [a, b] in [[0.0, -0.0], [-0.0, 0.0]] {
        assert_eq!(single("min.f32", [a, b]).to_bits(), 0x8000_0000);
        assert_eq!(single("max.f32", [a, b]).to_bits(), 0);
    }
    assert_eq!(run("max.f64", [1 << 63, 0]), 0);
}

#[test]
fn order_of_numbers() {
    let ordered = [f32::NEG_INFINITY, -2.0, -1.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, 2.0, f32::INFINITY];
    for (i, &a) in ordered.iter().enumerate() {
        for (j, &b) in ordered.iter().enumerate() {
            assert_eq!(single("min.f32", [a, b]).to_bits(), ordered[i.min(j)].to_bits());
            assert_eq!(single("max.f32", [a, b]).to_bits(), ordered[i.max(j)].to_bits());
            let bits = |value: f32| f64::from(value).to_bits();
            assert_eq!(run("max.f64", [bits(a), bits(b)]), bits(ordered[i.max(j)]));
        }
    }
}

#[test]
fn signs_are_combined() {
    assert_eq!(single("min.xorsign.abs.f32", [-2.0, 3.0]), -2.0);
    assert_eq!(single("max.xorsign.abs.f32", [-2.0, -3.0]), 3.0);
    assert_eq!(single("max.xorsign.abs.f32", [2.0, -3.0]), -3.0);
    // A NaN that loses still gives its sign.
    assert_eq!(single("max.xorsign.abs.f32", [f32::from_bits(0xFFC0_0000), 3.0]), -3.0);
    assert_eq!(single("max.NaN.xorsign.abs.f32", [f32::from_bits(0xFFC0_0000), 3.0]).to_bits(), 0x7FFF_FFFF);
    assert_eq!(run("min.xorsign.abs.f16x2", [0xC000_3C00, 0x4200_BC00]), 0xC000_BC00);
}

#[test]
fn subnormals_are_flushed() {
    assert_eq!(run("max.ftz.f32", [1, 0x8000_0001]), 0);
    assert_eq!(run("min.ftz.f32", [1, 0x8000_0001]), 0x8000_0000);
    assert_eq!(run("max.ftz.f16", [0x0001, 0x8000]), 0);
    assert_eq!(apply(&flushing("max.f32", 2), [1, 0]), 0);
    assert_eq!(run("max.f32", [1, 0]), 1);
}

#[test]
fn three_sources() {
    assert_eq!(single("min.f32", [3.0, 1.0, 2.0]), 1.0);
    assert_eq!(single("max.f32", [f32::NAN, 1.0, f32::NAN]), 1.0);
    assert_eq!(single("max.NaN.f32", [5.0, 1.0, f32::NAN]).to_bits(), 0x7FFF_FFFF);
    assert_eq!(single("max.abs.f32", [-5.0, 1.0, 4.0]), 5.0);
    assert_eq!(single("min.ftz.NaN.abs.f32", [-5.0, -1e-40, 4.0]).to_bits(), 0);
    unknown("max.f16", 1, 3);
    unknown("max.xorsign.abs.f32", 1, 3);
    unknown("max.abs.f32", 1, 2);
    unknown("max.xorsign.f32", 1, 2);
}
