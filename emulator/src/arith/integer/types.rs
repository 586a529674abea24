//! Types by name, and the integers they stand for.

/// A type as a qualifier names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    B128,
    F16,
    Bf16,
    F32,
    F64,
    Pred,
    U16x2,
    S16x2,
    U8x4,
    S8x4,
}

impl Type {
    /// The type called `name`, without its dot.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            "u16x2" => Self::U16x2,
            "s16x2" => Self::S16x2,
            "u8x4" => Self::U8x4,
            "s8x4" => Self::S8x4,
            _ => return None,
        })
    }

    /// Bit-size types as unsigned numbers.
    pub(super) fn as_number(self) -> Self {
        match self {
            Self::B8 => Self::U8,
            Self::B16 => Self::U16,
            Self::B32 => Self::U32,
            Self::B64 => Self::U64,
            _ => self,
        }
    }
}

/// Evaluates an expression with a Rust integer type in the place of a [`Type`].
///
/// `for_type!(kind, numeric T => e)` expands to a `match` over the types of the list, each arm `Some(e)` with `T` being
/// that type; `None` for all others. `numeric`: `.u16` to `.s64`; `signed`: its signed half; `bits`: `.b16` to `.b64`,
/// unsigned; `sized`: `.u8` to `.s64`; `words`: `.u32` to `.s64`.
macro_rules! for_type {
    ($kind:expr, numeric $T:ident => $body:expr) => {
        for_type!(@ $kind, $T => $body, U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64)
    };
    ($kind:expr, signed $T:ident => $body:expr) => {
        for_type!(@ $kind, $T => $body, S16 i16, S32 i32, S64 i64)
    };
    ($kind:expr, bits $T:ident => $body:expr) => {
        for_type!(@ $kind, $T => $body, B16 u16, B32 u32, B64 u64)
    };
    ($kind:expr, sized $T:ident => $body:expr) => {
        for_type!(@ $kind, $T => $body, U8 u8, U16 u16, U32 u32, U64 u64, S8 i8, S16 i16, S32 i32, S64 i64)
    };
    ($kind:expr, words $T:ident => $body:expr) => {
        for_type!(@ $kind, $T => $body, U32 u32, U64 u64, S32 i32, S64 i64)
    };
    (@ $kind:expr, $T:ident => $body:expr, $($name:ident $rust:ty),+) => {
        match $kind {
            $($crate::arith::integer::types::Type::$name => {
                type $T = $rust;
                Some($body)
            })+
            _ => None,
        }
    };
}
pub(super) use for_type;

/// A Rust integer as the contents of a cell.
pub(super) trait Int: Copy + Ord + Send + Sync + 'static {
    const BITS: u32;
    const SIGNED: bool;
    const ZERO: Self;

    /// The low bits of a cell.
    fn read(cell: u64) -> Self;
    /// The bits, zero-extended.
    fn cell(self) -> u64;
    /// The number, sign- or zero-extended.
    fn extended(self) -> u64;
    /// The number.
    fn exact(self) -> i128;
    /// The number of this type nearest to `number`.
    fn nearest(number: i128) -> Self;

    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn saturating_add(self, other: Self) -> Self;
    fn saturating_sub(self, other: Self) -> Self;
    /// The high half of the product.
    fn mul_high(self, other: Self) -> Self;
    /// The whole product of two integers of up to 32 bits, zero-extended from twice their width.
    fn mul_wide(self, other: Self) -> u64;
    /// The bits of `|self - other|`.
    fn distance(self, other: Self) -> Self;
    /// All ones for a zero divisor, wrapped where the quotient does not fit.
    fn quotient(self, divisor: Self) -> Self;
    /// For a zero divisor all ones, of 64 bits the dividend.
    fn remainder(self, divisor: Self) -> Self;
    /// Shifts in zeros; all of them past the width.
    fn shift_left(self, amount: u32) -> Self;
    /// Shifts in zeros or signs; all of them past the width.
    fn shift_right(self, amount: u32) -> Self;
}

/// `integer!(u16, u32, u32)` implements [`Int`] for `u16`: a type that holds its products, and the unsigned type of that
/// width.
macro_rules! integer {
    ($($rust:ty, $wide:ty, $wide_bits:ty;)+) => {$(
        impl Int for $rust {
            const BITS: u32 = <$rust>::BITS;
            const SIGNED: bool = <$rust>::MIN != 0;
            const ZERO: Self = 0;

            #[inline]
            fn read(cell: u64) -> Self {
                cell as $rust
            }
            #[inline]
            fn cell(self) -> u64 {
                (self as u64) & (u64::MAX >> (64 - <$rust>::BITS))
            }
            #[inline]
            fn extended(self) -> u64 {
                self as u64
            }
            #[inline]
            fn exact(self) -> i128 {
                i128::from(self)
            }
            #[inline]
            fn nearest(number: i128) -> Self {
                number.clamp(i128::from(<$rust>::MIN), i128::from(<$rust>::MAX)) as $rust
            }
            #[inline]
            fn wrapping_add(self, other: Self) -> Self {
                <$rust>::wrapping_add(self, other)
            }
            #[inline]
            fn wrapping_sub(self, other: Self) -> Self {
                <$rust>::wrapping_sub(self, other)
            }
            #[inline]
            fn wrapping_mul(self, other: Self) -> Self {
                <$rust>::wrapping_mul(self, other)
            }
            #[inline]
            fn saturating_add(self, other: Self) -> Self {
                <$rust>::saturating_add(self, other)
            }
            #[inline]
            fn saturating_sub(self, other: Self) -> Self {
                <$rust>::saturating_sub(self, other)
            }
            #[inline]
            fn mul_high(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$rust>::BITS) as $rust
            }
            #[inline]
            fn mul_wide(self, other: Self) -> u64 {
                (<$wide>::from(self) * <$wide>::from(other)) as $wide_bits as u64
            }
            #[inline]
            fn distance(self, other: Self) -> Self {
                <$rust>::abs_diff(self, other) as $rust
            }
            #[inline]
            fn quotient(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { <$rust>::wrapping_div(self, divisor) }
            }
            #[inline]
            fn remainder(self, divisor: Self) -> Self {
                match divisor {
                    0 if size_of::<Self>() == 8 => self,
                    0 => !0,
                    _ => <$rust>::wrapping_rem(self, divisor),
                }
            }
            #[inline]
            fn shift_left(self, amount: u32) -> Self {
                if amount < <$rust>::BITS { self << amount } else { 0 }
            }
            #[inline]
            fn shift_right(self, amount: u32) -> Self {
                if amount < <$rust>::BITS {
                    self >> amount
                } else {
                    // Twice, because one shift goes no further than the width less one.
                    (self >> (<$rust>::BITS - 1)) >> 1
                }
            }
        }
    )+};
}

integer! {
    u8, u16, u16;
    u16, u32, u32;
    u32, u64, u64;
    u64, u128, u128;
    i8, i16, u16;
    i16, i32, u32;
    i32, i64, u64;
    i64, i128, u128;
}

/// `count` ones from the bottom, all 64 from 64 on.
#[inline]
pub(super) fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
