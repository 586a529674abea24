//! Addition, multiplication, fused operations and quotients against the software library.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, Round, Status, StatusAnd};

use super::{BRAINS, DOUBLES, HALVES, Random, SINGLES, apply, flushing, known, pairs, run, single, unknown};

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

/// A result of the library, NaN as the ISA's canonical one: all bits but the sign.
fn bits<F: Float>(value: F) -> u64 {
    if value.is_nan() { (1 << (F::BITS - 1)) - 1 } else { value.to_bits() as u64 }
}

fn float<F: Float>(bits: u64) -> F {
    F::from_bits(u128::from(bits))
}

/// Checks `root` of two values with every rounding.
fn check_two<F: Float>(
    root: &str,
    kind: &str,
    values: &[[u64; 2]],
    roundings: &[(&str, Round)],
    expected: impl Fn(F, F, Round) -> StatusAnd<F>,
) {
    for &(name, round) in roundings {
        let evaluator = known(&format!("{root}.{name}.{kind}"), 1, 2);
        for &[a, b] in values {
            let want = bits(expected(float(a), float(b), round).value);
            let got = apply(&evaluator, [a, b]);
            assert_eq!(got, want, "{root}.{name}.{kind} {a:#x} {b:#x}: {got:#x}, not {want:#x}");
        }
    }
}

/// Checks `fma` with every rounding.
fn check_fused<F: Float>(kind: &str, values: &[[u64; 3]], roundings: &[(&str, Round)]) {
    for &(name, round) in roundings {
        let evaluator = known(&format!("fma.{name}.{kind}"), 1, 3);
        for &[a, b, c] in values {
            let want = bits(float::<F>(a).mul_add_r(float(b), float(c), round).value);
            let got = apply(&evaluator, [a, b, c]);
            assert_eq!(got, want, "fma.{name}.{kind} {a:#x} {b:#x} {c:#x}: {got:#x}, not {want:#x}");
        }
    }
}

/// All pairs of edges, pairs without a pattern, and pairs of like exponents.
fn two(edges: &[u64], width: u32, exponent: u64) -> Vec<[u64; 2]> {
    let mask = u64::MAX >> (64 - width);
    let mut random = Random(u64::from(width));
    let wild = (0..4000).map(|_| [random.next() & mask, random.next() & mask]).collect::<Vec<_>>();
    let middle = exponent & (exponent / 2);
    let near = wild.iter().map(|pair| pair.map(|bits| bits & !exponent | middle));
    pairs(edges).chain(wild.iter().copied()).chain(near).collect()
}

/// Triples whose sums nearly cancel or whose addend is far away.
fn three(edges: &[u64], width: u32) -> Vec<[u64; 3]> {
    let mask = u64::MAX >> (64 - width);
    let mut random = Random(7);
    let all = pairs(edges).flat_map(|[a, b]| edges.iter().map(move |&c| [a, b, c]));
    let wild: Vec<[u64; 3]> =
        (0..5000).map(|_| [random.next() & mask, random.next() & mask, random.next() & mask]).collect();
    all.chain(wild).collect()
}

fn wide<T: Copy + Into<u64>>(values: &[T]) -> Vec<u64> {
    values.iter().map(|&value| value.into()).collect()
}

fn all_two<F: Float>(kind: &str, values: &[[u64; 2]], roundings: &[(&str, Round)]) {
    check_two::<F>("add", kind, values, roundings, |a, b, round| a.add_r(b, round));
    check_two::<F>("sub", kind, values, roundings, |a, b, round| a.sub_r(b, round));
    check_two::<F>("mul", kind, values, roundings, |a, b, round| a.mul_r(b, round));
}

#[test]
fn singles() {
    let values = two(&wide(&SINGLES), 32, 0x7F80_0000);
    all_two::<Single>("f32", &values, &ROUNDINGS);
    check_two::<Single>("div", "f32", &values, &ROUNDINGS, |a, b, round| a.div_r(b, round));
    check_fused::<Single>("f32", &three(&wide(&SINGLES), 32), &ROUNDINGS);
}

