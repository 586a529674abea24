//! Eliminate dead code: instructions whose results nothing reads, and blocks that nothing reaches.
//!
//! Source phase  10 EarlyOriSimpleLiveDead; 16, 33, 61, 84 OriPerformLiveDead First to Fourth (liveness); 92, a gate
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow (full form)
//! Writes        tombstones, branches, dead blocks, sinks in place of results, forms without `.cc`, DROPS_LOCALS
//! Needs         control flow ends its block; control-flow facts (full form)
//! Gives         that nothing is dead (full form)
//! Leaves        full form: every reachable instruction has an effect or a result that a needed one reads, no block
//!               is unreachable, no carry is left that nothing reads; in its last runs, 84 and 92, results that nothing reads
//!               are sinks where the form takes them, and those of volatile loads are in registers that nothing else writes
//! Breaks        liveness, uniformity, definitions; where blocks died, control flow, loops and post-dominators
//! Cost          simple: one pass that counts reads and one backward. Full: a pass that lists definitions, where they are not
//!               known, a search from uses to definitions, a look at each head for volatile loads; a pass over the blocks, and
//!               where it finds arms that do nothing post-dominators and a second search; a comparison where nothing changed,
//!               unless a result or volatile load that nothing reads waits for phase 84
//! Paper         Cytron et al. 1991, section 7.1
//! Checked by    check/dead_code.rs, check/rows.rs, check/forms.rs
//!
//! # What stays
//! An instruction with an effect beside its results (`Marks::KEPT`, from the opcode table: stores, atomics, barriers,
//! convergent, asynchronous and volatile operations, calls, control flow, everything unknown), but for branches that nothing
//! depends on (`branches.rs`). A definition of a register that something outside the function may read: results, module registers,
//! registers that an asynchronous instruction goes on using. A dead `ld` goes: an access that the ISA leaves undefined may lose
//! its fault.
//!
//! # Guarded writes
//! ```text
//! mov r1, 5;         // stays: where p is false, this is what the add reads
//! @p mov r1, 7;
//! add r2, r1, 1;
//! ```
//! A guarded write neither ends the life of the value before it nor keeps that value alive.
//!
//! # Results that nothing reads
//! They stay where values are still to be numbered. Two instructions are equal with all their results:
//! ```text
//! mov.b32 {a, b}, r;   // mov.b32 {a, _}, r would not be equal to the next one
//! mov.b32 {c, d}, r;
//! ```
//! In 56 modules of llama.cpp 2,472 instructions of 223,110 went when results no longer became sinks in phases 16, 33 and 61, in the
//! wild set 913. An integer that is unpacked once for its lowest part has no such twin: the other parts become sinks at once, and
//! general optimization makes it a conversion.
//!
//! # Variables
//! A `.local` variable of the body that nothing names is not declared again: the assembler gives it memory all the same.
//!
//! # Before SSA form
//! Phase 16 stands where registers have several definitions, and the full form has to find which of them reach a read. SSA form
//! tells that anyway, so phase 16 does no more than walk where phases 23 and 33 follow. Corpus and wild set come out the same to the
//! instruction, and all phases take 0.95 of the time (docs/PERFORMANCE.md). In place of phase 33 or 61 the
//! walk costs more than the search, of which later phases remember that nothing is dead.
//!
//! # Why not live sets
//! ```text
//! L: add i, i, 1;    // live by liveness: the next round reads it
//!    bra L;
//! ```
//! The source walks each block backward with a running live set. That never removes a cycle which feeds only itself,
//! and what it removes is still in the sets of the blocks before, so it has to be repeated once for each link of a chain
//! that runs against the blocks. Following [uses to definitions](needs) from the instructions that stay finds exactly
//! what is live *for a needed instruction*: it removes all that the walk removes, cycles too, in one go.
//!
//! # Tried and dropped
//! Marking by register (a register is needed, so all its definitions are), then live sets and walks until nothing is
//! found, 16 times at most: quadratic in the number of blocks (the whole job took 1,400 ns an instruction for a function
//! of 10,000 in 2,000 blocks, and takes 475 with the search), and not a fixpoint where the bound bites.

#[cfg(test)]
mod branch_tests;
mod branches;
mod carries;
pub mod needs;
mod simple;
#[cfg(test)]
mod sink_tests;
mod sinks;
#[cfg(test)]
mod tests;
mod volatile_loads;

pub use needs::Needs;
pub use simple::{SimpleScratch, find_dead_simply};
pub use sinks::find_unread_results;
use sinks::retain_upper_parts;

use bevy_ecs::prelude::*;
use branches::{Branches, TOO_DEEP};
use carries::{drop_carries, find_unread_carries};
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::ptx::writer::has_unnamed_locals;
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::{CUT_SHORT, ReachingValues};
use volatile_loads::{find_unread_loads, is_shared};

