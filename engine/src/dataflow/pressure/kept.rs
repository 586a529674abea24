//! Pressure that follows edits.
//!
//! Counts of a point are kept relative to the end of its block: a register that lives through a block without being named
//! there changes one number. A block is walked again where its instructions changed, or the life of a register that it
//! names; all else costs the blocks through which a register lives ([`lives`](super::lives)).
//!
//! A phase says which blocks it [touched](KeptPressure::touch), and asks for an [update](KeptPressure::update) before it
//! reads. Blocks and edges stay as they are between the two, and rows are not made dense: after either, the phase
//! [builds](KeptPressure::build) anew. Functions in SSA form have no pressure yet: a phi is no instruction of the machine.

use super::super::liveness::{LiveSet, kills};
use super::lives::{Lives, Rows};
use super::{CLASSES, Count, Counts, DEPTH_MAX, Peak, spill_cost, weight_of};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ahash::AHashSet;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::vreg::VRegHead;

/// Counts relative to those at the end of a block: modulo 2^32, as they may be less.
fn plus(one: Counts, other: Counts) -> Counts {
    std::array::from_fn(|class| Count {
        registers: one[class].registers.wrapping_add(other[class].registers),
        slots: one[class].slots.wrapping_add(other[class].slots),
    })
}

fn add(counts: &mut Counts, vreg: &VRegHead, is_more: bool) {
    if let Some((class, slots)) = weight_of(vreg) {
        let count = &mut counts[class];
        let by = |value: u32, by: u32| if is_more { value.wrapping_add(by) } else { value.wrapping_sub(by) };
        *count = Count { registers: by(count.registers, 1), slots: by(count.slots, slots) };
    }
}

/// What a block does to a register that it names.
#[derive(Clone, Copy)]
struct Named {
    vreg: VRegId,
    /// Accesses, each weighted with ten to the depth of the block.
    weight: u64,
    /// Instructions of the block that it lives across, or is written by.
    length: u32,
    /// The number of the instruction, counted from the end, after which it is live; [`NOT_LIVE`] where it is not. Of use
    /// within a walk.
    live_from: u32,
}

const NOT_LIVE: u32 = u32::MAX;

/// What is kept of a block.
#[derive(Default)]
struct Row {
    /// What lives at its end.
    out: Counts,
    /// The highest counts of its points, relative to `out`, and the first instruction that has them.
    peaks: [Option<(Count, InstId)>; CLASSES.len()],
    inst_count: u32,
    /// Sorted by register.
    named: Vec<Named>,
    /// Its share of lengths and weights is taken out until it is walked again.
    is_waiting: bool,
    is_touched: bool,
}

/// Counts before and after an instruction, relative to the end of its block.
#[derive(Clone, Copy, Default)]
struct Point {
    before: Counts,
    after: Counts,
    /// Positions of last uses below [`NEAR_POSITIONS`], as bits.
    last_uses: u64,
}

/// Positions of which a word says whether they are last uses; instructions with more operands are rare.
const NEAR_POSITIONS: usize = 64;

/// The manager of one function: pressure at each point, last uses and costs of spilling, kept up to date.
#[derive(Default)]
pub struct KeptPressure {
    lives: Lives,
    shares: Shares,
    points: Vec<Point>,
    /// Last uses at the positions from [`NEAR_POSITIONS`] on.
    far_last_uses: AHashSet<(InstId, u32)>,
    touched: Vec<BlockId>,
    /// By register: the number of a walk, and its place in the list of the block that was walked.
    place_of: Vec<(u64, u32)>,
    /// Epochs of graph and rows for which all this was built.
    epochs: (u32, u32),
    /// Blocks walked since it was made.
    pub walk_count: u64,
}

/// What blocks add to the sums of a function.
#[derive(Default)]
struct Shares {
    rows: Vec<Row>,
    /// By register: instructions that it lives across, or is written by.
    lengths: Vec<u32>,
    /// By register: accesses, each weighted with ten to the depth of its loops.
    weights: Vec<u64>,
    /// Blocks to be walked.
    waiting: Vec<BlockId>,
}

