//! What is known on the way to a block, to be forgotten again when the walk leaves what the block dominates.

use super::Term;
use super::comparison::{Order, Outcomes};
use ahash::{AHashMap, AHashSet};
use ptxopt_components::ids::VRegId;
use ptxopt_components::types::{extend, truncate};
use ptxopt_engine::values::reaching::Value;

/// A register, and which of its values.
pub type Held = (VRegId, Value);

/// Excluded numbers that one bound is moved past at once.
const STEPS_MAX: usize = 64;

/// The numbers that an integer may be, by both orders. Where a lower bound is above its upper one, there is none, and
/// nothing is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    width: u32,
    low: u64,
    high: u64,
    signed_low: i64,
    signed_high: i64,
}

impl Range {
    /// Every number of `width` bits.
    pub const fn all(width: u32) -> Self {
        let signed_high = (truncate(u64::MAX, width) >> 1) as i64;
        Self { width, low: 0, high: truncate(u64::MAX, width), signed_low: -signed_high - 1, signed_high }
    }

    /// The only number that it may be.
    pub fn only(&self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    /// What may come out where it is compared with a constant, if it is not known to differ.
    fn outcomes(&self, constant: u64, order: Order) -> Outcomes {
        let signed = extend(constant, self.width);
        let mut outcomes = Outcomes::empty();
        match order {
            Order::Signed => {
                outcomes.set(Outcomes::LESS, self.signed_low < signed);
                outcomes.set(Outcomes::GREATER, self.signed_high > signed);
            }
            _ => {
                outcomes.set(Outcomes::LESS, self.low < constant);
                outcomes.set(Outcomes::GREATER, self.high > constant);
            }
        }
        let is_inside = (self.low..=self.high).contains(&constant)
            && (self.signed_low..=self.signed_high).contains(&signed);
        outcomes.set(Outcomes::EQUAL, is_inside);
        outcomes
    }

    /// Leaves the numbers for which one of `outcomes` comes out. Holes are not kept here.
    fn narrow(&mut self, constant: u64, order: Order, outcomes: Outcomes) {
        let signed = extend(constant, self.width);
        let step = u64::from(!outcomes.contains(Outcomes::EQUAL));
        let is_signed = order == Order::Signed;
        if !outcomes.contains(Outcomes::GREATER) {
            if is_signed {
                self.signed_high = self.signed_high.min(signed.saturating_sub_unsigned(step));
                self.mark_empty(step == 1 && signed == i64::MIN);
            } else {
                self.high = self.high.min(constant.saturating_sub(step));
                self.mark_empty(step == 1 && constant == 0);
            }
        }
        if !outcomes.contains(Outcomes::LESS) {
            if is_signed {
                self.signed_low = self.signed_low.max(signed.saturating_add_unsigned(step));
                self.mark_empty(step == 1 && signed == i64::MAX);
            } else {
                self.low = self.low.max(constant.saturating_add(step));
                self.mark_empty(step == 1 && constant == u64::MAX);
            }
        }
        self.agree();
    }

    /// Notes that no number is left.
    fn mark_empty(&mut self, is_empty: bool) {
        if is_empty {
            (self.low, self.high) = (1, 0);
            (self.signed_low, self.signed_high) = (1, 0);
        }
    }

    /// Moves a bound that is excluded itself.
    fn trim(&mut self, is_excluded: impl Fn(u64) -> bool) {
        for _ in 0..STEPS_MAX {
            if self.low < self.high && is_excluded(self.low) {
                self.low += 1;
            } else if self.low < self.high && is_excluded(self.high) {
                self.high -= 1;
            } else if self.signed_low < self.signed_high && is_excluded(self.bits(self.signed_low)) {
                self.signed_low += 1;
            } else if self.signed_low < self.signed_high && is_excluded(self.bits(self.signed_high)) {
                self.signed_high -= 1;
            } else {
                break;
            }
            self.agree();
        }
    }

    const fn bits(&self, signed: i64) -> u64 {
        truncate(signed as u64, self.width)
    }

    /// Takes over what the bounds of one order say of the other: both agree on numbers of one sign.
    fn agree(&mut self) {
        let largest_positive = truncate(u64::MAX, self.width) >> 1;
        if self.low > self.high || self.signed_low > self.signed_high {
            return;
        }
        if self.high <= largest_positive || self.low > largest_positive {
            self.signed_low = self.signed_low.max(extend(self.low, self.width));
            self.signed_high = self.signed_high.min(extend(self.high, self.width));
        }
        if self.signed_low >= 0 || self.signed_high < 0 {
            self.low = self.low.max(self.bits(self.signed_low));
            self.high = self.high.min(self.bits(self.signed_high));
        }
    }
}

/// Two values and the order in which they were compared, the smaller term first.
type Pair = (Order, Term, Term);

/// What was there before something was learned.
enum Undo {
    Predicate(Held),
    Pair(Pair, Option<Outcomes>),
    Range(Held, Option<Range>),
    Excluded(Held, u64),
}

/// What is known now.
#[derive(Default)]
pub struct Facts {
    predicates: AHashMap<Held, bool>,
    pairs: AHashMap<Pair, Outcomes>,
    ranges: AHashMap<Held, Range>,
    excluded: AHashSet<(Held, u64)>,
    undo: Vec<Undo>,
}

impl Facts {
    /// Forgets everything.
    pub fn clear(&mut self) {
        let Self { predicates, pairs, ranges, excluded, undo } = self;
        predicates.clear();
        pairs.clear();
        ranges.clear();
        excluded.clear();
        undo.clear();
    }

