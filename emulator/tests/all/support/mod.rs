//! Launch lines of the corpus: `name kernel grid G block B [shared N] args ...`, see `tests/corpus/README.md`.

use half::f16;
use ptxopt_emulator::{Argument, Launch};
use std::path::PathBuf;

/// The corpus.
pub fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

/// Random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The launch that the words after the module's name describe: kernel, grid, block, arguments.
pub fn launch(line: &str) -> Launch {
    let mut words = line.split_ascii_whitespace();
    let entry = words.next().expect("a kernel").to_owned();
    let mut launch = Launch { entry, grid: [1; 3], block: [1; 3], shared_bytes: 0, args: Vec::new() };
    let mut random = Random(42);
    while let Some(word) = words.next() {
        match word {
            "grid" => launch.grid = extent(words.next().expect("an extent")),
            "block" => launch.block = extent(words.next().expect("an extent")),
            "shared" => launch.shared_bytes = words.next().expect("bytes").parse().expect("a number"),
            "args" => {}
            argument => launch.args.push(read_argument(argument, &mut random)),
        }
    }
    launch
}

fn extent(text: &str) -> [u32; 3] {
    let mut extent = [1; 3];
    for (dim, part) in extent.iter_mut().zip(text.split(',')) {
        *dim = part.parse().expect("a number");
    }
    extent
}

fn read_argument(text: &str, random: &mut Random) -> Argument {
    if let Some((ty, value)) = text.split_once(':').filter(|(ty, _)| !ty.contains('[')) {
        return Argument::Scalar(number(ty, value));
    }
    let (ty, rest) = text.split_once('[').expect("a buffer");
    let (count, fill) = rest.split_once("]=").expect("a fill");
    let count: usize = count.parse().expect("a count");
    if ty == "value" {
        return Argument::Scalar(filled("u8", count, fill, random));
    }
    let (element, lanes) = match ty.split_once('x') {
        Some((element, lanes)) => (element, lanes.parse().expect("lanes")),
        None => (ty, 1),
    };
    Argument::Buffer(filled(element, count * lanes, fill, random))
}

fn width(ty: &str) -> usize {
    ty[1..].parse::<usize>().expect("a width") / 8
}

fn integer(text: &str) -> i128 {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).expect("digits"),
        None => text.parse().expect("digits"),
    }
}

fn number(ty: &str, text: &str) -> Vec<u8> {
    match ty {
        "f16" | "f32" | "f64" => real(ty, text.parse().expect("a real")),
        _ => integer(text).to_le_bytes()[..width(ty)].to_vec(),
    }
}

fn real(ty: &str, value: f64) -> Vec<u8> {
    match ty {
        "f16" => f16::from_f64(value).to_le_bytes().to_vec(),
        "f32" => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

fn filled(ty: &str, count: usize, fill: &str, random: &mut Random) -> Vec<u8> {
    let (kind, parameter) = fill.split_once(':').unwrap_or((fill, ""));
    let list: Vec<&str> = if kind == "list" { parameter.split(',').collect() } else { Vec::new() };
    let mut bytes = Vec::new();
    for index in 0..count {
        let whole = |value: u64| number(ty, &value.to_string());
        bytes.extend(match kind {
            "zero" => whole(0),
            "index" => whole(index as u64),
            "step" => whole(index as u64 * parameter.parse::<u64>().expect("a step")),
            "list" => number(ty, list.get(index).copied().unwrap_or("0")),
            "bits" => random.next().to_le_bytes()[..width(ty)].to_vec(),
            "below" => whole(random.next() % parameter.parse::<u64>().expect("a bound")),
            "unit" => real(ty, random.unit()),
            "signed" => real(ty, random.unit() * 2.0 - 1.0),
            other => panic!("fill {other} is unknown"),
        });
    }
    bytes
}
