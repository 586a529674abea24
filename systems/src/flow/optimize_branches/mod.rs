//! Optimize branches: decides those whose condition is known, threads jumps through empty blocks, lets blocks fall through,
//! and merges them.
//!
//! Source phase  15 OriBranchOpt (basic-blocks-and-cfg, "BB Merge Suppression"; the phase has no document of its own), and
//!               89 AdvancedPhaseSetRegAttr, a gate where a back end may add work of its own
//! Reads         Blocks, Insts, Fact::ControlFlow
//! Writes        branches, branch tables, blocks, guards
//! Needs         control flow ends its block; control-flow facts; instruction ids in program order
//! Leaves        no unreachable block; no branch to the next block, or past empty ones; no block that only its predecessor in
//!               the text falls into; no guard that is a constant
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions; program order, where blocks are merged
//! Cost          a pass over all operands; where it sees a constant that may decide something, one that lists definitions and a walk
//!               over guards; a few passes over blocks a round, a round more than there is to follow; a comparison where
//!               nothing changed
//! Checked by    check/edges.rs, check/control_flow.rs, check/terminators.rs, check/tables.rs; settling refuses a branch to a
//!               merged block
//!
//! # The rewrites
//! ```text
//! decide        mov.pred p, 1; @p bra A; ...        bra A; ...             // any guard that is a constant
//!               mov.u32 r, 2; brx.idx r, {A, B, C}  bra C
//! thread        @p bra A; ... A: bra B;             @p bra B; ...          // A may be left without a predecessor
//!               brx.idx r, {A, C}; ... A: bra B;    brx.idx r, {B, C}; ...
//! collapse      brx.idx r, {B, B, B}                bra B
//! fall through  bra A; A: ...                       A: ...                 // a guarded branch goes as well; so does
//!                                                                          // one past empty blocks that fall through
//!               @p bra A; bra A;                    bra A;
//! invert        @p bra A; bra B; A: ...             @!p bra B; A: ...      // empty blocks may stand before `bra B`
//! place         bra A; ... bra B; A: ...; bra B;    A: ...; bra B; ...     // nothing else leads to A (`place.rs`)
//! merge         add ...; A: mul ...                 add ...; mul ...       // nothing else leads to A
//! ```
//! An index past the end of its table is undefined (ISA, `brx.idx`), so a table that lists one block leads there always.
//!
//! # When it runs
//! Early, so that later phases see fewer blocks; and once more after the last elimination of dead code, which empties blocks:
//! what is left then would be found by a second run of the optimizer.
//!
//! # What is left alone
//! - The order of blocks, but for runs that one jump leads to; all of it where the text has lines of a source or labels that debug
//!   sections name, which keep their order, and where something depends on convergence (`place.rs`).
//! - Headers. A branch past an empty header would enter its loop in the middle:
//!   ```text
//!   bra H; ... H: bra B; ... B: ...; @p bra H; // `bra B` makes the cycle of H and B one with two entries
//!   ```
//! - An empty latch that several branches share. Each of them would become a latch of its own, and an assembler that
//!   takes latches for nested loops lets threads run ahead that waited for the others before.
//! - A branch back to a loop without loops in it, whose header is the next block but one, around the jump that leaves
//!   it. Inverted, the loop would be closed by falling through, and `ptxas` unrolls no such loop: of a stencil that
//!   Taichi makes it leaves the five rounds rolled then, 204 machine instructions, and unrolls them otherwise, 715.
//! - A block with a pragma: it belongs to that block. Other anchors stay at their place.
//! - `.uni` is a promise about one branch: a redirected branch loses it, and one that has it is not inverted. An indexed
//!   branch keeps it while its table changes: it is about the index.
//! - Constant indices past the end of the table.
//! - Anything alike in several blocks: merging tails moves convergent instructions together.
//! - In SSA form, edges to blocks with phis, but for those that are never taken.
//!
//! # Labels
//! The label of a merged block is gone, since only branches name it; one that a debug section names too is an anchor
//! and stays.

mod missed;
mod model;
mod place;
mod prospects;

use super::conditions::{Conditions, Learns, Memory};
use super::guards;
use bevy_ecs::prelude::*;
use model::{End, Model};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, TableId};
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::{Reaching, ReachingValues};

