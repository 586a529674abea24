//! Rewrites: what is to stand in the place of an instruction, decided before anything is changed.
//!
//! A rewrite is made of a form that takes its operands, registers and literals of the right kind and width included, so
//! carrying it out cannot fail.

use super::Walk;
use super::constants;
use ptxopt_components::description::Description;
use ptxopt_components::form::{Accepts, Form, FormFlags, Slot, shape};
use ptxopt_components::ids::{FormId, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::{Change, FunctionEditor, accepts};

/// The most operands of an instruction that a rule makes: `lop3`, the guard excluded.
const OPERANDS_MAX: usize = 5;

/// What is to stand in the place of an operand.
#[derive(Clone, Copy, Debug)]
pub(in crate::values) enum New {
    /// An operand that exists.
    Operand(Operand),
    /// Bits, for a slot of this type.
    Constant(u64, PtxType),
}

impl New {
    /// A register that is no predicate, as it is.
    pub(in crate::values) fn register(vreg: VRegId) -> Self {
        Self::Operand(Operand::register(vreg))
    }
}

/// What is to become of an instruction. Its guard stays.
#[derive(Clone, Copy, Debug)]
pub(in crate::values) enum Rewrite {
    /// The operand at a position is replaced.
    Operand(usize, New),
    /// It becomes one of another form, with this many of these operands.
    Instruction(FormId, [New; OPERANDS_MAX], usize),
}

impl Rewrite {
    /// It becomes one of a form that takes these operands.
    pub(in crate::values) fn in_form(form: FormId, operands: &[New]) -> Self {
        let mut all = [New::Operand(Operand::sink()); OPERANDS_MAX];
        all[..operands.len()].copy_from_slice(operands);
        Self::Instruction(form, all, operands.len())
    }

    /// Changes `inst` as decided.
    pub(in crate::values) fn carry_out(&self, change: &mut Change<'_, '_>, inst: InstId) {
        let mut made = |new: New| match new {
            New::Operand(operand) => operand,
            New::Constant(bits, ty) => constants::operand(change, bits, ty),
        };
        match *self {
            Self::Operand(position, new) => {
                let operand = made(new);
                change.set_operand(inst, position, operand);
            }
            Self::Instruction(form, operands, count) => {
                let operands = operands.map(&mut made);
                change.set_form(inst, form, &operands[..count]);
            }
        }
    }
}

/// The instruction `operation` in the place of `inst`, in its dialect; none where no form says it, or where a slot does not
/// take its operand.
pub(in crate::values) fn instruction(
    f: &mut FunctionEditor<'_>,
    inst: InstId,
    operation: Operation,
    qualifiers: Qualifiers,
    types: &[PtxType],
    shape: &[u8],
    operands: &[New],
) -> Option<Rewrite> {
    let dialect = f.description_of(inst).dialect;
    let description = Description { dialect, ..Description::new(operation, qualifiers, types) };
    let id = f.forms().build(&description, shape)?;
    let element = |vreg: VRegId| f.vreg(vreg).ty.element();
    let (form, slots) = (f.form(id), f.slots(id));
    let fits = slots.iter().zip(operands).all(|(slot, &new)| match new {
        New::Constant(..) => slot.accepts.contains(Accepts::IMMEDIATE),
        New::Operand(operand) => {
            accepts(slot, operand) && operand.vreg().is_none_or(|vreg| takes_type(form, slot, element(vreg)))
        }
    });
    if !fits || operands.len() != slots.len() {
        return None;
    }
    Some(Rewrite::in_form(id, operands))
}

impl Walk<'_, '_> {
    /// Carries out a rewrite; gives nothing where the bisect limit is reached.
    pub(super) fn rewrite(&mut self, inst: InstId, reason: &'static str, rewrite: &Rewrite) -> Option<()> {
        let mut change = self.f.change_in_place(inst, reason)?;
        rewrite.carry_out(&mut change, inst);
        self.is_rewritten = true;
        Some(())
    }

    /// The instruction `operation` in the place of `inst`; none where no form says it, or where a slot does not take its
    /// operand.
    pub(super) fn instead(
        &mut self,
        inst: InstId,
        operation: Operation,
        qualifiers: Qualifiers,
        types: &[PtxType],
        operands: &[New],
    ) -> Option<Rewrite> {
        let shape = shape::plain(operands.len());
        instruction(self.f, inst, operation, qualifiers, types, shape, operands)
    }

    /// `mov.b64 result, {low, high}` in the place of `inst`.
    pub(super) fn pack(
        &mut self,
        inst: InstId,
        result: VRegId,
        low: Operand,
        high: Operand,
    ) -> Option<Rewrite> {
        let operands = [Operand::register(result), low, high].map(New::Operand);
        let (qualifiers, types) = (Qualifiers::default(), [PtxType::B64]);
        instruction(self.f, inst, Operation::Mov, qualifiers, &types, b"#,{#,#}", &operands)
    }

    /// An instruction in another form that takes the same operands but one; none where a slot does not take that.
    pub(super) fn in_another_form(
        &mut self,
        inst: InstId,
        form: FormId,
        (position, operand): (usize, Operand),
    ) -> Option<Rewrite> {
        let count = self.f.slots_of(inst).len();
        let old = self.f.operands_of(inst).get(..count).filter(|_| count <= OPERANDS_MAX)?;
        let mut operands = [New::Operand(Operand::sink()); OPERANDS_MAX];
        for (new, &operand) in operands.iter_mut().zip(old) {
            *new = New::Operand(operand);
        }
        operands[position] = New::Operand(operand);
        let (_, forms) = self.f.view_and_forms();
        let slots = forms.slots(form);
        let fits = slots.len() == count && accepts(slots.get(position)?, operand);
        fits.then_some(Rewrite::Instruction(form, operands, count))
    }

    /// An instruction that moves a constant into `result`; into a predicate, its lowest bit.
    pub(super) fn move_of_constant(&mut self, inst: InstId, result: VRegId, bits: u64) -> Option<Rewrite> {
        let (ty, to) = match self.f.vreg(result).ty.element() {
            PtxType::Pred => (PtxType::Pred, Operand::predicate(result, false)),
            ty => (moved_type(ty)?, Operand::register(result)),
        };
        let operands = [New::Operand(to), New::Constant(bits, ty)];
        self.instead(inst, Operation::Mov, Qualifiers::default(), &[ty], &operands)
    }

    /// An instruction that moves `source` into `result`: a register of the same width, or a predicate, which may be negated.
    pub(super) fn move_of(&mut self, inst: InstId, result: VRegId, source: Operand) -> Option<Rewrite> {
        let from = source.vreg()?;
        let (to, of) = (self.f.vreg(result).ty.element(), self.f.vreg(from).ty.element());
        let is_negated = matches!(source.kind(), OperandKind::Predicate { negated: true, .. });
        let (operation, ty) = match (to, of) {
            (PtxType::Pred, PtxType::Pred) if is_negated => (Operation::Not, PtxType::Pred),
            (PtxType::Pred, PtxType::Pred) => (Operation::Mov, PtxType::Pred),
            _ if to.bits() != of.bits() => return None,
            _ if to == of => (Operation::Mov, moved_type(to)?),
            _ => (Operation::Mov, bits_of(to.bits())?),
        };
        let (result, source) = match ty {
            PtxType::Pred => (Operand::predicate(result, false), Operand::predicate(from, false)),
            _ => (Operand::register(result), source),
        };
        let operands = [result, source].map(New::Operand);
        self.instead(inst, operation, Qualifiers::default(), &[ty], &operands)
    }
}

/// Whether a register of type `ty` stands in a slot: bits agree with all of their width, integers with one another.
/// Conversions take wider ones.
fn takes_type(form: &Form, slot: &Slot, ty: PtxType) -> bool {
    let Some(wanted) = slot.ty else { return false };
    if slot.in_vector {
        return form.lanes == 1 && ty.is_of_integers() && 2 * ty.bits() == wanted.bits();
    }
    let is = |kind: TypeKind| wanted.kind() == kind || ty.kind() == kind;
    let are_integers = wanted.kind() == TypeKind::Integer && ty.kind() == TypeKind::Integer;
    let is_wider = ty.bits() > wanted.bits() && form.flags.contains(FormFlags::CONVERTS);
    wanted == ty || (wanted.bits() == ty.bits() || is_wider) && (is(TypeKind::Bits) || are_integers)
}

/// The type by which a register of type `ty` is moved.
fn moved_type(ty: PtxType) -> Option<PtxType> {
    match ty.kind() {
        TypeKind::Integer | TypeKind::Bits => bits_of(ty.bits()),
        TypeKind::Float => Some(ty).filter(|ty| matches!(ty, PtxType::F32 | PtxType::F64)),
        TypeKind::Packed | TypeKind::Predicate => None,
    }
}

/// The type of bits of a width that registers have.
pub(super) fn bits_of(width: u32) -> Option<PtxType> {
    match width {
        16 => Some(PtxType::B16),
        32 => Some(PtxType::B32),
        64 => Some(PtxType::B64),
        _ => None,
    }
}
