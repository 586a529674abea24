//! Selections from a selection: one, by both conditions.
//!
//! ```text
//! setp.lt.s32 p1, r1, r2;                                  setp.lt.s32 p1, r1, r2;
//! selp.b32 r5, r3, 0, p1;                             ->
//! setp.ge.s32 p2, r1, 5;                                   setp.ge.and.s32 p2, r1, 5, p1;
//! selp.b32 r6, r5, 0, p2;                                  selp.b32 r6, r3, 0, p2;
//! ```
//! Kernels for tensors of any shape make these, where each bound of an access decides whether its value is 0. `ptxas` 13.0.88
//! makes 12 machine instructions for 13 of a small kernel (`compared`).

use super::super::general_optimize::rewrite::{New, Rewrite};
use super::{Fused, Walk};
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Combiner;

/// A selection as a value where a predicate holds, and another one where it does not.
struct Selection {
    value: Operand,
    otherwise: Operand,
    condition: Operand,
}

impl Walk<'_, '_> {
    /// What a selection becomes with the one that computed one of its choices.
    pub(super) fn take_in_selection(&mut self, inst: InstId) -> Option<Fused> {
        let &[result, one, other, condition] = self.operands(inst) else { return None };
        let outer = [(one, other, condition), (other, one, contrary(condition)?)];
        outer.into_iter().find_map(|(selected, otherwise, condition)| {
            let maker = self.maker(selected)?;
            let inner = self.selection_or(maker, otherwise)?;
            if self.f.head(maker).form != self.f.head(inst).form {
                return None;
            }
            let (comparison, combined, rewrite) =
                self.both(condition, inner.condition).or_else(|| self.both(inner.condition, condition))?;
            let operands = [result, inner.value, inner.otherwise, combined].map(New::Operand);
            let selection = Rewrite::in_form(self.f.head(inst).form, &operands);
            let fused = Fused::pair(inst, selection, maker, "one selection asks for both conditions");
            Some(Fused { also: Some((comparison, rewrite)), ..fused })
        })
    }

    /// A selection, where it is `otherwise` unless its condition holds.
    fn selection_or(&self, inst: InstId, otherwise: Operand) -> Option<Selection> {
        let &[_, one, other, condition] = self.f.operands_of(inst) else { return None };
        if self.f.form_of(inst).operation != Operation::Selp {
            return None;
        }
        match (one == otherwise, other == otherwise) {
            (_, true) => Some(Selection { value: one, otherwise, condition }),
            (true, _) => Some(Selection { value: other, otherwise, condition: contrary(condition)? }),
            _ => None,
        }
    }

    /// The comparison that alone computed one condition, the predicate that it leaves once it combines its result with the other
    /// condition, and what it becomes. The other condition is known before it.
    fn both(&mut self, condition: Operand, other: Operand) -> Option<(InstId, Operand, Rewrite)> {
        let OperandKind::Predicate { vreg, negated } = condition.kind() else { return None };
        let with =
            other.vreg().filter(|&with| self.is_own(with) && self.recent.is_unchanged_since(with, vreg))?;
        let comparison = self.maker(condition).filter(|_| with != vreg)?;
        let combined = Operand::predicate(vreg, false);
        let rewrite = self.combined(comparison, combined, (comparison, negated), (Combiner::And, other))?;
        Some((comparison, combined, rewrite))
    }
}

/// A predicate that holds where another one does not.
fn contrary(condition: Operand) -> Option<Operand> {
    match condition.kind() {
        OperandKind::Predicate { vreg, negated } => Some(Operand::predicate(vreg, !negated)),
        _ => None,
    }
}
