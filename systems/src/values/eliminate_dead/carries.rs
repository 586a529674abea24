//! Carries that nothing reads, of instructions that are needed for their sums: `add.cc` becomes `add`, `madc.lo.cc` `madc.lo`.
//!
//! An instruction without one may be equal to another one, be folded, and move. No two instructions with `.cc` are taken for
//! equal, so nothing is lost where values are numbered later.

use super::Needs;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operand::Operand;
use ptxopt_components::qualifiers::{Modifiers, Qualifiers};
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;

/// Lists the instructions that leave a carry which nothing reads.
pub(super) fn find_unread_carries(
    function: &FunctionView<'_>,
    forms: &FormTable,
    needs: &Needs,
    reaching: &Reaching,
    unread: &mut Vec<InstId>,
) {
    unread.clear();
    let with_several = reaching.definitions().with_several_results().iter().copied();
    unread.extend(with_several.filter(|&inst| {
        let form = function.heads[inst.index()].form;
        forms.get(form).effects.contains(Effects::CARRY_OUT) && needs.needs(inst) && {
            let hidden = &function.operands_of(inst)[forms.slots(form).len()..];
            let mut carry = hidden.iter().filter(|operand| operand.is_definition());
            carry.all(|operand| !operand.vreg().is_some_and(|vreg| needs.reads_result(reaching, inst, vreg)))
        }
    }));
}

/// Takes the `.cc` from instructions; nothing where the bisect limit is reached.
pub(super) fn drop_carries(f: &mut FunctionEditor<'_>, unread: &[InstId]) -> Option<()> {
    for &inst in unread {
        let old = *f.description_of(inst);
        let modifiers = old.qualifiers.modifiers - Modifiers::CARRY_OUT;
        let description = Description { qualifiers: Qualifiers { modifiers, ..old.qualifiers }, ..old };
        let count = f.slots_of(inst).len();
        let Some(form) = f.forms().build(&description, shape::plain(count)) else { continue };
        let operands: Vec<Operand> = f.operands_of(inst)[..count].to_vec();
        f.change_in_place(inst, "nothing reads the carry")?.set_form(inst, form, &operands);
    }
    Some(())
}
