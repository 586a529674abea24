//! Two instructions that unpack one half each.
//!
//! ```text
//! mov.b64 {_, r1}, rd1;
//! ...                         ->   mov.b64 {r2, r1}, rd1;
//! mov.b64 {r2, _}, rd1;
//! ```
//! Nothing in between names the second half, or writes what is unpacked. The second instruction goes: the first half may be read
//! already. An integer does not stand beside a float in a vector, nor a float beside one of another type. A half that is unpacked to a
//! register that nothing reads is as good as none: those become sinks only in phase 84.

use super::super::general_optimize::rewrite::{New, Rewrite};
use super::{Fused, Walk};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, writes};
use ptxopt_components::operation::Operation;

/// How many instructions after the first one the second may stand.
const WINDOW: usize = 64;

/// An instruction that unpacks one half of a register, unguarded.
#[derive(Clone, Copy)]
pub(super) struct Half {
    inst: InstId,
    /// Its position in the block.
    at: usize,
    of: VRegId,
    /// The position of the half among the operands: 0 or 1.
    position: usize,
    to: VRegId,
}

impl Walk<'_, '_> {
    /// What an earlier instruction that unpacks one half becomes with the one at position `at` of its block, which unpacks the
    /// other. Where there is none, that one is noted among `halves`.
    pub(super) fn complete(&self, halves: &mut Vec<Half>, rows: &[InstId], at: usize) -> Option<Fused> {
        let half = self.half(rows[at], at)?;
        let is_other = |first: &&Half| {
            let is_alike = self.f.head(first.inst).form == self.f.head(half.inst).form;
            // It may have been completed already.
            let has_place = self.is_unread(self.f.operands_of(first.inst)[half.position]);
            // Others may have deleted it, or left a sink there.
            let is_still = self.f.head(first.inst).is_live()
                && self.f.operands_of(first.inst)[first.position].vreg() == Some(first.to);
            is_still
                && first.of == half.of
                && first.to != half.to
                && is_alike
                && has_place
                && self.stand_beside(first.to, half.to)
        };
        // What stands after the last one stands after those before it, too.
        let last = halves.iter().rev().take_while(|first| at - first.at <= WINDOW).find(is_other);
        let Some(&first) = last.filter(|first| self.is_quiet(half, &rows[first.at + 1..at])) else {
            halves.push(half);
            return None;
        };
        let mut operands = [Operand::sink(); 5].map(New::Operand);
        for (new, &operand) in operands.iter_mut().zip(self.f.operands_of(first.inst)) {
            *new = New::Operand(operand);
        }
        operands[half.position] = New::register(half.to);
        let rewrite = Rewrite::Instruction(self.f.head(first.inst).form, operands, 3);
        Some(Fused::pair(first.inst, rewrite, half.inst, "both halves are unpacked at once"))
    }

    /// Whether no instruction of `rows` names the half, or writes what is unpacked.
    fn is_quiet(&self, half: Half, rows: &[InstId]) -> bool {
        rows.iter().filter(|&&row| self.f.head(row).is_live()).all(|&row| {
            let operands = self.f.operands_of(row);
            let names_half = operands.iter().any(|operand| operand.vreg() == Some(half.to));
            !names_half && writes(operands).all(|vreg| vreg != half.of)
        })
    }

    /// An instruction as one that unpacks a half.
    fn half(&self, inst: InstId, at: usize) -> Option<Half> {
        if self.f.form_of(inst).operation != Operation::Mov {
            return None;
        }
        let &[low, high, source] = self.f.operands_of(inst) else { return None };
        let (position, to) = match (self.is_unread(low), self.is_unread(high)) {
            (true, false) => (1, high.vreg()?),
            (false, true) => (0, low.vreg()?),
            _ => return None,
        };
        let of = source.vreg().filter(|_| !source.has_payload())?;
        let is_alone = [to, of].into_iter().all(|vreg| self.is_own(vreg));
        is_alone.then_some(Half { inst, at, of, position, to })
    }

    /// Whether the assembler takes two registers in one vector.
    fn stand_beside(&self, one: VRegId, other: VRegId) -> bool {
        let [one, other] = [one, other].map(|vreg| self.f.vreg(vreg).ty.element());
        one.stands_beside(other)
    }

    /// Whether a result is a sink, or a register that nothing reads.
    pub(super) fn is_unread(&self, result: Operand) -> bool {
        let is_register = |vreg: VRegId| self.names[vreg.index()].is_unread() && self.is_own(vreg);
        result.kind() == OperandKind::Sink || result.vreg().is_some_and(is_register)
    }
}