/// Phases 15 and 89.
pub const PHASE: Phase = Phase {
    name: "optimize_branches",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    memo: Some(Memo::NoBranchToOptimize),
    breaks: Fact::OF_EDGES_AND_ORDER,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How far the phase goes.
#[derive(Resource, Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Times that the rewrites are tried on one function: each round follows what the one before has opened up, and the
    /// last finds nothing. A chain of them longer than this is left for another run.
    pub rounds_max: u32,
    /// Empty blocks that one branch is threaded through.
    pub hops_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds_max: 8, hops_max: 32 }
    }
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    conditions: Memory,
    /// By register: some constant was moved to it.
    is_constant: Vec<bool>,
    model: Model,
}

/// Optimizes the branches of every function. One that nothing has changed since the last time costs a comparison.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if f.remembers(Memo::NoBranchToOptimize) && !f.remarks_are_wanted() {
            return;
        }
        let outcome = optimize(&mut f, &settings, &mut values, &mut scratch);
        // Without fuel there is nothing more to do; what was done stands.
        if !matches!(outcome, Err(Stopped::OutOfFuel)) && f.remarks_are_wanted() {
            missed::tell(&mut f, &scratch.model);
        }
        if outcome.is_ok() {
            f.remember(Memo::NoBranchToOptimize);
        }
    });
}

/// Why a function is left before nothing more is found.
enum Stopped {
    /// The bisect limit does not allow any more changes.
    OutOfFuel,
    /// There may be more to find after the last round.
    OutOfRounds,
}

type Outcome = Result<(), Stopped>;

