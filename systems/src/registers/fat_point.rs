//! The fat-point allocator: no graph, but two histograms over the slots of the file, filled anew for each value that gets a
//! place.
//!
//! The primary histogram holds what each slot would cost, the secondary one how long the values were that had it: it breaks
//! ties. The place of a value is where the primary weight is least. Sixteen types of constraints say to which slots
//! a weight goes (`liveness`, "The 15 Constraint Types"); 4, 9 and 10 have no meaning. Where the page contradicts
//! itself (type 1 "blocks a single register", and gives weight to all others) the name stands.
//!
//! A value of 64 bits takes two slots from an even one on, one of 128 bits four from a multiple of four on.

use super::lives::Lives;
use super::machine::{Machine, Place};
use super::walks::{Walks, slots};
use ptxopt_components::ids::{Id, VRegId};
use ptxopt_engine::store::view::FunctionView;

/// Slots of the histograms.
pub const SLOTS: usize = 512;

/// Weight of a slot that another value has.
const HARD: u16 = 256;
/// Weight of a wish.
const SOFT: u16 = 1;
/// Rounds: from the second on, wishes are left out.
const ROUNDS: u32 = 2;
/// Lanes of one cache line; what is scanned is a multiple of it, so that loops over slots have no tail.
const LANES: usize = 32;

/// Which slots a weight goes to; the numbers are those of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Constraint {
    /// The slot: another value is there.
    Point = 0,
    /// The slot, whatever holds it.
    ExcludeOne = 1,
    /// All slots but this one.
    ExcludeAllBut = 2,
    /// The slots below.
    Below = 3,
    /// The even slot of the pair.
    PairLow = 5,
    /// The odd slot of the pair.
    PairHigh = 6,
    /// Both slots of the pair.
    Pair = 7,
    /// Every second slot, from the other one of the pair on: copies want the same half. A wish.
    Phi = 8,
    /// The even slots but this one: two operands of one bank. A wish.
    EvenParity = 11,
    /// The odd slots but this one. A wish.
    OddParity = 12,
    /// The even slots of its group of four.
    EvenOfGroup = 13,
    /// The odd slots of its group of four.
    OddOfGroup = 14,
    /// In the secondary histogram, the slot: a long range was there.
    Range = 15,
}

impl Constraint {
    /// Whether it is left out from the second round on.
    #[must_use]
    pub const fn is_wish(self) -> bool {
        matches!(self, Self::Phi | Self::EvenParity | Self::OddParity)
    }
}

/// What each slot would cost.
pub struct Histograms {
    primary: [u16; SLOTS],
    secondary: [u16; SLOTS],
    /// Slots in use: the rest holds nothing.
    width: usize,
}

impl Default for Histograms {
    fn default() -> Self {
        Self { primary: [0; SLOTS], secondary: [0; SLOTS], width: 0 }
    }
}

fn raise(slots: &mut [u16], by: u16) {
    slots.iter_mut().for_each(|weight| *weight = weight.saturating_add(by));
}

fn raise_every_second(slots: &mut [u16], from: usize, by: u16) {
    slots.iter_mut().skip(from).step_by(2).for_each(|weight| *weight = weight.saturating_add(by));
}

impl Histograms {
    /// Empties the primary histogram, of which `width` slots are in use.
    pub fn clear(&mut self, width: usize) {
        self.width = width.next_multiple_of(LANES).min(SLOTS);
        self.primary[..self.width].fill(0);
    }

    /// Adds a weight to the slots that a constraint about the slot `at` names.
    pub fn add(&mut self, constraint: Constraint, at: usize, weight: u16) {
        let Self { primary, secondary, width } = self;
        let primary = &mut primary[..*width];
        let (pair, group) = (at & !1, at & !3);
        match constraint {
            Constraint::Point | Constraint::ExcludeOne => raise(&mut primary[at..=at], weight),
            Constraint::ExcludeAllBut => {
                raise(&mut primary[..at], weight);
                raise(&mut primary[at + 1..], weight);
            }
            Constraint::Below => raise(&mut primary[..at], weight),
            Constraint::PairLow => raise(&mut primary[pair..=pair], weight),
            Constraint::PairHigh => raise(&mut primary[pair + 1..pair + 2], weight),
            Constraint::Pair => raise(&mut primary[pair..pair + 2], weight),
            Constraint::Phi => raise_every_second(primary, at & 1 ^ 1, weight),
            Constraint::EvenParity | Constraint::OddParity => {
                let parity = usize::from(constraint == Constraint::OddParity);
                let kept = primary[at];
                raise_every_second(primary, parity, weight);
                primary[at] = kept;
            }
            Constraint::EvenOfGroup => raise_every_second(&mut primary[group..group + 4], 0, weight),
            Constraint::OddOfGroup => raise_every_second(&mut primary[group..group + 4], 1, weight),
            Constraint::Range => raise(&mut secondary[at..=at], weight),
        }
    }

