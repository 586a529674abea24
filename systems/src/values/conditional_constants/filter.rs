//! Whether solving may find anything that folding in program order does not: a look at phis, and at definitions and branches that
//! are close to them.
//!
//! It may say yes for nothing, which costs time. Where it says no, folding finds nearly all: what is passed over are phis that each
//! rest on a branch that another one of them decides, and long chains. A branch that is decided without any of them is
//! deleted by the phases on branches, after which general optimization runs again.

use super::lattice::Cell;
use super::transfer::Transfer;
use super::ways::Way;
use super::{phi_source, starts_as};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, reads};
use ptxopt_components::operation::Operation;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};
use ptxopt_engine::values::reaching::Reaching;

/// Definitions that one value is followed through. What is farther away is taken for what differs in every round, as most values
/// that are computed in a loop do.
const DEPTH_MAX: u32 = 6;
/// Definitions that one question looks at.
const DEFINITIONS_MAX: u32 = 24;
/// Branches before the end of a block that are asked whether they are decided.
const BRANCHES_MAX: usize = 2;
/// Moves that a constant is followed through.
const MOVES_MAX: u32 = 4;
/// Values of a phi that are looked at where another one reads it: otherwise phis of many values that read one another would cost
/// the square of their number.
const PAIRS_MAX: usize = 8;

/// A function, and a guess about one of its phis.
struct Guess<'g> {
    function: &'g FunctionView<'g>,
    forms: &'g FormTable,
    reaching: &'g Reaching,
    /// The result of the phi, and what is assumed of it.
    assumed: Option<(VRegId, Cell)>,
    /// The results of other phis that are being looked at, which add nothing to themselves.
    open: [Option<VRegId>; DEPTH_MAX as usize + 1],
    definitions_left: u32,
    /// Blocks at whose end no guess decides where control goes: seen from next to it, without a look at what is assumed.
    undecided: &'g mut Vec<bool>,
    /// Whether an answer rests on what is assumed, or on how much was looked at before.
    rests_on_guess: bool,
}

/// Whether some phi looks as if it could be a constant.
pub(super) fn may_find(
    function: &FunctionView<'_>,
    forms: &FormTable,
    reaching: &Reaching,
    undecided: &mut Vec<bool>,
) -> bool {
    undecided.clear();
    undecided.resize(function.blocks.len(), false);
    let mut guess = Guess {
        function,
        forms,
        reaching,
        assumed: None,
        open: [None; DEPTH_MAX as usize + 1],
        definitions_left: 0,
        undecided,
        rests_on_guess: false,
    };
    let blocks = reaching.tree().reverse_postorder();
    let mut phis = blocks.iter().flat_map(|&block| phis_of(function, block));
    phis.any(|(phi, operands)| is_new(function, reaching, phi, operands) && guess.is_constant(phi, operands))
}

/// Whether a phi, what computes one of its values, a branch before it or what that asks was written since the last time: else
/// the phi was looked at then.
fn is_new(function: &FunctionView<'_>, reaching: &Reaching, phi: InstId, operands: &[Operand]) -> bool {
    let was_written = |inst: InstId| !function.heads[inst.index()].marks.contains(Marks::SETTLED);
    let is_written = |vreg: VRegId| reaching.only_definition(vreg).is_some_and(was_written);
    let asks_anew = |from: BlockId| {
        let Some(branch) = function.insts_of(from).next_back() else { return false };
        was_written(branch) || reads(function.operands_of(branch)).any(is_written)
    };
    was_written(phi) || reads(operands).any(is_written) || incoming(operands).any(|(from, _)| asks_anew(from))
}

