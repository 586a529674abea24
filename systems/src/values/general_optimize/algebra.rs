//! Rules: what an instruction is replaced by, given what its operands are.
//!
//! Each rewrites one instruction in place, so that no rule makes the code longer.

use super::Walk;
use super::constants::{self, bits_in, literal_bits, truncate};
use super::copies::Source;
use super::evaluate::evaluate;
use ptxopt_components::description::Description;
use ptxopt_components::form::{Role, shape};
use ptxopt_components::ids::{InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Comparison, Modifiers, Part, Qualifiers};
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::values::reaching::Value;

/// Instructions that one condition is followed through.
const CHAIN_MAX: usize = 6;

/// Offsets that every access takes: machine instructions hold 24 bits with a sign.
const OFFSETS: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// A predicate that decides whether a register holds 1 or 0.
#[derive(Clone, Copy)]
struct Condition {
    predicate: VRegId,
    /// The register holds 1 where the predicate is false.
    is_negated: bool,
    /// What the predicate held where the register was written.
    value: Value,
}

impl Walk<'_, '_> {
    /// Makes an instruction whose sources are all constants one that moves a constant.
    pub(super) fn fold(&mut self, inst: InstId) -> Option<()> {
        let (head, form) = (self.f.head(inst), self.f.form_of(inst));
        if !form.is_pure() || matches!(form.operation, Operation::Unknown | Operation::Mov) {
            return Some(());
        }
        let Some(result) = self.only_result(inst) else { return Some(()) };
        let slot_count = form.slots.len();
        let mut sources = [0; 3];
        if !(2..=4).contains(&slot_count) || self.f.operands_of(inst).len() != slot_count {
            return Some(());
        }
        for position in 1..slot_count {
            match self.constant_at(inst, position) {
                Some(bits) => sources[position - 1] = bits,
                None => return Some(()),
            }
        }
        let width = self.width(result);
        let description = self.f.forms().describe(head.form);
        let wanted = result_width(description);
        match evaluate(description, &sources[..slot_count - 1]).filter(|_| wanted == Some(width)) {
            Some(bits) => self.become_constant(inst, result, bits, "its operands are constants"),
            None => Some(()),
        }
    }

    /// The bits of a source that is a constant.
    fn constant_at(&mut self, inst: InstId, position: usize) -> Option<u64> {
        let operand = self.f.operands_of(inst)[position];
        if let Some(bits) = literal_bits(operand, self.f.literals()) {
            return Some(bits);
        }
        let vreg = operand.vreg().filter(|_| operand == plain(operand))?;
        match self.source_of(vreg, inst) {
            Some(Source::Constant(bits)) => Some(bits),
            _ => None,
        }
    }

    /// Applies the rules of an instruction's operation.
    pub(super) fn simplify(&mut self, inst: InstId) -> Option<()> {
        match self.f.form_of(inst).operation {
            Operation::Ld | Operation::St | Operation::Atom | Operation::Red => self.fold_address(inst),
            Operation::Add | Operation::Sub => {
                self.add_constants(inst)?;
                self.drop_identity(inst)
            }
            Operation::Mul
            | Operation::And
            | Operation::Or
            | Operation::Xor
            | Operation::Shl
            | Operation::Shr => self.drop_identity(inst),
            Operation::Selp => self.select_equal(inst),
            Operation::Cvt => self.drop_conversion(inst),
            Operation::Setp => self.compare_condition(inst),
            _ => Some(()),
        }
    }

    /// `[x + o]` with `x = y + c` is `[y + (o + c)]`. Both sums are those of 64-bit addresses, so neither wraps elsewhere.
    fn fold_address(&mut self, inst: InstId) -> Option<()> {
        let slots = self.f.slots_of(inst);
        let Some(position) = slots.iter().position(|slot| slot.role == Role::Address) else {
            return Some(());
        };
        let operand = self.f.operands_of(inst)[position];
        let Some(vreg) = operand.vreg() else { return Some(()) };
        let has_other_payload = operand.has_payload() && operand.offset().is_none();
        if self.width(vreg) != 64 || has_other_payload {
            return Some(());
        }
        let Some((base, constant)) = self.sum_of(vreg, inst) else { return Some(()) };
        let offset = i64::from(operand.offset().unwrap_or(0)).checked_add(constants::extend(constant, 64));
        let Some(offset) = offset.filter(|offset| OFFSETS.contains(offset)) else { return Some(()) };
        let Some(new) = Operand::register(base).with_offset(offset) else { return Some(()) };
        self.f.change_in_place(inst, "the address holds the sum")?.set_operand(inst, position, new);
        Some(())
    }

