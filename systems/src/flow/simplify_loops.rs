//! Simplify loops: a preheader and one latch for each natural loop, where that costs no instruction.
//!
//! Source phase  18 OriLoopSimplification, its part LoopMakeSingleEntry (basic-blocks-and-cfg, "LoopMakeSingleEntry
//!               Transformation")
//! Reads         Blocks, Insts, Fact::Loops
//! Writes        blocks, branch targets
//! Needs         control flow ends its block; the loop nest
//! Leaves        each loop that it has worked on has a preheader, and one latch
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions
//! Cost          blocks and edges of headers, and the function's blocks numbered again where something changes
//! Checked by    check/edges.rs, check/control_flow.rs, check/terminators.rs
//!
//! # When it runs
//! Knob 487 asks for it. A block that no phase puts anything into is a label in the text and nothing else, so it is not
//! made for its own sake; and nothing made here is an instruction, so nothing has to be taken back where no phase used
//! it. See `docs/decisions/0004-preheaders-cost-nothing.md`.
//!
//! # The two code paths
//! A jump that is all of its block already is a preheader or a latch: the targets of the other branches are rewritten to
//! it. Otherwise a block is made:
//! ```text
//! preheader                                 latch
//!        @p bra H;          @p bra P;       H: ...              H: ...
//!        ...                ...                @p bra H;           @p bra L;
//! H:     ...             P:                    ...                 ...
//!                        H: ...                bra H;           L: bra H;
//! ```
//! The preheader stands right before the header, so that what fell into the header falls through it; the latch is split
//! off the last jump back, which all others lead to.
//!
//! # What is left alone
//! - A cycle with several entries is no natural loop: a remark says so.
//! - A loop into whose header a latch falls: a block before the header would lie inside the loop, and a jump around it
//!   would be an instruction.
//! - Latches of which none ends in an unguarded jump: the block for them would need one.
//! - A header or a latch that a branch table lists.
//! - A redirected branch loses `.uni`, so a loop with such a branch to be redirected is left alone.

use super::loop_entries::LoopEntries;
use bevy_ecs::prelude::*;
use bumpalo::Bump;
use bumpalo::collections::{CollectIn, Vec};
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::arena::Arena;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 18.
pub const PHASE: Phase = Phase {
    name: "simplify_loops",
    // Two blocks a loop, and a loop has at least one.
    room_percent: 200,
    needs: &[Fact::Loops],
    breaks: Fact::OF_EDGES,
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Works on the loops of every function.
pub fn run(mut editor: Editor, nests: Res<LoopNests>, mut arena: Arena) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let Some(nest) = nests.get(f.code()) else { return };
        let (function, forms) = f.view_and_forms();
        let arena = arena.fresh();
        let plans = plan(&function, nest, forms, arena);
        let missed: Vec<'_, (u32, &'static str)> = irreducible(&function, nest).collect_in(arena);
        for (offset, reason) in missed {
            f.missed(offset, reason);
        }
        apply(&mut f, &plans);
    });
}

/// The cycles with several entries, as remarks.
fn irreducible(function: &FunctionView<'_>, nest: &LoopNest) -> impl Iterator<Item = (u32, &'static str)> {
    let labels = function.labels;
    nest.irreducible_regions().map(move |region| {
        (labels[region[0].index()].offset, "a cycle with several entries is no natural loop")
    })
}

/// Where branches are to lead.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A block that is there.
    Block(BlockId),
    /// A new block before the header.
    BeforeHeader,
    /// A new block that begins with this jump.
    SplitOff(InstId),
}

/// Branches, and where they are to lead; nothing where all is well; or why it cannot be done.
type Redirected<'b> = Result<Option<(Vec<'b, InstId>, Target)>, &'static str>;

/// What is to be done about one loop.
struct LoopPlan<'b> {
    header: BlockId,
    /// Branches from outside, and where they lead from then on.
    entries: Redirected<'b>,
    /// Branches back, and where they lead from then on.
    latches: Redirected<'b>,
    offset: u32,
}

/// What is to be done about each loop, by header.
fn plan<'b>(
    function: &FunctionView<'_>,
    nest: &LoopNest,
    forms: &FormTable,
    arena: &'b Bump,
) -> Vec<'b, LoopPlan<'b>> {
    let mut plans = Vec::new_in(arena);
    for row in nest.rows() {
        let header = row.header;
        let id = nest.loop_of(header).expect("a header lies in its loop");
        let is_reachable = |block: &&BlockId| function.orders[block.index()].is_reachable();
        let mut preds: Vec<'_, BlockId> =
            function.preds(header).iter().filter(is_reachable).copied().collect_in(arena);
        preds.sort_unstable();
        preds.dedup();
        let (mut inside, mut outside) = (Vec::new_in(arena), Vec::new_in(arena));
        for pred in preds {
            if nest.holds(id, pred) { &mut inside } else { &mut outside }.push(pred);
        }
        let graph = Around { ways: LoopEntries { function, forms, header }, arena };
        plans.push(LoopPlan {
            header,
            entries: if row.preheader.is_none() { graph.entries(&outside, &inside) } else { Ok(None) },
            latches: if inside.len() > 1 { graph.latches(&inside) } else { Ok(None) },
            offset: function.labels[header.index()].offset,
        });
    }
    plans.sort_unstable_by_key(|plan| plan.header);
    plans
}

