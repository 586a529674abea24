//! Predication: short arms of a branch are computed always, and what they differ in is selected.
//!
//! Source phase  63 OriDoPredication (the sources give its name and place only)
//! Reads         Blocks, Insts, VRegs, Fact::ControlFlow
//! Writes        branches, blocks, phis, selections, guards of stores; marks blocks that arms are joined in, for phase 64
//! Needs         SSA form; control-flow facts; control flow ends its block
//! Leaves        no branch around an arm that its limits allow to be computed always
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          a look at the ends of blocks; a few rows an arm; once, all rows of a function where a join takes two predicates
//! Papers        Allen, Kennedy, Porterfield and Warren 1983 (if-conversion)
//! Checked by    check/ssa.rs, check/edges.rs, check/operand_types.rs; the judge
//!
//! # What it does
//! ```text
//!     @p bra L;                          add.s32 r3, r1, 1;
//!     add.s32 r3, r1, 1;                 mul.lo.s32 r4, r1, 3;
//!     bra M;                             selp.b32 r5, r4, r3, p;
//! L:  mul.lo.s32 r4, r1, 3;          M:  ...
//! M:  r5 = phi {A, r3}, {L, r4};
//!
//!     @p bra L;                          @!p st.global.u32 [rd1], r1;
//!     st.global.u32 [rd1], r1;
//! L:  ...
//! ```
//! Predicates have no selection, but where one of two is a literal, a logical operation does the same; what it reads is compared as
//! a rule, and phase 75 makes one instruction of the two:
//! ```text
//!     mov.pred p2, 0;
//!     @!p bra M;                         setp.lt.s32 p1, r1, 5;
//!     setp.lt.s32 p1, r1, 5;             and.pred p3, p, p1;
//! M:  p3 = phi {A, p2}, {B, p1};     M:  ...
//! ```
//! An arm is a block that only the branch leads to, and that leads to one block, the *join*. One of the two arms may be
//! missing. Inner branches come first, so that what is left of them may be an arm of an outer one. Of the arms that lead to one join each
//! round takes one; where the last round has taken some, that is counted and told.
//!
//! # What may stand in an arm
//! Computations that may run where they did not run before, and that are cheap: no division, root or transcendental function,
//! nothing on doubles. A product and the sum right after it count as the one instruction that phase 75 makes of them,
//! and constants not at all: a selection takes them as they are. Plain stores, which get the guard of their arm: they are done by
//! the threads that did them.
//!
//! Nothing that other threads take part in, no load, no call, no volatile access, nothing under a guard of its own; and no
//! result that is a variable. A branch that promises by `.uni` that all threads go one way stays.
//!
//! # The cost rule, measured
//! On kernels with chains of `mad` in one arm and in two, `ptxas` 13.0 at -O3 makes machine code of the same size with
//! and without this phase for arms of up to eight instructions, and six where there are two arms: it predicates such arms
//! itself. From five instructions an arm on, it needs one or two registers more if the phase has done it. So the limit is
//! four, of which more would only cost: the gain is for those who run the PTX otherwise, and in what the phases after this one
//! find in one block. What it adds is never more than what goes: not more selections than branches and jumps, and two of them at
//! most.
//!
//! # Tried and dropped
//! Guards for the arms that are left once SSA form is gone, doubles and loads among them, would take 1,302 branches around one
//! instruction out of the 826,000 of the wild set, and 4,179 around up to three, as a script counted that put them into the text
//! of -O2. Of the modules that have some, `ptxas` -O3 makes 0.2 % more machine instructions in both cases (`--bin compared`): a
//! branch is cheaper than the selection of a double. With up to three instructions registers are 1.016 times as many, in the
//! geometric mean.

