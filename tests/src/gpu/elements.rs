//! Elements of memory, and whether a difference between two of them is one in behaviour.

use ptxopt_emulator::launch_lines::Lane;
use std::fmt;
use std::str::FromStr;

/// What a buffer or variable is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not said: words of four bytes.
    Unknown,
    /// Integers of so many bytes.
    Int(usize),
    /// `f16`.
    Half,
    /// `bf16`.
    Brain,
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Kind {
    /// Bytes of an element.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Int(size) => size,
            Self::Half | Self::Brain => 2,
            Self::Unknown | Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The value of an element, where it is a float.
    fn real(self, bits: u64) -> Option<f64> {
        match self {
            Self::Half => Some(half(bits as u16, 5)),
            Self::Brain => Some(f64::from(f32::from_bits((bits as u32) << 16))),
            Self::Single => Some(f64::from(f32::from_bits(bits as u32))),
            Self::Double => Some(f64::from_bits(bits)),
            Self::Unknown | Self::Int(_) => None,
        }
    }

    /// Bits of the fraction, and the exponent of the smallest normal value.
    fn precision(self) -> (i32, i32) {
        match self {
            Self::Half => (10, -14),
            Self::Brain => (7, -126),
            Self::Double => (52, -1022),
            _ => (23, -126),
        }
    }
}

impl From<Lane> for Kind {
    fn from(lane: Lane) -> Self {
        match lane {
            Lane::Int(size) => Self::Int(size),
            Lane::F16 => Self::Half,
            Lane::F32 => Self::Single,
            Lane::F64 => Self::Double,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("b32"),
            Self::Int(size) => write!(f, "i{size}"),
            Self::Half => f.write_str("f16"),
            Self::Brain => f.write_str("bf16"),
            Self::Single => f.write_str("f32"),
            Self::Double => f.write_str("f64"),
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "b32" => Self::Unknown,
            "f16" => Self::Half,
            "bf16" => Self::Brain,
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => {
                let size = text.strip_prefix('i').and_then(|size| size.parse().ok());
                Self::Int(size.filter(|size| (1..=8).contains(size)).ok_or(format!("`{text}` is no kind"))?)
            }
        })
    }
}

