//! Passed branches: what the branches on the way to an instruction say of the integers that they compare.
//!
//! ```text
//!        setp.ge.u32 p1, r1, 5;
//!        @p1 bra OUT;
//!        add.u32 r2, r1, 1;          // r1 is 0 to 4 here, so r2 is 1 to 5
//!        setp.eq.u32 p2, r2, 0;      // never: a check against a sum that wraps around
//! ```
//! A branch is passed on the way to a block where one of its edges dominates the block: it is the only way into a block that
//! dominates it. The registers are values of SSA form. The definition of a value dominates the comparison, that dominates the
//! branch, and the branch the block; so between the last execution of the definition before the block and the block, the
//! branch was passed, and what it let pass is the value that is read.
//!
//! What a register is compared with may be a register itself: what is known of that bounds the other one. `r1 < r2` leaves
//! `r1` less than the greatest value, whatever `r2` is.
//!
//! # Cost
//! The comparison on the way into a block is looked up once, when it is asked for there or from what it dominates; a question
//! goes by [`PASSED_MAX`] comparisons.

use super::Walk;
use super::pattern::plain;
use crate::values::known_bits::{Known, passing};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Comparison;
use ptxopt_components::types::PtxType;

/// Comparisons that one question goes by: those that bound a value are near.
const PASSED_MAX: usize = 8;

/// Copies and negations of one predicate: front ends make two.
const COPIES_MAX: u32 = 4;

/// In the place of the number of a comparison: nothing has looked yet, or there is none.
const UNASKED: u32 = u32::MAX;
const NONE: u32 = UNASKED - 1;

/// What a branch has let pass: two integers that compare like this.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// The operands of the comparison; registers among them are values.
    pub operands: [Operand; 2],
    pub comparison: Comparison,
    pub ty: PtxType,
}

/// The comparisons that were passed on the way to each block of a function.
#[derive(Default)]
pub(super) struct PassedBranches {
    /// By block: the last comparison.
    last: Vec<u32>,
    /// Each comparison, and the one before it.
    passed: Vec<(Passed, u32)>,
    /// Blocks whose comparison is looked for.
    asked: Vec<BlockId>,
}

impl PassedBranches {
    /// Forgets the function before; this one has `block_count` blocks.
    pub(super) fn start(&mut self, block_count: usize) {
        self.last.clear();
        self.last.resize(block_count, UNASKED);
        self.passed.clear();
    }
}

impl Walk<'_, '_> {
    /// What is known of a register before `inst`, where it is `known` of what defines it.
    pub(super) fn known_after_branches(
        &mut self,
        vreg: VRegId,
        inst: InstId,
        mut known: Known,
        chain_left: u32,
    ) -> Known {
        let mut at = self.last_passed(self.f.head(inst).block);
        for _ in 0..PASSED_MAX {
            let Some(&(passed, before)) = self.passed_branches.passed.get(at as usize) else { break };
            at = before;
            let [one, other] = passed.operands;
            let (comparison, other) = if one.vreg() == Some(vreg) {
                (passed.comparison, other)
            } else if other.vreg() == Some(vreg) {
                (passed.comparison.mirrored(), one)
            } else {
                continue;
            };
            if passed.ty.bits() != known.width() {
                continue;
            }
            let other = self.known_when_compared(other, known.width(), chain_left);
            known = passing(passed.ty, comparison, known, other);
        }
        known
    }

    /// What is known of an operand of a comparison.
    fn known_when_compared(&mut self, operand: Operand, width: u32, chain_left: u32) -> Known {
        let known = match operand.vreg() {
            Some(vreg) => self
                .reaching
                .only_definition(vreg)
                .and_then(|definition| self.known_value(definition, vreg, chain_left)),
            None => self.literal(operand).map(|bits| Known::constant(bits, width)),
        };
        known.filter(|known| known.width() == width).unwrap_or_else(|| Known::unknown(width))
    }

    /// The number of the last comparison that was passed on the way to a block.
    fn last_passed(&mut self, block: BlockId) -> u32 {
        let known = self.passed_branches.last[block.index()];
        if known != UNASKED {
            return known;
        }
        let is_in_ssa = self.f.state().flags.contains(CodeFlags::SSA);
        let (mut at, mut last) = (is_in_ssa.then_some(block), NONE);
        self.passed_branches.asked.clear();
        while let Some(block) = at {
            self.passed_branches.asked.push(block);
            at = self.f.order_of(block).idom.get();
            let of_idom = at.map_or(UNASKED, |idom| self.passed_branches.last[idom.index()]);
            if of_idom != UNASKED {
                last = of_idom;
                break;
            }
        }
        while let Some(block) = self.passed_branches.asked.pop() {
            let idom = self.f.order_of(block).idom.get();
            let from = idom.filter(|&idom| self.f.preds(block) == [idom]);
            if let Some(passed) = from.and_then(|from| self.said_by([from, block])) {
                self.passed_branches.passed.push((passed, last));
                last = self.passed_branches.passed.len() as u32 - 1;
            }
            self.passed_branches.last[block.index()] = last;
        }
        last
    }

    /// What the branch at the end of a block says of two integers on the edge to another one.
    pub(super) fn said_by(&self, [from, to]: [BlockId; 2]) -> Option<Passed> {
        let &[target, other] = self.f.succs(from) else { return None };
        let branch = self.f.insts_of(from).next_back()?;
        let is_branch = self.f.form_of(branch).operation == Operation::Bra && target != other;
        let OperandKind::Predicate { vreg, negated } = self.f.guard_of(branch).filter(|_| is_branch)?.kind()
        else {
            return None;
        };
        let (definition, negated) = self.asked(vreg, negated)?;
        let description = self.f.description_of(definition);
        let &[_, one, other] = self.f.operands_of(definition) else { return None };
        let comparison = description.qualifiers.comparison?;
        // With three operands no other predicate takes part.
        let is_setp = description.operation == Operation::Setp;
        let ty = description.types[0].filter(|&ty| is_setp && ty.is_of_integers())?;
        let is_value = |operand: Operand| match operand.vreg() {
            Some(vreg) => operand == plain(operand) && self.definition_of_value(vreg).is_some(),
            None => self.literal(operand).is_some(),
        };
        let holds = (to == target) != negated;
        let comparison = if holds { comparison } else { comparison.negated(ty) };
        (is_value(one) && is_value(other)).then_some(Passed { operands: [one, other], comparison, ty })
    }

    /// The instruction that makes a predicate, past copies and negations, and whether it is read negated. The walk may not have come
    /// to those of a branch when it is asked what the branch says.
    fn asked(&self, vreg: VRegId, negated: bool) -> Option<(InstId, bool)> {
        let mut definition = self.definition_of_value(vreg)?;
        let mut negated = negated;
        for _ in 0..COPIES_MAX {
            let is_negation = match self.f.form_of(definition).operation {
                Operation::Mov => false,
                Operation::Not => true,
                _ => break,
            };
            let &[_, source] = self.f.operands_of(definition) else { break };
            let OperandKind::Predicate { vreg, negated: is_negated } = source.kind() else { break };
            definition = self.definition_of_value(vreg)?;
            negated ^= is_negation ^ is_negated;
        }
        Some((definition, negated))
    }

    /// The instruction that alone writes a register that is a value.
    pub(super) fn definition_of_value(&self, vreg: VRegId) -> Option<InstId> {
        let definition = self.reaching.only_definition(vreg)?;
        let is_value = self.f.vreg(vreg).is_value();
        (is_value && self.only_result(definition) == Some(vreg)).then_some(definition)
    }
}