    /// The register and the constant whose sum `vreg` is before `inst`, where the register still holds what was added.
    fn sum_of(&mut self, vreg: VRegId, inst: InstId) -> Option<(VRegId, u64)> {
        let Value::Of(definition) = self.value(vreg, inst) else { return None };
        let is_sub = match self.f.form_of(definition).operation {
            Operation::Add => false,
            Operation::Sub => true,
            _ => return None,
        };
        let &[_, base, constant] = self.f.operands_of(definition) else { return None };
        let constant = literal_bits(constant, self.f.literals())?;
        let description = self.f.description_of(definition);
        let is_plain = description.qualifiers == Qualifiers::default();
        let ty = description.types[0].filter(|ty| ty.kind() == TypeKind::Integer && is_plain)?;
        let base_vreg = base.vreg().filter(|&vreg| base == plain(base) && self.is_free(vreg))?;
        let is_whole = self.width(vreg) == ty.bits() && self.width(base_vreg) == ty.bits();
        if !is_whole || self.only_result(definition) != Some(vreg) {
            return None;
        }
        let constant = if is_sub { constant.wrapping_neg() } else { constant };
        let still = self.value(base_vreg, definition) == self.value(base_vreg, inst);
        still.then_some((base_vreg, truncate(constant, ty.bits())))
    }

    /// `(y + c) + d` is `y + (c + d)`.
    fn add_constants(&mut self, inst: InstId) -> Option<()> {
        let &[result, one, other] = self.f.operands_of(inst) else { return Some(()) };
        let Some(constant) = literal_bits(other, self.f.literals()) else { return Some(()) };
        let Some(vreg) = one.vreg().filter(|_| one == plain(one)) else { return Some(()) };
        let description = self.f.description_of(inst);
        let is_plain = description.qualifiers == Qualifiers::default();
        let is_sub = description.operation == Operation::Sub;
        let integer = description.types[0].filter(|ty| ty.kind() == TypeKind::Integer && is_plain);
        let Some(ty) = integer.filter(|ty| ty.bits() == self.width(vreg)) else { return Some(()) };
        let Some((base, inner)) = self.sum_of(vreg, inst) else { return Some(()) };
        let outer = if is_sub { constant.wrapping_neg() } else { constant };
        let sum = truncate(inner.wrapping_add(outer), ty.bits());
        let id = self.f.head(inst).form;
        let Some(form) = self.f.forms().with_operation(id, Operation::Add) else { return Some(()) };
        let mut change = self.f.change_in_place(inst, "two constants are added at once")?;
        let signed = constants::operand(&mut change, sum, signed_of(ty));
        change.set_form(inst, form, &[result, Operand::register(base), signed]);
        Some(())
    }

