//! Predication: short arms of a branch are computed always, and what they differ in is selected.
//!
//! Source phase  63 OriDoPredication (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        branches, blocks, phis, selections, guards of stores; marks blocks that arms are joined in, for phase 64
//! Needs         SSA form; control-flow facts; control flow ends its block
//! Leaves        no branch around an arm, or after another branch to the same block, that its limits allow to be computed always
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          a look at the ends of blocks; a few rows an arm; the phis of a block that two branches in a row lead to; once, all rows of a
//!               function where a join takes two predicates
//! Papers        Allen, Kennedy, Porterfield and Warren 1983 (if-conversion)
//! Checked by    check/ssa.rs, check/edges.rs, check/operand_types.rs; value_tests.rs; the judge
//!
//! # What it does
//! ```text
//!     @p bra L;                          add.s32 r3, r1, 1;
//!     add.s32 r3, r1, 1;                 mul.lo.s32 r4, r1, 3;
//!     bra M;                             selp.b32 r5, r4, r3, p;
//! L:  mul.lo.s32 r4, r1, 3;          M:  ...
//! M:  r5 = phi {A, r3}, {L, r4};
//!
//!     @p bra L;                          @!p st.global.u32 [rd1], r1;
//!     st.global.u32 [rd1], r1;
//! L:  ...
//! ```
//! Predicates have no selection, but where one of two is a literal, a logical operation does the same; what it reads is compared as
//! a rule, and phase 75 makes one instruction of the two:
//! ```text
//!     mov.pred p2, 0;
//!     @!p bra M;                         setp.lt.s32 p1, r1, 5;
//!     setp.lt.s32 p1, r1, 5;             and.pred p3, p, p1;
//! M:  p3 = phi {A, p2}, {B, p1};     M:  ...
//! ```
//! An arm is a block that only the branch leads to, and that leads to one block, the *join*. One of the two arms may be
//! missing. Inner branches come first, so that what is left of them may be an arm of an outer one. Of the arms that lead to one join each
//! round takes one; where the last round has taken some, that is counted and told.
//!
//! Two branches in a row, of which both lead to one block, become one that asks for both; phase 75 lets the second comparison combine its
//! result with the first one. What is left may be the head of an arm:
//! ```text
//!     @p bra L;                          setp.lt.s32 p1, r1, 5;
//!     setp.lt.s32 p1, r1, 5;             or.pred p2, p, p1;
//!     @p1 bra L;                         @p2 bra L;
//! ```
//! One cheap instruction may stand between the two, the comparison as a rule, and no store; the block of both must take the same from
//! both, and must not be the first block itself. Constants between count not at all, as in arms. Left alone, or done so far only:
//! - In a loop of several blocks that the first branch closes, the second condition is computed each time around. Three made kernels execute 656,
//!   132 and 596 warp instructions so, for 604, 212 and 620 (`ptxopt check -v`).
//! - Of a chain of conditions as many become one as the limit allows, and what has become one counts: `a || b || c` is `a`, then `b || c`.
//!
//! # What may stand in an arm
//! Computations that may run where they did not run before, and that are cheap: no division, root or transcendental function,
//! nothing on doubles. A product and a sum that reads it count as the one instruction that phase 75 makes of them, and so do a comparison
//! and logic with its result. Constants and addresses of variables count not at all: a selection takes the ones as they are, and the others
//! are common to the arms of many branches, as a rule. Plain stores, which get the guard of their arm: they are done by
//! the threads that did them.
//!
//! Nothing that other threads take part in, no load, no call, no volatile access, nothing under a guard of its own; and no
//! result that is a variable. A branch that promises by `.uni` that all threads go one way stays.
//!
//! # The cost rule, measured
//! On kernels with chains of `mad` in one arm and in two, `ptxas` 13.0 at -O3 makes machine code of the same size with
//! and without this phase for arms of up to eight instructions, and six where there are two arms: it predicates such arms
//! itself. From five instructions an arm on, it needs one or two registers more if the phase has done it. So the limit is
//! four, of which more would only cost: the gain is for those who run the PTX otherwise, and in what the phases after this one
//! find in one block. What it adds is never more than what goes: not more selections than branches and jumps, and two of them at
//! most.
//!
//! Two branches become one where `ptxas` 13.0.88 at -O3 makes less of it: of 60 unoptimized kernels made at random, 25,506 machine instructions
//! for 26,061, with 1.014 times the registers; of the 36 modules of corpus and wild set that change, 36 instructions less, two kernels
//! with fewer registers and none with more (`--bin compared`). With two instructions between, 51 modules change, and three kernels take more registers, 20
//! for 15 the worst of them. With a selection for what the two blocks bring along, 113 change, and 31 kernels take over 5 % more. With
//! comparisons of doubles 1.6 % of the unoptimized code goes, but registers are 0.1 % more, and one kernel of the corpus goes from 38 to 40.
//!
//! Blocks that phase 38 has left to fall into each other are one first: of the 17 modules of corpus and wild set that change by it, 70 machine
//! instructions less, five kernels with fewer registers, and one with more.
//!
//! # Tried and dropped
//! Guards for the arms that are left once SSA form is gone, doubles and loads among them, would take 1,302 branches around one
//! instruction out of the 826,000 of the wild set, and 4,179 around up to three, as a script counted that put them into the text
//! of -O2. Of the modules that have some, `ptxas` -O3 makes 0.2 % more machine instructions in both cases (`--bin compared`): a
//! branch is cheaper than the selection of a double. With up to three instructions registers are 1.016 times as many, in the
//! geometric mean.
//!
//! To let the `.loc` lines of an arm go along with its guarded stores: a line with `inlined_at` must follow the line of its call, which may
//! stand between the branch and an arm further down. So a store stands before its line, which stays.

