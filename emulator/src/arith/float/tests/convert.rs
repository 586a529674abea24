//! Conversions of one number against the software library, Rust's casts and the ISA's special cases.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::{
    BRAINS, DOUBLES, HALVES, Random, SINGLES, apply, flushing, flushing_before_version_1_5, known, run,
    unknown,
};

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

fn bits<F: Float>(value: F) -> u64 {
    if value.is_nan() { (1 << (F::BITS - 1)) - 1 } else { value.to_bits() as u64 }
}

fn check<S: FloatConvert<T>, T: Float>(target: &str, source: &str, values: &[u64]) {
    for (name, round) in ROUNDINGS {
        let evaluator = known(&format!("cvt.{name}.{target}.{source}"), 1, 1);
        for &value in values {
            let want = bits(S::from_bits(value.into()).convert_r(round, &mut false).value);
            assert_eq!(apply(&evaluator, [value]), want, "cvt.{name}.{target}.{source} {value:#x}");
        }
    }
}

/// Edges, and numbers without a pattern of `width` bits.
fn values<T: Copy + Into<u64>>(edges: &[T], width: u32) -> Vec<u64> {
    let mut random = Random(41);
    let wild = (0..4000).map(|_| random.next() >> (64 - width));
    edges.iter().map(|&edge| edge.into()).chain(wild).collect()
}

#[test]
fn between_floats() {
    let singles = values(&SINGLES, 32);
    // Singles in the range of halves, with every kind of rest.
    let near: Vec<u64> = singles.iter().map(|bits| bits & 0x81FF_FFFF | 0x3800_0000).collect();
    check::<Single, Half>("f16", "f32", &[singles.clone(), near].concat());
    check::<Single, BFloat>("bf16", "f32", &singles);
    let doubles = values(&DOUBLES, 64);
    let near: Vec<u64> =
        doubles.iter().map(|bits| bits & 0x801F_FFFF_FFFF_FFFF | 0x3800_0000_0000_0000).collect();
    let nearer: Vec<u64> =
        doubles.iter().map(|bits| bits & 0x803F_FFFF_FFFF_FFFF | 0x3F00_0000_0000_0000).collect();
    let doubles = [doubles, near, nearer].concat();
    check::<Double, Single>("f32", "f64", &doubles);
    check::<Double, Half>("f16", "f64", &doubles);
    check::<Double, BFloat>("bf16", "f64", &doubles);
    check::<Half, BFloat>("bf16", "f16", &values(&HALVES, 16));
    check::<BFloat, Half>("f16", "bf16", &values(&BRAINS, 16));
}

#[test]
fn widening_is_exact() {
    for half in 0..=u16::MAX {
        let value = half::f16::from_bits(half);
        let want = if value.is_nan() { 0x7FFF_FFFF } else { value.to_f32().to_bits() };
        assert_eq!(run("cvt.f32.f16", [half.into()]), want.into(), "{half:#x}");
        if half % 64 == 0 && !value.is_nan() {
            assert_eq!(run("cvt.f64.f16", [half.into()]), value.to_f64().to_bits());
            let brain = half::bf16::from_bits(half);
            assert_eq!(run("cvt.f64.bf16", [half.into()]), brain.to_f64().to_bits());
        }
    }
    assert_eq!(run("cvt.f64.f32", [0x0000_0001]), f64::from(f32::from_bits(1)).to_bits());
    assert_eq!(run("cvt.f32.bf16", [0xFFFF_3F80]), 0x3F80_0000);
}

