//! Registers that may be read before anything is written into them.
//!
//! Live sets answer nearly: a register that lives into the entry block was not written on some path to a use. But a guarded
//! write does not end a life there, and that is how compilers write a value on two conditions:
//! ```text
//! @p  mov.u32 r, 1;
//! @!p mov.u32 r, 2;      // with p unchanged in between, r is written
//! @p  mov.u32 s, 3;
//! @p  add.u32 t, s, 1;   // and this reads s only where it was written
//! ```
//! So the registers that live into the entry are looked at again, with the guards of each block in view. A write of a
//! component counts as a write. What the caller passes, and what was written before the function was entered, is
//! initialised.

use super::liveness::LiveSet;
use super::waiting::{Flow, Waiting};
use crate::bits::WORD_BITS;
use crate::store::view::FunctionView;
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, writes};
use ptxopt_components::vreg::VRegFlags;
use std::ops::Range;

/// A register, and the first instruction in the text that may read it without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uninitialised {
    /// The register.
    pub vreg: VRegId,
    /// The instruction.
    pub inst: InstId,
}

/// What holds a value when a function starts.
const INITIALISED: VRegFlags = VRegFlags::INPUT
    .union(VRegFlags::MODULE)
    .union(VRegFlags::INITIALISED)
    .union(VRegFlags::CARRY)
    .union(VRegFlags::PINNED);

/// Finds the registers of a function, whose live sets are `set`, that may be read before they are written.
#[must_use]
pub fn find(function: &FunctionView<'_>, set: &LiveSet) -> Vec<Uninitialised> {
    if function.blocks.is_empty() {
        return Vec::new();
    }
    let is_candidate = |vreg: &VRegId| !function.vregs[vreg.index()].flags.intersects(INITIALISED);
    let mut candidates: Vec<VRegId> = set.live_in_vregs(BlockId(0)).filter(is_candidate).collect();
    candidates.sort_unstable();
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut accesses = Accesses::new(function, &candidates);
    for block in function.block_ids() {
        accesses.visit(function, block);
    }
    let mut search = Search::new(function);
    let mut all = Vec::new();
    for (bundle, first) in candidates.chunks(BUNDLE).zip((0..).step_by(BUNDLE)) {
        search.run(function, &accesses, first..first + bundle.len());
        let inst = |at: usize| search.first_read(&accesses.reads[first + at], at);
        all.extend((0..).zip(bundle).filter_map(|(at, &vreg)| Some(Uninitialised { vreg, inst: inst(at)? })));
    }
    all
}

/// Registers that are searched for together.
const BUNDLE: usize = WORD_BITS;

/// A guard: a predicate and its sign.
type Guard = (VRegId, bool);

/// What blocks do to the candidates.
struct Accesses {
    /// By register: one more than its number among the candidates.
    number_of: Vec<u32>,
    /// By candidate: block and first instruction that reads it before the block writes it.
    reads: Vec<Vec<(BlockId, InstId)>>,
    /// By candidate: blocks that write it whatever the guards are.
    writes: Vec<Vec<BlockId>>,
    /// By candidate: one more than the last block that writes it whatever the guards are.
    written_in: Vec<u32>,
    /// Of writes of candidates under a guard: one more than the block, and which value of the predicate it was.
    written_under: AHashMap<(usize, Guard), (u32, u32)>,
    /// By register: how many instructions have written it.
    values: Vec<u32>,
}

impl Accesses {
    fn new(function: &FunctionView<'_>, candidates: &[VRegId]) -> Self {
        let mut number_of = vec![0; function.vregs.len()];
        for (number, vreg) in candidates.iter().enumerate() {
            number_of[vreg.index()] = number as u32 + 1;
        }
        let count = candidates.len();
        Self {
            number_of,
            reads: vec![Vec::new(); count],
            writes: vec![Vec::new(); count],
            written_in: vec![0; count],
            written_under: AHashMap::default(),
            values: vec![0; function.vregs.len()],
        }
    }

