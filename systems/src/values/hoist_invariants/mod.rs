//! Hoist invariants: what computes the same in each round of a loop is computed once, before it.
//!
//! Source phase  35 OriHoistInvariantsEarly, 66 OriHoistInvariantsLate, 79 OriHoistInvariantsLate2 (the sources give their names
//!               and places only; 88 OriHoistInvariantsLate3 would find what 79 has left)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow, Fact::Loops
//! Writes        places of instructions, blocks, branch targets, phis
//! Needs         control flow ends its block; the loop nest; instruction ids in program order
//! Leaves        no instruction that could stand before a loop and saves machine instructions there, but for those that no
//!               register is left for; nothing in a block before a loop that was not in the loop
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          nothing in functions without loops; in others a pass that lists definitions, where they are not known, one over
//!               the operands in loops, and where something may move, one over all operands; live sets where it would take
//!               registers
//! Papers        Allen and Cocke 1972, "A catalogue of optimizing transformations"; for the order, Click 1995, "Global code motion,
//!               global value numbering"
//! Checked by    check/ssa.rs, check/definitions.rs, check/edges.rs; runs on the emulator, in tests.rs; the judge
//!
//! # How it works
//! Blocks are visited in reverse postorder, so that definitions come before what reads them. An instruction is a
//! candidate (`candidates`) for the outermost loop in which none of its operands changes, where an operand that is a candidate
//! itself counts as standing before its own loop: what is invariant in a whole nest leaves it at once, and so does all that is
//! computed from it. Then it is chosen (`choice`) what is worth its registers, and candidates move in the order in which they were
//! found, each before its loop (`preheaders`).
//!
//! ```text
//!     @p bra DONE;                          @p bra DONE;
//! L:  ld.param.u32 r1, [width];             ld.param.u32 r1, [width];
//!     mul.lo.u32 r2, r1, r0;        ->      mul.lo.u32 r2, r1, r0;
//!     add.u32 r3, r2, i;                L:  add.u32 r3, r2, i;
//!     ...                                   ...
//!     @q bra L;                             @q bra L;
//! DONE:                                 DONE:
//! ```
//!
//! # Why it is right
//! A register with one definition holds the same from there on. The block before the loop dominates the loop, and the operands
//! have their values at its end: they are written outside of the loop, and stand before it wherever they are read in it; or
//! they are candidates, which were moved earlier. Threads that enter the loop execute it once, whether or not they would have
//! come to the instruction: so it must not (`candidates`) fault there, take effect or depend on who else executes it.
//! Stopping after any number of moves leaves right code.
//!
//! # Why it runs at -O3 only
//! `ptxas` 13.0 hoists about a dozen single instructions itself, and no division or root. On the corpus, hoisting changes the machine
//! code of 94 kernels: 24 take more registers and 16 fewer, and the loops that `ptxas` then unrolls make it longer. Nobody has
//! measured yet how much faster it runs.
//!
//! How far it goes is a compromise. Of 493 modules of front ends that nothing was fitted on `ptxas` makes kernels with 0.9964 of the registers
//! that it gives the originals. They were 1.0009 when single instructions moved up to 32 registers, not 24, and copies of parameters
//! were thought to come free; they are 0.9926 where nothing moves. The corpus issues 0.637 of its instructions
//! (`docs/ISSUED.md`), 0.636 before, and 0.642 where only what takes no register moves, and divisions.
//!
//! # When there is no place
//! Where a latch falls into the header, a block before the loop would cost a jump; `.uni` branches and branch tables that name the
//! header cannot be led elsewhere. Such a loop is passed over, and the next one inside it serves. A cycle with several
//! entries is no loop; where it lies in one, it is code like any other.
//!
//! # Outside of SSA form
//! Only registers with one definition that comes before each read move. The operands may have several, outside of the loop.

mod candidates;
mod choice;
mod costs;
mod levels;
mod preheaders;

use bevy_ecs::prelude::*;
use candidates::{Candidates, Look};
use choice::Choice;
use levels::Levels;
use preheaders::Preheaders;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::Id;
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::ReachingValues;

/// Phases 35, 66 and 79.
pub const PHASE: Phase = Phase {
    name: "hoist_invariants",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Loops],
    breaks: Fact::OF_EDGES_AND_ORDER,
    room_percent: 100,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.init_resource::<LoopNests>();
        slot.init_resource::<ReachingValues>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How many registers may live in a loop.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// 32-bit registers up to which single instructions are hoisted. The machine adds about eight of its own, and with
    /// 32 registers a thread all threads of an SM run at once.
    pub pressure: u32,
    /// 32-bit registers up to which sequences are hoisted. A register that goes to memory for one costs two instructions, and a
    /// division some twenty; what a thread may have is 255.
    pub pressure_costly: u32,
    /// Predicates up to which anything is hoisted. The machine has seven.
    pub predicates: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pressure: 24, pressure_costly: 192, predicates: 5 }
    }
}

/// Works on every function with loops.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    nests: Res<LoopNests>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let nest = nests.get(f.code()).filter(|nest| !nest.rows().is_empty());
        if let Some(nest) = nest {
            // It ends early where the bisect limit is reached.
            let _ = hoist(&mut f, *settings, nest, &mut values, &mut scratch);
        }
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    levels: Levels,
    candidates: Candidates,
    choice: Choice,
    preheaders: Preheaders,
    liveness: LivenessScratch,
    live_set: LiveSet,
}

/// Works on one function with loops; gives nothing where the bisect limit is reached.
fn hoist(
    f: &mut FunctionEditor<'_>,
    settings: Settings,
    nest: &LoopNest,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { levels, candidates, choice, preheaders, liveness, live_set } = scratch;
    let reaching = &*values.of(f);
    let (function, forms) = f.view_and_forms();
    levels.compute(&function, forms, nest, reaching.tree());
    let look = Look { function: &function, forms, nest, reaching, levels };
    candidates.find(look);
    choice.choose(look, settings, candidates, || {
        solve(&function, forms, liveness, live_set);
        live_set
    });
    say_what_stays(f, nest, levels, candidates, choice);
    preheaders.start(nest);
    for (number, candidate) in candidates.all.iter().enumerate() {
        if choice.takes(number) {
            preheaders.hoist(f, nest, candidate.target, candidate.inst)?;
        }
    }
    Some(())
}

/// Remarks on what could be hoisted and is not.
fn say_what_stays(
    f: &mut FunctionEditor<'_>,
    nest: &LoopNest,
    levels: &Levels,
    candidates: &Candidates,
    choice: &Choice,
) {
    f.stats().limits_hit += choice.refused.len() as u64;
    if !f.remarks_are_wanted() {
        return;
    }
    for &id in &candidates.closed {
        if let Err(reason) = levels.is_open(id) {
            let offset = f.view().labels[nest.row(id).header.index()].offset;
            f.missed(offset, reason);
        }
    }
    for &number in &choice.refused {
        let offset = f.view().places[candidates.all[number].inst.index()].offset;
        f.missed(offset, "the same in each round of a loop that holds as many values as it may");
    }
}