use crate::ssa::moves::{move_form, moved_as, operand_of};
use ahash::AHashMap;
use bevy_ecs::prelude::*;
use ptxopt_components::anchor::AnchorKind;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::{CodeFlags, Room};
use ptxopt_components::description::Description;
use ptxopt_components::form::{Form, FormFlags, Kinds, shape};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::{Part, Qualifiers};
use ptxopt_components::special_registers::{Reading, SPECIAL_REGISTERS};
use ptxopt_components::types::{PtxType, StateSpace, TypeKind};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::{Change, Editor, FunctionEditor};
use ptxopt_engine::run::facts::{Fact, Memo};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};

/// Phase 63.
pub const PHASE: Phase = Phase {
    name: "predicate",
    needs: &[Fact::ControlFlow],
    in_ssa: true,
    breaks: Fact::OF_EDGES_AND_ORDER,
    room_percent: 10,
    install: |slot| {
        slot.init_resource::<Settings>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// How much is predicated.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most instructions of an arm, without its branch, constants, and products that a sum takes in.
    pub arm_insts_max: usize,
    /// Most values that a join takes from the arms.
    pub selections_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { arm_insts_max: 4, selections_max: 2 }
    }
}

/// Rounds over a function: what is left of inner branches may be an arm of an outer one, and of the arms that lead to one join a
/// round takes the last.
const ROUNDS_MAX: usize = 8;

/// Works on every function in SSA form.
pub fn run(mut editor: Editor, settings: Res<Settings>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON_IN_SSA, |mut f| {
        // It ends early where the bisect limit is reached.
        let _ = predicate(&mut f, *settings, &mut scratch);
    });
}

/// Memory of the phase.
#[derive(Default)]
pub struct Scratch {
    /// By block: whether the round has changed it.
    is_changed: Vec<bool>,
    /// By block: whether an anchor keeps it.
    is_pinned: Vec<bool>,
    literals: Literals,
}

/// The predicates of a function that are literals, once somebody has asked.
#[derive(Default)]
struct Literals {
    truths: AHashMap<VRegId, bool>,
    is_filled: bool,
}

impl Literals {
    fn start(&mut self) {
        self.truths.clear();
        self.is_filled = false;
    }

    /// What a value is that is moved from a literal.
    fn truth(&mut self, f: &FunctionEditor<'_>, vreg: VRegId) -> Option<bool> {
        if !std::mem::replace(&mut self.is_filled, true) {
            let function = f.view();
            for (inst, head, operands) in function.block_ids().flat_map(|block| function.rows_of(block)) {
                let &[result, source] = operands else { continue };
                let form = f.form_of(inst);
                let is_move = form.operation == Operation::Mov && form.types[0] == Some(PtxType::Pred);
                if let (true, Some(vreg), OperandKind::Int(value)) = (is_move, result.vreg(), source.kind())
                    && !head.opcode.is_guarded()
                {
                    self.truths.insert(vreg, value != 0);
                }
            }
        }
        self.truths.get(&vreg).copied().filter(|_| f.vreg(vreg).is_value())
    }
}

/// Works on one function; gives nothing where the bisect limit is reached.
pub fn predicate(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch) -> Option<()> {
    scratch.literals.start();
    for _ in 0..ROUNDS_MAX {
        if !round(f, settings, scratch)? {
            return Some(());
        }
        f.refresh_edges();
        f.remember(Memo::ArmsAreJoined);
    }
    f.stats().limits_hit += 1;
    f.missed(f.view().text.body.first, "the last round has joined arms: more rounds might join more");
    Some(())
}

/// Looks at each block once, with the edges of before, and says whether something has changed.
fn round(f: &mut FunctionEditor<'_>, settings: Settings, scratch: &mut Scratch) -> Option<bool> {
    let Scratch { is_changed, is_pinned, literals } = scratch;
    let function = f.view();
    is_changed.clear();
    is_changed.resize(function.blocks.len(), false);
    is_pinned.clear();
    is_pinned.resize(function.blocks.len(), false);
    for anchor in function.anchors {
        if matches!(anchor.kind, AnchorKind::BlockPragma | AnchorKind::Directive) {
            is_pinned[anchor.block.index()] = true;
        }
    }
    let mut has_changed = false;
    // In the text, inner branches stand after those around them.
    for head in f.view().block_ids().rev() {
        let Some(region) = Region::of(f, head, settings, literals) else { continue };
        let mut arms = [region.taken, region.fallen].into_iter().flatten();
        if region.blocks().any(|block| is_changed[block.index()]) || arms.any(|arm| is_pinned[arm.index()]) {
            continue;
        }
        region.convert(f, is_pinned[region.join.index()])?;
        region.blocks().for_each(|block| is_changed[block.index()] = true);
        has_changed = true;
    }
    Some(has_changed)
}