/// Phase 10.
pub const SIMPLE: Phase = Phase {
    name: "eliminate_dead_simple",
    breaks: Fact::OF_INSTRUCTIONS,
    install: |slot| slot.add(run_simple),
    ..Phase::NOTHING
};

/// Phases 16, 33 and 61, the full form: results that nothing reads stay.
pub const EARLY: Phase = Phase { name: "eliminate_dead_early", install: |slot| slot.add(run_early), ..FULL };

/// Phase 16 where SSA form and phase 33 follow: unreachable blocks, and what the walk of the simple form finds.
pub const QUICK: Phase = Phase {
    name: "eliminate_dead_quick",
    memo: Some(Memo::NothingUnread),
    install: |slot| slot.add(run_quick),
    ..FULL
};

/// Phases 84 and 92.
pub const FULL: Phase = Phase {
    name: "eliminate_dead",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    memo: Some(Memo::NothingDead),
    breaks: Fact::OF_EDGES,
    install: |slot| slot.add(run_full),
    ..Phase::NOTHING
};

/// Runs the simple form over the batch.
pub fn run_simple(mut editor: Editor, mut scratch: Local<SimpleScratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| walk(&mut f, &mut scratch));
}

/// Runs the quick form over the batch: blocks that nothing reaches, then the walk of the simple form.
pub fn run_quick(mut editor: Editor, mut scratch: Local<(Vec<BlockId>, SimpleScratch)>) {
    let (blocks, simple) = &mut *scratch;
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if f.remembers(Memo::NothingUnread) || f.remembers(Memo::NothingDead) {
            return;
        }
        if delete_unreachable(&mut f, blocks) {
            walk(&mut f, simple);
        }
    });
}

/// Deletes what a walk finds.
fn walk(f: &mut FunctionEditor<'_>, scratch: &mut SimpleScratch) {
    let has_no_copies = f.remembers(Memo::NothingToPropagate);
    find_dead_simply(&f.view(), scratch);
    let dead = &scratch.dead;
    if f.delete_each(dead, "no use in the function, or overwritten in the block before any use") < dead.len()
    {
        return;
    }
    f.remember(Memo::NothingUnread);
    if has_no_copies {
        // What is left reads what it read before.
        f.remember(Memo::NothingToPropagate);
    }
}

/// Deletes the blocks that nothing reaches; whether the bisect limit let it.
fn delete_unreachable(f: &mut FunctionEditor<'_>, blocks: &mut Vec<BlockId>) -> bool {
    find_unreachable(&f.view(), blocks);
    if !blocks.is_empty() {
        // They count as one change, since they may branch to one another.
        let offset = f.text().body.first;
        let Some(mut change) = f.change_in_place_at(offset, "unreachable block") else { return false };
        change.delete_blocks(blocks);
        f.refresh_edges();
    }
    true
}

/// Runs the full form over the batch. A function that nothing has changed since the last time costs a comparison.
pub fn run_full(mut editor: Editor, mut values: ResMut<ReachingValues>, mut scratch: Local<FullScratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        eliminate(&mut f, &mut values, &mut scratch, Unread::BecomesSink)
    });
}

/// The same, where results that nothing reads stay.
pub fn run_early(mut editor: Editor, mut values: ResMut<ReachingValues>, mut scratch: Local<FullScratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| eliminate(&mut f, &mut values, &mut scratch, Unread::Stays));
}

/// What is done about a result that nothing reads, of an instruction with another one that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Nothing: the instruction may be equal to another one. But what is unpacked once, for the lowest part, leaves sinks in place of
    /// the others.
    Stays,
    /// It becomes the sink `_`.
    BecomesSink,
}

/// Memory of the full form.
#[derive(Default)]
pub struct FullScratch {
    blocks: Vec<BlockId>,
    unread: Vec<(InstId, usize)>,
    unread_carries: Vec<InstId>,
    unread_loads: Vec<(InstId, usize)>,
    needs: Needs,
    branches: Branches,
}

/// What a search tells beside its lists.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    has_dead_branches: bool,
    /// Results that nothing reads stay, for a later phase.
    leaves_unread: bool,
}

/// Removes what is dead in one function, as far as the bisect limit allows.
pub fn eliminate(
    f: &mut FunctionEditor<'_>,
    values: &mut ReachingValues,
    scratch: &mut FullScratch,
    unread_results: Unread,
) {
    if f.remembers(Memo::NothingDead) {
        return;
    }
    let has_no_copies = f.remembers(Memo::NothingToPropagate);
    if !delete_unreachable(f, &mut scratch.blocks) {
        return;
    }
    let found = search(f, values, scratch, unread_results);
    if remove(f, scratch, found).is_none() || drop_locals(f).is_none() {
        return;
    }
    if !found.leaves_unread {
        f.remember(Memo::NothingDead);
    }
    let FullScratch { blocks, unread, unread_carries, .. } = scratch;
    let is_computed_alike = unread.is_empty() && unread_carries.is_empty();
    if has_no_copies && blocks.is_empty() && !found.has_dead_branches && is_computed_alike {
        // What is left reads what it read before, and computes what it computed.
        f.remember(Memo::NothingToPropagate);
    }
}