#[test]
fn doubles() {
    let values = two(&DOUBLES, 64, 0x7FF0_0000_0000_0000);
    all_two::<Double>("f64", &values, &ROUNDINGS);
    check_two::<Double>("div", "f64", &values, &ROUNDINGS, |a, b, round| a.div_r(b, round));
    check_fused::<Double>("f64", &three(&DOUBLES, 64), &ROUNDINGS);
}

#[test]
fn halves_and_brains() {
    all_two::<Half>("f16", &two(&wide(&HALVES), 16, 0x7C00), &ROUNDINGS[..1]);
    all_two::<BFloat>("bf16", &two(&wide(&BRAINS), 16, 0x7F80), &ROUNDINGS[..1]);
    check_fused::<Half>("f16", &three(&wide(&HALVES), 16), &ROUNDINGS[..1]);
    check_fused::<BFloat>("bf16", &three(&wide(&BRAINS), 16), &ROUNDINGS[..1]);
}

#[test]
fn every_half_with_a_few() {
    let values: Vec<[u64; 2]> = [0x0001_u64, 0x13FF, 0x3C00, 0x3555, 0x4248, 0x7BFF, 0x83FF]
        .into_iter()
        .flat_map(|b| (0..=0xFFFF_u64).map(move |a| [a, b]))
        .collect();
    all_two::<Half>("f16", &values, &ROUNDINGS[..1]);
}

#[test]
fn a_fused_operation_rounds_once() {
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: with the product rounded first the last term would be lost, a tie to even.
    let a = 1.0 + 2.0_f32.powi(-12);
    let tiny = 2.0_f32.powi(-60);
    assert_eq!(single("fma.rn.f32", [a, a, tiny]), 1.0 + 2.0_f32.powi(-11) + 2.0_f32.powi(-23));
    assert_eq!(single("fma.rn.f32", [a, a, -tiny]), 1.0 + 2.0_f32.powi(-11));
    assert_eq!(single("mad.rn.f32", [a, a, -tiny]), 1.0 + 2.0_f32.powi(-11));
}

#[test]
fn cancelled_sums_have_the_sign_that_the_rounding_says() {
    for kind in ["f32", "f64"] {
        let one = if kind == "f32" { 1.0_f32.to_bits().into() } else { 1.0_f64.to_bits() };
        let minus_zero = if kind == "f32" { 0x8000_0000 } else { 1 << 63 };
        assert_eq!(run(&format!("sub.rn.{kind}"), [one, one]), 0);
        assert_eq!(run(&format!("sub.rm.{kind}"), [one, one]), minus_zero);
        assert_eq!(run(&format!("sub.rp.{kind}"), [one, one]), 0);
    }
}

#[test]
fn flushing_takes_subnormal_sources_and_results() {
    let tiny = f32::from_bits(1);
    let smallest = f32::MIN_POSITIVE;
    assert_eq!(single("add.ftz.f32", [tiny, 0.0]).to_bits(), 0);
    assert_eq!(single("add.ftz.f32", [-tiny, -0.0]).to_bits(), 0x8000_0000);
    assert_eq!(single("mul.ftz.f32", [smallest, -0.5]).to_bits(), 0x8000_0000);
    assert_eq!(single("mul.f32", [smallest, -0.5]).to_bits(), 0x8040_0000);
    // A subnormal that counts as zero makes infinity of a quotient, and NaN of a product with infinity.
    assert_eq!(single("div.rn.ftz.f32", [1.0, -tiny]), f32::NEG_INFINITY);
    assert_eq!(single("mul.ftz.f32", [f32::INFINITY, tiny]).to_bits(), 0x7FFF_FFFF);
    assert_eq!(single("fma.rz.ftz.f32", [smallest, 0.75, 0.0]).to_bits(), 0);
    // f16: 2^-14 / 2 is subnormal.
    assert_eq!(run("mul.ftz.f16", [0x0400, 0x3800]), 0);
    assert_eq!(run("mul.f16", [0x0400, 0x3800]), 0x0200);
    assert_eq!(run("fma.rn.ftz.f16", [0x8001, 0x7BFF, 0x0000]), 0);
}

