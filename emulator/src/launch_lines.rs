//! Launch lines: one line of text that says how a kernel may be run, and the launch that it makes for a seed.
//!
//! ```text
//! saxpy grid 2 block 32 args f32:2.5 f32[300]=signed f32[300]=signed u32:300
//! ```
//!
//! `grid` and `block` are `x`, `x,y` or `x,y,z`; `shared N` before `args` asks for N bytes of dynamic shared memory.
//! An argument is a scalar `TYPE:VALUE`, the address of a buffer `TYPE[COUNT]=FILL`, or bytes passed by value
//! `value[BYTES]=FILL`, of which `@OFFSET=ARGUMENT` after it replaces some: a scalar, or the address of a buffer, as in
//! `value[24]=zero@0=f32[300]=signed@8=u64:300`. Fills are `zero`, `index`, `step:K`, `list:A,B,...` (then zeros), `bits` (random bits),
//! `below:N` (a random integer under N), `unit` and `signed` (a random real in [0, 1) or [-1, 1)).

use crate::launch::{Argument, Launch};
use half::f16;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A parsed launch line.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchLine {
    /// The kernel.
    pub entry: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The arguments, one a parameter.
    pub arguments: Vec<ArgumentLine>,
}

/// One argument of a launch line.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentLine {
    /// Type of its elements.
    pub element: Element,
    /// Elements; one for a scalar.
    pub count: usize,
    /// How they are filled.
    pub fill: Fill,
    /// Whether the kernel gets the address of a buffer, not the bytes themselves.
    pub is_buffer: bool,
    /// Of bytes passed by value: what else stands in them, by offset.
    pub parts: Vec<(usize, ArgumentLine)>,
}

/// Type of an element, as many lanes as its vector has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Type of a lane.
    pub lane: Lane,
    /// Lanes.
    pub lanes: usize,
}

/// Type of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// An integer of so many bytes.
    Int(usize),
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// How a buffer is filled.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// The element's number times this.
    Step(u64),
    /// As listed, then zeros.
    List(Vec<f64>, Vec<u64>),
    /// Random bits.
    Bits,
    /// A random integer below this.
    Below(u64),
    /// A random real from 0 or -1 (which is `true`) up to 1.
    Real(bool),
}

/// Bytes that an argument may have: what the memory of a run holds at most.
const ARGUMENT_BYTES_MAX: usize = 1 << 32;

/// What is wrong with a launch line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine(String);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch line: {}", self.0)
    }
}

impl std::error::Error for BadLine {}

impl LaunchLine {
    /// Parses a line that starts with the kernel's name.
    ///
    /// # Errors
    /// The word that does not fit.
    pub fn parse(line: &str) -> Result<Self, BadLine> {
        let mut words = line.split_ascii_whitespace();
        let mut next = |what: &str| words.next().ok_or_else(|| BadLine(format!("{what} is missing")));
        let entry = next("the kernel's name")?.to_owned();
        expect(next("grid")?, "grid")?;
        let grid = extent(next("the grid's size")?)?;
        expect(next("block")?, "block")?;
        let block = extent(next("the block's size")?)?;
        let mut word = next("args")?;
        let mut shared_bytes = 0;
        if word == "shared" {
            let bytes = next("the shared bytes")?;
            shared_bytes =
                u32::try_from(number(bytes)?).map_err(|_| BadLine(format!("{bytes} is too much")))?;
            word = next("args")?;
        }
        expect(word, "args")?;
        let arguments = words.map(ArgumentLine::parse).collect::<Result<_, _>>()?;
        Ok(Self { entry, grid, block, shared_bytes, arguments })
    }

    /// The launch for `seed`: equal seeds give equal bytes.
    #[must_use]
    pub fn launch(&self, seed: u64) -> Launch {
        let args = self.arguments.iter().enumerate().map(|(at, argument)| argument.value(seed, at)).collect();
        Launch {
            entry: self.entry.clone(),
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared_bytes.into(),
            args,
        }
    }
}

impl ArgumentLine {
    fn parse(word: &str) -> Result<Self, BadLine> {
        let mut pieces = word.split('@');
        let mut argument = Self::parse_piece(pieces.next().unwrap_or_default())?;
        for piece in pieces {
            let wrong = || BadLine(format!("`{piece}` is no part of an argument by value"));
            let (offset, part) = piece.split_once('=').ok_or_else(wrong)?;
            let (offset, part) = (number(offset)? as usize, Self::parse_piece(part)?);
            let size = if part.is_buffer { size_of::<u64>() } else { part.size() };
            if argument.is_buffer || offset.checked_add(size).is_none_or(|end| end > argument.size()) {
                return Err(wrong());
            }
            argument.parts.push((offset, part));
        }
        Ok(argument)
    }

