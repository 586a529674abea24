//! What an atomic operation makes of a value in memory.

use crate::arith::float::format::double_bits;
use half::{bf16, f16};
use ptxopt_components::types::PtxType;

/// What `atom` and `red` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Adds integers.
    Add,
    /// The smaller, signed.
    MinSigned,
    /// The larger, signed.
    MaxSigned,
    /// The smaller, unsigned.
    MinUnsigned,
    /// The larger, unsigned.
    MaxUnsigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Replaces.
    Exchange,
    /// Replaces if it equals.
    CompareAndSwap,
    /// Counts up to a bound and wraps to 0.
    Increment,
    /// Counts down and wraps to a bound.
    Decrement,
    /// Adds, takes the smaller or the larger of reals.
    Real(RealUpdate, RealKind),
}

/// What is done with reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealUpdate {
    /// Sum, rounded to nearest even.
    Add,
    /// Smaller; a number rather than NaN.
    Min,
    /// Larger; a number rather than NaN.
    Max,
}

/// Which reals a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealKind {
    /// One half.
    F16,
    /// Two halves.
    F16x2,
    /// One bfloat.
    Bf16,
    /// Two bfloats.
    Bf16x2,
    /// A single; denormals are flushed where the cell is global (ISA 9.0, section 9.7.13.15).
    F32 {
        /// Whether denormals are flushed.
        flushes: bool,
    },
    /// A double.
    F64,
}

impl Update {
    /// The qualifiers that name an operation.
    pub const NAMES: [&str; 10] = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];

    /// The operation `name` on values of type `ty`; `is_shared` where the cell is known to be in shared memory.
    #[must_use]
    pub fn parse(name: &str, ty: PtxType, is_shared: bool) -> Option<Self> {
        let real = match ty {
            PtxType::F16 => Some(RealKind::F16),
            PtxType::F16x2 => Some(RealKind::F16x2),
            PtxType::Bf16 => Some(RealKind::Bf16),
            PtxType::Bf16x2 => Some(RealKind::Bf16x2),
            PtxType::F32 => Some(RealKind::F32 { flushes: !is_shared }),
            PtxType::F64 => Some(RealKind::F64),
            _ => None,
        };
        let is_signed = matches!(ty, PtxType::S32 | PtxType::S64);
        Some(match (name, real) {
            ("add", Some(kind)) => Self::Real(RealUpdate::Add, kind),
            ("min", Some(kind)) => Self::Real(RealUpdate::Min, kind),
            ("max", Some(kind)) => Self::Real(RealUpdate::Max, kind),
            ("exch", _) => Self::Exchange,
            ("cas", _) => Self::CompareAndSwap,
            (_, Some(_)) => return None,
            ("add", None) => Self::Add,
            ("min", None) if is_signed => Self::MinSigned,
            ("max", None) if is_signed => Self::MaxSigned,
            ("min", None) => Self::MinUnsigned,
            ("max", None) => Self::MaxUnsigned,
            ("and", None) => Self::And,
            ("or", None) => Self::Or,
            ("xor", None) => Self::Xor,
            ("inc", None) => Self::Increment,
            ("dec", None) => Self::Decrement,
            _ => return None,
        })
    }

    /// The new value of a cell of `bytes` bytes that holds `old`. A real in a generic cell is flushed as in global
    /// memory only where `is_shared` is false.
    #[must_use]
    pub fn apply(self, old: u64, b: u64, c: u64, bytes: u8, is_shared: bool) -> u64 {
        let mask = if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
        let (old, b, c) = (old & mask, b & mask, c & mask);
        let signed = |value: u64| {
            let shift = 64 - 8 * u32::from(bytes);
            (value << shift) as i64 >> shift
        };
        let new = match self {
            Self::Add => old.wrapping_add(b),
            Self::MinSigned => signed(old).min(signed(b)) as u64,
            Self::MaxSigned => signed(old).max(signed(b)) as u64,
            Self::MinUnsigned => old.min(b),
            Self::MaxUnsigned => old.max(b),
            Self::And => old & b,
            Self::Or => old | b,
            Self::Xor => old ^ b,
            Self::Exchange => b,
            Self::CompareAndSwap if old == b => c,
            Self::CompareAndSwap => old,
            Self::Increment if old >= b => 0,
            Self::Increment => old + 1,
            Self::Decrement if old == 0 || old > b => b,
            Self::Decrement => old - 1,
            Self::Real(update, kind) => kind.apply(update, old, b, is_shared),
        };
        new & mask
    }
}

impl RealKind {
    fn apply(self, update: RealUpdate, old: u64, b: u64, is_shared: bool) -> u64 {
        let pair = |of: fn(RealUpdate, u16, u16) -> u16| {
            let low = of(update, old as u16, b as u16);
            let high = of(update, (old >> 16) as u16, (b >> 16) as u16);
            u64::from(high) << 16 | u64::from(low)
        };
        match self {
            Self::F16 => u64::from(half(update, old as u16, b as u16)),
            Self::Bf16 => u64::from(bfloat(update, old as u16, b as u16)),
            Self::F16x2 => pair(half),
            Self::Bf16x2 => pair(bfloat),
            Self::F32 { flushes } => single(update, old as u32, b as u32, flushes && !is_shared),
            Self::F64 => double(update, old, b),
        }
    }
}

/// Bits of the NaN that single-precision instructions give.
const NAN_F32: u32 = 0x7FFF_FFFF;
/// Bits of the NaN that half-precision instructions give, of either format.
const NAN_F16: u16 = 0x7FFF;

