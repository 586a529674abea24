//! Floating-point formats of up to 64 bits: bits to values and, with one rounding, back.
//!
//! Every format narrower than `f64` decodes exactly into an `f64`. A result that is exact in `f64`, or was rounded to
//! odd there (see [`super::exact`]), encodes with a single correct rounding in any mode: round-to-odd keeps whether
//! the value lay below, on or above each midpoint of a format with at least two bits less.
//!
//! What evaluators call is inlined always: only then are the formats of their loops constants.

/// How a value between two neighbours of a format is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: to the nearest, ties to even.
    NearestEven,
    /// `.rna`: to the nearest, ties away from zero.
    NearestAway,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
    /// `.rs`: away from zero if the first `width` bits after the last place, plus `bits`, carry.
    Random {
        /// The random number, below `2^width`.
        bits: u32,
        /// How many bits of the rest it is added to.
        width: u32,
    },
}

/// What the largest exponent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// Infinities and NaNs, as in IEEE 754.
    Ieee,
    /// Finite values, but all ones is NaN (`e4m3`).
    NanOnly,
    /// Finite values alone (`e2m3`, `e3m2`, `e2m1`).
    None,
}

/// A binary floating-point format with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the fraction, without the hidden one.
    pub fraction_bits: u32,
    /// What the largest exponent means.
    pub specials: Specials,
}

