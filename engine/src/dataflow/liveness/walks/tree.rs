//! Blocks in groups of 64, and a binary tree over the groups.
//!
//! A node of level `k` stands for `2^k` consecutive groups; the last node of a level may stand for fewer. Level 0 is the
//! groups themselves, the last level is one node for all blocks. What runs through many blocks is said of few nodes.

use ptxopt_components::ids::{BlockId, Id};
use std::ops::Range;

/// Blocks of a group: bits of a word.
pub(super) const GROUP: usize = u64::BITS as usize;

/// The group of `block`.
pub(super) fn group_of(block: BlockId) -> usize {
    block.index() / GROUP
}

/// The bit of `block` in the word of its group.
pub(super) fn mask_of(block: BlockId) -> u64 {
    1 << (block.index() % GROUP)
}

/// Where the nodes of each level lie in tables by node.
#[derive(Clone, Default)]
pub(super) struct Tree {
    /// By level: its first node; one more entry at the end.
    starts: Vec<u32>,
    block_count: usize,
}

impl Tree {
    /// Becomes the tree over so many blocks.
    pub(super) fn reset(&mut self, block_count: usize) {
        self.block_count = block_count;
        self.starts.clear();
        let (mut start, mut count) = (0, block_count.div_ceil(GROUP).max(1));
        loop {
            self.starts.push(start as u32);
            start += count;
            if count == 1 {
                break;
            }
            count = count.div_ceil(2);
        }
        self.starts.push(start as u32);
    }

    /// Number of levels.
    pub(super) fn level_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of nodes of all levels.
    pub(super) fn node_count(&self) -> usize {
        self.starts[self.level_count()] as usize
    }

    /// The node of `level` that stands for `group` among others.
    pub(super) fn node(&self, level: usize, group: usize) -> usize {
        self.starts[level] as usize + (group >> level)
    }

    /// The nodes of `level`, in the order of their groups.
    pub(super) fn nodes(&self, level: usize) -> Range<usize> {
        self.starts[level] as usize..self.starts[level + 1] as usize
    }

    /// The nodes that stand for `group`, from its own to that of all blocks.
    pub(super) fn nodes_of(&self, group: usize) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.level_count()).map(move |level| self.node(level, group))
    }

    /// The groups for which the node of `level` that holds `group` stands.
    pub(super) fn groups(&self, level: usize, group: usize) -> Range<usize> {
        let first = group >> level << level;
        first..(first + (1 << level)).min(self.group_count())
    }

    /// The last block of `groups`.
    pub(super) fn last_block(&self, groups: &Range<usize>) -> BlockId {
        BlockId::new((groups.end * GROUP).min(self.block_count) - 1)
    }

    /// Number of groups.
    pub(super) fn group_count(&self) -> usize {
        self.nodes(0).len()
    }

    /// Calls `visit` with nodes that stand for `groups`, each of them once and no other: two a level at most.
    pub(super) fn cover(&self, groups: Range<usize>, mut visit: impl FnMut(usize)) {
        let Range { start: mut first, mut end } = groups;
        let mut level = 0;
        while first < end {
            let start = self.starts[level] as usize;
            if first % 2 == 1 {
                visit(start + first);
                first += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                visit(start + end);
            }
            (first, end, level) = (first / 2, end / 2, level + 1);
        }
    }
}
