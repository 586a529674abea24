//! What rules ask about an instruction and what its operands were computed by.

use super::Walk;
use super::rewrite::New;
use crate::values::known_bits::is_past_the_literal;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::{PtxType, TypeKind, extend, truncate};
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

/// What extended a register to more bits.
#[derive(Clone, Copy)]
pub(super) struct Extension {
    /// The type that was extended: with its sign, if it has one.
    pub(super) from: PtxType,
    /// The type that it was extended to.
    pub(super) to: PtxType,
    /// What was extended. It may be wider than its type.
    pub(super) source: Operand,
}

impl Walk<'_, '_> {
    /// An instruction as one with two sources, if it is one.
    pub(super) fn binary(&self, inst: InstId) -> Option<Binary> {
        let (head, operands) = self.f.row(inst);
        let &[_, one, other] = operands else { return None };
        if !self.f.form(head.form).flags.contains(FormFlags::PLAIN) {
            return None;
        }
        let description = self.f.description_of(inst);
        let ty = description.types[0].filter(|ty| ty.is_of_integers())?;
        let result = self.only_result(inst)?;
        let part = description.qualifiers.part;
        let is_shift = matches!(description.operation, Operation::Shl | Operation::Shr);
        let amount = if is_shift { self.literal(other).map(|bits| truncate(bits, 32)) } else { None };
        if amount.is_some_and(|amount| is_past_the_literal(ty.bits(), amount)) {
            return None;
        }
        Some(Binary { operation: description.operation, part, ty, result, one, other })
    }

    /// The bits of an operand that is an integer literal.
    pub(super) fn literal(&self, operand: Operand) -> Option<u64> {
        operand.integer_bits(self.f.literals())
    }

    /// The instruction that computed what a register holds before `inst`, as its only result.
    pub(super) fn computed_by(&mut self, operand: Operand, inst: InstId) -> Option<InstId> {
        let vreg = operand.vreg().filter(|_| operand == plain(operand))?;
        let Value::Of(definition) = self.value(vreg, inst) else { return None };
        (self.only_result(definition) == Some(vreg)).then_some(definition)
    }

    /// A conversion between integers, with a result as wide as its type: the two types and the source.
    pub(super) fn conversion(&self, inst: InstId) -> Option<Extension> {
        let form = self.f.form_of(inst);
        if form.operation != Operation::Cvt || !form.flags.contains(FormFlags::PLAIN) {
            return None;
        }
        let &[_, source] = self.f.operands_of(inst) else { return None };
        let [Some(to), Some(from), ..] = self.f.description_of(inst).types else { return None };
        let is_integer = is_integer_type(to) && is_integer_type(from);
        let vreg = source.vreg().filter(|_| is_integer && source == plain(source))?;
        let is_whole = self.width(self.only_result(inst)?) == to.bits() && self.is_own(vreg);
        is_whole.then_some(Extension { from, to, source })
    }

    /// The extension that computed what a register holds before `inst`, where its source is still there.
    pub(super) fn extension(&mut self, operand: Operand, inst: InstId) -> Option<Extension> {
        let definition = self.computed_by(operand, inst)?;
        let found = self.conversion(definition).filter(|found| found.to.bits() > found.from.bits())?;
        self.is_still(found.source, definition, inst).then_some(found)
    }

    /// What stands beside an extended value where both are taken before they were extended, to `width` bits: a literal of type `ty`, or
    /// the source of another extension of that type.
    pub(super) fn beside(
        &mut self,
        extension: &Extension,
        other: Operand,
        inst: InstId,
        width: u32,
        ty: PtxType,
    ) -> Option<New> {
        match self.literal(other) {
            Some(literal) => Some(New::Constant(narrowed(literal, width, extension.from)?, ty)),
            None => {
                let other = self.extension(other, inst)?;
                (other.from == extension.from).then_some(New::Operand(other.source))
            }
        }
    }

    /// Whether an operand that `definition` reads is the same before `inst`: a literal, or a register that nothing has
    /// written since.
    ///
    /// In SSA form nothing writes it again. But where `definition` makes the next value of a variable of a loop, as in
    /// `i = i + 1`, both would live at once, and a copy would keep the old one when the form is left: not worth it. So it is where phis
    /// read both values, from ways out of the middle of an iteration.
    pub(super) fn is_still(&mut self, operand: Operand, definition: InstId, inst: InstId) -> bool {
        match operand.vreg() {
            None => self.literal(operand).is_some(),
            Some(vreg) => {
                let origin = |vreg: VRegId| self.origins.origin(vreg);
                let next = self.only_result(definition).filter(|&next| origin(next) == origin(vreg));
                let is_next = next.is_some_and(|next| {
                    let value = self.reaching.only_definition(vreg);
                    value.is_none_or(|value| self.f.head(value).is_phi())
                        || self.is_read_by_phi(vreg) && self.is_read_by_phi(next)
                });
                !operand.has_payload()
                    && !is_next
                    && self.is_own(vreg)
                    && self.value(vreg, definition) == self.value(vreg, inst)
            }
        }
    }
}

/// The register of an operand without anything else: what an operand is that is just read.
pub(super) fn plain(operand: Operand) -> Operand {
    operand.vreg().map_or(operand, Operand::register)
}

/// Whether a type is one of integers, with a sign or without.
pub(super) fn is_integer_type(ty: PtxType) -> bool {
    ty.kind() == TypeKind::Integer
}

/// A literal of `width` bits, where `ty` extended to that width has it among its values.
pub(super) fn narrowed(literal: u64, width: u32, ty: PtxType) -> Option<u64> {
    let cut = truncate(literal, ty.bits());
    let extended = if ty.is_signed() { extend(cut, ty.bits()) as u64 } else { cut };
    (truncate(extended, width) == truncate(literal, width)).then_some(cut)
}

/// The integer type of a width, with a sign or without.
pub(super) fn integer_of(width: u32, has_sign: bool) -> PtxType {
    match (width, has_sign) {
        (8, true) => PtxType::S8,
        (8, false) => PtxType::U8,
        (16, true) => PtxType::S16,
        (16, false) => PtxType::U16,
        (32, true) => PtxType::S32,
        (32, false) => PtxType::U32,
        (_, true) => PtxType::S64,
        (_, false) => PtxType::U64,
    }
}

/// The signed type of the same width, in which a negative constant is short.
pub(super) fn signed_of(ty: PtxType) -> PtxType {
    integer_of(ty.bits(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each literal of 16 bits against each value of 8, extended.
    #[test]
    fn literals_are_narrowed_where_a_value_is_extended_to_them() {
        for literal in 0..=u16::MAX {
            let signed = (i8::MIN..=i8::MAX).find(|&value| i16::from(value) as u16 == literal);
            let unsigned = (0..=u8::MAX).find(|&value| u16::from(value) == literal);
            let narrowed = |ty| narrowed(u64::from(literal), 16, ty);
            assert_eq!(narrowed(PtxType::S8), signed.map(|value| u64::from(value as u8)), "{literal}");
            assert_eq!(narrowed(PtxType::U8), unsigned.map(u64::from), "{literal}");
        }
        assert_eq!(narrowed(u64::MAX, 64, PtxType::S32), Some(0xFFFF_FFFF));
        assert_eq!(narrowed(u64::MAX, 64, PtxType::U32), None);
        assert_eq!(narrowed(0xFFFF_FFFF_FFFF_FFFB, 32, PtxType::S16), Some(0xFFFB), "a literal of 32 bits");
    }
}
