//! Between integers and floats.
//!
//! Results of integer types fill the cell: signed ones with their sign, for a destination register that is wider than
//! the type.

use super::{Evaluator, Format, Integer, Modifiers, Rounding};
use crate::arith::float::format::{double_bits, for_format, single_bits};
use crate::arith::float::map::{Packing, map};

impl Integer {
    /// The integer in the low bits of a cell, as sign and magnitude.
    #[inline(always)]
    fn read(self, cell: u64) -> (bool, u64) {
        let shift = 64 - self.bits;
        if self.signed {
            let value = (cell << shift) as i64 >> shift;
            (value < 0, value.unsigned_abs())
        } else {
            (false, cell << shift >> shift)
        }
    }

    /// An integral `value` clamped to the type.
    #[inline(always)]
    fn clamp(self, value: f64) -> u64 {
        let unused = 64 - self.bits;
        if self.signed {
            (value as i64).clamp(i64::MIN >> unused, i64::MAX >> unused) as u64
        } else {
            (value as u64).min(u64::MAX >> unused)
        }
    }

    /// What NaN becomes. The ISA: zero if the source is not `f64` and the destination has less than 64 bits, else the
    /// highest bit of the destination alone.
    fn of_nan(self, source: Format) -> u64 {
        if source != Format::F64 && self.bits < 64 {
            return 0;
        }
        let top = 1_u64 << (self.bits - 1);
        if self.signed { top.wrapping_neg() } else { top }
    }
}

/// `cvt` from an integer type to a float.
pub fn into_float(modifiers: Modifiers, target: Format, source: Integer) -> Option<Evaluator> {
    let rounding = modifiers.rounding?;
    let unknown = modifiers.stochastic || modifiers.finite || modifiers.relu || modifiers.integral.is_some();
    if unknown || rounding == Rounding::NearestAway {
        return None;
    }
    let convert = move |[a]: [u64; 1]| {
        let (negative, magnitude) = source.read(a);
        // `.sat` clamps to [0, 1], whose integers are the limits.
        let (negative, magnitude) = match modifiers.saturate {
            true => (false, if negative { 0 } else { magnitude.min(1) }),
            false => (negative, magnitude),
        };
        let sign = if negative { target.sign() } else { 0 };
        match (target, rounding) {
            (Format::F32, Rounding::NearestEven) => sign | single_bits(magnitude as f32),
            (Format::F64, Rounding::NearestEven) => sign | double_bits(magnitude as f64),
            _ => sign | target.round(negative, magnitude, 0, rounding),
        }
    };
    Some(map(Packing::Single, convert))
}

/// `cvt` from a float to an integer type, which clamps to the type's range with and without `.sat`.
pub fn from_float(modifiers: Modifiers, target: Integer, source: Format) -> Option<Evaluator> {
    modifiers.integral?;
    if modifiers.rounding.is_some() || modifiers.stochastic || modifiers.finite || modifiers.relu {
        return None;
    }
    let of_nan = target.of_nan(source);
    Some(for_format!(source, SOURCE => map(Packing::Single, move |[a]: [u64; 1]| {
        let value = modifiers.read(SOURCE, a);
        if value.is_nan() { of_nan } else { target.clamp(value) }
    })))
}
