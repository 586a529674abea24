//! The solver: lowers cells and goes along ways until nothing changes.
//!
//! ```text
//! a block is reached:  its instructions are looked at, and the way out of it
//! a cell falls:        what reads the register is looked at again; a phi, where control comes from that block
//! a way is taken:      its target is reached, and takes in its phis what comes along it
//! ```

use super::lattice::Cell;
use super::transfer::Transfer;
use super::ways::Way;
use super::{phi_source, starts_as};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::definitions;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::DefUse;
use ptxopt_engine::values::phis::phis_of;

/// A value that a phi takes from a block.
#[derive(Clone, Copy)]
struct Pair {
    phi: InstId,
    /// The operand of the phi.
    position: u32,
    /// The next pair of the same block.
    next: u32,
}

const NONE: u32 = u32::MAX;

/// What was found about one function, and the memory to find it.
#[derive(Default)]
pub(super) struct Solver {
    /// By register.
    cells: Vec<Cell>,
    /// By block.
    ways: Vec<Way>,
    /// By block: control comes there.
    is_reached: Vec<bool>,
    def_use: DefUse,
    /// By block: the first of the pairs that name it.
    first_pair: Vec<u32>,
    pairs: Vec<Pair>,
    /// Reached, and not looked at yet.
    blocks: Vec<BlockId>,
    /// Fallen, and not followed yet.
    fallen: Vec<VRegId>,
}

impl Solver {
    /// What a register holds wherever it is written.
    pub(super) fn cell(&self, vreg: VRegId) -> Cell {
        self.cells[vreg.index()]
    }

    /// The instruction that defines a register, if it is one.
    pub(super) fn definition(&self, vreg: VRegId) -> Option<InstId> {
        self.def_use.only_def(vreg).map(|at| at.inst)
    }

    /// Whether control comes to a block.
    pub(super) fn is_reached(&self, block: BlockId) -> bool {
        self.is_reached[block.index()]
    }

    /// Whether control goes from one block to another.
    pub(super) fn leads_to(&self, from: BlockId, to: BlockId) -> bool {
        self.ways[from.index()].leads_to(to)
    }

    /// Solves a function in SSA form that control enters at `entry`.
    pub(super) fn solve(&mut self, function: &FunctionView<'_>, forms: &FormTable, entry: BlockId) {
        self.start(function);
        // It stays as it is while cells fall.
        let def_use = std::mem::take(&mut self.def_use);
        self.reach(entry);
        loop {
            if let Some(vreg) = self.fallen.pop() {
                for at in def_use.uses(vreg) {
                    self.look_again(function, forms, at.inst, at.position);
                }
            } else if let Some(block) = self.blocks.pop() {
                self.look_at(function, forms, block);
            } else {
                break;
            }
        }
        self.def_use = def_use;
    }

    fn start(&mut self, function: &FunctionView<'_>) {
        let Self { cells, ways, is_reached, def_use, first_pair, pairs, blocks, fallen } = self;
        let block_count = function.blocks.len();
        def_use.build(function);
        cells.clear();
        cells.extend(function.vreg_ids().map(|vreg| {
            let is_defined = def_use.only_def(vreg).is_some();
            if is_defined { starts_as(function.vregs[vreg.index()]) } else { Cell::Bottom }
        }));
        ways.clear();
        ways.resize(block_count, Way::Nowhere);
        is_reached.clear();
        is_reached.resize(block_count, false);
        blocks.clear();
        fallen.clear();
        first_pair.clear();
        first_pair.resize(block_count, NONE);
        pairs.clear();
        for (phi, operands) in function.block_ids().flat_map(|block| phis_of(function, block)) {
            for (position, operand) in operands.iter().enumerate() {
                let Some(from) = operand.as_block() else { continue };
                let next = std::mem::replace(&mut first_pair[from.index()], pairs.len() as u32);
                pairs.push(Pair { phi, position: position as u32 + 1, next });
            }
        }
    }

    fn reach(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.is_reached[block.index()], true) {
            self.blocks.push(block);
        }
    }

    fn lower(&mut self, vreg: VRegId, to: Cell) {
        let cell = &mut self.cells[vreg.index()];
        let met = cell.meet(to);
        if met != *cell {
            *cell = met;
            self.fallen.push(vreg);
        }
    }

    fn look_at(&mut self, function: &FunctionView<'_>, forms: &FormTable, block: BlockId) {
        let mut last = None;
        for (inst, head, _) in function.rows_of(block).filter(|(_, head, _)| !head.is_phi()) {
            self.visit(function, forms, inst);
            last = Some(head);
        }
        if last.is_none_or(|last| !last.marks.contains(Marks::CONTROL)) {
            self.take(function, block, Way::Everywhere);
        }
    }

    /// Looks at the operand of an instruction again, which reads a register that has fallen.
    fn look_again(&mut self, function: &FunctionView<'_>, forms: &FormTable, inst: InstId, position: usize) {
        let head = &function.heads[inst.index()];
        if !self.is_reached(head.block) {
            return;
        }
        if !head.is_phi() {
            // What else has several results has let them fall when it was first looked at.
            let transfer = Transfer { function, forms, inst };
            if transfer.only_result().is_some() || transfer.unpacks() || head.marks.contains(Marks::CONTROL) {
                self.visit(function, forms, inst);
            }
            return;
        }
        let from =
            function.operands_of(inst)[position - 1].as_block().expect("a block stands before a value");
        if self.leads_to(from, head.block) {
            self.take_in(function, inst, position);
        }
    }

    /// What comes to a phi in one of its operands.
    fn take_in(&mut self, function: &FunctionView<'_>, phi: InstId, position: usize) {
        let operands = function.operands_of(phi);
        let value = phi_source(function, phi, operands[position], &mut |vreg| self.cell(vreg));
        self.lower(operands[0].vreg().expect("a phi has a result"), value);
    }

    /// Looks at an instruction that is no phi.
    fn visit(&mut self, function: &FunctionView<'_>, forms: &FormTable, inst: InstId) {
        let transfer = Transfer { function, forms, inst };
        match transfer.only_result() {
            Some(result) if self.cell(result) == Cell::Bottom => {}
            Some(result) => {
                let cell = transfer.result(&mut |vreg| self.cell(vreg));
                self.lower(result, cell);
            }
            None => {
                for (vreg, _) in definitions(function.operands_of(inst)) {
                    let cell = transfer.part(vreg, &mut |vreg| self.cell(vreg));
                    self.lower(vreg, cell);
                }
            }
        }
        let head = &function.heads[inst.index()];
        if head.marks.contains(Marks::CONTROL) {
            let way = Way::from(function, forms, inst, &mut |vreg| self.cell(vreg));
            self.take(function, head.block, way);
        }
    }

    /// Goes along what is new of a way out of a block.
    fn take(&mut self, function: &FunctionView<'_>, block: BlockId, new: Way) {
        let old = self.ways[block.index()];
        let way = old.meet(new);
        if way == old {
            return;
        }
        self.ways[block.index()] = way;
        let mut at = self.first_pair[block.index()];
        while let Some(&Pair { phi, position, next }) = self.pairs.get(at as usize) {
            let to = function.heads[phi.index()].block;
            if way.leads_to(to) && !old.leads_to(to) {
                self.take_in(function, phi, position as usize);
            }
            at = next;
        }
        for &succ in function.succs(block).iter().filter(|&&succ| way.leads_to(succ)) {
            self.reach(succ);
        }
    }
}
