//! Bitwise logic, and logic of predicates.

use super::decoder::Decoder;
use super::lift::{Shaped, binary, lift, unary};
use super::types::{Type, for_type};

/// `and`.
pub(super) fn and(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::Pred => Some(predicates(d, |a, b| a & b)),
        kind => for_type!(kind, bits T => binary(|a: T, b: T| a & b)),
    }
}

/// `or`.
pub(super) fn or(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::Pred => Some(predicates(d, |a, b| a | b)),
        kind => for_type!(kind, bits T => binary(|a: T, b: T| a | b)),
    }
}

/// `xor`.
pub(super) fn xor(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::Pred => Some(predicates(d, |a, b| a ^ b)),
        kind => for_type!(kind, bits T => binary(|a: T, b: T| a ^ b)),
    }
}

/// `not`.
pub(super) fn not(d: &mut Decoder) -> Option<Shaped> {
    match d.take_type()? {
        Type::Pred => {
            let a = Predicate::source(d, 0);
            Some(lift(move |[p]| [u64::from(!a.holds(p))]))
        }
        kind => for_type!(kind, bits T => unary(|a: T| !a)),
    }
}

/// `cnot`: 1 for 0, 0 for all others.
pub(super) fn logical_not(d: &mut Decoder) -> Option<Shaped> {
    for_type!(d.take_type()?, bits T => unary(|a: T| T::from(a == 0)))
}

fn predicates(d: &mut Decoder, lane: impl Fn(bool, bool) -> bool + Send + Sync + 'static) -> Shaped {
    let (a, b) = (Predicate::source(d, 0), Predicate::source(d, 1));
    lift(move |[p, q]| [u64::from(lane(a.holds(p), b.holds(q)))])
}

/// A predicate source, perhaps with a `!`. A literal is true where it is not 0.
#[derive(Clone, Copy)]
pub(super) struct Predicate {
    negated: bool,
}

impl Predicate {
    pub(super) fn source(d: &mut Decoder, index: usize) -> Self {
        Self { negated: d.take_negated(index) }
    }

    #[inline]
    pub(super) fn holds(self, cell: u64) -> bool {
        (cell != 0) != self.negated
    }
}

/// How a predicate is combined with the result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BoolOp {
    And,
    Or,
    Xor,
}

impl BoolOp {
    pub(super) fn taken(d: &mut Decoder) -> Option<Self> {
        d.take_known(|word| match word {
            "and" => Some(Self::And),
            "or" => Some(Self::Or),
            "xor" => Some(Self::Xor),
            _ => None,
        })
    }

    #[inline]
    pub(super) fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// `lop3.b32`, and `lop3.or` and `lop3.and` with the predicate "not zero" beside.
pub(super) fn three_inputs(d: &mut Decoder) -> Option<Shaped> {
    let combined = BoolOp::taken(d);
    if d.take_type()? != Type::B32 {
        return None;
    }
    match combined {
        None => Some(lift(|[a, b, c, table]| [look_up(a, b, c, table)])),
        Some(BoolOp::Xor) => None,
        Some(combined) => {
            let last = Predicate::source(d, 4);
            Some(lift(move |[a, b, c, table, q]| {
                let value = look_up(a, b, c, table);
                [value, u64::from(combined.apply(value != 0, last.holds(q)))]
            }))
        }
    }
}

/// The table's bit `4a + 2b + c` at every position: the table is what the function gives for `a = 0xF0`, `b = 0xCC`,
/// `c = 0xAA`.
#[inline]
fn look_up(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let value = (0..8u64).fold(0, |value, row| {
        let chosen = 0u64.wrapping_sub(table >> row & 1);
        let flip = |bit: u64| (row >> bit & 1).wrapping_sub(1);
        value | chosen & (a ^ flip(2)) & (b ^ flip(1)) & (c ^ flip(0))
    });
    value & 0xFFFF_FFFF
}
