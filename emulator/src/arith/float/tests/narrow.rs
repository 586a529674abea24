//! Conversions to and from packed types.

use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Single};
use rustc_apfloat::{Float, FloatConvert};

use super::{Random, SINGLES, apply, known, run, unknown};

fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

/// All values of a format without infinities, by their bits, from the ISA's exponent and mantissa widths.
fn values(exponent_bits: u32, mantissa_bits: u32) -> Vec<f64> {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let steps = f64::from(1_u32 << mantissa_bits);
    (0..1 << (exponent_bits + mantissa_bits))
        .map(|bits: i32| {
            let (exponent, mantissa) = (bits >> mantissa_bits, f64::from(bits & ((1 << mantissa_bits) - 1)));
            match exponent {
                0 => mantissa / steps * 2.0_f64.powi(1 - bias),
                _ => (1.0 + mantissa / steps) * 2.0_f64.powi(exponent - bias),
            }
        })
        .collect()
}

/// The bits of the value nearest to `value`, ties to even bits, limits where it is past the last.
fn nearest(values: &[f64], value: f64) -> u64 {
    let sign = if value.is_sign_negative() { values.len() as u64 } else { 0 };
    let best = (0..values.len())
        .min_by(|&a, &b| {
            let distance = |index: usize| (values[index] - value.abs()).abs();
            distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2)))
        })
        .unwrap();
    sign | best as u64
}

#[test]
fn four_and_six_bits() {
    for (name, exponent, mantissa, stride) in [("e2m1", 2, 1, 4), ("e2m3", 2, 3, 8), ("e3m2", 3, 2, 8)] {
        let all = values(exponent, mantissa);
        let evaluator = known(&format!("cvt.rn.satfinite.{name}x2.f32"), 1, 2);
        for step in -600..600 {
            let (a, b) = (step as f32 / 16.0, step as f32 / 128.0 + 0.001);
            let want = nearest(&all, a.into()) << stride | nearest(&all, b.into());
            assert_eq!(apply(&evaluator, [bits(a), bits(b)]), want, "{name} {a} {b}");
        }
        let largest = all.len() as u64 - 1;
        // These formats have neither NaN nor infinity.
        assert_eq!(apply(&evaluator, [bits(f32::NAN), bits(f32::INFINITY)]), largest << stride | largest);
        for element in 0..2 * all.len() as u64 {
            let value = half::f16::from_f64(all[element as usize % all.len()]).to_bits();
            let value = u64::from(value) | if element < all.len() as u64 { 0 } else { 0x8000 };
            let back = run(&format!("cvt.rn.f16x2.{name}x2"), [element << stride]);
            assert_eq!(back, value << 16, "{name} {element:#x}");
            let narrow = run(&format!("cvt.rn.satfinite.{name}x2.f16x2"), [value << 16 | value]);
            assert_eq!(narrow, element << stride | element);
        }
        let relu = run(&format!("cvt.rn.satfinite.relu.{name}x2.f32"), [bits(-1.0), bits(1.0)]);
        assert_eq!(relu, nearest(&all, 1.0));
    }
}

#[test]
fn eight_bits() {
    let mut random = Random(77);
    let narrow = ["e4m3", "e5m2"].map(|name| known(&format!("cvt.rn.satfinite.{name}x2.f32"), 1, 2));
    let wild: Vec<u32> = (0..4000).map(|_| random.next() as u32).collect();
    let near: Vec<u32> = wild.iter().map(|bits| bits & 0x83FF_FFFF | 0x3C00_0000).collect();
    for source in SINGLES.into_iter().chain(wild).chain(near) {
        let value = Single::from_bits(source.into());
        let e4m3: Float8E4M3FN = value.convert(&mut false).value;
        let e5m2: Float8E5M2 = value.convert(&mut false).value;
        // Past the largest value the library gives NaN or infinity, and `.satfinite` the largest.
        let limit = |bits: u128, largest: u64| {
            if bits as u64 & 0x7F > largest { bits as u64 & 0x80 | largest } else { bits as u64 }
        };
        let wants = match value.is_nan() {
            true => [0x7F, 0x7F],
            false => [limit(e4m3.to_bits(), 0x7E), limit(e5m2.to_bits(), 0x7B)],
        };
        for (evaluator, want) in narrow.iter().zip(wants) {
            assert_eq!(apply(evaluator, [source.into(), 0]), want << 8, "{source:#x}");
            assert_eq!(apply(evaluator, [0, source.into()]), want, "{source:#x}");
        }
    }
    assert_eq!(run("cvt.rn.satfinite.relu.e4m3x2.f32", [bits(-3.0), bits(448.5)]), 0x007E);
}

