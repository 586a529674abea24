//! What operations on the bits of integers make of constants: fields, shifts of two registers, bytes, tables of three bits.
//!
//! Positions and lengths of fields are known up to 255: the ISA reads their lowest byte, and the assembler takes larger
//! literals for what they are.

use crate::values::known_bits::FIELD_MAX;
use ptxopt_components::description::Description;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Direction, Excess, Modifiers, Part, Permutation};
use ptxopt_components::types::{extend, truncate};

/// The result for these sources, of an operation without modifiers but for the ones of `bfind`; none where it is not known here.
pub(super) fn evaluate(description: &Description, sources: &[u64]) -> Option<u64> {
    let ty = description.types[0]?;
    let qualifiers = &description.qualifiers;
    let width = ty.bits();
    let result = match (description.operation, sources) {
        (Operation::Bfind, &[a]) => {
            highest(truncate(a, width), width, ty.is_signed(), qualifiers.has(Modifiers::SHIFT_AMOUNT))
        }
        _ if qualifiers.modifiers != Modifiers::empty() => return None,
        (Operation::Brev, &[a]) => a.reverse_bits() >> (64 - width),
        (Operation::Cnot, &[a]) => u64::from(truncate(a, width) == 0),
        (Operation::Sad, &[a, b, c]) => {
            let distance = if ty.is_signed() {
                extend(a, width).abs_diff(extend(b, width))
            } else {
                truncate(a, width).abs_diff(truncate(b, width))
            };
            distance.wrapping_add(c)
        }
        (Operation::Bfe, &[a, position, length]) => {
            let (position, length) = (field(position)?, field(length)?);
            match length {
                0 => 0,
                _ if ty.is_signed() => {
                    let rest = extend(a, width) >> position.min(63);
                    extend(rest as u64, length.min(64)) as u64
                }
                _ => truncate(truncate(a, width).checked_shr(position).unwrap_or(0), length),
            }
        }
        (Operation::Bfi, &[a, b, position, length]) => {
            let (position, length) = (field(position)?, field(length)?);
            let mask = if position < 64 { truncate(u64::MAX, length) << position } else { 0 };
            let moved = if position < 64 { a << position } else { 0 };
            b & !mask | moved & mask
        }
        (Operation::Shf, &[low, high, amount]) => {
            let amount = amount_of(amount, qualifiers.excess?, 32);
            let both = truncate(high, 32) << 32 | truncate(low, 32);
            match qualifiers.direction? {
                Direction::Left => both << amount >> 32,
                Direction::Right => both >> amount,
            }
        }
        (Operation::Bmsk, &[position, length]) => {
            let excess = qualifiers.excess?;
            let (position, length) = (amount_of(position, excess, 32), amount_of(length, excess, 32));
            truncate(u64::MAX, length) << position
        }
        (Operation::Szext, &[a, amount]) => {
            let amount = amount_of(amount, qualifiers.excess?, 32);
            match amount {
                0 => 0,
                _ if ty.is_signed() => extend(a, amount) as u64,
                _ => truncate(a, amount),
            }
        }
        (Operation::Fns, &[mask, base, offset]) => {
            set_bit(truncate(mask, 32), truncate(base, 32), extend(offset, 32))?
        }
        (Operation::Prmt, &[a, b, selector]) => {
            let bytes = truncate(b, 32) << 32 | truncate(a, 32);
            (0..4).fold(0, |all, at| {
                let choice = chosen_byte(qualifiers.permutation, selector, at);
                let byte = bytes >> (8 * (choice & 7)) & 0xFF;
                // Bit 3: the byte's sign, eight times.
                let chosen = if choice & 8 != 0 { 0xFF * (byte >> 7) } else { byte };
                all | chosen << (8 * at)
            })
        }
        (Operation::Clmad, &[a, b, c]) => {
            let of_bit = |at: u32| if b >> at & 1 != 0 { u128::from(a) << at } else { 0 };
            let product = (0..64).map(of_bit).fold(0, |all, part| all ^ part);
            let half = match qualifiers.part? {
                Part::Low => product as u64,
                Part::High => (product >> 64) as u64,
                Part::Wide => return None,
            };
            half ^ c
        }
        (Operation::Lop3, &[a, b, c, table]) if qualifiers.combiner.is_none() => {
            (0..8).filter(|row| table >> row & 1 != 0).fold(0, |all, row| {
                let of = |bits: u64, at: u32| if row >> at & 1 != 0 { bits } else { !bits };
                all | of(a, 2) & of(b, 1) & of(c, 0)
            })
        }
        _ => return None,
    };
    Some(truncate(result, if description.operation == Operation::Bfind { 32 } else { width }))
}

/// The position of the highest bit that is not the sign's, or how far it is from the top; all ones where there is none.
fn highest(bits: u64, width: u32, is_signed: bool, is_distance: bool) -> u64 {
    let is_negative = is_signed && bits >> (width - 1) != 0;
    let bits = if is_negative { truncate(!bits, width) } else { bits };
    match bits.checked_ilog2() {
        None => u64::from(u32::MAX),
        Some(at) if is_distance => u64::from(width - 1 - at),
        Some(at) => u64::from(at),
    }
}

/// The number of the byte that `prmt` puts at byte `at`, and in bit 3 whether it puts its sign there.
fn chosen_byte(permutation: Option<Permutation>, selector: u64, at: u64) -> u64 {
    let first = selector & 3;
    match permutation {
        None => selector >> (4 * at) & 0xF,
        Some(Permutation::Forward4) => first + at,
        Some(Permutation::Backward4) => first.wrapping_sub(at) & 7,
        Some(Permutation::Replicate8) => first,
        Some(Permutation::EdgeLeft) => first.max(at),
        Some(Permutation::EdgeRight) => first.min(at),
        Some(Permutation::Replicate16) => (first & 1) * 2 + (at & 1),
    }
}

/// The position of a set bit of a mask of 32 bits, all ones where there is none: of the one at `base`, or of the one that is number
/// `offset` from there on, counted from 1 upwards or from -1 downwards. What a base past the mask gives is not said.
fn set_bit(mask: u64, base: u64, offset: i64) -> Option<u64> {
    let base = u32::try_from(base).ok().filter(|&base| base < 32)?;
    let is_set = |at: &u32| mask >> at & 1 != 0;
    let nth = offset.unsigned_abs().saturating_sub(1) as usize;
    let found = match offset {
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(nth),
        _ => (0..=base).rev().filter(is_set).nth(nth),
    };
    Some(found.map_or(u64::from(u32::MAX), u64::from))
}

/// A position or length of a field, up to [`FIELD_MAX`].
fn field(bits: u64) -> Option<u32> {
    let bits = truncate(bits, 32);
    u32::try_from(bits).ok().filter(|_| bits <= FIELD_MAX)
}

/// A shift amount as the instruction reads it: no more than `width`, or its lowest bits.
fn amount_of(bits: u64, excess: Excess, width: u64) -> u32 {
    let bits = truncate(bits, 32);
    (match excess {
        Excess::Clamp => bits.min(width),
        Excess::Wrap => bits % width,
    }) as u32
}
