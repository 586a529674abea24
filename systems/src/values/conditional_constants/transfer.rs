//! What an instruction leaves in its result, given what is known of what it reads.
//!
//! Operations are folded by [`evaluate`], which says what it leaves alone. Here is what it does not know: moves, selections, logic
//! of predicates, and operations that one source decides alone, as a zero does a product.
//!
//! # Why results only fall
//! When what is read falls, so does the result, as the solver relies on: top where something that could decide is still top,
//! a constant where all that decide are constants, and bottom otherwise.

use super::lattice::Cell;
use crate::values::general_optimize::constants::{literal_at, moved_bits};
use crate::values::general_optimize::evaluate::{SOURCES_MAX, evaluate, in_register};
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::literal::Literal;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, truncate};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// A function, its forms, and one instruction.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'f> {
    pub(crate) function: &'f FunctionView<'f>,
    pub(crate) forms: &'f FormTable,
    pub(crate) inst: InstId,
}

impl<'f> Transfer<'f> {
    fn operands(&self) -> &'f [Operand] {
        self.function.operands_of(self.inst)
    }

    pub(crate) fn is_phi(&self) -> bool {
        self.function.heads[self.inst.index()].is_phi()
    }

    /// The register that the instruction writes, if it writes one and that whole and always.
    pub(crate) fn only_result(&self) -> Option<VRegId> {
        let head = &self.function.heads[self.inst.index()];
        let (first, others) = self.operands().split_first()?;
        let is_whole = first.is_definition() && !first.is_partial() && !head.opcode.is_guarded();
        let is_only = !head.marks.contains(Marks::MORE_RESULTS)
            || !others.iter().any(|operand| operand.is_definition());
        first.vreg().filter(|_| is_whole && is_only)
    }

    /// Whether the instruction unpacks a register, always.
    pub(crate) fn unpacks(&self) -> bool {
        let head = &self.function.heads[self.inst.index()];
        let is_plain = self.forms.get(head.form).operation == Operation::Mov && !head.opcode.is_guarded();
        is_plain && self.operands().len() > 2
    }

    /// What the instruction leaves in one of several results, `result`: a part of what it [unpacks](Self::unpacks).
    pub(crate) fn part(&self, result: VRegId, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        let form = self.forms.get(self.function.heads[self.inst.index()].form);
        let Some((&source, results)) = self.operands().split_last() else { return Cell::Bottom };
        let width = form.types[0].map_or(0, PtxType::bits) / results.len().max(1) as u32;
        let at = results.iter().position(|operand| operand.vreg() == Some(result) && !operand.is_partial());
        match (at, source.vreg()) {
            (Some(at), Some(vreg))
                if self.unpacks()
                    && source == Operand::register(vreg)
                    && self.width(vreg) <= u64::BITS
                    && self.width(vreg) == width * results.len() as u32
                    && self.width(result) == width =>
            {
                let packed = cell(vreg);
                packed
                    .bits()
                    .map_or(packed, |bits| Cell::Constant(truncate(bits >> (at as u32 * width), width)))
            }
            _ => Cell::Bottom,
        }
    }

    /// What the instruction leaves in its [only result](Self::only_result). It is no phi; `cell` says what is known of registers.
    pub(crate) fn result(&self, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        let form = self.forms.get(self.function.heads[self.inst.index()].form);
        let is_logic = form.types[0] == Some(PtxType::Pred);
        match (form.operation, self.operands()) {
            (Operation::Mov, &[result, source]) if form.lanes == 1 => {
                result.vreg().map_or(Cell::Bottom, |result| self.moved(result, source, form.types[0], cell))
            }
            (Operation::Selp, &[_, _, _, predicate]) => self.selected(predicate, cell),
            (Operation::Not, &[_, source]) if is_logic => self.truth(source, cell).negated_if(true),
            (Operation::And | Operation::Or | Operation::Xor, &[_, one, other]) if is_logic => {
                let (one, other) = (self.truth(one, cell), self.truth(other, cell));
                combined(form.operation, one, other)
            }
            _ => self.computed(cell),
        }
    }

    fn width(&self, vreg: VRegId) -> u32 {
        self.function.vregs[vreg.index()].ty.element().bits()
    }

    fn moved(
        &self,
        result: VRegId,
        source: Operand,
        moved: Option<PtxType>,
        cell: &mut impl FnMut(VRegId) -> Cell,
    ) -> Cell {
        let to = self.function.vregs[result.index()].ty.element();
        match source.kind() {
            OperandKind::Register { vreg, minus: false } => {
                let is_whole = !source.has_payload() && self.width(vreg) == to.bits();
                if is_whole { cell(vreg) } else { Cell::Bottom }
            }
            _ if to == PtxType::Pred => self.truth(source, cell),
            _ => Cell::of(moved.and_then(|of| moved_bits(source, of, to.bits(), self.literals()))),
        }
    }

    /// Of a choice that is not known, what both have in common.
    fn selected(&self, predicate: Operand, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        let chosen = match self.truth(predicate, cell) {
            Cell::Top => Cell::Top,
            Cell::Constant(truth) => self.source(if truth != 0 { 1 } else { 2 }, cell),
            Cell::Bottom => self.source(1, cell).meet(self.source(2, cell)),
        };
        chosen.bits().map_or(chosen, |bits| self.whole(bits))
    }

    /// Whether a predicate holds.
    fn truth(&self, operand: Operand, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        match operand.kind() {
            OperandKind::Predicate { vreg, negated } => cell(vreg).negated_if(negated),
            _ => operand.integer_bits(self.literals()).map_or(Cell::Bottom, |bits| Cell::of_truth(bits != 0)),
        }
    }

    /// What is known of a source that is no predicate, as wide as its slot or wider.
    fn source(&self, position: usize, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        let operand = self.operands()[position];
        match operand.vreg() {
            Some(vreg) if operand == Operand::register(vreg) => cell(vreg),
            Some(_) => Cell::Bottom,
            None => {
                let form = self.function.heads[self.inst.index()].form;
                let (form, slots) = (self.forms.get(form), self.forms.slots(form));
                Cell::of(literal_at(form, slots, position, operand, self.literals()))
            }
        }
    }

    fn computed(&self, cell: &mut impl FnMut(VRegId) -> Cell) -> Cell {
        let id = self.function.heads[self.inst.index()].form;
        let form = self.forms.get(id);
        let count = self.operands().len().saturating_sub(1);
        // A guard or a hidden carry is an operand too.
        if !(1..=SOURCES_MAX).contains(&count) || !form.is_pure() || form.slots.len() != count + 1 {
            return Cell::Bottom;
        }
        let description = self.forms.describe(id);
        let width = description.types[0].map_or(64, PtxType::bits);
        let is_plain = form.flags.contains(FormFlags::PLAIN)
            && description.types[0].is_some_and(PtxType::is_of_integers);
        let deciding = if is_plain { deciding(form.operation) } else { None };
        let (mut sources, mut has_top, mut has_bottom) = ([0; SOURCES_MAX], false, false);
        for (at, source) in sources.iter_mut().enumerate().take(count) {
            match self.source(at + 1, cell) {
                Cell::Constant(bits) => {
                    let decides = |of: &Deciding| truncate(bits ^ of.bits, width) == 0 && at < of.sources;
                    if let Some(of) = deciding.filter(decides) {
                        return self.whole(truncate(of.bits, width));
                    }
                    *source = bits;
                }
                // One that decides may follow.
                Cell::Bottom if deciding.is_some() => has_bottom = true,
                Cell::Bottom => return Cell::Bottom,
                Cell::Top => has_top = true,
            }
        }
        if has_top {
            return Cell::Top;
        }
        let bits = if has_bottom { None } else { evaluate(description, &sources[..count]) };
        bits.map_or(Cell::Bottom, |bits| self.whole(bits))
    }

    /// The bits of a result, where the instruction says all of those of its register.
    fn whole(&self, bits: u64) -> Cell {
        let description = self.forms.describe(self.function.heads[self.inst.index()].form);
        let width = self.operands()[0].vreg().map(|result| self.width(result));
        Cell::of(width.and_then(|width| in_register(description, bits, width)))
    }

    fn literals(&self) -> &'f [Literal] {
        &self.function.pools.literals
    }
}

