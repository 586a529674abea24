//! Bit counts, searches and fields.

use super::decoder::Decoder;
use super::lift::{Shaped, lift, unary};
use super::shifts::Amount;
use super::types::{Int, Type, for_type, ones};

/// The answer of a search that found nothing.
const NOT_FOUND: u32 = u32::MAX;

/// `popc`.
pub(super) fn population(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::B32 => Some(unary(u32::count_ones)),
        Type::B64 => Some(unary(u64::count_ones)),
        _ => None,
    }
}

/// `clz`.
pub(super) fn leading_zeros(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::B32 => Some(unary(u32::leading_zeros)),
        Type::B64 => Some(unary(u64::leading_zeros)),
        _ => None,
    }
}

/// `brev`.
pub(super) fn reverse(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::B32 => Some(unary(u32::reverse_bits)),
        Type::B64 => Some(unary(u64::reverse_bits)),
        _ => None,
    }
}

/// `bfind{.shiftamt}`: the highest bit that is not a copy of the sign, counted from below or, with `.shiftamt`, from
/// above.
pub(super) fn find(d: &mut Decoder) -> Option<Shaped> {
    let from_above = d.take("shiftamt");
    for_type!(d.take_type()?, words T => unary(move |a: T| {
        let sign = a.shift_right(T::BITS - 1);
        let digits = if T::SIGNED { a ^ sign } else { a };
        match (digits.leading_zeros(), from_above) {
            (T::BITS, _) => NOT_FOUND,
            (zeros, true) => zeros,
            (zeros, false) => T::BITS - 1 - zeros,
        }
    }))
}

/// `fns`: the place of the n-th set bit, from `base` upwards or, for a negative n, downwards; n = 0 asks for the bit at
/// `base` itself.
pub(super) fn find_nth(d: &mut Decoder) -> Option<Shaped> {
    if d.take_type()? != Type::B32 {
        return None;
    }
    Some(lift(|[mask, base, offset]| {
        let (mask, base, offset) = (mask as u32, base as u32, offset as i32);
        let is_set = |place: &u32| mask >> place & 1 == 1;
        let nth = offset.unsigned_abs().saturating_sub(1) as usize;
        let found = match offset {
            _ if base > 31 => None,
            0 => Some(base).filter(is_set),
            1.. => (base..32).filter(is_set).nth(nth),
            _ => (0..=base).rev().filter(is_set).nth(nth),
        };
        [u64::from(found.unwrap_or(NOT_FOUND))]
    }))
}

/// `bfe`. Bits of the field past the top of the source are signs for signed types, as are those past the field.
pub(super) fn extract(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, words T => lift(|[a, position, length]| {
        let a = T::read(a).cell();
        let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
        let valid = length.min(T::BITS.saturating_sub(position));
        let field = a.shift_right(position) & ones(valid);
        // For an empty field the ISA's sign is 0; for one that starts past the top it is the top bit.
        let sign_at = (position + length).saturating_sub(1).min(T::BITS - 1);
        let negative = T::SIGNED && length != 0 && a >> sign_at & 1 == 1;
        let signs = if negative { !ones(valid) } else { 0 };
        [(field | signs) & ones(T::BITS)]
    }))
}

/// `bfi`: the low `length` bits of `a` into `b` at `position`, as far as they fit.
pub(super) fn insert(d: &mut Decoder) -> Option<Shaped> {
    let width = match d.take_type()? {
        Type::B32 => 32,
        Type::B64 => 64,
        _ => return None,
    };
    Some(lift(move |[a, b, position, length]| {
        let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
        let hole = ones(length).shift_left(position);
        [(b & !hole | a.shift_left(position) & hole) & ones(width)]
    }))
}

/// `bmsk`: `width` ones from `position` on.
pub(super) fn mask(d: &mut Decoder) -> Option<Shaped> {
    let amount = Amount::taken(d)?;
    if d.take_type()? != Type::B32 {
        return None;
    }
    Some(lift(move |[position, width]| {
        let (position, width) = (amount.below_33(position), amount.below_33(width));
        [ones(width).shift_left(position) & ones(32)]
    }))
}

/// `szext`: the low `width` bits, sign- or zero-extended. A wrapped width of 0 leaves 0, a clamped one of 32 all.
pub(super) fn extend(d: &mut Decoder) -> Option<Shaped> {
    let amount = Amount::taken(d)?;
    let signed = match d.take_type()? {
        Type::U32 => false,
        Type::S32 => true,
        _ => return None,
    };
    Some(lift(move |[a, width]| {
        let width = amount.below_33(width);
        let value = a & ones(width);
        let negative = signed && width != 0 && value >> (width - 1) & 1 == 1;
        [if negative { value | !ones(width) & ones(32) } else { value }]
    }))
}
