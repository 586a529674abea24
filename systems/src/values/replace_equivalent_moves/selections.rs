//! Guarded moves that complete another one: a selection of both.

use crate::values::variable_moves::{DISTANCE_MAX, Move, VariableMoves, are_side_by_side};
use ptxopt_components::description::Description;
use ptxopt_components::form::shape;
use ptxopt_components::ids::{FormId, Id, InstId, VRegId};
use ptxopt_components::operand::{Operand, OperandKind, reads, writes};
use ptxopt_components::operation::Operation;
use ptxopt_components::qualifiers::Qualifiers;
use ptxopt_components::types::{PtxType, TypeKind};
use ptxopt_engine::edit::{FunctionEditor, accepts};

/// A pair of moves, and what takes its place.
struct Selection {
    first: InstId,
    form: FormId,
    operands: [Operand; 4],
}

/// Makes selections of pairs of moves; gives nothing where the bisect limit is reached.
pub(super) fn select(f: &mut FunctionEditor<'_>, moves: &mut VariableMoves) -> Option<()> {
    let mut written_once = Vec::new();
    for second in moves.all.iter().filter(|found| found.guard.is_some()) {
        let Some(Selection { first, form, operands }) = selection(f, second) else { continue };
        let mut change = f.change_in_place(second.inst, "two moves that a guard decides between")?;
        change.delete(first);
        change.set_form(second.inst, form, &operands);
        change.drop_guard(second.inst);
        let count = &mut moves.definition_counts[second.to.index()];
        *count -= 1;
        if *count == 1 {
            written_once.push((second.to, second.inst));
        }
    }
    if !written_once.is_empty() {
        make_values(f, &mut written_once);
    }
    Some(())
}

/// The selection that a guarded move makes with the move before it.
fn selection(f: &mut FunctionEditor<'_>, second: &Move) -> Option<Selection> {
    let first = move_before(f, second)?;
    let (guard, negated) = predicate(second.guard?)?;
    let is_opposite = first.guard.is_none_or(|other| predicate(other) == Some((guard, !negated)));
    let is_read = |found: &Move| found.read().any(|vreg| vreg == second.to);
    if !is_opposite || first.source.ty != second.source.ty || is_read(&first) || is_read(second) {
        return None;
    }
    let unchanged = first.read().chain([guard]);
    if !are_side_by_side(f, first.inst, second.inst, unchanged, &[]) {
        return None;
    }
    let (one, other) = if negated { (&first, second) } else { (second, &first) };
    let operands =
        [Operand::register(second.to), one.operand, other.operand, Operand::predicate(guard, false)];
    let form = form_of(f, first.source.ty, &operands)?;
    Some(Selection { first: first.inst, form, operands })
}

/// The last instruction before a move that names its variable, where that is a move to it, too.
fn move_before(f: &FunctionEditor<'_>, second: &Move) -> Option<Move> {
    let names = |inst: &InstId| {
        let is_it = |operand: &Operand| operand.vreg() == Some(second.to);
        f.head(*inst).is_live() && f.operands_of(*inst).iter().any(is_it)
    };
    let start = f.view().blocks[f.head(second.inst).block.index()].insts.first;
    let nearest = second.inst.0.saturating_sub(DISTANCE_MAX).max(start);
    let first = (nearest..second.inst.0).rev().map(InstId).find(names)?;
    Move::of(f, first).filter(|first| first.to == second.to)
}

/// A guard as its register and whether it is negated.
fn predicate(guard: Operand) -> Option<(VRegId, bool)> {
    match guard.kind() {
        OperandKind::Predicate { vreg, negated } => Some((vreg, negated)),
        _ => None,
    }
}

/// The form of a `selp` of these operands; none where there is none that takes them.
fn form_of(f: &mut FunctionEditor<'_>, ty: PtxType, operands: &[Operand]) -> Option<FormId> {
    let is_float = ty.kind() == TypeKind::Float;
    // A predicate is no operand of a `selp`, and floats are moved as what they are.
    let fits = |vreg: VRegId| !is_float || f.vreg(vreg).ty.element() == ty;
    if ty == PtxType::Pred || !operands[..3].iter().filter_map(|operand| operand.vreg()).all(fits) {
        return None;
    }
    let description = Description::new(Operation::Selp, Qualifiers::default(), &[ty]);
    let form = f.forms().build(&description, shape::plain(operands.len()))?;
    let slots = f.forms().slots(form);
    let takes_all = slots.iter().zip(operands).all(|(slot, &operand)| accepts(slot, operand));
    (takes_all && slots.len() == operands.len()).then_some(form)
}

/// Makes values of the variables whose only definition, which is whole and unguarded, comes before each read.
fn make_values(f: &mut FunctionEditor<'_>, written_once: &mut [(VRegId, InstId)]) {
    written_once.sort_unstable();
    let function = f.view();
    let mut is_read_first = vec![false; written_once.len()];
    for (inst, head, operands) in function.rows() {
        let reader = &function.orders[head.block.index()];
        for vreg in reads(operands).filter(|_| reader.is_reachable()) {
            let Ok(at) = written_once.binary_search_by_key(&vreg, |&(vreg, _)| vreg) else { continue };
            let definition = written_once[at].1;
            let from = function.heads[definition.index()].block;
            let is_after = match from == head.block {
                true => inst > definition,
                false => function.orders[from.index()].dominates(reader),
            };
            is_read_first[at] |= !is_after;
        }
    }
    debug_assert!(
        written_once.iter().all(|&(vreg, inst)| writes(function.operands_of(inst)).eq([vreg])),
        "a selection has one result"
    );
    for (&(vreg, _), _) in written_once.iter().zip(is_read_first).filter(|&(_, is_read_first)| !is_read_first)
    {
        f.set_variable(vreg, false);
    }
}
