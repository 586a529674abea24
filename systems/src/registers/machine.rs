//! A function as the machine sees its registers: which of them take a register of the machine at all.
//!
//! | register of PTX | in the machine |
//! |---|---|
//! | constant, address of a symbol, scalar parameter of a kernel, `%ntid` | an operand of the instruction that reads it |
//! | copy, `cvta`, widened integer, element taken out of a word | the register that it was made of |
//! | address that is another one plus a constant | that other one: the offset stands in the instruction |
//! | computed from constants, parameters and what a block shares | a uniform register, or computed again |
//! | result that nothing reads | nothing |
//!
//! What is left is a list of instructions with the values that they define and read. A phi defines its result alone: what it reads
//! lives at the ends of the blocks from which it comes. Instructions that read memory or write
//! it need a register for what is else an operand: a value to store, and an address.

use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, Role};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Modifiers;
use ptxopt_components::special_registers::{SPECIAL_REGISTERS, Shared};
use ptxopt_components::types::{RegClass, StateSpace, TypeKind};
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;

/// Processors from this one on compute with floats in uniform registers.
const UNIFORM_FLOATS_FROM: u32 = 100;

/// Where the value of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In a register of its own.
    Own,
    /// In no register: an operand.
    Operand,
    /// In a uniform register, or wherever it is cheap to compute it again.
    Uniform,
    /// In the register of another one.
    Shared(VRegId),
}

/// How an instruction may move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Motion {
    /// As its values allow.
    Free,
    /// As a load: not across what may write memory.
    Load,
    /// As a store.
    Store,
    /// Not at all, and nothing across it.
    Fixed,
}

/// An instruction: its values are runs of [`Machine::values`].
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub inst: InstId,
    defs: u32,
    uses: u32,
    fixed: u32,
    end: u32,
    pub motion: Motion,
    pub is_guarded: bool,
    pub is_call: bool,
    /// Registers that the code needs which the machine has in its place: subroutines for division and roots.
    pub extra: u8,
}

/// The machine's view of a function.
#[derive(Default)]
pub(super) struct Machine {
    pub places: Vec<Place>,
    /// By register: 32-bit slots; none for predicates and the carry register.
    pub slots: Vec<u8>,
    pub rows: Vec<Row>,
    values: Vec<VRegId>,
    /// By block: its first row; one more entry at the end.
    firsts: Vec<u32>,
    /// By register: definitions, where a guarded one counts twice; uses; uses in addresses.
    counts: Vec<(u32, u32, u32)>,
    /// By register: its definitions, as a run of `definers`.
    definers_of: Vec<u32>,
    definers: Vec<InstId>,
    /// What phis read, at the ends of the blocks from which it comes.
    pub incoming: Vec<(BlockId, VRegId)>,
    needed: Vec<bool>,
    waiting: Vec<InstId>,
    is_seen: Vec<bool>,
    /// Whether some instruction calls a subroutine for a result of 64 bits in floating point.
    pub has_long_subroutine: bool,
    /// Whether some instruction changes how many registers a thread has.
    pub sets_limit: bool,
}

impl Machine {
    pub(super) fn rows_of(&self, block: BlockId) -> std::ops::Range<usize> {
        self.firsts[block.index()] as usize..self.firsts[block.index() + 1] as usize
    }

    pub(super) fn defs(&self, row: &Row) -> &[VRegId] {
        &self.values[row.defs as usize..row.uses as usize]
    }

    pub(super) fn uses(&self, row: &Row) -> &[VRegId] {
        &self.values[row.uses as usize..row.fixed as usize]
    }

