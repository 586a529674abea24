//! From what is known of a kernel to the registers that the assembler will report.
//!
//! A sum of features, each with what it stands for in the assembler, and the steps of the target. The coefficients are
//! fitted by `tests/tools/forecast` on half of the kernels of corpus and wild set; `docs/FORECAST.md` has what it is worth
//! on the other half.
//!
//! # Tried and dropped
//! - The slots that stay free between pairs and quads when the [allocator](super::fat_point) has given all values their
//!   places, as a feature: its coefficient came out at -0.2, and fewer forecasts were right (60.3 % for 60.7 %).
//! - An order of each block that frees registers as early as it can, instead of the code as it stands: less on blocks of
//!   polynomials, which `ptxas` does not take apart, and no less on those where it does.
//! - The steps at which the number of blocks of an SM changes, instead of multiples of eight: no more forecasts were right.

use super::targets::{Promises, REGISTERS_MAX, Target, budget};

/// Largest body of an innermost loop that is taken to be unrolled, in instructions of the machine's view, and how often its
/// loads then are under way at the same time.
pub(super) const UNROLLED_ROWS_MAX: u32 = 120;
pub(super) const UNROLL_FACTOR: u32 = 4;

/// Slots of uniform values, and depth of loops, from which on more makes no difference.
const UNIFORM_MAX: u32 = 40;
const DEPTH_MAX: u32 = 4;
/// Fewest registers that a kernel that does something is reported with.
const REPORTED_MIN: f64 = 8.0;
/// A kernel spills where its forecast exceeds its budget by more than this factor: up to there the assembler schedules for
/// fewer registers.
const SPILLS_FROM: f64 = 1.2;
/// A forecast this far below or above what an SM is full with is taken to be that: the scheduler takes what costs no warp, and
/// avoids what costs the first.
const BELOW_FULL: f64 = 5.0;
const ABOVE_FULL: f64 = 5.0;
/// Above it: a forecast so far above or below a multiple of eight, in which registers are allocated, is taken for it, up to
/// this many registers.
const ABOVE_STEP: f64 = 2.0;
const BELOW_STEP: f64 = 3.0;
const STEPPED_MAX: f64 = 72.0;

/// What is known of one function; slots are of 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Slots at the peak of the code as it stands, without uniform values.
    pub need: u32,
    /// Slots at that peak with uniform values.
    pub with_uniform: u32,
    /// Slots at the peak when loads go as early as they may.
    pub hoisted: u32,
    /// The same with constants and parameters that stores and addresses need in registers.
    pub held: u32,
    /// Slots when the loads of four rounds of an innermost loop are under way.
    pub unrolled: u32,
    /// Instructions that the machine has.
    pub insts: u32,
    /// Blocks.
    pub blocks: u32,
    /// Depth of the loop nest.
    pub depth: u32,
    /// A division or root in double precision is a subroutine.
    pub has_long_subroutine: bool,
    /// Warps change how many registers they have (`setmaxnreg`).
    pub sets_limit: bool,
}

/// What a kernel calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Callees {
    /// The most slots of a function that is called, directly or not, and of what lives across the calls.
    pub slots: u32,
    /// It calls a function of the module.
    pub is_known: bool,
    /// It calls a function that is not in the module.
    pub is_extern: bool,
}

/// What is forecast of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Registers of a thread.
    pub registers: u32,
    /// Most registers that it may take.
    pub budget: u32,
    /// Slots that will be kept in memory; 0 where everything fits.
    pub spills: u32,
    /// Warps that an SM holds, and at most.
    pub warps: u32,
    /// See `warps`.
    pub warps_max: u32,
}

/// Threads of a block where the header says nothing.
const THREADS_ASSUMED: u32 = 128;