    /// `y + 0`, `y * 1`, `y & m` with all bits in `m`, and the like are `y`.
    fn drop_identity(&mut self, inst: InstId) -> Option<()> {
        let &[_, one, other] = self.f.operands_of(inst) else { return Some(()) };
        let Some(constant) = literal_bits(other, self.f.literals()) else { return Some(()) };
        let description = self.f.description_of(inst);
        let Qualifiers { part, modifiers, .. } = description.qualifiers;
        let is_integer = |ty: &PtxType| matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits);
        let Some(ty) = description.types[0].filter(is_integer) else { return Some(()) };
        let amount = truncate(constant, 32);
        let constant = truncate(constant, ty.bits());
        let low = part == Some(Part::Low);
        let (keeps, clears) = match description.operation {
            Operation::Add | Operation::Sub | Operation::Or | Operation::Xor => (constant == 0, false),
            Operation::Shl | Operation::Shr => (amount == 0, false),
            Operation::Mul => (low && constant == 1, low && constant == 0),
            Operation::And => (constant == truncate(u64::MAX, ty.bits()), constant == 0),
            _ => return Some(()),
        };
        if !(keeps || clears) || modifiers != Modifiers::empty() || one != plain(one) {
            return Some(());
        }
        let Some(result) = self.only_result(inst) else { return Some(()) };
        match keeps {
            true => self.become_copy(inst, result, one, "it changes nothing"),
            false => self.become_constant(inst, result, 0, "nothing is left of it"),
        }
    }

    /// A selection between two equal values is no selection.
    fn select_equal(&mut self, inst: InstId) -> Option<()> {
        let &[_, one, other, _] = self.f.operands_of(inst) else { return Some(()) };
        if one != other {
            return Some(());
        }
        let Some(result) = self.only_result(inst) else { return Some(()) };
        let ty = self.f.description_of(inst).types[0];
        match ty.and_then(|ty| bits_in(one, ty, self.f.literals())) {
            Some(bits) => self.become_constant(inst, result, bits, "both choices are the same"),
            None => self.become_copy(inst, result, one, "both choices are the same"),
        }
    }

    /// A conversion of integers from a type to one of the same width is a copy.
    fn drop_conversion(&mut self, inst: InstId) -> Option<()> {
        let description = self.f.description_of(inst);
        let [Some(to), Some(from), ..] = description.types else { return Some(()) };
        let is_integer = |ty: PtxType| ty.kind() == TypeKind::Integer;
        let converts = to.bits() != from.bits() || !is_integer(to) || !is_integer(from);
        if converts || description.qualifiers != Qualifiers::default() {
            return Some(());
        }
        let &[_, source] = self.f.operands_of(inst) else { return Some(()) };
        let Some(result) = self.only_result(inst) else { return Some(()) };
        let is_whole = |vreg: VRegId| self.width(vreg) == to.bits();
        let is_copy = is_whole(result) && source == plain(source) && source.vreg().is_some_and(is_whole);
        if is_copy { self.become_copy(inst, result, source, "it converts nothing") } else { Some(()) }
    }

    /// A comparison with 0 or 1 of what a predicate has chosen to be 1 or 0 is that predicate.
    fn compare_condition(&mut self, inst: InstId) -> Option<()> {
        let &[_, one, other] = self.f.operands_of(inst) else { return Some(()) };
        let constant = literal_bits(other, self.f.literals()).filter(|&constant| constant <= 1);
        let Some(constant) = constant else { return Some(()) };
        let description = self.f.description_of(inst);
        let Qualifiers { comparison, combiner, modifiers, .. } = description.qualifiers;
        let dialect = description.dialect;
        let is_equal = match comparison {
            Some(Comparison::Equal) => true,
            Some(Comparison::NotEqual) => false,
            _ => return Some(()),
        };
        let is_integer =
            description.types[0].is_some_and(|ty| matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits));
        let Some(vreg) = one.vreg().filter(|_| one == plain(one)) else { return Some(()) };
        if !is_integer || combiner.is_some() || modifiers != Modifiers::empty() {
            return Some(());
        }
        let Some(result) = self.only_result(inst) else { return Some(()) };
        let Some(condition) = self.condition_of(vreg, inst, CHAIN_MAX) else { return Some(()) };
        if self.value(condition.predicate, inst) != condition.value {
            return Some(());
        }
        // It is compared for being 1, or for being 0.
        let is_for_one = is_equal == (constant == 1);
        let is_negated = condition.is_negated == is_for_one;
        let operation = if is_negated { Operation::Not } else { Operation::Mov };
        let description =
            Description { dialect, ..Description::new(operation, Qualifiers::default(), &[PtxType::Pred]) };
        let Some(form) = self.f.forms().build(&description, shape::plain(2)) else { return Some(()) };
        let mut change = self.f.change_in_place(inst, "the predicate was there before it was a number")?;
        let source = Operand::predicate(condition.predicate, false);
        change.set_form(inst, form, &[Operand::predicate(result, false), source]);
        Some(())
    }

    /// The predicate for which `vreg` holds 1 before `inst`, and else 0.
    fn condition_of(&mut self, vreg: VRegId, inst: InstId, chain_left: usize) -> Option<Condition> {
        let chain_left = chain_left.checked_sub(1)?;
        let Value::Of(definition) = self.value(vreg, inst) else { return None };
        self.only_result(definition).filter(|&result| result == vreg)?;
        let is_integer = |ty: Option<PtxType>| {
            ty.is_some_and(|ty| matches!(ty.kind(), TypeKind::Integer | TypeKind::Bits) && ty.bits() >= 8)
        };
        let description = self.f.description_of(definition);
        let (operation, types) = (description.operation, description.types);
        let is_plain = description.qualifiers == Qualifiers::default();
        match (operation, self.f.operands_of(definition)) {
            (Operation::Selp, &[_, one, other, predicate]) => {
                let literals = self.f.literals();
                let is_negated = match (literal_bits(one, literals)?, literal_bits(other, literals)?) {
                    (1, 0) => false,
                    (0, 1) => true,
                    _ => return None,
                };
                let OperandKind::Predicate { vreg: predicate, negated: false } = predicate.kind() else {
                    return None;
                };
                let value = self.value(predicate, definition);
                let is_known = is_integer(types[0]) && self.is_free(predicate);
                is_known.then_some(Condition { predicate, is_negated, value })
            }
            (Operation::And, &[_, one, other]) if literal_bits(other, self.f.literals()) == Some(1) => {
                let source = one.vreg().filter(|_| one == plain(one))?;
                self.condition_of(source, definition, chain_left)
            }
            (Operation::Cvt, &[_, source]) => {
                let is_known = is_integer(types[0]) && is_integer(types[1]) && is_plain;
                let source = source.vreg().filter(|_| is_known && source == plain(source))?;
                self.condition_of(source, definition, chain_left)
            }
            _ => None,
        }
    }

    /// Makes an instruction one that moves a constant into its result.
    fn become_constant(
        &mut self,
        inst: InstId,
        result: VRegId,
        bits: u64,
        reason: &'static str,
    ) -> Option<()> {
        let Some(ty) = moved_type(self.f.vreg(result).ty.element()) else { return Some(()) };
        let description = self.move_of(inst, ty);
        let Some(form) = self.f.forms().build(&description, shape::plain(2)) else { return Some(()) };
        let mut change = self.f.change_in_place(inst, reason)?;
        let constant = constants::operand(&mut change, bits, ty);
        change.set_form(inst, form, &[Operand::register(result), constant]);
        Some(())
    }

    /// Makes an instruction one that copies a register into its result, where both are of one width.
    fn become_copy(
        &mut self,
        inst: InstId,
        result: VRegId,
        source: Operand,
        reason: &'static str,
    ) -> Option<()> {
        let Some(from) = source.vreg() else { return Some(()) };
        let (to, of) = (self.f.vreg(result).ty.element(), self.f.vreg(from).ty.element());
        let Some(ty) = moved_type(to).filter(|_| to.bits() == of.bits()) else { return Some(()) };
        let ty = if to == of { ty } else { bits_of(ty.bits())? };
        let description = self.move_of(inst, ty);
        let Some(form) = self.f.forms().build(&description, shape::plain(2)) else { return Some(()) };
        self.f.change_in_place(inst, reason)?.set_form(inst, form, &[Operand::register(result), source]);
        Some(())
    }

    /// What `mov` of a type is, in the dialect of an instruction.
    fn move_of(&self, inst: InstId, ty: PtxType) -> Description {
        let dialect = self.f.description_of(inst).dialect;
        Description { dialect, ..Description::new(Operation::Mov, Qualifiers::default(), &[ty]) }
    }
}

