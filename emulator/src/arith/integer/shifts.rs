//! Shifts. The amount is 32 bits wide whatever is shifted, and no amount is too large.

use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::types::{Int, Type, for_type};

/// `shl`.
pub(super) fn left(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, bits T => lift(|[a, amount]| [T::read(a).shift_left(amount as u32).cell()]))
}

/// `shr`: signed types shift in the sign.
pub(super) fn right(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?.as_number(), numeric T => lift(|[a, amount]| [T::read(a).shift_right(amount as u32).cell()]))
}

/// `shf`: 64 bits, `b` above `a`, shifted left (the high word counts) or right (the low word counts).
pub(super) fn funnel(d: &mut Decoder) -> Option<Shaped> {
    let to_left = d.take_known(|word| match word {
        "l" => Some(true),
        "r" => Some(false),
        _ => None,
    })?;
    let amount = Amount::taken(d)?;
    if d.take_type()? != Type::B32 {
        return None;
    }
    let joined = |a: u64, b: u64| u64::from(a as u32) | b << 32;
    Some(match to_left {
        // In two steps, as the amount may be 32 and the result lies 32 up.
        true => lift(move |[a, b, by]| [(joined(a, b) << amount.below_33(by)) >> 32]),
        false => lift(move |[a, b, by]| [joined(a, b) >> amount.below_33(by) & 0xFFFF_FFFF]),
    })
}

/// What becomes of amounts past 32.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Clamped,
    Wrapped,
}

impl Amount {
    pub(super) fn taken(d: &mut Decoder) -> Option<Self> {
        d.take_known(|word| match word {
            "clamp" => Some(Self::Clamped),
            "wrap" => Some(Self::Wrapped),
            _ => None,
        })
    }

    /// At most 32 when clamped, at most 31 when wrapped.
    #[inline]
    pub(super) fn below_33(self, cell: u64) -> u32 {
        match self {
            Self::Clamped => (cell as u32).min(32),
            Self::Wrapped => cell as u32 & 31,
        }
    }
}
