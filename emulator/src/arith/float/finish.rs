//! What happens to a source before an operation and to its result after it: `.ftz`, `.sat`, `.relu`, rounding.

use super::format::{Format, Rounding};
use super::qualifiers::Qualifiers;

/// The modifiers of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    /// How the exact result is rounded.
    pub rounding: Rounding,
    /// `.ftz`: subnormal sources and results become zeros of the same sign.
    pub flush: bool,
    /// `.sat`: the result is clamped to `[+0, 1]`, NaN becomes `+0`.
    pub saturate: bool,
    /// `.relu`: a negative result, `-0` included, becomes `+0`; NaN stays.
    pub relu: bool,
}

impl Finish {
    /// Takes the modifiers; without a rounding the result goes to nearest even.
    pub fn take(qualifiers: &mut Qualifiers, flushes: bool) -> Self {
        Self {
            rounding: qualifiers.take_rounding().unwrap_or(Rounding::NearestEven),
            flush: qualifiers.take("ftz") || flushes,
            saturate: qualifiers.take("sat"),
            relu: qualifiers.take("relu"),
        }
    }

    /// The value of a source.
    #[inline(always)]
    #[must_use]
    pub fn read(self, format: Format, bits: u64) -> f64 {
        format.decode(if self.flush { format.flush(bits) } else { bits })
    }

    /// The bits of a result whose value, exact or rounded to odd, is `value`.
    #[inline(always)]
    #[must_use]
    pub fn write(self, format: Format, value: f64) -> u64 {
        let value = self.clamp(value);
        if self.flush {
            format.encode_flushed(value, self.rounding)
        } else {
            format.encode(value, self.rounding)
        }
    }

    /// `.sat` and `.relu`. Both limits are values of every format, so clamping before rounding is the same as after.
    #[inline(always)]
    #[must_use]
    pub fn clamp(self, value: f64) -> f64 {
        if self.saturate {
            return if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        if self.relu && value <= 0.0 { 0.0 } else { value }
    }
}