/// A branch with its arms.
struct Region {
    head: BlockId,
    branch: InstId,
    predicate: VRegId,
    is_negated: bool,
    /// The arm that the branch leads to; none where it leads to the join.
    taken: Option<BlockId>,
    /// The arm that it falls through to; none where that is the join.
    fallen: Option<BlockId>,
    join: BlockId,
    /// What the phis of the join take from the two arms.
    values: Vec<Taken>,
    /// Rows of the arms.
    inst_count: usize,
    /// Whether nothing else leads to the join.
    is_sole: bool,
    /// Whether the head falls through to the join once the arms are gone.
    falls_through: bool,
}

/// What a phi of the join takes from the arms.
struct Taken {
    phi: InstId,
    taken: Operand,
    fallen: Operand,
    /// What makes one value of the two; none where they are the same.
    choice: Option<Choice>,
}

/// What makes one value of those of two arms.
#[derive(Clone, Copy)]
enum Choice {
    /// A selection of this type.
    Selection(PtxType),
    /// The predicate of the branch, or its contrary, and an operation with the value of one arm: the other one is a literal.
    Logic { operation: Operation, is_contrary: bool, value: VRegId },
}

impl Region {
    /// The region of the branch at the end of a block, if it may be predicated.
    fn of(
        f: &FunctionEditor<'_>,
        head: BlockId,
        settings: Settings,
        literals: &mut Literals,
    ) -> Option<Self> {
        let function = f.view();
        let branch = function.insts_of(head).next_back()?;
        let form = f.form_of(branch);
        if form.operation != Operation::Bra || form.flags.contains(FormFlags::UNIFORM) {
            return None;
        }
        let OperandKind::Predicate { vreg: predicate, negated } = function.guard_of(branch)?.kind() else {
            return None;
        };
        let target = function.operands_of(branch)[0].as_block()?;
        let next = f.next_in_text(head)?;
        let is_reachable = |block: BlockId| function.orders[block.index()].is_reachable();
        if target == next || !is_reachable(head) || !f.vreg(predicate).is_value() {
            return None;
        }
        let [taken, fallen] = [target, next].map(|arm| arm_of(f, head, arm, settings.arm_insts_max));
        let (taken, fallen, join) = match (taken, fallen) {
            (Some(one), Some(other)) if one.join == other.join => (Some(one), Some(other), one.join),
            (Some(arm), _) if arm.join == next => (Some(arm), None, next),
            (_, Some(arm)) if arm.join == target => (None, Some(arm), target),
            _ => return None,
        };
        let [taken_from, fallen_from] =
            [&taken, &fallen].map(|arm| arm.as_ref().map_or(head, |arm| arm.block));
        if join == head {
            return None;
        }
        let mut values = Vec::new();
        for (phi, operands) in phis_of(&function, join) {
            let from = |block: BlockId| incoming(operands).find(|&(pred, _)| pred == block);
            let (taken, fallen) = (from(taken_from)?.1, from(fallen_from)?.1);
            let choice = match taken == fallen {
                true => None,
                false => Some(choice(f, [taken.vreg()?, fallen.vreg()?], negated, literals)?),
            };
            values.push(Taken { phi, taken, fallen, choice });
        }
        let arms = [&taken, &fallen].map(|arm| arm.as_ref().map(|arm| arm.block));
        let mut after = f.next_in_text(head);
        while after.is_some() && arms.contains(&after) {
            after = after.and_then(|arm| f.next_in_text(arm));
        }
        let falls_through = after == Some(join);
        let jump_count = [&taken, &fallen].into_iter().flatten().filter(|arm| arm.jumps).count();
        let branch_count = jump_count + usize::from(falls_through);
        let chosen = values.iter().filter(|value| value.choice.is_some()).count();
        if chosen > settings.selections_max.min(branch_count) {
            return None;
        }
        let is_own = |pred: &BlockId| [taken_from, fallen_from].contains(pred);
        let is_sole = function.preds(join).iter().all(is_own);
        let inst_count = [&taken, &fallen].into_iter().flatten().map(|arm| arm.inst_count).sum();
        let [taken, fallen] = [taken, fallen].map(|arm| arm.map(|arm| arm.block));
        Some(Self {
            head,
            branch,
            predicate,
            is_negated: negated,
            taken,
            fallen,
            join,
            values,
            inst_count,
            is_sole,
            falls_through,
        })
    }

    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        [Some(self.head), self.taken, self.fallen, Some(self.join)].into_iter().flatten()
    }

    /// Computes the arms before the branch, and selects. Where nothing else leads to the join, that is part of the block then.
    fn convert(&self, f: &mut FunctionEditor<'_>, join_is_pinned: bool) -> Option<()> {
        let count = (self.inst_count + self.values.len()) as u32;
        let room = Room { insts: count, blocks: 0, vregs: self.values.len() as u32 };
        let offset = f.view().places[self.branch.index()].offset;
        let mut change = f.change_with_room(offset, "short arms of a branch are computed always", room)?;
        for (arm, is_taken) in [(self.taken, true), (self.fallen, false)] {
            let Some(arm) = arm else { continue };
            let guard = Operand::predicate(self.predicate, self.is_negated == is_taken);
            self.empty(&mut change, arm, guard);
        }
        change.set_block_flags(self.head, BlockFlags::ARMS_JOINED);
        let is_joined = self.is_sole && self.falls_through && !join_is_pinned;
        for value in &self.values {
            if is_joined {
                self.select_for_good(&mut change, value);
            } else {
                self.select_for_phi(&mut change, value);
            }
        }
        if self.falls_through {
            change.delete_branch(self.branch);
        } else {
            change.redirect(self.branch, self.join);
            change.drop_guard(self.branch);
        }
        let arms: Vec<BlockId> = [self.taken, self.fallen].into_iter().flatten().collect();
        change.delete_blocks(&arms);
        if is_joined {
            change.merge(self.join);
        }
        Some(())
    }

    /// Moves what an arm computes before the branch; its stores get the guard of the arm.
    fn empty(&self, change: &mut Change<'_, '_>, arm: BlockId, guard: Operand) {
        let insts: Vec<InstId> = change.function().insts_of(arm).collect();
        for inst in insts {
            let head = change.function().heads[inst.index()];
            let form = *change.forms().get(head.form);
            if form.effects.contains(Effects::WRITE) {
                let operands = change.operands_of(inst).to_vec();
                change.insert_before(self.branch, head.form, &operands, Some(guard));
            } else if !form.effects.intersects(Effects::CONTROL) {
                change.move_before(inst, self.branch);
            }
        }
    }

    /// Lets a phi take the selection from the head, in the place of what it took from the arms.
    fn select_for_phi(&self, change: &mut Change<'_, '_>, value: &Taken) {
        let selected = match (value.taken.vreg(), value.choice) {
            (Some(taken), Some(choice)) => {
                let result = change.new_vreg_like(taken);
                self.choose(change, result, value, choice);
                operand_of(change.function().vregs[result.index()].ty.element(), result)
            }
            _ => value.taken,
        };
        // The join may be a loop of its own.
        let own = [Some(self.head), self.taken, self.fallen];
        let is_other = |&(pred, _): &(BlockId, Operand)| !own.contains(&Some(pred));
        let mut pairs: Vec<_> = incoming(change.operands_of(value.phi)).filter(is_other).collect();
        pairs.push((self.head, selected));
        change.set_incoming(value.phi, &pairs);
    }

    /// Puts the selection in the place of a phi that takes nothing else.
    fn select_for_good(&self, change: &mut Change<'_, '_>, value: &Taken) {
        let result = change.operands_of(value.phi)[0].vreg().expect("a phi has a result");
        change.delete(value.phi);
        if let Some(choice) = value.choice {
            return self.choose(change, result, value, choice);
        }
        let ty = change.function().vregs[result.index()].ty.element();
        let form = move_form(change.forms(), ty);
        change.insert_before(self.branch, form, &[operand_of(ty, result), value.taken], None);
    }

    /// Makes one value of two before the branch.
    fn choose(&self, change: &mut Change<'_, '_>, result: VRegId, value: &Taken, choice: Choice) {
        let (description, operands) = match choice {
            Choice::Selection(ty) => {
                let [taken, fallen] =
                    [value.taken, value.fallen].map(|value| value.vreg().expect("a phi takes registers"));
                let (one, other) = if self.is_negated { (fallen, taken) } else { (taken, fallen) };
                let [result, one, other] = [result, one, other].map(Operand::register);
                let predicate = Operand::predicate(self.predicate, false);
                let description = Description::new(Operation::Selp, Qualifiers::default(), &[ty]);
                (description, vec![result, one, other, predicate])
            }
            Choice::Logic { operation, is_contrary, value } => {
                let predicates = [(result, false), (self.predicate, is_contrary), (value, false)];
                let operands = predicates.map(|(vreg, negated)| Operand::predicate(vreg, negated));
                let description = Description::new(operation, Qualifiers::default(), &[PtxType::Pred]);
                (description, operands.to_vec())
            }
        };
        let form = change.forms().build(&description, shape::plain(operands.len()));
        change.insert_before(self.branch, form.expect("the operation takes the type"), &operands, None);
    }
}

