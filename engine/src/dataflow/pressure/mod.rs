//! Register pressure: how many registers of each class live at each point, which uses are the last, and what it would
//! cost to keep a register in memory.
//!
//! One backward walk over the blocks, the last first, with a running set that counts all classes together; from one block
//! to the next in the walk only what [changes](Changes) is touched. A register counts as one, and
//! as so many 32-bit slots of the machine: two for 64 bits, four for 128, one for anything smaller and for a predicate.
//! The carry register is none. Registers that an asynchronous instruction goes on writing are counted where the text
//! says they live.
//!
//! [`measure`] looks at a whole function once. A phase that edits and asks again and again takes a [`KeptPressure`], which
//! follows the edits.
//!
//! Costs of spilling are those of Chaitin et al. 1981 and Briggs 1992: accesses, each weighted with ten to the depth of
//! its loops, over the length of the range.

mod kept;
mod lives;

pub use kept::KeptPressure;

use super::liveness::{Boundary, Changes, LiveSet, kills};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::types::RegClass;
use ptxopt_components::vreg::{VRegFlags, VRegHead};

/// The classes, in the order of [`Counts`].
pub const CLASSES: [RegClass; 5] = [RegClass::R, RegClass::Ur, RegClass::P, RegClass::Up, RegClass::B];

/// Deepest loop that counts: a weight of a million.
const DEPTH_MAX: u32 = 6;

/// Registers of one class at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Registers.
    pub registers: u32,
    /// Slots of 32 bits that they take.
    pub slots: u32,
}

impl Count {
    /// Counts a register of so many slots; one of none counts for nothing.
    fn add(&mut self, slots: u32) {
        self.registers += u32::from(slots > 0);
        self.slots += slots;
    }
}

/// Registers at a point, by class.
pub type Counts = [Count; CLASSES.len()];

/// Where most slots of a class are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// How many.
    pub count: Count,
    /// The first instruction where it is so; none where no register of the class lives.
    pub inst: Option<InstId>,
}

/// What the walk found.
#[derive(Default)]
pub struct Pressure {
    /// By instruction: what lives before it.
    pub before: Vec<Counts>,
    /// By instruction: what lives after it, and what it writes for nobody.
    pub after: Vec<Counts>,
    /// By class.
    pub peaks: [Peak; CLASSES.len()],
    /// Instruction and position of each use after which its register is dead, sorted. Of two uses of one register by
    /// one instruction, the first.
    last_uses: Vec<(InstId, u32)>,
    /// By register: number of instructions that it lives across, or is written by.
    pub lengths: Vec<u32>,
    /// By register: accesses, each weighted with ten to the depth of its loops.
    pub weights: Vec<u64>,
}

impl Pressure {
    /// Whether the register of an operand is dead after the instruction.
    #[must_use]
    pub fn is_last_use(&self, inst: InstId, position: usize) -> bool {
        self.last_uses.binary_search(&(inst, position as u32)).is_ok()
    }

    /// Positions of the last uses of an instruction.
    pub fn last_uses_of(&self, inst: InstId) -> impl Iterator<Item = usize> + '_ {
        let first = self.last_uses.partition_point(|&(other, _)| other < inst);
        let of_inst = self.last_uses[first..].iter().take_while(move |&&(other, _)| other == inst);
        of_inst.map(|&(_, position)| position as usize)
    }

    /// What keeping `vreg` in memory would cost, for an instruction that it lives across; infinite where it may not be.
    #[must_use]
    pub fn spill_cost(&self, function: &FunctionView<'_>, vreg: VRegId) -> f64 {
        spill_cost(&function.vregs[vreg.index()], self.weights[vreg.index()], self.lengths[vreg.index()])
    }
}

fn spill_cost(vreg: &VRegHead, weight: u64, length: u32) -> f64 {
    let stays = VRegFlags::PINNED | VRegFlags::CARRY | VRegFlags::MODULE;
    if vreg.flags.intersects(stays) { f64::INFINITY } else { weight as f64 / f64::from(length.max(1)) }
}

/// The manager: the registers that live at the place of a walk, counted by class.
#[derive(Default)]
pub struct LiveRegisters {
    /// By register: the place from which on, going backward, it is live; [`NOT_LIVE`] where it is not.
    live_from: Vec<u32>,
    /// By register: its class and its slots; no slots where it counts for nothing.
    weights: Vec<(u8, u32)>,
    counts: Counts,
    changes: Changes,
}

