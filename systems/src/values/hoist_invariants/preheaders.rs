//! Blocks before loops, made where something moves into them.
//!
//! ```text
//!     @p bra DONE;                @p bra DONE;
//! L:  mul r2, r1, 3;       ->     mul r2, r1, 3;
//!     ...                     L:  ...
//! ```
//! The new block stands right before the header, so that what fell into the header falls through it: it costs no instruction.
//! Branches into the loop are led to it. What phis of the header took from several ways in, phis of the new block take.

use crate::flow::loop_entries::LoopEntries;
use crate::ssa::moves::operand_of;
use ptxopt_components::code_object::Room;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, Maybe};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::Operand;
use ptxopt_engine::edit::{Change, FunctionEditor};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};

/// A phi, and what comes from each predecessor.
type Pairs = (InstId, Vec<(BlockId, Operand)>);

/// Where instructions go.
#[derive(Clone, Copy)]
pub(super) struct Preheader {
    block: BlockId,
    /// The jump that they stand before, if there is one.
    before: Maybe<InstId>,
}

impl Preheader {
    /// Moves an instruction there, after those that were moved there before.
    pub(super) fn take(self, change: &mut Change<'_, '_>, inst: InstId) {
        match self.before.get() {
            Some(before) => change.move_before(inst, before),
            None => change.move_to_end(inst, self.block),
        }
    }
}

/// The blocks before the loops of a function.
#[derive(Default)]
pub(super) struct Preheaders {
    /// By loop: what stands before it, if that is known.
    known: Vec<Option<Preheader>>,
}

/// What a block before a loop takes.
struct Plan {
    header: BlockId,
    /// Branches from outside to the header.
    branches: Vec<InstId>,
    /// Phis of the header.
    phis: Vec<Pairs>,
}

impl Plan {
    /// What is needed to put a block before a loop.
    fn of(f: &FunctionEditor<'_>, nest: &LoopNest, id: LoopId) -> Self {
        let (function, forms) = f.view_and_forms();
        let header = nest.row(id).header;
        let ways_in = LoopEntries { function: &function, forms, header };
        let mut outside: Vec<BlockId> =
            function.preds(header).iter().copied().filter(|&pred| !nest.holds(id, pred)).collect();
        outside.sort_unstable();
        outside.dedup();
        let branches =
            outside.iter().filter_map(|&pred| ways_in.branch(pred).expect("the loop is open")).collect();
        let phis = phis_of(&function, header).map(|(phi, operands)| (phi, incoming(operands).collect()));
        Self { header, branches, phis: phis.collect() }
    }

    /// The rows that it takes.
    fn room(&self) -> Room {
        let phis = self.phis.len() as u32;
        Room { insts: phis, blocks: 1, vregs: phis }
    }

    /// Puts the block before the loop.
    fn make(&self, change: &mut Change<'_, '_>, nest: &LoopNest, id: LoopId) -> BlockId {
        let block = change.insert_block_before(self.header);
        for &branch in &self.branches {
            change.redirect(branch, block);
        }
        for (phi, pairs) in &self.phis {
            let (mut kept, outside): (Vec<_>, Vec<_>) =
                pairs.iter().copied().partition(|&(from, _)| nest.holds(id, from));
            let (_, first) = outside[0];
            let value = if outside.iter().all(|&(_, value)| value == first) {
                first
            } else {
                let result = change.operands_of(*phi)[0].vreg().expect("a phi has a result");
                let ty = change.function().vregs[result.index()].ty.element();
                let new = change.new_vreg(ty);
                change.phi_before(block, None, new, &outside);
                operand_of(ty, new)
            };
            kept.push((block, value));
            change.set_incoming(*phi, &kept);
        }
        block
    }
}

impl Preheaders {
    /// Forgets the function before.
    pub(super) fn start(&mut self, nest: &LoopNest) {
        self.known.clear();
        self.known.resize(nest.rows().len(), None);
    }

    /// Moves an instruction before a loop; gives nothing where the bisect limit is reached, or where the function has no
    /// room.
    pub(super) fn hoist(
        &mut self,
        f: &mut FunctionEditor<'_>,
        nest: &LoopNest,
        id: LoopId,
        inst: InstId,
    ) -> Option<()> {
        const REASON: &str = "the same in each round of a loop";
        let offset = f.offset_of(inst);
        let known = self.known[id.index()]
            .or_else(|| nest.row(id).preheader.get().and_then(|block| existing(&f.view(), block)));
        let preheader = match known {
            Some(preheader) => {
                preheader.take(&mut f.change_with_room(offset, REASON, ROOM_OF_A_MOVE)?, inst);
                preheader
            }
            None => {
                let plan = Plan::of(f, nest, id);
                let room = plan.room();
                let room = Room { insts: room.insts + ROOM_OF_A_MOVE.insts, ..room };
                let mut change = f.change_with_room(offset, REASON, room)?;
                let block = plan.make(&mut change, nest, id);
                let preheader = Preheader { block, before: Maybe::NONE };
                preheader.take(&mut change, inst);
                preheader
            }
        };
        self.known[id.index()] = Some(preheader);
        Some(())
    }
}

/// What an instruction leaves at its place, for anchors.
const ROOM_OF_A_MOVE: Room = Room { insts: 1, blocks: 0, vregs: 0 };

/// A block that leads to a header alone; none where threads may leave at its end instead, which then do not enter the loop.
fn existing(function: &FunctionView<'_>, block: BlockId) -> Option<Preheader> {
    let last = function.insts_of(block).next_back();
    let jump = last.filter(|last| function.heads[last.index()].marks.contains(Marks::CONTROL));
    let leaves = jump.is_some_and(|jump| function.guard_of(jump).is_some());
    (!leaves).then_some(Preheader { block, before: jump.map_or(Maybe::NONE, Maybe::some) })
}