/// The register of an operand without anything else: what an operand is that is just read.
fn plain(operand: Operand) -> Operand {
    operand.vreg().map_or(operand, Operand::register)
}

/// Width of the result that a description says.
fn result_width(description: &Description) -> Option<u32> {
    let width = description.types[0]?.bits();
    Some(match (description.operation, description.qualifiers.part) {
        (Operation::Mul | Operation::Mad, Some(Part::Wide)) => 2 * width,
        (Operation::Popc | Operation::Clz, _) => 32,
        _ => width,
    })
}

/// The type by which a register of type `ty` is moved.
fn moved_type(ty: PtxType) -> Option<PtxType> {
    match ty.kind() {
        TypeKind::Integer | TypeKind::Bits => bits_of(ty.bits()),
        TypeKind::Float => Some(ty).filter(|ty| matches!(ty, PtxType::F32 | PtxType::F64)),
        TypeKind::Packed | TypeKind::Predicate => None,
    }
}

fn bits_of(width: u32) -> Option<PtxType> {
    match width {
        16 => Some(PtxType::B16),
        32 => Some(PtxType::B32),
        64 => Some(PtxType::B64),
        _ => None,
    }
}

/// The signed type of the same width, in which a negative constant is short.
fn signed_of(ty: PtxType) -> PtxType {
    match ty.bits() {
        16 => PtxType::S16,
        32 => PtxType::S32,
        _ => PtxType::S64,
    }
}
