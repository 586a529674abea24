//! Which instructions sink, and where to.

use super::{Move, Part, Place};
use crate::values::movable::{costs_nothing, is_operand, may_move, slots_of, varies};
use ahash::AHashMap;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::{InstHead, Marks};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, reads, writes};
use ptxopt_engine::dataflow::liveness::LiveSet;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dominator_tree::{Ancestors, DominatorTree};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::graph::way::{Way, loop_of, node_of};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::phis_of;
use ptxopt_engine::values::reaching::Reaching;

/// Dominators that are looked at between an old place and a new one, and nests of loops that a place is taken out of. A row of a
/// thousand loops would be walked for each value that lives through it.
const STEPS_MAX: usize = 64;

/// Registers times blocks up to which live sets are solved: eight megabytes of bits. Where everything lives everywhere, solving
/// takes as long as they are large. In larger functions an operand is known to live on where it is read below the new place.
const CELLS_MAX: usize = 1 << 26;

/// What is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) function: &'a FunctionView<'a>,
    pub(super) forms: &'a FormTable,
    pub(super) nest: &'a LoopNest,
    pub(super) reaching: &'a Reaching,
    pub(super) tree: &'a DominatorTree,
    pub(super) ancestors: &'a Ancestors,
}

impl Look<'_> {
    /// Slots that a value takes where it lives on.
    fn slots_kept(&self, vreg: VRegId) -> u32 {
        let is_nothing = self.reaching.only_definition(vreg).is_some_and(|inst| {
            let form = self.forms.get(self.function.heads[inst.index()].form);
            is_operand(form, self.function.operands_of(inst))
        });
        if is_nothing { 0 } else { slots_of(&self.function.vregs[vreg.index()]) }
    }
}

/// Memory of the walk over a function.
#[derive(Default)]
pub(super) struct Walk {
    /// By register: the lowest place above all that read it.
    lowest: Vec<Option<Place>>,
    /// By register: a phi reads or writes it, or something unreachable reads it.
    is_tied: Vec<bool>,
    /// By register: the block that was walked last of those that read it, and the last part of it that does.
    last_read: Vec<Option<Place>>,
    /// By register: where something that sank reads it.
    kept_at: Vec<Option<Place>>,
    /// From each loop to the outside.
    ways_out: Way,
    /// By block that was walked: its calls.
    calls: Vec<u32>,
    /// By block: it lies in a cycle with several entries. Empty where there is none.
    is_in_cycle: Vec<bool>,
    /// By part of a block that a call comes before: that call.
    pub(super) before_part: AHashMap<Place, InstId>,
    /// What sinks, readers before what they read.
    pub(super) moves: Vec<Move>,
    /// Places that were not found because of the limit.
    pub(super) limit_hits: u64,
}

