//! Copies: which instructions leave another register or a constant in their result, and who reads those instead.

use super::Walk;
use super::clues::Clues;
use super::constants::{bits_in, moved_bits};
use super::missed::COPY_STAYS;
use super::pattern::Extension;
use super::rewrite::{New, Rewrite, bits_of};
use crate::values::literals::{self, has_literals};
use ptxopt_components::form::{Form, FormFlags, Role, Slot};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, definitions};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Modifiers, Rounding};
use ptxopt_components::types::{PtxType, TypeKind, truncate};
use ptxopt_engine::edit::accepts;
use ptxopt_engine::values::reaching::Value;

/// What a copy leaves in its result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The register of the operand, which had this value there. A predicate may be negated.
    Register(Operand, Value),
    /// These bits, as wide as the result.
    Constant(u64),
}

const NONE: u32 = u32::MAX;

/// The most elements that a register is unpacked to.
const PARTS_MAX: usize = 4;

/// The copies that the walk has passed.
#[derive(Default)]
pub(super) struct Copies {
    /// By instruction: its first entry in `sources`.
    number: Vec<u32>,
    /// One entry a result.
    sources: Vec<Option<Source>>,
}

/// Whether instructions with this operation may be copies.
pub(super) fn is_copy(operation: Operation) -> bool {
    matches!(operation, Operation::Mov | Operation::Not)
}

impl Copies {
    /// Forgets the function before; this one has `inst_count` rows of instructions.
    pub(super) fn start(&mut self, inst_count: usize) {
        self.number.clear();
        self.number.resize(inst_count, NONE);
        self.sources.clear();
    }

    /// What `inst` leaves in the result at `position`, if that is a copy.
    fn of(&self, inst: InstId, position: usize) -> Option<Source> {
        let first = self.number[inst.index()] as usize;
        self.sources.get(first..)?.get(position).copied().flatten()
    }
}

/// Whether an operation may have nothing but constants: it only moves them, or memory or other threads compute with them. Of others
/// something must be left to compute.
fn takes_constants_alone(operation: Operation) -> bool {
    use Operation::{Atom, Match, Mov, Red, Redux, Shfl, St};
    matches!(operation, Mov | St | Atom | Red | Shfl | Match | Redux)
}

impl Walk<'_, '_> {
    /// Notes the copy that `inst` leaves in its only result.
    pub(super) fn add_copy(&mut self, inst: InstId, result: VRegId, source: Source) {
        self.add_copies(inst, std::iter::once((result, Some(source))));
    }

    /// Notes what `inst` leaves in each of its results, which are its first operands.
    fn add_copies(&mut self, inst: InstId, copies: impl Iterator<Item = (VRegId, Option<Source>)>) {
        self.copies.number[inst.index()] = self.copies.sources.len() as u32;
        for (result, source) in copies {
            self.copies.sources.push(source);
            let clues = match source {
                None => Clues::empty(),
                Some(Source::Register(..)) => Clues::COPY,
                Some(Source::Constant(_)) => Clues::COPY | Clues::CONSTANT,
            };
            self.made.note(result, clues);
        }
    }

    /// The result of an instruction that writes one whole register, unguarded.
    #[inline]
    pub(super) fn only_result(&self, inst: InstId) -> Option<VRegId> {
        let (head, operands) = self.f.row(inst);
        let (vreg, is_partial) = definitions(operands.get(..1)?).next()?;
        let is_only = !head.marks.contains(Marks::MORE_RESULTS)
            || !operands[1..].iter().any(|operand| operand.is_definition());
        (is_only && !is_partial && !head.opcode.is_guarded() && self.is_own(vreg)).then_some(vreg)
    }

    /// Whether a register holds one value that only the function's own instructions change.
    pub(super) fn is_own(&self, vreg: VRegId) -> bool {
        self.f.vreg(vreg).is_own_scalar()
    }

    /// The width of a register in bits.
    #[inline]
    pub(super) fn width(&self, vreg: VRegId) -> u32 {
        self.f.vreg(vreg).ty.element().bits()
    }

