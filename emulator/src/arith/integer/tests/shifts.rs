//! Shifts and byte permutations.

use super::*;

/// Amounts around every width, and one that only its high bits make large.
const AMOUNTS: [u64; 14] = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0xFFFF_FFFF];

#[test]
fn shifts_clamp_past_the_width() {
    for width in [16u32, 32, 64] {
        for amount in AMOUNTS {
            // No value changes any more once everything is shifted out, and 64 is past every width.
            let by = amount.min(64) as u32;
            let signed = |cell: u64| number(cell, width, true);
            let unsigned = |cell: u64| number(cell, width, false);
            let run = |mnemonic: &str, a: u64| once(&format!("{mnemonic}{width}"), &[a, amount]);
            for a in EDGES {
                let left = if by >= width { 0 } else { cut(unsigned(a) << by, width) };
                assert_eq!(run("shl.b", a), left, "{a:#x} << {amount}");
                assert_eq!(run("shr.u", a), cut(unsigned(a) >> by, width), "{a:#x} >> {amount}");
                assert_eq!(run("shr.b", a), cut(unsigned(a) >> by, width), "{a:#x} >> {amount}");
                assert_eq!(run("shr.s", a), cut(signed(a) >> by, width), "{a:#x} >> {amount}");
            }
        }
    }
}

#[test]
fn the_amount_is_32_bits_wide() {
    assert_eq!(once("shl.b64", &[1, 0x1_0000_0003]), 8);
    assert_eq!(once("shr.u64", &[8, 0x1_0000_0003]), 1);
}

#[test]
fn funnel_shifts() {
    for (a, b) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))) {
        for amount in AMOUNTS {
            for (mode, n) in [("clamp", amount.min(32) as u32), ("wrap", amount as u32 & 31)] {
                let (low, high) = (a & 0xFFFF_FFFF, b & 0xFFFF_FFFF);
                // The ISA: d = (b << n) | (a >> (32 - n)) and d = (b << (32 - n)) | (a >> n).
                let left = (high << n | low >> (32 - n)) & 0xFFFF_FFFF;
                let right = (high << (32 - n) | low >> n) & 0xFFFF_FFFF;
                assert_eq!(once(&format!("shf.l.{mode}.b32"), &[a, b, amount]), left);
                assert_eq!(once(&format!("shf.r.{mode}.b32"), &[a, b, amount]), right);
            }
        }
    }
}

#[test]
fn prmt_picks_bytes_and_signs() {
    let (a, b) = (0x8070_6050, 0xF3E2_D1C0);
    assert_eq!(once("prmt.b32", &[a, b, 0x3210]), a);
    assert_eq!(once("prmt.b32", &[a, b, 0x7654]), b);
    assert_eq!(once("prmt.b32", &[a, b, 0x0246]), 0x5070_C0E2);
    // Nibble 8 + 3 is the sign of byte 3 (0x80), 8 + 2 that of byte 2 (0x70).
    assert_eq!(once("prmt.b32", &[a, b, 0x3AB4]), 0x8000_FFC0);
    assert_eq!(once("prmt.b32", &[a, b, 0xFFFF_3210]), a, "only 16 bits select");
}

#[test]
fn prmt_modes_follow_their_table() {
    // Byte k of the pair {b, a} is 0x10 + k, so that a result spells the byte numbers.
    let (a, b) = (0x1312_1110, 0x1716_1514);
    let rows = [
        ("f4e", [0x1312_1110, 0x1413_1211, 0x1514_1312, 0x1615_1413]),
        ("b4e", [0x1516_1710, 0x1617_1011, 0x1710_1112, 0x1011_1213]),
        ("rc8", [0x1010_1010, 0x1111_1111, 0x1212_1212, 0x1313_1313]),
        ("ecl", [0x1312_1110, 0x1312_1111, 0x1312_1212, 0x1313_1313]),
        ("ecr", [0x1010_1010, 0x1111_1110, 0x1212_1110, 0x1312_1110]),
        ("rc16", [0x1110_1110, 0x1312_1312, 0x1110_1110, 0x1312_1312]),
    ];
    for (mode, expected) in rows {
        for (selector, expected) in expected.into_iter().enumerate() {
            let selector = selector as u64;
            assert_eq!(once(&format!("prmt.b32.{mode}"), &[a, b, selector]), expected, "{mode} {selector}");
            assert_eq!(once(&format!("prmt.b32.{mode}"), &[a, b, selector | 0xFFF4]), expected, "{mode}");
        }
    }
}
