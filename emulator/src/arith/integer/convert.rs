//! `cvt` from integer to integer, and `cvt.pack`.

use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::types::{Int, Type, for_type, ones};

/// `cvt{.sat}` between integer types. The result is extended by the destination type to the whole cell, because the
/// destination register may be wider than its type.
pub(super) fn cvt(d: &mut Decoder) -> Option<Shaped> {
    if d.take("pack") {
        return pack(d);
    }
    let saturates = d.take("sat");
    let (to, from) = (d.take_type()?, d.take_type()?);
    match saturates {
        false => for_type!(to, sized To => for_type!(from, sized From => {
            lift(|[a]| [To::read(From::read(a).extended()).extended()])
        })),
        true => for_type!(to, sized To => for_type!(from, sized From => {
            lift(|[a]| [To::nearest(From::read(a).exact()).extended()])
        })),
    }
    .flatten()
}

/// `cvt.pack.sat`: both numbers clamped to a narrow type, `a` above `b`, and above both the low bits of `c` where the
/// type is narrower than 16 bits.
fn pack(d: &mut Decoder) -> Option<Shaped> {
    let (bits, signed) = d.take_known(|word| match word {
        "u16" => Some((16, false)),
        "s16" => Some((16, true)),
        "u8" => Some((8, false)),
        "s8" => Some((8, true)),
        "u4" => Some((4, false)),
        "s4" => Some((4, true)),
        "u2" => Some((2, false)),
        "s2" => Some((2, true)),
        _ => None,
    })?;
    if !d.take("sat") || d.take_type()? != Type::S32 {
        return None;
    }
    let (least, most) = match signed {
        false => (0, (1 << bits) - 1),
        true => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
    };
    let narrow = move |cell: u64| (cell as i32).clamp(least, most) as u64 & ones(bits);
    let both = move |a: u64, b: u64| narrow(a) << bits | narrow(b);
    match (bits, d.take_type()) {
        (16, None) => Some(lift(move |[a, b]| [both(a, b)])),
        (2..=8, Some(Type::B32)) => Some(lift(move |[a, b, c]| [(c << (2 * bits) | both(a, b)) & ones(32)])),
        _ => None,
    }
}
