//! Carries that nothing reads, of instructions that are needed for their sums: `add.cc` becomes `add`, `madc.lo.cc` `madc.lo`.
//!
//! An instruction without one may be equal to another one, be folded, and move. No two instructions with `.cc` are taken for
//! equal, so nothing is lost where values are numbered later.

use super::Needs;
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, writes};
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
    let is_read = |inst: InstId, carry: VRegId| needs.reads_result(reaching, inst, carry);
    unread.extend(with_several.filter(|&inst| {
        // The carry is the only result that no slot of the form is for.
        let hidden = &function.operands_of(inst)[forms.slots(function.heads[inst.index()].form).len()..];
        needs.needs(inst) && writes(hidden).any(|carry| !is_read(inst, carry))
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
