//! Constants as bits, and as operands.

use crate::values::literals::is_cut;
use ptxopt_components::form::{Form, Slot};
use ptxopt_components::ids::Id;
use ptxopt_components::literal::{Literal, LiteralKind};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::types::{PtxType, TypeKind, extend, truncate};
use ptxopt_engine::edit::Change;

/// The bits of a literal in a slot of type `ty`. `1.5` is written as a double: a slot of 32 bits takes it rounded, which is
/// not known here.
pub(crate) fn bits_in(operand: Operand, ty: PtxType, literals: &[Literal]) -> Option<u64> {
    match operand.kind() {
        OperandKind::F32(bits) => Some(u64::from(bits)),
        OperandKind::Literal(literal) if literals[literal.index()].kind() == LiteralKind::F64 => {
            (ty.bits() == 64).then_some(literals[literal.index()].bits)
        }
        _ => operand.integer_bits(literals),
    }
}

/// The bits of a literal that a `mov` of type `of` leaves in a register of `width` bits: it is as wide as the type of the `mov`.
pub(crate) fn moved_bits(source: Operand, of: PtxType, width: u32, literals: &[Literal]) -> Option<u64> {
    let bits = bits_in(source, of, literals).filter(|_| of.bits() == width)?;
    Some(truncate(bits, width))
}

/// The bits of a literal in a slot of type `ty`, where literal and slot are of one kind: an integer is not the bits of a float,
/// nor a single float those of a double.
pub(crate) fn literal_in(operand: Operand, ty: PtxType, literals: &[Literal]) -> Option<u64> {
    let is_float = matches!(ty, PtxType::F32 | PtxType::F64);
    let is_integer = operand.integer_bits(literals).is_some();
    let is_other = ty == PtxType::F64 && matches!(operand.kind(), OperandKind::F32(_));
    if is_float != is_integer && !is_other { bits_in(operand, ty, literals) } else { None }
}

/// The bits of a literal that is an operand of an instruction, in the type of its slot; none of an amount that the assembler cuts.
pub(crate) fn literal_at(
    form: &Form,
    slots: &[Slot],
    position: usize,
    operand: Operand,
    literals: &[Literal],
) -> Option<u64> {
    let bits = literal_in(operand, slots.get(position)?.ty?, literals)?;
    (!is_cut(form, position, bits)).then_some(bits)
}

/// A literal with these bits for a slot of type `ty`: of unsigned types it has no sign.
pub(crate) fn operand(change: &mut Change<'_, '_>, bits: u64, ty: PtxType) -> Operand {
    let bits = truncate(bits, ty.bits());
    let is_unsigned = matches!(ty, PtxType::U8 | PtxType::U16 | PtxType::U32 | PtxType::U64);
    let value = match ty.kind() {
        TypeKind::Float => bits,
        _ if is_unsigned => bits,
        _ => extend(bits, ty.bits()) as u64,
    };
    change.constant(value, ty)
}