#[test]
fn flushing_concerns_singles_alone() {
    assert_eq!(run("cvt.ftz.f64.f32", [0x8000_0001]), 1 << 63);
    assert_eq!(run("cvt.rn.ftz.f32.f64", [1e-40_f64.to_bits()]), 0);
    assert_eq!(run("cvt.rn.f32.f64", [1e-40_f64.to_bits()]), 1e-40_f32.to_bits().into());
    // As an H200 does it: 2^-126 less a last place of 24 bits goes, what rounds to 2^-126 with any exponent stays.
    assert_eq!(run("cvt.rn.ftz.f32.f64", [0x380F_FFFF_E000_0000]), 0);
    assert_eq!(run("cvt.rn.ftz.sat.f32.f64", [0x380F_FFFF_E000_0000]), 0);
    assert_eq!(run("cvt.rn.ftz.f32.f64", [0x380F_FFFF_FFFF_FFFF]), 0x0080_0000);
    // 2^-15 is subnormal in f16 and no single is; it stays.
    assert_eq!(run("cvt.rn.ftz.f16.f32", [2.0_f32.powi(-15).to_bits().into()]), 0x0200);
    assert_eq!(run("cvt.ftz.f32.f16", [0x0001]), 2.0_f32.powi(-24).to_bits().into());
    assert_eq!(run("cvt.ftz.f32.bf16", [0x0001]), 0);
    assert_eq!(run("cvt.rpi.ftz.s32.f32", [1]), 0);
    assert_eq!(run("cvt.rpi.s32.f32", [1]), 1);
    assert_eq!(apply(&flushing("cvt.f32.f32", 1), [1]), 0);
    assert_eq!(run("cvt.ftz.f32.f32", [0x8000_0001]), 0x8000_0000);
}

/// What `ptxas` folds such conversions of constants to, of a module of version 1.4 and of one of 1.5.
#[test]
fn before_version_1_5_conversions_of_64_bits_do_not_flush_by_themselves() {
    let tiny = f32::from_bits(3);
    for (mnemonic, source, result) in [
        ("cvt.f64.f32", 3, f64::from(tiny).to_bits()),
        ("cvt.rpi.s64.f32", 3, 1),
        ("cvt.rpi.u64.f32", 3, 1),
        ("cvt.rn.f32.f64", 0x37A0_0000_0000_0000, 0x0001_0000),
    ] {
        assert_eq!(apply(&flushing(mnemonic, 1), [source]), 0, "{mnemonic}");
        assert_eq!(apply(&flushing_before_version_1_5(mnemonic, 1), [source]), result, "{mnemonic}");
    }
    for mnemonic in ["cvt.ftz.f64.f32", "cvt.rpi.ftz.s64.f32", "cvt.rpi.s32.f32", "cvt.f32.f32"] {
        assert_eq!(apply(&flushing_before_version_1_5(mnemonic, 1), [3]), 0, "{mnemonic}");
    }
}

#[test]
fn rounding_to_integral_floats() {
    let sources = [-2.5_f32, -1.5, -0.7, -0.3, -0.0, 0.0, 0.5, 1.5, 2.5, 8_388_609.0, f32::INFINITY];
    let rounded = [
        ("rni", [-2.0, -2.0, -1.0, -0.0, -0.0, 0.0, 0.0, 2.0, 2.0, 8_388_609.0, f32::INFINITY]),
        ("rzi", [-2.0, -1.0, -0.0, -0.0, -0.0, 0.0, 0.0, 1.0, 2.0, 8_388_609.0, f32::INFINITY]),
        ("rmi", [-3.0, -2.0, -1.0, -1.0, -0.0, 0.0, 0.0, 1.0, 2.0, 8_388_609.0, f32::INFINITY]),
        ("rpi", [-2.0, -1.0, -0.0, -0.0, -0.0, 0.0, 1.0, 2.0, 3.0, 8_388_609.0, f32::INFINITY]),
    ];
    for (name, wanted) in rounded {
        for (source, want) in sources.into_iter().zip(wanted) {
            let single = run(&format!("cvt.{name}.f32.f32"), [source.to_bits().into()]);
            assert_eq!(single, u64::from(f32::to_bits(want)), "{name} {source}");
            let double = run(&format!("cvt.{name}.f64.f64"), [f64::from(source).to_bits()]);
            assert_eq!(double, f64::from(want).to_bits());
            if want.abs() < 4.0 {
                let half = |value: f32| u64::from(half::f16::from_f32(value).to_bits());
                assert_eq!(run(&format!("cvt.{name}.f16.f16"), [half(source)]), half(want));
            }
        }
    }
    assert_eq!(run("cvt.rni.f32.f32", [0xFFC0_0001]), 0x7FFF_FFFF);
    assert_eq!(run("cvt.rni.ftz.sat.f32.f32", [1.7_f32.to_bits().into()]), 0x3F80_0000);
}

