//! Build SSA form: each register that is a value gets one definition.
//!
//! Source phase  23 GenerateMovPhi (copy-prop-and-cse, "MOV.PHI")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        registers, phis, `CodeFlags::SSA`, `VRegFlags::VARIABLE`
//! Needs         control flow ends its block; dominators
//! Leaves        pruned SSA form: no phi whose value is not read; registers that are no values (`VRegFlags::NO_VALUE`) as they were
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a pass over all operands; where registers have several definitions, their iterated frontiers and another
//!               pass. Functions whose registers have one definition each are not changed.
//! Papers        Cytron et al. 1991, sections 4 and 5; Briggs et al. 1998 (registers that live in one block get no phis);
//!               pruned form: Choi, Cytron and Ferrante 1991
//! Checked by    check/ssa.rs; the reaching definitions of each use, before and after, in ssa/tests.rs
//!
//! # How it works
//! A register with one whole definition that nothing may read before it is in SSA form already. The *candidates* are the
//! others. Each gets phis at its iterated dominance frontier; a walk over the dominator tree gives each definition a register
//! of its own. The first definition keeps the register, so that code comes out with its own names. Phis that nothing but
//! such phis reads are dropped before they are made: what is left is what live sets would have told, and they cost more.
//!
//! ```text
//!     mov.b32 r1, 0;                       mov.b32 r1, 0;
//! L:                                   L:  phi.b32 r8, {A, r1}, {L, r9};
//!     add.s32 r1, r1, 1;          ->       add.s32 r9, r8, 1;
//!     setp.lt.s32 p, r1, 9;                setp.lt.s32 p, r9, 9;
//!     @p bra L;                            @p bra L;
//! ```
//!
//! # What stays a variable
//! - Registers with a definition in an unreachable block, or with a guarded or partial one; vector registers, and registers
//!   of a type that no `mov` copies. Where a guarded write is skipped, the old value stands in the same register:
//!   ```text
//!   @p mov.b32 r1, 7;    // a new register would hold nothing where p is false
//!   ```
//! - Two results of one instruction that are the same register.
//! - Candidates for which there is no room: an eighth of it is left to later phases ([`ROOM_LEFT`]); and those with which the
//!   function would have more values than registers ([`VALUES_MORE`]), or more phis than the phase's room, beyond which all of it
//!   would be undone.
//! - Candidates after those whose phis have more pairs than the function has operands, some for every one ([`PAIRS_LEAST`]):
//!   a loop around a switch of 2,000 cases carries each of its registers through a phi of 2,000 pairs.
//! - Candidates that meet in a block with more than [`PREDS_MAX`] predecessors.
//! - Candidates after those whose joins took as many steps to find as a function has
//!   ([`steps_max`](ptxopt_engine::graph::iterated_frontier::steps_max)): where frontiers are not listed,
//!   each search may walk over all blocks.
//!
//! What a register holds before it is written gets a name, too, that of a register without definition.

mod joins;
mod names;
mod registers;

use super::origins::{Origins, OriginsOf};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::IteratedFrontier;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

use registers::Row;

