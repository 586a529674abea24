//! Liveness: which registers may still be read at each block boundary.
//!
//! ```text
//! live_out(b) = union of live_in(s) over successors s
//! live_in(b)  = gens(b) | (live_out(b) & !kills(b))
//! ```
//!
//! A phi reads its values at the ends of the predecessors, and defines its result at the start of its block:
//! `live_out(p)` holds what phis read there, too.
//!
//! Only registers that live across a block boundary get a bit (Briggs's global names): those with a use that no
//! unguarded definition of the same block precedes.
//!
//! # Two representations
//! Dense (`dense`): a row of bits a block, in two matrices, blocks x words, solved by rounds over the blocks. Where that
//! would be quadratic in the size of the function, or in the depth of its loops, walks (`walks`): for each register, or 64, a walk backward
//! from its uses, and the blocks where it lives as runs of consecutive blocks. [`LiveSet`] answers the same questions for both.
//!
//! # Guarded writes do not kill
//! ```text
//! @p mov r1, 7;      // p false: the old r1 flows through
//! add r2, r1, 1;
//! ```
//! Neither do writes of one component of a vector register, nor definitions that read the old value.

mod collect;
mod dense;
mod walks;

pub use collect::{Boundary, LivenessScratch, killed, kills};

use crate::bits::{self, BitMatrix, Ones};
use crate::forms::FormTable;
use crate::store::per_function::PerFunction;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use std::ops::Range;
use walks::Ranges;

/// Most words of one dense set of a function, blocks x words; above, walks are taken. The dense representation keeps four such
/// sets: 32 MiB.
///
/// Measured on made functions whose live ranges grow with their length, in nanoseconds an instruction, dense and walks:
/// 24 and 174 at 1,000 instructions, 49 and 467 at 10,000 (120,000 words), 697 and 828 at 30,000 (a million words), where
/// the sets leave the caches (before walks took groups of groups at once). Above it is memory that decides: at 120,000 instructions in 24,000 blocks (17 million words)
/// the dense sets would take 4.6 kB an instruction.
pub const DENSE_WORDS_MAX: usize = 1 << 20;

/// Bits of a [`Strip`].
pub const STRIP_BITS: usize = 512;

/// Rounds that the dense representation may take: loops in one another need one more each. Above, walks are taken, to which
/// nesting makes no difference.
pub const ROUNDS_MAX: u32 = 32;

/// Some consecutive bits of one block's set: a cache line.
pub type Strip = [u64; STRIP_BITS / 64];

/// No bit: the register does not live across a block boundary.
const NO_BIT: u32 = u32::MAX;

/// A side of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its start.
    In,
    /// Its end.
    Out,
}

/// How the sets of a function are kept, and how they were solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Representation {
    /// A row of bits a block.
    #[default]
    Dense,
    /// Runs of blocks a register.
    Walks,
}

/// The live sets of one function.
#[derive(Default)]
pub struct LiveSet {
    representation: Representation,
    /// By register: its bit, or `u32::MAX`.
    bit_of: Vec<u32>,
    /// By bit: its register.
    vreg_of: Vec<VRegId>,
    block_count: usize,
    live_in: Sets,
    live_out: Sets,
    /// Rounds that the dense solver took.
    pub round_count: u32,
}

/// The sets of one side: one of the two is in use.
#[derive(Default)]
struct Sets {
    rows: BitMatrix,
    ranges: Ranges,
}

/// The live sets of a batch, by function.
pub type LiveSets = PerFunction<LiveSet>;

/// Solves the liveness of a function whose control-flow facts hold and whose blocks end at control flow, in the
/// representation that its size asks for.
pub fn solve(
    function: &FunctionView<'_>,
    forms: &FormTable,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
) {
    scratch.collect(function, forms);
    number_globals(function, scratch, set);
    let words = set.block_count * BitMatrix::stride_for(set.vreg_of.len());
    set.representation = Representation::Dense;
    if words > DENSE_WORDS_MAX || !dense::solve(function, scratch, set, ROUNDS_MAX) {
        set.representation = Representation::Walks;
        set.round_count = 0;
        let steps_max = walks::steps_max(set.block_count, set.vreg_of.len());
        walks::solve(function, scratch, set, steps_max);
    }
}