impl Guess<'_> {
    /// Whether a phi that has `operands` could be a constant: one of its values is, and where the phi itself holds that, no other
    /// one is known to differ that comes by a way which may be taken.
    fn is_constant(&mut self, phi: InstId, operands: &[Operand]) -> bool {
        let Some(bits) = incoming(operands).find_map(|(_, value)| self.constant(phi, value)) else {
            return false;
        };
        let Some(result) = operands[0].vreg() else { return false };
        if starts_as(self.function.vregs[result.index()]) == Cell::Bottom {
            return false;
        }
        self.assumed = Some((result, Cell::Constant(bits)));
        self.definitions_left = DEFINITIONS_MAX;
        self.meet(phi, DEPTH_MAX) == Cell::Constant(bits)
    }

    /// A value of a phi that is a literal, or was made of literals alone, and moved perhaps.
    fn constant(&self, phi: InstId, value: Operand) -> Option<u64> {
        let mut of_literals = |vreg| self.of_literals(vreg, MOVES_MAX).unwrap_or(Cell::Bottom);
        phi_source(self.function, phi, value, &mut of_literals).bits()
    }

    /// What a register is that was made of literals alone, `moves_max` moves before at most.
    fn of_literals(&self, vreg: VRegId, moves_max: u32) -> Option<Cell> {
        let inst = self.reaching.only_definition(vreg)?;
        let form = self.forms.get(self.function.heads[inst.index()].form);
        let reads_none = reads(self.function.operands_of(inst)).next().is_none();
        let may_be = reads_none || form.operation == Operation::Mov && moves_max > 0;
        let transfer = Transfer { function: self.function, forms: self.forms, inst };
        let is_value = may_be && transfer.only_result().is_some() && !transfer.is_phi();
        let mut moved = |from| self.of_literals(from, moves_max - 1).unwrap_or(Cell::Bottom);
        is_value.then(|| transfer.result(&mut moved))
    }

    /// What the values of a phi have in common that come by ways which may be taken.
    fn meet(&mut self, phi: InstId, depth: u32) -> Cell {
        let function = self.function;
        let block = function.heads[phi.index()].block;
        let mut met = Cell::Top;
        for (from, value) in incoming(function.operands_of(phi)) {
            let value = phi_source(function, phi, value, &mut |vreg| self.value(vreg, depth));
            let both = met.meet(value);
            if both != Cell::Bottom {
                met = both;
            } else if !self.is_never_taken(from, block, depth) {
                return Cell::Bottom;
            }
        }
        met
    }

    /// Whether a branch that is decided, here or shortly before, keeps control from going from one block to another.
    fn is_never_taken(&mut self, from: BlockId, to: BlockId, depth: u32) -> bool {
        let function = self.function;
        let mut way = self.way(from, depth);
        if matches!(way, Way::To(target) if target != to) {
            return true;
        }
        let mut before = from;
        for _ in 0..BRANCHES_MAX {
            let Some(dominator) = function.orders[before.index()].idom.get() else { break };
            way = self.way(dominator, depth);
            if matches!(way, Way::To(target) if !self.reaching.tree().dominates(target, from)) {
                return true;
            }
            before = dominator;
        }
        false
    }

    /// Where control goes from the end of a block.
    fn way(&mut self, block: BlockId, depth: u32) -> Way {
        if self.undecided[block.index()] {
            return Way::Everywhere;
        }
        let (function, forms) = (self.function, self.forms);
        let last = function.insts_of(block).next_back();
        let branch = last.filter(|last| function.heads[last.index()].marks.contains(Marks::CONTROL));
        if depth == DEPTH_MAX {
            self.rests_on_guess = false;
        }
        let way = branch.map_or(Way::Everywhere, |branch| {
            Way::from(function, forms, branch, &mut |vreg| self.value(vreg, depth))
        });
        // From farther away less is seen.
        self.undecided[block.index()] = depth == DEPTH_MAX && way == Way::Everywhere && !self.rests_on_guess;
        way
    }

    /// What a register holds, as far as the definitions close to it tell.
    fn value(&mut self, vreg: VRegId, depth: u32) -> Cell {
        if let Some((assumed, cell)) = self.assumed
            && assumed == vreg
        {
            self.rests_on_guess = true;
            return cell;
        }
        if self.open.contains(&Some(vreg)) {
            return Cell::Top;
        }
        let definition = self.reaching.only_definition(vreg);
        let is_value = starts_as(self.function.vregs[vreg.index()]) == Cell::Top;
        let (Some(inst), Some(depth), Some(left)) =
            (definition.filter(|_| is_value), depth.checked_sub(1), self.definitions_left.checked_sub(1))
        else {
            self.rests_on_guess |= self.definitions_left == 0;
            return Cell::Bottom;
        };
        self.definitions_left = left;
        if self.function.heads[inst.index()].is_phi() {
            let operands = self.function.operands_of(inst);
            if operands.len() > 2 * PAIRS_MAX + 1 {
                return Cell::Bottom;
            }
            // The next guess may be about this one.
            self.rests_on_guess |= incoming(operands).any(|(_, value)| self.constant(inst, value).is_some());
            self.open[depth as usize] = Some(vreg);
            let met = self.meet(inst, depth);
            self.open[depth as usize] = None;
            return met;
        }
        let transfer = Transfer { function: self.function, forms: self.forms, inst };
        match transfer.only_result() {
            Some(_) => transfer.result(&mut |vreg| self.value(vreg, depth)),
            None => transfer.part(vreg, &mut |vreg| self.value(vreg, depth)),
        }
    }
}