#[test]
fn eight_bits_and_halves() {
    for byte in 0..=0xFF_u64 {
        let e4m3: Single = Float8E4M3FN::from_bits(byte.into()).convert(&mut false).value;
        let e5m2: Single = Float8E5M2::from_bits(byte.into()).convert(&mut false).value;
        for (name, value) in [("e4m3", e4m3), ("e5m2", e5m2)] {
            let value = f32::from_bits(value.to_bits() as u32);
            let want = if value.is_nan() { 0x7FFF } else { half::f16::from_f32(value).to_bits() };
            assert_eq!(run(&format!("cvt.rn.f16x2.{name}x2"), [byte << 8]), u64::from(want) << 16);
            assert_eq!(run(&format!("cvt.rn.f16x2.{name}x2"), [byte]), want.into());
            if value.is_finite() {
                let back = run(&format!("cvt.rn.satfinite.{name}x2.f16x2"), [u64::from(want) << 16]);
                assert_eq!(back, byte << 8);
            }
        }
    }
    assert_eq!(run("cvt.rn.relu.f16x2.e4m3x2", [0xB838]), 0x0000_3C00);
}

#[test]
fn sixteen_bits() {
    let mut random = Random(9);
    for _ in 0..500 {
        let [a, b] = [random.next() as u32, random.next() as u32].map(u64::from);
        for rounding in ["rn", "rz", "rn.relu", "rz.relu", "rn.satfinite"] {
            for kind in ["f16", "bf16"] {
                let one = |source| run(&format!("cvt.{rounding}.{kind}.f32"), [source]);
                let two = run(&format!("cvt.{rounding}.{kind}x2.f32"), [a, b]);
                assert_eq!(two, one(a) << 16 | one(b), "{rounding} {kind} {a:#x} {b:#x}");
            }
        }
    }
    // Modifiers may stand after the type.
    assert_eq!(run("cvt.rn.bf16x2.relu.f32", [bits(-1.0), bits(1.0)]), 0x0000_3F80);
}

#[test]
fn exponents() {
    // (source, towards zero, towards plus infinity), with .satfinite
    let rows = [
        (1.0, 127, 127),
        (1.5, 127, 128),
        (2.0_f32.powi(-126), 1, 1),
        (2.0_f32.powi(-127), 0, 0),
        (2.0_f32.powi(-127) * 1.5, 0, 1),
        (2.0_f32.powi(-140), 0, 0),
        (0.0, 0, 0),
        (2.0_f32.powi(127), 254, 254),
        (f32::MAX, 254, 254),
        (f32::INFINITY, 254, 254),
        (f32::NAN, 255, 255),
        (-3.0, 128, 129),
    ];
    for (source, down, up) in rows {
        assert_eq!(run("cvt.rz.satfinite.ue8m0x2.f32", [bits(source), 0]), down << 8, "{source}");
        assert_eq!(run("cvt.rp.satfinite.ue8m0x2.f32", [0, bits(source)]), up, "{source}");
    }
    assert_eq!(run("cvt.rp.ue8m0x2.f32", [bits(f32::MAX), bits(f32::INFINITY)]), 0xFFFF);
    assert_eq!(run("cvt.rz.ue8m0x2.f32", [bits(f32::MAX), bits(3.0)]), 0xFE80);
    assert_eq!(run("cvt.rp.ue8m0x2.bf16x2", [0x3F80_3F81]), 0x7F80);
    assert_eq!(run("cvt.rn.bf16x2.ue8m0x2", [0x7F00]), 0x3F80_0040);
    assert_eq!(run("cvt.rn.bf16x2.ue8m0x2", [0xFF01]), 0x7FFF_0080);
}

