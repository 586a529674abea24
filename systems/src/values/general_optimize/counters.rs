//! Counters: what is known of the variable of a loop that counts up to a constant.
//!
//! ```text
//!        mov.u32 r1, 0;
//! L:     r2 = phi {entry, r1}, {L, r3};      // 0 to 9
//!        add.s32 r3, r2, 1;
//!        setp.lt.s32 p1, r3, 10;
//!        @p1 bra L;
//! ```
//! Every way around the loop passes a branch that bounds the next value. By induction over the rounds, no
//! sum wraps around: the counter is at most what it starts with or what the branch lets pass, and a step more than that must
//! still have a place below the sign.
//!
//! The walk has passed the header by then, and not what comes around the loop: there, copies of the counter, of the
//! next value and of the bound still stand, and are looked through.
//!
//! # Guards
//! - The branch is passed in each round: its block dominates the end of the loop, and one of its ways only leads there.
//! - Where the loop ends at equality, the counter meets the bound exactly:
//!   ```text
//!   setp.ne.s32 p1, r3, 10;     // with a step of 3 from 0: 9, 12, and on and on
//!   ```
//! - What is compared without a sign has a bound that is not negative with one:
//!   ```text
//!   setp.lt.u32 p1, r3, 0x80000010;     // 0x7FFFFFFF passes, and so does what is negative
//!   ```
//! - The bound and a step fit below the sign: with a bound of 0x7FFFFFFF and a step of 2, the sum is negative and less again.

use super::Walk;
use super::passed_branches::Passed;
use super::pattern::plain;
use crate::values::known_bits::Known;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::{extend, truncate};

/// Branches that are looked at for one counter: the one that ends the loop is near its end or at its start.
const BRANCHES_MAX: usize = 6;

/// Copies that one value is looked through.
const COPIES_MAX: usize = 4;

/// What a branch has let pass: a register of the loop that compares like this with a constant.
struct Bounded {
    comparison: Comparison,
    is_signed: bool,
    /// Whether it is the next value, and not the one of this round.
    is_next: bool,
    bound: i64,
}

impl Walk<'_, '_> {
    /// What is known of a phi of `width` bits that counts; `known_start` tells what it starts with.
    pub(super) fn known_counter(
        &mut self,
        phi: InstId,
        width: u32,
        known_start: impl FnOnce(&mut Self, VRegId) -> Option<Known>,
    ) -> Option<Known> {
        let &[result, from, value, other_from, other_value] = self.f.operands_of(phi) else { return None };
        let counter = result.vreg().filter(|_| matches!(width, 32 | 64))?;
        let (start, next, latch, step) = match self.step(counter, value) {
            Some(step) => (other_value, value, from, step),
            None => (value, other_value, other_from, self.step(counter, other_value)?),
        };
        let (header, next) = (self.f.head(phi).block, self.original(next.vreg()?));
        let bounded = self.bounded(counter, next, width, [latch.as_block()?, header])?;
        let start = known_start(self, start.vreg()?).filter(|start| start.width() == width)?;
        let (least, highest) = (start.least(), truncate(u64::MAX, width - 1) as i64);
        let bound = bounded.bound;
        // The most that a round may leave for the next one, before what the step adds.
        let most = match bounded.comparison {
            Comparison::Less | Comparison::Lower => bound.checked_sub(1)?,
            Comparison::LessEqual | Comparison::LowerSame => bound,
            Comparison::NotEqual => {
                let is_met = start.only().is_some()
                    && (bound.checked_sub(least)?).checked_rem(step)? == 0
                    && if bounded.is_next { least < bound } else { least <= bound };
                is_met.then_some(bound.checked_sub(step)?)?
            }
            _ => return None,
        };
        // What lies below a positive number without a sign lies there with one.
        let has_order = bounded.is_signed || bounded.comparison == Comparison::NotEqual || bound >= 0;
        let most = if bounded.is_next { most } else { most.checked_add(step)? };
        let most = most.max(start.most());
        let has_place = most.checked_add(step)? <= highest;
        (has_order && has_place).then(|| Known::signed_range(least, most, width))
    }

    /// What a value of the loop is more than its counter, where that is a positive constant.
    fn step(&self, counter: VRegId, value: Operand) -> Option<i64> {
        let next = self.original(value.vreg()?);
        let definition = self.definition_of_value(next)?;
        let sum = self.binary(definition)?;
        let literal = extend(truncate(self.literal(sum.other)?, sum.width()), sum.width());
        let one = sum.one.vreg().filter(|_| sum.one == plain(sum.one))?;
        let step = match sum.operation {
            Operation::Add => literal,
            Operation::Sub => literal.checked_neg()?,
            _ => return None,
        };
        (self.original(one) == counter && step > 0).then_some(step)
    }

    /// What a branch says of the counter or its next value to who takes the edge that closes the loop.
    fn bounded(&self, counter: VRegId, next: VRegId, width: u32, edge: [BlockId; 2]) -> Option<Bounded> {
        let function = self.f.view();
        let header = edge[1];
        let [mut from, mut to] = edge;
        for _ in 0..BRANCHES_MAX {
            let is_only_way = to == header || function.preds(to) == [from];
            if is_only_way && let Some(bounded) = self.bounded_by(counter, next, width, [from, to]) {
                return Some(bounded);
            }
            if from == header {
                break;
            }
            to = from;
            from = function.orders[from.index()].idom.get()?;
        }
        None
    }

    /// What the branch at the end of a block says of the counter or its next value to who goes on to another one.
    fn bounded_by(&self, counter: VRegId, next: VRegId, width: u32, edge: [BlockId; 2]) -> Option<Bounded> {
        let Passed { operands: [one, constant], comparison, ty } = self.said_by(edge)?;
        let compared = self.original(one.vreg()?);
        let bound = self.constant(constant).filter(|_| ty.bits() == width)?;
        let bound = extend(truncate(bound, width), width);
        let is_signed = ty.is_signed() && !matches!(comparison, Comparison::Lower | Comparison::LowerSame);
        (compared == counter || compared == next).then_some(Bounded {
            comparison,
            is_signed,
            is_next: compared == next,
            bound,
        })
    }

    /// The bits of a literal, or of one that a register is a copy of.
    fn constant(&self, operand: Operand) -> Option<u64> {
        let Some(vreg) = operand.vreg() else { return self.literal(operand) };
        let definition = self.definition_of_value(self.original(vreg))?;
        self.literal(self.moved(definition)?)
    }

    /// The value that a register of the loop is a copy of; itself where it is none.
    fn original(&self, vreg: VRegId) -> VRegId {
        let mut original = vreg;
        for _ in 0..COPIES_MAX {
            let moved = self.definition_of_value(original).and_then(|definition| self.moved(definition));
            let source = moved.filter(|&moved| moved == plain(moved)).and_then(Operand::vreg);
            match source.filter(|&source| self.width(source) == self.width(original)) {
                Some(source) => original = source,
                None => break,
            }
        }
        original
    }

    /// What an instruction moves into one register.
    fn moved(&self, inst: InstId) -> Option<Operand> {
        match self.f.operands_of(inst) {
            &[_, source] if self.f.form_of(inst).operation == Operation::Mov => Some(source),
            _ => None,
        }
    }
}