fn optimize(
    f: &mut FunctionEditor<'_>,
    settings: &Settings,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Outcome {
    let Scratch { conditions, is_constant, model } = scratch;
    let (function, forms) = f.view_and_forms();
    let decided = if prospects::may_decide(&function, forms, is_constant) {
        let reaching = values.of(f);
        decide(f, reaching, conditions)
    } else {
        Some(())
    };
    let cleared = guards::delete_unreachable(f);
    decided.and(cleared).ok_or(Stopped::OutOfFuel)?;
    f.refresh_edges();
    let (function, forms) = f.view_and_forms();
    model.load(&function, forms);
    Rewriter { f, model, settings }.run()
}

/// Settles the guards that are constants; nothing where the bisect limit is reached.
fn decide(f: &mut FunctionEditor<'_>, reaching: &mut Reaching, memory: &mut Memory) -> Option<()> {
    let mut conditions = Conditions::start(memory, reaching, &f.view(), Learns::Nothing);
    guards::settle_all(f, &mut conditions)
}

/// Rewrites one function.
struct Rewriter<'r, 'a> {
    f: &'r mut FunctionEditor<'a>,
    model: &'r mut Model,
    settings: &'r Settings,
}

impl<'a> Rewriter<'_, 'a> {
    fn run(&mut self) -> Outcome {
        for _ in 0..self.settings.rounds_max {
            let has_threaded = self.thread()?;
            let has_collapsed = self.thread_tables()?;
            let has_inverted = self.invert()?;
            let has_let_fall = self.fall_through()?;
            let is_straight = !(has_threaded || has_collapsed || has_inverted || has_let_fall);
            if is_straight && !self.place()? {
                return self.merge();
            }
        }
        self.f.stats().limits_hit += 1;
        let offset = self.f.text().name.first;
        self.f.missed(offset, "more rounds than are made would change more branches");
        self.merge()?;
        Err(Stopped::OutOfRounds)
    }

    fn change(&mut self, at: BlockId, reason: &'static str) -> Result<Change<'_, 'a>, Stopped> {
        self.f.change_in_place_at(self.model.of(at).offset, reason).ok_or(Stopped::OutOfFuel)
    }

    /// The blocks of the model, dead ones too.
    fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.model.ends.len()).map(BlockId::new)
    }

    fn is_dead(&self, block: BlockId) -> bool {
        self.model.of(block).is_dead
    }

    /// Leads branches past empty blocks, and deletes what nothing leads to any more.
    fn thread(&mut self) -> Result<bool, Stopped> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let (End::Jumps { inst, target } | End::Branches { inst, target }) =
                self.model.ends[block.index()]
            else {
                continue;
            };
            if self.is_dead(block) {
                continue;
            }
            let destination = self.model.destination(target, self.settings.hops_max);
            let Some(destination) = destination else { continue };
            self.change(block, "jump through an empty block")?.redirect(inst, destination);
            self.model.retarget(block, destination);
            has_changed = true;
        }
        self.delete_abandoned()?;
        Ok(has_changed)
    }

    /// Leads the entries of branch tables past empty blocks, and makes branches by tables with one target direct.
    fn thread_tables(&mut self) -> Result<bool, Stopped> {
        let mut has_changed = false;
        let mut users: Vec<(TableId, BlockId)> = self
            .block_ids()
            .filter_map(|block| match self.model.ends[block.index()] {
                End::Indexed { table, .. } if !self.is_dead(block) => Some((table, block)),
                _ => None,
            })
            .collect();
        users.sort_unstable();
        for users in users.chunk_by(|(one, _), (other, _)| one == other) {
            let (table, first) = users[0];
            let count = self.f.view().tables[table.index()].targets.len();
            for position in 0..count {
                let target = self.model.entry(first, position);
                let destination = self.model.destination(target, self.settings.hops_max);
                let Some(destination) = destination else { continue };
                let reason = "branch by a table through an empty block";
                self.change(first, reason)?.set_target(table, position, destination);
                users.iter().for_each(|&(_, user)| self.model.retarget_entry(user, position, destination));
                has_changed = true;
            }
            let target = self.model.entry(first, 0);
            if (1..count).all(|position| self.model.entry(first, position) == target) {
                users.iter().try_for_each(|&(_, user)| self.collapse(user, target, count))?;
                has_changed = true;
            }
        }
        self.delete_abandoned()?;
        Ok(has_changed)
    }

    /// Makes the indexed branch of a block a direct one: its table lists one target, `count` times.
    fn collapse(&mut self, block: BlockId, target: BlockId, count: usize) -> Outcome {
        let End::Indexed { inst, .. } = self.model.ends[block.index()] else {
            unreachable!("only indexed branches have tables");
        };
        let is_guarded = self.f.head(inst).opcode.is_guarded();
        self.change(block, "the table has one target")?.branch_to(inst, target);
        let end = if is_guarded { End::Branches { inst, target } } else { End::Jumps { inst, target } };
        self.model.collapse(block, end, target, count);
        Ok(())
    }

    /// Deletes the blocks that threading has left without a predecessor, and those that only they led to.
    fn delete_abandoned(&mut self) -> Outcome {
        let dead = self.model.mark_abandoned();
        if dead.is_empty() {
            return Ok(());
        }
        // They count as one change, since they may branch to one another.
        let offset = self.f.text().body.first;
        let reason = "nothing leads to the empty block any more";
        self.f.change_in_place_at(offset, reason).ok_or(Stopped::OutOfFuel)?.delete_blocks(&dead);
        Ok(())
    }

    /// Turns a branch around a jump into a branch.
    fn invert(&mut self) -> Result<bool, Stopped> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let Some((inst, between, jump, destination)) = self.model.jump_around(block) else { continue };
            let mut change = self.change(block, "branch around a jump")?;
            change.negate_guard(inst);
            change.redirect(inst, destination);
            change.delete_branch(jump);
            // The block around which it led falls through instead: as many edges lead to each block as before.
            self.model.ends[block.index()] = End::Branches { inst, target: destination };
            self.model.ends[between.index()] = End::Falls;
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Deletes branches to the block after them.
    fn fall_through(&mut self) -> Result<bool, Stopped> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let end = self.model.ends[block.index()];
            let (End::Jumps { inst, target } | End::Branches { inst, target }) = end else { continue };
            if self.is_dead(block) {
                continue;
            }
            let may_jump = matches!(end, End::Branches { .. });
            let falls_there = self.model.falls_to(block, target, may_jump, self.settings.hops_max);
            if !falls_there || self.model.of(target).has_phis {
                continue;
            }
            self.change(block, "branch to the block after it")?.delete_branch(inst);
            self.model.pred_count[target.index()] -= 1;
            if matches!(end, End::Jumps { .. }) {
                let next = self.model.next(block).expect("it falls to the target");
                self.model.pred_count[next.index()] += 1;
            }
            self.model.ends[block.index()] = End::Falls;
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Merges blocks with the only block that falls into them. In the order of the text, so that each joins what has joined
    /// before: the other way round, the last ones would move again with each that stands before them.
    fn merge(&mut self) -> Outcome {
        let mut block = BlockId(0);
        while let Some(next) = self.model.next(block) {
            let traits = self.model.of(next);
            if self.model.ends[block.index()] == End::Falls
                && self.model.pred_count[next.index()] == 1
                && !traits.is_pinned
                && !traits.has_phis
            {
                self.change(next, "block with one predecessor, which stands before it")?.merge(next);
            }
            block = next;
        }
        Ok(())
    }
}
