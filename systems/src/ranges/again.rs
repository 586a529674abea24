//! Which loads before a loop could be made again after it, where, and from what.

use super::chains::{Again, Remade, Spot, looks_max, spot_in};
use super::split_high_pressure::Split;
use crate::registers::Estimator;
use crate::values::movable::varies;
use ptxopt_components::form::Form;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};
use ptxopt_components::instruction::InstHead;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Modifiers;
use ptxopt_components::types::StateSpace;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::LiveSet;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::definitions::Defined;
use ptxopt_engine::values::reaching::{Place, Reaching, Value};

/// Instructions that may compute an address again.
const ADDRESS_INSTS_MAX: usize = 2;

/// Loops for which a load is looked at.
const LOOPS_MAX: usize = 8;

/// Loops that are asked about a load at the price of one look: a bit each.
const LOOPS_A_LOOK: usize = 16;

/// No load that is looked at.
const OTHER: u32 = u32::MAX;

/// A load of memory that nothing writes.
struct Load {
    inst: InstId,
    vreg: VRegId,
    is_const: bool,
    reads: Vec<(InstId, u32)>,
}

/// Finds what may be split.
#[derive(Default)]
pub(super) struct Finder {
    loads: Vec<Load>,
    /// By register: its load.
    load_of: Vec<u32>,
    /// By block: the first and the last instruction that writes memory, waits, or orders accesses.
    effects: Vec<Option<(InstId, InstId)>>,
    /// By block: the number of the walk that came there last.
    seen: Vec<u32>,
    number: u32,
    waiting: Vec<BlockId>,
    looks_left: usize,
    /// Constant memory first, then in the order of the text.
    pub found: Vec<Split>,
}

/// What is looked at: a function, and facts of it.
pub(super) struct Look<'a> {
    pub function: &'a FunctionView<'a>,
    pub forms: &'a FormTable,
    pub nest: &'a LoopNest,
    pub live: &'a LiveSet,
    pub estimator: &'a Estimator,
}