    /// Notes what an instruction leaves in its result, where that is a copy.
    pub(super) fn note(&mut self, inst: InstId) {
        let (head, operands) = self.f.row(inst);
        let form = self.f.form(head.form);
        if !is_copy(form.operation) || form.lanes != 1 {
            return;
        }
        let &[_, source] = operands else {
            self.note_parts(inst);
            return;
        };
        let (is_not, moved) = (form.operation == Operation::Not, form.types[0]);
        let Some(result) = self.only_result(inst) else { return };
        let ty = self.f.vreg(result).ty.element();
        if is_not && ty != PtxType::Pred {
            return;
        }
        let noted = match source.kind() {
            OperandKind::Register { vreg, minus: false } if !source.has_payload() && vreg != result => {
                let fits = self.is_own(vreg) && self.width(vreg) == ty.bits();
                fits.then(|| Source::Register(source, self.value(vreg, inst)))
            }
            OperandKind::Predicate { vreg, negated } if vreg != result && self.is_own(vreg) => {
                Some(Source::Register(Operand::predicate(vreg, negated != is_not), self.value(vreg, inst)))
            }
            _ if ty == PtxType::Pred => {
                let bits = source.integer_bits(self.f.literals()).filter(|_| !is_not);
                bits.map(|bits| Source::Constant(u64::from(bits != 0)))
            }
            // The header of a kernel may leave one value.
            OperandKind::Special(_) => self.known(source, ty.bits(), inst).only().map(Source::Constant),
            _ => {
                let bits = moved.and_then(|of| moved_bits(source, of, ty.bits(), self.f.literals()));
                bits.map(Source::Constant)
            }
        };
        if let Some(source) = noted {
            self.add_copy(inst, result, source);
        }
    }

    /// Notes what unpacking leaves in its results, where what it unpacks is a literal, was packed, or was extended: each of them is a
    /// part of it, or what went in.
    fn note_parts(&mut self, inst: InstId) -> Option<()> {
        let (&packed, results) = self.f.operands_of(inst).split_last()?;
        let count = results.len();
        let is_whole = |operand: &Operand| {
            let is_written = operand.is_definition() && !operand.is_partial();
            match operand.vreg() {
                Some(vreg) => is_written && self.is_own(vreg),
                None => operand.kind() == OperandKind::Sink,
            }
        };
        let is_twice = (1..count).any(|at| results[..at].contains(&results[at]));
        if count > PARTS_MAX
            || self.f.head(inst).opcode.is_guarded()
            || !results.iter().all(is_whole)
            || is_twice
        {
            return None;
        }
        let mut copies = [(VRegId(0), None); PARTS_MAX];
        if packed.vreg().is_none() {
            self.parts_of_literal(inst, packed, &mut copies[..count])?;
            self.add_copies(inst, copies.into_iter().take(count));
            return Some(());
        }
        let definition = self.computed_by(packed, inst)?;
        let (form, total) = (self.f.form_of(definition), self.width(packed.vreg()?));
        // What unpacks has as many operands where one of its results goes nowhere.
        let is_packed = |operand: &Operand| !operand.is_definition() && operand.kind() != OperandKind::Sink;
        let parts = self.f.operands_of(definition).get(1..)?;
        if form.operation == Operation::Cvt {
            self.parts_of_extension(inst, definition, &mut copies[..count])?;
            self.add_copies(inst, copies.into_iter().take(count));
            return Some(());
        }
        if form.operation != Operation::Mov || parts.len() != count || !parts.iter().all(is_packed) {
            return None;
        }
        for (at, copy) in copies[..count].iter_mut().enumerate() {
            // A sink gets nothing.
            let Some(result) = self.f.operands_of(inst)[at].vreg() else { continue };
            let part = self.f.operands_of(definition)[at + 1];
            let is_part = self.width(result) * count as u32 == total;
            *copy = (result, self.part(part, result, definition).filter(|_| is_part));
        }
        self.add_copies(inst, copies.into_iter().take(count));
        Some(())
    }

