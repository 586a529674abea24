//! Uniformity: which registers hold the same value in all threads of a warp, and which branches they take alike.
//!
//! Paper  Rosemann, Moll, Hack 2021, "An Abstract Interpretation for SPMD Divergence on Reducible Control Flow Graphs";
//!        Coutinho, Sampaio, Pereira, Meira 2011, "Divergence Analysis and Optimizations"; LLVM's "Convergence and
//!        Uniformity"; Cytron et al. 1991 for the places where definitions meet
//!
//! # What it says
//! Two threads execute the same *dynamic instance* of an instruction if, for each natural loop around it, they are in
//! the same round of it, counted from when they entered. A register is **uniform** if any two threads of a warp that
//! execute the same dynamic instance of an instruction that names it read, and write, the same value there. A branch is
//! uniform if two such threads go the same way. Neither says that they execute it at the same time. What is not shown to
//! be uniform is called divergent. (A block after a loop has one instance, whatever the round in which its threads left.)
//!
//! # Data dependence
//! What an instruction computes from uniform operands is uniform, unless it is a source of divergence ([`natures`]). A
//! guarded write merges with the old value:
//! ```text
//!     mov.u32 %r1, 7;
//! @%p mov.u32 %r1, 8;       // %p divergent: 7 here, 8 there
//! ```
//!
//! # Sync dependence
//! Registers are not in SSA form. Where threads that went different ways join, a register that they defined on the way
//! diverges, if it lives on:
//! ```text
//! @%p bra E;                // %p divergent
//!     mov.u32 %r1, 7;  bra J;
//! E:  mov.u32 %r1, 8;
//! J:  st.global.u32 [%rd1], %r1;
//! ```
//! Such registers are those that would get a phi at J: J is in the iterated dominance frontier of the definitions, and the
//! register lives there (`places`). The joins of a divergent branch are found by `joins`.
//!
//! # Temporal divergence
//! Threads that leave a loop in different rounds take away what it held in different rounds:
//! ```text
//! L:  add.u32 %r1, %r1, 1;  // the same in each round
//!     setp.lt.u32 %p, %r1, %r2;
//! @%p bra L;                // %r2 divergent
//!     st.global.u32 [%rd1], %r1;
//! ```
//! A verdict is about a register everywhere, so one that lives after the loop is divergent inside it as well.
//!
//! # Coming together
//! A plain load of memory that others write tells two threads the same only if nothing can be written between. Race-free
//! programs write between two threads' loads only after one has told the other, so it is enough that both came by the same
//! way since they last were together: from the start of the kernel or a barrier, without a join of divergent ways, an exit
//! of a loop that they leave in different rounds, or a call between. Arms of branches keep together.
//! ```text
//! @%p bra J;                // %p divergent
//! W:  ld.acquire.gpu.global.u32 %r1, [flag];  setp.eq.u32 %q, %r1, 0;
//! @%q bra W;                // the others wait for someone who writes [%rd1] when those at J have read it
//! J:  ld.global.u32 %r2, [%rd1];
//! ```
//! Votes, reductions and shuffles tell those who take part the same, if those at one instance take part in one meeting:
//! when they are together, or when no meeting and no call lies where only some threads go, since then all threads meet in
//! the order of the code. No meeting may be under a divergent guard.
//!
//! # Irreducible regions
//! Irreducible regions have no rounds. In a function with one, every register that lives across blocks is divergent, and so
//! are the branches and results of the region. So are the registers where it would take more than
//! [`steps_max`](crate::graph::iterated_frontier::steps_max) to find where their definitions meet, and which of those in loops live after them.
//!
//! # Tried and dropped
//! Marking all that lies between a divergent branch and its post-dominator, as control dependence does: every value
//! of an arm was divergent, and post-dominators look past back edges (`forward`). Propagating a label from each
//! divergent branch through its region, as LLVM does, is quadratic on a chain of early exits.

mod forward;
mod joins;
pub mod natures;
mod places;
pub mod print;
mod propagate;

pub use print::{Counts, count};
pub use propagate::solve;

use crate::bits;
use crate::graph::nest::LoopNest;
use crate::store::per_function::PerFunction;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;

/// The verdicts of each function of the batch, where `Fact::Uniformity` holds.
pub type Uniformities = PerFunction<Uniformity>;

