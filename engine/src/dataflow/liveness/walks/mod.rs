//! The representation by walks: for each register, backward from the blocks that read it first to those that define it.
//!
//! The work is the number of blocks where registers live, and not blocks x registers. Where a register lives is kept
//! as [runs](ranges) of consecutive blocks: code is laid out so that most registers live in few runs, however long these are.
//!
//! In a function of 24,000 blocks one register may live in most of them. So the walk takes [groups](groups) of blocks at once, as many as
//! hold no definition of the register and are left by their last block alone, and goes on at the predecessors from outside: what lives
//! through all of a function costs the logarithm of its blocks.
//!
//! Where single registers still take too many steps, those that are left are taken in [bundles](bundle) of 64.

mod bundle;
mod groups;
mod ranges;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use ranges::{Members, Ranges};

use super::{LiveSet, LivenessScratch, NO_BIT};
use crate::dataflow::waiting::is_reachable;
use crate::lists::Lists;
use crate::store::view::FunctionView;
use bundle::{BUNDLE, Bundle};
use groups::Groups;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use std::cmp::Reverse;
use std::ops::Range;
use tree::{GROUP, group_of, mask_of};

/// Steps that the walks for single registers may take together, a step being a block or a group that a register leaves: they cost what
/// bundles for all registers would. So what is found costs no more than twice what the better of the two does.
///
/// With 64 steps a block, a made function of 500,000 instructions whose registers live long took 48 s with `-v`, and takes 37; 16,000 states
/// behind one branch took as long.
pub(super) fn steps_max(block_count: usize, bit_count: usize) -> usize {
    block_count * bit_count.div_ceil(BUNDLE) / VISITS_PER_STEP
}

/// How many blocks a bundle visits in the time of a step.
const VISITS_PER_STEP: usize = 4;

/// Memory that the walks use again.
#[derive(Default)]
pub(super) struct WalkScratch {
    groups: Groups,
    places: Places,
    walk: Walk,
    bundle: Bundle,
}

/// Where registers are read and defined, by bit.
#[derive(Default)]
struct Places {
    /// Blocks that read it before they define it.
    gens: Lists<BlockId>,
    /// Blocks that define it for certain.
    kills: Lists<BlockId>,
    /// Blocks at whose ends phis read it.
    ends: Lists<BlockId>,
}

/// Solves the sets, whose bits are given out, with so many steps for single registers.
pub(super) fn solve(
    function: &FunctionView<'_>,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
    steps_max: usize,
) {
    let LivenessScratch { gens, kills, ends, walks: WalkScratch { groups, places, walk, bundle }, .. } =
        scratch;
    let bit_count = set.vreg_of.len();
    let with_bit = |&(block, vreg): &(BlockId, VRegId)| {
        let bit = set.bit_of[vreg.index()];
        (bit != NO_BIT && is_reachable(function, block)).then_some((bit, block))
    };
    places.gens.fill(bit_count, gens.iter().filter_map(with_bit));
    places.kills.fill(bit_count, kills.iter().filter_map(with_bit));
    places.ends.fill(bit_count, ends.iter().filter_map(with_bit));
    groups.compute(function);
    walk.reset(groups);
    let (live_in, live_out) = (&mut set.live_in.ranges, &mut set.live_out.ranges);
    live_in.clear();
    live_out.clear();
    let mut bit = 0;
    while bit < bit_count && walk.steps < steps_max {
        walk.run(function, groups, places, bit);
        walk.take(groups, live_in, live_out);
        bit += 1;
    }
    if bit < bit_count {
        bundle.reset(function);
    }
    for bits in (bit..bit_count).step_by(BUNDLE).map(|first| first..bit_count.min(first + BUNDLE)) {
        bundle.solve(function, places, bits, [live_in, live_out]);
    }
    live_in.finish(&groups.tree);
    live_out.finish(&groups.tree);
}

/// The walk for one register.
#[derive(Default)]
struct Walk {
    /// By group: a bit a block, for the blocks that were walked one by one.
    live_in: Vec<u64>,
    live_out: Vec<u64>,
    kills: Vec<u64>,
    /// By node: how many blocks of it define the register for certain.
    kill_counts: Vec<u32>,
    /// Groups with a bit in `live_in` or `live_out`.
    touched: Vec<u32>,
    /// By node: it was taken as a whole.
    is_taken: Vec<bool>,
    /// The nodes that were taken as a whole, each by its level and a group in it.
    taken: Vec<(u32, u32)>,
    waiting: Vec<BlockId>,
    /// Blocks after which the register is live, found for a whole node.
    entries: Vec<BlockId>,
    pieces: Vec<Piece>,
    /// How often a register left a block, in all walks in the function.
    steps: usize,
}

