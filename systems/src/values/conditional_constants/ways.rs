//! Ways: where control goes from the end of a block, given what is known of registers.

use super::lattice::Cell;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind};
use ptxopt_components::operation::Operation;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;

/// Where control goes from the end of a block: the lattice once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    /// It does not come there.
    #[default]
    Nowhere,
    /// To this block only.
    To(BlockId),
    /// To any successor.
    Everywhere,
}

/// Bits of the index of an indexed branch.
const INDEX_BITS: u32 = 32;

impl Way {
    pub(super) fn leads_to(self, block: BlockId) -> bool {
        self == Self::Everywhere || self == Self::To(block)
    }

    /// Where control goes by the one way or the other.
    pub(super) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nowhere, way) | (way, Self::Nowhere) => way,
            (Self::To(one), Self::To(two)) if one == two => self,
            _ => Self::Everywhere,
        }
    }

    /// Where control goes from an instruction that ends its block; `cell` says what is known of registers.
    pub(super) fn from(
        function: &FunctionView<'_>,
        forms: &FormTable,
        inst: InstId,
        cell: &mut impl FnMut(VRegId) -> Cell,
    ) -> Self {
        let head = &function.heads[inst.index()];
        let operands = function.operands_of(inst);
        let operation = forms.get(head.form).operation;
        if !matches!(operation, Operation::Bra | Operation::BrxIdx) {
            return Self::Everywhere;
        }
        let guard = match function.guard_of(inst).map(Operand::kind) {
            None => Cell::of_truth(true),
            Some(OperandKind::Predicate { vreg, negated }) => cell(vreg).negated_if(negated),
            Some(_) => Cell::Bottom,
        };
        match (guard, function.succs(head.block).last()) {
            (Cell::Top, _) => Self::Nowhere,
            (Cell::Constant(0), Some(&falls)) => Self::To(falls),
            (Cell::Constant(1), _) if operation == Operation::Bra => {
                operands[0].as_block().map_or(Self::Everywhere, Self::To)
            }
            (Cell::Constant(1), _) => Self::by_table(function, operands, cell),
            _ => Self::Everywhere,
        }
    }

    /// Where an indexed branch goes that is taken. An index past the table is undefined.
    fn by_table(
        function: &FunctionView<'_>,
        operands: &[Operand],
        cell: &mut impl FnMut(VRegId) -> Cell,
    ) -> Self {
        let &[index, table, ..] = operands else { return Self::Everywhere };
        let index = match index.vreg() {
            Some(vreg) if index == Operand::register(vreg) => {
                let is_whole = function.vregs[vreg.index()].ty.element().bits() == INDEX_BITS;
                if is_whole { cell(vreg) } else { Cell::Bottom }
            }
            Some(_) => Cell::Bottom,
            None => Cell::of(index.integer_bits(&function.pools.literals)),
        };
        let target = |index: u64| {
            let targets = function.tables[table.as_table()?.index()].targets;
            function.pools.targets[targets.range()].get(usize::try_from(index).ok()?).copied()
        };
        match index {
            Cell::Top => Self::Nowhere,
            Cell::Constant(index) => target(index).map_or(Self::Everywhere, Self::To),
            Cell::Bottom => Self::Everywhere,
        }
    }
}
