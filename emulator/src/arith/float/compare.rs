//! `setp` and `set` of floats.
//!
//! The ordered comparisons are false where a source is NaN, the unordered ones true; `num` and `nan` ask for that
//! alone. `-0` equals `+0`.

use super::format::{Format, for_format};
use super::map::{FloatType, Packing, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};
use crate::lanes::WARP_SIZE;

/// The evaluator of `setp` and `set`.
pub fn evaluator(qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    match qualifiers.root {
        "setp" => set_predicate(qualifiers, request),
        "set" => set(qualifiers, request),
        _ => None,
    }
}

/// For which outcomes of a comparison its relation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Relation {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Relation {
    /// The relation named `word`.
    fn parse(word: &str) -> Option<Self> {
        let (less, equal, greater, unordered) = match word {
            "eq" => (false, true, false, false),
            "ne" => (true, false, true, false),
            "lt" => (true, false, false, false),
            "le" => (true, true, false, false),
            "gt" => (false, false, true, false),
            "ge" => (false, true, true, false),
            "equ" => (false, true, false, true),
            "neu" => (true, false, true, true),
            "ltu" => (true, false, false, true),
            "leu" => (true, true, false, true),
            "gtu" => (false, false, true, true),
            "geu" => (false, true, true, true),
            "num" => (true, true, true, false),
            "nan" => (false, false, false, true),
            _ => return None,
        };
        Some(Self { less, equal, greater, unordered })
    }

    #[inline(always)]
    fn holds(self, a: f64, b: f64) -> bool {
        let (less, equal, greater) = (a < b, a == b, a > b);
        let unordered = !(less | equal | greater);
        self.less & less | self.equal & equal | self.greater & greater | self.unordered & unordered
    }
}

/// The Boolean operator of a comparison and the predicate that it takes.
#[derive(Clone, Copy, Debug)]
enum Combination {
    None,
    And,
    Or,
    Xor,
}

impl Combination {
    fn take(qualifiers: &mut Qualifiers) -> Self {
        let word = |word: &str| match word {
            "and" => Some(Self::And),
            "or" => Some(Self::Or),
            "xor" => Some(Self::Xor),
            _ => None,
        };
        qualifiers.take_first(word).unwrap_or(Self::None)
    }

    /// Whether a comparison with this operator has `sources` sources.
    fn fits(self, sources: usize) -> bool {
        sources == if matches!(self, Self::None) { 2 } else { 3 }
    }

    #[inline(always)]
    fn apply(self, outcome: bool, predicate: bool) -> bool {
        match self {
            Self::None => outcome,
            Self::And => outcome & predicate,
            Self::Or => outcome | predicate,
            Self::Xor => outcome ^ predicate,
        }
    }
}

/// A comparison of two floats of one format, with what is done to its outcome.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    relation: Relation,
    format: Format,
    flush: bool,
    combination: Combination,
    negated: bool,
}

impl Comparison {
    #[inline(always)]
    fn outcome(self, a: u64, b: u64) -> bool {
        let value = |bits| self.format.decode(if self.flush { self.format.flush(bits) } else { bits });
        self.relation.holds(value(a), value(b))
    }

    #[inline(always)]
    fn combine(self, outcome: bool, predicate: u64) -> u64 {
        u64::from(self.combination.apply(outcome, (predicate & 1 != 0) != self.negated))
    }
}

/// Takes the modifiers of a comparison of `format`.
fn comparison(qualifiers: &mut Qualifiers, request: &Request, format: Format) -> Option<Comparison> {
    let relation = qualifiers.take_first(Relation::parse)?;
    let combination = Combination::take(qualifiers);
    let flush = qualifiers.take("ftz") || request.dialect.flushes && format == Format::F32;
    let fits = qualifiers.is_empty() && combination.fits(request.sources);
    let negated = request.is_negated(2);
    fits.then_some(Comparison { relation, format, flush, combination, negated })
}

/// `setp`: `p` gets the outcome, `q` the outcome of the opposite comparison, each combined with the predicate. For a
/// pair of values `p` belongs to the low one and `q` to the high one.
fn set_predicate(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let float = qualifiers.take_first(FloatType::parse)?;
    let comparison = comparison(&mut qualifiers, request, float.format)?;
    let (results, has_predicate) = (request.results, request.sources == 3);
    if !(1..=2).contains(&results) {
        return None;
    }
    let second = move |first: bool, a: u64, b: u64| match float.packing {
        Packing::Single => !first,
        Packing::Pair(bits) => comparison.outcome(a >> bits, b >> bits),
    };
    Some(match (results, has_predicate) {
        (1, false) => for_format!(float.format, FORMAT => map(Packing::Single, move |[a, b]: [u64; 2]| {
            u64::from(Comparison { format: FORMAT, ..comparison }.outcome(a, b))
        })),
        (1, true) => {
            map(Packing::Single, move |[a, b, c]: [u64; 3]| comparison.combine(comparison.outcome(a, b), c))
        }
        _ => Box::new(move |sources, results| {
            for lane in 0..WARP_SIZE {
                let (a, b) = (sources[0][lane], sources[1][lane]);
                let predicate = if has_predicate { sources[2][lane] } else { 0 };
                let first = comparison.outcome(a, b);
                results[0][lane] = comparison.combine(first, predicate);
                results[1][lane] = comparison.combine(second(first, a, b), predicate);
            }
        }),
    })
}

/// What `set` writes for true: all ones of an integer, 1.0 of a float.
fn truth(word: &str) -> Option<u64> {
    Some(match word {
        "u32" | "s32" => 0xFFFF_FFFF,
        "u16" | "s16" => 0xFFFF,
        "f32" => 0x3F80_0000,
        "f16" => 0x3C00,
        "bf16" => 0x3F80,
        _ => return None,
    })
}

/// `set`: the outcome as a number; that of a pair as a pair.
fn set(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let mut types = qualifiers.rest().iter().rev();
    let (source, target) = (*types.next()?, *types.next()?);
    if !qualifiers.take(source) || !qualifiers.take(target) || request.results != 1 {
        return None;
    }
    let float = FloatType::parse(source)?;
    let comparison = comparison(&mut qualifiers, request, float.format)?;
    let truth = match (float.packing, target) {
        (Packing::Single, _) => truth(target)?,
        (Packing::Pair(16), "u32" | "s32") => 0xFFFF,
        (Packing::Pair(16), _) => truth(target.strip_suffix("x2")?)?,
        _ => return None,
    };
    Some(if request.sources == 2 {
        map(float.packing, move |[a, b]: [u64; 2]| if comparison.outcome(a, b) { truth } else { 0 })
    } else {
        // The predicate belongs to both halves, so it is not unpacked with them.
        Box::new(move |sources, results| {
            for lane in 0..WARP_SIZE {
                let (a, b, predicate) = (sources[0][lane], sources[1][lane], sources[2][lane]);
                let half = |a, b| comparison.combine(comparison.outcome(a, b), predicate) * truth;
                results[0][lane] = match float.packing {
                    Packing::Single => half(a, b),
                    Packing::Pair(bits) => half(a, b) | half(a >> bits, b >> bits) << bits,
                };
            }
        })
    })
}
