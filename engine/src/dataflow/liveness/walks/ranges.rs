//! Where registers live, as runs of consecutive blocks.
//!
//! # Asking by block
//! For each node of the [tree](super::tree) a list names the runs that go through all of its groups, and for each group those that start
//! or end in it. The members of a block's set are those of the lists of its nodes that contain the block. A run stands in two lists a
//! level at most, however long it is.

use super::super::{STRIP_BITS, Strip};
use super::tree::{GROUP, Tree, group_of};
use crate::lists::counts_to_ends;
use ptxopt_components::ids::BlockId;
use std::ops::Range;

/// Consecutive blocks, both ends included, in which a register lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Run {
    pub first: u32,
    pub last: u32,
    pub bit: u32,
}

/// Where registers live, on one side of the blocks.
#[derive(Default)]
pub(in super::super) struct Ranges {
    /// By bit: where its runs start in `runs`; one more entry at the end.
    starts: Vec<u32>,
    /// By bit and block.
    runs: Vec<Run>,
    tree: Tree,
    /// By node: where its list starts in `touching`; one more entry at the end.
    list_starts: Vec<u32>,
    /// Numbers of runs.
    touching: Vec<u32>,
}

impl Ranges {
    /// The runs, by bit and block.
    pub(in super::super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether the register with `bit` lives at `block`.
    pub(in super::super) fn contains(&self, bit: usize, block: BlockId) -> bool {
        let runs = &self.runs[self.starts[bit] as usize..self.starts[bit + 1] as usize];
        let at = runs.partition_point(|run| run.last < block.0);
        runs.get(at).is_some_and(|run| run.first <= block.0)
    }

    /// The bits of the registers that live at `block`.
    pub(in super::super) fn members(&self, block: BlockId) -> Members<'_> {
        Members { ranges: self, list: [].iter(), level: 0, block }
    }

    /// Sets in `blocks`, all of whose bits are clear, those of the strip's registers that live there.
    pub(in super::super) fn strip(&self, strip: usize, blocks: &mut [Strip]) {
        let first = strip * STRIP_BITS;
        let end = (first + STRIP_BITS).min(self.starts.len() - 1);
        let runs = &self.runs[self.starts[first] as usize..self.starts[end] as usize];
        // Each bit changes where a run starts and after its end.
        for run in runs {
            let bit = run.bit as usize - first;
            for at in [run.first as usize, run.last as usize + 1] {
                if let Some(block) = blocks.get_mut(at) {
                    block[bit / 64] ^= 1 << (bit % 64);
                }
            }
        }
        let mut live = Strip::default();
        for block in blocks {
            live.iter_mut().zip(block.iter()).for_each(|(live, changed)| *live ^= changed);
            *block = live;
        }
    }

    /// Forgets all runs.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.runs.clear();
    }

    /// Begins with the runs of the next bit.
    pub(super) fn next_bit(&mut self) {
        self.starts.push(self.runs.len() as u32);
    }

    /// The register of the last bit lives in `blocks`, which come after those of the calls before.
    pub(super) fn push(&mut self, blocks: Range<u32>) {
        let bit = self.starts.len() as u32 - 1;
        match self.runs.last_mut() {
            Some(run) if run.bit == bit && run.last + 1 == blocks.start => run.last = blocks.end - 1,
            _ => self.runs.push(Run { first: blocks.start, last: blocks.end - 1, bit }),
        }
    }

    /// The register of the last bit lives in the blocks of `group` whose bits are set in `bits`.
    pub(super) fn push_bits(&mut self, group: usize, mut bits: u64) {
        let base = (group * GROUP) as u32;
        while bits != 0 {
            let first = bits.trailing_zeros();
            let end = first + (bits >> first).trailing_ones();
            self.push(base + first..base + end);
            bits &= u64::MAX.checked_shl(end).unwrap_or(0);
        }
    }

    /// Ends the last bit, and lists the runs by the nodes of `tree`.
    pub(super) fn finish(&mut self, tree: &Tree) {
        self.next_bit();
        self.tree.clone_from(tree);
        let Self { runs, list_starts, touching, .. } = self;
        list_starts.clear();
        list_starts.resize(tree.node_count() + 1, 0);
        for run in runs.iter() {
            each_node(tree, run, |node| list_starts[node] += 1);
        }
        let count = counts_to_ends(list_starts);
        touching.clear();
        touching.resize(count, 0);
        // Filling backwards turns each end into a start.
        for (number, run) in runs.iter().enumerate().rev() {
            each_node(tree, run, |node| {
                list_starts[node] -= 1;
                touching[list_starts[node] as usize] = number as u32;
            });
        }
    }

    /// The bits of the runs that a node lists.
    #[cfg(test)]
    pub(super) fn listed(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.list(node).iter().map(|&number| self.runs[number as usize].bit as usize)
    }

    fn list(&self, node: usize) -> &[u32] {
        &self.touching[self.list_starts[node] as usize..self.list_starts[node + 1] as usize]
    }
}

/// Calls `visit` with the nodes that list `run`: the groups of its ends, and what stands for those between.
fn each_node(tree: &Tree, run: &Run, mut visit: impl FnMut(usize)) {
    let [first, last] = [run.first, run.last].map(|block| group_of(BlockId(block)));
    visit(tree.node(0, first));
    if first < last {
        tree.cover(first + 1..last, &mut visit);
        visit(tree.node(0, last));
    }
}

/// The members of a block's set.
pub struct Members<'a> {
    ranges: &'a Ranges,
    list: std::slice::Iter<'a, u32>,
    /// That of the next list.
    level: usize,
    block: BlockId,
}

impl Iterator for Members<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Self { ranges, list, level, block } = self;
        loop {
            let mut runs = list.map(|&number| ranges.runs[number as usize]);
            if let Some(run) = runs.find(|run| run.first <= block.0 && block.0 <= run.last) {
                return Some(run.bit as usize);
            }
            if *level == ranges.tree.level_count() {
                return None;
            }
            *list = ranges.list(ranges.tree.node(*level, group_of(*block))).iter();
            *level += 1;
        }
    }
}
