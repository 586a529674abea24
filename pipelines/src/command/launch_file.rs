//! The JSON that `ptxopt run` takes and gives: a launch in, the buffers and the trap out.
//!
//! ```json
//! {"entry": "saxpy", "grid": [2, 1, 1], "block": [32, 1, 1], "shared_bytes": 0, "args": [
//!     {"scalar": {"type": "f32", "value": 2.5}},
//!     {"buffer": {"bytes_hex": "0000803f"}},
//!     {"buffer": {"size": 4}},
//!     {"bytes": {"bytes_hex": "01020304"}},
//!     {"bytes": {"bytes_hex": "00000000000000000300000000000000", "pointers": [{"at": 0, "buffer": {"size": 12}}]}}]}
//! ```
//!
//! A buffer's parameter is its address; `bytes` are passed by value, and `pointers` puts addresses of buffers into them,
//! each at a byte offset. A value may be a number, or a string where a
//! number of JSON cannot say it: `"0xffffffffffffffff"`, `"nan"`, `"-inf"`.

use anyhow::{Context, Result, anyhow, bail};
use half::{bf16, f16};
use ptxopt_emulator::{Argument, Launch, Limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A launch, as written in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFile {
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(default)]
    shared_bytes: u64,
    #[serde(default)]
    args: Vec<ArgumentFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum ArgumentFile {
    Buffer(BufferFile),
    Scalar(ScalarFile),
    Bytes(ValueFile),
}

/// Bytes passed by value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueFile {
    bytes_hex: String,
    #[serde(default)]
    pointers: Vec<PointerFile>,
}

/// The address of a buffer in bytes passed by value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointerFile {
    at: usize,
    buffer: BufferFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferFile {
    bytes_hex: Option<String>,
    size: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalarFile {
    r#type: String,
    value: Value,
}

/// Bytes as hexadecimal text.
#[derive(Debug, Serialize)]
pub struct BytesFile {
    bytes_hex: String,
}

/// What comes out of a run.
#[derive(Debug, Serialize)]
pub struct OutcomeFile {
    /// The buffers, in the order of the arguments.
    pub buffers: Vec<BytesFile>,
    /// Why the run stopped before its end, if it did.
    pub trap: Option<String>,
    /// What was issued, where it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CountFile>,
}

/// What a launch issued, see [`ptxopt_emulator::count`].
#[derive(Debug, Serialize)]
pub struct CountFile {
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Their active lanes, all together.
    pub active_lanes: u64,
}

impl LaunchFile {
    /// Parses the file's text.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn parse(text: &[u8]) -> Result<Launch> {
        let file: Self = serde_json::from_slice(text)?;
        let mut args = Vec::with_capacity(file.args.len());
        for (at, argument) in file.args.into_iter().enumerate() {
            args.push(argument.value().with_context(|| format!("argument {at}"))?);
        }
        let Self { entry, grid, block, shared_bytes, .. } = file;
        Ok(Launch { entry, grid, block, shared_bytes, args })
    }
}

impl ArgumentFile {
    fn value(self) -> Result<Argument> {
        Ok(match self {
            Self::Buffer(buffer) => Argument::Buffer(buffer.bytes()?),
            Self::Scalar(scalar) => Argument::Scalar(scalar.bytes()?),
            Self::Bytes(value) => value.argument()?,
        })
    }
}

impl BufferFile {
    fn bytes(&self) -> Result<Vec<u8>> {
        match (&self.bytes_hex, self.size) {
            (Some(hex), None) => from_hex(hex),
            (None, Some(size)) if size as u64 > Limits::default().memory_bytes => {
                bail!(
                    "a buffer of {size} bytes, and the memory of a run has {}",
                    Limits::default().memory_bytes
                )
            }
            (None, Some(size)) => Ok(vec![0; size]),
            _ => bail!("a buffer has either `bytes_hex` or `size`"),
        }
    }
}

impl ValueFile {
    fn argument(&self) -> Result<Argument> {
        let bytes = from_hex(&self.bytes_hex)?;
        let mut buffers = Vec::with_capacity(self.pointers.len());
        for PointerFile { at, buffer } in &self.pointers {
            if at.checked_add(8).is_none_or(|end| end > bytes.len()) {
                bail!("an address at {at} does not fit {} bytes", bytes.len());
            }
            buffers.push((*at, buffer.bytes()?));
        }
        Ok(if buffers.is_empty() { Argument::Scalar(bytes) } else { Argument::Structure(bytes, buffers) })
    }
}

