//! Literals: where a constant may stand for a register.

use super::known_bits::{FIELD_MAX, is_past_the_literal};
use ptxopt_components::form::{Accepts, Form, Role, Slot};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, TypeKind, truncate};

/// The type as which a constant may stand in a slot of an instruction that is no element of a vector; none where the
/// assembler takes a register only, or reads less of the literal.
pub(crate) fn type_at(form: &Form, slot: &Slot, position: usize, bits: u64) -> Option<PtxType> {
    slot.ty.filter(|&ty| takes_constant(form, slot, ty) && !is_past_the_field(form, position, bits))
}

/// Whether literals of a type are written: bits as integers, and floats of 32 and 64 bits.
pub(crate) fn has_literals(ty: PtxType) -> bool {
    match ty.kind() {
        TypeKind::Integer | TypeKind::Bits => matches!(ty.bits(), 8 | 16 | 32 | 64),
        TypeKind::Float => matches!(ty, PtxType::F32 | PtxType::F64),
        TypeKind::Packed | TypeKind::Predicate => false,
    }
}

/// Whether a constant is the amount of a shift that the assembler cuts where it is a literal; `position` counts the result, too.
pub(crate) fn is_cut(form: &Form, position: usize, bits: u64) -> bool {
    let is_amount = matches!(form.operation, Operation::Shl | Operation::Shr) && position == 2;
    is_amount && form.types[0].is_some_and(|ty| is_past_the_literal(ty.bits(), truncate(bits, 32)))
}

/// Whether a constant is a position or length of a bit field that the assembler takes in a register only, or something of which it
/// reads fewer bits than of a register: a lane, a bound of lanes, the amount of a shift of 16 bits.
fn is_past_the_field(form: &Form, position: usize, bits: u64) -> bool {
    let source = position.saturating_sub(usize::from(form.first_source));
    let read = match (form.operation, source) {
        (Operation::Shl | Operation::Shr, 1) => {
            return form.types[0].is_some_and(|ty| is_past_the_literal(ty.bits(), truncate(bits, 32)));
        }
        (Operation::Bfe, 1..) | (Operation::Bfi, 2..) => FIELD_MAX,
        (Operation::Bmsk, _) | (Operation::Shfl, 1) => 31,
        (Operation::Shfl, 2) => 0x1F1F,
        _ => return false,
    };
    truncate(bits, 32) & !read != 0
}

/// Whether a constant may stand in a slot of type `ty`.
fn takes_constant(form: &Form, slot: &Slot, ty: PtxType) -> bool {
    use Operation::{
        Add, Addc, And, Atom, Bfe, Bfi, Bmsk, Copysign, Cvt, Div, Fma, Lop3, Mad, Madc, Match, Max, Min, Mov,
        Mul, Or, Prmt, Red, Redux, Rem, Sad, Selp, Set, Setp, Shf, Shfl, Shl, Shr, Slct, St, Sub, Subc, Vote,
        Xor,
    };
    let is_known = matches!(
        form.operation,
        Add | Addc
            | And
            | Atom
            | Bfe
            | Bfi
            | Bmsk
            | Copysign
            | Cvt
            | Div
            | Fma
            | Lop3
            | Mad
            | Madc
            | Match
            | Max
            | Min
            | Mov
            | Mul
            | Or
            | Prmt
            | Red
            | Redux
            | Rem
            | Sad
            | Selp
            | Set
            | Setp
            | Shf
            | Shfl
            | Shl
            | Shr
            | Slct
            | St
            | Sub
            | Subc
            | Vote
            | Xor
    );
    let is_place = slot.role == Role::Use && !slot.in_vector && slot.accepts.contains(Accepts::IMMEDIATE);
    is_known && has_literals(ty) && is_place && form.lanes == 1
}
