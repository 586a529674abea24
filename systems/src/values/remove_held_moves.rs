//! Remove moves to registers that hold already what the move writes, whatever way control came.
//!
//! Source phase  81 LateArchOptimizeSecond (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        tombstones
//! Needs         control flow ends its block; no SSA form; instruction ids in program order
//! Leaves        no move before which, on every way from the start of the function, the last write of its register is a move of the same
//!               number, or of the same register with the value that it has now, or the move the other way; but for what the limit of
//!               the walk leaves
//! Breaks        liveness, uniformity, definitions
//! Cost          a pass over operations; where two moves to one register have the same source, or two registers are moved to one another,
//!               one over results, and a walk back over at most [`ROWS_MAX`] rows for each of these moves
//! Papers        Click 1995, section 4 (assume that all are equal, look for what says otherwise): a way that comes back to a block that was
//!               looked at says nothing
//! Checked by    check/definitions.rs; random kernels on the emulator, in values/move_tests.rs; the judge
//!
//! # How it works
//! ```text
//!     mov.b32 sum, 0;
//!     @p bra TAIL;
//!     mov.b32 sum, 0;          // goes
//! LOOP: ...
//! ```
//! A loop and the code for what is left of its rounds start with the same number. In SSA form these are two values of phis, and neither
//! is too many; where the phis become one register, both moves are there. Front ends that leave SSA form the same way write them, too.
//!
//! # The other way
//! ```text
//! L:  mov.b32 old, sum;
//!     ...
//!     mov.b32 sum, old;        // goes
//!     @p bra JOIN;
//!     add.s32 sum, old, 1;
//! JOIN: ...; bra L;
//! ```
//! The value of a loop and that of a join which leads back become one register, and the value of the round before another.
//!
//! # Guards
//! A guarded move of the same source leaves what was there, or writes the same: the walk goes on before it. Any other write ends it.
//!
//! # The limit, measured
//! Without the move the register keeps its number from the moves before on, where it was free. Instructions that `ptxopt batch` leaves of the
//! wild set, CuPy's library and cuBLASLt, with 8, 16, 32, 64 and 1,000 rows: 1,302,267, 1,301,611, 1,301,274, 1,301,104 and 1,300,241; 467,224
//! and four times 465,166; 1,380,688, 1,379,801, 1,377,570, 1,372,593 and 1,367,724. Of 26 kernels of cuBLASLt `ptxas` 13.0.88 gives three more
//! registers with 1,000 rows, two of them 48 for 40, and none with 32; of 52 others of cuBLASLt and cuDNN one has 142 for 162 with 1,000.
//! It makes 0.9 and 0.6 % fewer machine instructions with 1,000 rows, and 0.4 and 0.3 % with 32 (`compared`, -O3).
//!
//! # What is not looked at
//! Where a way from the start of the function leads past all writes, the register holds nothing there, and the move stays.

use super::variable_moves::{Move, VariableMoves, find_repeated};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::writes;
use ptxopt_engine::bits;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;

/// Phase 81.
pub const PHASE: Phase = Phase {
    name: "remove_held_moves",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    breaks: Fact::OF_INSTRUCTIONS,
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Rows that are looked at before one move, on all ways together; a part of a block counts as one more.
pub const ROWS_MAX: u32 = 32;

/// Works on every function that is not in SSA form.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        if !f.state().flags.contains(CodeFlags::SSA) {
            remove(&mut f, &mut scratch);
        }
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    moves: VariableMoves,
    /// The moves by register and source.
    sorted: Vec<Move>,
    /// Moves that have the same register and source as another one, in the order of the text.
    repeated: Vec<Move>,
    writes: Writes,
    walk: Walk,
    redundant: Vec<InstId>,
}

/// Removes the redundant moves of a function, as far as the bisect limit allows.
pub fn remove(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) {
    let Scratch { moves, sorted, repeated, writes, walk, redundant } = scratch;
    moves.collect_all(f);
    find_repeated(&moves.all, key, sorted, repeated);
    // After `mov.pred p, !p` a second one writes something else.
    repeated.retain(|found| found.operand.vreg() != Some(found.to));
    if repeated.is_empty() {
        return;
    }
    writes.collect(f, repeated);
    walk.start(f.view().blocks.len());
    // What a move reads is read by the moves that write the same before it, and what these write is read behind it; but a guard may be
    // read no more, nor what moves the other way write.
    let mut has_nothing_dead = f.remembers(Memo::NothingDead);
    redundant.clear();
    for found in &*repeated {
        match walk.is_held(f, writes, found) {
            Held::OnEveryWay => {
                has_nothing_dead &= found.guard.is_none() && !walk.met_other_way;
                redundant.push(found.inst);
            }
            Held::PerhapsNot => {}
            Held::NotKnown => {
                f.stats().limits_hit += 1;
                f.missed(f.offset_of(found.inst), "too far from the writes of its register");
            }
        }
    }
    f.delete_each(redundant, "the register holds this already");
    if has_nothing_dead {
        f.remember(Memo::NothingDead);
    }
}