/// A value of one source which is the result whatever the others are.
#[derive(Clone, Copy)]
struct Deciding {
    /// Its bits, as many as the type has.
    bits: u64,
    /// The first sources, of which any decides.
    sources: usize,
}

/// The value that decides an operation on integers alone.
fn deciding(operation: Operation) -> Option<Deciding> {
    let (bits, sources) = match operation {
        Operation::And | Operation::Mul => (0, 2),
        Operation::Or => (u64::MAX, 2),
        Operation::Shl | Operation::Shr | Operation::Bfe => (0, 1),
        _ => return None,
    };
    Some(Deciding { bits, sources })
}

/// What logic makes of two predicates. One that decides alone does so whatever the other is.
fn combined(operation: Operation, one: Cell, other: Cell) -> Cell {
    let deciding = match operation {
        Operation::And => Some(Cell::of_truth(false)),
        Operation::Or => Some(Cell::of_truth(true)),
        _ => None,
    };
    if let Some(deciding) = deciding.filter(|&deciding| one == deciding || other == deciding) {
        return deciding;
    }
    match (one, other) {
        (Cell::Top, _) | (_, Cell::Top) => Cell::Top,
        (Cell::Constant(one), Cell::Constant(other)) if operation == Operation::Xor => {
            Cell::of_truth((one != 0) != (other != 0))
        }
        // Both are what does not decide alone.
        (Cell::Constant(_), Cell::Constant(_)) => one,
        _ => Cell::Bottom,
    }
}