    /// Where the results and sources of a row stand in the list of all values.
    pub(super) fn places_of(&self, row: &Row) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        (row.defs as usize..row.uses as usize, row.uses as usize..row.fixed as usize)
    }

    /// Number of values in the list of all values.
    pub(super) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Values that are an operand elsewhere, and have to be in a register here.
    pub(super) fn held(&self, row: &Row) -> &[VRegId] {
        &self.values[row.fixed as usize..row.end as usize]
    }

    /// Looks at a function.
    pub(super) fn look_at(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let vreg_count = function.vregs.len();
        self.slots.clear();
        let slots = |vreg: &VRegHead| if vreg.class() == RegClass::R { vreg.slots() as u8 } else { 0 };
        self.slots.extend(function.vregs.iter().map(slots));
        self.count(function, forms);
        self.find_needed(function);
        self.places.clear();
        self.places.resize(vreg_count, Place::Own);
        for block in function.block_ids() {
            for inst in function.insts_of(block) {
                self.place_results(function, forms, inst);
            }
        }
        self.list(function, forms);
    }

    fn count(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let Self { counts, definers_of, definers, .. } = self;
        counts.clear();
        counts.resize(function.vregs.len(), (0, 0, 0));
        definers_of.clear();
        definers_of.resize(function.vregs.len() + 1, 0);
        for (_, head, operands) in function.rows() {
            let slots = forms.slots(head.form);
            for (position, operand) in operands.iter().enumerate() {
                let Some(vreg) = operand.vreg() else { continue };
                let (defs, uses, addresses) = &mut counts[vreg.index()];
                if operand.is_definition() {
                    *defs += 1 + u32::from(head.opcode.is_guarded());
                    definers_of[vreg.index()] += 1;
                }
                if operand.is_use() {
                    *uses += 1;
                    *addresses +=
                        u32::from(slots.get(position).is_some_and(|slot| slot.role == Role::Address));
                }
            }
        }
        let mut end = 0;
        for of_vreg in definers_of.iter_mut() {
            end += *of_vreg;
            *of_vreg = end;
        }
        definers.clear();
        definers.resize(end as usize, InstId(0));
        // Filling backwards turns each end into a start.
        for (inst, _, operands) in function.rows() {
            for vreg in writes(operands) {
                definers_of[vreg.index()] -= 1;
                definers[definers_of[vreg.index()] as usize] = inst;
            }
        }
    }

    /// Marks what has an effect, and what computes something for it.
    fn find_needed(&mut self, function: &FunctionView<'_>) {
        let Self { definers_of, definers, needed, waiting, is_seen, .. } = self;
        needed.clear();
        needed.resize(function.heads.len(), false);
        is_seen.clear();
        is_seen.resize(function.vregs.len(), false);
        for (inst, head, _) in function.rows() {
            if head.marks.intersects(Marks::KEPT | Marks::CONTROL) {
                needed[inst.index()] = true;
                waiting.push(inst);
            }
        }
        while let Some(inst) = waiting.pop() {
            for vreg in reads(function.operands_of(inst)) {
                if !std::mem::replace(&mut is_seen[vreg.index()], true) {
                    let run = definers_of[vreg.index()] as usize..definers_of[vreg.index() + 1] as usize;
                    for &definer in &definers[run] {
                        if !std::mem::replace(&mut needed[definer.index()], true) {
                            waiting.push(definer);
                        }
                    }
                }
            }
        }
    }

    fn has_one_definition(&self, vreg: VRegId) -> bool {
        self.counts[vreg.index()].0 == 1
    }

    /// Where the value of a source is.
    fn place_of(&self, operand: Operand) -> Place {
        match operand.kind() {
            OperandKind::Register { vreg, .. } | OperandKind::Predicate { vreg, .. } => {
                match self.places[vreg.index()] {
                    Place::Own => Place::Shared(vreg),
                    place => place,
                }
            }
            OperandKind::Special(row) => match SPECIAL_REGISTERS.get(row as usize) {
                Some(register) if matches!(register.name, "ntid" | "nctaid") => Place::Operand,
                Some(register) if register.shared == Shared::Warp => Place::Uniform,
                _ => Place::Own,
            },
            _ => Place::Operand,
        }
    }

    /// Says where the results of an instruction are.
    fn place_results(&mut self, function: &FunctionView<'_>, forms: &FormTable, inst: InstId) {
        let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
        // Where values meet, a register takes the place of them all.
        if head.opcode.is_guarded() || head.is_phi() || !self.needed[inst.index()] {
            return;
        }
        let mut results = writes(operands);
        let Some(result) = results.next() else { return };
        let is_alone = results.next().is_none();
        if !writes(operands).all(|vreg| self.has_one_definition(vreg)) {
            return;
        }
        let mut sources = operands.iter().filter(|operand| !operand.is_definition());
        let (first, second, third) = (sources.next(), sources.next(), sources.next());
        let Some(&first) = first else { return };
        let has_one_source = second.is_none();
        let form = forms.get(head.form);
        let is_entry = function.state.flags.contains(CodeFlags::ENTRY);
        let place = match form.operation {
            Operation::Ld
                if is_entry
                    && form.space == StateSpace::Param
                    && has_one_source
                    && first.vreg().is_none() =>
            {
                Place::Operand
            }
            Operation::Mov | Operation::Cvta | Operation::CvtaTo if is_alone && has_one_source => {
                self.place_of(first)
            }
            // An element of a word.
            Operation::Mov if has_one_source && first.vreg().is_some() && form.lanes == 1 => {
                self.place_of(first)
            }
            Operation::Cvt if has_one_source && widens(form) => self.place_of(first),
            _ if form.is_pure() && self.are_uniform(operands) => {
                let is_float = form.types.iter().flatten().any(|ty| ty.kind() == TypeKind::Float);
                if is_float && function.text.sm < UNIFORM_FLOATS_FROM { Place::Own } else { Place::Uniform }
            }
            Operation::Add | Operation::Sub
                if third.is_none()
                    && first.vreg().is_some()
                    && second.is_some_and(|second| second.vreg().is_none())
                    && self.is_address(result) =>
            {
                self.place_of(first)
            }
            _ => Place::Own,
        };
        let place = match place {
            Place::Shared(with) if !self.has_one_definition(with) => Place::Own,
            place => place,
        };
        writes(operands).for_each(|vreg| self.places[vreg.index()] = place);
    }

    /// Whether all sources are the same for a block and known without a load.
    fn are_uniform(&self, operands: &[Operand]) -> bool {
        let mut sources = operands.iter().filter(|operand| !operand.is_definition());
        sources.all(|&source| matches!(self.place_of(source), Place::Operand | Place::Uniform))
    }

    /// Whether a register is nothing but an address of 64 bits.
    fn is_address(&self, vreg: VRegId) -> bool {
        let (_, uses, addresses) = self.counts[vreg.index()];
        uses > 0 && uses == addresses && self.slots[vreg.index()] == 2
    }

    /// Lists what is left.
    fn list(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        self.rows.clear();
        self.values.clear();
        self.firsts.clear();
        self.incoming.clear();
        self.has_long_subroutine = false;
        self.sets_limit = false;
        for block in function.block_ids() {
            self.firsts.push(self.rows.len() as u32);
            for (inst, head, operands) in function.rows_of(block) {
                if !self.needed[inst.index()] {
                    continue;
                }
                let form = forms.get(head.form);
                self.sets_limit |= form.operation == Operation::SetMaxRegisters;
                let defs = self.values.len() as u32;
                let Self { values, places, .. } = self;
                let is_value = |vreg: &VRegId| matches!(places[vreg.index()], Place::Own | Place::Uniform);
                values.extend(writes(operands).filter(is_value));
                let uses = values.len() as u32;
                let held_in = |vreg: VRegId| match places[vreg.index()] {
                    Place::Own | Place::Uniform => Some(vreg),
                    Place::Shared(with) => Some(with),
                    Place::Operand => None,
                };
                if head.is_phi() {
                    self.incoming.extend(incoming(operands).filter_map(|(from, value)| {
                        let vreg = value.vreg().and_then(held_in)?;
                        Some((from, vreg))
                    }));
                } else {
                    values.extend(reads(operands).filter_map(held_in));
                }
                let fixed = values.len() as u32;
                let mut extra = self.registers_of_subroutine(forms, head.form, form, operands);
                if form.effects.intersects(Effects::READ | Effects::WRITE | Effects::ATOMIC)
                    && form.space != StateSpace::Param
                {
                    extra += self.hold(forms.slots(head.form), operands);
                }
                let end = self.values.len() as u32;
                let motion = motion_of(form);
                if defs < fixed || motion != Motion::Free {
                    let is_call = form.operation == Operation::Call;
                    let is_guarded = head.opcode.is_guarded();
                    self.rows.push(Row { inst, defs, uses, fixed, end, motion, is_guarded, is_call, extra });
                }
            }
        }
        self.firsts.push(self.rows.len() as u32);
    }

    /// Lists the sources that have to be in a register here and are in none elsewhere; says how many slots they take.
    fn hold(&mut self, slots: &[ptxopt_components::form::Slot], operands: &[Operand]) -> u8 {
        let mut count = 0;
        for (operand, slot) in operands.iter().zip(slots).filter(|(operand, _)| operand.is_use()) {
            match operand.kind() {
                OperandKind::Register { vreg, .. } => {
                    if matches!(self.places[vreg.index()], Place::Operand | Place::Uniform) {
                        self.values.push(vreg);
                        count += self.slots[vreg.index()];
                    }
                }
                OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => {
                    count += slot.ty.map_or(1, |ty| ty.bits().div_ceil(32) as u8);
                }
                _ => {}
            }
        }
        count
    }

    /// Registers that the code needs which stands for an instruction that the machine has not: the difference that a
    /// kernel of one such instruction makes, measured with `ptxas -v` 13.0.88; within one register the same for sm_75 to
    /// sm_120.
    fn registers_of_subroutine(
        &mut self,
        forms: &FormTable,
        id: ptxopt_components::ids::FormId,
        form: &Form,
        operands: &[Operand],
    ) -> u8 {
        let (is_long, registers) = match form.operation {
            Operation::Div | Operation::Rem | Operation::Rcp | Operation::Sqrt | Operation::Rsqrt => {
                let description = forms.describe(id);
                let Some(ty) = description.ty() else { return 0 };
                let is_float = ty.kind() == TypeKind::Float;
                let is_rough = description.qualifiers.has(Modifiers::APPROX)
                    || description.qualifiers.has(Modifiers::FULL);
                let is_by_constant = operands.get(2).is_some_and(|operand| operand.vreg().is_none());
                match (form.operation, is_float, ty.bits()) {
                    (_, true, _) if is_rough => (false, 0),
                    (Operation::Div, true, 32) => (false, 8),
                    (Operation::Rcp, true, 32) => (false, 7),
                    (Operation::Sqrt, true, 32) => (false, 4),
                    (Operation::Div, true, 64) => (true, 16),
                    (Operation::Rcp, true, 64) => (false, 6),
                    (Operation::Sqrt | Operation::Rsqrt, true, 64) => (true, 12),
                    (_, false, 64) => (false, 13),
                    (_, false, _) if !is_by_constant => (false, 5),
                    _ => (false, 0),
                }
            }
            _ => (false, 0),
        };
        self.has_long_subroutine |= is_long;
        registers
    }
}

/// Whether a conversion makes an integer of 64 bits of one of 32.
fn widens(form: &Form) -> bool {
    matches!(form.types, [Some(to), Some(from), ..] if to.bits() == 64 && from.bits() == 32 && to.is_of_integers() && from.is_of_integers())
}

fn motion_of(form: &Form) -> Motion {
    let effects = form.effects;
    let fixed = Effects::CONTROL
        | Effects::CALL
        | Effects::ORDER
        | Effects::ATOMIC
        | Effects::CONVERGENT
        | Effects::VOLATILE
        | Effects::PINNED
        | Effects::ASYNC
        | Effects::UNKNOWN;
    if effects.intersects(fixed) {
        Motion::Fixed
    } else if effects.contains(Effects::WRITE) {
        Motion::Store
    } else if effects.contains(Effects::READ) && form.space != StateSpace::Param {
        Motion::Load
    } else {
        Motion::Free
    }
}