/// Solves the liveness of a function on the given representation, in any number of rounds or steps: what compares the two.
pub fn solve_on(
    representation: Representation,
    function: &FunctionView<'_>,
    forms: &FormTable,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
) {
    scratch.collect(function, forms);
    number_globals(function, scratch, set);
    set.representation = representation;
    match representation {
        Representation::Dense => _ = dense::solve(function, scratch, set, u32::MAX),
        Representation::Walks => walks::solve(function, scratch, set, usize::MAX),
    }
}

/// Solves the liveness of a function by walks, with so many steps for single registers.
#[cfg(test)]
pub(super) fn solve_by_walks(
    function: &FunctionView<'_>,
    forms: &FormTable,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
    steps_max: usize,
) {
    scratch.collect(function, forms);
    number_globals(function, scratch, set);
    set.representation = Representation::Walks;
    walks::solve(function, scratch, set, steps_max);
}

fn number_globals(function: &FunctionView<'_>, scratch: &LivenessScratch, set: &mut LiveSet) {
    set.block_count = function.blocks.len();
    set.bit_of.clear();
    set.bit_of.resize(function.vregs.len(), NO_BIT);
    set.vreg_of.clear();
    for &(_, vreg) in scratch.gens.iter().chain(&scratch.ends) {
        let bit = &mut set.bit_of[vreg.index()];
        if *bit == NO_BIT {
            *bit = set.vreg_of.len() as u32;
            set.vreg_of.push(vreg);
        }
    }
}

impl LiveSet {
    /// The representation that was taken.
    #[must_use]
    pub fn representation(&self) -> Representation {
        self.representation
    }

    /// Number of blocks that the sets are of.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.block_count
    }

    /// By bit: its register. These are the registers that live across some block boundary.
    #[must_use]
    pub fn globals(&self) -> &[VRegId] {
        &self.vreg_of
    }

    /// The bit of `vreg`, if it lives across some block boundary.
    #[inline]
    #[must_use]
    pub fn bit_of(&self, vreg: VRegId) -> Option<usize> {
        let bit = self.bit_of[vreg.index()];
        (bit != NO_BIT).then_some(bit as usize)
    }

    /// Whether `vreg` may be read from the start of `block` on.
    #[must_use]
    pub fn is_live_in(&self, block: BlockId, vreg: VRegId) -> bool {
        self.bit_of(vreg).is_some_and(|bit| self.live_in.test(self.representation, block, bit))
    }

    /// Whether `vreg` may be read after the end of `block`.
    #[must_use]
    pub fn is_live_out(&self, block: BlockId, vreg: VRegId) -> bool {
        self.bit_of(vreg).is_some_and(|bit| self.live_out.test(self.representation, block, bit))
    }

    /// The registers that may be read from the start of `block` on, in no particular order.
    pub fn live_in_vregs(&self, block: BlockId) -> impl Iterator<Item = VRegId> + '_ {
        self.live_in_bits(block).map(|bit| self.vreg_of[bit])
    }

    /// The registers that may be read after the end of `block`, in no particular order.
    pub fn live_out_vregs(&self, block: BlockId) -> impl Iterator<Item = VRegId> + '_ {
        self.live_out_bits(block).map(|bit| self.vreg_of[bit])
    }

    /// The bits of [`Self::live_in_vregs`].
    #[must_use]
    pub fn live_in_bits(&self, block: BlockId) -> Members<'_> {
        self.live_in.members(self.representation, block)
    }

    /// The bits of [`Self::live_out_vregs`].
    #[must_use]
    pub fn live_out_bits(&self, block: BlockId) -> Members<'_> {
        self.live_out.members(self.representation, block)
    }

    /// Number of strips that hold all bits.
    #[must_use]
    pub fn strip_count(&self) -> usize {
        self.vreg_of.len().div_ceil(STRIP_BITS)
    }

    /// The bits of strip number `strip` of [`Self::live_in_bits`], by block.
    pub fn live_in_strip(&self, strip: usize, blocks: &mut Vec<Strip>) {
        self.live_in.strip(self.representation, strip, self.block_count, blocks);
    }

    /// The bits of strip number `strip` of [`Self::live_out_bits`], by block.
    pub fn live_out_strip(&self, strip: usize, blocks: &mut Vec<Strip>) {
        self.live_out.strip(self.representation, strip, self.block_count, blocks);
    }

    /// Calls `visit` with each run of consecutive blocks on one side of which a register lives, and the register; the runs
    /// in no particular order. Costs the runs, and the words of a dense set.
    pub fn each_run(&self, side: Side, mut visit: impl FnMut(Range<u32>, VRegId)) {
        let sets = self.side(side);
        match self.representation {
            Representation::Walks => {
                for run in sets.ranges.runs() {
                    visit(run.first..run.last + 1, self.vreg_of[run.bit as usize]);
                }
            }
            Representation::Dense => {
                each_run_of(sets.rows.rows(), sets.rows.stride(), |run, bit| visit(run, self.vreg_of[bit]));
            }
        }
    }

    fn side(&self, side: Side) -> &Sets {
        match side {
            Side::In => &self.live_in,
            Side::Out => &self.live_out,
        }
    }

    /// Whether the register with `bit` may be read after the end of `block`.
    #[inline]
    pub(super) fn has_out(&self, block: BlockId, bit: usize) -> bool {
        self.live_out.test(self.representation, block, bit)
    }

    /// The rows of a side, by block, of dense sets.
    pub(super) fn rows(&self, side: Side) -> &BitMatrix {
        debug_assert_eq!(self.representation, Representation::Dense);
        &self.side(side).rows
    }

    /// Dense sets: puts `vreg` into the live-in or live-out set of `block`, or takes it out. What tests of verifiers
    /// do damage with.
    ///
    /// # Panics
    /// When the sets are not dense or the register has no bit.
    pub fn damage(&mut self, live_in: bool, block: BlockId, vreg: VRegId, is_live: bool) {
        assert_eq!(self.representation, Representation::Dense);
        let bit = self.bit_of(vreg).expect("the register has a bit");
        let rows = if live_in { &mut self.live_in.rows } else { &mut self.live_out.rows };
        if is_live { rows.set(block.index(), bit) } else { rows.clear(block.index(), bit) }
    }
}

