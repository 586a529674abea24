//! Blocks that stand elsewhere than the only jump to them: each goes to where that jump is, and the jump goes.
//!
//! ```text
//! @p bra A; bra B; A: ...; ret; B: ...; ret;        @p bra A; B: ...; ret; A: ...; ret;
//! ```
//! With such a block goes what it falls into, as far as its run goes: to the next block that does not fall into the one after
//! it. A run with the jump in it stays, since nothing stands before it to which it could go. So each jump takes the run of its
//! target with it or is the end of that run; and the run of a block that has been placed ends where the one ends that was
//! placed after it.
//!
//! # Convergence
//! ```text
//! L: @p bra E; ...; bra J; E: ...; @q bra X; ...; bra M; J: ...; M: ...; @r bra L; X: activemask; ...; ret;
//! ```
//! M and X move with J, and E, which is part of the loop, ends up after X. The assembler makes threads reconverge where control
//! flow joins, wherever the blocks stand. The ISA does not promise that, and the emulator goes by the order of the text. So blocks
//! stay where they are in a function with a convergent instruction or a call: one more pass over the rows of a function in which
//! a block could move.

use super::model::{End, Model};
use super::{Rewriter, Stopped};
use crate::flow::depends_on_convergence;
use ptxopt_components::anchor::{Anchor, AnchorKind};
use ptxopt_components::ids::{BlockId, Id, Maybe};

/// Where runs of blocks end while they are moved.
#[derive(Default)]
pub(super) struct Runs {
    /// By block: the one before it in the text.
    before: Vec<Maybe<BlockId>>,
    /// By block: a later one of its run, all between which fall through.
    later: Vec<Maybe<BlockId>>,
}

impl Rewriter<'_, '_> {
    /// Puts blocks after the only jump to them.
    pub(super) fn place(&mut self) -> Result<bool, Stopped> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let End::Jumps { inst, target } = self.model.ends[block.index()] else { continue };
            if self.is_dead(block) || !self.model.is_only_way(block, target) {
                continue;
            }
            if !has_changed {
                if self.keeps_its_order() {
                    return Ok(false);
                }
                self.model.start_runs();
            }
            let Some(last) = self.model.run_that_goes_to(block, target) else { continue };
            let mut change = self.change(block, "the only jump to a block that stands elsewhere")?;
            change.delete_branch(inst);
            change.move_blocks(target, last, block);
            self.model.place(block, target, last);
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Whether lines of a source stand in the function, or labels that debug sections name; or something after the last
    /// instruction of a block, which would come before that of another one; or an instruction that depends on convergence.
    fn keeps_its_order(&mut self) -> bool {
        let (function, forms) = self.f.view_and_forms();
        let is_tied = |anchor: &Anchor| {
            matches!(anchor.kind, AnchorKind::Loc | AnchorKind::DebugLabel) || function.is_at_the_end(anchor)
        };
        function.anchors.iter().any(is_tied)
            || function.rows().any(|(_, head, _)| depends_on_convergence(head, forms))
    }
}

impl Model {
    /// Whether the jump at the end of `block` is the only way to `target`, which stands elsewhere and may go to it.
    fn is_only_way(&self, block: BlockId, target: BlockId) -> bool {
        let traits = self.of(target);
        self.pred_count[target.index()] == 1
            && self.next(block) != Some(target)
            && !traits.has_phis
            && !traits.is_pinned
    }

    fn start_runs(&mut self) {
        let Self { runs: Runs { before, later }, next, .. } = self;
        later.clear();
        later.resize(next.len(), Maybe::NONE);
        before.clear();
        before.resize(next.len(), Maybe::NONE);
        let mut at = BlockId(0);
        while let Some(next) = next[at.index()].get() {
            before[next.index()] = Maybe::some(at);
            at = next;
        }
    }

    /// The end of the run that begins with `target`, if that can go to the jump at the end of `block`. Each block is looked at
    /// once for the first block of its run, and what was placed is passed over.
    fn run_that_goes_to(&mut self, block: BlockId, target: BlockId) -> Option<BlockId> {
        let mut last = target;
        loop {
            let later = self.runs.later[last.index()].get();
            if later.is_none() && !self.falls(last) {
                break;
            }
            last = later.or_else(|| self.next(last))?;
            if self.of(last).is_pinned {
                return None;
            }
        }
        (last != block).then_some(last)
    }

    /// Whether control may go from a block to the one after it in the text without being led there.
    fn falls(&self, block: BlockId) -> bool {
        match self.ends[block.index()] {
            End::Falls | End::Branches { .. } => true,
            End::Jumps { .. } => false,
            End::Indexed { .. } | End::Other => {
                self.next(block).is_some_and(|next| self.other_targets(block).any(|target| target == next))
            }
        }
    }

    /// Puts the run from `first` to `last` after `block`, whose jump to it goes.
    fn place(&mut self, block: BlockId, first: BlockId, last: BlockId) {
        let (around, beyond) = (self.runs.before[first.index()], self.next[last.index()]);
        self.join(around.get().expect("the entry stays where it is"), beyond);
        let after = self.next[block.index()];
        self.join(block, Maybe::some(first));
        self.join(last, after);
        self.ends[block.index()] = End::Falls;
        self.runs.later[block.index()] = Maybe::some(last);
    }

    fn join(&mut self, one: BlockId, other: Maybe<BlockId>) {
        self.next[one.index()] = other;
        if let Some(other) = other.get() {
            self.runs.before[other.index()] = Maybe::some(one);
        }
    }
}