#[test]
fn saturation() {
    for (source, want) in [(-1.0_f32, 0.0_f32), (0.25, 0.25), (7.0, 1.0), (f32::NAN, 0.0), (-0.0, 0.0)] {
        assert_eq!(run("cvt.sat.f32.f32", [source.to_bits().into()]), want.to_bits().into());
        assert_eq!(run("cvt.rn.sat.f32.f64", [f64::from(source).to_bits()]), want.to_bits().into());
        assert_eq!(run("cvt.sat.f64.f64", [f64::from(source).to_bits()]), f64::from(want).to_bits());
        let half = u64::from(half::f16::from_f32(want).to_bits());
        assert_eq!(run("cvt.rn.sat.f16.f32", [source.to_bits().into()]), half);
    }
    assert_eq!(run("cvt.rn.sat.f32.s32", [-5_i64 as u64]), 0);
    assert_eq!(run("cvt.rn.sat.f32.u32", [5]), 0x3F80_0000);
}

#[test]
fn finite_and_relu() {
    let bits = |value: f32| u64::from(value.to_bits());
    assert_eq!(run("cvt.rn.f16.f32", [bits(65520.0)]), 0x7C00);
    assert_eq!(run("cvt.rn.satfinite.f16.f32", [bits(65520.0)]), 0x7BFF);
    assert_eq!(run("cvt.rn.satfinite.f16.f32", [bits(f32::NEG_INFINITY)]), 0xFBFF);
    assert_eq!(run("cvt.rn.satfinite.f16.f32", [bits(f32::NAN)]), 0x7FFF);
    assert_eq!(run("cvt.rn.satfinite.bf16.f32", [bits(f32::MAX)]), 0x7F7F);
    assert_eq!(run("cvt.rn.relu.f16.f32", [bits(-1.0)]), 0);
    assert_eq!(run("cvt.rn.relu.bf16.f32", [bits(-0.0)]), 0);
    assert_eq!(run("cvt.rz.relu.bf16.f32", [bits(f32::NAN)]), 0x7FFF);
}

#[test]
fn tensor_floats() {
    // 1 + 2^-11 is halfway between two values of ten fraction bits.
    let tie = 0x3F80_1000;
    assert_eq!(run("cvt.rna.tf32.f32", [tie]), 0x3F80_2000);
    assert_eq!(run("cvt.rn.tf32.f32", [tie]), 0x3F80_0000);
    assert_eq!(run("cvt.rn.tf32.f32", [0x3F80_3000]), 0x3F80_4000);
    assert_eq!(run("cvt.rz.tf32.f32", [0x3F80_3FFF]), 0x3F80_2000);
    assert_eq!(run("cvt.rna.tf32.f32", [0xFF7F_FFFF]), 0xFF80_0000);
    assert_eq!(run("cvt.rna.satfinite.tf32.f32", [0xFF7F_FFFF]), 0xFF7F_E000);
    assert_eq!(run("cvt.rn.relu.tf32.f32", [0xBF80_0000]), 0);
    assert_eq!(run("cvt.rna.tf32.f32", [0xFFC0_0000]), 0x7FFF_FFFF);
    assert_eq!(run("cvt.rna.tf32.f32", [0x0000_1000]), 0x0000_2000);
    unknown("cvt.rm.tf32.f32", 1, 1);
}

