//! Bit counts, searches and fields, against the ISA's pseudocode bit by bit.

use super::*;

#[test]
fn counts() {
    for kind in ["b32", "b64"] {
        let (width, _) = shape(kind);
        let bit = |a: u64, at: u32| a >> at & 1;
        check_plain(&format!("popc.{kind}"), &EDGES, |[a]| (0..width).map(|at| bit(a, at)).sum());
        check_plain(&format!("clz.{kind}"), &EDGES, |[a]| {
            (0..width).rev().take_while(|&at| bit(a, at) == 0).count() as u64
        });
        check_plain(&format!("brev.{kind}"), &EDGES, |[a]| {
            (0..width).map(|at| bit(a, at) << (width - 1 - at)).sum()
        });
    }
}

#[test]
fn bfind_skips_copies_of_the_sign() {
    for kind in ["u32", "s32", "u64", "s64"] {
        let (width, signed) = shape(kind);
        let found = |a: u64| {
            let value = number(a, width, signed);
            let value = if value < 0 { !value } else { value };
            (0..width).rev().find(|&at| value >> at & 1 == 1)
        };
        check_plain(&format!("bfind.{kind}"), &EDGES, |[a]| found(a).map_or(0xFFFF_FFFF, u64::from));
        check_plain(&format!("bfind.shiftamt.{kind}"), &EDGES, |[a]| {
            found(a).map_or(0xFFFF_FFFF, |at| u64::from(width - 1 - at))
        });
    }
}

#[test]
fn fns_counts_in_both_directions() {
    for mask in EDGES {
        for base in 0..32u64 {
            for offset in -34i64..=34 {
                let expected = nth_set_bit(mask, base as i64, offset);
                let got = once("fns.b32", &[mask, base, offset as u64 & 0xFFFF_FFFF]);
                assert_eq!(got, expected, "{mask:#x} from {base} by {offset}");
            }
        }
    }
    assert_eq!(once("fns.b32", &[u64::MAX, 32, 1]), 0xFFFF_FFFF);
}

/// The ISA's loop.
fn nth_set_bit(mask: u64, base: i64, offset: i64) -> u64 {
    let is_set = |place: i64| mask >> place & 1 == 1;
    if offset == 0 {
        return if is_set(base) { base as u64 } else { 0xFFFF_FFFF };
    }
    let step = offset.signum();
    let (mut place, mut left) = (base, offset.abs() - 1);
    while (0..32).contains(&place) {
        if is_set(place) {
            if left == 0 {
                return place as u64;
            }
            left -= 1;
        }
        place += step;
    }
    0xFFFF_FFFF
}

/// Positions and lengths around the widths; of 0x1FF and 0x100 only eight bits count.
const PLACES: [u64; 14] = [0, 1, 5, 8, 31, 32, 33, 63, 64, 65, 200, 0xFF, 0x100, 0x1FF];

#[test]
fn bfe_bit_by_bit() {
    for kind in ["u32", "s32", "u64", "s64"] {
        let (width, signed) = shape(kind);
        for (a, position, length) in
            EDGES.iter().flat_map(|&a| PLACES.iter().flat_map(move |&p| PLACES.map(|l| (a, p, l))))
        {
            let (from, count) = (position & 0xFF, length & 0xFF);
            let top = u64::from(width) - 1;
            let sign = if !signed || count == 0 { 0 } else { a >> (from + count - 1).min(top) & 1 };
            let expected = (0..u64::from(width)).fold(0, |all, at| {
                let bit = if at < count && from + at <= top { a >> (from + at) & 1 } else { sign };
                all | bit << at
            });
            let got = once(&format!("bfe.{kind}"), &[a, position, length]);
            assert_eq!(got, expected, "bfe.{kind} {a:#x} {position} {length}");
        }
    }
}

#[test]
fn bfi_bit_by_bit() {
    let few = &EDGES[16..];
    for kind in ["b32", "b64"] {
        let (width, _) = shape(kind);
        for (a, b) in few.iter().flat_map(|&a| few.iter().map(move |&b| (a, b))) {
            for (position, length) in PLACES.iter().flat_map(|&p| PLACES.map(|l| (p, l))) {
                let (from, count) = (position & 0xFF, length & 0xFF);
                let mut expected = cut(i128::from(b), width);
                for at in (0..count).filter(|at| from + at < u64::from(width)) {
                    expected = expected & !(1 << (from + at)) | (a >> at & 1) << (from + at);
                }
                let got = once(&format!("bfi.{kind}"), &[a, b, position, length]);
                assert_eq!(got, expected, "bfi.{kind} {a:#x} {b:#x} {position} {length}");
            }
        }
    }
}

#[test]
fn bmsk_by_the_isa() {
    for (a, b) in PLACES.iter().flat_map(|&a| PLACES.map(|b| (a as u32, b as u32))) {
        for clamps in [true, false] {
            let (a1, b1) = (a & 31, b & 31);
            let sum = a1 + b1;
            let mut mask0 = u32::MAX << a1;
            let mut overflows = sum >= 32;
            if clamps && a >= 32 {
                overflows = true;
                mask0 = 0;
            }
            overflows |= clamps && b >= 32;
            let mask1 = if overflows {
                0
            } else if b1 == 0 {
                u32::MAX
            } else {
                u32::MAX << sum
            };
            let expected = mask0 & !mask1;
            let mode = if clamps { "clamp" } else { "wrap" };
            let got = once(&format!("bmsk.{mode}.b32"), &[a.into(), b.into()]);
            assert_eq!(got, expected.into(), "bmsk.{mode} {a} {b}");
        }
    }
}

#[test]
fn szext_by_the_isa() {
    for (a, b) in EDGES.iter().flat_map(|&a| PLACES.map(|b| (a as u32, b as u32))) {
        for (clamps, signed) in [(true, true), (true, false), (false, true), (false, false)] {
            let b1 = b & 31;
            let too_large = clamps && b >= 32;
            let mask = if too_large { 0 } else { u32::MAX << b1 };
            let sign = signed && b1 != 0 && !too_large && a >> (b1.wrapping_sub(1) & 31) & 1 == 1;
            let expected = a & !mask | if sign { mask } else { 0 };
            let mnemonic = format!(
                "szext.{}.{}",
                if clamps { "clamp" } else { "wrap" },
                if signed { "s32" } else { "u32" }
            );
            assert_eq!(once(&mnemonic, &[a.into(), b.into()]), expected.into(), "{mnemonic} {a:#x} {b}");
        }
    }
}
