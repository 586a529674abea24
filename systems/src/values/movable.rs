//! Which computations may stand elsewhere, and what their results take of registers.
//!
//! A computation may stand elsewhere if all that it does is to compute its results from values, and the results are values of
//! its own: in SSA form they hold the same wherever the operands are known. Nothing that reads memory is one: `ptxas` takes what
//! lies in the constant bank from there wherever it is read, and other loads come out the same, or what waits for them waits
//! longer.
//!
//! What reads a special register that changes does not read the same elsewhere. Where a function reads a clock, everything
//! stays: the difference of two readings measures what stands between them.

use ptxopt_components::form::Form;
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::{Operand, OperandKind, definitions, reads};
use ptxopt_components::operation::Operation;
use ptxopt_components::special_registers::{Reading, SPECIAL_REGISTERS};
use ptxopt_components::types::{RegClass, StateSpace};
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::store::view::FunctionView;

/// Whether an instruction of a function in SSA form may stand elsewhere.
pub(crate) fn may_move(
    function: &FunctionView<'_>,
    form: &Form,
    head: &InstHead,
    operands: &[Operand],
) -> bool {
    let is_value = |vreg: VRegId| function.vregs[vreg.index()].is_value();
    form.is_pure()
        && !head.is_phi()
        && !head.opcode.is_guarded()
        && !form.effects.intersects(Form::CARRY)
        && !operands.iter().any(varies)
        && operands.iter().filter_map(|operand| operand.vreg()).all(is_value)
        && definitions(operands).all(|(_, is_partial)| !is_partial)
        && definitions(operands).next().is_some()
}

/// Whether an operand has another value each time that it is read.
pub(crate) fn varies(operand: &Operand) -> bool {
    matches!(operand.kind(), OperandKind::Special(row) if SPECIAL_REGISTERS[row as usize].reading == Reading::Varying)
}

/// Whether the machine has no instruction for it: a constant, the address of a symbol, a parameter of a kernel are operands there,
/// and a copy is the register that it was made of.
pub(crate) fn costs_nothing(form: &Form, operands: &[Operand]) -> bool {
    let is_special = || operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_)));
    match form.operation {
        Operation::Mov => !is_special(),
        Operation::Cvta | Operation::CvtaTo => true,
        _ => form.space == StateSpace::Param,
    }
}

/// Whether the result takes no register of the machine: it [costs nothing](costs_nothing), and no copy of another one.
pub(crate) fn is_operand(form: &Form, operands: &[Operand]) -> bool {
    costs_nothing(form, operands) && (form.space == StateSpace::Param || reads(operands).next().is_none())
}

/// Slots of 32 bits that a register takes; predicates take none.
pub(crate) fn slots_of(vreg: &VRegHead) -> u32 {
    match vreg.class() {
        RegClass::R | RegClass::Ur => vreg.slots(),
        _ => 0,
    }
}