/// A place where a register is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Write {
    vreg: VRegId,
    block: BlockId,
    inst: InstId,
}

/// Where the registers of some moves are written.
#[derive(Default)]
struct Writes {
    /// By register, block and place in the text.
    all: Vec<Write>,
    /// The registers, as a set.
    watched: Vec<u64>,
}

impl Writes {
    fn collect(&mut self, f: &FunctionEditor<'_>, moves: &[Move]) {
        let function = f.view();
        self.watched.clear();
        self.watched.resize(function.vregs.len().div_ceil(64), 0);
        for vreg in moves.iter().flat_map(|found| [Some(found.to), found.operand.vreg()]).flatten() {
            bits::set(&mut self.watched, vreg.index());
        }
        self.all.clear();
        for (inst, head, operands) in function.rows() {
            let watched = writes(operands).filter(|vreg| bits::test(&self.watched, vreg.index()));
            self.all.extend(watched.map(|vreg| Write { vreg, block: head.block, inst }));
        }
        self.all.sort_unstable();
    }

    /// The last instruction of `block` before `end` that writes a register, or what a move to it reads.
    fn last_before(&self, found: &Move, block: BlockId, end: InstId) -> Option<InstId> {
        let last = |vreg| {
            let place = Write { vreg, block, inst: end };
            let before = self.all.partition_point(|&write| write < place);
            let write = before.checked_sub(1).map(|last| self.all[last])?;
            ((write.vreg, write.block) == (vreg, block)).then_some(write.inst)
        };
        last(found.to).max(found.operand.vreg().and_then(last))
    }
}

/// Whether a register holds what a move writes.
enum Held {
    OnEveryWay,
    PerhapsNot,
    /// The limit was reached.
    NotKnown,
}

/// Memory of the walk back.
#[derive(Default)]
struct Walk {
    /// By block: the last walk that came to its end.
    seen_by: Vec<u32>,
    /// The number of this walk, from 1.
    number: u32,
    /// Before which instruction of which block to look.
    open: Vec<(BlockId, InstId)>,
    /// Whether this walk came to a move the other way.
    met_other_way: bool,
}

impl Walk {
    /// Starts with a function of this many blocks.
    fn start(&mut self, block_count: usize) {
        self.seen_by.clear();
        self.seen_by.resize(block_count, 0);
        self.number = 0;
    }

    /// Walks back from a move to the last writes of its register.
    fn is_held(&mut self, f: &FunctionEditor<'_>, writes: &Writes, found: &Move) -> Held {
        self.number += 1;
        self.met_other_way = false;
        self.open.clear();
        self.open.push((found.block, found.inst));
        let function = f.view();
        let mut rows_left = ROWS_MAX;
        while let Some((block, end)) = self.open.pop() {
            let write = writes.last_before(found, block, end);
            let first = write.map_or(function.blocks[block.index()].insts.first, |write| write.0);
            // An empty block counts, too.
            let Some(left) = u32::checked_sub(rows_left, end.0 - first + 1) else { return Held::NotKnown };
            rows_left = left;
            let Some(write) = write else {
                let preds = function.preds(block);
                if preds.is_empty() {
                    return Held::PerhapsNot;
                }
                // Each takes one row at least, but for those that a table names twice.
                if preds.len() > ROWS_MAX as usize {
                    return Held::NotKnown;
                }
                let Self { seen_by, number, open, .. } = self;
                let mut is_new =
                    |pred: BlockId| std::mem::replace(&mut seen_by[pred.index()], *number) != *number;
                let new = preds.iter().copied().filter(|&pred| is_new(pred));
                open.extend(new.map(|pred| (pred, InstId::new(function.blocks[pred.index()].insts.end()))));
                continue;
            };
            match Move::of(f, write).filter(|write| key(write) == key(found)) {
                Some(Move { guard: None, to, .. }) => self.met_other_way |= to != found.to,
                Some(guarded) => self.open.push((block, guarded.inst)),
                None => return Held::PerhapsNot,
            }
        }
        Held::OnEveryWay
    }
}

/// What holds behind a move: a register holds a number, or two registers hold the same, or one what the other does not. The order of the
/// two says nothing.
fn key(found: &Move) -> (u64, (u8, usize, u64)) {
    let (to, (ty, pattern, number)) = (u64::from(found.to.0), found.source.key());
    match found.operand.vreg() {
        Some(_) => (to.min(number), (ty, pattern, to.max(number))),
        None => (to, (ty, pattern, number)),
    }
}