/// An arm of a branch.
#[derive(Clone, Copy)]
struct Arm {
    block: BlockId,
    join: BlockId,
    inst_count: usize,
    /// Whether a jump leads to the join.
    jumps: bool,
}

/// A block as an arm of the branch at the end of `head`, if it is one and may be computed always.
fn arm_of(f: &FunctionEditor<'_>, head: BlockId, block: BlockId, insts_max: usize) -> Option<Arm> {
    let function = f.view();
    let (&[pred], &[join]) = (function.preds(block), function.succs(block)) else { return None };
    if pred != head || block == head || join == block {
        return None;
    }
    let (mut inst_count, mut cost, mut jumps, mut last) = (0, 0, false, None);
    let mut insts = function.insts_of(block).peekable();
    while let Some(inst) = insts.next() {
        let form = f.form_of(inst);
        if form.effects.intersects(Effects::CONTROL) {
            // The last one leads to the join.
            let is_jump = form.operation == Operation::Bra && insts.peek().is_none();
            if !is_jump || function.guard_of(inst).is_some() {
                return None;
            }
            jumps = true;
            break;
        }
        let before = last.replace(inst);
        let is_free = is_constant(f, inst) || before.is_some_and(|before| is_one_with(f, before, inst));
        inst_count += 1;
        cost += usize::from(!is_free);
        if cost > insts_max || function.heads[inst.index()].is_phi() || !may_run_always(&function, form, inst)
        {
            return None;
        }
    }
    Some(Arm { block, join, inst_count, jumps })
}