    /// What unpacking a literal leaves in each result of `inst`.
    fn parts_of_literal(
        &self,
        inst: InstId,
        literal: Operand,
        copies: &mut [(VRegId, Option<Source>)],
    ) -> Option<()> {
        let ty = self.f.form_of(inst).types[0].filter(|ty| ty.bits() <= u64::BITS)?;
        let bits = bits_in(literal, ty, self.f.literals())?;
        let width = ty.bits() / copies.len() as u32;
        for (at, copy) in copies.iter_mut().enumerate() {
            if let Some(result) =
                self.f.operands_of(inst)[at].vreg().filter(|&result| self.width(result) == width)
            {
                *copy = (result, Some(Source::Constant(truncate(bits >> (at as u32 * width), width))));
            }
        }
        Some(())
    }

    /// What unpacking leaves in each result of `inst`, where `definition` has extended an integer to what it unpacks: what was
    /// extended in the first one, and zeros above, if it has no sign.
    fn parts_of_extension(
        &mut self,
        inst: InstId,
        definition: InstId,
        copies: &mut [(VRegId, Option<Source>)],
    ) -> Option<()> {
        let Extension { from, to, source } = self.conversion(definition)?;
        if from.bits() * copies.len() as u32 != to.bits() {
            return None;
        }
        for (at, copy) in copies.iter_mut().enumerate() {
            let Some(result) = self.f.operands_of(inst)[at].vreg() else { continue };
            let part = match at {
                0 => self.part(source, result, definition),
                _ => (!from.is_signed()).then_some(Source::Constant(0)),
            };
            *copy = (result, part.filter(|_| self.width(result) == from.bits()));
        }
        Some(())
    }

    /// What an element of a vector that `definition` packs leaves in a register that it is unpacked to.
    fn part(&mut self, part: Operand, result: VRegId, definition: InstId) -> Option<Source> {
        let width = self.width(result);
        match part.vreg() {
            None => part.integer_bits(self.f.literals()).map(|bits| Source::Constant(truncate(bits, width))),
            Some(vreg) => {
                let fits = part == Operand::register(vreg) && self.is_own(vreg) && self.width(vreg) == width;
                (fits && vreg != result).then(|| Source::Register(part, self.value(vreg, definition)))
            }
        }
    }

    /// What `definition` leaves in its result `vreg`, if that is a copy.
    pub(super) fn copy_in(&self, vreg: VRegId, definition: InstId) -> Option<Source> {
        let is_it = |operand: &Operand| operand.vreg() == Some(vreg);
        let position = self.f.operands_of(definition).iter().position(is_it)?;
        self.copies.of(definition, position)
    }

    /// What the register of a source operand is a copy of, as it is right before `inst`.
    pub(super) fn source_of(&mut self, vreg: VRegId, inst: InstId) -> Option<Source> {
        if !self.made.by(vreg).contains(Clues::COPY) {
            return None;
        }
        let Value::Of(definition) = self.value(vreg, inst) else { return None };
        let source = self.copy_in(vreg, definition)?;
        if let Source::Register(operand, value) = source {
            return (self.value(operand.vreg()?, inst) == value).then_some(source);
        }
        Some(source)
    }

    /// Replaces what the operands of `inst` read by what that was copied from.
    pub(super) fn replace_copies(&mut self, inst: InstId) -> Option<()> {
        let is_under_guard = self.reads_under_guard(inst);
        for position in 0..self.f.operands_of(inst).len() {
            let vreg = self.f.operands_of(inst)[position].vreg();
            let is_copy = vreg.is_some_and(|vreg| self.made.by(vreg).contains(Clues::COPY));
            // A phi may be a copy of what a constant was moved to.
            if (is_copy || is_under_guard) && self.replace_copy(inst, position)? {
                self.replace_copy(inst, position)?;
            }
        }
        Some(())
    }

