//! Sink: what is computed for some of the ways on is computed on those only.
//!
//! Source phase  28 SinkRemat, its first half ("Rematerialization", "Phase 28", stage 1), in the place of 54 OriDoRematEarly
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow, Fact::Loops, Fact::Definitions
//! Writes        places of instructions
//! Needs         SSA form; control-flow facts; the loop nest; instruction ids in program order
//! Leaves        no computation above a branch or in a loop whose results are read past it only, but for those that would keep
//!               more registers than they free
//! Breaks        liveness, uniformity, definitions, program order
//! Cost          a pass over the operands, with a nearest common dominator for most; live sets where something may move
//! Papers        Knoop, Ruething and Steffen 1994, "Partial dead code elimination"; for the places, Click 1995, "Global code
//!               motion, global value numbering"
//! Checked by    check/ssa.rs, check/definitions.rs; its tests on the emulator; the judge
//!
//! # How it works
//! ```text
//! mul.lo.s32 r3, r1, r2;             @p bra L;
//! add.s32 r4, r3, 1;                 mul.lo.s32 r3, r1, r2;
//! @p bra L;                   ->     add.s32 r4, r3, 1;
//! st.global.u32 [a], r4;             st.global.u32 [a], r4;
//! L: ...                             L: ...
//! ```
//! Blocks are walked in postorder and each of them backward, so that all who read a value have their places before what computes it
//! is looked at; and so a chain sinks whole. The place is the nearest block that dominates all that read the result, or the first
//! above it that is in no loop which the computation was not in.
//!
//! # What is gained
//! The place is executed less often: one arm of a branch lies on the way to it, or the way leaves a loop. Or a call lies between,
//! which the value no longer has to survive. `ptxas` sinks one simple instruction into an arm by itself, but no
//! product, no function of the special unit and no chain of these, and nothing over a call or out of a loop
//! (`docs/LIVE_RANGES.md` has the table). Where neither is so, the instruction stays: within straight code the assembler finds its own
//! order.
//!
//! # Why at -O3 alone
//! Compilers sink most before they write PTX. On the wild set it changes every fourth module, and the registers of four kernels in
//! 70 of those: three for the better. The page has the numbers.
//!
//! # Why so late
//! Phase 28 of the source comes before GvnCse. What two arms read would be computed in both by then, or above one of them, and
//! nothing would find it again: the registers of kernels rose. Phase 54, a bare mark of progress in the source, comes after.
//!
//! # Why it never runs more often
//! The place is dominated by the old one. Who comes to it twice without passing the old one goes round a loop
//! that has the one and not the other, and that is asked. Cycles with several entries have no header to ask about: in them nothing
//! is placed.
//!
//! # What stays
//! - What may not move (`movable`), and what is no instruction of the machine.
//! - What a phi reads. Its register is that of the phi where SSA form is left: elsewhere it would be copied.
//! - What would keep more registers than it frees. An operand that nothing else keeps up to the place is one that it keeps:
//!   ```text
//!   add.s32 r4, r1, r2;  @p bra L;  st.global.u32 [a], r4;    // r1 and r2 would live on instead of r4
//!   ```
//!   And one that belongs to a phi is kept by a copy, where the phi has another value by then.

mod walk;

#[cfg(test)]
mod tests;

use ahash::AHashMap;
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, InstId, Maybe};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::dominator_tree::Ancestors;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::values::phis::phis_of;
use ptxopt_engine::values::reaching::ReachingValues;
use walk::{Look, Walk};

/// Phase 54.
pub const PHASE: Phase = Phase {
    name: "sink",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow, Fact::Loops],
    in_ssa: true,
    breaks: Fact::OF_INSTRUCTIONS_AND_ORDER,
    room_percent: 10,
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.init_resource::<ReachingValues>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Works on every function in SSA form.
pub fn run(
    mut editor: Editor,
    nests: Res<LoopNests>,
    mut values: ResMut<ReachingValues>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        let Some(nest) = nests.get(f.code()) else { return };
        // Without a branch and without a call, every place is as good as any other.
        let (function, forms) = f.view_and_forms();
        let calls = |(_, head, _): (_, &InstHead, _)| forms.get(head.form).effects.contains(Effects::CALL);
        if function.blocks.len() > 1 || function.rows().any(calls) {
            // It ends early where the bisect limit is reached.
            let _ = sink(&mut f, nest, &mut values, &mut scratch);
        }
    });
}

/// A place in a block, for what is computed there for all who read it from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    block: BlockId,
    part: Part,
}

/// Parts of a block: its calls cut it. They are sorted from the last to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    /// Before what ends the block.
    End,
    /// At the start of what so many calls of the block come after.
    BeforeCalls(u32),
}

impl Part {
    /// Calls of the block that come after it.
    const fn calls(self) -> u32 {
        match self {
            Self::End => 0,
            Self::BeforeCalls(count) => count,
        }
    }
}

/// An instruction that sinks.
#[derive(Clone, Copy)]
struct Move {
    inst: InstId,
    to: Place,
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    walk: Walk,
    ancestors: Ancestors,
    liveness: LivenessScratch,
    live_set: LiveSet,
    /// By block: the first of what was put at its end.
    ends: AHashMap<BlockId, InstId>,
    /// By block: its last phi.
    phis: AHashMap<BlockId, Maybe<InstId>>,
}

/// Works on one function; gives nothing where the bisect limit is reached.
fn sink(
    f: &mut FunctionEditor<'_>,
    nest: &LoopNest,
    values: &mut ReachingValues,
    scratch: &mut Scratch,
) -> Option<()> {
    let Scratch { walk, ancestors, liveness, live_set, ends, phis } = scratch;
    let reaching = &*values.of(f);
    let (function, forms) = f.view_and_forms();
    ancestors.compute(&function, reaching.tree());
    let look = Look { function: &function, forms, nest, reaching, tree: reaching.tree(), ancestors };
    walk.find(look, || {
        solve(&function, forms, liveness, live_set);
        live_set
    });
    let limit_hits = std::mem::take(&mut walk.limit_hits);
    if limit_hits > 0 {
        f.stats().limits_hit += limit_hits;
        f.missed(f.text().body.first, "too far between a value and who reads it, or too many that live");
    }
    ends.clear();
    phis.clear();
    for &Move { inst, to } in &walk.moves {
        let before = match to.part {
            Part::End => ends.get(&to.block).copied().or_else(|| f.view().control_of(to.block)),
            Part::BeforeCalls(_) => {
                let function = f.view();
                let last_phi =
                    || phis_of(&function, to.block).last().map_or(Maybe::NONE, |(phi, _)| Maybe::some(phi));
                let call = walk.before_part.get(&to).copied();
                let last = call.or_else(|| phis.entry(to.block).or_insert_with(last_phi).get());
                match last {
                    Some(last) => function.row_after(last),
                    None => function.all_rows_of(to.block).next(),
                }
            }
        };
        let mut change = f.change(inst, "only those read it who come here")?;
        match before {
            Some(before) => change.move_before(inst, before),
            None => change.move_to_end(inst, to.block),
        }
        if to.part == Part::End {
            ends.insert(to.block, inst);
        }
    }
    Some(())
}