impl Format {
    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        Self { exponent_bits, fraction_bits, specials: Specials::Ieee }
    }

    /// `.f16`.
    pub const F16: Self = Self::ieee(5, 10);
    /// `.bf16`.
    pub const BF16: Self = Self::ieee(8, 7);
    /// `.tf32` without the 13 low bits that its register has and its values do not.
    pub const TF32: Self = Self::ieee(8, 10);
    /// `.f32`.
    pub const F32: Self = Self::ieee(8, 23);
    /// `.f64`.
    pub const F64: Self = Self::ieee(11, 52);
    /// `.e5m2`.
    pub const E5M2: Self = Self::ieee(5, 2);
    /// `.e4m3`.
    pub const E4M3: Self = Self { exponent_bits: 4, fraction_bits: 3, specials: Specials::NanOnly };
    /// `.e2m3`.
    pub const E2M3: Self = Self { exponent_bits: 2, fraction_bits: 3, specials: Specials::None };
    /// `.e3m2`.
    pub const E3M2: Self = Self { exponent_bits: 3, fraction_bits: 2, specials: Specials::None };
    /// `.e2m1`.
    pub const E2M1: Self = Self { exponent_bits: 2, fraction_bits: 1, specials: Specials::None };

    /// Bits of a value.
    #[must_use]
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    /// The sign bit.
    #[must_use]
    pub const fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// All bits of a value.
    #[must_use]
    pub const fn mask(self) -> u64 {
        self.sign() | self.magnitude()
    }

    /// All bits but the sign.
    #[must_use]
    pub const fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// The bits of the smallest normal value; everything below is zero or subnormal.
    #[must_use]
    pub const fn smallest_normal(self) -> u64 {
        1 << self.fraction_bits
    }

    /// The bits of plus infinity; of the first value past the finite ones where there is none.
    #[must_use]
    pub const fn infinity(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.magnitude() & !(self.smallest_normal() - 1),
            Specials::NanOnly => self.magnitude(),
            Specials::None => self.magnitude() + 1,
        }
    }

    /// The bits of the largest finite value.
    #[must_use]
    pub const fn largest(self) -> u64 {
        self.infinity() - 1
    }

    /// The canonical NaN: all bits but the sign. A format without NaNs gives its largest value, which is what the
    /// ISA's conversions into such formats make of NaN.
    ///
    /// The ISA demands this for `f32` (`0x7FFFFFFF`), `f16` and `bf16` (`0x7FFF`). It leaves the payload of `f64` open; the
    /// same rule is followed there, so that no result depends on the order of operands.
    #[must_use]
    pub const fn nan(self) -> u64 {
        match self.specials {
            Specials::None => self.largest(),
            _ => self.magnitude(),
        }
    }

    /// Whether `bits` is a NaN.
    #[must_use]
    pub const fn is_nan(self, bits: u64) -> bool {
        match self.specials {
            Specials::Ieee => bits & self.magnitude() > self.infinity(),
            Specials::NanOnly => bits & self.magnitude() == self.magnitude(),
            Specials::None => false,
        }
    }

    /// `bits` with a subnormal turned into zero of the same sign; bits above the format are dropped.
    #[must_use]
    #[inline(always)]
    pub const fn flush(self, bits: u64) -> u64 {
        let magnitude = bits & self.magnitude();
        let kept = if magnitude < self.smallest_normal() { 0 } else { magnitude };
        bits & self.sign() | kept
    }

    /// [`encode`](Self::encode), with a result below the smallest normal value turned into zero of the same sign.
    ///
    /// What counts is the result rounded as if exponents had no limit: half of the largest `f32` below `2^-125` becomes
    /// zero, although its rounding to a subnormal place is the smallest normal value. An H200 does so.
    #[must_use]
    #[inline(always)]
    pub fn encode_flushed(self, value: f64, rounding: Rounding) -> u64 {
        let bits = self.encode(value, rounding);
        let smallest = self.smallest_normal();
        // Twice the value is normal, so that it is rounded to as many places as if it had no smallest exponent.
        let is_below = || self.encode(2.0 * value, rounding) & self.magnitude() < 2 * smallest;
        let became_normal = bits & self.magnitude() == smallest && is_below();
        if became_normal { bits & self.sign() } else { self.flush(bits) }
    }

    /// The exponent of the last place of subnormals.
    const fn last_place(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.fraction_bits as i32
    }

    /// The value of `bits`, exactly; bits above the format are ignored.
    #[must_use]
    #[inline(always)]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Self::F64 => return f64::from_bits(bits),
            Self::F32 => return f64::from(f32::from_bits(bits as u32)),
            Self::BF16 => return f64::from(f32::from_bits((bits as u32) << 16)),
            _ => {}
        }
        let magnitude = bits & self.magnitude();
        let negative = bits & self.sign() != 0;
        let value = if magnitude >= self.infinity() {
            if self.is_nan(magnitude) { f64::NAN } else { f64::INFINITY }
        } else {
            let exponent = (magnitude >> self.fraction_bits) as i32;
            let fraction = magnitude & (self.smallest_normal() - 1);
            let hidden = if exponent > 0 { self.smallest_normal() } else { 0 };
            (hidden | fraction) as f64 * power_of_two(self.last_place() + (exponent - 1).max(0))
        };
        if negative { -value } else { value }
    }

    /// `value` rounded once; overflow gives infinity or the largest value, as `rounding` says.
    #[must_use]
    #[inline(always)]
    pub fn encode(self, value: f64, rounding: Rounding) -> u64 {
        if self == Self::F64 {
            return double_bits(value);
        }
        if self == Self::F32 && rounding == Rounding::NearestEven {
            return single_bits(value as f32);
        }
        if self.specials == Specials::Ieee && self.fraction_bits < 23 && rounding == Rounding::NearestEven {
            return self.nearest(value);
        }
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_infinite() {
            return sign | self.infinity().min(self.nan());
        }
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7FF) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let hidden = if exponent > 0 { 1 << 52 } else { 0 };
        sign | self.round(sign != 0, hidden | fraction, exponent.max(1) - 1075, rounding)
    }

    /// `value` rounded to nearest even, for formats inside `f32`, without branches.
    ///
    /// Adding and taking away `1.5 * 2^52` last places makes the processor round to that place.
    #[inline(always)]
    fn nearest(self, value: f64) -> u64 {
        // The first power of two past the largest value is infinity, and so is everything above it.
        let magnitude = value.abs().min(power_of_two(1 << (self.exponent_bits - 1)));
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let place = (exponent - self.fraction_bits as i32).max(self.last_place());
        let shifter = 1.5 * power_of_two(place + 52);
        let rounded = (magnitude + shifter) - shifter;
        // With the smallest normal value moved to that of `f32`, the bits of both formats differ by a shift.
        let scale = power_of_two(self.last_place() + self.fraction_bits as i32 + 126) as f32;
        let bits = u64::from((rounded as f32 / scale).to_bits() >> (23 - self.fraction_bits));
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() { self.nan() } else { sign | bits.min(self.infinity()) }
    }

    /// `significand * 2^exponent` rounded once, as the bits of its magnitude.
    #[inline]
    #[must_use]
    pub fn round(self, negative: bool, significand: u64, exponent: i32, rounding: Rounding) -> u64 {
        if significand == 0 {
            return 0;
        }
        let leading = 63 - significand.leading_zeros() as i32;
        let place = (leading + exponent - self.fraction_bits as i32).max(self.last_place());
        let (kept, rest) = split_at(significand, place - exponent);
        let up = match rounding {
            Rounding::NearestEven => rest > HALF || rest == HALF && kept & 1 != 0,
            Rounding::NearestAway => rest >= HALF,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
            Rounding::Random { bits, width } => ((rest >> (64 - width)) + u64::from(bits)) >> width != 0,
        };
        // The hidden bit of `kept` adds one to the exponent, and so does a carry out of the fraction. A place below
        // which the whole range of the format lies would overflow the field, so it is cut off first.
        let above = u64::from((place - self.last_place()).unsigned_abs().min(1 << self.exponent_bits));
        let magnitude = (above << self.fraction_bits) + kept + u64::from(up);
        if magnitude <= self.largest() {
            return magnitude;
        }
        let to_largest = match rounding {
            Rounding::Zero => true,
            Rounding::Down => !negative,
            Rounding::Up => negative,
            _ => false,
        };
        if to_largest { self.largest() } else { self.infinity().min(self.nan()) }
    }
}