    /// Replaces what one operand reads by what that was copied from; says whether there was something to replace it by.
    fn replace_copy(&mut self, inst: InstId, position: usize) -> Option<bool> {
        let operand = self.f.operands_of(inst)[position];
        let is_other =
            operand.is_definition() || operand.selector().is_some() || operand.wide_offset().is_some();
        let Some(vreg) = operand.vreg().filter(|_| !is_other) else { return Some(false) };
        let source = self.source_of(vreg, inst).or_else(|| self.source_under_guard(vreg, inst));
        let Some(source) = source else { return Some(false) };
        let Some(new) = self.operand_for(inst, position, operand, source) else {
            if self.f.remarks_are_wanted() && matches!(source, Source::Register(..)) {
                self.miss(inst, COPY_STAYS);
            }
            return Some(false);
        };
        if !self.may_propagate(inst, position, vreg, source) {
            return Some(false);
        }
        let reason = match new {
            New::Operand(_) => "what was copied in place of the copy",
            New::Constant(..) => "a constant in place of a register",
        };
        self.rewrite(inst, reason, &Rewrite::Operand(position, new))?;
        Some(true)
    }

    /// What stands in an operand's place, where its slot takes it.
    fn operand_for(&self, inst: InstId, position: usize, operand: Operand, source: Source) -> Option<New> {
        let form = self.f.form_of(inst);
        if !form.flags.contains(FormFlags::MODELLED)
            || form.effects.intersects(Effects::UNKNOWN | Effects::CALL)
            || self.f.slots_of(inst).get(position).is_some_and(|slot| form.leaves_in_flight(slot))
        {
            return None;
        }
        match source {
            Source::Register(from, _) => self.register_for(inst, position, operand, from),
            Source::Constant(bits) => self.constant_for(inst, position, operand, bits),
        }
    }

    /// The register of a copy's source in an operand's place, where its slot takes it.
    fn register_for(&self, inst: InstId, position: usize, operand: Operand, from: Operand) -> Option<New> {
        let to = from.vreg()?;
        let new = match (operand.kind(), from.kind()) {
            (OperandKind::Predicate { negated, .. }, OperandKind::Predicate { negated: also, .. }) => {
                // The assembler takes `mov.pred p, !q`; the ISA does not say so, and `not` is there for it.
                if self.f.form_of(inst).operation == Operation::Mov && negated != also {
                    return None;
                }
                Operand::predicate(to, negated != also)
            }
            _ => operand.with_vreg(to),
        };
        let [old_type, new_type] = [operand.vreg()?, to].map(|vreg| self.f.vreg(vreg).ty.element());
        let fits = match self.f.slots_of(inst).get(position) {
            // The guard.
            None => position + 1 == self.f.operands_of(inst).len() && self.f.head(inst).opcode.is_guarded(),
            Some(slot) => {
                accepts(slot, new)
                    && (old_type == new_type || self.takes_register(inst, position, old_type, new_type))
            }
        };
        fits.then_some(New::Operand(new))
    }

    /// A constant in an operand's place, where its slot takes it.
    fn constant_for(&self, inst: InstId, position: usize, operand: Operand, bits: u64) -> Option<New> {
        let (form, slots, operands) = (self.f.form_of(inst), self.f.slots_of(inst), self.f.operands_of(inst));
        let slot = slots.get(position)?;
        let ty = if slot.in_vector {
            self.type_of_element(form, slots, operands, slot)?
        } else {
            literals::type_at(form, slot, position, bits)?
        };
        let is_plain = operand == Operand::register(operand.vreg()?);
        let mut others = operands.iter().enumerate().skip(1).filter(|&(at, _)| at != position);
        let computes = others.any(|(_, other)| other.vreg().is_some());
        (is_plain && (computes || takes_constants_alone(form.operation))).then_some(New::Constant(bits, ty))
    }