impl Shares {
    fn names(&self, block: BlockId, vreg: VRegId) -> bool {
        self.rows[block.index()].named.binary_search_by_key(&vreg, |named| named.vreg).is_ok()
    }

    /// Takes the share of a block out of the sums, until it is walked.
    fn detach(&mut self, live_out: &Rows, block: BlockId) {
        if std::mem::replace(&mut self.rows[block.index()].is_waiting, true) {
            return;
        }
        self.waiting.push(block);
        let count = self.rows[block.index()].inst_count;
        self.count_through(live_out, block, |length| *length -= count);
        for named in &self.rows[block.index()].named {
            self.lengths[named.vreg.index()] -= named.length;
            self.weights[named.vreg.index()] -= named.weight;
        }
    }

    /// Adds the share of a block that was walked.
    fn attach(&mut self, live_out: &Rows, block: BlockId) {
        let count = self.rows[block.index()].inst_count;
        self.count_through(live_out, block, |length| *length += count);
        for named in &self.rows[block.index()].named {
            self.lengths[named.vreg.index()] += named.length;
            self.weights[named.vreg.index()] += named.weight;
        }
        self.rows[block.index()].is_waiting = false;
    }

    /// Changes the lengths of the registers that live through a block without being named there.
    fn count_through(&mut self, live_out: &Rows, block: BlockId, change: impl Fn(&mut u32)) {
        let Self { rows, lengths, .. } = self;
        let named = &rows[block.index()].named;
        live_out.each(block, |vreg| {
            if named.binary_search_by_key(&vreg, |named| named.vreg).is_err() {
                change(&mut lengths[vreg.index()]);
            }
        });
    }

    /// Notes that a register enters or leaves the live-out set of a block.
    fn note(&mut self, live_out: &Rows, block: BlockId, vreg: VRegId, head: &VRegHead, enters: bool) {
        if self.names(block, vreg) {
            self.detach(live_out, block);
        }
        let row = &mut self.rows[block.index()];
        add(&mut row.out, head, enters);
        if !row.is_waiting {
            let length = &mut self.lengths[vreg.index()];
            *length = if enters { *length + row.inst_count } else { *length - row.inst_count };
        }
    }
}

impl KeptPressure {
    /// Starts with a function whose live sets are `set`.
    pub fn build(&mut self, function: &FunctionView<'_>, forms: &FormTable, set: &LiveSet) {
        debug_assert!(!function.state.flags.contains(CodeFlags::SSA));
        let Self { lives, shares, points, far_last_uses, touched, epochs, .. } = self;
        *epochs = (function.state.cfg_epoch, function.state.row_epoch);
        lives.start(function, set);
        points.clear();
        far_last_uses.clear();
        touched.clear();
        shares.rows.clear();
        shares.rows.resize_with(function.blocks.len(), Row::default);
        shares.lengths.clear();
        shares.weights.clear();
        shares.waiting.clear();
        for block in function.block_ids() {
            let row = &mut shares.rows[block.index()];
            lives.live_out.each(block, |vreg| add(&mut row.out, &function.vregs[vreg.index()], true));
            for vreg in lives.outside().at_end_of(function, block) {
                add(&mut row.out, &function.vregs[vreg.index()], true);
            }
            row.is_waiting = true;
            lives.look_at(function, forms, block, std::iter::empty());
        }
        lives.trust();
        self.grow(function);
        function.block_ids().for_each(|block| self.walk(function, forms, block));
    }

    /// Whether blocks and ids of the function are those that it was built for.
    #[must_use]
    pub fn is_for(&self, function: &FunctionView<'_>) -> bool {
        self.epochs == (function.state.cfg_epoch, function.state.row_epoch)
    }

    /// Notes that instructions of `block` have changed.
    pub fn touch(&mut self, block: BlockId) {
        let row = &mut self.shares.rows[block.index()];
        if !std::mem::replace(&mut row.is_touched, true) {
            self.touched.push(block);
        }
    }

