//! Optimize branches: threads jumps through empty blocks, lets blocks fall through, and merges them.
//!
//! Source phase  15 OriBranchOpt (basic-blocks-and-cfg, "BB Merge Suppression"; the phase has no document of its own)
//! Reads         Blocks, Insts, Fact::ControlFlow
//! Writes        branches, blocks
//! Needs         control flow ends its block; control-flow facts
//! Leaves        no unreachable block; no branch to the next block, or past empty ones; no block that only its predecessor in
//!               the text falls into
//! Breaks        control-flow facts, liveness
//! Cost          a few passes over blocks a round, a round more than there is to follow
//! Checked by    check/edges.rs, check/control_flow.rs, check/terminators.rs; settling refuses a branch to a merged block
//!
//! # The rewrites
//! ```text
//! thread        @p bra A; ... A: bra B;             @p bra B; ...          // A may be left without a predecessor
//! fall through  bra A; A: ...                       A: ...                 // a guarded branch goes as well; so does
//!                                                                          // one past empty blocks that fall through
//! invert        @p bra A; bra B; A: ...             @!p bra B; A: ...
//! merge         add ...; A: mul ...                 add ...; mul ...       // nothing else leads to A
//! ```
//!
//! # What is left alone
//! - The order of blocks. Where divergent threads meet again depends on it, so a block is merged only with the one that
//!   stands before it in the text.
//! - Branch tables: several `brx.idx` may share one. Their blocks have predecessors and are threaded past by others only.
//! - Headers. A branch past an empty header would enter its loop in the middle:
//!   ```text
//!   bra H; ... H: bra B; ... B: ...; @p bra H; // `bra B` makes the cycle of H and B one with two entries
//!   ```
//! - An empty latch that several branches share. Each of them would become a latch of its own, and an assembler that
//!   takes latches for nested loops lets threads run ahead that waited for the others before.
//! - A block with a pragma: it belongs to that block. Other anchors stay at their place.
//! - `.uni` is a promise about one branch: a redirected branch loses it, and one that has it is not inverted.
//! - Blocks that later phases empty: no other phase on branches has its system yet, so a second run of the optimizer finds
//!   a few branches more.
//! - Anything alike in several blocks: merging tails moves convergent instructions together.
//!
//! # Labels
//! The label of a merged block is gone, since only branches name it; one that a debug section names too is an anchor
//! and stays.

mod missed;

