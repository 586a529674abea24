//! Copies, packing, conversions.

use super::*;

#[test]
fn mov_copies_the_width_of_its_type() {
    for kind in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let (width, _) = shape(kind);
        check_plain(&format!("mov.{kind}"), &EDGES, |[a]| cut(i128::from(a), width));
        let both = |sources: [u64; 2]| sources.map(|cell| cut(i128::from(cell), width));
        check(&Request::plain(&format!("mov.v2.{kind}"), 2, 2), &EDGES, both);
    }
    check(&Request::plain("mov.v4.u32", 4, 4), &EDGES[16..], |sources: [u64; 4]| {
        sources.map(|cell| cell & 0xFFFF_FFFF)
    });
    check(&Request::plain("mov.b128", 2, 2), &EDGES, |sources: [u64; 2]| sources);
}

#[test]
fn mov_pred() {
    assert_eq!([0, 1, 2].map(|p| once("mov.pred", &[p])), [0, 1, 1]);
    let not = Request { negated: &[true], ..Request::plain("mov.pred", 1, 1) };
    assert_eq!([0, 1, 2].map(|p| run(&known(&not), &[p])), [[1], [0], [0]]);
}

#[test]
fn the_first_element_lies_lowest() {
    assert_eq!(once("mov.b16", &[0xAB11, 0xCD22]), 0x2211, "bytes of wider registers");
    assert_eq!(once("mov.b32", &[0x1111, 0x2222]), 0x2222_1111);
    assert_eq!(once("mov.b32", &[0x11, 0x22, 0x33, 0x44]), 0x4433_2211);
    assert_eq!(once("mov.b64", &[0x1111_1111, 0x2222_2222]), 0x2222_2222_1111_1111);
    assert_eq!(once("mov.b64", &[0x1111, 0x2222, 0x3333, 0xFFFF_4444]), 0x4444_3333_2222_1111);

    let unpack = |mnemonic, source| run::<2>(&known(&Request::plain(mnemonic, 2, 1)), &[source]);
    assert_eq!(unpack("mov.b16", 0x2211), [0x11, 0x22]);
    assert_eq!(unpack("mov.b32", 0xFFFF_FFFF_2222_1111), [0x1111, 0x2222]);
    assert_eq!(unpack("mov.b64", 0x2222_2222_1111_1111), [0x1111_1111, 0x2222_2222]);
    let unpack = |mnemonic, source| run::<4>(&known(&Request::plain(mnemonic, 4, 1)), &[source]);
    assert_eq!(unpack("mov.b32", 0x4433_2211), [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(unpack("mov.b64", 0x4444_3333_2222_1111), [0x1111, 0x2222, 0x3333, 0x4444]);

    let quarters = [0x1111_1111, 0x2222_2222, 0x3333_3333, 0x4444_4444];
    let halves = [0x2222_2222_1111_1111, 0x4444_4444_3333_3333];
    assert_eq!(run::<2>(&known(&Request::plain("mov.b128", 2, 4)), &quarters), halves);
    assert_eq!(run::<4>(&known(&Request::plain("mov.b128", 4, 2)), &halves), quarters);
}

const TYPES: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

#[test]
fn cvt_between_integers() {
    for (to, from) in TYPES.iter().flat_map(|&to| TYPES.map(|from| (to, from))) {
        let ((to_width, to_signed), (width, signed)) = (shape(to), shape(from));
        let (least, most) = range(to_width, to_signed);
        // The sign of the destination type fills the cell.
        let extended = |value: i128| cut(number(cut(value, to_width), to_width, to_signed), 64);
        let value = |cell| number(cell, width, signed);
        check_plain(&format!("cvt.{to}.{from}"), &EDGES, |[a]| extended(value(a)));
        check_plain(&format!("cvt.sat.{to}.{from}"), &EDGES, |[a]| extended(value(a).clamp(least, most)));
    }
    assert_eq!(once("cvt.s32.s8", &[0x1280]), 0xFFFF_FFFF_FFFF_FF80, "the low byte of a wider register");
    assert_eq!(once("cvt.u32.s8", &[0x80]), 0xFFFF_FF80, "extended, then taken as it is");
    assert_eq!(once("cvt.sat.u8.s32", &[0xFFFF_FFFF]), 0);
    assert_eq!(once("cvt.sat.s8.u32", &[0xFFFF_FFFF]), 127);
}

#[test]
fn cvt_pack_clamps_and_joins() {
    for (kind, bits, signed) in [
        ("u16", 16, false),
        ("s16", 16, true),
        ("u8", 8, false),
        ("s8", 8, true),
        ("u4", 4, false),
        ("s4", 4, true),
        ("u2", 2, false),
        ("s2", 2, true),
    ] {
        let (least, most) = range(bits, signed);
        let narrow = |cell| cut(number(cell, 32, true).clamp(least, most), bits);
        if bits == 16 {
            check_plain(&format!("cvt.pack.sat.{kind}.s32"), &EDGES, |[a, b]| narrow(a) << 16 | narrow(b));
        } else {
            check_plain(&format!("cvt.pack.sat.{kind}.s32.b32"), &EDGES, |[a, b, c]| {
                cut(i128::from(c) << (2 * bits), 32) | narrow(a) << bits | narrow(b)
            });
        }
    }
    assert_eq!(once("cvt.pack.sat.s8.s32.b32", &[300, 0xFFFF_FE00, 0xABCD_1234]), 0x1234_7F80);
}
