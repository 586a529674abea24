//! Elements: what a load or store moves, one register, literal or sink for each value.

use super::addresses::Access;
use super::numbers::Sources;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{LiteralKind, Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::PtxType;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// What stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All of a register of this type.
    Register(VRegId, PtxType),
    /// A literal, as the bits in memory.
    Literal(u64),
    /// A sink: the value is not loaded, or what is in memory stays.
    Nothing,
}

/// One value of an access.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its first byte, counted from the first byte of the access.
    pub offset: u32,
    /// What stands for it.
    pub held: Held,
}

/// The values that an instruction loads or stores; none where one is something else than [`Held`] says, or where the
/// instruction has operands beside them.
pub fn elements(
    view: &FunctionView<'_>,
    forms: &FormTable,
    inst: InstId,
) -> Option<impl Iterator<Item = Element> + use<>> {
    let head = &view.heads[inst.index()];
    let (form, slots) = (forms.get(head.form), forms.slots(head.form));
    let (ty, lanes) = (form.types[0]?, usize::from(form.lanes));
    // The address stands before what is stored, and after what is loaded.
    let first = usize::from(form.operation == Operation::St);
    if slots.len() != lanes + 1 || lanes > LANES_MAX {
        return None;
    }
    let operands = &view.operands_of(inst)[first..first + lanes];
    let mut all = [Held::Nothing; LANES_MAX];
    for (held, &operand) in all.iter_mut().zip(operands) {
        *held = held_by(view, operand, ty)?;
    }
    let bytes = ty.bits() / 8;
    Some((0..lanes).map(move |lane| Element { offset: lane as u32 * bytes, held: all[lane] }))
}

/// The most values that an access moves: `.v8`.
const LANES_MAX: usize = 8;

fn held_by(view: &FunctionView<'_>, operand: Operand, ty: PtxType) -> Option<Held> {
    match operand.kind() {
        OperandKind::Sink => Some(Held::Nothing),
        OperandKind::Int(value) => integer(i64::from(value) as u64, ty),
        OperandKind::F32(bits) if ty.bits() == 32 => Some(Held::Literal(u64::from(bits))),
        OperandKind::Literal(literal) => {
            let literal = view.pools.literals[literal.index()];
            match literal.kind() {
                LiteralKind::Signed | LiteralKind::Unsigned => integer(literal.bits, ty),
                LiteralKind::F64 if ty.bits() == 64 => Some(Held::Literal(literal.bits)),
                _ => None,
            }
        }
        OperandKind::Register { vreg, minus: false } if !operand.has_payload() => {
            let declared = view.vregs[vreg.index()].ty;
            let have = declared.element();
            let is_wider = have.bits() > ty.bits();
            let fits = match have {
                // What is wider is extended or cut off, which only integers are.
                _ if is_wider => !is_float(have) && !is_float(ty) && have.bits() <= 64,
                _ => have.bits() == ty.bits() && have.bits() >= 16,
            };
            (fits && declared.lanes == 1).then_some(Held::Register(vreg, have))
        }
        _ => None,
    }
}

fn integer(bits: u64, ty: PtxType) -> Option<Held> {
    let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
    (!is_float(ty)).then_some(Held::Literal(bits & mask))
}

/// Whether registers of a type do not take part in integer instructions.
#[must_use]
pub fn is_float(ty: PtxType) -> bool {
    matches!(ty, PtxType::F16 | PtxType::F16x2 | PtxType::F32 | PtxType::F64)
}

/// The values that an instruction loads into registers that nothing reads, as bits.
pub fn unread(sources: Sources<'_>, inst: InstId) -> u8 {
    let Sources { view, forms, def_use, .. } = sources;
    let form = forms.get(view.heads[inst.index()].form);
    let is_unread = |operand: &Operand| {
        operand.vreg().is_some_and(|vreg| {
            let is_seen_elsewhere = !view.vregs[vreg.index()].is_value();
            def_use.use_count(vreg) == 0 && !is_seen_elsewhere
        })
    };
    let results = view.operands_of(inst).iter().take(usize::from(form.lanes).min(LANES_MAX));
    let bits = results.enumerate().map(|(lane, operand)| u8::from(is_unread(operand)) << lane);
    if form.operation == Operation::Ld { bits.fold(0, |all, bit| all | bit) } else { 0 }
}

impl Access {
    /// Its values. What is loaded and not read is as good as not loaded.
    pub(super) fn elements(
        &self,
        view: &FunctionView<'_>,
        forms: &FormTable,
    ) -> impl Iterator<Item = Element> + use<> {
        let unread = self.unread;
        let all = elements(view, forms, self.inst).expect("an access that moves anything else is refused");
        all.enumerate().map(move |(lane, element)| match unread >> lane & 1 {
            0 => element,
            _ => Element { held: Held::Nothing, ..element },
        })
    }
}
