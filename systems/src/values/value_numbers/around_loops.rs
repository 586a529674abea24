//! Phis of one loop that go on alike: equal, if it is assumed that they are.
//!
//! ```text
//! L: i = phi {entry, 0}, {L, i2};
//!    j = phi {entry, 0}, {L, j2};     // equal to i, if i2 and j2 are equal: which they are, if i and j are
//!    i2 = add i, 4;
//!    j2 = add j, 4;
//! ```
//! A phi that takes the same from outside of the loop as one before it, and something that looks alike from inside, is assumed to
//! be equal. When all is numbered, what comes around the loop must have one number as well: then the assumption is true by
//! induction over the rounds, and so is what was concluded. If it has not, the two are kept apart and all is numbered again.
//!
//! Papers: Alpern, Wegman and Zadeck 1988 (equal unless proved different); Simpson 1996 (with a hash table, over and over).

use super::keys::LOOP;
use super::numbers::{NO_NUMBER, Source};
use super::walk::Walk;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;

/// How often all is numbered again. Few loops have phis that look alike and are not; those that do are told apart at once.
const ROUNDS_MAX: u32 = 4;

/// What is assumed of the phis of a function.
#[derive(Default)]
pub(super) struct AroundLoops {
    /// Whether anything may be.
    assumes: bool,
    rounds: u32,
    /// Times that the limit of rounds was reached.
    pub limit_hits: u64,
    /// Phis, and those before them that they are assumed to be equal to.
    assumed: Vec<(InstId, InstId)>,
    /// Phis that were seen to be equal to none before them, with what tells them from others.
    apart: AHashMap<InstId, u64>,
}

impl AroundLoops {
    /// Makes ready for a function.
    pub(super) fn start(&mut self, assumes: bool) {
        self.assumes = assumes;
        self.rounds = 0;
        self.limit_hits = 0;
        self.assumed.clear();
        self.apart.clear();
    }

    /// Whether what was assumed has come true. If not, it is forgotten, and what is wrong will not be assumed again.
    pub(super) fn holds(&mut self, function: &FunctionView<'_>, numbers: &[u32]) -> bool {
        self.rounds += 1;
        let mut holds = true;
        for (phi, other) in self.assumed.drain(..) {
            let values = [phi, other].map(|inst| incoming(function.operands_of(inst)));
            let [ours, others] = values;
            let differs =
                ours.zip(others).map(|(one, other)| [one.1, other.1].map(|value| number(value, numbers)));
            if let Some([own, _]) = differs.into_iter().find(|[own, other]| own.is_none() || own != other) {
                holds = false;
                self.apart.insert(phi, u64::from(self.rounds) << 32 | u64::from(own.unwrap_or(NO_NUMBER)));
            }
        }
        if self.rounds == ROUNDS_MAX && !holds {
            // The last walk assumes nothing.
            self.assumes = false;
            self.limit_hits += 1;
        }
        holds
    }
}

fn number(value: Operand, numbers: &[u32]) -> Option<u32> {
    value.vreg().map(|vreg| numbers[vreg.index()]).filter(|&number| number != NO_NUMBER)
}

impl Walk<'_, '_> {
    /// The phi before this one in its block that it is assumed to be equal to. All of its values are registers.
    pub(super) fn alike(&mut self, phi: InstId, operands: &[Operand]) -> Option<InstId> {
        if !self.numbers.around_loops.assumes || !incoming(operands).any(|(from, _)| self.is_around(from)) {
            return None;
        }
        let first = self.numbers.table.words.len();
        let ty = self.function.vregs[operands[0].vreg()?.index()].ty.element();
        let apart = self.numbers.around_loops.apart.get(&phi).copied().unwrap_or(0);
        let words = [LOOP | u64::from(self.block.0) << 8 | u64::from(ty.bits()), apart];
        self.numbers.table.words.extend(words);
        for (from, value) in incoming(operands) {
            let word = if self.is_around(from) { u32::MAX } else { self.numbers.of(value.vreg()?) };
            self.numbers.table.words.push(u64::from(word));
        }
        let hash = self.numbers.table.hash(first);
        match self.numbers.table.known(hash, first) {
            Some(other) => {
                self.numbers.table.words.truncate(first);
                let function = self.function;
                let others = incoming(function.operands_of(other));
                let looks_alike = incoming(operands).zip(others).all(|((from, one), (_, other))| {
                    !self.is_around(from) || self.may_be_equal(one.vreg(), other.vreg())
                });
                if looks_alike {
                    self.numbers.around_loops.assumed.push((phi, other));
                }
                looks_alike.then_some(other)
            }
            None => {
                self.numbers.table.insert(phi, hash, first);
                None
            }
        }
    }

    /// Whether an edge from this block to the own one goes around a loop.
    fn is_around(&self, from: BlockId) -> bool {
        self.reaching.tree().dominates(self.block, from)
    }

    /// Whether two registers may turn out equal: they are, or what computes them looks alike.
    fn may_be_equal(&self, one: Option<VRegId>, other: Option<VRegId>) -> bool {
        let (Some(one), Some(other)) = (one, other) else { return false };
        if self.numbers.of(one) == self.numbers.of(other) {
            return true;
        }
        let [one, other] = [one, other].map(|vreg| self.reaching.only_definition(vreg));
        let (Some(one), Some(other)) = (one, other) else { return false };
        let [class, other_class] = [one, other].map(|inst| {
            let head = &self.function.heads[inst.index()];
            (self.numbers.meanings.of(head.form).class, head.is_phi())
        });
        let operands = [one, other].map(|inst| self.function.operands_of(inst));
        let alike = |(one, other): (&Operand, &Operand)| match (one.vreg(), other.vreg()) {
            (Some(_), Some(_)) => true,
            (None, None) => one.kind() == other.kind(),
            _ => self.is_constant(*one) || self.is_constant(*other),
        };
        class == other_class
            && operands[0].len() == operands[1].len()
            && operands[0].iter().zip(operands[1]).all(alike)
    }

    /// Whether an operand is a register with a constant in it.
    fn is_constant(&self, operand: Operand) -> bool {
        let number = operand.vreg().map(|vreg| self.numbers.of(vreg)).filter(|&number| number != NO_NUMBER);
        matches!(number.and_then(|number| self.numbers.source(number)), Some(Source::Constant(_)))
    }
}
