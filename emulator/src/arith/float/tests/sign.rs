//! `abs`, `neg`, `copysign`, `testp`.

use super::{known, run, unknown};
use crate::lanes::{Lanes, WARP_SIZE};

#[test]
fn signs() {
    assert_eq!(run("abs.f32", [0xBF80_0000]), 0x3F80_0000);
    assert_eq!(run("neg.f32", [0]), 0x8000_0000);
    assert_eq!(run("neg.f64", [0x3FF0_0000_0000_0000]), 0xBFF0_0000_0000_0000);
    assert_eq!(run("abs.f64", [0xFFF0_0000_0000_0000]), 0x7FF0_0000_0000_0000);
    assert_eq!(run("neg.f16", [0xFFFF_3C00]), 0xBC00);
    assert_eq!(run("neg.bf16x2", [0x3F80_BF80]), 0xBF80_3F80);
    assert_eq!(run("abs.f16x2", [0x8000_BC00]), 0x0000_3C00);
    assert_eq!(run("abs.ftz.f32", [0x8000_0001]), 0);
    assert_eq!(run("neg.ftz.f16x2", [0x0001_0400]), 0x8000_8400);
    assert_eq!(run("copysign.f32", [0x8000_0000, 0x3F80_0000]), 0xBF80_0000);
    assert_eq!(run("copysign.f64", [0, 0xBFF0_0000_0000_0000]), 0x3FF0_0000_0000_0000);
    unknown("copysign.f16", 1, 2);
    unknown("copysign.ftz.f32", 1, 2);
    unknown("abs.sat.f32", 1, 1);
}

#[test]
fn properties() {
    let classes = [
        (0x0000_0000, "finite number normal"),
        (0x8000_0000, "finite number normal"),
        (0x0000_0001, "finite number subnormal"),
        (0x807F_FFFF, "finite number subnormal"),
        (0x0080_0000, "finite number normal"),
        (0xFF7F_FFFF, "finite number normal"),
        (0x7F80_0000, "infinite number"),
        (0xFF80_0000, "infinite number"),
        (0x7F80_0001, "notanumber"),
        (0xFFFF_FFFF, "notanumber"),
    ];
    for test in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        for (bits, properties) in classes {
            let want = u64::from(properties.split(' ').any(|property| property == test));
            assert_eq!(run(&format!("testp.{test}.f32"), [bits]), want, "{test} {bits:#x}");
            let double = f64::from(f32::from_bits(bits as u32)).to_bits();
            // An f32 subnormal is normal in f64.
            if !properties.contains("subnormal") {
                assert_eq!(run(&format!("testp.{test}.f64"), [double]), want, "{test} {double:#x}");
            }
        }
    }
    assert_eq!(run("testp.subnormal.f64", [0x800F_FFFF_FFFF_FFFF]), 1);
    assert_eq!(run("testp.normal.f64", [1]), 0);
}

#[test]
fn lanes_are_independent() {
    let evaluator = known("neg.f32", 1, 1);
    let source: Lanes = std::array::from_fn(|lane| lane as u64);
    let mut results = [[0; WARP_SIZE]];
    evaluator(&[&source], &mut results);
    assert_eq!(results[0], std::array::from_fn(|lane| 0x8000_0000 | lane as u64));
}