#[test]
fn from_integers() {
    let integers: Vec<u64> =
        values(&[0_u64, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 63, u64::MAX, (1 << 24) + 1, (1 << 53) + 1], 64);
    for (kind, width) in
        [("u8", 8), ("s8", 8), ("u16", 16), ("s16", 16), ("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)]
    {
        for (name, round) in ROUNDINGS {
            let target = |float: &str| known(&format!("cvt.{name}.{float}.{kind}"), 1, 1);
            let evaluators = ["f32", "f64", "f16", "bf16"].map(target);
            for &cell in &integers {
                let low = i128::from(cell) & ((1 << width) - 1);
                let negative = kind.starts_with('s') && low >> (width - 1) == 1;
                let number = if negative { low - (1 << width) } else { low };
                let wants = [
                    bits(Single::from_i128_r(number, round).value),
                    bits(Double::from_i128_r(number, round).value),
                    bits(Half::from_i128_r(number, round).value),
                    bits(BFloat::from_i128_r(number, round).value),
                ];
                for (evaluator, want) in evaluators.iter().zip(wants) {
                    assert_eq!(apply(evaluator, [cell]), want, "{name} {kind} {number}");
                }
            }
        }
    }
}

#[test]
fn to_integers_clamps() {
    let cases = [
        ("cvt.rzi.s32.f32", 3e9_f32, 0x7FFF_FFFF),
        ("cvt.rzi.s32.f32", -3e9, 0xFFFF_FFFF_8000_0000),
        ("cvt.rzi.u32.f32", -1.5, 0),
        ("cvt.rzi.u32.f32", 5e9, 0xFFFF_FFFF),
        ("cvt.rzi.u8.f32", 300.0, 0xFF),
        ("cvt.rzi.s8.f32", -300.0, 0xFFFF_FFFF_FFFF_FF80),
        ("cvt.rni.s16.f32", 2.5, 2),
        ("cvt.rpi.s16.f32", 2.5, 3),
        ("cvt.rmi.s16.f32", -2.5, 0xFFFF_FFFF_FFFF_FFFD),
        ("cvt.rzi.s64.f32", 1e19, 0x7FFF_FFFF_FFFF_FFFF),
        ("cvt.rzi.u64.f32", 2e19, u64::MAX),
        ("cvt.rni.sat.u8.f32", 254.5, 254),
        ("cvt.rzi.s32.f32", f32::INFINITY, 0x7FFF_FFFF),
    ];
    for (mnemonic, source, want) in cases {
        assert_eq!(run(mnemonic, [source.to_bits().into()]), want, "{mnemonic} {source}");
        let double = mnemonic.replace("f32", "f64");
        assert_eq!(run(&double, [f64::from(source).to_bits()]), want, "{double} {source}");
    }
    assert_eq!(run("cvt.rzi.s32.f16", [0xC500]), 0xFFFF_FFFF_FFFF_FFFB); // -5
    assert_eq!(run("cvt.rzi.u64.bf16", [0x4380]), 256);
    assert_eq!(run("cvt.rni.s64.f64", [9007199254740993.0_f64.to_bits()]), 9_007_199_254_740_992);
}

#[test]
fn nan_to_integers() {
    // Zero if the source is not f64 and the destination is not 64 bits wide, else the highest bit alone.
    let nan = u64::from(f32::NAN.to_bits());
    for mnemonic in ["cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rzi.s8.f32"] {
        assert_eq!(run(mnemonic, [nan]), 0);
    }
    assert_eq!(run("cvt.rzi.u16.f16", [0x7E00]), 0);
    assert_eq!(run("cvt.rzi.s64.f32", [nan]), 1 << 63);
    assert_eq!(run("cvt.rzi.u64.bf16", [0x7FC0]), 1 << 63);
    let nan = f64::NAN.to_bits();
    assert_eq!(run("cvt.rzi.u32.f64", [nan]), 0x8000_0000);
    assert_eq!(run("cvt.rzi.s32.f64", [nan]), 0xFFFF_FFFF_8000_0000);
    assert_eq!(run("cvt.rzi.u64.f64", [nan]), 1 << 63);
}

#[test]
fn copies_keep_their_bits() {
    assert_eq!(run("cvt.f32.f32", [0xABCD_7F80_0001]), 0x7F80_0001);
    assert_eq!(run("cvt.f16.f16", [0xFFFF_7C01]), 0x7C01);
    assert_eq!(run("cvt.relu.f32.f32", [(-1.0_f32).to_bits().into()]), 0);
    assert_eq!(run("cvt.satfinite.f32.f32", [f32::NEG_INFINITY.to_bits().into()]), f32::MIN.to_bits().into());
}

#[test]
fn what_does_not_exist_is_not_known() {
    for mnemonic in [
        "cvt.s32.f32",
        "cvt.f32.s32",
        "cvt.rn.s32.f32",
        "cvt.rni.f32.s32",
        "cvt.rna.f32.s32",
        "cvt.rn.relu.f32.s32",
        "cvt.rn.satfinite.f32.s32",
        "cvt.s32.s32",
        "cvt.rs.f16.f32",
    ] {
        unknown(mnemonic, 1, 1);
    }
    unknown("cvt.rn.f16.f32", 1, 2);
}