impl Walk {
    /// Finds what sinks. `live_set` gives the live sets of the function.
    pub(super) fn find<'s>(&mut self, look: Look<'_>, live_set: impl FnOnce() -> &'s LiveSet) {
        self.start(look);
        let mut live_set = LiveSets { solve: Some(live_set), set: None };
        for &block in look.tree.reverse_postorder().iter().rev() {
            let mut calls = 0;
            for (inst, head, operands) in look.function.rows_of(block).rev() {
                if head.is_phi() {
                    continue;
                }
                if operands.iter().any(varies) {
                    // What stands between two clocks is being measured.
                    self.moves.clear();
                    return;
                }
                let form = look.forms.get(head.form);
                let part = match head.marks.contains(Marks::CONTROL) {
                    true => Part::End,
                    // A call reads before it calls.
                    false => Part::BeforeCalls(calls + u32::from(form.effects.intersects(Effects::CALL))),
                };
                let from = Place { block, part };
                let to = self.target(look, from, form, head, operands, &mut live_set);
                if let Some(to) = to {
                    self.moves.push(Move { inst, to });
                }
                for vreg in reads(operands) {
                    self.read(look, vreg, to.unwrap_or(from), to.is_some());
                }
                if form.effects.intersects(Effects::CALL) {
                    self.before_part.insert(Place { block, part: Part::BeforeCalls(calls) }, inst);
                    calls += 1;
                }
            }
            self.calls[block.index()] = calls;
        }
    }

    fn start(&mut self, look: Look<'_>) {
        let Look { function, nest, tree, .. } = look;
        self.moves.clear();
        self.before_part.clear();
        self.lowest.clear();
        self.lowest.resize(function.vregs.len(), None);
        self.last_read.clear();
        self.last_read.resize(function.vregs.len(), None);
        self.kept_at.clear();
        self.kept_at.resize(function.vregs.len(), None);
        self.is_tied.clear();
        self.is_tied.resize(function.vregs.len(), false);
        self.calls.clear();
        self.calls.resize(function.blocks.len(), 0);
        for block in function.block_ids() {
            let tied =
                phis_of(function, block).flat_map(|(_, operands)| reads(operands).chain(writes(operands)));
            tied.for_each(|vreg| self.is_tied[vreg.index()] = true);
            if !tree.is_reachable(block) {
                let read = function.rows_of(block).flat_map(|(_, _, operands)| reads(operands));
                read.for_each(|vreg| self.is_tied[vreg.index()] = true);
            }
        }
        self.ways_out.clear();
        nest.ids().for_each(|id| self.ways_out.push(node_of(nest.row(id).parent.get())));
        self.is_in_cycle.clear();
        for &block in nest.irreducible_regions().flatten() {
            self.is_in_cycle.resize(function.blocks.len(), false);
            self.is_in_cycle[block.index()] = true;
        }
    }

    /// Notes that a register is read at a place.
    fn read(&mut self, look: Look<'_>, vreg: VRegId, at: Place, has_sunk: bool) {
        let lowest = &mut self.lowest[vreg.index()];
        *lowest = Some(lowest.map_or(at, |lowest| above_both(look, lowest, at)));
        if has_sunk {
            self.kept_at[vreg.index()] = Some(at);
        } else if self.last_read[vreg.index()].is_none_or(|last| last.block != at.block) {
            self.last_read[vreg.index()] = Some(at);
        }
    }

    /// Where an instruction sinks to, if it does.
    fn target<'s>(
        &mut self,
        look: Look<'_>,
        from: Place,
        form: &Form,
        head: &InstHead,
        operands: &[Operand],
        live_set: &mut LiveSets<'s, impl FnOnce() -> &'s LiveSet>,
    ) -> Option<Place> {
        let mut lowest: Option<Place> = None;
        for vreg in writes(operands) {
            if self.is_tied[vreg.index()] {
                return None;
            }
            let Some(read) = self.lowest[vreg.index()] else { continue };
            lowest = Some(lowest.map_or(read, |lowest| above_both(look, lowest, read)));
        }
        let lowest =
            lowest.filter(|lowest| lowest.block != from.block || lowest.part.calls() < from.part.calls())?;
        if costs_nothing(form, operands) || !may_move(look.function, form, head, operands) {
            return None;
        }
        let to = self.leave_loops(look, from.block, lowest)?;
        let is_rarer = self.is_rarer(look, from.block, to.block);
        let crosses_calls = match to.block == from.block {
            true => to.part.calls() < from.part.calls(),
            false => from.part.calls() > 0 || to.part.calls() < self.calls[to.block.index()],
        };
        if !is_rarer && !crosses_calls {
            return None;
        }
        let live_set = live_set.get(look.function, &mut self.limit_hits);
        let (mut kept, mut is_copied) = (0, false);
        for vreg in reads(operands) {
            if !self.is_live_at(look, vreg, from, to, live_set) {
                kept += look.slots_kept(vreg);
                is_copied |= self.is_tied[vreg.index()];
            }
        }
        let freed: u32 = writes(operands).map(|vreg| slots_of(&look.function.vregs[vreg.index()])).sum();
        let pays = if is_rarer { kept <= freed } else { kept < freed };
        (pays && !is_copied).then_some(to)
    }

    /// The place itself, or the first above it in no loop that `from` is not in.
    fn leave_loops(&mut self, look: Look<'_>, from: BlockId, place: Place) -> Option<Place> {
        let Look { function, nest, .. } = look;
        let mut to = place;
        for _ in 0..STEPS_MAX {
            let Some(id) = nest.loop_of(to.block).filter(|&id| !nest.holds(id, from)) else {
                let is_in_cycle = self.is_in_cycle.get(to.block.index()).copied().unwrap_or(false);
                return (!is_in_cycle).then_some(to);
            };
            let is_left = |node| loop_of(node).is_some_and(|id| !nest.holds(id, from));
            let outermost = loop_of(self.ways_out.last(node_of(Some(id)), is_left))?;
            let header = nest.row(outermost).header;
            to = Place { block: function.orders[header.index()].idom.get()?, part: Part::End };
        }
        self.limit_hits += 1;
        None
    }

    /// Whether `to` is executed less often than `from`: the way there leaves a loop, or takes one arm of a branch.
    fn is_rarer(&mut self, look: Look<'_>, from: BlockId, to: BlockId) -> bool {
        let Look { function, nest, .. } = look;
        if function.orders[to.index()].depth < function.orders[from.index()].depth {
            return true;
        }
        let mut at = to;
        for _ in 0..STEPS_MAX {
            if at == from {
                return false;
            }
            let Some(idom) = function.orders[at.index()].idom.get() else { return false };
            let guards = |last: InstId| {
                function.heads[last.index()].marks.contains(Marks::CONTROL)
                    && function.guard_of(last).is_some()
            };
            // A loop that is entered is left: its exits are no arms.
            let is_of_inner_loop = nest.loop_of(idom).is_some_and(|id| !nest.holds(id, from));
            if function.preds(at) == [idom]
                && !is_of_inner_loop
                && (function.succs(idom).len() > 1 || function.insts_of(idom).next_back().is_some_and(guards))
            {
                return true;
            }
            at = idom;
        }
        self.limit_hits += 1;
        false
    }

    /// Whether something keeps a register at `to` that is read at `from` above it.
    fn is_live_at(
        &self,
        look: Look<'_>,
        vreg: VRegId,
        from: Place,
        to: Place,
        live_set: Option<&LiveSet>,
    ) -> bool {
        let is_read_below = |read: Place| {
            if read.block == to.block {
                read.part <= to.part
            } else {
                look.tree.dominates(to.block, read.block)
            }
        };
        let known = [self.kept_at[vreg.index()], self.last_read[vreg.index()]];
        if known.into_iter().flatten().any(is_read_below) {
            return true;
        }
        let Some(live_set) = live_set else { return false };
        let is_at_start = to.part == Part::BeforeCalls(self.calls[to.block.index()]);
        live_set.is_live_out(to.block, vreg)
            || to.block != from.block && is_at_start && live_set.is_live_in(to.block, vreg)
    }
}

/// The lowest place above both.
fn above_both(look: Look<'_>, one: Place, other: Place) -> Place {
    if one.block == other.block {
        return Place { block: one.block, part: one.part.max(other.part) };
    }
    let block = look.ancestors.nearest_common(look.tree, one.block, other.block);
    let part = if block == one.block {
        one.part
    } else if block == other.block {
        other.part
    } else {
        Part::End
    };
    Place { block, part }
}

/// Live sets, which few functions need.
struct LiveSets<'s, F> {
    solve: Option<F>,
    set: Option<&'s LiveSet>,
}

impl<'s, F: FnOnce() -> &'s LiveSet> LiveSets<'s, F> {
    /// The live sets; none where they would be too large.
    fn get(&mut self, function: &FunctionView<'_>, limit_hits: &mut u64) -> Option<&'s LiveSet> {
        if let Some(solve) = self.solve.take() {
            if function.blocks.len() * function.vregs.len() <= CELLS_MAX {
                self.set = Some(solve());
            } else {
                *limit_hits += 1;
            }
        }
        self.set
    }
}