/// As an H200 does it: what counts is the result rounded to 24 bits, whatever its exponent.
#[test]
fn flushing_takes_what_only_a_subnormal_place_rounds_to_the_smallest_normal_value() {
    let smallest = 0x0080_0000;
    assert_eq!(run("mul.rn.f32", [0x3F00_0000, 0x00FF_FFFF]), smallest);
    for sat in ["", ".sat"] {
        assert_eq!(run(&format!("mul.rn.ftz{sat}.f32"), [0x3F00_0000, 0x00FF_FFFF]), 0);
        assert_eq!(run(&format!("fma.rn.ftz{sat}.f32"), [0x3F7F_FFFF, smallest, 0xFF]), 0);
        // Nearer to it than half a last place: this one is the smallest normal value with any exponent.
        assert_eq!(run(&format!("mul.rn.ftz{sat}.f32"), [0x3F40_0003, 0x00AA_AAA8]), smallest);
    }
    assert_eq!(run("mul.rn.ftz.f32", [0xBF00_0000, 0x00FF_FFFF]), 0x8000_0000);
    assert_eq!(run("div.rn.ftz.f32", [0x3F7F_FFFF, 0x7E80_0000]), 0);
    assert_eq!(run("mul.rn.ftz.f16", [0x3800, 0x07FF]), 0);
    assert_eq!(run("fma.rn.ftz.relu.f16", [0x3BFF, 0x0400, 2]), 0);
    assert_eq!(run("mul.rn.f16", [0x3800, 0x07FF]), 0x0400);
}

#[test]
fn old_targets_flush_singles_alone() {
    assert_eq!(apply(&flushing("add.f32", 2), [1, 0]), 0);
    assert_eq!(apply(&flushing("mad.f32", 3), [0x0080_0000, 0x3F00_0000, 0]), 0);
    assert_eq!(apply(&flushing("add.f64", 2), [1, 0]), 1);
    assert_eq!(apply(&flushing("abs.f32", 1), [0x8000_0001]), 0);
}

#[test]
fn saturation_clamps_to_one_and_makes_nan_zero() {
    for (a, want) in
        [(2.5, 1.0_f32), (0.25, 0.25), (-3.0, 0.0), (f32::NAN, 0.0), (f32::INFINITY, 1.0), (-0.0, 0.0)]
    {
        for mnemonic in ["add.sat.f32", "add.rz.sat.f32", "add.ftz.sat.f32", "sub.rp.ftz.sat.f32"] {
            assert_eq!(single(mnemonic, [a, 0.0]).to_bits(), want.to_bits(), "{mnemonic} {a}");
        }
        let half = u64::from(half::f16::from_f32(a).to_bits());
        assert_eq!(run("mul.sat.f16", [half, 0x3C00]), u64::from(half::f16::from_f32(want).to_bits()));
    }
    assert_eq!(run("fma.rn.sat.f16x2", [0x4000_C000, 0x3C00_3C00, 0]), 0x3C00_0000);
}

#[test]
fn relu_keeps_nan() {
    assert_eq!(run("fma.rn.relu.f16", [0xC000, 0x3C00, 0]), 0);
    assert_eq!(run("fma.rn.relu.f16", [0x4000, 0x3C00, 0]), 0x4000);
    assert_eq!(run("fma.rn.relu.f16", [0xFE00, 0x3C00, 0]), 0x7FFF);
    assert_eq!(run("fma.rn.relu.bf16x2", [0xBF80_3F80, 0x3F80_3F80, 0]), 0x0000_3F80);
}

