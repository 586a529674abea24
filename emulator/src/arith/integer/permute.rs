//! `prmt`: bytes picked from two registers.

use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::types::Type;

/// For each value of the selector's low two bits, the byte numbers as hexadecimal digits, the highest byte first: the
/// modes are tables of selectors of the default mode.
const MODES: [(&str, [u16; 4]); 6] = [
    ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
    ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
    ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
    ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
    ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
    ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
];

/// `prmt.b32` in all modes.
pub(super) fn bytes(d: &mut Decoder) -> Option<Shaped> {
    let mode = d.take_known(|word| MODES.iter().find(|mode| mode.0 == word).map(|mode| mode.1));
    if d.take_type()? != Type::B32 {
        return None;
    }
    Some(match mode {
        None => lift(|[a, b, selector]| [pick(a, b, selector)]),
        Some(table) => lift(move |[a, b, selector]| [pick(a, b, table[(selector & 3) as usize].into())]),
    })
}

/// A nibble of the selector for each byte: three bits choose among the eight bytes, the fourth asks for the byte's sign
/// in all its bits instead of the byte.
#[inline]
fn pick(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = u64::from(a as u32) | b << 32;
    (0..4).fold(0, |all, index| {
        let nibble = selector >> (4 * index);
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let sign = ((byte as i8) >> 7) as u8;
        let chosen = if nibble & 8 == 0 { byte } else { sign };
        all | u64::from(chosen) << (8 * index)
    })
}
