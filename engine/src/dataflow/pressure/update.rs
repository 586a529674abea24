//! Live sets and sums that follow edits of instructions.
//!
//! When a block reads or defines a register anew, the register is taken out of the blocks that may have it live for the old
//! reason alone, and put back where a reason is left: the two steps of "delete and rederive" (Gupta, Mumick and Subrahmanian
//! 1993). Two are needed, since a register that a loop reads no longer would keep itself alive around it:
//! ```text
//! L: ...              // was: add r2, r2, r1
//!    @p bra L;        // r1 is live out of the block since it is live into it, and into it since it is live out of it
//! ```
//! The cost is that of the blocks through which the register lived or lives, with their edges.

use super::blocks::Named;
use super::counts::{minus, plus};
use super::{NO_BIT, Pressure, VReg, weight_in};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, VRegId};

/// What is to be brought up to date, and memory for it.
#[derive(Default)]
pub(super) struct Changes {
    /// Blocks whose instructions changed.
    touched: Vec<BlockId>,
    /// Blocks whose live-out sets changed in registers that they name.
    waiting: Vec<BlockId>,
    /// Block and register of which the first now reads or defines the second otherwise.
    affected: Vec<(BlockId, VRegId)>,
    /// What was taken out, to be looked at again.
    taken: Vec<(BlockId, VRegId)>,
    open: Vec<(BlockId, VRegId)>,
}

impl Changes {
    pub(super) fn clear(&mut self) {
        self.touched.clear();
        self.waiting.clear();
        self.affected.clear();
    }
}

impl Pressure {
    /// Notes that instructions of `block` have changed.
    ///
    /// # Panics
    /// When it does not [follow](Self::follow) edits.
    pub fn touch(&mut self, block: BlockId) {
        assert!(self.follows, "no live sets were taken over");
        if !std::mem::replace(&mut self.blocks.rows[block.index()].is_touched, true) {
            self.changes.touched.push(block);
        }
    }

    /// Brings everything up to date with what was touched.
    pub fn update(&mut self, function: &FunctionView<'_>, forms: &FormTable) {
        debug_assert!(self.is_for(function), "blocks or ids have changed");
        debug_assert!(!function.state.flags.contains(CodeFlags::SSA));
        self.grow(function);
        while let Some(block) = self.changes.touched.pop() {
            self.blocks.rows[block.index()].is_touched = false;
            self.walk_again(function, forms, block);
        }
        self.spread(function);
        while let Some(block) = self.changes.waiting.pop() {
            self.blocks.rows[block.index()].is_waiting = false;
            self.walk_again(function, forms, block);
        }
        debug_assert!(
            self.changes.affected.is_empty(),
            "what a block does depends on its instructions alone"
        );
    }

    /// Walks a block again: replaces what it adds to the sums, and lists what it now does otherwise to live sets.
    fn walk_again(&mut self, function: &FunctionView<'_>, forms: &FormTable, block: BlockId) {
        let count_before = self.blocks.rows[block.index()].inst_count;
        let live_out = std::mem::take(&mut self.live_out);
        let out = live_out.of(block);
        let count = self.walk(function, forms, block, |bit| out.has(bit));
        self.live_out = live_out;
        let growth = self.blocks.rows[block.index()].inst_count.wrapping_sub(count_before);
        if growth != 0 {
            let Self { live_out, globals, vregs, .. } = self;
            live_out.of(block).each(|bit| {
                let length = &mut vregs[globals[bit as usize].index()].length;
                *length = length.wrapping_add(growth);
            });
        }
        let Self { named, vregs, blocks, changes, .. } = self;
        let weight = weight_in(function, block);
        for old in blocks.named(block) {
            let vreg = &mut vregs[old.vreg().index()];
            vreg.length = vreg.length.wrapping_sub(old.length);
            vreg.weight -= u64::from(old.access_count) * weight;
            let new = named[..count].get_mut(vreg.place as usize).filter(|new| new.vreg() == old.vreg());
            if old.effect() != new.map_or(0, |new| new.meet()) {
                changes.affected.push((block, old.vreg()));
            }
        }
        for new in &mut named[..count] {
            if !new.unmeet() && new.effect() != 0 {
                changes.affected.push((block, new.vreg()));
            }
        }
        self.add_named(function, block, count);
        self.blocks.store(block, &self.named[..count]);
    }

