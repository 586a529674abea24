//! Moves of whole registers: what SSA form needs where it is left.

use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{FormId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::forms::FormTable;

/// The type of the `mov` that copies a register of type `ty` to another one of that type; none where there is no such
/// instruction, so that registers of the type take no part in SSA form.
#[must_use]
pub fn moved_as(ty: PtxType) -> Option<PtxType> {
    match (ty.kind(), ty.bits()) {
        (TypeKind::Predicate, _) => Some(PtxType::Pred),
        (TypeKind::Float, 32 | 64) => Some(ty).filter(|ty| matches!(ty, PtxType::F32 | PtxType::F64)),
        (_, 16) => Some(PtxType::B16),
        (_, 32) => Some(PtxType::B32),
        (_, 64) => Some(PtxType::B64),
        _ => None,
    }
}

/// The form of the `mov` that copies a value of type `ty`.
///
/// # Panics
/// Where there is none: such registers take no part in SSA form.
pub fn move_form(forms: &mut FormTable, ty: PtxType) -> FormId {
    let ty = moved_as(ty).expect("only registers that can be moved are in SSA form");
    let description = Description::new(Operation::Mov, Qualifiers::default(), &[ty]);
    forms.build(&description, shape::plain(2)).expect("registers of the type can be moved")
}

/// A register of type `ty` as an operand.
#[must_use]
pub fn operand_of(ty: PtxType, vreg: VRegId) -> Operand {
    if ty == PtxType::Pred { Operand::predicate(vreg, false) } else { Operand::register(vreg) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_moved_at_their_width() {
        let moved = [PtxType::U16, PtxType::F16, PtxType::S32, PtxType::F32, PtxType::F64, PtxType::U64]
            .map(moved_as);
        let wanted = [PtxType::B16, PtxType::B16, PtxType::B32, PtxType::F32, PtxType::F64, PtxType::B64];
        assert_eq!(moved, wanted.map(Some));
        assert_eq!(moved_as(PtxType::Pred), Some(PtxType::Pred));
        assert_eq!(moved_as(PtxType::B8), None, "no mov is that narrow");
        assert_eq!(moved_as(PtxType::B128), None, "old targets have none");
    }
}
