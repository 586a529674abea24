//! Multiplication, division, dot products.

use super::decoder::Decoder;
use super::lift::{Shaped, binary, lift, ternary};
use super::sums::add_carrying;
use super::types::{Int, Type, for_type, ones};

/// Which part of a product counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    High,
    Both,
}

fn half(d: &mut Decoder) -> Option<Half> {
    d.take_known(|word| match word {
        "lo" => Some(Half::Low),
        "hi" => Some(Half::High),
        "wide" => Some(Half::Both),
        _ => None,
    })
}

/// `mul.lo`, `mul.hi`, `mul.wide`.
pub(super) fn multiply(d: &mut Decoder) -> Option<Shaped> {
    let half = half(d)?;
    let kind = d.take_type()?;
    match half {
        Half::Low => for_type!(kind, numeric T => binary(<T as Int>::wrapping_mul)),
        Half::High => for_type!(kind, numeric T => binary(T::mul_high)),
        Half::Both => for_type!(narrow(kind)?, numeric T => lift(|[a, b]| [T::read(a).mul_wide(T::read(b))])),
    }
}

/// The types whose products fit a register.
fn narrow(kind: Type) -> Option<Type> {
    matches!(kind, Type::U16 | Type::S16 | Type::U32 | Type::S32).then_some(kind)
}

/// `mad.lo`, `mad.hi{.sat}`, `mad.wide`, `mad.cc`.
pub(super) fn multiply_add(d: &mut Decoder) -> Option<Shaped> {
    let half = half(d)?;
    let saturates = d.take("sat");
    let writes = d.take("cc");
    let kind = d.take_type()?;
    match (half, saturates, writes) {
        (_, false, true) => chain(kind, half, false, true),
        (Half::High, true, false) if kind == Type::S32 => {
            Some(ternary(|a: i32, b: i32, c: i32| a.mul_high(b).saturating_add(c)))
        }
        (Half::Low, false, false) => {
            for_type!(kind, numeric T => ternary(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
        }
        (Half::High, false, false) => {
            for_type!(kind, numeric T => ternary(|a: T, b: T, c: T| a.mul_high(b).wrapping_add(c)))
        }
        (Half::Both, false, false) => for_type!(narrow(kind)?, numeric T => lift(|[a, b, c]| {
            [T::read(a).mul_wide(T::read(b)).wrapping_add(c) & ones(2 * T::BITS)]
        })),
        _ => None,
    }
}

/// `madc{.cc}`.
pub(super) fn multiply_add_with_carry(d: &mut Decoder) -> Option<Shaped> {
    let half = half(d)?;
    let writes = d.take("cc");
    chain(d.take_type()?, half, true, writes)
}

/// Half a product plus `c` plus the flag: a link of a carry chain. The sign of the type matters to the high half.
fn chain(kind: Type, half: Half, reads: bool, writes: bool) -> Option<Shaped> {
    let shaped = match half {
        Half::Low => {
            for_type!(kind, words T => link(|a, b| <T as Int>::wrapping_mul(T::read(a), T::read(b)).cell(),
                                                     T::BITS, reads, writes))
        }
        Half::High => for_type!(kind, words T => link(|a, b| T::read(a).mul_high(T::read(b)).cell(),
                                                      T::BITS, reads, writes)),
        Half::Both => None,
    }?;
    Some(shaped.with_carry(reads, writes))
}

fn link(
    product: impl Fn(u64, u64) -> u64 + Send + Sync + 'static,
    width: u32,
    reads: bool,
    writes: bool,
) -> Shaped {
    let step = move |a: u64, b: u64, c: u64, flag: u64| match width {
        32 => add_carrying(product(a, b) as u32, c as u32, flag),
        _ => add_carrying(product(a, b), c, flag),
    };
    match (reads, writes) {
        (true, true) => lift(move |[a, b, c, flag]| step(a, b, c, flag)),
        (true, false) => lift(move |[a, b, c, flag]| [step(a, b, c, flag)[0]]),
        (false, _) => lift(move |[a, b, c]| step(a, b, c, 0)),
    }
}

/// `mul24.lo`: bits 31 to 0 of the 48-bit product of the low 24 bits; `mul24.hi`: bits 47 to 16.
pub(super) fn multiply_24(d: &mut Decoder) -> Option<Shaped> {
    let (kind, shift) = kind_24(d)?;
    Some(match kind {
        Type::U32 => binary(move |a: u32, b: u32| product_u24(a, b, shift)),
        Type::S32 => binary(move |a: i32, b: i32| product_s24(a, b, shift)),
        _ => return None,
    })
}

/// `mad24.lo`, `mad24.hi{.sat}`.
pub(super) fn multiply_add_24(d: &mut Decoder) -> Option<Shaped> {
    let saturates = d.take("sat");
    let (kind, shift) = kind_24(d)?;
    Some(match (kind, saturates) {
        (Type::U32, false) => ternary(move |a: u32, b: u32, c: u32| product_u24(a, b, shift).wrapping_add(c)),
        (Type::S32, false) => ternary(move |a: i32, b: i32, c: i32| product_s24(a, b, shift).wrapping_add(c)),
        (Type::S32, true) if shift == 16 => {
            ternary(move |a: i32, b: i32, c: i32| product_s24(a, b, shift).saturating_add(c))
        }
        _ => return None,
    })
}

/// The type and how far down the product goes.
fn kind_24(d: &mut Decoder) -> Option<(Type, u32)> {
    let shift = match half(d)? {
        Half::Low => 0,
        Half::High => 16,
        Half::Both => return None,
    };
    Some((d.take_type()?, shift))
}

#[inline]
fn product_u24(a: u32, b: u32, shift: u32) -> u32 {
    let low = |value: u32| u64::from(value & 0x00FF_FFFF);
    ((low(a) * low(b)) >> shift) as u32
}

#[inline]
fn product_s24(a: i32, b: i32, shift: u32) -> i32 {
    let low = |value: i32| i64::from((value << 8) >> 8);
    ((low(a) * low(b)) >> shift) as i32
}

/// `div`, towards zero.
pub(super) fn divide(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, numeric T => binary(T::quotient))
}

/// `rem`, with the sign of the dividend.
pub(super) fn remainder(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, numeric T => binary(<T as Int>::remainder))
}