fn single(update: RealUpdate, a: u32, b: u32, flushes: bool) -> u64 {
    let flushed = |bits: u32| {
        let is_denormal = bits & 0x7F80_0000 == 0;
        if flushes && is_denormal { bits & 0x8000_0000 } else { bits }
    };
    let (x, y) = (f32::from_bits(flushed(a)), f32::from_bits(flushed(b)));
    let value = of_singles(update, x, y);
    u64::from(if value.is_nan() { NAN_F32 } else { flushed(value.to_bits()) })
}

fn double(update: RealUpdate, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let value = match update {
        RealUpdate::Add => x + y,
        RealUpdate::Min => lesser(x, y, x.is_nan(), y.is_nan(), x.is_sign_negative()),
        RealUpdate::Max => -lesser(-x, -y, x.is_nan(), y.is_nan(), x.is_sign_positive()),
    };
    double_bits(value)
}

/// The smaller of two, a number rather than a NaN, -0 below +0.
fn lesser<T: PartialOrd + Copy>(x: T, y: T, x_is_nan: bool, y_is_nan: bool, x_is_negative: bool) -> T {
    if x_is_nan {
        y
    } else if y_is_nan || x < y || (x == y && x_is_negative) {
        x
    } else {
        y
    }
}

/// A half operation: the sum of two halves in single precision rounds to the same half as the exact sum, because a
/// single has more than twice the digits and two.
fn half(update: RealUpdate, a: u16, b: u16) -> u16 {
    let (x, y) = (f16::from_bits(a).to_f32(), f16::from_bits(b).to_f32());
    let value = f16::from_f32(of_singles(update, x, y));
    if value.is_nan() { NAN_F16 } else { value.to_bits() }
}

fn bfloat(update: RealUpdate, a: u16, b: u16) -> u16 {
    let (x, y) = (bf16::from_bits(a).to_f32(), bf16::from_bits(b).to_f32());
    let value = bf16::from_f32(of_singles(update, x, y));
    if value.is_nan() { NAN_F16 } else { value.to_bits() }
}

fn of_singles(update: RealUpdate, x: f32, y: f32) -> f32 {
    match update {
        RealUpdate::Add => x + y,
        RealUpdate::Min => lesser(x, y, x.is_nan(), y.is_nan(), x.is_sign_negative()),
        RealUpdate::Max => -lesser(-x, -y, x.is_nan(), y.is_nan(), x.is_sign_positive()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_their_bound() {
        let inc = |old, bound| Update::Increment.apply(old, bound, 0, 4, false);
        assert_eq!((inc(0, 2), inc(1, 2), inc(2, 2), inc(7, 2)), (1, 2, 0, 0));
        let dec = |old, bound| Update::Decrement.apply(old, bound, 0, 4, false);
        assert_eq!((dec(2, 2), dec(1, 2), dec(0, 2), dec(7, 2)), (1, 0, 2, 2));
    }

    #[test]
    fn sums_of_singles_flush_in_global_memory_only() {
        let add = Update::parse("add", PtxType::F32, false).unwrap();
        assert_eq!(add.apply(1, 1, 0, 4, false), 0);
        assert_eq!(add.apply(1, 1, 0, 4, true), 2);
        assert_eq!(add.apply(0x8000_0001, 0x8000_0001, 0, 4, false), 0x8000_0000);
    }

    #[test]
    fn a_number_wins_over_nan_and_signs_order_zeros() {
        let of = |name, ty, a, b, bytes| {
            let apply = |a, b| Update::parse(name, ty, false).unwrap().apply(a, b, 0, bytes, false);
            assert_eq!(apply(a, b), apply(b, a), "{name} {ty:?} {a:#x} {b:#x}");
            apply(a, b)
        };
        let (one, two, nan, zero, minus_zero) = (0x3C00, 0x4000, 0x7E00, 0, 0x8000);
        for (a, b, least, most) in [
            (one, two, one, two),
            (one, nan, one, one),
            (0xBC00, nan, 0xBC00, 0xBC00),
            (zero, minus_zero, minus_zero, zero),
            (0xBC00, one, 0xBC00, one),
            (nan, nan, 0x7FFF, 0x7FFF),
        ] {
            assert_eq!(of("min", PtxType::F16, a, b, 2), least, "{a:#x} {b:#x}");
            assert_eq!(of("max", PtxType::F16, a, b, 2), most, "{a:#x} {b:#x}");
        }
        let [one, two, nan, minus_one] = [1.0, 2.0, f64::NAN, -1.0].map(f64::to_bits);
        assert_eq!([two, nan, minus_one].map(|b| of("min", PtxType::F64, one, b, 8)), [one, one, minus_one]);
        assert_eq!([two, nan, minus_one].map(|b| of("max", PtxType::F64, one, b, 8)), [two, one, one]);
    }

    #[test]
    fn signs_are_those_of_the_width() {
        assert_eq!(Update::MinSigned.apply(0xFFFF_FFFF, 1, 0, 4, false), 0xFFFF_FFFF);
        assert_eq!(Update::MinUnsigned.apply(0xFFFF_FFFF, 1, 0, 4, false), 1);
        assert_eq!(Update::MaxSigned.apply(0xFFFF_FFFF, 1, 0, 4, false), 1);
        assert_eq!(Update::Add.apply(0xFFFF_FFFF, 2, 0, 4, false), 1);
    }

    #[test]
    fn halves_round_to_nearest_even_each_for_itself() {
        let add = Update::parse("add", PtxType::F16x2, false).unwrap();
        // 2048 + 1 lies between 2048 and 2050: the even one is 2048; 1 + 1 = 2.
        assert_eq!(add.apply(0x6800_3C00, 0x3C00_3C00, 0, 4, false), 0x6800_4000);
    }
}
