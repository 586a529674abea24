//! Floating-point arithmetic against a software library for IEEE 754, the processor's own arithmetic, and values
//! worked out by hand from the ISA's text.

mod approximate;
mod arithmetic;
mod compare;
mod convert;
mod double;
mod extremes;
mod forms;
mod narrow;
mod sign;

use crate::arith::{Dialect, Evaluator, Request};
use crate::lanes::{Lanes, WARP_SIZE};

use super::evaluator;

/// Single floats at which something can go wrong: zeros, subnormals, ties, limits, infinities, NaNs.
const SINGLES: [u32; 28] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x0040_0000,
    0x007F_FFFF,
    0x807F_FFFF,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x3380_0000, // 2^-24
    0x3400_0000, // 2^-23
    0x3F00_0000,
    0x3F7F_FFFF,
    0x3F80_0000,
    0xBF80_0000,
    0x3F80_0001,
    0x4040_0000,
    0x4B80_0000, // 2^24
    0x4B80_0001,
    0x7F00_0000,
    0xFF7F_FFFF,
    0x7F7F_FFFF,
    0x7F80_0000,
    0xFF80_0000,
    0x7F80_0001,
    0xFFC0_1234,
    0x7FFF_FFFF,
];

/// The same for doubles.
const DOUBLES: [u64; 22] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x8000_0000_0000_0001,
    0x000F_FFFF_FFFF_FFFF,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0001,
    0x3CA0_0000_0000_0000, // 2^-53
    0x3CB0_0000_0000_0000, // 2^-52
    0x3FE0_0000_0000_0000,
    0x3FEF_FFFF_FFFF_FFFF,
    0x3FF0_0000_0000_0000,
    0xBFF0_0000_0000_0000,
    0x3FF0_0000_0000_0001,
    0x4008_0000_0000_0000,
    0x4340_0000_0000_0001,
    0x7FE0_0000_0000_0000,
    0x7FEF_FFFF_FFFF_FFFF,
    0xFFEF_FFFF_FFFF_FFFF,
    0x7FF0_0000_0000_0000,
    0xFFF0_0000_0000_0000,
    0x7FF4_0000_0000_0001,
];

/// The same for halves.
const HALVES: [u16; 20] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x8400, 0x0401, 0x1000, 0x1400, 0x3BFF, 0x3C00, 0xBC00,
    0x3C01, 0x4200, 0x6800, 0x7BFF, 0x7C00, 0xFC00, 0x7D01,
];

/// The same for brain floats.
const BRAINS: [u16; 20] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x8080, 0x0081, 0x3B80, 0x3C00, 0x3F7F, 0x3F80, 0xBF80,
    0x3F81, 0x4040, 0x4380, 0x7F7F, 0x7F80, 0xFF80, 0x7FA1,
];

/// Random numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // Steele, Lea, Flood: SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ bits >> 31
    }
}

/// The evaluator of an instruction that must be known.
#[track_caller]
fn known(mnemonic: &str, results: usize, sources: usize) -> Evaluator {
    let request = Request::plain(mnemonic, results, sources);
    evaluator(&request).unwrap_or_else(|| panic!("{mnemonic} is not known"))
}

#[track_caller]
fn unknown(mnemonic: &str, results: usize, sources: usize) {
    assert!(evaluator(&Request::plain(mnemonic, results, sources)).is_none(), "{mnemonic} is known");
}

/// The evaluator for a module of `sm_1x`.
fn flushing(mnemonic: &str, sources: usize) -> Evaluator {
    of_dialect(mnemonic, sources, Dialect { flushes: true, ..Dialect::TODAY })
}

/// The evaluator for a module of `.version 1.4` and `sm_1x`.
fn flushing_before_version_1_5(mnemonic: &str, sources: usize) -> Evaluator {
    of_dialect(mnemonic, sources, Dialect { flushes: true, wide_conversions_keep: true })
}

fn of_dialect(mnemonic: &str, sources: usize, dialect: Dialect) -> Evaluator {
    evaluator(&Request { dialect, ..Request::plain(mnemonic, 1, sources) }).expect("the instruction is known")
}

/// The first result of one lane. Other lanes hold the sources turned around, which must not matter.
fn apply<const N: usize>(evaluator: &Evaluator, sources: [u64; N]) -> u64 {
    let lanes: [Lanes; N] = sources.map(|cell| {
        let mut lanes = [!cell; WARP_SIZE];
        lanes[5] = cell;
        lanes
    });
    let mut results = [[0xDEAD; WARP_SIZE]];
    evaluator(&lanes.each_ref()[..], &mut results);
    results[0][5]
}

/// The result of `mnemonic`.
#[track_caller]
fn run<const N: usize>(mnemonic: &str, sources: [u64; N]) -> u64 {
    apply(&known(mnemonic, 1, N), sources)
}

/// The result of `mnemonic`, `f32` in and out.
#[track_caller]
fn single<const N: usize>(mnemonic: &str, sources: [f32; N]) -> f32 {
    let bits = run(mnemonic, sources.map(|source| u64::from(source.to_bits())));
    f32::from_bits(u32::try_from(bits).expect("an f32 has 32 bits"))
}

/// All pairs of `values`.
fn pairs<T: Copy>(values: &[T]) -> impl Iterator<Item = [T; 2]> {
    values.iter().flat_map(|&a| values.iter().map(move |&b| [a, b]))
}
