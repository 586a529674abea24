//! The rules: what an instruction is replaced by, given what its operands are.
//!
//! A rule looks at one instruction and says what stands in its place: another instruction, or another operand. It changes
//! nothing itself, so a rule that does not apply costs no more than its questions. No rule makes the code longer: an
//! instruction becomes one instruction, and what its operands were computed by stays where it is, for dead-code elimination
//! to find.
//!
//! `docs/RULES.md` lists them, with the guards of each and the smallest program that goes wrong without it.
//!
//! # Adding a rule
//! 1. Write the golden files: one with the line `// RULE: NAME` that the rule changes, and twins with `// NOT-RULE: NAME` that
//!    it does not, one for each guard.
//! 2. Add a row to `RULES` of its family, and the function beside it: of `Apply`, the kind that says most. Ask for literals
//!    first, for the definitions that reach last: most instructions are no candidates. Where the rule needs a source that
//!    certain operations computed, name the clue (`clues.rs`): it is not asked about others.
//! 3. Add kernels to `tests/tests/all/rule_cases`: every rule runs on thousands of operands, before and after.
//! 4. Write the page again: `BLESS=1 cargo test -p ptxopt rules_page`.

mod addresses;
mod bits;
mod carries;
mod chains;
mod comparisons;
mod conditions;
mod conversions;
mod differences;
mod folding;
mod funnel_shifts;
mod halves;
mod identities;
mod known_values;
mod mads;
mod magnitudes;
mod overflow_checks;
mod parts;
mod products;
mod quotients;
mod repetitions;
mod selections;
mod spaces;
mod stores;
mod sums;

#[cfg(test)]
mod tests;

use super::Walk;
use super::clues::Clues;
use super::pattern::Binary;
use super::rewrite::Rewrite;
use ptxopt_components::ids::{InstId, Span};
use ptxopt_components::operation::Operation;
use std::sync::LazyLock;

pub(super) use addresses::{ACCESSES, with_more};
pub(super) use conversions::type_of_mask;
pub(super) use stores::stored_bits;
pub(super) use sums::sum_of;

/// Rewrites of one instruction. Each rule leaves less to do, so chains are short: a sum becomes a shift, and that a copy.
const REWRITES_MAX: usize = 8;

/// A rule.
pub struct Rule {
    /// Its name in golden files and in the list of rules.
    pub name: &'static str,
    /// The operations of the instructions that it is tried on.
    pub operations: &'static [Operation],
    /// What it looks for, and what comes of it.
    pub pattern: &'static str,
    /// What a remark says.
    pub reason: &'static str,
    /// What must hold beside the pattern.
    pub guards: &'static [Guard],
    /// Clues of which it takes one at least to apply.
    when: Clues,
    apply: Apply,
}

/// How a rule looks at an instruction, once it has one of the operations. Each gives what is to become of it, if the rule
/// applies.
#[derive(Clone, Copy)]
enum Apply {
    /// As it is.
    Any(fn(&mut Walk<'_, '_>, InstId) -> Option<Rewrite>),
    /// As one with two sources, where it is one.
    Binary(fn(&mut Walk<'_, '_>, InstId, Binary) -> Option<Rewrite>),
    /// As one with two sources of which the second is an integer literal, and the bits of that.
    WithLiteral(fn(&mut Walk<'_, '_>, InstId, Binary, u64) -> Option<Rewrite>),
}

/// A condition of a rule.
pub struct Guard {
    /// What must hold.
    pub needs: &'static str,
    /// The smallest program that goes wrong where it does not.
    pub without: &'static str,
}

/// The rules of one file.
pub struct Family {
    /// What they are about.
    pub name: &'static str,
    /// In the order in which they are tried.
    pub rules: &'static [Rule],
}

/// Every rule, in the order in which those of an operation are tried.
pub const FAMILIES: &[Family] = &[
    Family { name: "Folding", rules: folding::RULES },
    Family { name: "Addresses", rules: addresses::RULES },
    Family { name: "State spaces", rules: spaces::RULES },
    Family { name: "Sums", rules: sums::RULES },
    Family { name: "Differences", rules: differences::RULES },
    Family { name: "Carries", rules: carries::RULES },
    Family { name: "Identities", rules: identities::RULES },
    Family { name: "Bits", rules: bits::RULES },
    Family { name: "Halves", rules: halves::RULES },
    Family { name: "Parts", rules: parts::RULES },
    Family { name: "Chains", rules: chains::RULES },
    Family { name: "Funnel shifts", rules: funnel_shifts::RULES },
    Family { name: "Products", rules: products::RULES },
    Family { name: "Products with sums", rules: mads::RULES },
    Family { name: "Known values", rules: known_values::RULES },
    Family { name: "Quotients", rules: quotients::RULES },
    Family { name: "Selections", rules: selections::RULES },
    Family { name: "Repetitions", rules: repetitions::RULES },
    Family { name: "Stores", rules: stores::RULES },
    Family { name: "Conversions", rules: conversions::RULES },
    Family { name: "Comparisons", rules: comparisons::RULES },
    Family { name: "Magnitudes", rules: magnitudes::RULES },
    Family { name: "Overflow checks", rules: overflow_checks::RULES },
    Family { name: "Conditions", rules: conditions::RULES },
];

