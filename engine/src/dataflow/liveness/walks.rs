//! The representation by walks: for each register, backward from the blocks that read it first to those that define it.
//!
//! The work is the number of blocks where registers live, and not blocks x registers. Where a register lives is kept
//! as runs of consecutive blocks: code is laid out so that most registers live in few runs, however long these are.
//!
//! # Groups of blocks
//! In a function of 24,000 blocks one register may live in most of them. Blocks are taken in groups of 64, one word of
//! bits. A group is *closed* when each of its reachable blocks reaches the group's last one inside the group. What
//! is live after the last block, and defined nowhere in the group, then lives in the whole group: the walk sets a word and
//! goes on at the predecessors from outside.
//!
//! # Asking by block
//! For each group a list names the runs that touch it; the members of a block's set are those of the list that contain
//! the block.

use super::{LiveSet, LivenessScratch, NO_BIT, STRIP_BITS, Strip};
use crate::store::view::FunctionView;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id, VRegId};
use std::ops::Range;

/// Blocks of a group: bits of a word.
const GROUP: usize = u64::BITS as usize;

/// Consecutive blocks, both ends included, in which a register lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub first: u32,
    pub last: u32,
    pub bit: u32,
}

/// Where registers live, on one side of the blocks.
#[derive(Default)]
pub(super) struct Ranges {
    /// By bit: where its runs start in `runs`; one more entry at the end.
    starts: Vec<u32>,
    /// By bit and block.
    runs: Vec<Run>,
    /// By group: where its list starts in `touching`; one more entry at the end.
    list_starts: Vec<u32>,
    /// Numbers of runs.
    touching: Vec<u32>,
}

impl Ranges {
    fn clear(&mut self) {
        self.starts.clear();
        self.runs.clear();
    }

    /// The runs, by bit and block.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether the register with `bit` lives at `block`.
    pub(super) fn contains(&self, bit: usize, block: BlockId) -> bool {
        let runs = &self.runs[self.starts[bit] as usize..self.starts[bit + 1] as usize];
        let at = runs.partition_point(|run| run.last < block.0);
        runs.get(at).is_some_and(|run| run.first <= block.0)
    }

    /// The bits of the registers that live at `block`.
    pub(super) fn members(&self, block: BlockId) -> Members<'_> {
        let group = block.index() / GROUP;
        let list = self.list_starts[group] as usize..self.list_starts[group + 1] as usize;
        Members { ranges: self, list: self.touching[list].iter(), block }
    }

    /// Sets in `blocks`, all of whose bits are clear, those of the strip's registers that live there.
    pub(super) fn strip(&self, strip: usize, blocks: &mut [Strip]) {
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

    /// Appends the runs of the next bit: the set bits of `row`, all of which lie in `words`. Clears those.
    fn take(&mut self, bit: u32, row: &mut [u64], words: Range<usize>) {
        self.starts.push(self.runs.len() as u32);
        let mut open = None;
        for word in words.clone() {
            let (bits, base) = (std::mem::take(&mut row[word]), (word * GROUP) as u32);
            let mut at = 0;
            while at < GROUP as u32 {
                // A run ends at the next zero, and where there is none open, starts at the next one.
                let changes = if open.is_some() { !bits } else { bits } >> at;
                if changes == 0 {
                    break;
                }
                at += changes.trailing_zeros();
                match open.take() {
                    Some(first) => self.runs.push(Run { first, last: base + at - 1, bit }),
                    None => open = Some(base + at),
                }
            }
        }
        if let Some(first) = open {
            self.runs.push(Run { first, last: (words.end * GROUP) as u32 - 1, bit });
        }
    }

    /// Ends the last bit, and lists the runs by group.
    fn finish(&mut self, block_count: usize) {
        self.starts.push(self.runs.len() as u32);
        let groups_of = |run: &Run| run.first as usize / GROUP..run.last as usize / GROUP + 1;
        let Self { runs, list_starts, touching, .. } = self;
        list_starts.clear();
        list_starts.resize(block_count.div_ceil(GROUP) + 1, 0);
        for group in runs.iter().flat_map(groups_of) {
            list_starts[group] += 1;
        }
        let count = counts_to_ends(list_starts);
        touching.clear();
        touching.resize(count, 0);
        // Filling backwards turns each end into a start.
        for (number, run) in runs.iter().enumerate().rev() {
            for group in groups_of(run) {
                list_starts[group] -= 1;
                touching[list_starts[group] as usize] = number as u32;
            }
        }
    }
}