impl ScalarFile {
    fn bytes(&self) -> Result<Vec<u8>> {
        let (kind, bits) = self.r#type.split_at_checked(1).unwrap_or_default();
        let wrong = || anyhow!("`{}` is no scalar type", self.r#type);
        Ok(match self.r#type.as_str() {
            "f16" => f16::from_f64(self.real()?).to_le_bytes().into(),
            "bf16" => bf16::from_f64(self.real()?).to_le_bytes().into(),
            "f32" => (self.real()? as f32).to_le_bytes().into(),
            "f64" => self.real()?.to_le_bytes().into(),
            _ if matches!(kind, "u" | "s" | "b" | "i") => {
                let bits: u32 =
                    bits.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64)).ok_or_else(wrong)?;
                let value = self.integer()?;
                if value < -(1i128 << (bits - 1)) || value >= 1i128 << bits {
                    bail!("{value} does not fit {bits} bits");
                }
                value.to_le_bytes()[..bits as usize / 8].into()
            }
            _ => return Err(wrong()),
        })
    }

    fn real(&self) -> Result<f64> {
        let real = match &self.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        real.ok_or_else(|| anyhow!("`{}` is no number", self.value))
    }

    fn integer(&self) -> Result<i128> {
        let integer = match &self.value {
            Value::Number(number) => {
                number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
            }
            Value::String(text) => match text.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok().map(i128::from),
                None => text.parse().ok(),
            },
            _ => None,
        };
        integer.ok_or_else(|| anyhow!("`{}` is no integer", self.value))
    }
}

impl BytesFile {
    /// `bytes` as text.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Self { bytes_hex: digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect() }
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        bail!("`bytes_hex` has half a byte at its end");
    }
    let digit =
        |byte: u8| char::from(byte).to_digit(16).ok_or_else(|| anyhow!("`{}` is no digit", char::from(byte)));
    text.as_bytes().chunks(2).map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(ty: &str, value: Value) -> Result<Vec<u8>> {
        ScalarFile { r#type: ty.into(), value }.bytes()
    }

    #[test]
    fn arguments_become_bytes() {
        let launch = LaunchFile::parse(
            br#"{"entry": "k", "grid": [1, 2, 3], "block": [4, 5, 6], "shared_bytes": 7, "args": [
                {"buffer": {"bytes_hex": "00ffA5"}}, {"buffer": {"size": 2}},
                {"scalar": {"type": "u32", "value": 5}}, {"bytes": {"bytes_hex": "0102"}}]}"#,
        )
        .unwrap();
        assert_eq!((launch.entry.as_str(), launch.grid, launch.block), ("k", [1, 2, 3], [4, 5, 6]));
        assert_eq!(launch.shared_bytes, 7);
        let expected: [(bool, &[u8]); 4] =
            [(true, &[0, 255, 0xa5]), (true, &[0, 0]), (false, &[5, 0, 0, 0]), (false, &[1, 2])];
        for (argument, (is_buffer, bytes)) in launch.args.iter().zip(expected) {
            match argument {
                Argument::Buffer(found) => assert!(is_buffer && found == bytes),
                Argument::Scalar(found) => assert!(!is_buffer && found == bytes),
                Argument::Structure(..) => panic!("no argument holds an address"),
            }
        }
    }

    #[test]
    fn bytes_hold_addresses() {
        let parse = |at: usize| {
            let value = format!(
                r#"{{"bytes": {{"bytes_hex": "{}", "pointers": [{{"at": {at}, "buffer": {{"size": 2}}}}]}}}}"#,
                "07".repeat(16)
            );
            let text =
                format!(r#"{{"entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "args": [{value}]}}"#);
            LaunchFile::parse(text.as_bytes())
        };
        assert_eq!(parse(8).unwrap().args, [Argument::Structure(vec![7; 16], vec![(8, vec![0, 0])])]);
        assert!(parse(9).is_err());
    }

    #[test]
    fn values_that_numbers_cannot_say_are_strings() {
        assert_eq!(scalar("u64", "0xffffffffffffffff".into()).unwrap(), [255; 8]);
        assert_eq!(scalar("s8", (-1).into()).unwrap(), [255]);
        assert_eq!(scalar("f16", 1.5.into()).unwrap(), [0, 0x3e]);
        assert!(f64::from_le_bytes(scalar("f64", "nan".into()).unwrap().try_into().unwrap()).is_nan());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for (ty, value) in [
            ("u8", 256.into()),
            ("s8", (-129).into()),
            ("u12", 1.into()),
            ("u32", 1.5.into()),
            ("x", 1.into()),
        ] {
            assert!(scalar(ty, value).is_err(), "{ty}");
        }
        assert!(from_hex("0").is_err() && from_hex("0g").is_err());
        assert!(LaunchFile::parse(br#"{"entry": "k"}"#).is_err());
    }

    #[test]
    fn bytes_print_as_they_are_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&BytesFile::new(&bytes).bytes_hex).unwrap(), bytes);
    }
}