/// Calls `visit` with each run of consecutive `rows` of `stride` words that hold a bit, and the bit; in the order in which they end.
fn each_run_of<'a>(
    rows: impl Iterator<Item = &'a [u64]>,
    stride: usize,
    mut visit: impl FnMut(Range<u32>, usize),
) {
    let none = vec![0; stride];
    // By bit: where its open run started.
    let mut first = vec![0; stride * bits::WORD_BITS];
    let mut before = &none[..];
    for (row, here) in (0..).zip(rows.map(Some).chain([None])) {
        let here = here.unwrap_or(&none);
        for (at, (&here, &before)) in here.iter().zip(before).enumerate() {
            let mut changed = here ^ before;
            while changed != 0 {
                let bit = at * bits::WORD_BITS + changed.trailing_zeros() as usize;
                if changed & here & changed.wrapping_neg() != 0 {
                    first[bit] = row;
                } else {
                    visit(first[bit]..row, bit);
                }
                changed &= changed - 1;
            }
        }
        before = here;
    }
}

impl Sets {
    fn test(&self, representation: Representation, block: BlockId, bit: usize) -> bool {
        match representation {
            Representation::Dense => self.rows.test(block.index(), bit),
            Representation::Walks => self.ranges.contains(bit, block),
        }
    }

    fn strip(
        &self,
        representation: Representation,
        strip: usize,
        block_count: usize,
        blocks: &mut Vec<Strip>,
    ) {
        blocks.clear();
        blocks.resize(block_count, Strip::default());
        match representation {
            Representation::Dense => {
                let words = strip * size_of::<Strip>() / size_of::<u64>()..;
                for (block, row) in blocks.iter_mut().zip(self.rows.rows()) {
                    block.iter_mut().zip(&row[words.clone()]).for_each(|(to, from)| *to = *from);
                }
            }
            Representation::Walks => self.ranges.strip(strip, blocks),
        }
    }

    fn members(&self, representation: Representation, block: BlockId) -> Members<'_> {
        match representation {
            Representation::Dense => Members::Dense(bits::ones(self.rows.row(block.index()))),
            Representation::Walks => Members::Walks(self.ranges.members(block)),
        }
    }
}

/// The members of a set, as bits.
pub enum Members<'a> {
    /// Of a row of bits.
    Dense(Ones<'a>),
    /// Of the runs of blocks.
    Walks(walks::Members<'a>),
}

impl Iterator for Members<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        match self {
            Self::Dense(ones) => ones.next(),
            Self::Walks(members) => members.next(),
        }
    }
}
