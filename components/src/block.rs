//! Basic-block rows.

use crate::ids::{BlockId, Maybe, NameId, Span};
use bevy_ecs::component::Component;
use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

bitflags! {
    /// Primary block flags (document offset +280).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
    #[repr(transparent)]
    pub struct BlockFlags: u32 {
        /// The target of a natural back edge.
        const LOOP_HEADER = 0x10;
        /// Has a predecessor.
        const HAS_PRED = 0x20;
        /// The terminator was understood.
        const ANALYSIS_OK = 0x4_0000;
        /// Lies in a natural loop.
        const IN_LOOP = 0x80_0000;
        /// Deleted; the row is swept with the tombstones.
        const DEAD = 0x0100_0000;
        /// A retreating edge that is no natural back edge enters here.
        const IRREDUCIBLE = 0x0200_0000;
        /// Its instructions are linked to one another instead of standing in one piece.
        const CHAINED = 0x0400_0000;
        /// A Flow block: nothing but tests of what threads carry, and a branch.
        const FLOW = 0x0800_0000;
        /// Threads that execute the branch at its end go the same way, as the structurizer has found out.
        const UNIFORM_BRANCH = 0x1000_0000;
        /// The reconvergence head of a structurized function (document offset +672).
        const RECONVERGENCE_HEAD = 0x2000_0000;
        /// The reconvergence tail of a structurized function (document offset +680).
        const RECONVERGENCE_TAIL = 0x4000_0000;
        /// What stood in arms of a branch stands in it.
        const ARMS_JOINED = 0x8000_0000;
    }

    /// Secondary block flags (document offset +292).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
    #[repr(transparent)]
    pub struct BlockMarks: u32 {
        /// Ends in what may become a back edge.
        const BACK_EDGE_CANDIDATE = 1 << 3;
    }
}

impl BlockFlags {
    /// What AnalyzeControlFlow keeps of the primary flags: it clears bits 23, 18, 17, 16, 10, 9, 6, 5 and 4.
    pub const RESET_MASK: u32 = 0xFF78_F98F;

    /// The flags after AnalyzeControlFlow's reset.
    #[must_use]
    pub const fn reset(self) -> Self {
        Self::from_bits_retain(self.bits() & Self::RESET_MASK)
    }
}

impl BlockMarks {
    /// What a return keeps of the secondary flags: bits 2 and 3 go.
    pub const RETURN_MASK: u32 = 0xFFFF_FFF3;
}

/// The instructions of a block, and its flags.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockHead {
    /// Its instructions, tombstones included: ids of its function. In a chained block, the first row and how many there are.
    pub insts: Span,
    /// Primary flags.
    pub flags: BlockFlags,
    /// Secondary flags.
    pub marks: BlockMarks,
}

/// Successors and predecessors: spans in the edge pool of the shard.
///
/// Parallel edges are listed as often as they exist. The fall-through successor, if there is one, is the last.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockEdges {
    /// Successors.
    pub succs: Span,
    /// Predecessors.
    pub preds: Span,
}

/// What AnalyzeControlFlow writes on a block.
///
/// A block dominates another exactly when the other's `dom_first` lies in its own `dom_first..=dom_last`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockOrder {
    /// Rank in reverse postorder: 0 for the entry, [`BlockOrder::UNREACHABLE`] without a path from it.
    pub rpo: u32,
    /// Of a header: the largest rank among its latches, else [`BlockOrder::NONE`].
    pub latch_rpo: u32,
    /// Of a header: the largest rank in its loop, else [`BlockOrder::NONE`].
    pub exit_rpo: u32,
    /// Number of natural loops around the block.
    pub depth: u32,
    /// Header of the innermost natural loop around the block.
    pub loop_header: Maybe<BlockId>,
    /// Of a header: header of the loop around its loop.
    pub loop_around: Maybe<BlockId>,
    /// Immediate dominator; none for the entry and for unreachable blocks.
    pub idom: Maybe<BlockId>,
    /// Number of the block in a preorder of the dominator tree, else [`BlockOrder::NONE`].
    pub dom_first: u32,
    /// The largest such number among the blocks that it dominates; 0 for unreachable blocks.
    pub dom_last: u32,
}

impl BlockOrder {
    /// The rank of a block without a path from the entry.
    pub const UNREACHABLE: u32 = u32::MAX;
    /// No rank.
    pub const NONE: u32 = u32::MAX;

    /// Whether there is a path from the entry to the block.
    #[inline]
    #[must_use]
    pub const fn is_reachable(&self) -> bool {
        self.rpo != Self::UNREACHABLE
    }

    /// Whether this block dominates `other`, itself included. False where one of them is unreachable.
    #[inline]
    #[must_use]
    pub const fn dominates(&self, other: &Self) -> bool {
        self.dom_first <= other.dom_first && other.dom_first <= self.dom_last && self.is_reachable()
    }

    /// Whether an edge from this block to `target` is a back edge: one to a block of smaller or equal rank.
    #[inline]
    #[must_use]
    pub const fn turns_back_to(&self, target: &Self) -> bool {
        target.rpo <= self.rpo && self.is_reachable()
    }
}

impl Default for BlockOrder {
    fn default() -> Self {
        Self {
            rpo: Self::UNREACHABLE,
            latch_rpo: Self::NONE,
            exit_rpo: Self::NONE,
            depth: 0,
            loop_header: Maybe::NONE,
            loop_around: Maybe::NONE,
            idom: Maybe::NONE,
            dom_first: Self::NONE,
            dom_last: 0,
        }
    }
}

/// The label of a block.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockLabel {
    /// Its name; none where no branch names the block.
    pub name: Maybe<NameId>,
    /// Byte offset of the block in the module's text: the label id that dumps print as `L%x`.
    pub offset: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_clears_the_documented_bits_and_nothing_else() {
        let cleared = [23, 18, 17, 16, 10, 9, 6, 5, 4].iter().fold(0, |mask, bit| mask | 1u32 << bit);
        assert_eq!(!BlockFlags::RESET_MASK, cleared);
    }
}