/// Phase 23.
pub const PHASE: Phase = Phase {
    name: "build_ssa",
    needs: &[Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 100,
    install: |slot| {
        slot.init_resource::<Origins>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// The part of the function's room that is left to later phases, as a divisor.
pub const ROOM_LEFT: u32 = 8;

/// Values that a function may have in SSA form above 112 % of its registers (less what [`ROOM_LEFT`] says), and half the phis above as
/// much of its rows. Beyond that most values of one register are live at the same time, and leaving SSA form takes a move for each: with
/// twice the percentage, a kernel of hashcat came out 3 % longer (`ptxopt batch m00010_a0-optimized.ptx -o DIR`, 18,867 lines for 19,435). In a
/// small function a few registers, each written many times, are all there is, and a variable keeps its constants from being seen.
pub const VALUES_MORE: u32 = 64;

/// Values in percent of registers, and phis in percent of rows, that a function may have.
const OF_ROWS_PERCENT: u64 = 112;

/// Pairs that the phis of every function may have.
pub const PAIRS_LEAST: usize = 1 << 12;

/// The most predecessors of a block with phis.
pub const PREDS_MAX: usize = 1 << 12;

/// Works on every function.
pub fn run(mut editor: Editor, mut origins: ResMut<Origins>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let origins = origins.of(f.code());
        build(&mut f, origins, &mut scratch);
    });
}

/// Brings a function into SSA form.
pub fn build(f: &mut FunctionEditor<'_>, origins: &mut OriginsOf, scratch: &mut Scratch) {
    let left_out = scratch.plan(&f.view(), f.room());
    f.stats().limits_hit += left_out;
    f.set_flags(CodeFlags::SSA, true);
    for &(vreg, is_variable) in &scratch.variables {
        f.set_variable(vreg, is_variable);
    }
    let first_new = f.view().vregs.len();
    origins.note(
        first_new,
        scratch.new_registers.iter().map(|&candidate| scratch.candidates[candidate as usize].vreg),
    );
    if !scratch.candidates.is_empty() {
        scratch.apply(&mut f.required_change());
    }
}

/// A register that gets several names.
#[derive(Clone, Copy)]
struct Candidate {
    vreg: VRegId,
    /// What it holds at the place where the walk is; none before the first definition.
    current: Option<VRegId>,
    /// Some definition has the register itself as its name.
    is_taken: bool,
    /// A register without definition: what it holds where nothing was written to it.
    undefined: Option<VRegId>,
}

/// A phi to be.
#[derive(Clone, Copy)]
struct Planned {
    block: BlockId,
    candidate: u32,
    to: VRegId,
    /// Where its pairs start, and how many of them are there.
    pairs: usize,
    filled: usize,
    /// Something but a phi that nothing needs reads it.
    is_needed: bool,
}

/// A name for one value of a candidate.
#[derive(Clone, Copy)]
struct Name {
    candidate: u32,
    /// The register that it becomes; none where nothing needs it, and where the candidate stays a variable.
    number: Option<VRegId>,
}

const NO_CANDIDATE: u32 = u32::MAX;

/// What the phase is about to do to a function, and the memory to find it out.
#[derive(Default)]
pub struct Scratch {
    /// By register.
    rows: Vec<Row>,
    /// The blocks that define registers with several definitions.
    several: Vec<(VRegId, BlockId)>,
    /// Reads that no definition comes before in the text, some of them more than once.
    crossing: Vec<(VRegId, BlockId)>,
    tree: DominatorTree,
    frontier: IteratedFrontier,
    /// By register; one more for operands that name none.
    candidate_of: Vec<u32>,
    candidates: Vec<Candidate>,
    /// Registers that are variables from now on, or not any more.
    variables: Vec<(VRegId, bool)>,
    /// By block and candidate.
    phis: Vec<Planned>,
    /// By block: where its phis start.
    phis_of: Vec<u32>,
    pairs: Vec<(BlockId, Operand)>,
    /// By block: distinct reachable predecessors; none before it is asked for.
    pred_counts: Vec<u32>,
    /// By block: the last block that was seen to lead there, counted from 1.
    seen: Vec<u32>,
    /// Names that are no registers yet; those of phis come first. In the course of the walk they count as registers after
    /// those of the function.
    names: Vec<Name>,
    /// By candidate: registers and phis that it takes; more than there are where it stays a variable.
    costs: Vec<(u32, u32)>,
    /// The candidates of the names that become registers.
    new_registers: Vec<u32>,
    /// Operands of candidates that get another name.
    renamed: Vec<(InstId, usize, u32, VRegId)>,
    /// What candidates held outside of the part of the tree that the walk is in, and where such parts end.
    outside: Vec<(u32, Option<VRegId>)>,
    parts: Vec<(u32, usize)>,
    /// Phis that something needs, and whose values are still to be looked at.
    needed: Vec<usize>,
}

impl Scratch {
    /// Finds out what is to be done; says how many candidates stay variables because of a limit.
    fn plan(&mut self, function: &FunctionView<'_>, room: Room) -> u64 {
        self.candidates.clear();
        self.variables.clear();
        self.phis.clear();
        self.new_registers.clear();
        self.look_at_registers(function);
        self.find_candidates(function);
        if self.candidates.is_empty() {
            return 0;
        }
        self.tree.compute(function);
        let left_out = self.place_phis(function);
        if self.candidates.is_empty() {
            return left_out;
        }
        self.sort_phis(function);
        self.rename(function);
        self.prune(function);
        left_out + self.number_names(function, room)
    }

    fn apply(&mut self, change: &mut Change<'_, '_>) {
        let first_new = change.function().vregs.len();
        for &candidate in &self.new_registers {
            change.new_vreg_like(self.candidates[candidate as usize].vreg);
        }
        let number_of = |name: VRegId| match name.index().checked_sub(first_new) {
            Some(number) => self.names[number].number,
            None => Some(name),
        };
        let is_left_out = |candidate: u32| {
            self.candidate_of[self.candidates[candidate as usize].vreg.index()] == NO_CANDIDATE
        };
        let renamed = self.renamed.iter().filter(|&&(_, _, candidate, _)| !is_left_out(candidate));
        change.rename_each(
            renamed.filter_map(|&(inst, position, _, name)| Some((inst, position, number_of(name)?))),
        );
        for phis in self.phis.chunk_by(|one, other| one.block == other.block) {
            let block = phis[0].block;
            let after = change.first_after_phis(block);
            for phi in phis {
                let Some(to) = number_of(phi.to) else { continue };
                let pairs = &mut self.pairs[phi.pairs..phi.pairs + phi.filled];
                for (_, value) in &mut *pairs {
                    let name = value.vreg().expect("a register comes from there");
                    *value = value.with_vreg(number_of(name).expect("what a phi needs is needed"));
                }
                change.phi_before(block, after, to, pairs);
            }
        }
        change.ssa_is_built();
    }
}