/// Consecutive groups in which a register lives: in some of the blocks of one, or in all of what was taken as a whole.
struct Piece {
    groups: Range<u32>,
    is_taken: bool,
}

impl Walk {
    /// Makes room for a function; everything is clear.
    fn reset(&mut self, groups: &Groups) {
        for row in [&mut self.live_in, &mut self.live_out, &mut self.kills] {
            row.clear();
            row.resize(groups.tree.group_count(), 0);
        }
        self.kill_counts.clear();
        self.kill_counts.resize(groups.tree.node_count(), 0);
        self.is_taken.clear();
        self.is_taken.resize(groups.tree.node_count(), false);
        self.steps = 0;
    }

    /// Walks backward from the blocks that read the register of `bit`, and the ends of those at whose ends phis do, up to those that define it.
    fn run(&mut self, function: &FunctionView<'_>, groups: &Groups, places: &Places, bit: usize) {
        let kills = places.kills.of(bit);
        for &block in kills {
            self.kills[group_of(block)] |= mask_of(block);
            groups.tree.nodes_of(group_of(block)).for_each(|node| self.kill_counts[node] += 1);
        }
        places.ends.of(bit).iter().for_each(|&block| self.leave(groups, block));
        places.gens.of(bit).iter().for_each(|&block| self.enter(groups, block));
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
        for &block in kills {
            self.kills[group_of(block)] = 0;
            groups.tree.nodes_of(group_of(block)).for_each(|node| self.kill_counts[node] = 0);
        }
    }

    /// The register is live into `block`.
    fn enter(&mut self, groups: &Groups, block: BlockId) {
        let group = group_of(block);
        if self.live_in[group] & mask_of(block) == 0 && !self.is_in_taken(groups, group) {
            self.touch(group);
            self.live_in[group] |= mask_of(block);
            self.waiting.push(block);
        }
    }

    /// The register is live out of `block`.
    fn leave(&mut self, groups: &Groups, block: BlockId) {
        let group = group_of(block);
        self.steps += 1;
        if self.live_out[group] & mask_of(block) != 0 || self.is_in_taken(groups, group) {
            return;
        }
        if let Some(level) = groups.largest_ending_with(block, &self.kill_counts) {
            let node = groups.tree.node(level, group);
            self.is_taken[node] = true;
            self.taken.push((level as u32, group as u32));
            self.entries.extend(groups.entries(node));
            return;
        }
        self.touch(group);
        self.live_out[group] |= mask_of(block);
        if self.kills[group] & mask_of(block) == 0 {
            self.enter(groups, block);
        }
    }

    /// Whether a node was taken that stands for `group`.
    fn is_in_taken(&self, groups: &Groups, group: usize) -> bool {
        !self.taken.is_empty() && groups.tree.nodes_of(group).any(|node| self.is_taken[node])
    }

    fn touch(&mut self, group: usize) {
        if self.live_in[group] | self.live_out[group] == 0 {
            self.touched.push(group as u32);
        }
    }

    /// Appends where the register lives to the runs, as those of the next bit, and clears it.
    fn take(&mut self, groups: &Groups, live_in: &mut Ranges, live_out: &mut Ranges) {
        let Self { pieces, touched, taken, is_taken, .. } = self;
        pieces.clear();
        pieces.extend(touched.iter().map(|&group| Piece { groups: group..group + 1, is_taken: false }));
        for (level, group) in taken.drain(..) {
            let (level, group) = (level as usize, group as usize);
            is_taken[groups.tree.node(level, group)] = false;
            let groups = groups.tree.groups(level, group);
            pieces.push(Piece { groups: groups.start as u32..groups.end as u32, is_taken: true });
        }
        // Of those that start together the one first that holds the others.
        pieces.sort_unstable_by_key(|piece| (piece.groups.start, Reverse(piece.groups.end), !piece.is_taken));
        live_in.next_bit();
        live_out.next_bit();
        let mut end = 0;
        for Piece { groups: Range { start, end: after }, is_taken } in pieces.drain(..) {
            // What lies in a node that was taken is said.
            if after <= end {
                continue;
            }
            end = after;
            let group = start as usize;
            if !is_taken {
                live_in.push_bits(group, self.live_in[group]);
                live_out.push_bits(group, self.live_out[group]);
            } else if after == start + 1 {
                live_in.push_bits(group, groups.reachable(group));
                live_out.push_bits(group, groups.reachable(group));
            } else {
                let last = groups.tree.last_block(&(group..after as usize));
                let blocks = (group * GROUP) as u32..last.0 + 1;
                live_in.push(blocks.clone());
                live_out.push(blocks);
            }
        }
        for group in self.touched.drain(..) {
            self.live_in[group as usize] = 0;
            self.live_out[group as usize] = 0;
        }
    }
}