mod arms;
mod convert;
mod pair;
mod region;

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::instruction::Marks as RowMarks;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;

use pair::Pair;
use region::{Branch, Memory, Region};

/// Phase 63.
pub const PHASE: Phase = Phase {
    name: "predicate",
    needs: &[Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_EDGES_AND_ORDER,
    room_percent: 10,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How much is predicated.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most instructions of an arm, without its branch, constants, and products that a sum takes in.
    pub arm_insts_max: usize,
    /// Most values that a join takes from the arms.
    pub selections_max: usize,
    /// Most instructions between two branches that become one, counted as those of an arm.
    pub between_insts_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { arm_insts_max: 4, selections_max: 2, between_insts_max: 1 }
    }
}

/// Rounds over a function: what is left of inner branches may be an arm of an outer one, and of the arms that lead to one join a
/// round takes the last.
const ROUNDS_MAX: usize = 8;

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, settings: Res<Settings>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| predicate(&mut f, *settings, &mut scratch));
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    marks: Marks,
    memory: Memory,
}

/// What a round knows of blocks.
#[derive(Default)]
struct Marks {
    /// By block: whether the round has changed it.
    is_changed: Vec<bool>,
    /// By block: whether an anchor keeps it.
    is_pinned: Vec<bool>,
}

impl Marks {
    /// Forgets the round before.
    fn start(&mut self, f: &FunctionEditor<'_>) {
        let function = f.view();
        self.is_changed.clear();
        self.is_changed.resize(function.blocks.len(), false);
        self.is_pinned.clear();
        self.is_pinned.resize(function.blocks.len(), false);
        for anchor in function.anchors {
            self.is_pinned[anchor.block.index()] |= anchor.pins_block();
        }
    }
}

/// Works on one function.
pub fn predicate(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch) {
    scratch.memory.literals.start();
    if merge_what_falls(f, &mut scratch.marks) {
        f.refresh_edges();
    }
    let mut joins_arms = false;
    for _ in 0..ROUNDS_MAX {
        let Some(joins_some) = round(f, settings, scratch) else { return };
        f.refresh_edges();
        joins_arms |= joins_some;
        if joins_arms {
            f.remember(Memo::ArmsAreJoined);
        }
    }
    f.stats().limits_hit += 1;
    f.missed(f.text().body.first, "the last round has joined arms: more rounds might join more");
}

/// Merges blocks with the only ones that lead to them, where these fall through: phase 38 leaves such, and of a pair of branches the second one
/// stands in one block with what is computed for it. Says whether there were any.
fn merge_what_falls(f: &mut FunctionEditor<'_>, marks: &mut Marks) -> bool {
    marks.start(f);
    let ends = |last: InstId| f.head(last).marks.contains(RowMarks::CONTROL);
    let joins = |block: BlockId| {
        let next = f.next_in_text(block)?;
        let falls = !f.insts_of(block).next_back().is_some_and(ends);
        let is_sole =
            falls && !marks.is_pinned[next.index()] && matches!(f.preds(next), &[pred] if pred == block);
        let first = f.insts_of(next).next().filter(|&first| is_sole && !f.head(first).is_phi())?;
        Some((next, first))
    };
    // In the order of the text: each joins what has joined before, and none moves twice.
    let joining: Vec<_> = f.view().block_ids().filter_map(joins).collect();
    for &(block, first) in &joining {
        let Some(mut change) = f.change(first, "block with one predecessor, which stands before it") else {
            return true;
        };
        change.merge(block);
    }
    !joining.is_empty()
}

/// Looks at each block once, with the edges of before. Where something has changed, says whether arms were joined: what pairs of branches
/// leave is no work for phase 64.
fn round(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch) -> Option<bool> {
    let Scratch { marks, memory } = scratch;
    marks.start(f);
    let (mut has_changed, mut joins_arms) = (false, false);
    // In the text, inner branches stand after those around them.
    for head in f.view().block_ids().rev() {
        let Some(branch) = Branch::of(f, head) else { continue };
        if let Some(pair) = Pair::of(f, (head, branch), settings, marks, memory) {
            if pair.convert(f).is_some() {
                pair.blocks().into_iter().for_each(|block| marks.is_changed[block.index()] = true);
                has_changed = true;
            }
            continue;
        }
        let Some(region) = Region::of(f, (head, branch), settings, marks, memory) else { continue };
        // There may be room for another one, or none at all past the bisect limit.
        if region.convert(f, marks.is_pinned[region.join.index()]).is_some() {
            region.blocks().for_each(|block| marks.is_changed[block.index()] = true);
            (has_changed, joins_arms) = (true, true);
        }
    }
    has_changed.then_some(joins_arms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::gvn_cse;
    use crate::values::gvn_cse::tests::check;

    /// Kernels with branches around short and long arms, with stores among them, on the emulator; alone and with the phase that
    /// runs after it.
    #[test]
    fn what_is_computed_always_is_selected() {
        let (without, with) = check(&[&PHASE], 1000..1150);
        assert!(without >= with + 15, "{without} without, {with} with");
        let (without, with) = check(&[&PHASE, &gvn_cse::PHASE], 2000..2150);
        assert!(without > with + 1238, "{without} without, {with} with");
    }
}
