//! Live sets that follow edits of instructions.
//!
//! When a block reads or defines a register anew, the register is taken out of the blocks that may have it live for the old
//! reason alone, and put back where a reason is left: the two steps of "delete and rederive" (Gupta, Mumick and Subrahmanian
//! 1993). Two are needed, since a register that a loop reads no longer would keep itself alive around it:
//! ```text
//! L: ...              // was: add r2, r2, r1
//!    @p bra L;        // r1 is live out of the block since it is live into it, and into it since it is live out of it
//! ```
//! The cost is that of the blocks through which the register lived or lives, with their edges.

use super::super::liveness::{Boundary, DENSE_WORDS_MAX, LiveSet, killed};
use super::AT_LEAVING;
use crate::bits::{self, BitMatrix};
use crate::forms::FormTable;
use crate::store::view::FunctionView;
use ahash::AHashSet;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::operand::reads;

/// A set of registers a block: rows of bits, or sets where rows would be large.
pub(super) enum Rows {
    Dense(BitMatrix),
    Sparse(Vec<AHashSet<VRegId>>),
}

impl Default for Rows {
    fn default() -> Self {
        Self::Dense(BitMatrix::new())
    }
}

impl Rows {
    fn reset(&mut self, block_count: usize, vreg_count: usize) {
        let is_large = block_count * BitMatrix::stride_for(vreg_count) > DENSE_WORDS_MAX;
        match self {
            Self::Dense(rows) if !is_large => rows.reset(block_count, vreg_count),
            Self::Sparse(sets) if is_large => {
                sets.iter_mut().for_each(|set| set.clear());
                sets.resize_with(block_count, AHashSet::default);
            }
            Self::Sparse(_) => *self = Self::Dense(BitMatrix::with_shape(block_count, vreg_count)),
            Self::Dense(_) => *self = Self::Sparse(vec![AHashSet::default(); block_count]),
        }
    }

    fn grow(&mut self, vreg_count: usize) {
        if let Self::Dense(rows) = self
            && rows.bit_count() < vreg_count
        {
            // Half as many again: registers come one by one, and each growth moves all rows.
            rows.grow(rows.row_count(), vreg_count + vreg_count / 2);
        }
    }

    pub(super) fn has(&self, block: BlockId, vreg: VRegId) -> bool {
        match self {
            Self::Dense(rows) => rows.test(block.index(), vreg.index()),
            Self::Sparse(sets) => sets[block.index()].contains(&vreg),
        }
    }

    fn put(&mut self, block: BlockId, vreg: VRegId, is_member: bool) {
        match self {
            Self::Dense(rows) if is_member => rows.set(block.index(), vreg.index()),
            Self::Dense(rows) => rows.clear(block.index(), vreg.index()),
            Self::Sparse(sets) if is_member => {
                sets[block.index()].insert(vreg);
            }
            Self::Sparse(sets) => {
                sets[block.index()].remove(&vreg);
            }
        }
    }

    /// Calls `visit` with each member of a block's set.
    pub(super) fn each(&self, block: BlockId, mut visit: impl FnMut(VRegId)) {
        match self {
            Self::Dense(rows) => bits::ones(rows.row(block.index())).map(VRegId::new).for_each(visit),
            Self::Sparse(sets) => sets[block.index()].iter().for_each(|&vreg| visit(vreg)),
        }
    }
}

/// The live sets of a function, and what its blocks do to them. Unreachable blocks have empty sets.
#[derive(Default)]
pub(super) struct Lives {
    /// Read before they are defined.
    gens: Rows,
    /// Defined for certain.
    kills: Rows,
    pub(super) live_in: Rows,
    pub(super) live_out: Rows,
    boundary: Boundary,
    /// Registers that are read where control leaves the function.
    outside: Vec<VRegId>,
    /// Block and register of which the first now reads or defines the second otherwise.
    affected: Vec<(BlockId, VRegId)>,
    /// What was taken out, to be looked at again.
    taken: Vec<(BlockId, VRegId)>,
    waiting: Vec<(BlockId, VRegId)>,
    /// Registers that a block names, and whether it read and defined them before.
    did: Vec<(VRegId, Option<(bool, bool)>)>,
}

/// Registers that are read where control leaves a function.
#[derive(Clone, Copy)]
pub(super) struct Outside<'a> {
    boundary: Boundary,
    vregs: &'a [VRegId],
}

impl<'a> Outside<'a> {
    /// Those that `head` reads without naming them.
    pub(super) fn read_by(
        self,
        function: &FunctionView<'a>,
        forms: &FormTable,
        head: &InstHead,
    ) -> impl Iterator<Item = VRegId> + use<'a> {
        let (read, vregs) = (self.boundary.read_by(head, forms), function.vregs);
        let is_read = move |vreg: &VRegId| vregs[vreg.index()].flags.intersects(read);
        self.vregs.iter().copied().filter(is_read)
    }

    /// Those that are read after the end of `block` without being live out of it: control leaves there.
    pub(super) fn at_end_of(self, function: &FunctionView<'_>, block: BlockId) -> &'a [VRegId] {
        if function.succs(block).is_empty() { self.vregs } else { &[] }
    }
}

