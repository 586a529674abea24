//! Split high-pressure ranges: what was loaded before a loop that has too few registers, and is read after it only, is loaded again
//! there.
//!
//! Source phase  138 OriSplitHighPressureLiveRanges (liveness, "Relationship to Phase 138"), which runs here before the final
//!               inspection
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        instructions, registers of operands
//! Needs         control flow ends its block; no SSA form. Functions whose instruction ids are not in program order stay: to make
//!               rows dense for every function costs more than the phase
//! Leaves        every function as it was that its forecast says fits the registers which it may take
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a look at blocks and registers; where a kernel with loops has more registers than it may take, a pass over the
//!               instructions; where one of them could be made again, what the estimator costs, and live sets
//! Papers        Briggs, Cooper and Torczon 1992, "Rematerialization", for loads of memory that nothing writes
//! Checked by    check/definitions.rs, check/in_flight.rs; the symbolic checker in ranges/tests; the judge
//!
//! # How it works
//! ```text
//!     ld.global.nc.f32 f1, [rd1];              ...
//! L:  ...          // does not read f1    L:  ...
//!     @p bra L;                       ->      @p bra L;
//!     add.f32 f2, f2, f1;                     ld.global.nc.f32 f9, [rd1];
//!                                             add.f32 f2, f2, f9;
//! ```
//! The range of `f1` is split at the loop, and what lies between is kept where it came from. Where nothing else reads `f1`, its
//! definition goes: the function has as many instructions as before. Elsewhere it grows, and that is done only as far as other phases
//! have made it shorter: a function that comes out longer than it came in is given back as it was. Each loop gives up as many registers as its
//! [forecast](crate::registers) exceeds what the kernel may take (`.maxnreg`, `.maxntid` with `.minnctapersm`, knob
//! `RegisterBudget`), and no more; loads of constant memory first.
//!
//! # Why such loads alone
//! A split pays only where the assembler keeps it. It takes copies out, and constants, addresses of symbols and parameters are
//! operands of its instructions, wherever PTX makes them; what computes from registers is made again by the phases before. A
//! load stays where it is. `docs/LIVE_RANGES.md` has the figures.
//!
//! # Why it is right
//! The definition dominates the place, the operands have there the values that they had at the definition, and every read of the
//! register sees that definition. Nothing writes `.const`; what is read with `.nc` is not written as long as the kernel runs, and
//! here, on top, nothing on any way between the two places writes memory, waits, or orders accesses: a kernel that
//! does not keep its promise reads what it read. All threads that come to the place have executed the definition, with the same
//! address: no fault is new.
//!
//! # What stays
//! - A load whose address would have to live through the loop for it, unless two instructions compute that again from what does.
//! - What some read needs that the loop leads to without the place, around an outer loop:
//!   ```text
//!   M:  add.f32 f2, f2, f1;      // f1 lives through L in any case
//!   L:  ...  @p bra L;
//!       add.f32 f3, f3, f1;  @q bra M;
//!   ```
//! - What several exits of a loop lead to different reads of; what a second loop alone would load in each round is loaded
//!   before that.
//! - Results of vector loads: one load would be several.

use super::again::{Finder, Look};
use super::chains::{self, Again, BESIDE};
use crate::registers::{
    Callees, Estimator, REGISTERS_MAX, Settings, budget_of, forecast, has_more_slots, promises_of,
};
use ahash::AHashSet;
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{LoopId, VRegId};
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::ReachingValues;

/// Phase 138.
pub const PHASE: Phase = Phase {
    name: "split_high_pressure",
    needs: &[Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 12,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.init_resource::<ReachingValues>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Works on every kernel that is not in SSA form.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON | CodeFlags::ENTRY, |mut f| {
        work(&mut f, *settings, &mut values, &mut scratch)
    });
}

/// Works on one kernel.
pub fn work(
    f: &mut FunctionEditor<'_>,
    settings: Settings,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) {
    let budget = budget_of(&f.view(), settings);
    if may_exceed(&f.view(), budget) && scratch.finder.list_loads(&f.view_and_forms()) {
        if !f.fact_holds(Fact::ProgramOrder) {
            f.missed(f.text().body.first, "the instructions are not in the order of their numbers");
            return;
        }
        // It ends early where the bisect limit is reached.
        let _ = split(f, budget, values, scratch);
    }
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    nest: LoopNest,
    nests: NestScratch,
    estimator: Estimator,
    finder: Finder,
    liveness: LivenessScratch,
    live_set: LiveSet,
}