impl Finder {
    /// Lists the loads that could be made again; says whether there are any.
    pub fn list_loads(&mut self, (function, forms): &(FunctionView<'_>, &FormTable)) -> bool {
        self.loads.clear();
        for (inst, head, operands) in function.rows() {
            if head.opcode.is_guarded() {
                continue;
            }
            let Some(is_const) = is_load(forms, head, operands) else { continue };
            let mut results = writes(operands);
            let (Some(vreg), None) = (results.next(), results.next()) else { continue };
            if function.vregs[vreg.index()].is_own_scalar() {
                self.loads.push(Load { inst, vreg, is_const, reads: Vec::new() });
            }
        }
        !self.loads.is_empty()
    }

    /// Finds the splits of the listed loads at `over`, loops with too few registers, outer ones first; says whether a limit
    /// stopped it.
    pub fn find(&mut self, look: &Look<'_>, over: &[LoopId], reaching: &mut Reaching) -> bool {
        let Look { function, forms, nest, live, estimator } = *look;
        self.start(look);
        let loads = std::mem::take(&mut self.loads);
        for load in &loads {
            let Defined::Once(..) = reaching.definitions().defined(load.vreg) else { continue };
            if load.reads.is_empty() || !estimator.takes_register(load.vreg) {
                continue;
            }
            self.looks_left = self.looks_left.saturating_sub(over.len() / LOOPS_A_LOOK);
            let lives_through = |&&id: &&LoopId| live.is_live_in(nest.row(id).header, load.vreg);
            for &id in over.iter().filter(lives_through).take(LOOPS_MAX) {
                if let Some(mut split) = self.at_loop(look, reaching, load, id) {
                    let is_inside = |&(_, &inner): &(usize, &LoopId)| nest.holds(id, nest.row(inner).header);
                    split.loops =
                        over.iter().enumerate().filter(is_inside).map(|(number, _)| number).collect();
                    self.found.push(split);
                    break;
                }
            }
            if self.looks_left == 0 {
                break;
            }
        }
        let is_const = |split: &Split| {
            forms.get(function.heads[split.again.definition.index()].form).space == StateSpace::Const
        };
        self.found.sort_by_key(|split| (!is_const(split), split.again.insts.len()));
        self.loads = loads;
        self.looks_left == 0
    }

    fn start(&mut self, look: &Look<'_>) {
        let Look { function, forms, .. } = look;
        self.found.clear();
        self.looks_left = looks_max(function.heads.len());
        self.number = 0;
        self.seen.clear();
        self.seen.resize(function.blocks.len(), 0);
        self.effects.clear();
        self.effects.resize(function.blocks.len(), None);
        self.load_of.clear();
        self.load_of.resize(function.vregs.len(), OTHER);
        for (number, load) in self.loads.iter().enumerate() {
            self.load_of[load.vreg.index()] = number as u32;
        }
        for (inst, head, operands) in function.rows() {
            if has_side_effects(forms.get(head.form)) {
                self.effects[head.block.index()].get_or_insert((inst, inst)).1 = inst;
            }
            for (position, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
                let Some(vreg) = operand.vreg() else { continue };
                if let Some(load) = self.loads.get_mut(self.load_of[vreg.index()] as usize) {
                    load.reads.push((inst, position as u32));
                }
            }
        }
    }

    /// The split of a load at a loop through which its result lives.
    fn at_loop(
        &mut self,
        look: &Look<'_>,
        reaching: &mut Reaching,
        load: &Load,
        id: LoopId,
    ) -> Option<Split> {
        let Look { function, nest, .. } = *look;
        let header = nest.row(id).header;
        let block_of = |inst: InstId| function.heads[inst.index()].block;
        if load.reads.iter().any(|&(inst, _)| nest.holds(id, block_of(inst))) {
            return None;
        }
        let tree = reaching.tree();
        let is_after = |inst: InstId| tree.dominates(header, block_of(inst));
        let definition = block_of(load.inst);
        if !tree.is_reachable(definition) || !tree.dominates(definition, header) {
            return None;
        }
        let (after, before): (Vec<_>, Vec<_>) =
            load.reads.iter().copied().partition(|&(inst, _)| is_after(inst));
        if before.iter().any(|&(inst, _)| !tree.is_reachable(block_of(inst))) {
            return None;
        }
        let mut place = block_of(after.first()?.0);
        for &(inst, _) in &after {
            place = self.common(look, reaching, place, block_of(inst))?;
        }
        // Not in a loop that the one before is not in.
        while let Some(other) = nest.loop_of(place)
            && !nest.holds(other, header)
        {
            place = self.above(look, place)?;
        }
        if nest.holds(id, place) || !reaching.tree().dominates(header, place) {
            return None;
        }
        // What was read before must not be what keeps it alive.
        let starts = before.iter().map(|&(inst, _)| block_of(inst)).filter(|&block| block != definition);
        self.walk_back(look, starts, definition, |block| !nest.holds(id, block))?;
        if !load.is_const && !self.is_free_of_effects_between(look, load.inst, place) {
            return None;
        }
        let spot = spot_in(function, place, self.first_need(function, place, &after, load.is_const));
        let to = match spot {
            Spot::Before(before) => Place { block: place, before },
            Spot::AtEnd(block) => reaching.end_of(block),
        };
        let (mut insts, mut sources) = (Vec::new(), Vec::new());
        remake(look, reaching, load.inst, to, ADDRESS_INSTS_MAX + 1, &mut insts, &mut sources)?;
        Some(Split {
            vreg: load.vreg,
            again: Again { definition: load.inst, spot, insts, reads: after },
            sources,
            is_all: before.is_empty(),
            slots: function.vregs[load.vreg.index()].slots(),
            loops: Vec::new(),
        })
    }

    fn look(&mut self) -> Option<()> {
        self.looks_left = self.looks_left.saturating_sub(1);
        (self.looks_left > 0).then_some(())
    }

    fn above(&mut self, look: &Look<'_>, block: BlockId) -> Option<BlockId> {
        self.look()?;
        look.function.orders[block.index()].idom.get()
    }

    /// The nearest block that dominates two.
    fn common(
        &mut self,
        look: &Look<'_>,
        reaching: &Reaching,
        mut one: BlockId,
        other: BlockId,
    ) -> Option<BlockId> {
        while !reaching.tree().dominates(one, other) {
            one = self.above(look, one)?;
        }
        Some(one)
    }

    /// Walks backward from `starts` up to `end`; gives nothing where a block on the way is not as it must be.
    fn walk_back(
        &mut self,
        look: &Look<'_>,
        starts: impl Iterator<Item = BlockId>,
        end: BlockId,
        is_right: impl Fn(BlockId) -> bool,
    ) -> Option<()> {
        self.number += 1;
        self.waiting.clear();
        self.waiting.extend(starts);
        while let Some(block) = self.waiting.pop() {
            self.look()?;
            if block == end || std::mem::replace(&mut self.seen[block.index()], self.number) == self.number {
                continue;
            }
            if !is_right(block) {
                return None;
            }
            self.waiting.extend(look.function.preds(block));
        }
        Some(())
    }

    /// Whether nothing on any way from a load to the start of a block writes memory, waits or orders accesses.
    fn is_free_of_effects_between(&mut self, look: &Look<'_>, load: InstId, place: BlockId) -> bool {
        let from = look.function.heads[load.index()].block;
        if self.effects[from.index()].is_some_and(|(_, last)| last > load) {
            return false;
        }
        let effects = std::mem::take(&mut self.effects);
        let preds = look.function.preds(place).iter().copied();
        let is_free = self.walk_back(look, preds, from, |block| effects[block.index()].is_none()).is_some();
        self.effects = effects;
        is_free
    }

    /// The first instruction of a block that the load must come before: one of `reads`, or a store where no store may come before
    /// it. Instructions of a block are in the order of their ids.
    fn first_need(
        &self,
        function: &FunctionView<'_>,
        block: BlockId,
        reads: &[(InstId, u32)],
        is_const: bool,
    ) -> Option<InstId> {
        let is_here = |&inst: &InstId| function.heads[inst.index()].block == block;
        let store = self.effects[block.index()].map(|(first, _)| first).filter(|_| !is_const);
        reads.iter().map(|&(inst, _)| inst).filter(is_here).chain(store).min()
    }
}

/// Lists what computes at `to` what `inst` computed, from what lives there, at most `most` instructions.
fn remake(
    look: &Look<'_>,
    reaching: &mut Reaching,
    inst: InstId,
    to: Place,
    most: usize,
    insts: &mut Vec<Remade>,
    sources: &mut Vec<VRegId>,
) -> Option<()> {
    let Look { function, live, estimator, .. } = *look;
    let head = &function.heads[inst.index()];
    let operands = function.operands_of(inst);
    let from = Place { block: head.block, before: inst };
    for vreg in reads(operands) {
        let value = reaching.value(vreg, from, || *function);
        if function.vregs[vreg.index()].flags.intersects(VRegFlags::WRITTEN_ELSEWHERE)
            || value != reaching.value(vreg, to, || *function)
        {
            return None;
        }
        let lives = live.is_live_in(to.block, vreg) || live.is_live_out(to.block, vreg);
        if lives || !estimator.takes_register(vreg) {
            sources.push(vreg);
            continue;
        }
        // Its only definition may have been executed in another round, with other sources.
        let Defined::Once(definer, _) = reaching.definitions().defined(vreg) else { return None };
        if value != Value::Of(definer) {
            return None;
        }
        let definer_head = &function.heads[definer.index()];
        let is_known = insts.iter().any(|again| writes(&again.operands).next() == Some(vreg));
        if is_known {
            continue;
        }
        if insts.len() + 2 > most || !computes_address(look, definer_head, function.operands_of(definer)) {
            return None;
        }
        remake(look, reaching, definer, to, most - 1, insts, sources)?;
    }
    insts.push(Remade { form: head.form, operands: operands.to_vec() });
    Some(())
}

/// Whether an instruction computes an integer in a register of its own from registers and numbers in one step.
fn computes_address(look: &Look<'_>, head: &InstHead, operands: &[Operand]) -> bool {
    let form = look.forms.get(head.form);
    let is_integer = form.types.iter().flatten().all(|ty| ty.is_of_integers() && ty.bits() >= 32);
    let is_cheap = match form.operation {
        Operation::Add
        | Operation::Sub
        | Operation::Mul
        | Operation::Mad
        | Operation::Shl
        | Operation::Cvt => true,
        // Where a thread is: what the assembler reads again wherever it is needed.
        Operation::Mov => operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_))),
        _ => false,
    };
    is_cheap
        && is_integer
        && form.is_pure()
        && !head.opcode.is_guarded()
        && !form.effects.intersects(Form::CARRY)
        && operands.iter().all(|operand| !varies(operand))
        && writes(operands).count() == 1
        && writes(operands).all(|vreg| look.function.vregs[vreg.index()].is_own_scalar())
        && operands.iter().all(|operand| !operand.is_definition() || !operand.is_partial())
}

/// Whether an instruction loads what nothing writes, and then whether that is constant memory.
fn is_load(forms: &FormTable, head: &InstHead, operands: &[Operand]) -> Option<bool> {
    let form = forms.get(head.form);
    if form.effects != Effects::READ
        || form.lanes != 1
        || operands.iter().any(|operand| matches!(operand.kind(), OperandKind::Special(_)))
    {
        return None;
    }
    let is_non_coherent = || forms.describe(head.form).qualifiers.modifiers.contains(Modifiers::NON_COHERENT);
    match form.space {
        // What has no register in its address is an operand of the machine.
        StateSpace::Const if reads(operands).next().is_some() => Some(true),
        StateSpace::Global if is_non_coherent() => Some(false),
        _ => None,
    }
}

fn has_side_effects(form: &Form) -> bool {
    form.effects.intersects(Effects::KEEPS.difference(Effects::CONTROL))
}
