//! Which blocks are arms of a branch, and may be computed always.

use ptxopt_components::form::{Form, FormFlags, Kinds};
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::{reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Part;
use ptxopt_components::types::{PtxType, StateSpace};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::store::view::FunctionView;

use crate::values::movable::varies;

/// An arm of a branch.
#[derive(Clone, Copy)]
pub(super) struct Arm {
    pub(super) block: BlockId,
    pub(super) join: BlockId,
    pub(super) inst_count: usize,
    /// Whether a jump leads to the join.
    pub(super) jumps: bool,
}

/// A block as an arm of the branch at the end of `head`, if it is one and may be computed always.
pub(super) fn arm_of(f: &FunctionEditor<'_>, head: BlockId, block: BlockId, insts_max: usize) -> Option<Arm> {
    let &[join] = f.succs(block) else { return None };
    let Rows { inst_count, branch, .. } = Rows::of(f, head, block, insts_max)?;
    let is_open = branch.is_none_or(|branch| f.guard_of(branch).is_none());
    is_open.then_some(Arm { block, join, inst_count, jumps: branch.is_some() })
}

/// What a block that only one leads to computes, all of which may be computed always.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) inst_count: usize,
    pub(super) has_stores: bool,
    /// The direct branch at its end, which is not counted.
    pub(super) branch: Option<InstId>,
}

impl Rows {
    /// Of a block that only `head` leads to; none where something must not be computed always, or costs too much.
    pub(super) fn of(
        f: &FunctionEditor<'_>,
        head: BlockId,
        block: BlockId,
        insts_max: usize,
    ) -> Option<Self> {
        let function = f.view();
        if function.preds(block) != [head] {
            return None;
        }
        let mut rows = Self { inst_count: 0, has_stores: false, branch: None };
        let (mut cost, mut makers) = (0, Makers::default());
        let mut insts = function.insts_of(block).peekable();
        while let Some(inst) = insts.next() {
            let form = f.form_of(inst);
            if form.effects.intersects(Effects::CONTROL) {
                let is_last = form.operation == Operation::Bra && insts.peek().is_none();
                return is_last.then_some(Self { branch: Some(inst), ..rows });
            }
            rows.inst_count += 1;
            rows.has_stores |= form.effects.contains(Effects::WRITE);
            cost += if is_constant(f, inst) { 0 } else { makers.cost_of(f, inst) };
            let is_phi = function.heads[inst.index()].is_phi();
            if cost > insts_max || is_phi || !may_run_always(&function, form, inst) {
                return None;
            }
        }
        Some(rows)
    }
}

/// Whether an instruction moves a number, or the address of a variable, into a register.
fn is_constant(f: &FunctionEditor<'_>, inst: InstId) -> bool {
    let operands = f.operands_of(inst);
    f.form_of(inst).operation == Operation::Mov
        && matches!(operands, &[_, source] if matches!(source.kinds(), Kinds::NUMBER | Kinds::SYMBOL))
}

/// What phase 75 makes one of two instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// A product or an extension, and a sum.
    Sums,
    /// A comparison, and logic with its result.
    Comparisons,
}

impl Family {
    /// Of the first one of two such instructions.
    fn of_maker(f: &FunctionEditor<'_>, inst: InstId) -> Option<Self> {
        let (form, description) = (f.form_of(inst), f.description_of(inst));
        let qualifiers = &description.qualifiers;
        if form.operation == Operation::Setp {
            return (qualifiers.combiner.is_none() && form.lanes == 1).then_some(Self::Comparisons);
        }
        let is_product = match (form.operation, description.types) {
            (Operation::Shl, [Some(ty), ..]) => ty.bits() == 32,
            (Operation::Mul, _) => qualifiers.part == Some(Part::Low),
            (Operation::Cvt, [Some(PtxType::S64), Some(PtxType::S32), ..])
            | (Operation::Cvt, [Some(PtxType::U64), Some(PtxType::U32), ..]) => true,
            _ => false,
        };
        (is_product && form.flags.contains(FormFlags::PLAIN)).then_some(Self::Sums)
    }

    /// Of the second one.
    fn of_taker(form: &Form) -> Option<Self> {
        match form.operation {
            Operation::Add if form.flags.contains(FormFlags::PLAIN) => Some(Self::Sums),
            Operation::And | Operation::Or | Operation::Xor if form.types[0] == Some(PtxType::Pred) => {
                Some(Self::Comparisons)
            }
            _ => None,
        }
    }
}

/// What of an arm another instruction takes in where nothing else reads it. Each costs one until then, so there are not more than an arm
/// may cost.
#[derive(Default)]
struct Makers {
    /// Each result, what may take it in, and whether that was counted.
    results: Vec<(VRegId, Family, bool)>,
}

impl Makers {
    /// What an instruction adds to the cost of its arm.
    fn cost_of(&mut self, f: &FunctionEditor<'_>, inst: InstId) -> usize {
        let operands = f.operands_of(inst);
        let family = Family::of_taker(f.form_of(inst));
        let mut cost = 1;
        for vreg in reads(operands) {
            let Some(at) = self.results.iter().position(|&(result, ..)| result == vreg) else { continue };
            let (_, takes, is_counted) = self.results[at];
            if Some(takes) == family && !is_counted && cost == 1 {
                self.results[at].2 = true;
                cost = 0;
            } else {
                // It is read twice: what took it in before costs one after all.
                self.results.swap_remove(at);
                cost += usize::from(is_counted);
            }
        }
        let made = operands.first().and_then(|result| result.vreg());
        self.results.extend(made.zip(Family::of_maker(f, inst)).map(|(made, family)| (made, family, false)));
        cost
    }
}

/// Whether an instruction may be computed always, or may get a guard.
fn may_run_always(function: &FunctionView<'_>, form: &Form, inst: InstId) -> bool {
    let operands = function.operands_of(inst);
    let is_plain = function.guard_of(inst).is_none() && form.flags.contains(FormFlags::MODELLED);
    if !is_plain || operands.iter().any(varies) {
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