    /// Whether a slot of an instruction takes a register of another type than it holds.
    ///
    /// The assembler wants integers from what asks for bits but does not compute with them: masks of threads, barriers and their
    /// states, policies. There only the sign may differ. Nor do the coordinates of a texture differ in type, nor the random bits that a
    /// conversion rounds by.
    fn takes_register(&self, inst: InstId, position: usize, old: PtxType, new: PtxType) -> bool {
        let (form, slot) = (self.f.form_of(inst), &self.f.slots_of(inst)[position]);
        if old.bits() != new.bits() || slot.in_vector {
            return false;
        }
        let is_number = PtxType::is_of_integers;
        match (slot.role, slot.ty) {
            // The assembler takes tensor memory's addresses from registers of bits alone.
            (Role::Address, _) if form.effects.contains(Effects::ASYNC | Effects::CONVERGENT) => false,
            (Role::Address, _) => is_number(old) && is_number(new) && !self.has_float_coordinates(inst),
            (Role::Use, Some(wanted)) => {
                let are_integers = |one: PtxType| one.kind() == TypeKind::Integer && is_number(new);
                let is_bits = new.kind() == TypeKind::Bits || wanted.kind() == TypeKind::Bits;
                let agrees = is_bits || wanted == new || are_integers(wanted);
                let is_wide = wanted.bits() == new.bits() && form.lanes == 1;
                let rounding = self.f.description_of(inst).qualifiers.rounding;
                let is_random = rounding == Some(Rounding::Stochastic) && wanted.kind() == TypeKind::Bits;
                is_wide
                    && agrees
                    && !is_random
                    && (are_integers(old) || self.computes_with_bits(inst, position))
            }
            _ => false,
        }
    }

    /// Whether an address of an instruction has a float in it.
    fn has_float_coordinates(&self, inst: InstId) -> bool {
        let addresses = self
            .f
            .slots_of(inst)
            .iter()
            .zip(self.f.operands_of(inst))
            .filter(|(slot, _)| slot.role == Role::Address);
        addresses
            .filter_map(|(_, operand)| operand.vreg())
            .any(|vreg| self.f.vreg(vreg).ty.element().kind() == TypeKind::Float)
    }

    /// Whether an instruction computes with what it reads there, moves it, or stores it: then bits are bits, whatever register
    /// they are in.
    fn computes_with_bits(&self, inst: InstId, position: usize) -> bool {
        use Operation::{
            Atom, CreatePolicyCvt, CreatePolicyFractional, CreatePolicyRange, Istypep, MbarrierPendingCount,
            Red, Shfl, St, Txq, TxqLevel, Unknown,
        };
        let (form, description) = (self.f.form_of(inst), self.f.description_of(inst));
        let is_asked = matches!(
            form.operation,
            CreatePolicyCvt
                | CreatePolicyFractional
                | CreatePolicyRange
                | Istypep
                | MbarrierPendingCount
                | Txq
                | TxqLevel
                | Unknown
        );
        let is_packed = description.types.iter().flatten().any(|ty| ty.kind() == TypeKind::Packed);
        let computes = match form.operation {
            St | Atom | Red => true,
            // Value, lane and bound; the members come last.
            Shfl => position < usize::from(form.first_source) + 3,
            _ => form.is_pure() && !is_asked,
        };
        computes && !is_packed && !description.qualifiers.has(Modifiers::CACHE_HINT)
    }

    /// The type that a constant has as an element of the vector that an instruction packs or stores; none where it takes none.
    ///
    /// The assembler takes no integer beside a float, nor a float beside an integer, nor either beside a component, `%v.x`.
    fn type_of_element(
        &self,
        form: &Form,
        slots: &[Slot],
        operands: &[Operand],
        slot: &Slot,
    ) -> Option<PtxType> {
        let elements = || slots.iter().zip(operands).filter(|(slot, _)| slot.in_vector);
        let ty = match form.operation {
            // What is packed goes into one register.
            Operation::Mov if form.lanes == 1 && !slots[0].in_vector => {
                bits_of(slot.ty?.bits() / elements().count() as u32)?
            }
            Operation::St => slot.ty?,
            _ => return None,
        };
        let agrees = |vreg: VRegId| {
            let own = self.f.vreg(vreg).ty.element();
            let is_of_kind = own.kind() == TypeKind::Bits
                || (own.kind() == TypeKind::Float) == (ty.kind() == TypeKind::Float);
            is_of_kind && (form.operation == Operation::St || own.bits() == ty.bits())
        };
        let takes = |operand: &Operand| operand.selector().is_none() && operand.vreg().is_none_or(agrees);
        let agree = elements().all(|(_, operand)| takes(operand));
        (agree && has_literals(ty)).then_some(ty)
    }
}
