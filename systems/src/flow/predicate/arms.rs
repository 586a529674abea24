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
    let function = f.view();
    let (&[pred], &[join]) = (function.preds(block), function.succs(block)) else { return None };
    if pred != head {
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
