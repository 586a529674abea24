//! Global value numbering and the removal of common subexpressions: what is computed again goes.
//!
//! Source phase  49 GvnCse (copy-prop-and-cse, "Phase 49")
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        operands, moves, branches, blocks
//! Needs         SSA form; control-flow facts; instruction ids in program order
//! Leaves        no instruction whose results another one has computed that dominates it, but for moves to registers of another
//!               type and to variables, and for cheap ones far from it; no comparison that is the opposite of a known one, but for what phase 75 takes in; no
//!               branch that another branch decides which asks the same predicate since then; addresses that nothing reads any
//!               more
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          a walk over all instructions with a look-up in a hash table each; a bounded look back through memory a load; a
//!               walk over guarded instructions, and a list of definitions, where a branch asks a predicate again; a pass over
//!               all operands where a comparison is the opposite of another one, and two where a cheap value is far
//! Papers        Briggs, Cooper and Simpson 1997 (dominator-based value numbering)
//! Checked by    check/ssa.rs, check/operand_types.rs; values/gvn_cse/tests.rs on the emulator; the judge
//!
//! # How it works
//! Value numbers (`values/value_numbers`) say which instructions compute what is known. If the definition of the register that
//! holds it dominates the instruction, its readers read that register; if not, as in the other arm of an `if`, the
//! instruction holds the value from then on for what it dominates itself. So a value that no longer dominates anything is
//! forgotten when its part of the tree has been left, which is what the source calls draining a scope.
//!
//! ```text
//! mul.lo.s32 r3, r1, r2;
//! mul.lo.s32 r4, r2, r1;           // gone: r3 is read
//! st.global.u32 [rd1], r3;
//! ld.global.f32 f1, [rd1];         mov.b32 f1, r3;
//! @p add.s32 r5, r1, 7;            @p mov.b32 r5, r6;       // where r6 = r1 + 7
//! ```
//! Where all that happened is that readers read another register of the same type, copy propagation has nothing new to do
//! and is not asked again; a reader that has one register twice is.
//!
//! A cheap value stays where it is computed again, if that is a long way on and many registers live in between (`far.rs`).
//!
//! Stores that are overwritten in their block go with them, those too that only loads looked at which have just gone, and so do
//! stores to local variables at the end of the function.
//!
//! # Branches that ask again
//! ```text
//! setp.lt.u32 p1, r1, 32; @!p1 bra PANIC; ...
//! setp.lt.u32 p2, r1, 32; @!p2 bra PANIC;         // p2 is p1 now, and known: the branch goes
//! ```
//! Phase 38 has decided what it could before two predicates, or what they compare, were found to be one. Where a branch asks what
//! one on the way to it has asked, guards are settled once more. Checked languages without an optimizer make many of these.
//!
//! # Opposites
//! A comparison that is the opposite of a known one, as `a >= b` is of `a < b`, goes too: what reads it reads the other predicate,
//! negated (`negations.rs`). With a constant it may be the next one: `a > 31` is what `a < 32` is not.
//!
//! # Remainders of 64 bits
//! One whose quotient is computed, too, is what the product leaves (`remainders.rs`): the assembler divides once then, not twice.
//!
//! # Modes
//! The source has seven (knob 402), told apart by how far they look: [`Mode`]. Modes 3 to 6 number values around loops, too.
//! What the source calls their extended block scope is in all modes from 2 on: the part of the dominator tree. Its mode 4 is
//! mode 2 on targets without the enhanced scope; on such, 3, 5 and 6 do not exist.
//!
//! Knob 257 is asked at each instruction, and ends the work on the block there. A knob has one answer, so a true one is the
//! end of each block's work before it begins.
//!
//! # Each target for itself
//! Under `--faithful` the phase does on each target what the source does there ([`Settings::on`]): nothing below `sm_60` and
//! from `sm_80` to `sm_89`. Before its mode 2, it looks for extended basic blocks, trees of blocks with one predecessor each,
//! and takes no value from outside: on the newer targets, those with the enhanced scope, knob 210 has it go without.
//!
//! # Where this differs from the source
//! There the key of an instruction is an index made by the builder of definition chains, few opcodes take part, and most
//! targets have the phase switched off. Here every pure operation takes part, equality is that of operations, types and
//! value numbers, and the phase runs for every target, since one module serves many. Votes, shuffles, matches and reductions
//! of warps, which the source commons on some targets, are never commoned: each is done with the threads that are there, and
//! `.sync` forms meet others by qualifier and mask, perhaps other instructions, so that nothing less than the proof that just
//! the same threads come to both, together, would do. Uniform blocks are no such proof: they say that all threads of a warp
//! that are there go the same way, not which ones are.

#[cfg(test)]
mod address_tests;
#[cfg(test)]
mod alike_tests;
#[cfg(test)]
mod comparison_tests;
mod far;
#[cfg(test)]
mod frame_tests;
pub mod late;
mod negations;
#[cfg(test)]
mod remainder_tests;
mod remainders;
mod replace;
mod scope;
#[cfg(test)]
pub(crate) mod tests;

use super::value_numbers::ValueNumbers;
use crate::flow::conditions::{self, Conditions, Learns};
use crate::flow::guards;
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::reaching::{Reaching, ReachingValues};
use remainders::Remainders;
use replace::Redundancies;

