//! Pressure of the [machine's view](super::machine): of the code as it stands, and of the code when all loads have gone as
//! early as they may.
//!
//! The assembler schedules: it starts loads early, so that the latency of one passes while others are under way, and pays with
//! registers as long as that costs no warp. So what a kernel takes lies between the two.

use super::lives::Lives;
use super::machine::{Machine, Motion, Place, Row};
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_engine::store::view::FunctionView;

/// The highest pressure of a function, in 32-bit slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peaks {
    /// As the code stands, without uniform values.
    pub need: u32,
    /// As the code stands, with them.
    pub with_uniform: u32,
    /// Of uniform values alone; looked at only where all values together are more than [`UNIFORM_FILE`].
    pub uniform: u32,
    /// When loads go early.
    pub hoisted: u32,
    /// When loads go early, and what stores and addresses need of constants and parameters, too.
    pub held: u32,
    /// On average over the instructions as they stand, in quarters of a slot.
    pub mean: u32,
    /// Instructions of the largest block.
    pub rows_max: u32,
    /// Slots of what the block loads that loads most.
    pub loaded_max: u32,
}

/// What is known of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockPeak {
    pub need: u32,
    pub row_count: u32,
    /// Slots of what it loads.
    pub loaded: u32,
}

#[derive(Default)]
pub(super) struct Walks {
    /// By register: the number of the walk in which it is live.
    live_in_walk: Vec<u32>,
    held_in_walk: Vec<u32>,
    number: u32,
    /// The rows of the block, the order of the walk.
    order: Vec<u32>,
    hoist: Hoist,
    pub blocks: Vec<BlockPeak>,
    /// By place in the machine's list of values: a source that is read for the last time, or a result that is never read.
    ends: Vec<bool>,
    /// Slots that live across each call.
    pub across_calls: Vec<(u32, u32)>,
    /// Slots that live after each instruction, all together.
    lived: u64,
}

/// Registers of the uniform file, UR0 to UR62.
pub(super) const UNIFORM_FILE: u32 = 63;

/// Which values a walk counts.
#[derive(Clone, Copy, Default)]
struct Counting {
    own: bool,
    uniform: bool,
    held: bool,
}

impl Walks {
    pub(super) fn walk(&mut self, function: &FunctionView<'_>, machine: &Machine, lives: &Lives) -> Peaks {
        for stamps in [&mut self.live_in_walk, &mut self.held_in_walk, &mut self.hoist.defined_at] {
            stamps.clear();
            stamps.resize(function.vregs.len(), 0);
        }
        self.ends.clear();
        self.ends.resize(machine.value_count(), false);
        (self.number, self.lived) = (0, 0);
        self.across_calls.clear();
        self.blocks.clear();
        self.blocks.resize(function.blocks.len(), BlockPeak::default());
        let mut peaks = Peaks::default();
        let reachable = |block: &BlockId| function.orders[block.index()].is_reachable();
        for block in function.block_ids().filter(reachable) {
            let rows = machine.rows_of(block);
            self.order.clear();
            self.order.extend(rows.clone().map(|row| row as u32));
            let plain = Counting { own: true, ..Counting::default() };
            let need = self.walk_block(machine, lives, block, plain);
            let with_uniform = self.walk_block(machine, lives, block, Counting { uniform: true, ..plain });
            if with_uniform > UNIFORM_FILE {
                let uniform = Counting { uniform: true, ..Counting::default() };
                peaks.uniform = peaks.uniform.max(self.walk_block(machine, lives, block, uniform));
            }
            let loads = machine.rows[rows.clone()].iter().filter(|row| row.motion == Motion::Load);
            let loaded = loads.flat_map(|row| machine.defs(row)).map(|vreg| slots(machine, *vreg)).sum();
            self.blocks[block.index()] = BlockPeak { need, row_count: rows.len() as u32, loaded };
            let mut hoisted = need;
            if loaded > 0 {
                self.hoist.order(machine, block, &mut self.order);
                hoisted = self.walk_block(machine, lives, block, plain);
            }
            let held = self.walk_block(machine, lives, block, Counting { held: true, ..plain });
            peaks.need = peaks.need.max(need);
            peaks.with_uniform = peaks.with_uniform.max(with_uniform);
            peaks.hoisted = peaks.hoisted.max(hoisted);
            peaks.held = peaks.held.max(held);
            peaks.rows_max = peaks.rows_max.max(rows.len() as u32);
            peaks.loaded_max = peaks.loaded_max.max(loaded);
        }
        peaks.mean = (4 * self.lived / machine.rows.len().max(1) as u64) as u32;
        peaks
    }

