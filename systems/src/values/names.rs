//! How often a function names its registers, and which of them are its own.

use ptxopt_engine::store::view::FunctionView;

/// How often a register is named: as a result in the upper half, as a source in the lower one, so that a name is one addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names(u64);

impl Names {
    const RESULT: u64 = 1 << 32;
    const SOURCE: u64 = 1;

    /// Counts the names of all registers of a function, by register.
    pub(super) fn count(function: &FunctionView<'_>, names: &mut Vec<Self>) {
        // The row after those of the registers counts what names none.
        let nothing = function.vregs.len();
        names.clear();
        names.resize(nothing + 1, Self::default());
        let names_of = &mut names[..];
        for (_, _, operands) in function.padded_rows() {
            for operand in operands {
                let (is_result, is_source) = (operand.is_definition(), operand.is_use());
                names_of[operand.vreg_or(nothing)].0 +=
                    Self::RESULT * u64::from(is_result) + Self::SOURCE * u64::from(is_source);
            }
        }
        names.truncate(nothing);
    }

    /// Whether nothing reads it.
    pub(super) fn is_unread(self) -> bool {
        self.0 as u32 == 0
    }

    /// Whether one instruction writes it and one reads it, each once.
    pub(super) fn is_one_of_each(self) -> bool {
        self.0 == Self::RESULT + Self::SOURCE
    }
}
