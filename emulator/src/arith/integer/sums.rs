//! Addition, subtraction and what is made of them: carries, distances, extremes.

use super::decoder::Decoder;
use super::lift::{Shaped, binary, lift, ternary, unary};
use super::packed;
use super::types::{Int, Type, for_type};

/// `add{.sat}`, `add.cc`.
pub(super) fn add(d: &mut Decoder) -> Option<Shaped> {
    if d.take("cc") {
        return chain(d.take_type()?, Direction::Up, false, true);
    }
    let saturates = d.take("sat");
    let kind = d.take_type()?;
    if let Some(part) = packed::part(kind) {
        return match saturates {
            false => for_type!(part, sized T => packed::binary(<T as Int>::wrapping_add)),
            true => for_type!(part, sized T => packed::binary(<T as Int>::saturating_add)),
        };
    }
    match saturates {
        false => for_type!(kind, numeric T => binary(<T as Int>::wrapping_add)),
        true => for_type!(saturating(kind)?, numeric T => binary(<T as Int>::saturating_add)),
    }
}

/// `sub{.sat}`, `sub.cc`.
pub(super) fn subtract(d: &mut Decoder) -> Option<Shaped> {
    if d.take("cc") {
        return chain(d.take_type()?, Direction::Down, false, true);
    }
    let saturates = d.take("sat");
    let kind = d.take_type()?;
    if let Some(part) = packed::part(kind) {
        return match saturates {
            false => for_type!(part, sized T => packed::binary(<T as Int>::wrapping_sub)),
            true => for_type!(part, sized T => packed::binary(<T as Int>::saturating_sub)),
        };
    }
    match saturates {
        false => for_type!(kind, numeric T => binary(<T as Int>::wrapping_sub)),
        true => for_type!(saturating(kind)?, numeric T => binary(<T as Int>::saturating_sub)),
    }
}

/// The scalar types with saturation: `.s32` always, `.u32` since 9.2.
fn saturating(kind: Type) -> Option<Type> {
    matches!(kind, Type::S32 | Type::U32).then_some(kind)
}

/// `addc{.cc}`.
pub(super) fn add_with_carry(d: &mut Decoder) -> Option<Shaped> {
    let writes = d.take("cc");
    chain(d.take_type()?, Direction::Up, true, writes)
}

/// `subc{.cc}`.
pub(super) fn subtract_with_carry(d: &mut Decoder) -> Option<Shaped> {
    let writes = d.take("cc");
    chain(d.take_type()?, Direction::Down, true, writes)
}

/// Whether the second operand is added or subtracted.
#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// One link of a carry chain, which is the same for signed and unsigned types.
///
/// The flag is a carry in both directions: the machine subtracts as `a + ~b + 1`, and the carry of that is set where
/// nothing is borrowed. The ISA speaks of a borrow, which is the same within chains of one direction; where `addc` follows
/// `sub.cc`, or `subc` follows `add.cc`, the carry is what `ptxas` makes.
fn chain(kind: Type, direction: Direction, reads: bool, writes: bool) -> Option<Shaped> {
    let shaped = match kind {
        Type::U32 | Type::S32 => link::<u32>(direction, reads, writes),
        Type::U64 | Type::S64 => link::<u64>(direction, reads, writes),
        _ => return None,
    };
    Some(shaped.with_carry(reads, writes))
}

fn link<T: Int>(direction: Direction, reads: bool, writes: bool) -> Shaped {
    let step = move |a: u64, b: u64, flag: u64| match direction {
        Direction::Up => add_carrying(T::read(a), T::read(b), flag),
        Direction::Down => add_carrying(T::read(a), T::read(!b), flag),
    };
    let first = match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    };
    match (reads, writes) {
        (true, true) => lift(move |[a, b, flag]| step(a, b, flag)),
        (true, false) => lift(move |[a, b, flag]| [step(a, b, flag)[0]]),
        (false, _) => lift(move |[a, b]| step(a, b, first)),
    }
}

/// The sum and its carry, as cells.
#[inline]
pub(super) fn add_carrying<T: Int>(a: T, b: T, carry: u64) -> [u64; 2] {
    let partial = a.wrapping_add(b);
    let sum = partial.wrapping_add(T::read(carry & 1));
    // Both steps together overflow at most once.
    [sum.cell(), u64::from(partial < a || sum < partial)]
}

/// `neg`. The smallest number stays what it is.
pub(super) fn negate(d: &mut Decoder) -> Option<Shaped> {
    let kind = d.take_type()?;
    match packed::part(kind) {
        Some(Type::S16) => Some(packed::unary(i16::wrapping_neg)),
        Some(Type::S8) => Some(packed::unary(i8::wrapping_neg)),
        _ => for_type!(kind, signed T => unary(T::wrapping_neg)),
    }
}

/// `abs`. The smallest number stays what it is.
pub(super) fn absolute(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, signed T => unary(T::wrapping_abs))
}

/// `sad`: `c + |a - b|`.
pub(super) fn sum_of_difference(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, numeric T => ternary(|a: T, b: T, c: T| c.wrapping_add(a.distance(b))))
}

/// `min{.relu}` and `max{.relu}`.
pub(super) fn extreme(d: &mut Decoder, least: bool) -> Option<Shaped> {
    let rectified = d.take("relu");
    let kind = d.take_type()?;
    match (rectified, packed::part(kind)) {
        (false, None) if least => for_type!(kind, numeric T => binary(<T as Ord>::min)),
        (false, None) => for_type!(kind, numeric T => binary(<T as Ord>::max)),
        (false, Some(part)) if least => for_type!(part, sized T => packed::binary(<T as Ord>::min)),
        (false, Some(part)) => for_type!(part, sized T => packed::binary(<T as Ord>::max)),
        (true, None) if kind == Type::S32 => Some(binary(rectified_extreme::<i32>(least))),
        (true, Some(Type::S16)) => Some(packed::binary(rectified_extreme::<i16>(least))),
        (true, Some(Type::S8)) => Some(packed::binary(rectified_extreme::<i8>(least))),
        (true, _) => None,
    }
}

/// The extreme of two numbers, or 0 where it is negative.
fn rectified_extreme<T: Int>(least: bool) -> impl Fn(T, T) -> T + Send + Sync {
    move |a, b| if least { a.min(b) } else { a.max(b) }.max(T::ZERO)
}
