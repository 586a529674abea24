//! `setp`, `set`, `selp` and `slct` with a floating-point type in them.
//!
//! The ordered comparisons are false where a source is NaN, the unordered ones true; `num` and `nan` ask for that
//! alone. `-0` equals `+0`.

use super::format::Format;
use super::map::{FloatType, Packing, map};
use super::qualifiers::Qualifiers;
use crate::arith::{Evaluator, Request};
use crate::lanes::WARP_SIZE;

/// The evaluator of `setp`, `set`, `selp` and `slct`.
pub fn evaluator(qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    match qualifiers.root {
        "setp" => set_predicate(qualifiers, request),
        "set" => set(qualifiers, request),
        "selp" => select_by_predicate(qualifiers, request),
        "slct" => select_by_sign(qualifiers, request),
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
    /// The relation named `word`. The names of unsigned comparisons are for integers alone.
    fn parse(word: &str, integer: bool) -> Option<Self> {
        let (less, equal, greater, unordered) = match word {
            "eq" => (false, true, false, false),
            "ne" => (true, false, true, false),
            "lt" => (true, false, false, false),
            "le" => (true, true, false, false),
            "gt" => (false, false, true, false),
            "ge" => (false, true, true, false),
            "lo" if integer => (true, false, false, false),
            "ls" if integer => (true, true, false, false),
            "hi" if integer => (false, false, true, false),
            "hs" if integer => (false, true, true, false),
            "equ" if !integer => (false, true, false, true),
            "neu" if !integer => (true, false, true, true),
            "ltu" if !integer => (true, false, false, true),
            "leu" if !integer => (true, true, false, true),
            "gtu" if !integer => (false, false, true, true),
            "geu" if !integer => (false, true, true, true),
            "num" if !integer => (true, true, true, false),
            "nan" if !integer => (false, false, false, true),
            _ => return None,
        };
        Some(Self { less, equal, greater, unordered })
    }

    #[inline]
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
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

    #[inline]
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
    #[inline]
    fn outcome(self, a: u64, b: u64) -> bool {
        let value = |bits| self.format.decode(if self.flush { self.format.flush(bits) } else { bits });
        self.relation.holds(value(a), value(b))
    }

    #[inline]
    fn combine(self, outcome: bool, predicate: u64) -> u64 {
        u64::from(self.combination.apply(outcome, (predicate & 1 != 0) != self.negated))
    }
}

/// Takes the modifiers of a comparison of `format`.
fn comparison(qualifiers: &mut Qualifiers, request: &Request, format: Format) -> Option<Comparison> {
    let relation = qualifiers.take_first(|word| Relation::parse(word, false))?;
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
        (1, false) => map(Packing::Single, move |[a, b]: [u64; 2]| u64::from(comparison.outcome(a, b))),
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

/// `set` of floats, or of integers into a float.
fn set(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let mut types = qualifiers.rest().iter().rev();
    let (source, target) = (*types.next()?, *types.next()?);
    if !qualifiers.take(source) || !qualifiers.take(target) || request.results != 1 {
        return None;
    }
    let Some(float) = FloatType::parse(source) else {
        return set_from_integer(qualifiers, request, target, source);
    };
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

/// `set` of two integers into a float: `set.lt.f32.s32`.
fn set_from_integer(
    mut qualifiers: Qualifiers,
    request: &Request,
    target: &str,
    source: &str,
) -> Option<Evaluator> {
    FloatType::parse(target)?;
    let truth = truth(target)?;
    let (signed, bits) = integer_type(source)?;
    let relation = qualifiers.take_first(|word| Relation::parse(word, true))?;
    let combination = Combination::take(&mut qualifiers);
    let negated = request.is_negated(2);
    if !qualifiers.is_empty() || !combination.fits(request.sources) {
        return None;
    }
    // Shifted to the top of the cell, values of every width compare as the whole cells do.
    let outcome = move |a: u64, b: u64| {
        let (a, b) = (a << (64 - bits), b << (64 - bits));
        if signed { relation.holds(a as i64, b as i64) } else { relation.holds(a, b) }
    };
    Some(if request.sources == 2 {
        map(Packing::Single, move |[a, b]: [u64; 2]| if outcome(a, b) { truth } else { 0 })
    } else {
        map(Packing::Single, move |[a, b, predicate]: [u64; 3]| {
            let holds = combination.apply(outcome(a, b), (predicate & 1 != 0) != negated);
            if holds { truth } else { 0 }
        })
    })
}

/// Whether the integer type named `word` is signed, and its bits.
fn integer_type(word: &str) -> Option<(bool, u32)> {
    Some(match word {
        "b16" | "u16" => (false, 16),
        "b32" | "u32" => (false, 32),
        "b64" | "u64" => (false, 64),
        "s16" => (true, 16),
        "s32" => (true, 32),
        "s64" => (true, 64),
        _ => return None,
    })
}

/// `selp.f32` and `selp.f64`: bits are moved, not changed.
fn select_by_predicate(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let mask = moved_bits(qualifiers.take_first(|word| word.starts_with('f').then_some(word))?)?;
    let negated = request.is_negated(2);
    let fits = qualifiers.is_empty() && request.results == 1 && request.sources == 3;
    fits.then(|| {
        map(
            Packing::Single,
            move |[a, b, predicate]: [u64; 3]| {
                if (predicate & 1 != 0) != negated { a & mask } else { b & mask }
            },
        )
    })
}

/// The bits that `selp` and `slct` move for the type named `word`.
fn moved_bits(word: &str) -> Option<u64> {
    Some(match word {
        "f32" => u64::from(u32::MAX),
        "f64" => u64::MAX,
        _ => u64::MAX >> (64 - integer_type(word)?.1),
    })
}

/// `slct` with a float in one of its types: the first source where the third is not negative (`-0` is not, NaN
/// counts as negative), else the second.
fn select_by_sign(mut qualifiers: Qualifiers, request: &Request) -> Option<Evaluator> {
    let mut types = qualifiers.rest().iter().rev();
    let (condition, moved) = (*types.next()?, *types.next()?);
    let mask = moved_bits(moved)?;
    let known = qualifiers.take(condition) && qualifiers.take(moved);
    // Flushing a subnormal condition turns a negative one into `-0`, which selects the first source.
    let flush = condition == "f32" && (qualifiers.take("ftz") || request.dialect.flushes);
    if !known || !qualifiers.is_empty() || request.results != 1 || request.sources != 3 {
        return None;
    }
    let select = move |[a, b]: [u64; 2], first: bool| if first { a & mask } else { b & mask };
    match condition {
        "s32" if moved.starts_with('f') => {
            Some(map(Packing::Single, move |[a, b, c]: [u64; 3]| select([a, b], c as i32 >= 0)))
        }
        "f32" => Some(map(Packing::Single, move |[a, b, c]: [u64; 3]| {
            let condition = Format::F32.decode(if flush { Format::F32.flush(c) } else { c });
            select([a, b], condition >= 0.0)
        })),
        _ => None,
    }
}