    /// Brings the live sets up to date with what blocks do otherwise.
    fn spread(&mut self, function: &FunctionView<'_>) {
        let is_reachable = |block: BlockId| function.orders[block.index()].is_reachable();
        let mut affected = std::mem::take(&mut self.changes.affected);
        let mut taken = std::mem::take(&mut self.changes.taken);
        let mut open = std::mem::take(&mut self.changes.open);
        affected.retain(|&(block, vreg)| is_reachable(block) && self.may_cross(block, vreg));
        open.extend_from_slice(&affected);
        while let Some((block, vreg)) = open.pop() {
            let bit = self.bit_of(vreg);
            if !self.live_in.has(block, bit) {
                continue;
            }
            self.live_in.put(block, bit, false);
            taken.push((block, vreg));
            for &pred in function.preds(block).iter().filter(|pred| is_reachable(**pred)) {
                if self.live_out.has(pred, bit) {
                    let effect = self.change_out(pred, vreg, false);
                    taken.push((pred, vreg));
                    if effect & Named::READ == 0 {
                        open.push((pred, vreg));
                    }
                }
            }
        }
        open.append(&mut affected);
        open.append(&mut taken);
        while let Some((block, vreg)) = open.pop() {
            let bit = self.bit_of(vreg);
            if !self.live_out.has(block, bit)
                && function.succs(block).iter().any(|&succ| self.live_in.has(succ, bit))
            {
                self.change_out(block, vreg, true);
            }
            let effect = self.blocks.effect(block, vreg).unwrap_or(0);
            let is_through = effect & Named::DEFINED == 0 && self.live_out.has(block, bit);
            if (effect & Named::READ != 0 || is_through) && !self.live_in.has(block, bit) {
                self.live_in.put(block, bit, true);
                let preds = function.preds(block).iter().filter(|pred| is_reachable(**pred));
                open.extend(preds.map(|&pred| (pred, vreg)));
            }
        }
        (self.changes.affected, self.changes.taken, self.changes.open) = (affected, taken, open);
    }

    fn bit_of(&self, vreg: VRegId) -> u32 {
        self.vregs[vreg.index()].bit
    }

    /// Whether a register that `block` reads or defines otherwise may live across block boundaries, and has a bit then.
    fn may_cross(&mut self, block: BlockId, vreg: VRegId) -> bool {
        if self.bit_of(vreg) != NO_BIT {
            return true;
        }
        let is_read = self.blocks.effect(block, vreg).is_some_and(|effect| effect & Named::READ != 0);
        if is_read {
            self.vregs[vreg.index()].bit = self.globals.len() as u32;
            self.globals.push(vreg);
            self.live_in.grow(self.globals.len());
            self.live_out.grow(self.globals.len());
        }
        is_read
    }

    /// Puts a register into the live-out set of a block, or takes it out; gives what the block does to it.
    fn change_out(&mut self, block: BlockId, vreg: VRegId, enters: bool) -> u32 {
        let VReg { bit, kind, ref mut length, .. } = self.vregs[vreg.index()];
        let (row, words) = (&mut self.blocks.rows[block.index()], self.kinds[kind as usize].words);
        if enters {
            (row.out, *length) = (plus(row.out, words), length.wrapping_add(row.inst_count));
        } else {
            (row.out, *length) = (minus(row.out, words), length.wrapping_sub(row.inst_count));
        }
        self.live_out.put(block, bit, enters);
        let effect = self.blocks.effect(block, vreg);
        if effect.is_some() && !std::mem::replace(&mut self.blocks.rows[block.index()].is_waiting, true) {
            self.changes.waiting.push(block);
        }
        effect.unwrap_or(0)
    }
}
