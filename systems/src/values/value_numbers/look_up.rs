//! Looking up: whether what an instruction computes is known, and what its results are then.

use super::keys::STORED;
use super::meanings::{Meaning, Source as From};
use super::numbers::{Again, Known, Other};
use super::walk::Walk;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::values::reaching::{Place, Value};

/// The results of an instruction.
#[derive(Clone, Copy)]
pub(super) struct Results {
    /// How many there are.
    pub count: usize,
    /// Their widths in bits, a byte each.
    pub widths: u64,
    /// Whether a variable is among them: only what another instruction has computed is of use. Others are values, which get
    /// numbers.
    pub have_variables: bool,
}

/// The most results of an instruction that is looked up.
pub(super) const RESULTS_MAX: usize = 4;

impl Walk<'_, '_> {
    /// Looks up the key from `first` on, and says whether it was put into the table.
    pub(super) fn look_up(
        &mut self,
        inst: InstId,
        meaning: &Meaning,
        guard: Option<Operand>,
        results: Results,
        operands: &[Operand],
        first: usize,
    ) -> bool {
        if matches!(meaning.source, From::Load(_))
            && let seen = self.numbers.table.words[first + 1]
            && seen & STORED != 0
            && let Some(number) = self.stored(inst, InstId(seen as u32), operands)
        {
            self.take(inst, Known::Number(number), operands, results.have_variables);
            return false;
        }
        let hash = self.numbers.table.hash(first);
        if let Some(known) = self.numbers.table.known(hash, first) {
            self.take(inst, Known::LikeResultsOf(known), operands, results.have_variables);
            return false;
        }
        let Some(guard) = guard else {
            if !results.have_variables {
                if let Some(comparison) = meaning.comparison {
                    self.look_up_opposite(inst, comparison, meaning.class, first);
                }
                self.numbers.table.insert(inst, hash, first);
            }
            return !results.have_variables;
        };
        // Not known always; perhaps under this guard.
        let Some(word) = self.word(inst, guard, operands.len()) else { return false };
        self.numbers.table.words[first] |= 1;
        self.numbers.table.words.push(word);
        let hash = self.numbers.table.hash(first);
        match self.numbers.table.known(hash, first) {
            Some(known) if self.holds_still(known, inst) => {
                self.numbers.again.push(Again { inst, known: Known::HeldByResultsOf(known) });
                false
            }
            Some(_) => {
                self.numbers.table.replace(inst, hash, first);
                false
            }
            None => {
                self.numbers.table.insert(inst, hash, first);
                true
            }
        }
    }

    /// Gives the results of an instruction the numbers that are known of them, unless they have variables among them.
    pub(super) fn take(&mut self, inst: InstId, known: Known, operands: &[Operand], have_variables: bool) {
        self.numbers.again.push(Again { inst, known });
        if have_variables {
            return;
        }
        for (position, operand) in
            operands.iter().enumerate().take_while(|(_, operand)| operand.is_definition())
        {
            let number = match known {
                Known::Number(number) => number,
                Known::LikeResultsOf(other) | Known::HeldByResultsOf(other) => {
                    let result = self.function.operands_of(other)[position].vreg();
                    self.numbers.of(result.expect("what is in the table has registers as results"))
                }
            };
            if let Some(vreg) = operand.vreg() {
                self.numbers.give(vreg, number);
            }
        }
    }

    /// Whether the results of `known`, which is guarded, still hold before `inst` what it gave them.
    fn holds_still(&mut self, known: InstId, inst: InstId) -> bool {
        let place = Place { block: self.block, before: inst };
        let results = self.function.operands_of(known).iter().take_while(|operand| operand.is_definition());
        results.filter_map(|operand| operand.vreg()).all(|vreg| {
            let value = self.reaching.value(vreg, place, || *self.function);
            value == Value::Of(known)
        })
    }

    /// The number of what `store` stored, if it fills the only result of a load.
    fn stored(&mut self, load: InstId, store: InstId, operands: &[Operand]) -> Option<u32> {
        let width = |vreg: VRegId| {
            let ty = self.function.vregs[vreg.index()].ty;
            (ty.lanes == 1).then(|| ty.element().bits())
        };
        let [loaded, stored] = [load, store].map(|inst| self.form(inst));
        let bits = loaded.types[0]?.bits();
        let &[_, value] = self.function.operands_of(store) else { return None };
        if loaded.lanes != 1 || stored.lanes != 1 || stored.types[0]?.bits() != bits {
            return None;
        }
        if operands[0].vreg().and_then(width) != Some(bits) {
            return None;
        }
        match value.vreg() {
            Some(vreg) => (value == Operand::register(vreg) && width(vreg) == Some(bits))
                .then(|| self.register(vreg, store))
                .flatten(),
            None => {
                let constant = self.constant(value, stored.types[0]?)?;
                Some(self.numbers.number_of(Other::Constant(constant)))
            }
        }
    }
}
