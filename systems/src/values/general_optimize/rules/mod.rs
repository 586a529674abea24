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
//!    first, for the definitions that reach last: most instructions are no candidates.
//! 3. Add kernels to `tests/tests/all/rules.rs`, which runs every rule on thousands of operands before and after.
//! 4. Write the page again: `BLESS=1 cargo test -p ptxopt rules_page`.

mod addresses;
mod bits;
mod chains;
mod conditions;
mod conversions;
mod folding;
mod halves;
mod identities;
mod known_values;
mod products;
mod quotients;
mod selections;
mod sums;

#[cfg(test)]
mod tests;

use super::Walk;
use super::pattern::Binary;
use super::rewrite::Rewrite;
use ptxopt_components::ids::{InstId, Span};
use ptxopt_components::operation::Operation;
use std::sync::LazyLock;

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
    Family { name: "Sums", rules: sums::RULES },
    Family { name: "Identities", rules: identities::RULES },
    Family { name: "Bits", rules: bits::RULES },
    Family { name: "Halves", rules: halves::RULES },
    Family { name: "Chains", rules: chains::RULES },
    Family { name: "Products", rules: products::RULES },
    Family { name: "Known values", rules: known_values::RULES },
    Family { name: "Quotients", rules: quotients::RULES },
    Family { name: "Selections", rules: selections::RULES },
    Family { name: "Conversions", rules: conversions::RULES },
    Family { name: "Conditions", rules: conditions::RULES },
];

/// What of an instruction rules look at: which of them can be tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parsed {
    /// The instruction as it is.
    Any,
    /// It has two sources.
    Binary,
    /// The second one of the two is a literal.
    WithLiteral,
}

/// A rule, and how it looks at an instruction: beside it, since that is asked of every one that is tried.
type Tried = (Apply, &'static Rule);

/// The rules by the operation that they are tried on.
pub(super) struct Index {
    tried: Vec<Tried>,
    /// By operation, and for each by what is looked at.
    of_operation: Vec<[Span; 3]>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let all = || FAMILIES.iter().flat_map(|family| family.rules);
    let mut tried: Vec<Tried> = Vec::new();
    let of_operation = Operation::ALL.iter().map(|operation| {
        let first = tried.len();
        tried.extend(all().filter(|rule| rule.operations.contains(operation)).map(|rule| (rule.apply, rule)));
        let of_all = Span::between(first, tried.len());
        let mut without = |parsed| {
            let first = tried.len();
            for at in of_all.range().filter(|_| !of_all.is_empty()) {
                if tried[at].0.needs() <= parsed {
                    tried.push(tried[at]);
                }
            }
            Span::between(first, tried.len())
        };
        [without(Parsed::Any), without(Parsed::Binary), of_all]
    });
    let of_operation = of_operation.collect();
    Index { tried, of_operation }
});

impl Index {
    /// The index of all rules.
    pub(super) fn get() -> &'static Self {
        &INDEX
    }

    /// The rules that are tried on an operation, in order.
    #[inline]
    fn of(&self, operation: Operation, parsed: Parsed) -> &[Tried] {
        &self.tried[self.of_operation[operation as usize][parsed as usize].range()]
    }
}

impl Apply {
    /// What an instruction must be.
    fn needs(self) -> Parsed {
        match self {
            Self::Any(_) => Parsed::Any,
            Self::Binary(_) => Parsed::Binary,
            Self::WithLiteral(_) => Parsed::WithLiteral,
        }
    }
}

impl Walk<'_, '_> {
    /// Rewrites an instruction by the first rule that applies, and what it has become again; gives nothing where the bisect limit
    /// is reached.
    pub(super) fn apply_rules(&mut self, inst: InstId) -> Option<()> {
        let rules: &'static Index = self.rules;
        let mut operation = self.f.form_of(inst).operation;
        for _ in 0..REWRITES_MAX {
            if rules.of(operation, Parsed::WithLiteral).is_empty() {
                return Some(());
            }
            let binary = self.binary(inst);
            let literal = binary.and_then(|binary| self.literal(binary.other));
            let parsed = match (binary, literal) {
                (None, _) => Parsed::Any,
                (_, None) => Parsed::Binary,
                _ => Parsed::WithLiteral,
            };
            let found = rules.of(operation, parsed).iter().find_map(|&(apply, rule)| {
                let rewrite = match apply {
                    Apply::Any(apply) => apply(self, inst),
                    Apply::Binary(apply) => apply(self, inst, binary?),
                    Apply::WithLiteral(apply) => apply(self, inst, binary?, literal?),
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
        }
        self.f.stats().limits_hit += 1;
        Some(())
    }
}