/// `$body` with `$name` as a constant: expands to a match with one arm, compiled by itself, for each arithmetic format.
macro_rules! for_format {
    ($format:expr, $name:ident => $body:expr) => {
        match $format {
            Format::F16 => {
                const $name: Format = Format::F16;
                $body
            }
            Format::BF16 => {
                const $name: Format = Format::BF16;
                $body
            }
            Format::F32 => {
                const $name: Format = Format::F32;
                $body
            }
            Format::F64 => {
                const $name: Format = Format::F64;
                $body
            }
            _ => unreachable!("arithmetic has four formats"),
        }
    };
}
pub(crate) use for_format;

/// Half of a last place, as [`split_at`] gives it.
const HALF: u64 = 1 << 63;

/// `value` without its `shift` low bits, and these bits moved to the top of a word; what falls off there is kept as
/// a set lowest bit. A negative `shift` appends zeros.
fn split_at(value: u64, shift: i32) -> (u64, u64) {
    match shift {
        ..=0 => (value << -shift, 0),
        1..=63 => (value >> shift, value << (64 - shift)),
        64 => (0, value),
        65..=127 => (0, value >> (shift - 64) | u64::from(value << (128 - shift) != 0)),
        128.. => (0, 1),
    }
}

/// `2^exponent` for exponents of normal `f64` values.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The bits of `value`, NaN made canonical.
#[must_use]
#[inline(always)]
pub fn single_bits(value: f32) -> u64 {
    u64::from(if value.is_nan() { Format::F32.nan() as u32 } else { value.to_bits() })
}

/// The bits of `value`, NaN made canonical.
#[must_use]
#[inline(always)]
pub fn double_bits(value: f64) -> u64 {
    if value.is_nan() { Format::F64.nan() } else { value.to_bits() }
}
