//! The walk of one block, from its last instruction to its first.

use super::super::liveness::kills;
use super::blocks::Named;
use super::counts::{LEAST, Words, minus, plus, raise};
use super::{Kind, NEAR_POSITIONS, NO_BIT, Point, Pressure, VReg};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, reads};
use std::collections::BTreeSet;

/// The registers that a block names, in a list that is found through the registers: a place counts where the list
/// has the register there (the sparse sets of Briggs and Torczon 1993). So nothing has to be taken back before the next
/// block.
struct Names<'a, F> {
    vregs: &'a mut [VReg],
    /// The list, and room for all registers.
    named: &'a mut [Named],
    count: usize,
    /// Whether the register with a bit is live out of the block.
    is_out: F,
}

impl<F: Fn(u32) -> bool> Names<'_, F> {
    /// The entry of a register, which it enters as it is at the end of the block, and its kind.
    #[inline(always)]
    fn of(&mut self, vreg: VRegId) -> (&mut Named, usize) {
        let row = &mut self.vregs[vreg.index()];
        let mut place = row.place as usize;
        if place >= self.count || self.named[place].vreg() != vreg {
            place = self.count;
            row.place = place as u32;
            let is_out = row.bit != NO_BIT && (self.is_out)(row.bit);
            self.named[place] = Named::new(vreg, is_out);
            self.count += 1;
        }
        (&mut self.named[place], row.kind as usize)
    }
}

/// Where the walk of a block is.
struct Walk<'a, F> {
    names: Names<'a, F>,
    /// By kind of register.
    kinds: &'a [Kind],
    /// What lives before the instruction at hand.
    live: Words,
    /// Instructions from the end on, the one at hand included.
    number: u32,
}

impl<F: Fn(u32) -> bool> Walk<'_, F> {
    /// Passes a result; `after` is what lives right after the instruction.
    #[inline(always)]
    fn write(&mut self, vreg: VRegId, is_killed: bool, after: &mut Words) {
        let (named, kind) = self.names.of(vreg);
        named.access_count += 1;
        if !named.has(Named::LIVE) {
            // A dead result: it takes its slots for an instant.
            *after = plus(*after, self.kinds[kind].words);
            named.length = named.length.wrapping_add(1);
        } else if is_killed {
            self.live = minus(self.live, self.kinds[kind].words);
            named.length = named.length.wrapping_add(self.number);
        }
        if is_killed {
            named.define();
        }
    }

    /// Passes a read that counts as `accesses`, and says whether it is the last one.
    #[inline(always)]
    fn read(&mut self, vreg: VRegId, accesses: u32) -> bool {
        let (named, kind) = self.names.of(vreg);
        named.access_count += accesses;
        let is_last = !named.has(Named::LIVE);
        if is_last {
            self.live = plus(self.live, self.kinds[kind].words);
            named.length = named.length.wrapping_sub(self.number);
        }
        named.read();
        is_last
    }

    /// Ends the lengths of what lives at the start of the block, and takes from those of what lives at its end; gives how many registers the
    /// block names.
    fn finish(&mut self) -> usize {
        let count = self.names.count;
        for named in &mut self.names.named[..count] {
            if named.has(Named::LIVE) {
                named.length = named.length.wrapping_add(self.number);
            }
            if named.has(Named::OUT) {
                named.length = named.length.wrapping_sub(self.number);
            }
        }
        count
    }
}

impl Pressure {
    /// Walks a block, out of which those registers live whose bits `is_out` names: its points, the counts of its row, and what
    /// it names, which is left at the start of `named`; gives the number of those.
    pub(super) fn walk(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        block: BlockId,
        is_out: impl Fn(u32) -> bool,
    ) -> usize {
        self.walk_count += 1;
        let Self { vregs, kinds, outside, blocks, points, far_last_uses, named, .. } = self;
        let points = &mut points[..function.heads.len()];
        let names = Names { vregs, named, count: 0, is_out };
        let mut walk = Walk { names, kinds: &kinds[..], live: Words::default(), number: 0 };
        for &vreg in outside.at_end_of(function, block) {
            walk.names.of(vreg).0.read();
        }
        let (has_outside, has_far) = (!outside.vregs.is_empty(), !far_last_uses.is_empty());
        let mut peaks = LEAST;
        for (inst, head, operands) in function.rows_of(block).rev() {
            walk.number += 1;
            let is_guarded = head.opcode.is_guarded();
            let mut after = walk.live;
            for operand in head.results(operands).iter().filter(|operand| operand.is_definition()) {
                if let Some(vreg) = operand.vreg() {
                    walk.write(vreg, kills(operand, is_guarded), &mut after);
                }
            }
            if has_far || operands.len() > NEAR_POSITIONS {
                note_far(&mut walk.names, far_last_uses, inst, operands);
            }
            let mut last_uses = 0;
            // A bit of those that `last_uses` has.
            let mut position = 1_u64;
            for operand in operands {
                if let Some(vreg) = operand.vreg().filter(|_| operand.is_use())
                    && walk.read(vreg, u32::from(!operand.is_definition()))
                {
                    last_uses |= position;
                }
                position <<= 1;
            }
            if has_outside {
                for vreg in outside.read_by(function, forms, head) {
                    walk.read(vreg, 0);
                }
            }
            // What lives before an instruction lives after the one before it.
            raise(&mut peaks, after);
            points[inst.index()] = Point { before: walk.live, after, last_uses };
        }
        raise(&mut peaks, walk.live);
        let row = &mut blocks.rows[block.index()];
        (row.inst_count, row.peaks) = (walk.number, peaks);
        walk.finish()
    }
}

/// Notes last uses of an instruction at positions from [`NEAR_POSITIONS`] on, before its uses are met.
#[cold]
fn note_far<F: Fn(u32) -> bool>(
    names: &mut Names<'_, F>,
    last_uses: &mut BTreeSet<(InstId, u32)>,
    inst: InstId,
    operands: &[Operand],
) {
    while let Some(&before) = last_uses.range((inst, 0)..=(inst, u32::MAX)).next() {
        last_uses.remove(&before);
    }
    for (position, operand) in operands.iter().enumerate().skip(NEAR_POSITIONS) {
        let Some(vreg) = operand.vreg().filter(|_| operand.is_use()) else { continue };
        let is_first = reads(&operands[..position]).all(|other| other != vreg);
        if is_first && !names.of(vreg).0.has(Named::LIVE) {
            last_uses.insert((inst, position as u32));
        }
    }
}