/// What leads to a header.
struct Around<'a, 'b> {
    ways: LoopEntries<'a>,
    arena: &'b Bump,
}

impl<'b> Around<'_, 'b> {
    /// Whether nothing but an unguarded jump to the header lies in a block.
    fn is_bare_jump(&self, block: BlockId) -> bool {
        let anchors = self.ways.function.anchors;
        let next = anchors.partition_point(|anchor| anchor.block < block);
        let has_anchor = anchors.get(next).is_some_and(|anchor| anchor.block == block);
        !has_anchor && self.ways.function.insts_of(block).count() == 1 && self.ways.jump(block).is_some()
    }

    /// The branches of `blocks` to the header.
    fn branches(&self, blocks: impl Iterator<Item = BlockId>) -> Result<Vec<'b, InstId>, &'static str> {
        let mut branches = Vec::new_in(self.arena);
        for block in blocks {
            branches.extend(self.ways.branch(block)?);
        }
        Ok(branches)
    }

    fn entries(&self, outside: &[BlockId], inside: &[BlockId]) -> Redirected<'b> {
        if let Some(&existing) = outside.iter().find(|&&block| self.is_bare_jump(block)) {
            // Nothing but the jump is executed on this way, so all others may take it.
            let falls = outside.iter().any(|&block| block != existing && self.ways.falls_into_header(block));
            if !falls {
                let others = outside.iter().copied().filter(|&block| block != existing);
                return Ok(Some((self.branches(others)?, Target::Block(existing))));
            }
        }
        if inside.iter().any(|&latch| self.ways.falls_into_header(latch)) {
            return Err("a latch falls into the header of the loop: a preheader would cost a jump");
        }
        Ok(Some((self.branches(outside.iter().copied())?, Target::BeforeHeader)))
    }

    fn latches(&self, inside: &[BlockId]) -> Redirected<'b> {
        if inside.iter().any(|&latch| self.ways.falls_into_header(latch)) {
            return Err("a latch falls into the header of the loop: one latch would cost a jump");
        }
        let is_bare = |&&block: &&BlockId| block != self.ways.header && self.is_bare_jump(block);
        if let Some(&existing) = inside.iter().find(is_bare) {
            let others = inside.iter().copied().filter(|&block| block != existing);
            return Ok(Some((self.branches(others)?, Target::Block(existing))));
        }
        let jumps = |&&block: &&BlockId| {
            self.ways.jump(block).is_some() && self.ways.function.insts_of(block).count() > 1
        };
        let Some(&last) = inside.iter().rev().find(jumps) else {
            return Err("no latch of the loop ends in a jump: one latch would cost one");
        };
        let others = inside.iter().copied().filter(|&block| block != last);
        let jump = self.ways.jump(last).expect("just looked at");
        Ok(Some((self.branches(others)?, Target::SplitOff(jump))))
    }
}

/// Makes the changes.
fn apply(f: &mut FunctionEditor<'_>, plans: &[LoopPlan<'_>]) {
    for plan in plans {
        for (part, reason) in [(&plan.entries, "preheader"), (&plan.latches, "one latch for several")] {
            let (branches, target) = match part {
                Ok(Some(part)) => part,
                Ok(None) => continue,
                Err(reason) => {
                    f.missed(plan.offset, reason);
                    continue;
                }
            };
            let before_jump = match *target {
                Target::SplitOff(jump) => f.view().row_before(jump),
                _ => None,
            };
            let blocks = u32::from(!matches!(target, Target::Block(_)));
            let room = Room { blocks, ..Room::default() };
            if f.room().blocks < blocks {
                f.stats().limits_hit += 1;
                f.missed(plan.offset, "the function has no room for another block");
                continue;
            }
            let Some(mut change) = f.change_with_room(plan.offset, reason, room) else { return };
            let target = match (*target, before_jump) {
                (Target::Block(block), _) => block,
                (Target::BeforeHeader, _) => change.insert_block_before(plan.header),
                (Target::SplitOff(_), Some(before)) => change.split_after(before),
                (Target::SplitOff(_), None) => unreachable!("a latch that is split holds more than its jump"),
            };
            for &branch in branches {
                change.redirect(branch, target);
            }
        }
    }
}