/// Turns counts into ends, and gives the last of them.
pub(super) fn counts_to_ends(counts: &mut [u32]) -> usize {
    let mut end = 0;
    for slot in counts.iter_mut() {
        end += *slot;
        *slot = end;
    }
    end as usize
}

/// The members of a block's set.
pub struct Members<'a> {
    ranges: &'a Ranges,
    list: std::slice::Iter<'a, u32>,
    block: BlockId,
}

impl Iterator for Members<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Self { ranges, list, block } = self;
        list.by_ref()
            .map(|&number| ranges.runs[number as usize])
            .find(|run| run.first <= block.0 && block.0 <= run.last)
            .map(|run| run.bit as usize)
    }
}

/// Blocks by key, as lists one after the other.
#[derive(Default)]
struct Lists {
    starts: Vec<u32>,
    blocks: Vec<BlockId>,
}

impl Lists {
    fn fill(&mut self, key_count: usize, members: impl Iterator<Item = (u32, BlockId)> + Clone) {
        self.starts.clear();
        self.starts.resize(key_count + 1, 0);
        for (key, _) in members.clone() {
            self.starts[key as usize] += 1;
        }
        let count = counts_to_ends(&mut self.starts);
        self.blocks.clear();
        self.blocks.resize(count, BlockId(0));
        for (key, block) in members {
            let slot = &mut self.starts[key as usize];
            *slot -= 1;
            self.blocks[*slot as usize] = block;
        }
    }