/// The coefficients: registers for one of each feature. Written by `tests/tools/forecast --fit`.
///
/// | feature | why the assembler takes registers for it |
/// |---|---|
/// | constant | the stack pointer, and pairs that start at even registers |
/// | need | what is live at the same time |
/// | uniform | what does not fit the uniform file, or is read by an instruction that takes no uniform register |
/// | loads | loads that are started early |
/// | unroll | loads of several rounds of a loop |
/// | log2 insts | more code has more to reorder |
/// | log2 blocks | less, where branches cut it in pieces |
/// | extern | the calling convention: arguments and what a callee may overwrite |
/// | callee, calls | registers of what is called, less what is inlined |
/// | large | above what an SM is full with |
/// | loops, depth | counters and addresses that are stepped |
/// | reorder | code that scheduling makes smaller |
/// | sm_80, sm_100 | encodings of constants and addresses differ by generation |
/// | slow64 | subroutines that keep what they are called with |
/// | sm_75 ... | an SM of 7.5 is full with 64 registers a thread: scheduling goes twice as far |
pub const COEFFICIENTS: [(&str, f64); FEATURE_COUNT] = include!("coefficients.in");

/// Number of features.
pub const FEATURE_COUNT: usize = 24;

impl Features {
    /// The features in the order of [`COEFFICIENTS`], for a processor.
    #[must_use]
    pub fn values(&self, sm: u32, callees: Callees) -> [f64; FEATURE_COUNT] {
        let full = Target::of(sm).registers_when_full();
        let early = self.held.max(self.hoisted).max(self.need);
        let unrolled = early.max(self.unrolled);
        let less = |one: u32, other: u32| f64::from(one.saturating_sub(other));
        let is = |is: bool| f64::from(u8::from(is));
        let log = |count: u32| f64::from(1 + count).log2();
        let common = [
            1.0,
            f64::from(self.need),
            less(self.with_uniform, self.need).min(f64::from(UNIFORM_MAX)),
            less(early.min(full), self.need),
            less(unrolled.min(full), early),
            log(self.insts),
            log(self.blocks),
        ];
        let [constant, need, uniform, loads, unroll, insts, blocks] = common;
        let of_75 = common.map(|value| is(sm == 75) * value);
        let [constant_75, need_75, uniform_75, loads_75, unroll_75, insts_75, blocks_75] = of_75;
        [
            constant,
            need,
            uniform,
            loads,
            unroll,
            insts,
            blocks,
            is(callees.is_extern),
            less(callees.slots.min(REGISTERS_MAX), self.with_uniform),
            is(callees.is_known),
            less(self.need, 32),
            is(self.depth > 0),
            f64::from(self.depth.min(DEPTH_MAX)),
            less(self.need, self.hoisted),
            is(sm == 80),
            is(sm >= 100),
            is(self.has_long_subroutine),
            constant_75,
            need_75,
            uniform_75,
            loads_75,
            unroll_75,
            insts_75,
            blocks_75,
        ]
    }
}

/// What the assembler will report of a kernel, for all that is known before.
#[must_use]
pub fn forecast(
    features: &Features,
    callees: Callees,
    sm: u32,
    promises: Promises,
    command_line: Option<u32>,
) -> Forecast {
    let target = Target::of(sm);
    let budget = budget(target, promises, command_line);
    let values = features.values(sm, callees);
    let sum: f64 = values.iter().zip(COEFFICIENTS).map(|(value, (_, by))| value * by).sum();
    let wanted = stepped(sum, f64::from(target.registers_when_full())).max(REPORTED_MIN).round() as u32;
    // Where warps trade registers, the kernel starts with what its header says.
    let is_given = features.sets_limit && promises.registers > 0;
    let registers = if is_given { budget } else { wanted.min(budget) };
    let spills = if sum > SPILLS_FROM * f64::from(budget) { wanted.saturating_sub(registers) } else { 0 };
    let threads = if promises.threads > 0 { promises.threads } else { THREADS_ASSUMED };
    let warps = target.resident_warps(registers, threads);
    Forecast { registers, budget, spills, warps, warps_max: target.warps_max }
}

/// Takes a sum to the step that the scheduler stops at.
fn stepped(sum: f64, full: f64) -> f64 {
    if sum < full - BELOW_FULL {
        return sum;
    }
    if sum <= full + ABOVE_FULL {
        return full;
    }
    let below = (sum / 8.0).floor() * 8.0;
    match sum - below {
        _ if sum > STEPPED_MAX => sum,
        over if over <= ABOVE_STEP => below,
        over if 8.0 - over <= BELOW_STEP => below + 8.0,
        _ => sum,
    }
}