/// Whether an instruction moves a number into a register.
fn is_constant(f: &FunctionEditor<'_>, inst: InstId) -> bool {
    let operands = f.operands_of(inst);
    f.form_of(inst).operation == Operation::Mov
        && matches!(operands, &[_, source] if source.kinds() == Kinds::NUMBER)
}

/// Whether a sum is made one instruction with the product or the extension before it.
fn is_one_with(f: &FunctionEditor<'_>, product: InstId, sum: InstId) -> bool {
    let [form, maker] = [sum, product].map(|inst| f.form_of(inst));
    let is_maker = match (maker.operation, f.description_of(product).types) {
        (Operation::Shl, [Some(ty), ..]) => ty.bits() == 32,
        (Operation::Mul, _) => f.description_of(product).qualifiers.part == Some(Part::Low),
        (Operation::Cvt, [Some(PtxType::S64), Some(PtxType::S32), ..])
        | (Operation::Cvt, [Some(PtxType::U64), Some(PtxType::U32), ..]) => true,
        _ => false,
    };
    let is_plain = [form, maker].iter().all(|form| form.flags.contains(FormFlags::PLAIN));
    let made = f.operands_of(product).first().and_then(|result| result.vreg());
    let reads_it = reads(f.operands_of(sum)).any(|vreg| Some(vreg) == made);
    form.operation == Operation::Add && is_plain && is_maker && reads_it
}