    /// Bytes that it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.count * self.element.lanes * self.element.lane.size()
    }

    fn parse_piece(word: &str) -> Result<Self, BadLine> {
        let wrong = || BadLine(format!("`{word}` is no argument"));
        if let Some((head, fill)) = word.split_once('=') {
            let (ty, count) =
                head.strip_suffix(']').and_then(|head| head.split_once('[')).ok_or_else(wrong)?;
            let is_buffer = ty != "value";
            let element = Element::parse(if is_buffer { ty } else { "u8" }).ok_or_else(wrong)?;
            let (count, fill) = (number(count)? as usize, Fill::parse(fill)?);
            let size = count.checked_mul(element.lanes * element.lane.size());
            if size.is_none_or(|size| size > ARGUMENT_BYTES_MAX) {
                return Err(BadLine(format!("`{word}` is larger than 4 GiB")));
            }
            Ok(Self { element, count, fill, is_buffer, parts: Vec::new() })
        } else {
            let (ty, value) = word.split_once(':').ok_or_else(wrong)?;
            let element = Element::parse(ty).ok_or_else(wrong)?;
            Ok(Self { element, count: 1, fill: Fill::list(value)?, is_buffer: false, parts: Vec::new() })
        }
    }

    /// Its bytes, little-endian; addresses in them are 0.
    #[must_use]
    pub fn bytes(&self, seed: u64, position: usize) -> Vec<u8> {
        let mut bytes = self.filled(seed, position);
        for (number, (offset, part)) in self.parts.iter().enumerate() {
            let part_bytes = if part.is_buffer {
                vec![0; size_of::<u64>()]
            } else {
                part.bytes(seed, part_position(position, number))
            };
            bytes[*offset..*offset + part_bytes.len()].copy_from_slice(&part_bytes);
        }
        bytes
    }

    /// Its bytes without its parts.
    fn filled(&self, seed: u64, position: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        if self.fill != Fill::Zero {
            match self.element.lane.size() {
                1 => self.fill_lanes::<1>(seed, position, &mut bytes),
                2 => self.fill_lanes::<2>(seed, position, &mut bytes),
                4 => self.fill_lanes::<4>(seed, position, &mut bytes),
                _ => self.fill_lanes::<8>(seed, position, &mut bytes),
            }
        }
        bytes
    }

    /// Fills `bytes`, lanes of `SIZE` bytes.
    fn fill_lanes<const SIZE: usize>(&self, seed: u64, position: usize, bytes: &mut [u8]) {
        let mut place = (position as u128).to_le_bytes();
        for (index, lane) in bytes.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
            place[8..].copy_from_slice(&(index as u64).to_le_bytes());
            let random = || xxh3_64_with_seed(&place, seed);
            let bits = self.fill.bits(self.element.lane, index as u64, random).to_le_bytes();
            lane.copy_from_slice(&bits[..SIZE]);
        }
    }

    fn value(&self, seed: u64, position: usize) -> Argument {
        let bytes = self.bytes(seed, position);
        if self.is_buffer {
            return Argument::Buffer(bytes);
        }
        let buffers = self.parts.iter().enumerate().filter(|(_, (_, part))| part.is_buffer);
        let buffers: Vec<(usize, Vec<u8>)> = buffers
            .map(|(number, (offset, part))| (*offset, part.bytes(seed, part_position(position, number))))
            .collect();
        if buffers.is_empty() { Argument::Scalar(bytes) } else { Argument::Structure(bytes, buffers) }
    }
}

/// What stands for the position of a part where random values are made: no argument's own.
fn part_position(position: usize, number: usize) -> usize {
    (position + 1) << 32 | number
}

impl Element {
    fn parse(text: &str) -> Option<Self> {
        let (lane, lanes) = match text.split_once('x') {
            Some((lane, lanes)) => (lane, lanes.parse().ok().filter(|&lanes| matches!(lanes, 2 | 4))?),
            None => (text, 1),
        };
        let lane = match lane {
            "i8" | "u8" => Lane::Int(1),
            "i16" | "u16" => Lane::Int(2),
            "i32" | "u32" => Lane::Int(4),
            "i64" | "u64" => Lane::Int(8),
            "f16" => Lane::F16,
            "f32" => Lane::F32,
            "f64" => Lane::F64,
            _ => return None,
        };
        Some(Self { lane, lanes })
    }
}