    /// The peak of a block in the order that is set.
    fn walk_block(&mut self, machine: &Machine, lives: &Lives, block: BlockId, counting: Counting) -> u32 {
        self.number += 1;
        let Self { live_in_walk, held_in_walk, number, order, across_calls, ends, lived, .. } = self;
        let weight = |vreg: VRegId| {
            let is_uniform = machine.places[vreg.index()] == Place::Uniform;
            let is_counted = if is_uniform { counting.uniform } else { counting.own };
            if is_counted { slots(machine, vreg) } else { 0 }
        };
        let mut now = 0;
        for vreg in lives.at_end_of(block) {
            live_in_walk[vreg.index()] = *number;
            now += weight(vreg);
        }
        let (mut peak, mut held) = (now, 0);
        for &at in order.iter().rev() {
            let row = &machine.rows[at as usize];
            if counting.own && counting.uniform {
                *lived += u64::from(now);
            }
            let mut after = now;
            let (results, sources) = machine.places_of(row);
            for (&vreg, place) in machine.defs(row).iter().zip(results) {
                let live = &mut live_in_walk[vreg.index()];
                if *live != *number {
                    ends[place] |= counting.uniform;
                    after += weight(vreg);
                } else if !row.is_guarded {
                    *live = 0;
                    now -= weight(vreg);
                }
            }
            if row.is_call && counting.own && counting.uniform {
                across_calls.push((at, now));
            }
            let mut extra = u32::from(row.extra);
            if counting.held {
                for &vreg in machine.held(row) {
                    if std::mem::replace(&mut held_in_walk[vreg.index()], *number) != *number {
                        held += slots(machine, vreg);
                    }
                }
                extra = held;
            }
            peak = peak.max(after + extra);
            for (&vreg, place) in machine.uses(row).iter().zip(sources) {
                if std::mem::replace(&mut live_in_walk[vreg.index()], *number) != *number {
                    ends[place] |= counting.uniform;
                    now += weight(vreg);
                }
            }
            peak = peak.max(now + extra);
        }
        peak
    }
}

impl Walks {
    /// The sources of a row, and whether they are read for the last time.
    pub(super) fn last_uses_of<'a>(
        &'a self,
        machine: &'a Machine,
        row: &Row,
    ) -> impl Iterator<Item = (VRegId, bool)> + 'a {
        let (_, sources) = machine.places_of(row);
        machine.uses(row).iter().copied().zip(self.ends[sources].iter().copied())
    }

    /// The results of a row, and whether nothing reads them.
    pub(super) fn results_of<'a>(
        &'a self,
        machine: &'a Machine,
        row: &Row,
    ) -> impl Iterator<Item = (VRegId, bool)> + 'a {
        let (results, _) = machine.places_of(row);
        machine.defs(row).iter().copied().zip(self.ends[results].iter().copied())
    }
}

pub(super) fn slots(machine: &Machine, vreg: VRegId) -> u32 {
    u32::from(machine.slots[vreg.index()])
}

/// The order of a block in which loads go as early as they may.
///
/// The level of an instruction is the number of loads that it waits for, one after the other. Those of a level go
/// together: first the loads and what computes their addresses, then the rest. Nothing crosses a barrier, no load a store.
#[derive(Default)]
struct Hoist {
    /// By register: one more than the row that defined it last.
    defined_at: Vec<u32>,
    levels: Vec<u32>,
    /// Of a row: it is a load, or feeds one of its level.
    feeds: Vec<bool>,
    /// By level and kind, the number of rows, then where the next one goes.
    places: Vec<u32>,
    sorted: Vec<u32>,
}

/// Kinds of rows of one level, in their order.
const KINDS: usize = 3;

impl Hoist {
    fn order(&mut self, machine: &Machine, block: BlockId, order: &mut Vec<u32>) {
        let rows = machine.rows_of(block);
        let first = rows.start;
        self.find_levels(machine, rows.clone());
        let kind = |feeds: bool, row: &Row| match row.motion {
            Motion::Fixed => 2,
            _ if feeds => 0,
            _ => 1,
        };
        let key = |hoist: &Self, row: usize| {
            hoist.levels[row - first] as usize * KINDS + kind(hoist.feeds[row - first], &machine.rows[row])
        };
        self.places.clear();
        for row in rows.clone() {
            let key = key(self, row);
            if self.places.len() <= key {
                self.places.resize(key + 1, 0);
            }
            self.places[key] += 1;
        }
        let mut next = 0;
        for place in &mut self.places {
            next += std::mem::replace(place, next);
        }
        self.sorted.clear();
        self.sorted.resize(rows.len(), 0);
        for row in rows {
            let key = key(self, row);
            self.sorted[self.places[key] as usize] = row as u32;
            self.places[key] += 1;
        }
        order.clone_from(&self.sorted);
    }

    fn find_levels(&mut self, machine: &Machine, rows: std::ops::Range<usize>) {
        let Self { defined_at, levels, feeds, .. } = self;
        let first = rows.start;
        levels.clear();
        feeds.clear();
        // The lowest level after the last barrier, and of loads after the last store; the highest so far.
        let (mut floor, mut load_floor, mut top) = (0, 0, 0);
        for at in rows.clone() {
            let row = &machine.rows[at];
            let mut level = floor;
            for vreg in machine.uses(row) {
                let definer = defined_at[vreg.index()] as usize;
                if definer > first {
                    let waits = machine.rows[definer - 1].motion == Motion::Load;
                    level = level.max(levels[definer - 1 - first] + u32::from(waits));
                }
            }
            match row.motion {
                Motion::Load => level = level.max(load_floor),
                Motion::Store => {
                    level = level.max(top);
                    load_floor = level;
                }
                Motion::Fixed => {
                    level = level.max(top);
                    floor = level + 1;
                }
                Motion::Free => {}
            }
            top = top.max(level).max(floor);
            levels.push(level);
            feeds.push(row.motion == Motion::Load);
            machine.defs(row).iter().for_each(|vreg| defined_at[vreg.index()] = at as u32 + 1);
        }
        // Backward, each definition stands before what it feeds: registers with several are taken for their last.
        for at in rows.rev() {
            let row = &machine.rows[at];
            if feeds[at - first] {
                for vreg in machine.uses(row) {
                    let definer = defined_at[vreg.index()] as usize;
                    if definer > first && definer <= at {
                        let fed = definer - 1 - first;
                        let is_free = machine.rows[definer - 1].motion == Motion::Free;
                        feeds[fed] |= is_free && levels[fed] == levels[at - first];
                    }
                }
            }
        }
    }
}