/// How many of `count` random operands, `place` apart, round the first source away from zero.
fn rounded_up(mnemonic: &str, source: f32, count: u64, place: u32, shift: u32, down: u64) -> u64 {
    let evaluator = known(mnemonic, 1, 3);
    (0..count)
        .filter(|random| {
            let got = apply(&evaluator, [bits(source), 0, random << place]) >> shift;
            assert!(got == down || got == down + 1, "{mnemonic} {got:#x}");
            got > down
        })
        .count() as u64
}

#[test]
fn stochastic_rounding_is_as_likely_as_the_rest_is_large() {
    // Of 2^13 random numbers, those carry that reach 2^13 with the 13 bits of the rest.
    let source = f32::from_bits(0x3F80_0000 | 0x0321);
    assert_eq!(rounded_up("cvt.rs.f16x2.f32", source, 1 << 13, 16, 16, 0x3C00), 0x0321);
    assert_eq!(rounded_up("cvt.rs.f16x2.f32", -source, 1 << 13, 16, 16, 0xBC00), 0x0321);
    let source = f32::from_bits(0x3F80_0000 | 0x4321);
    assert_eq!(rounded_up("cvt.rs.bf16x2.f32", source, 1 << 16, 16, 16, 0x3F80), 0x4321);
    // Exact values never move.
    assert_eq!(rounded_up("cvt.rs.bf16x2.f32", 1.5, 1 << 16, 16, 16, 0x3FC0), 0);
}

#[test]
fn stochastic_quadruples() {
    let quarter = [bits(1.25), bits(-1.25), bits(2.5), bits(0.25)];
    let run = |mnemonic: &str, random: u64| {
        let [a, b, c, d] = quarter;
        run(mnemonic, [a, b, c, d, random])
    };
    // e2m3 and e4m3 hold all four exactly, whatever the random bits are.
    for random in [0, 0x8000_4000, 0xFFFF_FFFF] {
        assert_eq!(run("cvt.rs.satfinite.e4m3x4.f32", random), 0x3ABA_4228);
        assert_eq!(run("cvt.rs.satfinite.e2m3x4.f32", random), 0x0A2A_1202);
    }
    // 1.25 lies halfway between two values of e2m1, 2.5 too, and 0.25 does.
    assert_eq!(run("cvt.rs.satfinite.e2m1x4.f32", 0), 0x2A40);
    assert_eq!(run("cvt.rs.satfinite.e2m1x4.f32", 0xFFFF_FFFF), 0x3B51);
    assert_eq!(run("cvt.rs.satfinite.relu.e2m1x4.f32", 0), 0x2040);
    // The upper bytes belong to the first two sources.
    assert_eq!(run("cvt.rs.satfinite.e2m1x4.f32", 0xFF00_FF00), 0x3B40);
}

#[test]
fn what_does_not_exist_is_not_known() {
    for (mnemonic, sources) in [
        ("cvt.rm.f16x2.f32", 2),
        ("cvt.rn.f16x2.f32", 1),
        ("cvt.rn.rni.f16x2.f32", 2),
        ("cvt.rn.sat.f16x2.f32", 2),
        ("cvt.rz.satfinite.e4m3x2.f32", 2),
        ("cvt.rn.bf16x2.e4m3x2", 1),
        ("cvt.rn.f16x2.bf16x2", 1),
        ("cvt.rn.ue8m0x2.f32", 2),
        ("cvt.rs.f16x2.f32", 2),
        ("cvt.rn.satfinite.e4m3x4.f32", 4),
        ("cvt.rn.satfinite.e4m3x4.f16x2", 1),
        ("cvt.rn.satfinite.e4m3x2.f16x2", 2),
    ] {
        unknown(mnemonic, 1, sources);
    }
}
