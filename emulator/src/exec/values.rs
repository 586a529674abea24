//! Reading sources and writing results; copies and address conversions.

use super::Exec;
use crate::lanes::{Lanes, WARP_SIZE};
use crate::layout::{resolve, window};
use crate::program::{Evaluate, SOURCES_MAX, Source, Target};
use crate::stop::Stop;
use crate::warp::lanes_of;
use ptxopt_components::types::StateSpace;

/// Sources that most evaluators stay within.
const SOURCES_FEW: usize = 4;

static ZEROS: Lanes = [0; WARP_SIZE];

impl Exec<'_, '_> {
    /// The lanes of the group in which the guard in `slot` holds.
    #[inline]
    pub(super) fn guarded(&mut self, slot: u32, negated: bool) -> u32 {
        if self.world.options.checks.uninitialised {
            self.check_registers(&[Source::Slot(slot)], self.group.mask);
        }
        let held = bits_of(&self.warp.registers[(self.group.base + slot) as usize]);
        self.group.mask & if negated { !held } else { held }
    }

    /// Runs an evaluator.
    #[inline]
    pub(super) fn evaluate(&mut self, evaluate: &Evaluate, mask: u32) {
        if evaluate.sources.len() <= SOURCES_FEW {
            self.evaluate_up_to::<SOURCES_FEW>(evaluate, mask);
        } else {
            self.evaluate_up_to::<SOURCES_MAX>(evaluate, mask);
        }
    }

    #[inline]
    fn evaluate_up_to<const N: usize>(&mut self, evaluate: &Evaluate, mask: u32) {
        let count = evaluate.sources.len();
        if self.world.options.checks.uninitialised {
            self.check_registers(&evaluate.sources, mask);
        }
        let is_plain = |source: &Source| matches!(source, Source::Slot(_) | Source::Constant(_));
        if evaluate.sources.iter().all(is_plain) {
            let mut read: [&Lanes; N] = [&ZEROS; N];
            for (read, source) in read.iter_mut().zip(&evaluate.sources) {
                *read = match *source {
                    Source::Slot(slot) => &self.warp.registers[(self.group.base + slot) as usize],
                    Source::Constant(constant) => &self.program.constants[constant as usize],
                    _ => &ZEROS,
                };
            }
            (evaluate.evaluator)(&read[..count], &mut self.results[..evaluate.targets.len()]);
        } else {
            let values: Vec<Lanes> = evaluate.sources.iter().map(|&source| self.peek(source)).collect();
            let read: Vec<&Lanes> = values.iter().collect();
            (evaluate.evaluator)(&read, &mut self.results[..evaluate.targets.len()]);
        }
        for (at, &target) in evaluate.targets.iter().enumerate() {
            self.write(at, target, mask);
        }
    }

    /// The value of a source, checked.
    #[inline]
    pub(super) fn value(&mut self, source: Source, mask: u32) -> Lanes {
        if self.world.options.checks.uninitialised {
            self.check_registers(&[source], mask);
        }
        self.peek(source)
    }

    /// The value of a source.
    #[inline]
    pub(super) fn peek(&mut self, source: Source) -> Lanes {
        match source {
            Source::Slot(slot) => self.warp.registers[(self.group.base + slot) as usize],
            Source::Constant(constant) => self.program.constants[constant as usize],
            Source::Special(row, component) => self.special(row, component),
            Source::Frame(offset) => [self.group.local + u64::from(offset); WARP_SIZE],
            Source::Sum(sum) => {
                let sum = self.program.sums[sum as usize];
                let register = &self.warp.registers[(self.group.base + sum.slot) as usize];
                register.map(|value| value.wrapping_add(sum.addend) & sum.mask)
            }
        }
    }

    /// The lanes of `mask` in which a predicate is true.
    pub(super) fn truths(&mut self, (source, negated): (Source, bool), mask: u32) -> u32 {
        let held = bits_of(&self.value(source, mask));
        mask & if negated { !held } else { held }
    }

    /// Writes result `at` to `target` in the lanes of `mask`.
    #[inline]
    pub(super) fn write(&mut self, at: usize, target: Target, mask: u32) {
        if target.slot == Target::SINK_SLOT {
            return;
        }
        let slot = (self.group.base + target.slot) as usize;
        store_lanes(&mut self.warp.registers[slot], &self.results[at], target.mask, mask);
        if let Some(written) = self.warp.written.get_mut(slot) {
            *written |= mask;
        }
    }

