//! Comparisons of integers and bits, and choices.

use super::decoder::Decoder;
use super::lift::{Shaped, lift};
use super::logic::{BoolOp, Predicate};
use super::types::{Int, Type, for_type, ones};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison called `word`; the names of unsigned ones only where `unsigned`.
    fn named(word: &str, unsigned: bool) -> Option<Self> {
        Some(match word {
            "eq" => Self::Equal,
            "ne" => Self::NotEqual,
            "lt" => Self::Less,
            "le" => Self::LessOrEqual,
            "gt" => Self::Greater,
            "ge" => Self::GreaterOrEqual,
            "lo" if unsigned => Self::Less,
            "ls" if unsigned => Self::LessOrEqual,
            "hi" if unsigned => Self::Greater,
            "hs" if unsigned => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Takes a comparison that `kind` has: bits have no order, and only unsigned types have the unsigned names.
    fn taken(d: &mut Decoder, kind: Type) -> Option<Self> {
        let unsigned = matches!(kind, Type::U16 | Type::U32 | Type::U64);
        let bits = matches!(kind, Type::B16 | Type::B32 | Type::B64);
        d.take_known(|word| Self::named(word, unsigned))
            .filter(|it| !bits || matches!(it, Self::Equal | Self::NotEqual))
    }

    /// Takes one of the six that video instructions have.
    pub(super) fn taken_plain(d: &mut Decoder) -> Option<Self> {
        d.take_known(|word| Self::named(word, false))
    }

    #[inline]
    pub(super) fn holds<T: Ord>(self, a: T, b: T) -> bool {
        match self {
            Self::Equal => a == b,
            Self::NotEqual => a != b,
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
        }
    }
}

/// Evaluates `$body` with `$test` a function of two cells: expands to one arm for each comparison, so that the loop
/// over the lanes does not choose among them.
macro_rules! for_comparison {
    ($comparison:expr, $T:ty, $test:ident => $body:expr) => {
        match $comparison {
            Comparison::Equal => for_comparison!(@ $T, $test, a, b, a == b, $body),
            Comparison::NotEqual => for_comparison!(@ $T, $test, a, b, a != b, $body),
            Comparison::Less => for_comparison!(@ $T, $test, a, b, a < b, $body),
            Comparison::LessOrEqual => for_comparison!(@ $T, $test, a, b, a <= b, $body),
            Comparison::Greater => for_comparison!(@ $T, $test, a, b, a > b, $body),
            Comparison::GreaterOrEqual => for_comparison!(@ $T, $test, a, b, a >= b, $body),
        }
    };
    (@ $T:ty, $test:ident, $a:ident, $b:ident, $holds:expr, $body:expr) => {{
        let $test = |a: u64, b: u64| {
            let ($a, $b) = (<$T>::read(a), <$T>::read(b));
            $holds
        };
        $body
    }};
}

/// `setp`: `p` the comparison, `q` its opposite, each combined with the third source where there is one.
pub(super) fn set_predicate(d: &mut Decoder) -> Option<Shaped> {
    let combined = BoolOp::taken(d);
    let kind = d.take_type()?;
    let comparison = Comparison::taken(d, kind)?;
    let pair = d.results() == 2;
    let last = combined.map(|combined| (combined, Predicate::source(d, 2)));
    for_type!(kind.as_number(), numeric T => for_comparison!(comparison, T, test => predicates(test, last, pair)))
}

fn predicates(
    test: impl Fn(u64, u64) -> bool + Send + Sync + 'static,
    last: Option<(BoolOp, Predicate)>,
    pair: bool,
) -> Shaped {
    match (last, pair) {
        (None, false) => lift(move |[a, b]| [u64::from(test(a, b))]),
        (None, true) => lift(move |[a, b]| [u64::from(test(a, b)), u64::from(!test(a, b))]),
        (Some((combined, last)), false) => {
            lift(move |[a, b, c]| [u64::from(combined.apply(test(a, b), last.holds(c)))])
        }
        (Some((combined, last)), true) => lift(move |[a, b, c]| {
            let (p, c) = (test(a, b), last.holds(c));
            [u64::from(combined.apply(p, c)), u64::from(combined.apply(!p, c))]
        }),
    }
}

/// `set` with integer or bit-size sources: all ones or, for a floating-point result, 1.0 where the comparison holds.
pub(super) fn set(d: &mut Decoder) -> Option<Shaped> {
    let combined = BoolOp::taken(d);
    let yes = match d.take_type()? {
        Type::U32 | Type::S32 => ones(32),
        Type::F32 => u64::from(1f32.to_bits()),
        Type::F16 => u64::from(half::f16::ONE.to_bits()),
        Type::Bf16 => u64::from(half::bf16::ONE.to_bits()),
        _ => return None,
    };
    let kind = d.take_type()?;
    let comparison = Comparison::taken(d, kind)?;
    let last = combined.map(|combined| (combined, Predicate::source(d, 2)));
    for_type!(kind.as_number(), numeric T => for_comparison!(comparison, T, test => values(test, last, yes)))
}

fn values(
    test: impl Fn(u64, u64) -> bool + Send + Sync + 'static,
    last: Option<(BoolOp, Predicate)>,
    yes: u64,
) -> Shaped {
    let value = move |holds: bool| u64::from(holds).wrapping_neg() & yes;
    match last {
        None => lift(move |[a, b]| [value(test(a, b))]),
        Some((combined, last)) => lift(move |[a, b, c]| [value(combined.apply(test(a, b), last.holds(c)))]),
    }
}

/// `selp`.
pub(super) fn select(d: &mut Decoder) -> Option<Shaped> {
    let width = ones(chosen_bits(d.take_type()?)?);
    let chooser = Predicate::source(d, 2);
    Some(lift(move |[a, b, p]| [if chooser.holds(p) { a & width } else { b & width }]))
}

/// `slct`: by the sign of the third source. -0.0 counts as 0, NaN as negative.
pub(super) fn select_by_sign(d: &mut Decoder) -> Option<Shaped> {
    let flushes = d.take("ftz") | d.dialect().flushes;
    let width = ones(chosen_bits(d.take_type()?)?);
    match d.take_type()? {
        Type::S32 => Some(lift(move |[a, b, c]| [if c as i32 >= 0 { a & width } else { b & width }])),
        Type::F32 => Some(lift(move |[a, b, c]| {
            let chooser = f32::from_bits(c as u32);
            let zero = flushes && chooser.is_subnormal();
            [if zero || chooser >= 0.0 { a & width } else { b & width }]
        })),
        _ => None,
    }
}

fn chosen_bits(kind: Type) -> Option<u32> {
    Some(match kind {
        Type::B16 | Type::U16 | Type::S16 => 16,
        Type::B32 | Type::U32 | Type::S32 | Type::F32 => 32,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => 64,
        _ => return None,
    })
}
