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
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, writes};
use ptxopt_components::vreg::VRegFlags;

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
    let mut search = Search::default();
    let found = |(number, &vreg): (usize, &VRegId)| {
        let inst = search.first_read(function, &accesses, number)?;
        Some(Uninitialised { vreg, inst })
    };
    candidates.iter().enumerate().filter_map(found).collect()
}

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
    /// Of the block: candidates that are written, under the guard if there is one.
    written: Vec<(usize, Option<Guard>)>,
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
            written: Vec::new(),
        }
    }

    /// The number of the candidate that an operand names.
    fn candidate(&self, operand: &Operand) -> Option<usize> {
        let number = self.number_of[operand.vreg()?.index()];
        number.checked_sub(1).map(|number| number as usize)
    }

    fn visit(&mut self, function: &FunctionView<'_>, block: BlockId) {
        self.written.clear();
        for inst in function.insts_of(block) {
            let guard = function.guard_of(inst).and_then(|guard| match guard.kind() {
                OperandKind::Predicate { vreg, negated } => Some((vreg, negated)),
                _ => None,
            });
            let operands = function.operands_of(inst);
            for operand in operands.iter().filter(|operand| operand.is_use()) {
                let Some(number) = self.candidate(operand) else { continue };
                let is_written = self.written.contains(&(number, None))
                    || guard.is_some_and(|guard| self.written.contains(&(number, Some(guard))));
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
            for vreg in writes(operands) {
                self.written.retain(|(_, guard)| guard.is_none_or(|(predicate, _)| predicate != vreg));
            }
        }
    }

    fn write(&mut self, number: usize, guard: Option<Guard>, block: BlockId) {
        let opposite = guard.map(|(predicate, negated)| (number, Some((predicate, !negated))));
        let is_whole = opposite.is_none_or(|opposite| self.written.contains(&opposite));
        let written = (number, if is_whole { None } else { guard });
        if !self.written.contains(&written) {
            self.written.push(written);
            if is_whole {
                self.writes[number].push(block);
            }
        }
    }
}

/// The search forward from the entry, along paths that do not write a register.
#[derive(Default)]
struct Search {
    /// By block: one more than the candidate for which it was last visited.
    visited_for: Vec<u32>,
    /// By block: one more than the candidate that it last was said to write.
    written_for: Vec<u32>,
    waiting: Vec<BlockId>,
}

impl Search {
    /// The first instruction in the text that such a path leads to and that reads candidate `number`.
    fn first_read(
        &mut self,
        function: &FunctionView<'_>,
        accesses: &Accesses,
        number: usize,
    ) -> Option<InstId> {
        let stamp = number as u32 + 1;
        for stamps in [&mut self.visited_for, &mut self.written_for] {
            stamps.resize(function.blocks.len(), 0);
        }
        accesses.writes[number].iter().for_each(|block| self.written_for[block.index()] = stamp);
        self.waiting.clear();
        self.waiting.push(BlockId(0));
        while let Some(block) = self.waiting.pop() {
            if std::mem::replace(&mut self.visited_for[block.index()], stamp) != stamp
                && self.written_for[block.index()] != stamp
            {
                self.waiting.extend(function.succs(block));
            }
        }
        let is_reached = |(block, _): &&(BlockId, InstId)| self.visited_for[block.index()] == stamp;
        accesses.reads[number].iter().filter(is_reached).map(|&(_, inst)| inst).min()
    }
}