    /// The first slot of `size` aligned ones that cost least, of equal ones the one that had the shortest ranges among those
    /// below `high`, or the first above; and what they cost.
    #[must_use]
    pub fn best(&self, size: usize, high: usize) -> (usize, u16) {
        let mut sums = [0_u16; SLOTS];
        let count = self.width / size;
        match size {
            1 => sums[..count].copy_from_slice(&self.primary[..count]),
            _ => {
                for (sum, group) in sums.iter_mut().zip(self.primary[..self.width].chunks_exact(size)) {
                    *sum = group.iter().fold(0, |sum: u16, &weight| sum.saturating_add(weight));
                }
            }
        }
        let sums = &sums[..count];
        let least = sums.iter().fold(u16::MAX, |least, &sum| least.min(sum));
        let (mut best, mut shortest) = (None, u16::MAX);
        for (at, _) in sums.iter().enumerate().filter(|(_, sum)| **sum == least) {
            let is_above = (at + 1) * size > high;
            if is_above {
                best = best.or(Some(at));
                break;
            }
            if best.is_none() || self.secondary[at * size] < shortest {
                (best, shortest) = (Some(at), self.secondary[at * size]);
            }
        }
        (best.unwrap_or(0) * size, least)
    }
}

/// Gives values places.
#[derive(Default)]
pub(super) struct Allocator {
    histograms: Histograms,
    /// By register: its first slot.
    slot_of: Vec<Option<u16>>,
    /// By register: whether it is in its place now.
    is_there: Vec<bool>,
    /// Values in their places.
    there: Vec<VRegId>,
    /// Values that live at a time, by slot.
    taken: Vec<u16>,
    high: usize,
    /// Uniform values get places too: their own file is too small for them.
    pub takes_uniform: bool,
}

impl Allocator {
    /// Slots up to the last one that a value gets, walking the code as it stands; uniform values are not counted, unless
    /// their file is too small.
    pub(super) fn allocate(
        &mut self,
        function: &FunctionView<'_>,
        machine: &Machine,
        lives: &Lives,
        walks: &Walks,
    ) -> u32 {
        let mut least = u32::MAX;
        for round in 0..ROUNDS {
            least = least.min(self.round(function, machine, lives, walks, round));
        }
        least
    }

    fn round(
        &mut self,
        function: &FunctionView<'_>,
        machine: &Machine,
        lives: &Lives,
        walks: &Walks,
        round: u32,
    ) -> u32 {
        self.slot_of.clear();
        self.slot_of.resize(function.vregs.len(), None);
        self.is_there.clear();
        self.is_there.resize(function.vregs.len(), false);
        self.taken.clear();
        self.taken.resize(SLOTS, 0);
        self.histograms.secondary.fill(0);
        self.there.clear();
        self.high = 0;
        let takes_uniform = self.takes_uniform;
        let is_counted = |vreg: VRegId| {
            let place = machine.places[vreg.index()];
            (place == Place::Own || takes_uniform && place == Place::Uniform) && slots(machine, vreg) > 0
        };
        for block in function.block_ids().filter(|block| function.orders[block.index()].is_reachable()) {
            for vreg in std::mem::take(&mut self.there) {
                self.leave(machine, vreg);
            }
            for vreg in lives.at_start_of(block).filter(|&vreg| is_counted(vreg)) {
                self.enter(machine, vreg, None, round);
            }
            for row in &machine.rows[machine.rows_of(block)] {
                let first_source = machine.uses(row).first().and_then(|source| self.slot_of[source.index()]);
                for (vreg, is_last) in walks.last_uses_of(machine, row).filter(|(vreg, _)| is_counted(*vreg))
                {
                    if is_last {
                        self.leave(machine, vreg);
                    }
                }
                for (vreg, _) in walks.results_of(machine, row).filter(|(vreg, _)| is_counted(*vreg)) {
                    self.enter(machine, vreg, first_source, round);
                }
                for (vreg, is_dead) in walks.results_of(machine, row).filter(|(vreg, _)| is_counted(*vreg)) {
                    if is_dead {
                        self.leave(machine, vreg);
                    }
                }
            }
        }
        self.high as u32
    }

