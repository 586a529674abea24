//! Which groups of blocks a register lives in whole.
//!
//! A node of the [tree](super::tree) is *closed* when each of its reachable blocks reaches the node's last one without leaving it. What
//! is live after the last block, and defined nowhere in the node, then lives in all of it, and into it at the predecessors from
//! outside.
//!
//! Groups are searched. A node of several groups is assumed to be closed where both halves are, all of their blocks are reachable, and the first
//! half's last block leads to the second half. So a closed node may go unnoticed, which costs time alone.

use super::tree::{GROUP, Tree, group_of, mask_of};
use crate::dataflow::waiting::is_reachable;
use crate::lists::Lists;
use crate::store::view::FunctionView;
use ptxopt_components::ids::BlockId;

/// The groups of a function.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) tree: Tree,
    /// By group: its reachable blocks.
    reachable: Vec<u64>,
    /// By node.
    is_closed: Vec<bool>,
    /// Closed nodes and predecessors of their blocks from outside of them.
    entries: Vec<(u32, BlockId)>,
    /// By node.
    entries_of: Lists<BlockId>,
    waiting: Vec<BlockId>,
}

impl Groups {
    pub(super) fn compute(&mut self, function: &FunctionView<'_>) {
        self.tree.reset(function.blocks.len());
        self.reachable.clear();
        self.reachable.resize(self.tree.group_count(), 0);
        for block in function.block_ids().filter(|&block| is_reachable(function, block)) {
            self.reachable[group_of(block)] |= mask_of(block);
        }
        self.is_closed.clear();
        for group in 0..self.tree.group_count() {
            let is_closed = self.search(function, group);
            self.is_closed.push(is_closed);
        }
        for level in 1..self.tree.level_count() {
            for number in 0..self.tree.nodes(level).len() {
                let is_closed = self.joins(function, level, number << level);
                self.is_closed.push(is_closed);
            }
        }
        self.list_entries(function);
    }

    /// Whether `group` is closed.
    fn search(&mut self, function: &FunctionView<'_>, group: usize) -> bool {
        let Self { tree, reachable, waiting, .. } = self;
        let (last, reachable) = (tree.last_block(&(group..group + 1)), reachable[group]);
        let mut reaching = mask_of(last) & reachable;
        waiting.clear();
        waiting.push(last);
        while let Some(block) = waiting.pop() {
            for &pred in function.preds(block).iter().filter(|&&pred| group_of(pred) == group) {
                if mask_of(pred) & reachable & !reaching != 0 {
                    reaching |= mask_of(pred);
                    waiting.push(pred);
                }
            }
        }
        reaching == reachable && reachable & mask_of(last) != 0
    }

    /// Whether the node of `level` that starts with group number `first` is assumed to be closed.
    fn joins(&self, function: &FunctionView<'_>, level: usize, first: usize) -> bool {
        let Self { tree, reachable, is_closed, .. } = self;
        let halves = [first, first + (1 << (level - 1))];
        let is_closed = |half: usize| is_closed[tree.node(level - 1, half)];
        if halves[1] >= tree.group_count() {
            return is_closed(first);
        }
        let [before, after] = halves.map(|half| tree.groups(level - 1, half));
        let is_whole = |group: usize| {
            let blocks = tree.last_block(&(group..group + 1)).0 as usize % GROUP + 1;
            reachable[group] == u64::MAX >> (GROUP - blocks)
        };
        halves.into_iter().all(is_closed)
            && function.succs(tree.last_block(&before)).iter().any(|&succ| after.contains(&group_of(succ)))
            && (before.start..after.end).all(is_whole)
    }

    fn list_entries(&mut self, function: &FunctionView<'_>) {
        let Self { tree, reachable, is_closed, entries, entries_of, .. } = self;
        let is_reachable = |block: BlockId| reachable[group_of(block)] & mask_of(block) != 0;
        entries.clear();
        for block in function.block_ids().filter(|&block| is_reachable(block)) {
            for &pred in function.preds(block).iter().filter(|&&pred| is_reachable(pred)) {
                let nodes = tree.nodes_of(group_of(block)).zip(tree.nodes_of(group_of(pred)));
                let entered = nodes.take_while(|(to, from)| to != from).map(|(to, _)| to);
                entries.extend(entered.filter(|&node| is_closed[node]).map(|node| (node as u32, pred)));
            }
        }
        entries_of.fill(tree.node_count(), entries.iter().copied());
    }

    /// The reachable blocks of `group`.
    pub(super) fn reachable(&self, group: usize) -> u64 {
        self.reachable[group]
    }

    pub(super) fn is_reachable(&self, block: BlockId) -> bool {
        self.reachable[group_of(block)] & mask_of(block) != 0
    }

    /// The predecessors from outside of the blocks of a closed node.
    pub(super) fn entries(&self, node: usize) -> &[BlockId] {
        self.entries_of.of(node)
    }

    /// The level of the largest closed node that ends with `block` and has none of `counts`, which are by node.
    pub(super) fn largest_ending_with(&self, block: BlockId, counts: &[u32]) -> Option<usize> {
        let group = group_of(block);
        let fits = |&level: &usize| {
            let node = self.tree.node(level, group);
            self.is_closed[node]
                && counts[node] == 0
                && self.tree.last_block(&self.tree.groups(level, group)) == block
        };
        (0..self.tree.level_count()).take_while(fits).last()
    }
}
