//! Comparisons that are combined with a predicate.
//!
//! ```text
//! setp.lt.s32 p1, r1, r2;  and.pred p3, p1, p2;       ->   setp.lt.and.s32 p3, r1, r2, p2;
//! setp.lt.f32 p1, f1, f2;  or.pred p3, !p1, p2;       ->   setp.geu.or.f32 p3, f1, f2, p2;
//! ```

use super::super::general_optimize::rewrite::{New, Rewrite, instruction};
use super::{Fused, Walk};
use ptxopt_components::form::shape;
use ptxopt_components::ids::InstId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Combiner, Qualifiers};
use ptxopt_components::types::PtxType;

impl Walk<'_, '_> {
    /// What an operation on predicates becomes with the comparison that computed one of them.
    pub(super) fn take_in_comparison(&mut self, inst: InstId) -> Option<Fused> {
        let form = self.f.form_of(inst);
        let combiner = match form.operation {
            _ if form.types[0] != Some(PtxType::Pred) => return None,
            Operation::And => Combiner::And,
            Operation::Or => Combiner::Or,
            Operation::Xor => Combiner::Xor,
            _ => return None,
        };
        let &[result, one, other] = self.operands(inst) else { return None };
        // The later one of two comparisons stands second as a rule: what it reads moves less far.
        [(other, one), (one, other)].into_iter().find_map(|(computed, with)| {
            let OperandKind::Predicate { negated, .. } = computed.kind() else { return None };
            with.vreg()?;
            let maker = self.maker(computed)?;
            let rewrite = self.combined(inst, result, (maker, negated), (combiner, with))?;
            Some(Fused::pair(inst, rewrite, maker, "the comparison combines its result itself"))
        })
    }

    /// A comparison, or its contrary, that combines its result with a predicate, in the place of `inst`.
    pub(super) fn combined(
        &mut self,
        inst: InstId,
        result: Operand,
        (comparison, is_negated): (InstId, bool),
        (combiner, with): (Combiner, Operand),
    ) -> Option<Rewrite> {
        let &[_, left, right] = self.f.operands_of(comparison) else { return None };
        let description = *self.f.description_of(comparison);
        let [Some(ty), None, ..] = description.types else { return None };
        // One that combines its result already has three sources.
        if description.operation != Operation::Setp {
            return None;
        }
        let comparison = description.qualifiers.comparison?;
        let comparison = if is_negated { comparison.negated(ty) } else { comparison };
        let qualifiers =
            Qualifiers { comparison: Some(comparison), combiner: Some(combiner), ..description.qualifiers };
        let operands = [result, left, right, with].map(New::Operand);
        let shape = shape::plain(operands.len());
        instruction(self.f, inst, Operation::Setp, qualifiers, &[ty], shape, &operands)
    }
}