/// Phase 49.
pub const PHASE: Phase = Phase {
    name: "gvn_cse",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_EDGES_AND_ORDER,
    // What SSA form has added counts, too: a small function may be near the limit when a phi more comes.
    room_percent: 30,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How far the phase looks for what has been computed before (knob 402).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Mode 0: nowhere.
    Off,
    /// Mode 1: in the same block.
    Block,
    /// In the same extended basic block. No mode of the knob: what its pass over such blocks leaves of mode 2.
    ExtendedBlock,
    /// Mode 2: in all blocks that dominate it.
    Dominators,
    /// There too, but only in and for blocks in which arms of branches are joined and those that these dominate. No mode of the knob: what
    /// phase 64 does.
    JoinedArms,
    /// Modes 3 to 6: in all blocks that dominate it, and values around loops are equal unless they are seen to differ.
    AroundLoops,
}

impl Mode {
    /// The mode of a number of the knob.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::Off,
            1 => Self::Block,
            2 => Self::Dominators,
            _ => Self::AroundLoops,
        }
    }
}

/// What of the phase runs.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How far it looks.
    pub mode: Mode,
    /// Knob 257: whether it stops at each instruction.
    pub stops_at_each: bool,
    /// Knob 210: whether there is no pass over extended basic blocks on targets with the enhanced scope.
    pub skips_extended_blocks: bool,
    /// Whether it does on each target what the source does there.
    pub is_faithful: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Dominators,
            stops_at_each: false,
            skips_extended_blocks: false,
            is_faithful: false,
        }
    }
}

/// The first target with the enhanced scope, and with an encoding above 0x7FFF: the thresholds of the source are its generation
/// in the upper four bits.
const ENHANCED_FROM: u32 = 80;

impl Settings {
    /// How far the phase looks in a module for `sm_` with this number.
    #[must_use]
    pub const fn on(self, sm: u32) -> Mode {
        if self.stops_at_each {
            return Mode::Off;
        }
        if !self.is_faithful {
            return self.mode;
        }
        let has_enhanced_scope = sm >= ENHANCED_FROM;
        match (sm, self.mode) {
            (0..60 | 80..90, _) => Mode::Off,
            (_, Mode::AroundLoops) if has_enhanced_scope => Mode::AroundLoops,
            (_, Mode::AroundLoops | Mode::Dominators) => {
                if has_enhanced_scope && self.skips_extended_blocks {
                    Mode::Dominators
                } else {
                    Mode::ExtendedBlock
                }
            }
            (_, mode) => mode,
        }
    }
}

/// Works on every function in SSA form.
pub fn run(
    mut editor: Editor,
    settings: Res<Settings>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        let mode = settings.on(f.text().sm);
        if mode != Mode::Off {
            // It ends early where the bisect limit is reached.
            let _ = number_and_replace(&mut f, mode, &mut values, &mut scratch);
        }
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    numbers: ValueNumbers,
    redundancies: Redundancies,
    remainders: Remainders,
    conditions: conditions::Memory,
}

/// Works on one function; gives nothing where the bisect limit is reached.
fn number_and_replace(
    f: &mut FunctionEditor<'_>,
    mode: Mode,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { numbers, redundancies, remainders, conditions } = scratch;
    let has_no_copies = f.remembers(Memo::NothingToPropagate);
    let reaching = values.of(f);
    let (function, forms) = f.view_and_forms();
    if mode == Mode::JoinedArms {
        let is_joined =
            |block: BlockId| function.blocks[block.index()].flags.contains(BlockFlags::ARMS_JOINED);
        let mut joined = None;
        numbers.find_in(&function, forms, reaching, |tree, block| {
            let is_below = joined.is_some_and(|joined| tree.dominates(joined, block));
            if !is_below && is_joined(block) {
                joined = Some(block);
            }
            is_below || is_joined(block)
        });
    } else {
        numbers.find(&function, forms, reaching, mode == Mode::AroundLoops);
    }
    let limit_hits = numbers.limit_hits();
    f.stats().limits_hit += limit_hits;
    let is_settled = redundancies.replace(f, numbers, reaching, mode)?;
    let asks_again = redundancies.asks_again(f, reaching.tree());
    let is_load = |inst| f.head(inst).is_live() && f.form_of(inst).effects.contains(Effects::READ);
    let overwritten = numbers.overwritten(is_load);
    let deleted = f.delete_each(overwritten, "a store that nothing looks at");
    if is_settled && has_no_copies {
        f.remember(Memo::NothingToPropagate);
    }
    if deleted < overwritten.len() {
        return None;
    }
    let (function, forms) = f.view_and_forms();
    let limit_hits = remainders.find(&function, forms, reaching);
    f.stats().limits_hit += limit_hits;
    // What was inserted ended the program order, by which conditions say what holds where.
    if asks_again && !f.state().flags.contains(CodeFlags::OUT_OF_ORDER) {
        let reaching = values.of(f);
        settle_guards(f, reaching, conditions)?;
    }
    remainders.replace(f)
}

/// Decides branches that ask a predicate again; it had another name where phase 38 looked.
fn settle_guards(
    f: &mut FunctionEditor<'_>,
    reaching: &mut Reaching,
    memory: &mut conditions::Memory,
) -> Option<()> {
    let mut conditions = Conditions::start(memory, reaching, &f.view(), Learns::Everything);
    let settled = guards::settle_all(f, &mut conditions);
    // A phi has no value where nothing comes from, whether or not all guards could be settled.
    settled.and(guards::delete_unreachable(f))
}
