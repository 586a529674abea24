//! Entry: which registers are constant where a loop is entered.
//!
//! The code is not in SSA form here: a counter is written before each loop that it counts, and in it.
//! ```text
//!     mov.u32 %i, 0;          // what a walk back from L finds
//! L:  ...
//!     add.u32 %i, %i, 1;
//! ```
//! A register with one definition, which has run on every way, holds what that leaves. Of others the last definition is looked
//! for, in the blocks through which every way leads.

use super::Function;
use crate::ssa::promote_locals::numbers::SHARED;
use crate::values::conditional_constants::lattice::Cell;
use crate::values::conditional_constants::transfer::Transfer;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};

/// Definitions that are looked at for one register.
const DEPTH_MAX: u32 = 8;

/// Definitions that are looked at for one loop.
const LOOKS_MAX: u32 = 4_000;

/// Blocks that a walk back passes.
const BLOCKS_MAX: u32 = 16;

/// Where a register is read.
#[derive(Clone, Copy)]
enum Point {
    Before(InstId),
    EndOf(BlockId),
}

/// What is found out for one loop.
pub(super) struct Entry<'a> {
    function: Function<'a>,
    known: AHashMap<VRegId, Cell>,
    looks_left: u32,
}

impl<'a> Entry<'a> {
    pub(super) fn new(function: Function<'a>) -> Self {
        Self { function, known: AHashMap::default(), looks_left: LOOKS_MAX }
    }

    /// What a register holds whenever a loop is entered.
    pub(super) fn at(&mut self, id: LoopId, vreg: VRegId) -> Cell {
        if let Some(&known) = self.known.get(&vreg) {
            return known;
        }
        let Function { view, nest, .. } = self.function;
        let header = nest.row(id).header;
        let outside = |pred: &&BlockId| !nest.holds(id, **pred) && view.orders[pred.index()].is_reachable();
        let preds = view.preds(header).iter().filter(outside);
        // Nothing leads to it: the function begins with it.
        let known = preds.map(|&pred| self.value(vreg, Point::EndOf(pred), DEPTH_MAX)).reduce(Cell::meet);
        let known = known.filter(|_| header != BlockId(0)).unwrap_or(Cell::Bottom);
        self.known.insert(vreg, known);
        known
    }

    fn value(&mut self, vreg: VRegId, point: Point, depth: u32) -> Cell {
        let Function { view, sources, .. } = self.function;
        if depth == 0 || self.looks_left == 0 || view.vregs[vreg.index()].flags.intersects(SHARED) {
            return Cell::Bottom;
        }
        self.looks_left -= 1;
        let only = sources.def_use.only_def(vreg).map(|def| def.inst);
        match only.filter(|&def| self.has_run(def, point)).or_else(|| self.last_definition(vreg, point)) {
            Some(def) => self.left_by(def, vreg, depth - 1),
            None => Cell::Bottom,
        }
    }

    /// Whether an instruction has run on every way to a point.
    fn has_run(&self, inst: InstId, point: Point) -> bool {
        let Function { view, sources, .. } = self.function;
        match point {
            Point::Before(at) => sources.is_before(inst, at),
            Point::EndOf(block) => {
                let of_inst = view.heads[inst.index()].block;
                of_inst == block || view.orders[of_inst.index()].dominates(&view.orders[block.index()])
            }
        }
    }

    /// The last definition of a register on the only way back from a point.
    fn last_definition(&self, vreg: VRegId, point: Point) -> Option<InstId> {
        let Function { view, sources, .. } = self.function;
        let block_of = |inst: InstId| view.heads[inst.index()].block;
        let (mut block, mut before) = match point {
            Point::Before(at) => (block_of(at), Some(at)),
            Point::EndOf(block) => (block, None),
        };
        for _ in 0..BLOCKS_MAX {
            let defs = sources.def_use.defs(vreg).map(|def| def.inst).filter(|&def| block_of(def) == block);
            let above =
                defs.filter(|&def| before.is_none_or(|at| sources.position(def) < sources.position(at)));
            if let Some(last) = above.max_by_key(|&def| sources.position(def)) {
                return Some(last);
            }
            let is_reachable = |pred: &&BlockId| view.orders[pred.index()].is_reachable();
            let mut preds = view.preds(block).iter().filter(is_reachable);
            let first = preds.next().filter(|_| block != BlockId(0))?;
            if preds.any(|pred| pred != first) {
                return None;
            }
            (block, before) = (*first, None);
        }
        None
    }

    /// What an instruction leaves in a register.
    fn left_by(&mut self, inst: InstId, vreg: VRegId, depth: u32) -> Cell {
        let Function { view, forms, .. } = self.function;
        let transfer = Transfer { function: view, forms, inst };
        if transfer.only_result() != Some(vreg) {
            return Cell::Bottom;
        }
        transfer.result(&mut |read| self.value(read, Point::Before(inst), depth))
    }
}