    /// Brings everything up to date with what was touched.
    pub fn update(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        debug_assert!(self.is_for(function), "blocks or ids have changed");
        self.grow(function);
        let Self { lives, shares, touched, .. } = self;
        for block in touched.drain(..) {
            shares.detach(&lives.live_out, block);
            let row = &mut shares.rows[block.index()];
            row.is_touched = false;
            lives.look_at(function, forms, block, row.named.iter().map(|named| named.vreg));
        }
        lives.spread(function, |live_out, block, vreg, enters| {
            shares.note(live_out, block, vreg, &function.vregs[vreg.index()], enters);
        });
        while let Some(block) = self.shares.waiting.pop() {
            self.walk(function, forms, block);
        }
    }

    fn grow(&mut self, function: &FunctionView<'_>) {
        let vreg_count = function.vregs.len();
        self.lives.grow(vreg_count);
        self.shares.lengths.resize(vreg_count, 0);
        self.shares.weights.resize(vreg_count, 0);
        self.place_of.resize(vreg_count, (0, 0));
        self.points.resize(function.heads.len(), Point::default());
    }

    /// Walks a block backward and adds its share.
    fn walk(&mut self, function: &FunctionView<'_>, forms: &FormTable, block: BlockId) {
        self.walk_count += 1;
        let Self { lives, shares, points, far_last_uses, place_of, walk_count, .. } = self;
        let row = &mut shares.rows[block.index()];
        row.named.clear();
        row.peaks = Default::default();
        let mut walk = Walk { named: &mut row.named, place_of, number: *walk_count, live: Counts::default() };
        let at_end = lives.outside().at_end_of(function, block);
        let is_out = |vreg: VRegId| lives.live_out.has(block, vreg) || at_end.contains(&vreg);
        for &vreg in at_end {
            walk.place(vreg, is_out);
        }
        let weight = 10_u64.pow(function.orders[block.index()].depth.min(DEPTH_MAX));
        let mut number = 0;
        for inst in function.insts_of(block).rev() {
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            let is_guarded = head.opcode.is_guarded();
            let mut after = walk.live;
            for operand in operands.iter().filter(|operand| operand.is_definition()) {
                let Some(vreg) = operand.vreg() else { continue };
                let place = walk.place(vreg, is_out);
                if walk.named[place].live_from == NOT_LIVE {
                    add(&mut after, &function.vregs[vreg.index()], true);
                    walk.named[place].length += 1;
                } else if kills(operand, is_guarded) {
                    walk.end(place, number + 1, &function.vregs[vreg.index()]);
                }
            }
            let point = &mut points[inst.index()];
            *point = Point { after, ..Point::default() };
            for (position, operand) in operands.iter().enumerate() {
                let Some(vreg) = operand.vreg() else { continue };
                let place = walk.place(vreg, is_out);
                walk.named[place].weight += weight;
                if position >= NEAR_POSITIONS {
                    far_last_uses.remove(&(inst, position as u32));
                }
                if operand.is_use() && walk.begin(place, number + 1, &function.vregs[vreg.index()]) {
                    if position < NEAR_POSITIONS {
                        point.last_uses |= 1 << position;
                    } else {
                        far_last_uses.insert((inst, position as u32));
                    }
                }
            }
            for vreg in lives.outside().read_by(function, forms, head) {
                let place = walk.place(vreg, is_out);
                walk.begin(place, number + 1, &function.vregs[vreg.index()]);
            }
            point.before = walk.live;
            for counts in [&point.after, &point.before] {
                raise(&mut row.peaks, counts, inst);
            }
            number += 1;
        }
        row.inst_count = number;
        for named in &mut row.named {
            if named.live_from != NOT_LIVE {
                named.length += number - named.live_from;
            }
        }
        row.named.sort_unstable_by_key(|named| named.vreg);
        shares.attach(&lives.live_out, block);
    }
}

/// Raises the peaks of a block to the counts of an instruction before those that were seen.
fn raise(peaks: &mut [Option<(Count, InstId)>; CLASSES.len()], counts: &Counts, inst: InstId) {
    // Relative counts may be less than none.
    let key = |count: &Count| (count.slots as i32, count.registers as i32);
    for (peak, count) in peaks.iter_mut().zip(counts) {
        if peak.is_none_or(|(most, _)| key(count) >= key(&most)) {
            *peak = Some((*count, inst));
        }
    }
}

