//! Entry: which registers are constant where a loop is entered.
//!
//! The code is not in SSA form here: a counter is written before each loop that it counts, and in it. Which definition reaches a
//! place is asked of [`Reaching`].
//! ```text
//!     mov.u32 %i, 0;          // reaches the end of the block before L
//! L:  ...
//!     add.u32 %i, %i, 1;
//! ```

use super::Function;
use crate::values::conditional_constants::lattice::Cell;
use crate::values::conditional_constants::transfer::Transfer;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::values::reaching::{Place, Reaching, Value};

/// Definitions that are looked at for one register.
const DEPTH_MAX: u32 = 8;

/// Definitions that are looked at for one loop.
const LOOKS_MAX: u32 = 4_000;

/// What is found out for one loop.
pub(super) struct Entry<'a, 'r> {
    function: Function<'a>,
    reaching: &'r mut Reaching,
    known: AHashMap<VRegId, Cell>,
    looks_left: u32,
}

impl<'a, 'r> Entry<'a, 'r> {
    pub(super) fn new(function: Function<'a>, reaching: &'r mut Reaching) -> Self {
        Self { function, reaching, known: AHashMap::default(), looks_left: LOOKS_MAX }
    }

    /// What a register holds whenever a loop is entered, which is not the start of the function.
    pub(super) fn at(&mut self, id: LoopId, vreg: VRegId) -> Cell {
        if let Some(&known) = self.known.get(&vreg) {
            return known;
        }
        let Function { view, nest, .. } = self.function;
        let outside = |pred: &&BlockId| !nest.holds(id, **pred) && view.orders[pred.index()].is_reachable();
        let mut known = Cell::Top;
        for &pred in view.preds(nest.row(id).header).iter().filter(outside) {
            known = known.meet(self.value(vreg, self.reaching.end_of(pred), DEPTH_MAX));
            if known == Cell::Bottom {
                break;
            }
        }
        // Nothing leads to a loop that is never entered.
        let known = if known == Cell::Top { Cell::Bottom } else { known };
        self.known.insert(vreg, known);
        known
    }

    /// What a register holds at a place.
    fn value(&mut self, vreg: VRegId, place: Place, depth: u32) -> Cell {
        let view = self.function.view;
        if depth == 0
            || self.looks_left == 0
            || view.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START)
        {
            return Cell::Bottom;
        }
        self.looks_left -= 1;
        match self.reaching.value(vreg, place, || *view) {
            Value::Of(inst) => self.left_by(inst, vreg, depth - 1),
            Value::MeetAt(_) | Value::OfEntry => Cell::Bottom,
        }
    }

    /// What an instruction leaves in a register.
    fn left_by(&mut self, inst: InstId, vreg: VRegId, depth: u32) -> Cell {
        let Function { view, forms, .. } = self.function;
        let transfer = Transfer { function: view, forms, inst };
        if transfer.only_result() != Some(vreg) {
            return Cell::Bottom;
        }
        let place = Place { block: view.heads[inst.index()].block, before: inst };
        transfer.result(&mut |read| self.value(read, place, depth))
    }
}