use bevy_ecs::prelude::*;
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, Maybe};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::OperandKind;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Phase 15.
pub const PHASE: Phase = Phase {
    name: "optimize_branches",
    needs: &[Fact::ControlFlow],
    breaks: &[Fact::ControlFlow, Fact::Liveness, Fact::Uniformity],
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

/// Optimizes the branches of every function.
pub fn run(mut editor: Editor, settings: Res<Settings>, mut model: Local<Model>) {
    editor.each(CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST, |mut f| {
        let (function, forms) = f.view_and_forms();
        model.load(&function, forms);
        let outcome = Rewriter { f: &mut f, model: &mut model, settings: &settings }.run();
        // Without fuel there is nothing more to do; what was done stands.
        if outcome.is_ok() && f.remarks_are_wanted() {
            missed::tell(&mut f, &model);
        }
    });
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It falls through.
    Falls,
    /// An unguarded direct branch.
    Jumps { inst: InstId, target: BlockId },
    /// A guarded direct branch; it falls through otherwise.
    Branches { inst: InstId, target: BlockId },
    /// Anything else: what follows is in the edges, and does not change here.
    Other,
}

/// The flow graph with the changes made so far, beside the edges, which the editor builds again when the phase is done.
#[derive(Default)]
pub struct Model {
    ends: Vec<End>,
    /// By block: edges that lead to it, from unreachable blocks too.
    pred_count: Vec<u32>,
    /// By block: the next one that is not dead.
    next: Vec<Maybe<BlockId>>,
    traits: Vec<Traits>,
    /// As they were: a change that the phase makes leaves ranks of smaller and larger what they are.
    orders: Vec<BlockOrder>,
    /// Edges of blocks that end in [`End::Other`].
    other_succs: Vec<(BlockId, BlockId)>,
    /// Blocks that have lost their last predecessor.
    doomed: Vec<BlockId>,
}

/// What does not change about a block, but for dying.
#[derive(Clone, Copy, Default)]
struct Traits {
    /// Holds nothing, or nothing but a direct branch.
    is_empty: bool,
    /// A pragma or another directive belongs to it.
    is_pinned: bool,
    /// Reachable, and no target of a back edge: a branch may be threaded past it.
    is_passed_by: bool,
    is_dead: bool,
    /// Its end is a branch with the promise `.uni`.
    is_uniform: bool,
    /// Byte offset of its end in the text.
    offset: u32,
}

impl Model {
    fn load(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        let Self { ends, pred_count, next, traits, orders, other_succs, doomed } = self;
        ends.clear();
        pred_count.clear();
        traits.clear();
        orders.clear();
        orders.extend_from_slice(function.orders);
        other_succs.clear();
        doomed.clear();
        for block in function.block_ids() {
            let head = &function.blocks[block.index()];
            let mut insts = function.insts_of(block).rev();
            let last = insts.next();
            let end = last.map_or(End::Falls, |inst| end_of(function, forms, inst));
            let is_direct = matches!(end, End::Jumps { .. } | End::Branches { .. });
            let is_looped = head.flags.intersects(BlockFlags::LOOP_HEADER | BlockFlags::IRREDUCIBLE);
            traits.push(Traits {
                is_empty: last.is_none() || (is_direct && insts.next().is_none()),
                is_pinned: false,
                is_passed_by: !is_looped && function.orders[block.index()].is_reachable(),
                is_dead: head.flags.contains(BlockFlags::DEAD),
                is_uniform: last.is_some_and(|inst| {
                    let form = function.heads[inst.index()].form;
                    forms.get(form).flags.contains(FormFlags::UNIFORM)
                }),
                offset: last.map_or(function.labels[block.index()].offset, |inst| {
                    function.places[inst.index()].offset
                }),
            });
            if end == End::Other {
                other_succs.extend(function.succs(block).iter().map(|&succ| (block, succ)));
            }
            ends.push(end);
            pred_count.push(function.preds(block).len() as u32);
        }
        for anchor in function.anchors {
            let is_pin = matches!(anchor.kind, AnchorKind::BlockPragma | AnchorKind::Directive);
            traits[anchor.block.index()].is_pinned |= is_pin;
        }
        next.clear();
        next.resize(ends.len(), Maybe::NONE);
        self.link();
    }

    /// Finds the next living block of each.
    fn link(&mut self) {
        let mut following = Maybe::NONE;
        for block in (0..self.ends.len()).rev() {
            self.next[block] = following;
            if !self.traits[block].is_dead {
                following = Maybe::some(BlockId::new(block));
            }
        }
    }

    fn next(&self, block: BlockId) -> Option<BlockId> {
        self.next[block.index()].get()
    }

    fn of(&self, block: BlockId) -> Traits {
        self.traits[block.index()]
    }

    /// Where a branch to `target` comes to in the end: the target of the last jump that it passes.
    fn destination(&self, target: BlockId, hops_max: u32) -> Option<BlockId> {
        let (mut at, mut destination) = (target, None);
        let mut is_only_way = true;
        for _ in 0..hops_max {
            let traits = self.of(at);
            if !traits.is_empty || traits.is_pinned || !traits.is_passed_by || traits.is_dead {
                break;
            }
            is_only_way &= self.pred_count[at.index()] == 1;
            let after = match self.ends[at.index()] {
                End::Jumps { target, .. } => Some(target),
                End::Falls => self.next(at),
                End::Branches { .. } | End::Other => None,
            };
            let Some(after) = after else { break };
            let is_latch = self.orders[at.index()].turns_back_to(&self.orders[after.index()]);
            if is_latch && !is_only_way {
                break;
            }
            if matches!(self.ends[at.index()], End::Jumps { .. }) {
                destination = Some(after);
            }
            at = after;
        }
        destination
    }
}

fn end_of(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> End {
    let head = &function.heads[inst.index()];
    if !head.marks.contains(Marks::CONTROL) {
        return End::Falls;
    }
    let operands = function.operands_of(inst);
    let is_branch = forms.get(head.form).effects.contains(Effects::BRANCH);
    let target = operands.first().and_then(|operand| operand.as_block());
    let is_predicate =
        operands.last().is_some_and(|guard| matches!(guard.kind(), OperandKind::Predicate { .. }));
    match target.filter(|_| is_branch) {
        Some(target) if !head.opcode.is_guarded() => End::Jumps { inst, target },
        Some(target) if is_predicate => End::Branches { inst, target },
        _ => End::Other,
    }
}

/// The bisect limit does not allow any more changes.
struct OutOfFuel;

type Outcome = Result<(), OutOfFuel>;

/// Rewrites one function.
struct Rewriter<'r, 'a> {
    f: &'r mut FunctionEditor<'a>,
    model: &'r mut Model,
    settings: &'r Settings,
}

impl<'a> Rewriter<'_, 'a> {
    fn run(&mut self) -> Outcome {
        self.delete_unreachable()?;
        for _ in 0..self.settings.rounds_max {
            let has_threaded = self.thread()?;
            let has_inverted = self.invert()?;
            let has_let_fall = self.fall_through()?;
            if !(has_threaded || has_inverted || has_let_fall) {
                return self.merge();
            }
        }
        self.f.stats().limits_hit += 1;
        let offset = self.f.view().text.name.first;
        self.f.missed(offset, "more rounds than are made would change more branches");
        self.merge()
    }

    fn change(&mut self, at: BlockId, reason: &'static str) -> Result<Change<'_, 'a>, OutOfFuel> {
        self.f.change_in_place_at(self.model.of(at).offset, reason).ok_or(OutOfFuel)
    }

    fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.model.ends.len()).map(BlockId::new)
    }

    /// Leads branches past empty blocks, and deletes what nothing leads to any more.
    fn thread(&mut self) -> Result<bool, OutOfFuel> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let (End::Jumps { inst, target } | End::Branches { inst, target }) =
                self.model.ends[block.index()]
            else {
                continue;
            };
            if self.model.of(block).is_dead || !self.model.orders[block.index()].is_reachable() {
                continue;
            }
            let destination = self.model.destination(target, self.settings.hops_max);
            let Some(destination) = destination.filter(|&to| to != target) else { continue };
            self.change(block, "jump through an empty block")?.redirect(inst, destination);
            self.model.retarget(block, destination);
            has_changed = true;
        }
        self.delete_abandoned()?;
        Ok(has_changed)
    }

    /// Deletes the blocks that nothing reaches: their edges would keep others from being merged.
    fn delete_unreachable(&mut self) -> Outcome {
        let is_unreachable = |block: &BlockId| {
            !self.model.of(*block).is_dead && !self.model.orders[block.index()].is_reachable()
        };
        let dead: Vec<BlockId> = self.block_ids().filter(is_unreachable).collect();
        if dead.is_empty() {
            return Ok(());
        }
        self.delete_blocks(&dead, "unreachable block")?;
        self.model.mark_unreachable(&dead);
        Ok(())
    }

    /// Deletes the blocks that threading has left without a predecessor, and those that only they led to.
    fn delete_abandoned(&mut self) -> Outcome {
        let dead = self.model.mark_abandoned();
        if dead.is_empty() {
            return Ok(());
        }
        self.delete_blocks(&dead, "nothing leads to the empty block any more")
    }

    /// Deletes blocks. All count as one change, since they may branch to one another.
    fn delete_blocks(&mut self, blocks: &[BlockId], reason: &'static str) -> Outcome {
        let offset = self.f.view().text.body.first;
        self.f.change_in_place_at(offset, reason).ok_or(OutOfFuel)?.delete_blocks(blocks);
        Ok(())
    }

    /// Turns a branch around a jump into a branch.
    fn invert(&mut self) -> Result<bool, OutOfFuel> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let Some((inst, jump, destination)) = self.model.jump_around(block) else { continue };
            let mut change = self.change(block, "branch around a jump")?;
            change.negate_guard(inst);
            change.redirect(inst, destination);
            change.delete_branch(jump);
            // The block around which it led falls through instead: as many edges lead to each block as before.
            let between = self.model.next(block).expect("a jump stands there");
            self.model.ends[block.index()] = End::Branches { inst, target: destination };
            self.model.ends[between.index()] = End::Falls;
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Deletes branches to the block after them.
    fn fall_through(&mut self) -> Result<bool, OutOfFuel> {
        let mut has_changed = false;
        for block in self.block_ids() {
            let end = self.model.ends[block.index()];
            let (End::Jumps { inst, target } | End::Branches { inst, target }) = end else { continue };
            if self.model.of(block).is_dead || !self.model.falls_to(block, target, self.settings.hops_max) {
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

    /// Merges blocks with the only block that falls into them.
    fn merge(&mut self) -> Outcome {
        for block in self.block_ids() {
            if self.model.of(block).is_dead || self.model.ends[block.index()] != End::Falls {
                continue;
            }
            let Some(next) = self.model.next(block) else { continue };
            if self.model.pred_count[next.index()] == 1 && !self.model.of(next).is_pinned {
                self.change(next, "block with one predecessor, which stands before it")?.merge(next);
            }
        }
        Ok(())
    }
}

impl Model {
    /// Makes the direct branch of `block` lead to `target`.
    fn retarget(&mut self, block: BlockId, target: BlockId) {
        let end = &mut self.ends[block.index()];
        let (End::Jumps { target: slot, .. } | End::Branches { target: slot, .. }) = end else {
            unreachable!("only direct branches are threaded");
        };
        let before = std::mem::replace(slot, target);
        self.traits[block.index()].is_uniform = false;
        self.pred_count[target.index()] += 1;
        self.drop_edge(before);
    }

    /// Whether the end of `block` leads to `target` without a branch: nothing but empty blocks stands between.
    fn falls_to(&self, block: BlockId, target: BlockId, hops_max: u32) -> bool {
        let mut at = self.next(block);
        for _ in 0..=hops_max {
            match at {
                Some(next) if next == target => return true,
                Some(next) if self.is_nothing(next) => at = self.next(next),
                _ => return false,
            }
        }
        false
    }

    /// Whether a block does nothing but lead to the next one.
    fn is_nothing(&self, block: BlockId) -> bool {
        let traits = self.of(block);
        self.ends[block.index()] == End::Falls && traits.is_empty && !traits.is_pinned && traits.is_passed_by
    }

    /// Takes unreachable blocks out, with their edges.
    fn mark_unreachable(&mut self, blocks: &[BlockId]) {
        for &block in blocks {
            self.traits[block.index()].is_dead = true;
            self.drop_edges_of(block);
        }
        self.doomed.clear();
        self.link();
    }

    /// Takes an edge to `block` away.
    fn drop_edge(&mut self, block: BlockId) {
        self.pred_count[block.index()] -= 1;
        if self.pred_count[block.index()] == 0 {
            self.doomed.push(block);
        }
    }

    /// Lists the blocks that have died, and marks them so.
    fn mark_abandoned(&mut self) -> Vec<BlockId> {
        let mut dead = Vec::new();
        while let Some(block) = self.doomed.pop() {
            if block == BlockId(0) || self.of(block).is_dead || self.pred_count[block.index()] > 0 {
                continue;
            }
            self.traits[block.index()].is_dead = true;
            dead.push(block);
            self.drop_edges_of(block);
        }
        if !dead.is_empty() {
            self.link();
        }
        dead
    }

    /// Takes the edges that leave `block` away. It falls to the next block of the last [`Self::link`].
    fn drop_edges_of(&mut self, block: BlockId) {
        let end = self.ends[block.index()];
        if let End::Jumps { target, .. } | End::Branches { target, .. } = end {
            self.drop_edge(target);
        }
        if let (End::Falls | End::Branches { .. }, Some(next)) = (end, self.next(block)) {
            self.drop_edge(next);
        }
        if end == End::Other {
            let first = self.other_succs.partition_point(|&(source, _)| source < block);
            let end = self.other_succs.partition_point(|&(source, _)| source <= block);
            for at in first..end {
                self.drop_edge(self.other_succs[at].1);
            }
        }
    }

    /// The guarded branch of `block`, the jump after it around which it leads, and where that jumps.
    fn jump_around(&self, block: BlockId) -> Option<(InstId, InstId, BlockId)> {
        let End::Branches { inst, target } = self.ends[block.index()] else { return None };
        let between = self.next(block)?;
        let End::Jumps { inst: jump, target: destination } = self.ends[between.index()] else { return None };
        let (own, other) = (self.of(block), self.of(between));
        let is_bare = other.is_empty && !other.is_pinned && self.pred_count[between.index()] == 1;
        let leads_around = is_bare && self.next(between) == Some(target) && !own.is_dead && !own.is_uniform;
        leads_around.then_some((inst, jump, destination))
    }
}