impl Lane {
    /// Bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Int(size) => size,
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The bits of one number, of which an integer takes the low ones.
    fn bits(self, real: f64, integer: u64) -> u64 {
        match self {
            Self::Int(_) => integer,
            Self::F16 => f16::from_f64(real).to_bits().into(),
            Self::F32 => (real as f32).to_bits().into(),
            Self::F64 => real.to_bits(),
        }
    }
}

impl Fill {
    fn parse(text: &str) -> Result<Self, BadLine> {
        Ok(match text.split_once(':') {
            None => match text {
                "zero" => Self::Zero,
                "index" => Self::Step(1),
                "bits" => Self::Bits,
                "unit" => Self::Real(false),
                "signed" => Self::Real(true),
                _ => return Err(BadLine(format!("`{text}` is no fill"))),
            },
            Some(("step", by)) => Self::Step(number(by)?),
            Some(("below", bound)) => Self::Below(number(bound)?.max(1)),
            Some(("list", values)) => Self::list(values)?,
            Some(_) => return Err(BadLine(format!("`{text}` is no fill"))),
        })
    }

    fn list(values: &str) -> Result<Self, BadLine> {
        let mut reals = Vec::new();
        let mut integers = Vec::new();
        for value in values.split(',') {
            match value.parse::<f64>() {
                Ok(real) => {
                    reals.push(real);
                    // An integer that a double cannot hold is parsed as one.
                    integers.push(
                        value
                            .parse::<i64>()
                            .map_or_else(|_| number(value).unwrap_or(real as u64), |v| v as u64),
                    );
                }
                Err(_) => {
                    let integer = number(value)?;
                    reals.push(integer as f64);
                    integers.push(integer);
                }
            }
        }
        Ok(Self::List(reals, integers))
    }

    /// The bits of lane `index`, of which `random` makes a random value.
    fn bits(&self, lane: Lane, index: u64, random: impl FnOnce() -> u64) -> u64 {
        let count = |integer: u64| (integer as f64, integer);
        let (real, integer) = match self {
            Self::Zero => (0.0, 0),
            Self::Step(by) => count(index.wrapping_mul(*by)),
            Self::List(reals, integers) => {
                let at = index as usize;
                (reals.get(at).copied().unwrap_or(0.0), integers.get(at).copied().unwrap_or(0))
            }
            Self::Bits => return random(),
            // The remainder, without a division for each lane.
            Self::Below(bound) if bound.is_power_of_two() => count(random() & (bound - 1)),
            Self::Below(bound) => count(random() % bound),
            // The top 24 bits: exact in single precision.
            Self::Real(is_signed) => {
                let unit = (random() >> 40) as f64 / (1u64 << 24) as f64;
                let real = if *is_signed { 2.0 * unit - 1.0 } else { unit };
                (real, real as i64 as u64)
            }
        };
        lane.bits(real, integer)
    }
}

fn expect(word: &str, expected: &str) -> Result<(), BadLine> {
    if word == expected { Ok(()) } else { Err(BadLine(format!("`{word}` where `{expected}` is expected"))) }
}

fn number(text: &str) -> Result<u64, BadLine> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| BadLine(format!("`{text}` is no number")))
}

