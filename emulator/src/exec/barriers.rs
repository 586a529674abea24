//! Named barriers of the CTA.

use super::{Exec, Next};
use crate::checks::Finding;
use crate::lanes::WARP_SIZE;
use crate::program::{BarrierMode, BarrierOp, CLUSTER_BARRIER, Kind};
use crate::stop::Stop;
use crate::warp::{Group, PartialArrival, Wait, lanes_of};

/// Barriers of a CTA: sixteen, and that of its cluster.
pub const BARRIERS: usize = 17;

/// A barrier.
#[derive(Default)]
pub struct Barrier {
    /// Phases that have completed.
    phase: u64,
    /// Threads that have arrived in this one.
    arrived: u32,
    /// Threads that must; none for all that are alive.
    count: Option<u32>,
    /// Warps of which some thread has arrived.
    warps: Vec<u32>,
    truths: Truths,
    /// What reductions gave, until the threads that wait have taken it.
    done: Vec<(u64, Truths)>,
    /// The threads, where races are asked for.
    threads: Vec<u32>,
}

/// Predicates of the threads that wait.
#[derive(Clone, Copy, Default)]
struct Truths {
    trues: u32,
    waiting: u32,
    /// Threads of those that wait which have been told.
    told: u32,
}

impl Barrier {
    fn complete(&mut self) {
        if self.truths.waiting > 0 {
            self.done.push((self.phase, self.truths));
        }
        self.phase += 1;
        self.arrived = 0;
        self.count = None;
        self.truths = Truths::default();
        self.warps.clear();
    }
}

impl Exec<'_, '_> {
    /// `bar`, `barrier`.
    pub(super) fn arrive_at_barrier(&mut self, op: &BarrierOp, mask: u32) -> Result<Next, Stop> {
        let ids = self.value(op.id, mask);
        let counts = op.count.map(|count| self.value(count, mask));
        let lane = mask.trailing_zeros() as usize;
        let (id, count) = (ids[lane], counts.map(|counts| counts[lane] as u32));
        let same = lanes_of(mask).filter(|&other| {
            ids[other] == id && counts.is_none_or(|counts| Some(counts[other] as u32) == count)
        });
        let same = same.fold(0, |same, lane| same | 1 << lane);
        self.split_off_unguarded(mask);
        if same != mask {
            self.warp.groups.push(Group { mask: mask & !same, ..self.group });
            self.group.mask = same;
        }
        let id = match id {
            CLUSTER_BARRIER => BARRIERS - 1,
            id if id < BARRIERS as u64 - 1 => id as usize,
            _ => return Err(Stop::BadBarrier { place: self.place(lane as u32), id }),
        };
        if op.is_aligned && self.world.options.checks.barrier_divergence {
            self.note_arrival(id as u8, same);
        }
        let truths = op.predicate.map_or(0, |predicate| self.truths(predicate, same));
        let first = self.warp.first_thread;
        let absent = WARP_SIZE as u32 - self.warp.live.count_ones();
        let barrier = &mut self.cta.barriers[id];
        if self.cta.races.is_some() {
            barrier.threads.extend(lanes_of(same).map(|lane| first + lane as u32));
        }
        barrier.arrived += same.count_ones();
        // Counts are given in whole warps: lanes that do not exist or have exited count with the first that comes.
        if count.is_some() && !barrier.warps.contains(&first) {
            barrier.arrived += absent;
            barrier.warps.push(first);
        }
        barrier.count = barrier.count.or(count);
        barrier.truths.trues += truths.count_ones();
        if op.mode != BarrierMode::Arrive {
            barrier.truths.waiting += same.count_ones();
            self.group.wait = Wait::Barrier { id: id as u8, phase: barrier.phase };
        } else {
            self.group.pc += 1;
        }
        self.complete_barriers();
        Ok(Next::Choose)
    }

    /// Remembers that the lanes of `mask` are at an aligned barrier while the rest of the warp is not. That alone is no
    /// divergence: the others may only be late, because a group that spins has lost its turn.
    fn note_arrival(&mut self, id: u8, mask: u32) {
        let phase = self.cta.barriers[usize::from(id)].phase;
        let Group { pc, call, .. } = self.group;
        let mut arrivals = self.warp.arrivals.iter_mut();
        let here =
            arrivals.find(|other| (other.id, other.phase, other.pc, other.call) == (id, phase, pc, call));
        match here {
            Some(here) => here.mask |= mask,
            None if mask == self.warp.live => {}
            None => {
                self.warp.arrivals.push(PartialArrival { id, phase, pc, call, mask, offset: self.offset });
            }
        }
    }

    /// Reports the aligned barriers that have completed while a thread of the warp was elsewhere. Threads that have
    /// exited are not missed.
    pub(super) fn judge_arrivals(&mut self) {
        let arrivals = std::mem::take(&mut self.warp.arrivals);
        let is_over =
            |arrival: &PartialArrival| self.cta.barriers[usize::from(arrival.id)].phase > arrival.phase;
        let (over, open): (Vec<_>, Vec<_>) = arrivals.into_iter().partition(is_over);
        self.warp.arrivals = open;
        for arrival in &over {
            if self.warp.live & !arrival.mask != 0 {
                self.report_arrival(arrival);
            }
        }
    }

    /// Reports what is left of the aligned barriers at which a part of the warp waits for ever.
    pub fn report_arrivals(&mut self) {
        for arrival in std::mem::take(&mut self.warp.arrivals) {
            if self.warp.live & !arrival.mask != 0 {
                self.report_arrival(&arrival);
            }
        }
    }

    fn report_arrival(&mut self, arrival: &PartialArrival) {
        let offset = std::mem::replace(&mut self.offset, arrival.offset);
        self.report(Finding::BarrierDivergence, arrival.mask.trailing_zeros());
        self.offset = offset;
    }

    /// Completes the barriers at which no thread is missing.
    pub(super) fn complete_barriers(&mut self) {
        for barrier in &mut self.cta.barriers {
            if barrier.arrived > 0 && barrier.arrived >= barrier.count.unwrap_or(self.cta.live) {
                if let Some(races) = &mut self.cta.races {
                    races.join(&barrier.threads);
                    barrier.threads.clear();
                }
                barrier.complete();
            }
        }
    }

    /// Lets group `at` go on if its phase has completed.
    pub(super) fn wake_from_barrier(&mut self, at: usize, id: u8, phase: u64) {
        let barrier = &mut self.cta.barriers[usize::from(id)];
        if barrier.phase <= phase {
            return;
        }
        let group = self.warp.groups[at];
        let lanes = group.mask.count_ones();
        let found = barrier.done.iter().position(|&(done, _)| done == phase);
        let truths = found.map_or(Truths::default(), |found| barrier.done[found].1);
        let program = self.program;
        if let Kind::Barrier(op) = &program.ops[group.pc as usize].kind {
            let value = match op.mode {
                BarrierMode::CountTrue => u64::from(truths.trues),
                BarrierMode::AllTrue => u64::from(truths.trues == truths.waiting),
                _ => u64::from(truths.trues > 0),
            };
            let running = std::mem::replace(&mut self.group, group);
            self.results[0] = [value; WARP_SIZE];
            self.write(0, op.target, group.mask);
            self.group = running;
        }
        if let Some(found) = found {
            let barrier = &mut self.cta.barriers[usize::from(id)];
            let truths = &mut barrier.done[found].1;
            truths.told += lanes;
            if truths.told >= truths.waiting {
                barrier.done.swap_remove(found);
            }
        }
        self.warp.groups[at].wait = Wait::Ready;
        self.warp.groups[at].pc += 1;
    }
}
