//! Results that nothing reads, of instructions that are needed for another one: they become the sink `_`.
//!
//! ```text
//! ld.global.v4.u32 {a, b, c, d}, [p];    // {a, _, _, d}
//! setp.lt.s32 p|q, a, b;                 // p|_
//! ```
//! Where a sink may stand is what the slot of the form accepts. One thing no slot can say: a vector keeps one
//! register. Left as they are: volatile and ordered accesses, fragments of matrices (what
//! all threads of a warp compute together), reductions of several devices, of which the assembler refuses sinks for both halves
//! of a word, and what is kept for its effect alone; and the first predicate of a guarded pair, `@p setp.lt.s32 _|q, a, b`, which
//! is legal and ends `ptxas` 13.0 with a segmentation fault.

use super::Needs;
use ptxopt_components::form::{Accepts, Form, Slot};
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::operation::Operation;
use ptxopt_components::types::RegClass;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// What keeps an instruction's results as they are: a callee, the hardware, or something unknown, looks at them.
const KEEPS_RESULTS: Effects =
    Effects::CALL.union(Effects::UNKNOWN).union(Effects::PINNED).union(Effects::ORDER).union(Effects::ASYNC);

/// Lists instruction and position of the results that may become sinks.
pub fn find_unread_results(
    function: &FunctionView<'_>,
    forms: &FormTable,
    needs: &Needs,
    reaching: &Reaching,
    unread: &mut Vec<(InstId, usize)>,
) {
    unread.clear();
    let with_several = reaching.definitions().with_several_results().iter().copied();
    for inst in with_several.filter(|&inst| needs.needs(inst)) {
        let head = &function.heads[inst.index()];
        let (form, is_guarded) = (head.form, head.opcode.is_guarded());
        let Form { effects, operation, .. } = *forms.get(form);
        if effects.intersects(KEEPS_RESULTS) || operation == Operation::MultimemLoadReduce {
            continue;
        }
        let slots = forms.slots(form);
        let operands = &function.operands_of(inst)[..slots.len()];
        let is_read =
            |operand: &Operand| operand.vreg().is_some_and(|vreg| needs.reads_result(reaching, inst, vreg));
        let (mut register_count, mut element_count, mut read_count) = (0, 0, 0);
        for (slot, operand) in slots.iter().zip(operands).filter(|(_, operand)| operand.is_definition()) {
            register_count += 1;
            element_count += usize::from(slot.in_vector);
            read_count += usize::from(is_read(operand));
        }
        if read_count == 0 || read_count == register_count {
            continue;
        }
        for (position, (slot, operand)) in slots.iter().zip(operands).enumerate() {
            let is_last = slot.in_vector && element_count == 1;
            let is_fragment = slot.in_vector && effects.contains(Effects::CONVERGENT);
            let is_crash = position == 0 && is_guarded && is_predicate(function, operand);
            if !is_last && !is_fragment && !is_crash && may_be_sink(slot, operand) && !is_read(operand) {
                unread.push((inst, position));
                element_count -= usize::from(slot.in_vector);
            }
        }
    }
}

/// Keeps of the results listed those of instructions that unpack an integer of which the lowest part alone is read, and that nothing
/// else unpacks.
pub(super) fn retain_upper_parts(
    function: &FunctionView<'_>,
    forms: &FormTable,
    reaching: &Reaching,
    unread: &mut Vec<(InstId, usize)>,
) {
    let unpacked = |inst: InstId| {
        let head = &function.heads[inst.index()];
        let is_move = forms.get(head.form).operation == Operation::Mov && !head.opcode.is_guarded();
        function.operands_of(inst).last().filter(|_| is_move)?.vreg()
    };
    let is_integer = |vreg: VRegId| function.vregs[vreg.index()].ty.element().is_of_integers();
    unread.retain(|&(inst, position)| position > 0 && unpacked(inst).is_some_and(is_integer));
    if unread.is_empty() {
        return;
    }
    let with_several = reaching.definitions().with_several_results().iter();
    let mut sources: Vec<VRegId> = with_several.filter_map(|&inst| unpacked(inst)).collect();
    sources.sort_unstable();
    let is_lone = |vreg: VRegId| {
        let first = sources.partition_point(|&other| other < vreg);
        sources.get(first + 1) != Some(&vreg)
    };
    let of_one = unread.chunk_by(|(one, _), (other, _)| one == other);
    // All parts but the first, where others are not sinks already.
    let parts =
        |inst: InstId| function.operands_of(inst).iter().filter(|operand| operand.is_definition()).count();
    let all_upper = of_one.filter(|upper| upper.len() + 1 == parts(upper[0].0));
    *unread =
        all_upper.filter(|upper| unpacked(upper[0].0).is_some_and(is_lone)).flatten().copied().collect();
}

fn is_predicate(function: &FunctionView<'_>, operand: &Operand) -> bool {
    operand.vreg().is_some_and(|vreg| function.vregs[vreg.index()].class() == RegClass::P)
}

fn may_be_sink(slot: &Slot, operand: &Operand) -> bool {
    let sink = if slot.in_vector { Accepts::SINK_ELEMENT } else { Accepts::SINK };
    slot.accepts.contains(sink) && !operand.is_partial()
}