/// The registers of a block that is walked.
struct Walk<'a> {
    named: &'a mut Vec<Named>,
    place_of: &'a mut [(u64, u32)],
    number: u64,
    /// What lives here, relative to the end of the block.
    live: Counts,
}

impl Walk<'_> {
    /// The place of a register in the list, which it enters as it is at the end of the block.
    fn place(&mut self, vreg: VRegId, is_out: impl Fn(VRegId) -> bool) -> usize {
        let (number, place) = &mut self.place_of[vreg.index()];
        if *number != self.number {
            (*number, *place) = (self.number, self.named.len() as u32);
            let live_from = if is_out(vreg) { 0 } else { NOT_LIVE };
            self.named.push(Named { vreg, weight: 0, length: 0, live_from });
        }
        *place as usize
    }

    /// Makes a register live before the first `count` instructions from the end; says whether it was not.
    fn begin(&mut self, place: usize, count: u32, head: &VRegHead) -> bool {
        let named = &mut self.named[place];
        let is_new = named.live_from == NOT_LIVE;
        if is_new {
            named.live_from = count;
            add(&mut self.live, head, true);
        }
        is_new
    }

    /// Ends the life of a register before the first `count` instructions from the end.
    fn end(&mut self, place: usize, count: u32, head: &VRegHead) {
        let named = &mut self.named[place];
        named.length += count - std::mem::replace(&mut named.live_from, NOT_LIVE);
        add(&mut self.live, head, false);
    }
}

/// What it knows, as far as nothing was touched since the last update.
impl KeptPressure {
    /// What lives before an instruction of `function`.
    #[must_use]
    pub fn before(&self, function: &FunctionView<'_>, inst: InstId) -> Counts {
        let block = function.heads[inst.index()].block;
        plus(self.shares.rows[block.index()].out, self.points[inst.index()].before)
    }

    /// What lives after an instruction of `function`, and what it writes for nobody.
    #[must_use]
    pub fn after(&self, function: &FunctionView<'_>, inst: InstId) -> Counts {
        let block = function.heads[inst.index()].block;
        plus(self.shares.rows[block.index()].out, self.points[inst.index()].after)
    }

    /// Where most slots of each class are taken. Costs the blocks.
    #[must_use]
    pub fn peaks(&self) -> [Peak; CLASSES.len()] {
        let mut peaks = [Peak::default(); CLASSES.len()];
        for row in &self.shares.rows {
            for (class, peak) in peaks.iter_mut().enumerate() {
                let Some((count, inst)) = row.peaks[class] else { continue };
                let mut counts = Counts::default();
                counts[class] = count;
                let count = plus(row.out, counts)[class];
                if (count.slots, count.registers) > (peak.count.slots, peak.count.registers) {
                    *peak = Peak { count, inst: Some(inst) };
                }
            }
        }
        peaks
    }

    /// Whether the register of an operand is dead after the instruction.
    #[must_use]
    pub fn is_last_use(&self, inst: InstId, position: usize) -> bool {
        if position < NEAR_POSITIONS {
            self.points[inst.index()].last_uses >> position & 1 == 1
        } else {
            self.far_last_uses.contains(&(inst, position as u32))
        }
    }

    /// Number of instructions that a register lives across, or is written by.
    #[must_use]
    pub fn length(&self, vreg: VRegId) -> u32 {
        self.shares.lengths[vreg.index()]
    }

    /// Accesses of a register, each weighted with ten to the depth of its loops.
    #[must_use]
    pub fn weight(&self, vreg: VRegId) -> u64 {
        self.shares.weights[vreg.index()]
    }

    /// What keeping `vreg` in memory would cost, as [`Pressure::spill_cost`](super::Pressure::spill_cost).
    #[must_use]
    pub fn spill_cost(&self, function: &FunctionView<'_>, vreg: VRegId) -> f64 {
        spill_cost(&function.vregs[vreg.index()], self.weight(vreg), self.length(vreg))
    }
}