const NOT_LIVE: u32 = u32::MAX;

/// What a register counts for: its class and its slots, or nothing.
fn weight_of(vreg: &VRegHead) -> Option<(usize, u32)> {
    if vreg.flags.contains(VRegFlags::CARRY) {
        return None;
    }
    let bits = vreg.ty.element().bits() * u32::from(vreg.ty.lanes);
    Some((vreg.class() as usize, bits.div_ceil(32).max(1)))
}

impl LiveRegisters {
    /// Goes after the last block, where nothing is live.
    fn start(&mut self, function: &FunctionView<'_>, set: &LiveSet) {
        self.live_from.clear();
        self.live_from.resize(function.vregs.len(), NOT_LIVE);
        self.weights.clear();
        self.weights.extend(
            function
                .vregs
                .iter()
                .map(|vreg| weight_of(vreg).map_or((0, 0), |(class, slots)| (class as u8, slots))),
        );
        self.counts = Counts::default();
        self.changes.collect(set);
    }

    fn is_live(&self, vreg: VRegId) -> bool {
        self.live_from[vreg.index()] != NOT_LIVE
    }

    /// Adds `vreg` to `counts`.
    fn count(&self, counts: &mut Counts, vreg: VRegId) {
        let (class, slots) = self.weights[vreg.index()];
        counts[usize::from(class)].add(slots);
    }

    /// Makes `vreg` live from `place` backward; says whether it was not.
    fn add(&mut self, vreg: VRegId, place: u32) -> bool {
        let is_new = !self.is_live(vreg);
        if is_new {
            self.live_from[vreg.index()] = place;
            let (class, slots) = self.weights[vreg.index()];
            self.counts[usize::from(class)].add(slots);
        }
        is_new
    }

    /// Ends the life of `vreg` at `place`; gives its length.
    fn remove(&mut self, vreg: VRegId, place: u32) -> u32 {
        if !self.is_live(vreg) {
            return 0;
        }
        let (class, slots) = self.weights[vreg.index()];
        let count = &mut self.counts[usize::from(class)];
        count.registers -= u32::from(slots > 0);
        count.slots -= slots;
        std::mem::replace(&mut self.live_from[vreg.index()], NOT_LIVE) - place
    }
}

/// Measures the pressure of a function whose live sets are `set`.
pub fn measure(
    function: &FunctionView<'_>,
    forms: &FormTable,
    set: &LiveSet,
    live: &mut LiveRegisters,
    pressure: &mut Pressure,
) {
    let Pressure { before, after, peaks, last_uses, lengths, weights } = pressure;
    for counts in [before, after] {
        counts.clear();
        counts.resize(function.heads.len(), Counts::default());
    }
    *peaks = Default::default();
    last_uses.clear();
    lengths.clear();
    lengths.resize(function.vregs.len(), 0);
    weights.clear();
    weights.resize(function.vregs.len(), 0);
    live.start(function, set);
    let outside = Outside::of(function);
    for block in function.block_ids().rev() {
        go_after(function, set, &outside, live, pressure, block);
        measure_block(function, forms, &outside, live, pressure, block);
        if !function.orders[block.index()].is_reachable() {
            leave_unreachable(function, &outside, live, pressure, block);
        }
    }
    for vreg in set.live_in_vregs(BlockId(0)) {
        pressure.lengths[vreg.index()] += live.remove(vreg, 0);
    }
    pressure.last_uses.sort_unstable();
    pressure.find_peaks(function);
}

/// Registers that may be read where control leaves the function.
const AT_LEAVING: VRegFlags = VRegFlags::OUTPUT.union(VRegFlags::MODULE);

/// Registers that are read where control leaves the function.
struct Outside {
    boundary: Boundary,
    vregs: Vec<VRegId>,
}

impl Outside {
    fn of(function: &FunctionView<'_>) -> Self {
        let is_outside = |vreg: &VRegId| function.vregs[vreg.index()].flags.intersects(AT_LEAVING);
        Self { boundary: Boundary::of(function), vregs: function.vreg_ids().filter(is_outside).collect() }
    }