/// A register whose range may be split at a loop.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub vreg: VRegId,
    /// What makes it again, for the reads after the loop.
    pub again: Again,
    /// Registers that live at the spot and must go on to.
    pub sources: Vec<VRegId>,
    /// Nothing else reads it.
    pub is_all: bool,
    pub slots: u32,
    /// By number of the loops with too few registers: those through which it lives no longer.
    pub loops: Vec<usize>,
}

/// Whether a function has loops, and registers of more slots than it may take.
fn may_exceed(function: &FunctionView<'_>, budget: u32) -> bool {
    // A kernel that may take all registers hardly ever has too few, and the estimator costs more than the phase.
    budget < REGISTERS_MAX
        && !function.state.flags.contains(CodeFlags::SSA)
        && function.blocks.iter().any(|block| block.flags.contains(BlockFlags::LOOP_HEADER))
        && has_more_slots(function, budget)
}

/// Works on a kernel that may have too few registers; gives nothing where the bisect limit is reached.
fn split(
    f: &mut FunctionEditor<'_>,
    budget: u32,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { nest, nests, estimator, finder, liveness, live_set } = scratch;
    let function = f.view();
    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
    build_nest(graph, function.blocks, function.orders, nests, nest);
    let (function, forms) = f.view_and_forms();
    let features = estimator.look_at(&function, forms, nest);
    let promises = promises_of(&function);
    let found = forecast(&features, Callees::default(), function.text.sm, promises, Some(budget));
    if found.spills == 0 || features.sets_limit {
        return Some(());
    }
    let (over, mut excesses): (Vec<_>, Vec<_>) = excesses(nest, estimator, budget).unzip();
    if over.is_empty() {
        return Some(());
    }
    let reaching = values.of(f);
    let (function, forms) = f.view_and_forms();
    solve(&function, forms, liveness, live_set);
    let look = Look { function: &function, forms, nest, live: live_set, estimator };
    if finder.find(&look, &over, reaching) {
        f.stats().limits_hit += 1;
        f.missed(f.text().body.first, "too many blocks lie between loads and their reads");
    }
    split_found(f, &finder.found, &mut excesses)
}

/// Loops with too few registers, and how many slots each lacks.
fn excesses(nest: &LoopNest, estimator: &Estimator, budget: u32) -> impl Iterator<Item = (LoopId, u32)> {
    nest.ids().filter_map(move |id| {
        let need = nest.blocks(id).iter().filter_map(|&block| estimator.need_of(block)).max().unwrap_or(0);
        let excess = (need + BESIDE).saturating_sub(budget);
        (excess > 0).then_some((id, excess))
    })
}

/// Splits ranges until each loop has the slots that it lacks, of which `excesses` has the number.
fn split_found(f: &mut FunctionEditor<'_>, found: &[Split], excesses: &mut [u32]) -> Option<()> {
    let (mut held, mut gone): (AHashSet<VRegId>, AHashSet<VRegId>) = Default::default();
    // A function that came out longer than it came in would be given back as it was.
    let mut spare = f.text().insts_in.saturating_sub(f.state().live_insts);
    for split in found {
        let is_needed = split.loops.iter().any(|&number| excesses[number] > 0);
        let is_free =
            !held.contains(&split.vreg) && !split.sources.iter().any(|source| gone.contains(source));
        if !is_needed || !is_free {
            continue;
        }
        let growth = split.again.insts.len() as u32 - u32::from(split.is_all);
        if growth > spare {
            let at = f.offset_of(split.again.definition);
            f.missed(at, "loading it again would make the function longer than it came in");
            continue;
        }
        spare -= growth;
        apply(f, split)?;
        held.extend(&split.sources);
        gone.insert(split.vreg);
        for &number in &split.loops {
            excesses[number] = excesses[number].saturating_sub(split.slots);
        }
    }
    Some(())
}

/// Makes a value again after a loop, for the reads there.
fn apply(f: &mut FunctionEditor<'_>, split: &Split) -> Option<()> {
    let reason = "loaded again after a loop that has too few registers";
    let mut change = chains::apply(f, &split.again, reason)?;
    if split.is_all {
        change.delete(split.again.definition);
    }
    Some(())
}
