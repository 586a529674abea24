//! Branches that optimize branches leaves alone although they look as if it should not: a remark for each that says why.
//!
//! Looked for when the phase is done with a function, and where remarks are kept only.

use super::model::{End, Model};
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::edit::FunctionEditor;

/// Remarks on what is left of the branches of a function.
pub(super) fn tell(f: &mut FunctionEditor<'_>, model: &Model) {
    for block in (0..model.ends.len()).map(BlockId::new).filter(|&block| !model.of(block).is_dead) {
        let reasons =
            [model.why_not_threaded(block), model.why_not_inverted(block), model.why_not_merged(block)];
        for reason in reasons.into_iter().flatten() {
            f.missed(model.of(block).offset, reason);
        }
    }
}

impl Model {
    /// Whether a block is a jump and nothing else.
    fn is_empty_jump(&self, block: BlockId) -> bool {
        let traits = self.of(block);
        !traits.is_dead && traits.is_empty && matches!(self.ends[block.index()], End::Jumps { .. })
    }

    fn why_not_threaded(&self, block: BlockId) -> Option<&'static str> {
        match self.ends[block.index()] {
            End::Jumps { target, .. } | End::Branches { target, .. } => self.why_not_passed(block, target),
            End::Indexed { .. } => {
                self.other_targets(block).find_map(|target| self.why_not_passed(block, target))
            }
            End::Falls | End::Other => None,
        }
    }

    /// Why the branch of `block` to `target` is not led past that.
    fn why_not_passed(&self, block: BlockId, target: BlockId) -> Option<&'static str> {
        let End::Jumps { target: after, .. } = self.ends[target.index()] else { return None };
        if target == block || !self.is_empty_jump(target) {
            return None;
        }
        let traits = self.of(target);
        let is_latch = self.turns_back(target, after);
        if traits.is_pinned {
            Some("a branch leads to an empty block that a directive belongs to")
        } else if !traits.is_passed_by {
            Some("a branch leads to an empty block that is the header of a loop")
        } else if self.of(after).has_phis {
            Some("a branch leads to an empty block before phis, which tell it from others")
        } else {
            is_latch.then_some("a branch leads to an empty latch that others lead to, too")
        }
    }

    fn why_not_inverted(&self, block: BlockId) -> Option<&'static str> {
        let End::Branches { target, .. } = self.ends[block.index()] else { return None };
        let between = self.next(block)?;
        if !self.is_empty_jump(between) || self.next(between) != Some(target) {
            return None;
        }
        if self.of(block).is_uniform {
            Some("a branch leads around a jump: it promises to be uniform, which its opposite would not")
        } else if self.closes_innermost(block, target) {
            Some("a branch leads around a jump back to its loop, which would fall into its header")
        } else if self.of(between).is_pinned {
            Some("a branch leads around a jump that a directive belongs to")
        } else if self.pred_count[between.index()] > 1 {
            Some("a branch leads around a jump that others lead to, too")
        } else {
            None
        }
    }

    fn why_not_merged(&self, block: BlockId) -> Option<&'static str> {
        let next = self.next(block);
        let is_only_way = |block: BlockId| self.pred_count[block.index()] == 1;
        match self.ends[block.index()] {
            End::Falls => {
                let is_pinned = next.is_some_and(|next| is_only_way(next) && self.of(next).is_pinned);
                is_pinned.then_some("a directive belongs to the block that only this one leads to")
            }
            End::Jumps { target, .. } if is_only_way(target) && next != Some(target) => {
                Some("the block that only this jump leads to stands elsewhere in the text and stays there")
            }
            _ => None,
        }
    }
}