    /// These registers and those that `block` names.
    fn or_named_in<'a>(
        &'a self,
        function: &'a FunctionView<'_>,
        block: BlockId,
    ) -> impl Iterator<Item = VRegId> + 'a {
        let operands = function.insts_of(block).flat_map(|inst| function.operands_of(inst));
        operands.filter_map(|operand| operand.vreg()).chain(self.vregs.iter().copied())
    }

    fn read_by<'a>(
        &'a self,
        function: &'a FunctionView<'_>,
        which: VRegFlags,
    ) -> impl Iterator<Item = VRegId> + 'a {
        self.vregs.iter().copied().filter(move |vreg| function.vregs[vreg.index()].flags.intersects(which))
    }
}

/// Goes from the start of the next block, with what is live into it, to the end of `block`.
///
/// A register that `block` does not name lives through it or not at all. So what is live after `block` and what is live
/// into the next one differ in registers that it names, or whose life changes from one block to the other.
fn go_after(
    function: &FunctionView<'_>,
    set: &LiveSet,
    outside: &Outside,
    live: &mut LiveRegisters,
    pressure: &mut Pressure,
    block: BlockId,
) {
    let end = function.blocks[block.index()].insts.end() as u32;
    let leaves = function.succs(block).is_empty();
    let is_outside = |vreg: VRegId| function.vregs[vreg.index()].flags.intersects(AT_LEAVING);
    let mut go = |live: &mut LiveRegisters, vreg: VRegId| {
        if set.is_live_out(block, vreg) || (leaves && is_outside(vreg)) {
            live.add(vreg, end);
        } else {
            pressure.lengths[vreg.index()] += live.remove(vreg, end);
        }
    };
    for at in 0..live.changes.after(block).len() {
        let vreg = live.changes.after(block)[at];
        go(live, vreg);
    }
    outside.or_named_in(function, block).for_each(|vreg| go(live, vreg));
}

/// Ends what an unreachable block reads: its live-in set is empty whatever that is.
fn leave_unreachable(
    function: &FunctionView<'_>,
    outside: &Outside,
    live: &mut LiveRegisters,
    pressure: &mut Pressure,
    block: BlockId,
) {
    let first = function.blocks[block.index()].insts.first;
    for vreg in outside.or_named_in(function, block) {
        pressure.lengths[vreg.index()] += live.remove(vreg, first);
    }
}

fn measure_block(
    function: &FunctionView<'_>,
    forms: &FormTable,
    outside: &Outside,
    live: &mut LiveRegisters,
    pressure: &mut Pressure,
    block: BlockId,
) {
    let depth = function.orders[block.index()].depth.min(DEPTH_MAX);
    for inst in function.insts_of(block).rev() {
        let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
        let mut after = live.counts;
        let is_guarded = head.opcode.is_guarded();
        for operand in operands.iter().filter(|operand| operand.is_definition()) {
            let Some(vreg) = operand.vreg() else { continue };
            if !live.is_live(vreg) {
                // Written for nobody: it takes its slots for an instant.
                live.count(&mut after, vreg);
                pressure.lengths[vreg.index()] += 1;
            } else if kills(operand, is_guarded) {
                pressure.lengths[vreg.index()] += live.remove(vreg, inst.0);
            }
        }
        pressure.after[inst.index()] = after;
        for (position, operand) in operands.iter().enumerate() {
            let Some(vreg) = operand.vreg() else { continue };
            pressure.weights[vreg.index()] += 10_u64.pow(depth);
            if operand.is_use() && live.add(vreg, inst.0) {
                pressure.last_uses.push((inst, position as u32));
            }
        }
        for vreg in outside.read_by(function, outside.boundary.read_by(head, forms)) {
            live.add(vreg, inst.0);
        }
        pressure.before[inst.index()] = live.counts;
    }
}

impl Pressure {
    fn find_peaks(&mut self, function: &FunctionView<'_>) {
        for (inst, _) in function.heads.iter().enumerate().filter(|(_, head)| head.is_live()) {
            for counts in [&self.before[inst], &self.after[inst]] {
                let mut both = self.peaks.iter().zip(counts);
                if both.all(|(peak, count)| count.slots < peak.count.slots || count.slots == 0) {
                    continue;
                }
                for (peak, count) in self.peaks.iter_mut().zip(counts) {
                    if (count.slots, count.registers) > (peak.count.slots, peak.count.registers) {
                        *peak = Peak { count: *count, inst: Some(InstId::new(inst)) };
                    }
                }
            }
        }
    }
}
