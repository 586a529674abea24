//! SIMD video instructions: two half-words or four bytes at once, with a mask of lanes that are merged or added up.

use super::compare::Comparison;
use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::products::field;
use super::types::ones;
use super::video::{clamp, take_sign};

/// How a register is cut: `h` and two half-words, or `b` and four bytes.
#[derive(Clone, Copy)]
struct Cut {
    letter: char,
    count: usize,
    width: u32,
}

const HALVES: Cut = Cut { letter: 'h', count: 2, width: 16 };
const BYTES: Cut = Cut { letter: 'b', count: 4, width: 8 };

impl Cut {
    /// The digits of a selector, the last first: the last digit stands for the lowest part.
    fn digits(self, selector: &str) -> Option<Vec<u32>> {
        let digits = selector.strip_prefix(self.letter)?;
        digits.chars().rev().map(|digit| digit.to_digit(10)).collect()
    }
}

/// Where a source's parts come from: numbers among the parts of `a` and, after them, of `b`.
#[derive(Clone, Copy)]
struct Source {
    cut: Cut,
    signed: bool,
    parts: [u32; 4],
}

impl Source {
    fn taken(d: &mut Decoder, index: usize, cut: Cut, signed: bool) -> Option<Self> {
        let all = cut.count as u32 * 2;
        let chosen = match d.take_source_selector(index) {
            Some(selector) => cut.digits(selector)?,
            // The parts of `a` for the first source, those of `b` for the second.
            None => (0..all).skip(index * cut.count).take(cut.count).collect(),
        };
        if chosen.len() != cut.count || chosen.iter().any(|&part| part >= all) {
            return None;
        }
        let mut parts = [0; 4];
        parts[..cut.count].copy_from_slice(&chosen);
        Some(Self { cut, signed, parts })
    }

    #[inline]
    fn read(self, both: u64, index: usize) -> i64 {
        field(both, self.parts[index] * self.cut.width, self.cut.width, self.signed)
    }
}

/// The lanes that count: a digit for each, from high to low; all without a mask.
fn take_mask(d: &mut Decoder, cut: Cut) -> Option<[bool; 4]> {
    let mut mask = [false; 4];
    match d.take_result_selector(0) {
        None => mask[..cut.count].fill(true),
        Some(selector) => {
            let digits = cut.digits(selector)?;
            if digits.is_empty() || !digits.is_sorted_by(|low, high| low < high) {
                return None;
            }
            for digit in digits {
                *mask[..cut.count].get_mut(digit as usize)? = true;
            }
        }
    }
    Some(mask)
}

/// `vadd2` to `vset4`.
pub(super) fn parallel(d: &mut Decoder) -> Option<Shaped> {
    let root = d.root();
    let (name, cut) = match root.split_at_checked(root.len() - 1)? {
        (name, "2") => (name, HALVES),
        (name, "4") => (name, BYTES),
        _ => return None,
    };
    let compares = name == "vset";
    // Results of comparisons are unsigned and have no type of their own.
    let signed = if compares { false } else { take_sign(d)? };
    let signs = [take_sign(d)?, take_sign(d)?];
    let (a, b) = (Source::taken(d, 0, cut, signs[0])?, Source::taken(d, 1, cut, signs[1])?);
    let mask = take_mask(d, cut)?;
    let adds = d.take("add");
    let saturates = !compares && d.take("sat");
    if adds && saturates {
        return None;
    }
    let operation: fn(i64, i64) -> i64 = match name {
        "vadd" => |a, b| a + b,
        "vsub" => |a, b| a - b,
        "vavrg" => average,
        "vabsdiff" => |a, b| (a - b).abs(),
        "vmin" => i64::min,
        "vmax" => i64::max,
        "vset" => comparison(d)?,
        _ => return None,
    };
    let finish = Finish { cut, mask, saturates: saturates.then_some(signed), adds };
    Some(lift(move |[x, y, c]| {
        let both = u64::from(x as u32) | y << 32;
        [finish.run(c, |index| operation(a.read(both, index), b.read(both, index)))]
    }))
}

/// Rounds halves away from zero, as the ISA's formula does.
fn average(a: i64, b: i64) -> i64 {
    let sum = a + b;
    if sum >= 0 { (sum + 1) >> 1 } else { sum >> 1 }
}

fn comparison(d: &mut Decoder) -> Option<fn(i64, i64) -> i64> {
    Some(match Comparison::taken_plain(d)? {
        Comparison::Equal => |a, b| i64::from(a == b),
        Comparison::NotEqual => |a, b| i64::from(a != b),
        Comparison::Less => |a, b| i64::from(a < b),
        Comparison::LessOrEqual => |a, b| i64::from(a <= b),
        Comparison::Greater => |a, b| i64::from(a > b),
        Comparison::GreaterOrEqual => |a, b| i64::from(a >= b),
    })
}

/// What becomes of the results of the parts.
#[derive(Clone, Copy)]
struct Finish {
    cut: Cut,
    mask: [bool; 4],
    /// Clamped to the signed or unsigned range of a part.
    saturates: Option<bool>,
    adds: bool,
}

impl Finish {
    /// With `.add` the chosen results are added to `c` whole; else they replace parts of `c`.
    #[inline]
    fn run(self, c: u64, result: impl Fn(usize) -> i64) -> u64 {
        let width = self.cut.width;
        let chosen = (0..self.cut.count).filter(|&index| self.mask[index]);
        let value = chosen.fold(c, |sum, index| {
            let exact = result(index);
            let part = match self.saturates {
                Some(signed) => clamp(exact.into(), width, signed),
                None => exact,
            };
            if self.adds {
                return sum.wrapping_add(part as u64);
            }
            let hole = ones(width) << (width * index as u32);
            sum & !hole | (part as u64) << (width * index as u32) & hole
        });
        value & ones(32)
    }
}
