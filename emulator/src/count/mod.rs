//! Counting what a launch costs a machine that runs warps in step.
//!
//! # What is counted
//! A *warp instruction* is one issue of an instruction for those threads of a warp that execute it together; the threads are
//! its active lanes, whether or not a guard holds for them. Two threads execute an instruction together if they came to it
//! the same way, where a way forgets what happened between a branch and its reconvergence:
//!
//! - A branch, a branch by a table or a guarded end sends each thread its way. Ways that differ are one again at the branch's
//!   reconvergence, the immediate post-dominator of its block.
//! - Every round of a loop is a part of the way: threads in different rounds are apart, and those that have left wait where
//!   the loop's ends reconverge.
//! - A call is a part of the way of its callee, and forgotten after it: threads that called together are together again.
//!
//! These are the issues of a machine with a stack of reconvergence points (Fung and others 2007). The number depends on the ways of the
//! threads alone: neither on the order in which the emulator runs them nor on the order of the blocks in the text.
//!
//! # What it is not
//! No time. Instructions wait for memory and for one another; `bar.warp.sync` and its like bring threads of different ways
//! together on a GPU, and an assembler may choose other places to reconverge.
//!
//! # Cost
//! Nothing where nothing is counted: a count is an [`Observer`]. With one, a few dozen nanoseconds for each thread that enters a block,
//! and eight bytes for each block that a living warp has entered.

mod flow;
mod ways;

use crate::lanes::WARP_SIZE;
use crate::launch::{Launch, Options, Outcome};
use crate::module::Module;
use crate::observer::{Observer, Step};
use crate::program::{Kind, Program};
use crate::run::run_observed;
use crate::warp::lanes_of;
use ahash::{AHashMap, AHashSet};
use flow::Flow;
use std::ops::AddAssign;
use ways::Way;

/// What a launch issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Warp instructions.
    pub issued: u64,
    /// Active lanes of all of them: instructions that threads executed.
    pub lanes: u64,
}

impl Count {
    /// Active lanes of an issue in the mean, of 32; none where nothing was issued.
    #[must_use]
    pub fn lanes_per_issue(&self) -> Option<f64> {
        (self.issued > 0).then(|| self.lanes as f64 / self.issued as f64)
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.issued += other.issued;
        self.lanes += other.lanes;
    }
}

/// Runs a kernel, and counts what it issues.
#[must_use]
pub fn run_counted(module: &Module, launch: &Launch, options: &Options) -> (Outcome, Count) {
    let mut counter = Counter::new(&module.program);
    let outcome = run_observed(module, launch, options, &mut counter);
    (outcome, counter.count)
}

/// A warp that has not ended.
#[derive(Default)]
struct Warp {
    /// By lane.
    ways: Vec<Way>,
    /// Lanes that have not ended.
    live: u32,
    /// The blocks that were entered, by way.
    entered: AHashSet<u64>,
}

/// Counts as an observer.
struct Counter<'m> {
    program: &'m Program,
    flow: Flow,
    warps: AHashMap<([u32; 3], u32), Warp>,
    count: Count,
}

impl<'m> Counter<'m> {
    fn new(program: &'m Program) -> Self {
        Self { program, flow: Flow::new(program), warps: AHashMap::default(), count: Count::default() }
    }
}

impl Observer for Counter<'_> {
    fn step(&mut self, step: Step<'_>) {
        let Step { pc, lanes, guarded, function, base, .. } = step;
        let key = (step.ctaid, step.first_thread);
        let warp = self.warps.entry(key).or_insert_with(|| Warp {
            ways: vec![Way::default(); WARP_SIZE],
            live: lanes,
            ..Warp::default()
        });
        let kind = &self.program.ops[pc as usize].kind;
        // A thread that waits is seen again at the same place; one that branches has come there again.
        let may_wait = !matches!(kind, Kind::Branch(_) | Kind::BranchIndexed(..));
        for lane in lanes_of(lanes) {
            let way = &mut warp.ways[lane];
            if way.moves_to(pc, base) || !may_wait {
                self.count.lanes += 1;
                if self.flow.is_leader(pc) && warp.entered.insert(way.enter(&self.flow, pc, base, function)) {
                    self.count.issued += u64::from(self.flow.length(pc));
                }
            }
        }
        let ends = match kind {
            Kind::Exit => true,
            Kind::Return => self.program.functions[function as usize].is_entry,
            _ => false,
        };
        if ends {
            warp.live &= !guarded;
            if warp.live == 0 {
                self.warps.remove(&key);
            }
        }
    }
}