    /// How much is known.
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was learned since `mark`.
    pub fn forget(&mut self, mark: usize) {
        for undo in self.undo.drain(mark..).rev() {
            match undo {
                Undo::Predicate(held) => {
                    self.predicates.remove(&held);
                }
                Undo::Pair(pair, Some(before)) => {
                    self.pairs.insert(pair, before);
                }
                Undo::Pair(pair, None) => {
                    self.pairs.remove(&pair);
                }
                Undo::Range(held, Some(before)) => {
                    self.ranges.insert(held, before);
                }
                Undo::Range(held, None) => {
                    self.ranges.remove(&held);
                }
                Undo::Excluded(held, constant) => {
                    self.excluded.remove(&(held, constant));
                }
            }
        }
    }

    /// What a predicate is known to hold.
    pub fn predicate(&self, held: Held) -> Option<bool> {
        self.predicates.get(&held).copied()
    }

    /// Learns what a predicate holds; says whether that is new.
    pub fn learn_predicate(&mut self, held: Held, truth: bool) -> bool {
        let is_new = self.predicates.get(&held).is_none();
        if is_new {
            self.predicates.insert(held, truth);
            self.undo.push(Undo::Predicate(held));
        }
        is_new
    }

    /// The numbers that a register may hold.
    pub fn range(&self, held: Held, width: u32) -> Range {
        self.ranges.get(&held).copied().unwrap_or(Range::all(width))
    }

    /// What may come out where an integer is compared with a constant.
    pub fn outcomes_with(&self, held: Held, constant: u64, order: Order, width: u32) -> Outcomes {
        let outcomes = self.range(held, width).outcomes(constant, order);
        let is_excluded = self.excluded.contains(&(held, constant));
        if is_excluded { outcomes.difference(Outcomes::EQUAL) } else { outcomes }
    }

    /// Learns what came out where an integer was compared with a constant.
    pub fn learn_with(&mut self, held: Held, constant: u64, order: Order, width: u32, outcomes: Outcomes) {
        let before = self.ranges.get(&held).copied();
        let mut range = before.unwrap_or(Range::all(width));
        if !outcomes.contains(Outcomes::EQUAL) && self.excluded.insert((held, constant)) {
            self.undo.push(Undo::Excluded(held, constant));
        }
        if outcomes != Outcomes::UNEQUAL {
            range.narrow(constant, order, outcomes);
        }
        let excluded = &self.excluded;
        range.trim(|number| excluded.contains(&(held, number)));
        if before != Some(range) {
            self.ranges.insert(held, range);
            self.undo.push(Undo::Range(held, before));
        }
    }

    /// Learns that an integer lies between two numbers without a sign, both included.
    pub fn learn_between(&mut self, held: Held, width: u32, low: u64, high: u64) {
        self.learn_with(held, low, Order::Unsigned, width, Outcomes::EQUAL | Outcomes::GREATER);
        self.learn_with(held, high, Order::Unsigned, width, Outcomes::EQUAL | Outcomes::LESS);
    }

    /// What may come out where two values are compared.
    pub fn outcomes_of(&self, order: Order, one: Term, other: Term) -> Outcomes {
        if one == other {
            // A NaN is not equal to itself.
            return order.all().difference(Outcomes::UNEQUAL);
        }
        let known = |pair| self.pairs.get(&pair).copied().unwrap_or(order.all());
        if one < other { known((order, one, other)) } else { known((order, other, one)).mirrored() }
    }

    /// Learns what came out where two values were compared.
    pub fn learn_of(&mut self, order: Order, one: Term, other: Term, outcomes: Outcomes) {
        let (pair, outcomes) = match one < other {
            true => ((order, one, other), outcomes),
            false => ((order, other, one), outcomes.mirrored()),
        };
        self.learn_pair(pair, outcomes);
        // Integers that are equal by one order are so by the other.
        let by_the_other = match outcomes.contains(Outcomes::EQUAL) {
            false => Outcomes::UNEQUAL,
            true if outcomes == Outcomes::EQUAL => outcomes,
            true => return,
        };
        match order {
            Order::Unsigned => self.learn_pair((Order::Signed, pair.1, pair.2), by_the_other),
            Order::Signed => self.learn_pair((Order::Unsigned, pair.1, pair.2), by_the_other),
            Order::Float { .. } => {}
        }
    }

    fn learn_pair(&mut self, pair: Pair, outcomes: Outcomes) {
        let before = self.pairs.get(&pair).copied();
        let after = before.unwrap_or(pair.0.all()).intersection(outcomes);
        if before != Some(after) {
            self.pairs.insert(pair, after);
            self.undo.push(Undo::Pair(pair, before));
        }
    }
}
