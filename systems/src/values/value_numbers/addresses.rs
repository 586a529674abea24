//! The addresses of loads and stores, followed back through sums with constants.

use super::numbers::{NO_NUMBER, Source};
use super::places::{Address, Base, Bytes};
use super::walk::Walk;
use ptxopt_components::form::{Form, FormFlags};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::types::StateSpace;

/// Additions that an address is followed back through.
const ADDRESS_STEPS_MAX: u32 = 8;

impl Walk<'_, '_> {
    /// The bytes of a load or store at `address`.
    pub(super) fn bytes(&mut self, inst: InstId, space: StateSpace, address: Operand) -> Option<Bytes> {
        let form = self.form(inst);
        let size = form.types[0]?.bits() / 8 * u32::from(form.lanes);
        let is_of_frame = self.numbers.frame.is_reached_alone(self.block, inst, address, space);
        let space = if is_of_frame { StateSpace::Local } else { space };
        Some(Bytes { space, address: self.address(inst, address)?, size })
    }

    /// Follows an address back through sums with constants.
    fn address(&mut self, inst: InstId, operand: Operand) -> Option<Address> {
        let offset = match operand.wide_offset() {
            Some(literal) => self.function.pools.literals[literal.index()].bits as i64,
            None => i64::from(operand.offset().unwrap_or(0)),
        };
        match operand.kind() {
            OperandKind::Symbol(name) => {
                let base = Base::Symbol(name, self.numbers.variables.get(&name).copied().flatten());
                Some(Address { base, offset, width: 64 })
            }
            OperandKind::Register { vreg, minus: false } if operand.selector().is_none() => {
                let width = self.function.vregs[vreg.index()].ty.element().bits();
                let number = self.register(vreg, inst)?;
                Some(self.base(Address { base: Base::Number(number), offset, width }))
            }
            OperandKind::Int(_) | OperandKind::Literal(_) => {
                let bits = operand.integer_bits(&self.function.pools.literals)?;
                Some(Address { base: Base::Zero, offset: bits as i64, width: 64 })
            }
            _ => None,
        }
    }

    /// The same address, counted from further back.
    fn base(&self, mut address: Address) -> Address {
        for _ in 0..ADDRESS_STEPS_MAX {
            let Base::Number(number) = address.base else { break };
            let Some(next) = self.step(number, address) else { break };
            address = next;
        }
        address
    }

    /// Whether the address of a variable that an instruction computes is used as it is: by a move, or in the frame.
    fn is_address_as_written(&self, form: &Form, result: VRegId) -> bool {
        form.operation == Operation::Mov || self.numbers.frame.is_address(result)
    }

    fn step(&self, number: u32, address: Address) -> Option<Address> {
        let vreg = match self.numbers.source(number)? {
            Source::Register(vreg) => vreg,
            Source::Constant(constant) => {
                let offset = address.offset.wrapping_add(constant.bits as i64);
                return Some(Address { base: Base::Zero, offset, ..address });
            }
        };
        let inst = self.reaching.only_definition(vreg)?;
        let head = &self.function.heads[inst.index()];
        let form = self.forms.get(head.form);
        if head.opcode.is_guarded() || form.types[0]?.bits() != address.width {
            return None;
        }
        let operands = self.function.operands_of(inst);
        let literal = |operand: Operand| operand.integer_bits(&self.function.pools.literals);
        let plain = |operand: Operand| {
            let vreg = operand.vreg().filter(|&vreg| operand == Operand::register(vreg))?;
            let head = self.function.vregs[vreg.index()];
            let number = self.numbers.of(vreg);
            (number != NO_NUMBER && head.ty.element().bits() == address.width).then_some(number)
        };
        let is_plain = form.flags.contains(FormFlags::PLAIN) && form.types[0]?.is_of_integers();
        let (base, added) = match (form.operation, operands) {
            (Operation::Add, &[_, one, other]) if is_plain => match (plain(one), plain(other)) {
                (Some(number), None) => (number, literal(other)? as i64),
                (None, Some(number)) => (number, literal(one)? as i64),
                _ => return None,
            },
            (Operation::Sub, &[_, one, other]) if is_plain => {
                (plain(one)?, (literal(other)? as i64).wrapping_neg())
            }
            // Of the frame, where the space of the access is that of the address.
            (Operation::Cvta | Operation::CvtaTo, &[_, source])
                if self.numbers.frame.is_address(vreg) && plain(source).is_some() =>
            {
                (plain(source)?, 0)
            }
            (Operation::Mov | Operation::Cvta, &[_, source])
                if form.lanes == 1 && self.is_address_as_written(form, vreg) =>
            {
                let OperandKind::Symbol(name) = source.kind() else { return None };
                if source.wide_offset().is_some() {
                    return None;
                }
                let base = Base::Symbol(name, self.numbers.variables.get(&name).copied().flatten());
                let offset = address.offset.wrapping_add(i64::from(source.offset().unwrap_or(0)));
                return Some(Address { base, offset, ..address });
            }
            _ => return None,
        };
        Some(Address { base: Base::Number(base), offset: address.offset.wrapping_add(added), ..address })
    }
}