fn extent(text: &str) -> Result<[u32; 3], BadLine> {
    let mut extent = [1; 3];
    let mut sizes = text.split(',');
    for (slot, size) in extent.iter_mut().zip(&mut sizes) {
        *slot = u32::try_from(number(size)?).map_err(|_| BadLine(format!("`{size}` is too large")))?;
    }
    match sizes.next() {
        None => Ok(extent),
        Some(more) => Err(BadLine(format!("`{more}` is a fourth dimension"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(word: &str) -> Vec<u8> {
        ArgumentLine::parse(word).unwrap().bytes(7, 0)
    }

    #[test]
    fn a_line_is_taken_apart() {
        let line =
            LaunchLine::parse("k grid 2,3 block 32 shared 64 args f32:2.5 u32[3]=step:4 value[2]=list:1")
                .unwrap();
        assert_eq!((line.grid, line.block, line.shared_bytes), ([2, 3, 1], [32, 1, 1], 64));
        let launch = line.launch(0);
        let Argument::Scalar(scalar) = &launch.args[0] else { panic!("a scalar") };
        assert_eq!(scalar, &2.5f32.to_le_bytes());
        let Argument::Buffer(buffer) = &launch.args[1] else { panic!("a buffer") };
        assert_eq!(buffer, &[0u32, 4, 8].map(u32::to_le_bytes).concat());
        let Argument::Scalar(value) = &launch.args[2] else { panic!("bytes by value") };
        assert_eq!(value, &[1, 0]);
    }

    #[test]
    fn numbers_keep_all_their_bits() {
        assert_eq!(bytes("u64:0xffffffffffffffed"), 0xffff_ffff_ffff_ffedu64.to_le_bytes());
        assert_eq!(bytes("u64[1]=list:18446744073709551615"), u64::MAX.to_le_bytes());
        assert_eq!(bytes("i32[2]=list:3,-100"), [3i32, -100].map(i32::to_le_bytes).concat());
        assert_eq!(bytes("f16:-1.5"), f16::from_f32(-1.5).to_le_bytes());
    }

    #[test]
    fn random_values_keep_their_bounds_and_follow_the_seed() {
        let below = bytes("u32[200]=below:7");
        let values: Vec<u32> = below.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!((0..7).all(|value| values.contains(&value)) && values.iter().all(|&value| value < 7));
        let remainders =
            |modulus: u8| bytes("u8[200]=bits").iter().map(|bits| bits % modulus).collect::<Vec<_>>();
        assert_eq!(bytes("u8[200]=below:16"), remainders(16));
        let signed = bytes("f32[200]=signed");
        let values: Vec<f32> = signed.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().any(|&value| value < -0.5) && values.iter().any(|&value| value > 0.5));
        let line = ArgumentLine::parse("u8[32]=bits").unwrap();
        assert_ne!(line.bytes(1, 0), line.bytes(2, 0));
        assert_ne!(line.bytes(1, 0), line.bytes(1, 1));
        assert_eq!(line.bytes(1, 0), line.bytes(1, 0));
    }

    #[test]
    fn random_buffers_of_values_are_their_own() {
        let line = "k grid 1 block 1 args value[16]=zero@0=u8[32]=bits@8=u8[32]=bits value[8]=zero@0=u8[32]=bits u8[32]=bits";
        let mut found: Vec<Vec<u8>> = Vec::new();
        for argument in LaunchLine::parse(line).unwrap().launch(0).args {
            match argument {
                Argument::Structure(_, buffers) => found.extend(buffers.into_iter().map(|(_, bytes)| bytes)),
                Argument::Buffer(bytes) => found.push(bytes),
                Argument::Scalar(bytes) => panic!("{bytes:?}"),
            }
        }
        assert_eq!(found.len(), 4);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn values_hold_numbers_and_addresses() {
        let line = LaunchLine::parse("k grid 1 block 1 args value[24]=zero@0=u8[3]=step:2@12=u32:7").unwrap();
        let launch = line.launch(0);
        let Argument::Structure(bytes, buffers) = &launch.args[0] else { panic!("a structure") };
        assert_eq!(buffers, &[(0, vec![0, 2, 4])]);
        let mut expected = vec![0; 24];
        expected[12] = 7;
        assert_eq!(bytes, &expected);
        assert_eq!(bytes_of_plain("value[8]=zero@4=u32:9"), [0, 0, 0, 0, 9, 0, 0, 0]);
        for word in
            ["value[8]=zero@4=u64:1", "value[8]=zero@1=u8[9]=zero", "u32[4]=zero@0=u32:1", "value[8]=zero@4"]
        {
            assert!(ArgumentLine::parse(word).is_err(), "{word}");
        }
    }

    fn bytes_of_plain(word: &str) -> Vec<u8> {
        let Argument::Scalar(bytes) = ArgumentLine::parse(word).unwrap().value(0, 0) else {
            panic!("no address")
        };
        bytes
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, word) in [
            ("k block 3", "grid"),
            ("k grid 1,2,3,4 block 1 args", "4"),
            ("k grid 1 block 1 args f33:2", "f33:2"),
            ("k grid 1 block 1 args u32[2]=down", "down"),
            ("k grid 1 block 1 args u32[1000000000000000]=zero", "larger than 4 GiB"),
            ("k grid 1 block 1 args u64x2[0x1000000000000000]=zero", "larger than 4 GiB"),
            ("k grid 1 block", "block"),
        ] {
            assert!(LaunchLine::parse(line).unwrap_err().to_string().contains(word), "{line}");
        }
    }
}
