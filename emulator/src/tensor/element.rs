//! Element types of matrices.

use crate::arith::float::format::Format;

/// What the bits of an element mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A float, in the low bits of its place.
    Float(Format),
    /// A float of 19 bits in the upper bits of a 32-bit register.
    Tf32,
    /// An integer of so many bits.
    Integer {
        /// Whether it is negative where its top bit is set.
        signed: bool,
        /// Its bits.
        bits: u32,
    },
    /// One bit; a register is taken as a whole.
    Bit,
}

impl Element {
    /// The element type named `word`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::Float(Format::F16),
            "bf16" => Self::Float(Format::BF16),
            "tf32" => Self::Tf32,
            "f32" => Self::Float(Format::F32),
            "f64" => Self::Float(Format::F64),
            "e4m3" => Self::Float(Format::E4M3),
            "e5m2" => Self::Float(Format::E5M2),
            "e2m3" => Self::Float(Format::E2M3),
            "e3m2" => Self::Float(Format::E3M2),
            "e2m1" => Self::Float(Format::E2M1),
            "s8" => Self::Integer { signed: true, bits: 8 },
            "u8" => Self::Integer { signed: false, bits: 8 },
            "s4" => Self::Integer { signed: true, bits: 4 },
            "u4" => Self::Integer { signed: false, bits: 4 },
            "s32" => Self::Integer { signed: true, bits: 32 },
            "b1" => Self::Bit,
            _ => return None,
        })
    }

    /// Bits that an element takes in a register.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Float(format) => format.bits(),
            Self::Tf32 | Self::Bit => 32,
            Self::Integer { bits, .. } => bits,
        }
    }

    /// The value of an element whose place begins at the lowest of `bits`.
    #[inline(always)]
    #[must_use]
    pub fn real(self, bits: u64) -> f64 {
        match self {
            Self::Float(format) => format.decode(bits),
            Self::Integer { signed, bits: width } => {
                let (top, unused) = (bits << (64 - width), 64 - width);
                if signed { (top as i64 >> unused) as f64 } else { (top >> unused) as f64 }
            }
            Self::Tf32 | Self::Bit => Format::F32.decode(bits & 0xFFFF_E000),
        }
    }
}
