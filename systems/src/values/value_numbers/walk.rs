//! The walk that gives numbers: what each instruction does to memory, and whether it is one that gets a number.

use super::frame::address_of_load;
use super::keys::PHI;
use super::look_up::{RESULTS_MAX, Results};
use super::meanings::{Meaning, Memory, Source as From};
use super::memory::Write;
use super::numbers::{Constant, Known, NO_NUMBER, Other, ValueNumbers};
use crate::values::general_optimize::constants::bits_in;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::{Form, Slot};
use ptxopt_components::ids::{BlockId, Id, InstId, NameId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, reads};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::{PtxType, StateSpace, extend};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::incoming;
use ptxopt_engine::values::reaching::{Place, Reaching};

/// The walk in a block.
pub(super) struct Walk<'w, 'v> {
    pub numbers: &'w mut ValueNumbers,
    pub function: &'w FunctionView<'v>,
    pub forms: &'w FormTable,
    pub reaching: &'w mut Reaching,
    pub block: BlockId,
}

impl<'w> Walk<'w, '_> {
    #[inline]
    pub(super) fn visit(&mut self, inst: InstId, meaning: &Meaning, is_guarded: bool, operands: &[Operand]) {
        let waits = meaning.source == From::Operands && !is_guarded && self.postpone(inst, operands);
        if meaning.source != From::Elsewhere && !waits {
            let (guard, operands) = match operands.split_last() {
                Some((&guard, rest)) if is_guarded => (Some(guard), rest),
                _ => (None, operands),
            };
            let _ = self.number(inst, meaning, guard, operands);
        }
        if let From::Load(_) = meaning.source {
            self.look(inst, operands);
        }
        if meaning.memory != Memory::Untouched {
            self.touch_memory(inst, meaning.memory, is_guarded, operands);
        }
    }

    /// Lets an instruction wait that is not guarded and computes something of its operands, if it may; says whether it waits.
    #[inline]
    fn postpone(&mut self, inst: InstId, operands: &[Operand]) -> bool {
        let numbers = &mut *self.numbers;
        reads(operands).any(|vreg| numbers.of(vreg) == vreg.0 && numbers.postponed.postpone(vreg, inst))
    }

    /// Looks up an instruction that has waited.
    #[cold]
    pub(super) fn look_up_late(&mut self, inst: InstId) {
        let meaning = *self.numbers.meanings.of(self.function.heads[inst.index()].form);
        let _ = self.number(inst, &meaning, None, self.function.operands_of(inst));
    }

    /// Notes what an instruction does to memory.
    fn touch_memory(&mut self, inst: InstId, memory: Memory, is_guarded: bool, operands: &[Operand]) {
        if let Memory::Store(space) = memory {
            return self.store(inst, space, is_guarded, operands);
        }
        let reach = self.numbers.frame.reach(self.block, inst, None);
        let ValueNumbers { chains, overwritten, .. } = self.numbers;
        match memory {
            Memory::Untouched | Memory::Store(_) => {}
            Memory::Look => overwritten.look_at_all(reach),
            Memory::ReadParameter => overwritten.look_at_parameter(reach),
            Memory::WriteParameter => {
                chains.write(Write { space: Some(StateSpace::Param), seen_by: reach });
                overwritten.look_at_parameter(reach);
            }
            Memory::Clobber => {
                chains.write(Write { space: None, seen_by: reach });
                overwritten.look_at_all(reach);
            }
        }
    }

    /// Notes what a load looks at that has just got its number.
    fn look(&mut self, inst: InstId, operands: &[Operand]) {
        if self.numbers.overwritten.is_empty() && self.numbers.reached.is_none() {
            return;
        }
        let form = self.form(inst);
        let address =
            address_of_load(operands).filter(|_| matches!(form.operation, Operation::Ld | Operation::Ldu));
        let place = address.map(|address| (address, form.space));
        let reach = self.numbers.frame.reach(self.block, inst, place);
        self.numbers.reached.iter_mut().for_each(|reached| reached.loads.push((inst, reach)));
        match address.and_then(|address| self.bytes(inst, form.space, address)) {
            Some(bytes) => {
                let is_known = self.numbers.again.last().is_some_and(|again| again.inst == inst);
                self.numbers.overwritten.look_at(inst, bytes, reach, is_known);
            }
            None => self.numbers.overwritten.look_at_all(reach),
        }
    }

    fn store(&mut self, inst: InstId, space: StateSpace, is_guarded: bool, operands: &[Operand]) {
        let reach = self.numbers.frame.reach(self.block, inst, Some((operands[0], space)));
        self.numbers.reached.iter_mut().for_each(|reached| reached.stores.push((inst, reach)));
        let seen_by = self.numbers.frame.seen_by(self.block, inst, reach);
        let Some(bytes) = self.bytes(inst, space, operands[0]) else {
            self.numbers.chains.write(Write { space: None, seen_by });
            self.numbers.overwritten.look_at_all(reach);
            return;
        };
        self.numbers.chains.store(inst, is_guarded, bytes, Write { space: Some(space), seen_by });
        // A sink among the elements leaves its bytes as they are.
        let has_sinks = operands.iter().any(|operand| operand.kind() == OperandKind::Sink);
        self.numbers.overwritten.store(inst, bytes, reach, is_guarded || has_sinks);
    }

    /// Looks an instruction up; gives nothing where it has no number.
    fn number(
        &mut self,
        inst: InstId,
        meaning: &Meaning,
        guard: Option<Operand>,
        operands: &[Operand],
    ) -> Option<()> {
        let results = self.results(operands)?;
        if meaning.source == From::Move {
            if guard.is_some() || results.have_variables {
                // Nothing is cheaper than a move.
                return None;
            }
            if !self.numbers.moves_are_opaque
                && let Some(number) = self.moved(inst, operands)
            {
                self.numbers.give(operands[0].vreg()?, number);
                return Some(());
            }
        }
        if self.numbers.masked.binary_search(&inst).is_ok() {
            return None;
        }
        if meaning.source == From::Parameter && !self.is_kernel_parameter(operands) {
            return None;
        }
        let first = self.numbers.table.words.len();
        let is_kept = self
            .push_key(inst, meaning, results, operands)
            .is_some_and(|()| self.look_up(inst, meaning, guard, results, operands, first));
        if !is_kept {
            self.numbers.table.words.truncate(first);
        }
        Some(())
    }

    /// What its results are; nothing where something else may look at them, not all of them are written, or they are none or too
    /// many.
    fn results(&self, operands: &[Operand]) -> Option<Results> {
        let mut results = Results { count: 0, widths: 0, have_variables: false };
        for operand in operands {
            if !operand.is_definition() {
                break;
            }
            let vreg = operand.vreg()?;
            if operand.is_partial() {
                return None;
            }
            if self.numbers.of(vreg) == NO_NUMBER {
                self.is_variable(vreg).then_some(())?;
                results.have_variables = true;
            }
            let ty = self.function.vregs[vreg.index()].ty;
            results.widths = results.widths << 8 | u64::from(ty.element().bits() & 0xFF);
            results.count += 1;
        }
        (1..=RESULTS_MAX).contains(&results.count).then_some(results)
    }

    /// The number of what a move moves, if nothing is lost on the way.
    fn moved(&mut self, inst: InstId, operands: &[Operand]) -> Option<u32> {
        let &[result, source] = operands else { return None };
        let slots = self.slots(inst);
        let ty = slots[1].ty?;
        let width = |vreg: VRegId| {
            let ty = self.function.vregs[vreg.index()].ty;
            ty.element().bits() * u32::from(ty.lanes)
        };
        if width(result.vreg()?) != ty.bits() {
            return None;
        }
        match source.kind() {
            OperandKind::Register { vreg, minus: false } if !source.has_payload() => {
                (width(vreg) == ty.bits()).then(|| self.register(vreg, inst)).flatten()
            }
            OperandKind::Predicate { vreg, negated: false } => self.register(vreg, inst),
            OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) => {
                let constant = self.constant(source, ty)?;
                Some(self.numbers.number_of(Other::Constant(constant)))
            }
            _ => None,
        }
    }

    /// Whether a load reads a parameter of the kernel by its name: nothing writes those.
    fn is_kernel_parameter(&self, operands: &[Operand]) -> bool {
        let is_own = |name: NameId| !self.numbers.variables.contains_key(&name);
        self.function.state.flags.contains(CodeFlags::ENTRY)
            && !self.numbers.has_families
            && operands.iter().filter(|operand| !operand.is_definition()).all(|operand| {
                match operand.kind() {
                    OperandKind::Symbol(name) => is_own(name),
                    _ => false,
                }
            })
    }

    /// A phi of one number has that number; others are looked up like other instructions.
    pub(super) fn visit_phi(&mut self, phi: InstId, operands: &[Operand]) {
        let Some(result) = operands[0].vreg() else { return };
        let own = self.numbers.of(result);
        let first = self.numbers.table.words.len();
        let ty = self.function.vregs[result.index()].ty.element();
        self.numbers.table.words.push(PHI | u64::from(self.block.0) << 8 | u64::from(ty.bits()));
        let mut only = None;
        let mut is_one = true;
        for (_, value) in incoming(operands) {
            let Some(vreg) = value.vreg() else {
                self.numbers.table.words.truncate(first);
                return;
            };
            let number = self.numbers.of(vreg);
            self.numbers.table.words.push(u64::from(number));
            if number != own {
                is_one &= only.replace(number).is_none_or(|other| other == number);
            }
        }
        let hash = self.numbers.table.hash(first);
        let known = match only.filter(|_| is_one) {
            Some(number) => Some(Known::Number(number)),
            None => self.numbers.table.known(hash, first).map(Known::LikeResultsOf),
        };
        match known {
            Some(known) => {
                self.take(phi, known, operands, false);
                self.numbers.table.words.truncate(first);
            }
            None => {
                self.numbers.table.insert(phi, hash, first);
                if let Some(other) = self.alike(phi, operands) {
                    self.take(phi, Known::LikeResultsOf(other), operands, false);
                }
            }
        }
    }

    /// The number of what a register holds before `inst`; none where something else may write it.
    pub(super) fn register(&mut self, vreg: VRegId, inst: InstId) -> Option<u32> {
        let number = self.numbers.of(vreg);
        if number != NO_NUMBER {
            return Some(number);
        }
        self.is_variable(vreg).then_some(())?;
        let block = self.function.heads[inst.index()].block;
        let value = self.reaching.value(vreg, Place { block, before: inst }, || *self.function);
        Some(self.numbers.number_of(Other::Variable(vreg, value)))
    }

    /// Whether the register keeps several definitions, and only the function's own instructions write it.
    pub(super) fn is_variable(&self, vreg: VRegId) -> bool {
        let flags = self.function.vregs[vreg.index()].flags;
        !flags.intersects(VRegFlags::SHARED)
    }

    /// A constant in a slot of type `ty`.
    pub(super) fn constant(&self, operand: Operand, ty: PtxType) -> Option<Constant> {
        let (width, literals) = (ty.bits(), &self.function.pools.literals);
        if width > 64 {
            return None;
        }
        Some(match operand.integer_bits(literals) {
            Some(bits) => Constant { bits: extend(bits, width) as u64, is_float: false, width },
            None => Constant { bits: bits_in(operand, ty, literals)?, is_float: true, width },
        })
    }

    pub(super) fn form(&self, inst: InstId) -> &'w Form {
        let forms = self.forms;
        forms.get(self.function.heads[inst.index()].form)
    }

    pub(super) fn slots(&self, inst: InstId) -> &'w [Slot] {
        let forms = self.forms;
        forms.slots(self.function.heads[inst.index()].form)
    }
}
