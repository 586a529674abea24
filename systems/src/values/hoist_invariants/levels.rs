//! How far out of a nest of loops an instruction may go, in a logarithmic number of steps whatever the depth.

use crate::flow::loop_entries::LoopEntries;
use ptxopt_components::ids::{BlockId, Id, LoopId};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dominator_tree::{Ancestors, DominatorTree};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::graph::way::{Node, OUTSIDE, Way, loop_of, node_of};
use ptxopt_engine::store::view::FunctionView;

/// What is known of one loop.
#[derive(Clone, Copy)]
struct Level {
    /// Number of loops around its header, itself included.
    depth: u32,
    /// The outermost loop around it.
    outermost: LoopId,
    /// The block that dominates all latches and is the last to do so: what dominates it is executed in each whole round.
    latches: BlockId,
    /// Depth of the outermost loop in each whole round of which this loop is entered.
    steady: u32,
    /// Why no block can stand before the loop, if none can.
    closed: Option<&'static str>,
}

/// The loops of a function, for questions about levels.
#[derive(Default)]
pub(super) struct Levels {
    levels: Vec<Level>,
    /// Over all loops.
    all: Way,
    /// Over those before which a block can stand.
    open: Way,
    /// By node: itself, if a block can stand before it, or the first one around it where that is so.
    nearest_open: Vec<Node>,
    /// Whether each loop can have a block before it.
    are_all_open: bool,
    ancestors: Ancestors,
}

impl Levels {
    /// Lists the loops of a function.
    pub(super) fn compute(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        nest: &LoopNest,
        tree: &DominatorTree,
    ) {
        let Self { levels, all, open, nearest_open, are_all_open, ancestors } = self;
        levels.clear();
        all.clear();
        open.clear();
        nearest_open.clear();
        nearest_open.push(OUTSIDE);
        *are_all_open = true;
        if nest.ids().any(|id| nest.latch(id).is_none()) {
            ancestors.compute(function, tree);
        }
        for id in nest.ids() {
            let (row, parent) = (nest.row(id), nest.row(id).parent.get());
            let ways_in = LoopEntries { function, forms, header: row.header };
            let closed = match row.preheader.get() {
                Some(_) => None,
                None => why_closed(ways_in, nest, id),
            };
            let latches = nest.latches(id).iter().copied();
            let latches = latches
                .reduce(|one, other| ancestors.nearest_common(tree, one, other))
                .expect("a natural loop has a latch");
            let around = parent.map(|parent| levels[parent.index()]);
            let steady = match around {
                Some(around) if tree.dominates(row.header, around.latches) => around.steady,
                _ => row.depth,
            };
            let outermost = around.map_or(id, |around: Level| around.outermost);
            levels.push(Level { depth: row.depth, outermost, latches, steady, closed });
            all.push(node_of(parent));
            // One before which no block can stand is on no way: its own place is there for the numbers' sake.
            let above = nearest_open[node_of(parent) as usize];
            open.push(above);
            nearest_open.push(if closed.is_none() { node_of(Some(id)) } else { above });
            *are_all_open &= closed.is_none();
        }
    }

    /// Number of loops around a place in `id`.
    pub(super) fn depth(&self, id: Option<LoopId>) -> u32 {
        id.map_or(0, |id| self.levels[id.index()].depth)
    }

    /// The outermost loop around a loop.
    pub(super) fn outermost(&self, id: LoopId) -> LoopId {
        self.levels[id.index()].outermost
    }

    /// Whether a block can stand before a loop; if not, why.
    pub(super) fn is_open(&self, id: LoopId) -> Result<(), &'static str> {
        self.levels[id.index()].closed.map_or(Ok(()), Err)
    }

    /// Depth of the innermost loop that holds two places, given as the innermost loops around them.
    pub(super) fn common_depth(&self, nest: &LoopNest, one: Option<LoopId>, other: LoopId) -> u32 {
        let holds = |id: LoopId| id <= other && other <= nest.row(id).last;
        match one {
            None => 0,
            Some(one) if holds(one) => self.depth(Some(one)),
            Some(one) => {
                let is_apart = |node: Node| loop_of(node).is_some_and(|id| !holds(id));
                let last = self.all.last(node_of(Some(one)), is_apart);
                self.depth(loop_of(self.all.up(last)))
            }
        }
    }

    /// The outermost loop around a place in `id` that is deeper than `depth` and before which a block can stand.
    pub(super) fn outermost_open(&self, id: LoopId, depth: u32) -> Option<LoopId> {
        let is_deeper = |node: Node| self.depth(loop_of(node)) > depth;
        let nearest = self.nearest_open[node_of(Some(id)) as usize];
        is_deeper(nearest).then(|| loop_of(self.open.last(nearest, is_deeper)))?
    }

    /// The outermost loop around a place in `id` that is deeper than `depth`, if no block can stand before that.
    pub(super) fn closed_outermost(&self, id: LoopId, depth: u32) -> Option<LoopId> {
        if self.are_all_open {
            return None;
        }
        let is_deeper = |node: Node| self.depth(loop_of(node)) > depth;
        let outermost = loop_of(self.all.last(node_of(Some(id)), is_deeper));
        outermost.filter(|&id| self.is_open(id).is_err())
    }

    /// Depth of the outermost loop around a block of `id` in each whole round of which the block is executed; none where it
    /// is not executed in each round of `id`.
    pub(super) fn steady_depth(&self, tree: &DominatorTree, id: LoopId, block: BlockId) -> Option<u32> {
        let level = self.levels[id.index()];
        tree.dominates(block, level.latches).then_some(level.steady)
    }
}

/// Why no block can stand before the header of a loop, which has none there. A block that falls into the header would need a
/// jump around it.
fn why_closed(ways_in: LoopEntries<'_>, nest: &LoopNest, id: LoopId) -> Option<&'static str> {
    for &pred in ways_in.function.preds(ways_in.header) {
        if nest.holds(id, pred) {
            if ways_in.falls_into_header(pred) {
                return Some("a latch falls into the header of the loop: a preheader would cost a jump");
            }
        } else if let Err(reason) = ways_in.branch(pred) {
            return Some(reason);
        }
    }
    None
}