/// Finds what is needed, and lists what else there is to do.
fn search(
    f: &mut FunctionEditor<'_>,
    values: &mut ReachingValues,
    scratch: &mut FullScratch,
    unread_results: Unread,
) -> Found {
    let FullScratch { unread, unread_carries, unread_loads, needs, branches, .. } = scratch;
    let reaching = values.of(f);
    let (function, forms) = f.view_and_forms();
    needs.find(&function, reaching);
    let mut is_cut_short = needs.take_cut_short();
    let (mut has_dead_branches, mut is_too_deep) = (false, false);
    if branches.may_be_dead(&function, needs, reaching.tree().reverse_postorder()) {
        is_too_deep = !branches.find_control(f);
        if !is_too_deep {
            needs.find_by(&function, reaching, Some(&branches.control));
            is_cut_short |= needs.take_cut_short();
            has_dead_branches = branches.list_dead(&function, needs);
        }
    }
    find_unread_results(&function, forms, needs, reaching, unread);
    find_unread_carries(&function, forms, needs, reaching, unread_carries);
    find_unread_loads(&function, forms, needs, reaching, unread_loads);
    let all_unread = unread.len() + unread_loads.len();
    match unread_results {
        Unread::Stays => {
            retain_upper_parts(&function, forms, reaching, unread);
            unread_loads.clear();
        }
        Unread::BecomesSink => unread_loads.retain(|&(inst, position)| {
            let result = function.operands_of(inst)[position].vreg();
            result.is_some_and(|result| is_shared(&function, reaching, result))
        }),
    }
    let leaves_unread = unread_results == Unread::Stays && unread.len() < all_unread;
    for (_, limit) in
        [(is_cut_short, CUT_SHORT), (is_too_deep, TOO_DEEP)].into_iter().filter(|(is_hit, _)| *is_hit)
    {
        f.stats().limits_hit += 1;
        f.missed(f.text().body.first, limit);
    }
    Found { has_dead_branches, leaves_unread }
}

/// Does what the search has listed; nothing where the bisect limit is reached, or where the function has no room.
fn remove(f: &mut FunctionEditor<'_>, scratch: &FullScratch, found: Found) -> Option<()> {
    let FullScratch { unread, unread_carries, unread_loads, needs, branches, .. } = scratch;
    let dead = needs.unneeded();
    if found.has_dead_branches {
        branches.remove(f, dead)?;
    } else if f.delete_each(dead, "feeds nothing that has an effect") < dead.len() {
        return None;
    }
    drop_carries(f, unread_carries)?;
    change_results(f, unread, unread_loads)
}

/// Does not declare local variables again that nothing names; nothing where the bisect limit is reached.
fn drop_locals(f: &mut FunctionEditor<'_>) -> Option<()> {
    if !f.state().flags.contains(CodeFlags::DROPS_LOCALS) && has_unnamed_locals(&f.view()) {
        let offset = f.text().body.first;
        f.change_in_place_at(offset, "a local variable that nothing names")?;
        f.set_flags(CodeFlags::DROPS_LOCALS, true);
    }
    Some(())
}

/// Makes sinks of results, and gives those of loads registers of their own; nothing where the bisect limit is reached, or where the
/// function has no room.
fn change_results(
    f: &mut FunctionEditor<'_>,
    sinks: &[(InstId, usize)],
    loads: &[(InstId, usize)],
) -> Option<()> {
    for &(inst, position) in sinks {
        let mut change = f.change_in_place(inst, "nothing reads this one of several results")?;
        change.set_operand(inst, position, Operand::sink());
    }
    for &(inst, position) in loads {
        let result = f.operands_of(inst)[position].vreg()?;
        let offset = f.offset_of(inst);
        let reason = "a load that stays, whose register is written again";
        let mut change = f.change_with_room(offset, reason, Room { vregs: 1, ..Room::default() })?;
        let own = change.new_vreg_like(result);
        change.set_operand(inst, position, Operand::register(own));
    }
    Some(())
}

/// Blocks without a rank that are still there.
fn find_unreachable(function: &FunctionView<'_>, blocks: &mut Vec<BlockId>) {
    blocks.clear();
    blocks.extend(function.block_ids().filter(|block| {
        function.orders[block.index()].rpo == BlockOrder::UNREACHABLE
            && !function.blocks[block.index()].flags.contains(BlockFlags::DEAD)
    }));
}
