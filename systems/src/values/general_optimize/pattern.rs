//! What rules ask about an instruction and what its operands were computed by.

use super::Walk;
use super::constants::literal_bits;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::values::reaching::Value;

/// An unguarded instruction on integers or bits, with one whole result, two sources and no qualifier but the part of a
/// product.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    pub(super) operation: Operation,
    pub(super) part: Option<Part>,
    pub(super) ty: PtxType,
    pub(super) result: VRegId,
    pub(super) one: Operand,
    pub(super) other: Operand,
}

impl Binary {
    /// Bits of a source; a shift amount has 32, whatever is shifted.
    pub(super) fn width(&self) -> u32 {
        self.ty.bits()
    }
}

impl Walk<'_, '_> {
    /// An instruction as one with two sources, if it is one.
    pub(super) fn binary(&self, inst: InstId) -> Option<Binary> {
        let &[_, one, other] = self.f.operands_of(inst) else { return None };
        let description = self.f.description_of(inst);
        let ty = description.types[0].filter(|ty| is_integer(*ty))?;
        let part = description.qualifiers.part;
        if description.qualifiers != (Qualifiers { part, ..Qualifiers::default() }) {
            return None;
        }
        let result = self.only_result(inst)?;
        Some(Binary { operation: description.operation, part, ty, result, one, other })
    }

    /// The bits of an operand that is an integer literal.
    pub(super) fn literal(&self, operand: Operand) -> Option<u64> {
        literal_bits(operand, self.f.literals())
    }

    /// The instruction that computed what a register holds before `inst`, as its only result.
    pub(super) fn computed_by(&mut self, operand: Operand, inst: InstId) -> Option<InstId> {
        let vreg = operand.vreg().filter(|_| operand == plain(operand))?;
        let Value::Of(definition) = self.value(vreg, inst) else { return None };
        (self.only_result(definition) == Some(vreg)).then_some(definition)
    }

    /// Whether an operand that `definition` reads is the same before `inst`: a literal, or a register that nothing has
    /// written since.
    pub(super) fn is_still(&mut self, operand: Operand, definition: InstId, inst: InstId) -> bool {
        match operand.vreg() {
            None => self.literal(operand).is_some(),
            Some(vreg) => {
                !operand.has_payload()
                    && self.is_free(vreg)
                    && self.value(vreg, definition) == self.value(vreg, inst)
            }
        }
    }
}

/// The register of an operand without anything else: what an operand is that is just read.
pub(super) fn plain(operand: Operand) -> Operand {
    operand.vreg().map_or(operand, Operand::register)
}

/// Whether values of the type are integers, signed or not, or bits.
pub(super) fn is_integer(ty: PtxType) -> bool {
    matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits)
}

/// The signed type of the same width, in which a negative constant is short.
pub(super) fn signed_of(ty: PtxType) -> PtxType {
    match ty.bits() {
        16 => PtxType::S16,
        32 => PtxType::S32,
        _ => PtxType::S64,
    }
}