    fn of(&self, key: usize) -> &[BlockId] {
        &self.blocks[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

/// The groups of a function.
#[derive(Default)]
struct Groups {
    /// By group: its reachable blocks.
    reachable: Vec<u64>,
    /// By group: whether it is closed.
    is_closed: Vec<bool>,
    /// Group and predecessor of one of its blocks from outside of it.
    entries: Vec<(u32, BlockId)>,
    /// By group.
    entries_of: Lists,
    waiting: Vec<BlockId>,
}

impl Groups {
    fn compute(&mut self, function: &FunctionView<'_>) {
        let Self { reachable, is_closed, entries, entries_of, waiting } = self;
        let block_count = function.blocks.len();
        reachable.clear();
        reachable.resize(block_count.div_ceil(GROUP), 0);
        entries.clear();
        for block in function.block_ids().filter(|&block| is_reachable(function, block)) {
            let group = block.index() / GROUP;
            reachable[group] |= mask_of(block);
            let from_outside =
                |pred: &&BlockId| pred.index() / GROUP != group && is_reachable(function, **pred);
            entries
                .extend(function.preds(block).iter().filter(from_outside).map(|&pred| (group as u32, pred)));
        }
        entries_of.fill(reachable.len(), entries.iter().copied());
        is_closed.clear();
        for (group, &reachable) in reachable.iter().enumerate() {
            let last = BlockId::new(((group + 1) * GROUP).min(block_count) - 1);
            let mut reaching = mask_of(last) & reachable;
            waiting.clear();
            waiting.push(last);
            while let Some(block) = waiting.pop() {
                for &pred in function.preds(block).iter().filter(|pred| pred.index() / GROUP == group) {
                    if mask_of(pred) & reachable & !reaching != 0 {
                        reaching |= mask_of(pred);
                        waiting.push(pred);
                    }
                }
            }
            is_closed.push(reaching == reachable && reachable & mask_of(last) != 0);
        }
    }

    fn is_reachable(&self, block: BlockId) -> bool {
        self.reachable[block.index() / GROUP] & mask_of(block) != 0
    }

    /// Whether `block` is the last of its group, and what is live after it may live in the whole group.
    fn ends_closed(&self, block: BlockId) -> bool {
        block.index() % GROUP == GROUP - 1 && self.is_closed[block.index() / GROUP]
    }
}

fn mask_of(block: BlockId) -> u64 {
    1 << (block.index() % GROUP)
}

fn is_reachable(function: &FunctionView<'_>, block: BlockId) -> bool {
    function.orders[block.index()].rpo != BlockOrder::UNREACHABLE
        && !function.blocks[block.index()].flags.contains(BlockFlags::DEAD)
}

/// Memory that the walks use again.
#[derive(Default)]
pub(super) struct WalkScratch {
    groups: Groups,
    /// By bit: blocks that read it before they define it.
    gens: Lists,
    /// By bit: blocks that define it for certain.
    kills: Lists,
    /// By bit: blocks at whose ends phis read it.
    ends: Lists,
    walk: Walk,
}

/// Solves the sets, whose bits are given out.
pub(super) fn solve(function: &FunctionView<'_>, scratch: &mut LivenessScratch, set: &mut LiveSet) {
    let LivenessScratch {
        gens,
        kills,
        ends,
        walks: WalkScratch { groups, gens: gens_of, kills: kills_of, ends: ends_of, walk },
        ..
    } = scratch;
    let bit_count = set.vreg_of.len();
    let with_bit = |&(block, vreg): &(BlockId, VRegId)| {
        let bit = set.bit_of[vreg.index()];
        (bit != NO_BIT && is_reachable(function, block)).then_some((bit, block))
    };
    gens_of.fill(bit_count, gens.iter().filter_map(with_bit));
    kills_of.fill(bit_count, kills.iter().filter_map(with_bit));
    ends_of.fill(bit_count, ends.iter().filter_map(with_bit));
    groups.compute(function);
    let word_count = set.block_count.div_ceil(GROUP);
    for row in [&mut walk.live_in, &mut walk.live_out, &mut walk.kills] {
        row.clear();
        row.resize(word_count, 0);
    }
    let (live_in, live_out) = (&mut set.live_in.ranges, &mut set.live_out.ranges);
    live_in.clear();
    live_out.clear();
    for bit in 0..bit_count {
        let kills = kills_of.of(bit);
        kills.iter().for_each(|&block| walk.kills[block.index() / GROUP] |= mask_of(block));
        walk.run(function, groups, gens_of.of(bit), ends_of.of(bit));
        kills.iter().for_each(|&block| walk.kills[block.index() / GROUP] = 0);
        live_in.take(bit as u32, &mut walk.live_in, walk.touched.clone());
        live_out.take(bit as u32, &mut walk.live_out, walk.touched.clone());
    }
    live_in.finish(set.block_count);
    live_out.finish(set.block_count);
}

/// The walk for one register: rows of a bit a block.
#[derive(Default)]
struct Walk {
    live_in: Vec<u64>,
    live_out: Vec<u64>,
    kills: Vec<u64>,
    /// Words that hold all set bits of `live_in` and `live_out`.
    touched: Range<usize>,
    waiting: Vec<BlockId>,
    /// Blocks after which the register is live, found for a whole group.
    entries: Vec<BlockId>,
}

impl Walk {
    /// Walks backward from the blocks of `gens` and the ends of those of `ends`, through blocks that `kills` does not hold.
    fn run(&mut self, function: &FunctionView<'_>, groups: &Groups, gens: &[BlockId], ends: &[BlockId]) {
        self.touched = self.live_in.len()..0;
        ends.iter().for_each(|&block| self.leave(groups, block));
        for &block in gens {
            self.enter(block);
        }
        loop {
            if let Some(pred) = self.entries.pop() {
                self.leave(groups, pred);
            } else if let Some(block) = self.waiting.pop() {
                for &pred in function.preds(block).iter().filter(|&&pred| groups.is_reachable(pred)) {
                    self.leave(groups, pred);
                }
            } else {
                break;
            }
        }
        if self.touched.is_empty() {
            self.touched = 0..0;
        }
    }

    /// The register is live into `block`.
    fn enter(&mut self, block: BlockId) {
        self.touch(block);
        let word = &mut self.live_in[block.index() / GROUP];
        if *word & mask_of(block) == 0 {
            *word |= mask_of(block);
            self.waiting.push(block);
        }
    }

    /// The register is live out of `block`.
    fn leave(&mut self, groups: &Groups, block: BlockId) {
        self.touch(block);
        let group = block.index() / GROUP;
        if self.live_out[group] & mask_of(block) != 0 {
            return;
        }
        self.live_out[group] |= mask_of(block);
        if self.kills[group] & mask_of(block) != 0 {
            return;
        }
        if self.kills[group] == 0 && groups.ends_closed(block) {
            self.live_in[group] = groups.reachable[group];
            self.live_out[group] = groups.reachable[group];
            self.entries.extend(groups.entries_of.of(group));
        } else {
            self.enter(block);
        }
    }

    fn touch(&mut self, block: BlockId) {
        let word = block.index() / GROUP;
        self.touched = self.touched.start.min(word)..self.touched.end.max(word + 1);
    }
}