    fn leave(&mut self, machine: &Machine, vreg: VRegId) {
        if std::mem::replace(&mut self.is_there[vreg.index()], false) {
            let first = usize::from(self.slot_of[vreg.index()].expect("it has a place"));
            for taken in &mut self.taken[first..first + slots(machine, vreg) as usize] {
                *taken -= 1;
            }
        }
    }

    fn enter(&mut self, machine: &Machine, vreg: VRegId, source: Option<u16>, round: u32) {
        if std::mem::replace(&mut self.is_there[vreg.index()], true) {
            return;
        }
        let size = slots(machine, vreg) as usize;
        let first = match self.slot_of[vreg.index()] {
            Some(first) => usize::from(first),
            None => self.choose(size.next_power_of_two().min(4), size, source, round),
        };
        self.slot_of[vreg.index()] = Some(first as u16);
        self.taken[first..first + size].iter_mut().for_each(|taken| *taken += 1);
        self.there.push(vreg);
        self.high = self.high.max(first + size);
    }

    /// Fills the histograms for a value of `size` slots and takes the best place.
    fn choose(&mut self, align: usize, size: usize, source: Option<u16>, round: u32) -> usize {
        let Self { histograms, taken, high, .. } = self;
        histograms.clear((*high + size).max(LANES));
        for at in (0..*high).filter(|&at| taken[at] > 0) {
            histograms.add(Constraint::Point, at, HARD);
        }
        if let Some(source) = source.filter(|&at| usize::from(at) < *high)
            && align == 1
            && !(round > 0 && Constraint::Phi.is_wish())
        {
            histograms.add(Constraint::Phi, usize::from(source), SOFT);
        }
        let (first, _) = histograms.best(align, *high);
        let first = first.min(SLOTS - size);
        (first..first + size).for_each(|at| histograms.add(Constraint::Range, at, 1));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots among the first eight that get a weight of a constraint about slot 5.
    fn named(constraint: Constraint) -> Vec<usize> {
        let mut histograms = Histograms::default();
        histograms.clear(8);
        histograms.add(constraint, 5, HARD);
        (0..8).filter(|&at| histograms.primary[at] > 0).collect()
    }

    #[test]
    fn constraints_name_the_slots_of_the_source() {
        for (constraint, slots) in [
            (Constraint::Point, &[5][..]),
            (Constraint::ExcludeOne, &[5]),
            (Constraint::ExcludeAllBut, &[0, 1, 2, 3, 4, 6, 7]),
            (Constraint::Below, &[0, 1, 2, 3, 4]),
            (Constraint::PairLow, &[4]),
            (Constraint::PairHigh, &[5]),
            (Constraint::Pair, &[4, 5]),
            (Constraint::Phi, &[0, 2, 4, 6]),
            (Constraint::EvenParity, &[0, 2, 4, 6]),
            (Constraint::OddParity, &[1, 3, 7]),
            (Constraint::EvenOfGroup, &[4, 6]),
            (Constraint::OddOfGroup, &[5, 7]),
            (Constraint::Range, &[]),
        ] {
            assert_eq!(named(constraint), slots, "{constraint:?}");
        }
    }

    #[test]
    fn weights_do_not_run_over() {
        let mut histograms = Histograms::default();
        histograms.clear(8);
        (0..300).for_each(|_| histograms.add(Constraint::Point, 0, HARD));
        assert_eq!(histograms.primary[0], u16::MAX);
    }

    #[test]
    fn the_best_place_is_aligned_cheap_and_was_free_for_long() {
        let mut histograms = Histograms::default();
        histograms.clear(8);
        histograms.add(Constraint::Point, 1, HARD);
        histograms.add(Constraint::Point, 2, HARD);
        assert_eq!(histograms.best(1, 4), (0, 0));
        assert_eq!(histograms.best(2, 4), (4, 0), "both pairs below have a slot taken");
        assert_eq!(histograms.best(4, 4), (4, 0));
        histograms.add(Constraint::Range, 0, 9);
        assert_eq!(histograms.best(1, 4), (3, 0), "slot 0 had a longer range");
        histograms.add(Constraint::Pair, 3, SOFT);
        assert_eq!(histograms.best(1, 1), (0, 0), "above what is taken the first comes");
    }
}
