//! What leads into a loop: the branches to its header, and whether a block can stand right before that.
//!
//! No phase: what phases that make preheaders look at.

use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::build::next_living;
use ptxopt_engine::store::view::FunctionView;

/// What leads to the header of a loop.
#[derive(Clone, Copy)]
pub struct LoopEntries<'a> {
    /// The function, as it is in the text.
    pub function: &'a FunctionView<'a>,
    /// Its forms.
    pub forms: &'a FormTable,
    /// The header.
    pub header: BlockId,
}

impl LoopEntries<'_> {
    /// The last instruction of a block.
    #[must_use]
    pub fn last(&self, block: BlockId) -> Option<InstId> {
        self.function.insts_of(block).next_back()
    }

    /// The unguarded jump to the header at the end of a block.
    #[must_use]
    pub fn jump(&self, block: BlockId) -> Option<InstId> {
        let last = self.last(block)?;
        let is_guarded = self.function.heads[last.index()].opcode.is_guarded();
        let target = self.function.operands_of(last).first().and_then(|operand| operand.as_block());
        (!is_guarded && target == Some(self.header)).then_some(last)
    }

    /// Whether control comes from a block to the header without a jump.
    #[must_use]
    pub fn falls_into_header(&self, block: BlockId) -> bool {
        next_living(self.function.blocks, block) == Some(self.header)
            && self.last(block).is_none_or(|last| {
                let head = &self.function.heads[last.index()];
                !head.marks.contains(Marks::CONTROL) || head.opcode.is_guarded()
            })
    }

    /// The branch at the end of a block that leads to the header, if it is one: it must be a direct one without `.uni`.
    pub fn branch(&self, block: BlockId) -> Result<Option<InstId>, &'static str> {
        let Some(last) = self.last(block) else { return Ok(None) };
        let operands = self.function.operands_of(last);
        if operands.iter().any(|operand| operand.as_table().is_some()) {
            return Err("a branch table lists the header of the loop");
        }
        if operands.first().and_then(|operand| operand.as_block()) != Some(self.header) {
            return Ok(None);
        }
        let form = self.forms.get(self.function.heads[last.index()].form);
        if form.flags.contains(FormFlags::UNIFORM) && self.function.guard_of(last).is_some() {
            return Err("a redirected branch to the header would lose what `.uni` promises");
        }
        Ok(Some(last))
    }
}