/// Whether an instruction may be computed always, or may get a guard.
fn may_run_always(function: &FunctionView<'_>, form: &Form, inst: InstId) -> bool {
    let operands = function.operands_of(inst);
    let is_plain = function.guard_of(inst).is_none() && form.flags.contains(FormFlags::MODELLED);
    let is_steady = operands.iter().all(|operand| match operand.kind() {
        OperandKind::Special(row) => SPECIAL_REGISTERS[row as usize].reading == Reading::Fixed,
        _ => true,
    });
    if !is_plain || !is_steady {
        return false;
    }
    if form.operation == Operation::St {
        // The assembler takes no guard where arguments of calls are stored.
        return form.effects == Effects::WRITE && form.space != StateSpace::Param;
    }
    let is_none =
        |flags: VRegFlags| move |vreg: VRegId| !function.vregs[vreg.index()].flags.intersects(flags);
    form.is_pure()
        && form.is_speculatable()
        && is_cheap(form)
        && writes(operands).all(is_none(VRegFlags::NO_VALUE))
        && reads(operands).all(is_none(VRegFlags::WRITTEN_ELSEWHERE))
}

/// Whether the machine computes it in a few cycles.
fn is_cheap(form: &Form) -> bool {
    let is_slow = matches!(
        form.operation,
        Operation::Div
            | Operation::Rem
            | Operation::Rcp
            | Operation::Sqrt
            | Operation::Rsqrt
            | Operation::Sin
            | Operation::Cos
            | Operation::Lg2
            | Operation::Ex2
            | Operation::Tanh
            | Operation::Fns
    );
    !is_slow && !form.types.contains(&Some(PtxType::F64))
}

/// What makes one value of two, which a branch leads to and falls through to, if there is an instruction that does.
fn choice(
    f: &FunctionEditor<'_>,
    [taken, fallen]: [VRegId; 2],
    is_negated: bool,
    literals: &mut Literals,
) -> Option<Choice> {
    let head = f.vreg(taken);
    let ty = moved_as(head.ty.element()).filter(|_| head.ty.lanes == 1)?;
    if ty.kind() != TypeKind::Predicate {
        return Some(Choice::Selection(ty));
    }
    // Where the branch leads to a literal, or where it falls through to one.
    let (truth, value, is_where_taken) = match literals.truth(f, taken) {
        Some(truth) => (truth, fallen, true),
        None => (literals.truth(f, fallen)?, taken, false),
    };
    let operation = if truth { Operation::Or } else { Operation::And };
    // True on the way to the literal, or false there.
    let is_contrary = is_negated != (truth != is_where_taken);
    Some(Choice::Logic { operation, is_contrary, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::gvn_cse;
    use crate::values::gvn_cse::tests::check;

    /// Kernels with branches around short and long arms, with stores among them, on the emulator; alone and with the phase that
    /// runs after it.
    #[test]
    fn what_is_computed_always_is_selected() {
        let (without, with) = check(&[&PHASE], 1000..1150);
        assert!(without >= with + 25, "{without} without, {with} with");
        let (without, with) = check(&[&PHASE, &gvn_cse::PHASE], 2000..2150);
        assert!(without > with + 1240, "{without} without, {with} with");
    }
}