/// `dp4a`: four bytes with four bytes.
pub(super) fn dot_4(d: &mut Decoder) -> Option<Shaped> {
    let (first, second) = (is_signed(d)?, is_signed(d)?);
    Some(lift(move |[a, b, c]| {
        let sum = (0..4).fold(c, |sum, index| {
            let product = field(a, 8 * index, 8, first) * field(b, 8 * index, 8, second);
            sum.wrapping_add(product as u64)
        });
        [sum & ones(32)]
    }))
}

/// `dp2a`: two halves with two bytes, the low or the high ones.
pub(super) fn dot_2(d: &mut Decoder) -> Option<Shaped> {
    let base = match half(d)? {
        Half::Low => 0,
        Half::High => 16,
        Half::Both => return None,
    };
    let (first, second) = (is_signed(d)?, is_signed(d)?);
    Some(lift(move |[a, b, c]| {
        let sum = (0..2).fold(c, |sum, index| {
            let product = field(a, 16 * index, 16, first) * field(b, base + 8 * index, 8, second);
            sum.wrapping_add(product as u64)
        });
        [sum & ones(32)]
    }))
}

fn is_signed(d: &mut Decoder) -> Option<bool> {
    match d.take_type()? {
        Type::U32 => Some(false),
        Type::S32 => Some(true),
        _ => None,
    }
}

/// The `width` bits of `cell` from bit `from` on.
#[inline]
pub(super) fn field(cell: u64, from: u32, width: u32, signed: bool) -> i64 {
    let top = (cell >> from) << (64 - width);
    if signed { (top as i64) >> (64 - width) } else { (top >> (64 - width)) as i64 }
}

/// `clmad.lo`, `clmad.hi`: half the carry-less product, with `c` added without carry.
pub(super) fn carryless(d: &mut Decoder) -> Option<Shaped> {
    let shift = match half(d)? {
        Half::Low => 0,
        Half::High => 64,
        Half::Both => return None,
    };
    if d.take_type()? != Type::U64 {
        return None;
    }
    Some(lift(move |[a, b, c]| {
        let terms = (0..64).filter(|index| b >> index & 1 == 1);
        let product = terms.fold(0, |sum, index| sum ^ u128::from(a) << index);
        [(product >> shift) as u64 ^ c]
    }))
}
