//! Every instruction against independent arithmetic: 128-bit numbers, or the ISA's pseudocode bit by bit.

mod bits;
mod compare;
mod forms;
mod logic;
mod moves;
mod products;
mod shifts;
mod sums;
mod video;
mod video_simd;

use super::super::{Evaluator, Request, evaluator};
use crate::lanes::{Lanes, WARP_SIZE};

/// Numbers at which something can go wrong at some width, and a few without a pattern.
const EDGES: [u64; 24] = [
    0,
    1,
    2,
    3,
    7,
    0x1F,
    0x20,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x0001_0000,
    0x00FF_FFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    0xFFFF_FFFF_FFFF_FFFF,
    0x9E37_79B9_7F4A_7C15,
    0x1234_5678_9ABC_DEF0,
];

/// The low bits of a cell as a number.
fn number(cell: u64, width: u32, signed: bool) -> i128 {
    let low = i128::from(cell) & ((1 << width) - 1);
    if signed && low >> (width - 1) & 1 == 1 { low - (1 << width) } else { low }
}

/// The low bits of a number as a cell.
fn cut(number: i128, width: u32) -> u64 {
    (number & ((1 << width) - 1)) as u64
}

/// The range of a type.
fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Width and sign of a type's name.
fn shape(kind: &str) -> (u32, bool) {
    (kind[1..].parse().unwrap(), kind.starts_with('s'))
}

/// The evaluator of an instruction that must be known.
fn known(request: &Request) -> Evaluator {
    evaluator(request).unwrap_or_else(|| panic!("{request:?} is not known"))
}

/// Results of one lane.
fn run<const R: usize>(run: &Evaluator, sources: &[u64]) -> [u64; R] {
    let sources: Vec<Lanes> = sources.iter().map(|&cell| [cell; WARP_SIZE]).collect();
    let mut results = [[0xDEAD; WARP_SIZE]; R];
    run(&sources.iter().collect::<Vec<_>>(), &mut results);
    results.map(|lanes| {
        assert!(lanes.iter().all(|&cell| cell == lanes[0]), "equal lanes give equal results");
        lanes[0]
    })
}

/// The only result of a plain instruction for one set of sources.
fn once(mnemonic: &str, sources: &[u64]) -> u64 {
    run::<1>(&known(&Request::plain(mnemonic, 1, sources.len())), sources)[0]
}

/// Runs `request`, whose cells are `R` results and `S` sources, for all ways to draw sources from `values`, 32 at a
/// time, and compares with `expected`.
fn check<const S: usize, const R: usize>(
    request: &Request,
    values: &[u64],
    expected: impl Fn([u64; S]) -> [u64; R],
) {
    let run = known(request);
    let count = values.len().pow(S as u32);
    let draw = |index: usize| {
        std::array::from_fn::<u64, S, _>(|source| {
            values[index / values.len().pow(source as u32) % values.len()]
        })
    };
    for start in (0..count).step_by(WARP_SIZE) {
        let drawn: [[u64; S]; WARP_SIZE] = std::array::from_fn(|lane| draw((start + lane) % count));
        let sources: [Lanes; S] = std::array::from_fn(|source| drawn.map(|cells| cells[source]));
        let mut results = [[0xDEAD; WARP_SIZE]; R];
        run(&sources.each_ref(), &mut results);
        for lane in 0..WARP_SIZE {
            let got: [u64; R] = std::array::from_fn(|result| results[result][lane]);
            let want = expected(drawn[lane]);
            assert!(got == want, "{request:?} of {:x?}: {got:x?}, expected {want:x?}", drawn[lane]);
        }
    }
}

/// [`check`] for an instruction with one result and nothing hidden.
fn check_plain<const S: usize>(mnemonic: &str, values: &[u64], expected: impl Fn([u64; S]) -> u64) {
    check(&Request::plain(mnemonic, 1, S), values, |sources| [expected(sources)]);
}

/// [`check_plain`] with selectors.
fn check_selected<const S: usize>(
    mnemonic: &str,
    selectors: &[Option<&str>],
    values: &[u64],
    expected: impl Fn([u64; S]) -> u64,
) {
    check(&Request { selectors, ..Request::plain(mnemonic, 1, S) }, values, |sources| [expected(sources)]);
}

/// Asserts that a plain instruction is refused.
fn refuse(mnemonic: &str, results: usize, sources: usize) {
    assert!(
        super::evaluator(&Request::plain(mnemonic, results, sources)).is_none(),
        "{mnemonic} with {results} results and {sources} sources should be refused",
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    refuse("add", 1, 2);
    refuse("add.s32", 1, 3);
    refuse("add.s32", 2, 2);
    refuse("add.s32.wide", 1, 2);
    refuse("add.sat.s64", 1, 2);
    refuse("add.cc.sat.s32", 1, 2);
    refuse("add.b32", 1, 2);
    refuse("mul.u32", 1, 2);
    refuse("mul.wide.u64", 1, 2);
    refuse("mad.lo.sat.s32", 1, 3);
    refuse("min.relu.u32", 1, 2);
    refuse("setp.lt.b32", 1, 2);
    for unsigned in ["lo", "ls", "hi", "hs"] {
        refuse(&format!("setp.{unsigned}.s32"), 1, 2);
    }
    refuse("lop3.xor.b32", 2, 5);
    refuse("mov.u32", 1, 2);
    refuse("mov.b64", 1, 3);
    refuse("mov.b64", 2, 2);
    refuse("mov.b64", 2, 4);
    refuse("mov.b64", 4, 2);
    refuse("mov.b16", 1, 4);
    refuse("mov.b16", 4, 1);
    refuse("mov.f32", 1, 4);
    refuse("mov.f32", 4, 1);
    refuse("bfi.b16", 1, 4);
    refuse("cvt.pack.sat.u8.s32", 1, 2);
    refuse("vadd2.u32.u32.u32.sat.add", 1, 3);
    refuse("verify.u32", 1, 1);
    refuse("v", 1, 1);
}

#[test]
fn signs_and_selectors_are_refused_where_none_belong() {
    let plain = Request::plain("add.s32", 1, 2);
    assert!(super::evaluator(&Request { negated: &[false, true], ..plain }).is_none());
    assert!(super::evaluator(&Request { selectors: &[None, Some("b0"), None], ..plain }).is_none());
    assert!(
        super::evaluator(&Request { selectors: &[None, None, None], negated: &[false; 2], ..plain })
            .is_some()
    );
}