/// The verdicts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uniformity {
    /// By register, as bits: divergent.
    divergent: Vec<u64>,
    /// By block, as bits: it ends in a branch, return or exit that some threads take and others do not. Blocks keep their
    /// ids when deleted instructions are swept, instructions do not.
    divergent_ways: Vec<u64>,
    /// By block: some living threads may not execute it where others do; empty where nothing splits the warp.
    partial: Vec<bool>,
    /// Some threads may end while others go on.
    ends_apart: bool,
    is_split: bool,
    /// See [`Counts::is_tangled`](print::Counts::is_tangled).
    is_tangled: bool,
}

impl Uniformity {
    fn clear(&mut self, function: &FunctionView<'_>) {
        for (bits, count) in
            [(&mut self.divergent, function.vregs.len()), (&mut self.divergent_ways, function.blocks.len())]
        {
            bits.clear();
            bits.resize(bits::words_for(count), 0);
        }
        self.partial.clear();
        self.ends_apart = false;
        self.is_split = false;
        self.is_tangled = false;
    }

    /// Whether a register is uniform wherever it is named.
    #[inline]
    #[must_use]
    pub fn is_uniform(&self, vreg: VRegId) -> bool {
        !bits::test(&self.divergent, vreg.index())
    }

    /// Whether threads that execute `inst`, a branch, a return or an exit, go the same way; true for what is no way out
    /// of the straight line. The promise of `.uni` proves nothing: code that breaks it exists.
    #[inline]
    #[must_use]
    pub fn branch_is_uniform(&self, function: &FunctionView<'_>, inst: InstId) -> bool {
        let head = function.heads[inst.index()];
        !head.marks.contains(Marks::CONTROL) || self.block_goes_alike(head.block)
    }

    /// Whether threads that execute `block` leave it the same way.
    #[inline]
    #[must_use]
    pub fn block_goes_alike(&self, block: BlockId) -> bool {
        !bits::test(&self.divergent_ways, block.index())
    }

    /// Calls the register divergent or uniform. What tests of verifiers do damage with.
    pub fn damage(&mut self, vreg: VRegId, is_uniform: bool) {
        if is_uniform {
            bits::clear(&mut self.divergent, vreg.index());
        } else {
            bits::set(&mut self.divergent, vreg.index());
        }
    }

    /// Whether all threads that have not ended execute `block` whenever the warp does, in each round of the loops around
    /// it.
    #[must_use]
    pub fn is_executed_by_all(&self, block: BlockId) -> bool {
        !self.is_tangled && self.partial.get(block.index()).is_none_or(|is_partial| !is_partial)
    }

    /// Whether the threads that execute `inst` are those that execute `block`, in each round of the loops around both,
    /// whenever both are executed: what moving a convergent instruction from one place to the other asks, beside that it
    /// be executed as often, which dominance says. `same` was computed for the function.
    #[must_use]
    pub fn may_move_convergent(
        &self,
        function: &FunctionView<'_>,
        nest: &LoopNest,
        same: &SameThreads,
        inst: InstId,
        block: BlockId,
    ) -> bool {
        let from = function.heads[inst.index()].block;
        if from == block {
            return true;
        }
        let by_all = !self.ends_apart
            && nest.loop_of(from) == nest.loop_of(block)
            && [from, block]
                .into_iter()
                .all(|block| self.is_executed_by_all(block) && function.orders[block.index()].is_reachable());
        by_all || !self.is_tangled && same.holds(function, nest, from, block)
    }
}

/// Which blocks the same threads execute, whether or not branches are divergent.
#[derive(Default)]
pub struct SameThreads {
    tree: forward::ForwardTree,
    is_irreducible: bool,
}

impl SameThreads {
    /// Makes ready for questions about a function.
    pub fn compute(&mut self, function: &FunctionView<'_>, nest: &LoopNest) {
        self.is_irreducible = nest.irreducible_regions().next().is_some();
        if !self.is_irreducible {
            self.tree.compute(function, nest);
        }
    }

    /// Whether in each round of the loop around both blocks, whoever executes one executes the other.
    #[must_use]
    pub fn holds(&self, function: &FunctionView<'_>, nest: &LoopNest, one: BlockId, other: BlockId) -> bool {
        !self.is_irreducible && joins::same_threads(&self.tree, function, nest, one, other)
    }
}

/// Memory of the analysis.
#[derive(Default)]
pub struct Scratch {
    progress: propagate::Progress,
}