    /// `mov` of a cell.
    #[inline]
    pub(super) fn copy(&mut self, source: Source, target: Target, mask: u32) {
        self.results[0] = self.value(source, mask);
        self.write(0, target, mask);
    }

    /// `mov` of several cells, all read before one is written.
    pub(super) fn copy_all(&mut self, pairs: &[(Source, Target)], mask: u32) {
        for (at, &(source, _)) in pairs.iter().enumerate() {
            self.results[at] = self.value(source, mask);
        }
        for (at, &(_, target)) in pairs.iter().enumerate() {
            self.write(at, target, mask);
        }
    }

    /// `mov d, {a, b}`.
    pub(super) fn pack(&mut self, parts: &[Source], bits: u32, targets: &[Target], mask: u32) {
        let each = 64 / bits as usize;
        let part_mask = ones(bits);
        let mut cells = [[0; WARP_SIZE]; 2];
        for (at, &source) in parts.iter().enumerate() {
            let value = self.value(source, mask);
            let (cell, shift) = (&mut cells[at / each], (at % each) as u32 * bits);
            for lane in 0..WARP_SIZE {
                cell[lane] |= (value[lane] & part_mask) << shift;
            }
        }
        for (at, &target) in targets.iter().enumerate() {
            self.results[at] = cells[at];
            self.write(at, target, mask);
        }
    }

    /// `mov {a, b}, d`.
    pub(super) fn unpack(&mut self, sources: &[Source], bits: u32, targets: &[Target], mask: u32) {
        let each = 64 / bits as usize;
        let part_mask = ones(bits);
        let cells: [Lanes; 2] =
            std::array::from_fn(|at| sources.get(at).map_or(ZEROS, |&source| self.value(source, mask)));
        for (at, &target) in targets.iter().enumerate() {
            let (cell, shift) = (&cells[at / each], (at % each) as u32 * bits);
            self.results[0] = std::array::from_fn(|lane| cell[lane] >> shift & part_mask);
            self.write(0, target, mask);
        }
    }

    /// `cvta`: null stays null in neither direction; the windows keep spaces apart.
    pub(super) fn convert_address(
        &mut self,
        (source, target): (Source, Target),
        space: StateSpace,
        is_to: bool,
        mask: u32,
    ) {
        let value = self.value(source, mask);
        let window = window(space);
        self.results[0] = value
            .map(|address| if is_to { address.wrapping_sub(window) } else { address.wrapping_add(window) });
        self.write(0, target, mask);
    }

    /// `isspacep`.
    pub(super) fn is_space(&mut self, source: Source, target: Target, space: StateSpace, mask: u32) {
        let space = if space == StateSpace::SharedCluster { StateSpace::Shared } else { space };
        let value = self.value(source, mask);
        self.results[0] = value.map(|address| u64::from(resolve(address).0 == space));
        self.write(0, target, mask);
    }

    /// `mapa`, `getctarank` in a cluster of one.
    pub(super) fn map_rank(
        &mut self,
        address: Source,
        target: Target,
        rank: Option<Source>,
        mask: u32,
    ) -> Result<(), Stop> {
        self.results[0] = match rank {
            None => ZEROS,
            Some(rank) => {
                let rank = self.value(rank, mask);
                let is_elsewhere = lanes_of(mask).any(|lane| rank[lane] as u32 != 0);
                if is_elsewhere && !self.world.options.uninterpreted {
                    return Err(self.not_supported("mapa to another CTA of the cluster"));
                }
                self.value(address, mask)
            }
        };
        self.write(0, target, mask);
        Ok(())
    }
}

/// The lanes whose lowest bit is set.
#[inline]
pub fn bits_of(lanes: &Lanes) -> u32 {
    lanes.iter().enumerate().fold(0, |bits, (lane, &value)| bits | ((value & 1) as u32) << lane)
}

/// Writes `from` masked by `bits` into the lanes of `mask`.
#[inline]
fn store_lanes(to: &mut Lanes, from: &Lanes, bits: u64, mask: u32) {
    if mask == u32::MAX {
        for lane in 0..WARP_SIZE {
            to[lane] = from[lane] & bits;
        }
    } else {
        for lane in 0..WARP_SIZE {
            let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
            to[lane] = to[lane] & keep | from[lane] & bits & !keep;
        }
    }
}

/// Ones in the low `bits` bits.
pub fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
