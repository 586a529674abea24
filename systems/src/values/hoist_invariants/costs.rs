//! What instructions cost in a loop, and what their results cost before it.
//!
//! Measured with `ptxas` 13.0 for `sm_80` on loops of one load and one store, with the instructions in question in the loop and
//! before it: registers, and machine instructions of the loop.
//!
//! | in the loop | as it is | hoisted |
//! |---|---|---|
//! | one `sqrt.rn.f32` | 18 registers, 22 instructions | 15, 8 |
//! | one `div.rn.f32` | 22, 22 | 17, 8 |
//! | one `mul`, `ld.param`, `cvta`, `mov` of a special register | 22, 26 of four rounds | 22, 26 of four rounds |
//! | 8 `mad` | 24, 82 of four rounds | 24, 82 of four rounds |
//! | 16 `mad` | 14, 55 | 32, 146 of four rounds |
//! | 48 `mad` | 14, 151 | 59, 102 |
//! | 48 `ld.param`; 48 `mov` of constants | 12, 102; 12, 101 | 12, 102; 12, 101 |
//! | 8 `add`, with 64 values that live in the loop | 80, 93 | 96, 85 |
//! | 24 `mad`, with 64 values and `.maxnreg 88` | 88, 142 | 88, 142, and 32 more before it |
//!
//! So the assembler hoists by itself what is one instruction, up to some dozen in a loop, and does not hoist what it expands with
//! branches. More than it would hoist makes the loop shorter, at one register each. What lies in its constant bank, and
//! constants, take none.

use ptxopt_components::form::Form;
use ptxopt_components::ids::FormId;
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Modifiers;
use ptxopt_components::types::{RegClass, StateSpace};
use ptxopt_components::vreg::VRegHead;
use ptxopt_engine::forms::FormTable;

/// What it saves to execute an instruction before the loop, in machine instructions a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Cost {
    /// Nothing: moves, which the assembler makes no instruction of.
    #[default]
    Nothing,
    /// About one.
    One,
    /// Many: the assembler writes a sequence with branches, and does not hoist it.
    Many,
}

/// The cost of an instruction.
pub(super) fn cost_of(forms: &FormTable, form: FormId, operands: &[Operand]) -> Cost {
    let is_approximate = || {
        let modifiers = forms.describe(form).qualifiers.modifiers;
        modifiers.intersects(Modifiers::APPROX | Modifiers::FULL)
    };
    match forms.get(form).operation {
        Operation::Mov if !reads_special(operands) => Cost::Nothing,
        Operation::Div | Operation::Rem | Operation::Sqrt | Operation::Rcp if !is_approximate() => Cost::Many,
        _ if !is_of_values(operands) => Cost::Nothing,
        _ => Cost::One,
    }
}

fn reads_special(operands: &[Operand]) -> bool {
    operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_)))
}

/// Whether an instruction reads anything but literals.
fn is_of_values(operands: &[Operand]) -> bool {
    operands.iter().any(|operand| {
        operand.is_use()
            && !matches!(
                operand.kind(),
                OperandKind::Int(_) | OperandKind::F32(_) | OperandKind::Literal(_) | OperandKind::Sink
            )
    })
}

/// Registers of the machine, by what runs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    /// 32-bit registers.
    pub(super) registers: i32,
    /// Predicates, of which the machine has seven.
    pub(super) predicates: i32,
}

impl Slots {
    /// What a register takes that lives all through a loop.
    pub(super) fn of(vreg: &VRegHead) -> Self {
        if matches!(vreg.class(), RegClass::P | RegClass::Up) {
            return Self { registers: 0, predicates: 1 };
        }
        Self { registers: vreg.slots() as i32, predicates: 0 }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.registers += other.registers;
        self.predicates += other.predicates;
    }

    pub(super) fn sub(&mut self, other: Self) {
        self.registers -= other.registers;
        self.predicates -= other.predicates;
    }

    /// Whether it takes none.
    pub(super) fn is_free(self) -> bool {
        self.registers <= 0 && self.predicates <= 0
    }
}

/// Whether the assembler makes the results of an instruction again wherever they are read: constants, and parameters of
/// kernels, which lie in the constant bank.
pub(super) fn is_made_again(form: &Form, operands: &[Operand]) -> bool {
    let is_constant = form.operation == Operation::Mov
        && !operands.iter().any(|operand| operand.is_use() && operand.vreg().is_some());
    is_constant && !reads_special(operands) || form.space == StateSpace::Param
}
