//! Several small integers in one 32-bit register, each computed for itself.

use super::lift::{Shaped, lift};
use super::types::{Int, Type};

/// `part` over the parts of a register.
pub(super) fn unary<T: Int>(part: impl Fn(T) -> T + Send + Sync + 'static) -> Shaped {
    lift(move |[a]| [each::<T>(|shift| part(T::read(a >> shift)))])
}

/// `part` over the parts of two registers.
pub(super) fn binary<T: Int>(part: impl Fn(T, T) -> T + Send + Sync + 'static) -> Shaped {
    lift(move |[a, b]| [each::<T>(|shift| part(T::read(a >> shift), T::read(b >> shift)))])
}

/// A register whose part at each position is what `part` gives for that position.
#[inline]
fn each<T: Int>(part: impl Fn(u32) -> T) -> u64 {
    (0..32 / T::BITS).map(|index| index * T::BITS).fold(0, |all, shift| all | part(shift).cell() << shift)
}

/// The type of one part, in a 16- or 8-bit [`Type`]; `None` for a type that is not packed.
pub(super) fn part(kind: Type) -> Option<Type> {
    Some(match kind {
        Type::U16x2 => Type::U16,
        Type::S16x2 => Type::S16,
        Type::U8x4 => Type::U8,
        Type::S8x4 => Type::S8,
        _ => return None,
    })
}