/// A rule as it is tried.
struct Tried {
    /// Clues that it takes all of.
    needs: Clues,
    /// Clues that it takes one of.
    when: Clues,
    rule: &'static Rule,
}

/// The rules by the operation that they are tried on.
pub(super) struct Index {
    tried: Vec<Tried>,
    /// By operation: its rules, and clues of which it takes one at least for any of them to apply.
    by_operation: Vec<(Span, Clues)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut tried: Vec<Tried> = Vec::new();
    let by_operation = Operation::ALL.iter().map(|operation| {
        let first = tried.len();
        let all = FAMILIES.iter().flat_map(|family| family.rules);
        let of_operation = all.filter(|rule| rule.operations.contains(operation));
        tried.extend(of_operation.map(|rule| Tried { needs: rule.apply.needs(), when: rule.when, rule }));
        let of_one = |tried: &Tried| if tried.when == Clues::ALWAYS { tried.needs } else { tried.when };
        let when = tried[first..].iter().map(of_one).fold(Clues::empty(), Clues::union);
        (Span::between(first, tried.len()), when)
    });
    let by_operation = by_operation.collect();
    Index { tried, by_operation }
});

impl Index {
    /// The index of all rules.
    pub(super) fn get() -> &'static Self {
        &INDEX
    }

    /// Whether some rule may apply to an instruction with an operation and clues.
    #[inline]
    pub(super) fn may_apply(&self, operation: Operation, clues: Clues) -> bool {
        clues.intersects(self.by_operation[operation as usize].1)
    }

    /// The rules for an operation, in the order in which they are tried.
    #[inline]
    fn of(&self, operation: Operation) -> &[Tried] {
        &self.tried[self.by_operation[operation as usize].0.range()]
    }
}

impl Apply {
    /// The clues that an instruction must have.
    fn needs(self) -> Clues {
        match self {
            Self::Any(_) | Self::Binary(_) => Clues::ALWAYS,
            Self::WithLiteral(_) => Clues::LITERAL_LAST,
        }
    }
}

impl Walk<'_, '_> {
    /// Rewrites an instruction with an operation, to which there are these clues, by the first rule that applies, and what it has
    /// become again; gives nothing where the bisect limit is reached.
    pub(super) fn apply_rules(
        &mut self,
        inst: InstId,
        mut operation: Operation,
        mut clues: Clues,
    ) -> Option<()> {
        let rules: &'static Index = self.rules;
        for _ in 0..REWRITES_MAX {
            let mut parsed = None;
            let may_apply = |tried: &&Tried| clues.contains(tried.needs) && clues.intersects(tried.when);
            let tried = rules.of(operation).iter().filter(may_apply);
            let found = tried.map(|tried| tried.rule).find_map(|rule| {
                let rewrite = match rule.apply {
                    Apply::Any(apply) => apply(self, inst),
                    Apply::Binary(apply) => {
                        let (binary, _) = (*parsed.get_or_insert_with(|| self.parse(inst)))?;
                        apply(self, inst, binary)
                    }
                    Apply::WithLiteral(apply) => {
                        let (binary, literal) = (*parsed.get_or_insert_with(|| self.parse(inst)))?;
                        apply(self, inst, binary, literal?)
                    }
                };
                Some((rule, rewrite?))
            });
            let Some((rule, rewrite)) = found else {
                if self.f.remarks_are_wanted() {
                    self.note_missed(inst);
                }
                return Some(());
            };
            self.rewrite(inst, rule.reason, &rewrite)?;
            operation = self.f.form_of(inst).operation;
            clues = self.clues_now(inst, operation);
        }
        self.f.stats().limits_hit += 1;
        Some(())
    }

    /// An instruction as one with two sources, if it is one, and the bits of the second source, if that is an integer literal.
    fn parse(&self, inst: InstId) -> Option<(Binary, Option<u64>)> {
        let binary = self.binary(inst)?;
        Some((binary, self.literal(binary.other)))
    }
}