/// A float of 16 bits with `exponent_bits`, as a double: exact.
fn half(bits: u16, exponent_bits: u32) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1));
    let exponent = i32::from(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let unit = 2f64.powi(1 - bias - fraction_bits as i32);
    let size = match exponent {
        0 => fraction * unit,
        _ if exponent == 2 * bias + 1 => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (fraction + f64::from(1 << fraction_bits)) * unit * 2f64.powi(exponent - 1),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// How far a result may be from the exact one: what the ISA states for an approximate instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It is defined bit by bit.
    Exact,
    /// So many units in the last place.
    Units(f64),
    /// Two to this power, absolute.
    Absolute(f64),
    /// Two to this power, relative to the result.
    Relative(f64),
    /// Two to this power, relative to results above 1 and absolute below.
    Mixed(f64),
}

impl Bound {
    /// Whether `actual` may stand where the emulator, which rounds the exact result, gives `expected`.
    fn allows(self, kind: Kind, expected: f64, actual: f64) -> bool {
        let (fraction_bits, smallest) = kind.precision();
        let exponent = (expected.abs().log2().floor() as i32).max(smallest);
        let unit = 2f64.powi(exponent - fraction_bits);
        let error = match self {
            Self::Exact => return false,
            Self::Units(units) => units * unit,
            Self::Absolute(power) => power.exp2(),
            Self::Relative(power) => power.exp2() * expected.abs(),
            Self::Mixed(power) => power.exp2() * expected.abs().max(1.0),
        };
        // The emulator's own rounding, and that of the GPU's result to its format.
        expected.is_finite() && (actual - expected).abs() <= error + unit
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Units(units) => write!(f, "units:{units}"),
            Self::Absolute(power) => write!(f, "absolute:{power}"),
            Self::Relative(power) => write!(f, "relative:{power}"),
            Self::Mixed(power) => write!(f, "mixed:{power}"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no bound");
        let (word, number) = text.split_once(':').unwrap_or((text, "0"));
        let number = number.parse().map_err(|_| wrong())?;
        match word {
            "exact" => Ok(Self::Exact),
            "units" => Ok(Self::Units(number)),
            "absolute" => Ok(Self::Absolute(number)),
            "relative" => Ok(Self::Relative(number)),
            "mixed" => Ok(Self::Mixed(number)),
            _ => Err(wrong()),
        }
    }
}

/// What two elements that differ say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Both are NaN: the ISA leaves the bits of a NaN open.
    Nan,
    /// An address: the emulator's allocations are elsewhere.
    Address,
    /// An approximation within its bound.
    WithinBound,
    /// Different values.
    Value,
}

/// Why element `at` of two memories, which is not the same in both, differs. `emulated` is the same memory as the
/// emulator leaves it, where it does: there an address is known by its looks.
#[must_use]
pub fn difference(
    kind: Kind,
    bound: Bound,
    emulated: Option<&[u8]>,
    (expected, actual): (&[u8], &[u8]),
    at: usize,
) -> Difference {
    let range = at * kind.size()..((at + 1) * kind.size()).min(expected.len());
    let (old, new) = (number(&expected[range.clone()]), number(&actual[range.clone()]));
    let holds_addresses = matches!(kind, Kind::Int(8) | Kind::Unknown);
    if holds_addresses && emulated.is_some_and(|bytes| is_address(bytes, range.start)) {
        return Difference::Address;
    }
    match (kind.real(old), kind.real(new)) {
        (Some(old), Some(new)) if old.is_nan() && new.is_nan() => Difference::Nan,
        (Some(old), Some(new)) if bound.allows(kind, old, new) => Difference::WithinBound,
        (None, None) if kind == Kind::Unknown && is_untyped_nan(expected, actual, range.start) => {
            Difference::Nan
        }
        _ => Difference::Value,
    }
}

/// A number of up to eight bytes, the lowest first.
#[must_use]
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Whether the emulator keeps things at the address that stands in the eight bytes round `at`.
fn is_address(bytes: &[u8], at: usize) -> bool {
    let first = at / 8 * 8;
    let Some(word) = bytes.get(first..first + 8) else { return false };
    let global = 0x7D00_0000_0000..0x8000_0000_0000;
    // Shared, local, constants, parameters and functions as generic addresses.
    let windows = 0x0100_0000..0x0B00_0000;
    let value = number(word);
    global.contains(&value) || windows.contains(&value)
}

/// Whether both words that `at` lies in are NaNs, and one of them the canonical one: in memory of unknown type a
/// number that merely looks like a NaN must not excuse another.
fn is_untyped_nan(expected: &[u8], actual: &[u8], at: usize) -> bool {
    [(4, Kind::Single, 0x7FFF_FFFF), (8, Kind::Double, 0x7FFF_FFFF_FFFF_FFFF)].iter().any(
        |&(size, kind, canonical): &(usize, Kind, u64)| {
            let first = at / size * size;
            let (Some(old), Some(new)) = (expected.get(first..first + size), actual.get(first..first + size))
            else {
                return false;
            };
            let is_nan = |bits: u64| kind.real(bits).is_some_and(f64::is_nan);
            let is_canonical = |bits: u64| bits == canonical || kind == Kind::Double && is_quiet(bits);
            let (old, new) = (number(old), number(new));
            is_nan(old) && is_nan(new) && (is_canonical(old) || is_canonical(new))
        },
    )
}

/// The NaN of doubles that processors make of nothing, with either sign.
fn is_quiet(bits: u64) -> bool {
    bits & (u64::MAX >> 1) == 0x7FF8_0000_0000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, bound: Bound, expected: &[u8], actual: &[u8]) -> Difference {
        difference(kind, bound, Some(expected), (expected, actual), 0)
    }

    #[test]
    fn halves_have_the_values_of_the_standard() {
        for (bits, value) in [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x7C00, f64::INFINITY),
        ] {
            assert_eq!(Kind::Half.real(bits), Some(value), "{bits:#x}");
        }
        assert!(Kind::Half.real(0x7C01).unwrap().is_nan());
    }

    #[test]
    fn a_nan_is_a_nan_where_the_memory_holds_floats() {
        let (one, other) = (0x7FFF_FFFFu32.to_le_bytes(), 0xFFC0_1234u32.to_le_bytes());
        assert_eq!(of(Kind::Single, Bound::Exact, &one, &other), Difference::Nan);
        assert_eq!(of(Kind::Int(4), Bound::Exact, &one, &other), Difference::Value);
        assert_eq!(of(Kind::Unknown, Bound::Exact, &one, &other), Difference::Nan);
        // -1 and -2 look like NaNs.
        let (one, other) = ((-1i32).to_le_bytes(), (-2i32).to_le_bytes());
        assert_eq!(of(Kind::Unknown, Bound::Exact, &one, &other), Difference::Value);
        assert_eq!(
            of(Kind::Single, Bound::Exact, &1f32.to_le_bytes(), &f32::NAN.to_le_bytes()),
            Difference::Value
        );
    }

    #[test]
    fn an_approximation_may_miss_by_its_bound_and_a_rounding() {
        let three = 3.0f32;
        let off = |units: u32| f32::from_bits(three.to_bits() + units).to_le_bytes();
        let seen = |bound, units| of(Kind::Single, bound, &three.to_le_bytes(), &off(units));
        assert_eq!(seen(Bound::Units(2.0), 3), Difference::WithinBound);
        assert_eq!(seen(Bound::Units(2.0), 4), Difference::Value);
        assert_eq!(seen(Bound::Relative(-11.0), 4000), Difference::WithinBound);
        assert_eq!(seen(Bound::Absolute(-20.5), 40), Difference::Value);
        assert_eq!(seen(Bound::Exact, 1), Difference::Value);
        let infinite = f32::INFINITY.to_le_bytes();
        assert_eq!(
            of(Kind::Single, Bound::Units(2.0), &infinite, &f32::MAX.to_le_bytes()),
            Difference::Value
        );
    }

    #[test]
    fn an_address_is_known_by_the_emulator_windows() {
        let (emulated, real) = (0x7F00_0000_0100u64.to_le_bytes(), 0x000A_0000_0000u64.to_le_bytes());
        assert_eq!(of(Kind::Int(8), Bound::Exact, &emulated, &real), Difference::Address);
        assert_eq!(of(Kind::Int(8), Bound::Exact, &real, &emulated), Difference::Value);
        assert_eq!(of(Kind::Int(4), Bound::Exact, &[1, 0, 0, 0], &[2, 0, 0, 0]), Difference::Value);
    }

    #[test]
    fn kinds_and_bounds_are_read_as_they_are_written() {
        for kind in [Kind::Unknown, Kind::Int(2), Kind::Half, Kind::Brain, Kind::Single, Kind::Double] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for bound in [Bound::Exact, Bound::Units(2.0), Bound::Absolute(-20.5), Bound::Relative(-22.0)] {
            assert_eq!(bound.to_string().parse(), Ok(bound));
        }
        assert!("i9".parse::<Kind>().is_err() && "near:1".parse::<Bound>().is_err());
    }
}