#[test]
fn pairs_are_two_values() {
    let mut random = Random(3);
    for (pair, one, width) in [("f16x2", "f16", 16), ("bf16x2", "bf16", 16), ("f32x2", "f32", 32)] {
        let mask = (1_u64 << width) - 1;
        for _ in 0..200 {
            let [a, b, c] =
                [random.next(), random.next(), random.next()].map(|bits| bits & (mask << width | mask));
            let halves = |mnemonic: &str| {
                let mnemonic = &format!("{mnemonic}.{one}");
                let low = run(mnemonic, [a & mask, b & mask, c & mask]);
                low | run(mnemonic, [a >> width, b >> width, c >> width]) << width
            };
            assert_eq!(run(&format!("fma.rn.{pair}"), [a, b, c]), halves("fma.rn"));
        }
    }
    assert_eq!(run("add.rz.f32x2", [0x3F80_0000_4040_0000, 0x3380_0000_3F80_0000]), 0x3F80_0000_4080_0000);
    assert_eq!(run("add.rp.f32x2", [0x3F80_0000_4040_0000, 0x3380_0000_3F80_0000]), 0x3F80_0001_4080_0000);
}

#[test]
fn mixed_precision_widens_before_it_computes() {
    let half = |value: f32| u64::from(half::f16::from_f32(value).to_bits());
    let brain = |value: f32| u64::from(half::bf16::from_f32(value).to_bits());
    let bits = |value: f32| u64::from(value.to_bits());
    let third = bits(1.0 / 3.0);
    assert_eq!(run("add.f32.f16", [half(1.5), third]), bits(1.5 + 1.0 / 3.0));
    assert_eq!(run("sub.f32.bf16", [brain(1.5), third]), bits(1.5 - 1.0 / 3.0));
    assert_eq!(run("add.rz.sat.f32.f16", [half(0.75), bits(0.5)]), bits(1.0));
    assert_eq!(run("sub.rm.f32.bf16", [brain(1.0), bits(1.0)]), 0x8000_0000);
    // The product of two halves is exact in f32, so one rounding of the sum is Rust's own.
    assert_eq!(run("fma.rn.f32.f16", [half(1.25), half(-3.0), third]), bits(1.25 * -3.0 + 1.0 / 3.0));
    assert_eq!(run("fma.rz.f32.bf16", [brain(1.0), brain(1.0), bits(-0.0)]), bits(1.0));
}

#[test]
fn registers_wider_than_the_type_are_cut() {
    assert_eq!(run("add.f32", [0xFFFF_FFFF_3F80_0000, 0xABCD_0000_3F80_0000]), 0x4000_0000);
    assert_eq!(run("add.f16", [0xFFFF_3C00, 0xABCD_3C00]), 0x4000);
}

#[test]
fn what_does_not_exist_is_not_known() {
    for mnemonic in
        ["add.f16.f32", "add.sat.f64", "add.rs.f32", "mul.f32.f16", "add.relu.f16", "add.f32.f32", "add.s32"]
    {
        unknown(mnemonic, 1, 2);
    }
    for mnemonic in ["fma.rn.relu.f32", "fma.rn.oob.f16"] {
        unknown(mnemonic, 1, 3);
    }
    unknown("add.f32", 1, 3);
    unknown("add.f32", 2, 2);
    unknown("sqrt.rn.f16", 1, 1);
    unknown("div.rn.bf16", 1, 2);
    unknown("div.rn.f32x2", 1, 2);
    unknown("sqrt.rn.f32x2", 1, 1);
}

#[test]
fn the_library_agrees_with_the_processor() {
    // The oracle itself: its f32 sums are those of the processor.
    for [a, b] in pairs(&SINGLES) {
        let StatusAnd { value, status } =
            float::<Single>(a.into()).add_r(float(b.into()), Round::NearestTiesToEven);
        let native = f32::from_bits(a) + f32::from_bits(b);
        assert!(native.is_nan() && value.is_nan() || value.to_bits() == native.to_bits().into());
        assert!(!status.contains(Status::DIV_BY_ZERO));
    }
}