    /// The number of the candidate that an operand names.
    fn candidate(&self, operand: &Operand) -> Option<usize> {
        let number = self.number_of[operand.vreg()?.index()];
        number.checked_sub(1).map(|number| number as usize)
    }

    fn visit(&mut self, function: &FunctionView<'_>, block: BlockId) {
        for inst in function.insts_of(block) {
            let guard = function.guard_of(inst).and_then(|guard| match guard.kind() {
                OperandKind::Predicate { vreg, negated } => Some((vreg, negated)),
                _ => None,
            });
            let operands = function.operands_of(inst);
            for operand in operands.iter().filter(|operand| operand.is_use()) {
                let Some(number) = self.candidate(operand) else { continue };
                let is_written = self.written_in[number] == block.0 + 1
                    || guard.is_some_and(|guard| self.is_written_under(number, guard, block));
                let is_noted = self.reads[number].last().is_some_and(|&(noted, _)| noted == block);
                if !is_written && !is_noted {
                    self.reads[number].push((block, inst));
                }
            }
            // Guards are read before anything is written: the predicate changes after the instruction.
            for operand in operands.iter().filter(|operand| operand.is_definition()) {
                if let Some(number) = self.candidate(operand) {
                    self.write(number, guard, block);
                }
            }
            writes(operands).for_each(|vreg| self.values[vreg.index()] += 1);
        }
    }

    fn write(&mut self, number: usize, guard: Option<Guard>, block: BlockId) {
        let under = guard
            .filter(|&(predicate, negated)| !self.is_written_under(number, (predicate, !negated), block));
        if let Some(guard) = under {
            let value = self.values[guard.0.index()];
            self.written_under.insert((number, guard), (block.0 + 1, value));
        } else if std::mem::replace(&mut self.written_in[number], block.0 + 1) != block.0 + 1 {
            self.writes[number].push(block);
        }
    }

    /// Whether `block` has written a candidate under a guard whose predicate has not changed since.
    fn is_written_under(&self, number: usize, guard: Guard, block: BlockId) -> bool {
        let written = self.written_under.get(&(number, guard));
        written == Some(&(block.0 + 1, self.values[guard.0.index()]))
    }
}

/// The search forward from the entry, along paths that do not write a register; for the registers of a bundle at once, a bit
/// each.
struct Search {
    /// By block: registers with a path to its start.
    reached: Vec<u64>,
    /// By block: registers that it writes.
    written: Vec<u64>,
    waiting: Waiting,
}

impl Search {
    fn new(function: &FunctionView<'_>) -> Self {
        let mut waiting = Waiting::default();
        waiting.reset(function, Flow::Forward);
        let clear = vec![0; function.blocks.len()];
        Self { reached: clear.clone(), written: clear, waiting }
    }

    /// Searches for some candidates, [`BUNDLE`] at most.
    fn run(&mut self, function: &FunctionView<'_>, accesses: &Accesses, candidates: Range<usize>) {
        let Self { reached, written, waiting } = self;
        reached.fill(0);
        written.fill(0);
        for (at, number) in candidates.enumerate() {
            accesses.writes[number].iter().for_each(|block| written[block.index()] |= 1 << at);
            reached[0] |= 1 << at;
        }
        waiting.push(BlockId(0));
        while let Some(block) = waiting.pop() {
            let unwritten = reached[block.index()] & !written[block.index()];
            for &succ in function.succs(block) {
                if unwritten & !reached[succ.index()] != 0 {
                    reached[succ.index()] |= unwritten;
                    waiting.push(succ);
                }
            }
        }
    }

    /// The first instruction in the text that such a path leads to, of those that read the register with bit `at`.
    fn first_read(&self, reads: &[(BlockId, InstId)], at: usize) -> Option<InstId> {
        let is_reached = |(block, _): &&(BlockId, InstId)| self.reached[block.index()] >> at & 1 == 1;
        reads.iter().filter(is_reached).map(|&(_, inst)| inst).min()
    }
}
