//! From what is known of a kernel to the registers that the assembler will report.
//!
//! A sum of features, each with what it stands for in the assembler, and what [`trees`] add to it. Both are
//! fitted by `tests/tools/forecast` on half of the kernels of corpus and wild set; `docs/FORECAST.md` has what they are worth
//! on the other half.
//!
//! # Tried and dropped
//! - The slots that stay free between pairs and quads when the [allocator](super::fat_point) has given all values their
//!   places, as a feature: its coefficient came out at -0.2, and fewer forecasts were right (60.3 % for 60.7 %).
//! - An order of each block that frees registers as early as it can, instead of the code as it stands: less on blocks of
//!   polynomials, which `ptxas` does not take apart, and no less on those where it does.
//! - Taking what the trees answer to the steps of the target (what an SM is full with, multiples of eight), as was done with
//!   the sum alone: 67.9 % were right for 68.9 % without, by cross-validation. The trees learn the steps.
//! - Trees for spills by themselves (logistic): of those named more were false.
//! - What a list scheduler takes: each block by its critical path, with loads that take 30 or 8 steps, without a limit and with
//!   16, 24 and the target's; innermost loops once and four rounds together. Sixteen questions more, 64.9 % right for 64.6 (600
//!   larger trees by LightGBM, which without them are no better than these).
//! - Called functions in the place of their calls, as the assembler puts them: 64.3 % for 65.4.
//! - What `-O2` makes of the kernels as kernels to fit on, too: 64.4 % for 64.3.

use super::mix::Mix;
use super::targets::{Promises, REGISTERS_MAX, Target, budget};
use super::trees;

/// Largest body of an innermost loop that is taken to be unrolled, in instructions of the machine's view, and how often its
/// loads then are under way at the same time.
pub(super) const UNROLLED_ROWS_MAX: u32 = 120;
pub(super) const UNROLL_FACTOR: u32 = 4;

/// Slots of uniform values, and depth of loops, from which on more makes no difference.
const UNIFORM_MAX: u32 = 40;
const DEPTH_MAX: u32 = 4;
/// Fewest registers that a kernel with a value in a register is reported with, and what one without is reported with.
const REPORTED_MIN: u32 = 8;
const REPORTED_EMPTY: u32 = 4;
/// A kernel spills where its forecast exceeds its budget by more than this factor: up to there the assembler schedules for
/// fewer registers.
const SPILLS_FROM: f64 = 1.15;
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
    /// Slots on average, in quarters.
    pub mean: u32,
    /// Instructions of the largest block.
    pub rows_max: u32,
    /// Slots that the block loads that loads most.
    pub loaded_max: u32,
    /// Slots at the peak of the innermost loops.
    pub loop_need: u32,
    /// Instructions of the largest innermost loop.
    pub loop_rows: u32,
    /// What its instructions do.
    pub mix: Mix,
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

/// Number of what the [trees](super::trees) ask for.
pub const ASKED_COUNT: usize = 45;

impl Features {
    /// What the trees ask for; the first is what the sum of features says.
    #[must_use]
    pub fn asked(&self, sm: u32, callees: Callees, promises: Promises, sum: f64) -> [f64; ASKED_COUNT] {
        let Self { mix, .. } = self;
        let per_row = |count: u32| f64::from(count) / f64::from(self.insts.max(1));
        let [loads, stores, wide] = [mix.loads, mix.stores, mix.wide].map(per_row);
        let counts = [
            self.need,
            self.with_uniform,
            self.hoisted,
            self.held,
            self.unrolled,
            self.insts,
            self.blocks,
            self.depth,
            self.mean,
            self.rows_max,
            self.loaded_max,
            self.loop_need,
            self.loop_rows,
            callees.slots,
            callees.is_known.into(),
            callees.is_extern.into(),
            sm,
            promises.threads,
            promises.blocks,
            mix.loads,
            mix.shared_loads,
            mix.local_loads,
            mix.stores,
            mix.atomics,
            mix.fixed,
            mix.double,
            mix.single,
            mix.products,
            mix.divisions,
            mix.special,
            mix.matrices,
            mix.exchanges,
            mix.choices,
            mix.guarded,
            mix.wide,
            mix.widest,
            mix.extra,
            self.with_uniform.saturating_sub(self.need),
            self.held.saturating_sub(self.need),
            self.unrolled.saturating_sub(self.need),
            self.has_long_subroutine.into(),
        ];
        let mut asked = [0.0; ASKED_COUNT];
        asked[0] = sum;
        asked[1..=counts.len()].copy_from_slice(&counts.map(f64::from));
        asked[counts.len() + 1..].copy_from_slice(&[loads, stores, wide]);
        asked
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
    let sum = sum + trees::add(&features.asked(sm, callees, promises, sum));
    let is_empty = features.with_uniform.max(features.held) == 0 && callees == Callees::default();
    let wanted = if is_empty { REPORTED_EMPTY } else { (sum.max(0.0).round() as u32).max(REPORTED_MIN) };
    // Where warps trade registers, the kernel starts with what its header says.
    let is_given = features.sets_limit && promises.registers > 0;
    let registers = if is_given { budget } else { wanted.min(budget) };
    let spills = if sum > SPILLS_FROM * f64::from(budget) { wanted.saturating_sub(registers) } else { 0 };
    let threads = if promises.threads > 0 { promises.threads } else { THREADS_ASSUMED };
    let warps = target.resident_warps(registers, threads);
    Forecast { registers, budget, spills, warps, warps_max: target.warps_max }
}
