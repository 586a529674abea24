//! How often a function names its registers, and which of them are its own.

use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::store::view::FunctionView;

/// Registers that something beside the function's own instructions may write or read, that are used while in flight, or that
/// instructions share without naming them.
pub(super) const IS_SHARED: VRegFlags = VRegFlags::PINNED
    .union(VRegFlags::CARRY)
    .union(VRegFlags::FORMAL)
    .union(VRegFlags::MODULE)
    .union(VRegFlags::OUTPUT);

/// How often a register is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// As a result.
    pub(super) results: u32,
    /// As a source.
    pub(super) sources: u32,
}

impl Names {
    /// Counts the names of all registers of a function, by register.
    pub(super) fn count(function: &FunctionView<'_>, names: &mut Vec<Self>) {
        // The row behind those of the registers counts what names none.
        let nothing = function.vregs.len();
        names.clear();
        names.resize(nothing + 1, Self::default());
        for (_, _, operands) in function.padded_rows() {
            for operand in operands {
                let names = &mut names[operand.vreg_or(nothing)];
                names.results += u32::from(operand.is_definition());
                names.sources += u32::from(operand.is_use());
            }
        }
        names.truncate(nothing);
    }

    /// Whether one instruction writes it and one reads it, each once.
    pub(super) fn is_one_of_each(self) -> bool {
        self == Self { results: 1, sources: 1 }
    }
}