impl Lives {
    /// Takes over the sets of a function, which are current, and empties what blocks do.
    pub(super) fn start(&mut self, function: &FunctionView<'_>, set: &LiveSet) {
        let (block_count, vreg_count) = (function.blocks.len(), function.vregs.len());
        for rows in [&mut self.gens, &mut self.kills, &mut self.live_in, &mut self.live_out] {
            rows.reset(block_count, vreg_count);
        }
        for block in function.block_ids() {
            set.live_in_vregs(block).for_each(|vreg| self.live_in.put(block, vreg, true));
            set.live_out_vregs(block).for_each(|vreg| self.live_out.put(block, vreg, true));
        }
        self.boundary = Boundary::of(function);
        let is_outside = |vreg: &VRegId| function.vregs[vreg.index()].flags.intersects(AT_LEAVING);
        self.outside.clear();
        self.outside.extend(function.vreg_ids().filter(is_outside));
        self.affected.clear();
    }

    pub(super) fn grow(&mut self, vreg_count: usize) {
        for rows in [&mut self.gens, &mut self.kills, &mut self.live_in, &mut self.live_out] {
            rows.grow(vreg_count);
        }
    }

    /// Registers that are read where control leaves the function.
    pub(super) fn outside(&self) -> Outside<'_> {
        Outside { boundary: self.boundary, vregs: &self.outside }
    }

    /// Looks again at what `block` does, whose instructions named `named` before and may have changed.
    pub(super) fn look_at(
        &mut self,
        function: &FunctionView<'_>,
        forms: &FormTable,
        block: BlockId,
        named: impl Iterator<Item = VRegId>,
    ) {
        let Self { gens, kills, boundary, outside, affected, did, .. } = self;
        let outside = Outside { boundary: *boundary, vregs: outside };
        did.clear();
        for vreg in named {
            did.push((vreg, Some((gens.has(block, vreg), kills.has(block, vreg)))));
            gens.put(block, vreg, false);
            kills.put(block, vreg, false);
        }
        let read = |vreg: VRegId, gens: &mut Rows, did: &mut Vec<_>| {
            gens.put(block, vreg, true);
            did.push((vreg, None));
        };
        outside.at_end_of(function, block).iter().for_each(|&vreg| read(vreg, gens, did));
        for inst in function.insts_of(block).rev() {
            let (head, operands) = (&function.heads[inst.index()], function.operands_of(inst));
            for vreg in killed(operands, head.opcode.is_guarded()) {
                gens.put(block, vreg, false);
                kills.put(block, vreg, true);
                did.push((vreg, None));
            }
            outside.read_by(function, forms, head).for_each(|vreg| read(vreg, gens, did));
            reads(operands).for_each(|vreg| read(vreg, gens, did));
        }
        // Of the entries of a register, the one that says what held comes first.
        did.sort_unstable_by_key(|&(vreg, held)| (vreg, held.is_none()));
        did.dedup_by_key(|(vreg, _)| *vreg);
        for &(vreg, held) in &*did {
            if (gens.has(block, vreg), kills.has(block, vreg)) != held.unwrap_or_default() {
                affected.push((block, vreg));
            }
        }
    }

    /// Forgets what was found to do otherwise: the sets are those of the function as it is.
    pub(super) fn trust(&mut self) {
        self.affected.clear();
    }

    /// Brings the sets up to date; calls `change` before a register enters or leaves a live-out set.
    pub(super) fn spread(
        &mut self,
        function: &FunctionView<'_>,
        mut change: impl FnMut(&Rows, BlockId, VRegId, bool),
    ) {
        let Self { gens, kills, live_in, live_out, affected, taken, waiting, .. } = self;
        affected.retain(|(block, _)| function.orders[block.index()].is_reachable());
        taken.clear();
        waiting.clear();
        waiting.extend(affected.iter().copied().filter(|&(block, vreg)| live_in.has(block, vreg)));
        while let Some((block, vreg)) = waiting.pop() {
            if !live_in.has(block, vreg) {
                continue;
            }
            live_in.put(block, vreg, false);
            taken.push((block, vreg));
            for &pred in function.preds(block) {
                if live_out.has(pred, vreg) {
                    change(live_out, pred, vreg, false);
                    live_out.put(pred, vreg, false);
                    taken.push((pred, vreg));
                    if !gens.has(pred, vreg) {
                        waiting.push((pred, vreg));
                    }
                }
            }
        }
        waiting.append(affected);
        waiting.append(taken);
        while let Some((block, vreg)) = waiting.pop() {
            if !live_out.has(block, vreg) && function.succs(block).iter().any(|&succ| live_in.has(succ, vreg))
            {
                change(live_out, block, vreg, true);
                live_out.put(block, vreg, true);
            }
            let is_in = gens.has(block, vreg) || (live_out.has(block, vreg) && !kills.has(block, vreg));
            if is_in && !live_in.has(block, vreg) {
                live_in.put(block, vreg, true);
                let preds =
                    function.preds(block).iter().filter(|pred| function.orders[pred.index()].is_reachable());
                waiting.extend(preds.map(|&pred| (pred, vreg)));
            }
        }
    }
}
