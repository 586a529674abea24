//! Guards whose truth is known: what becomes of the instructions under them.
//!
//! No phase: what the phases on branches do once they have decided a guard.
//! ```text
//! @p bra A;       // p holds: bra A;            p does not: nothing, and control falls through
//! @p exit;        // p holds: exit;             p does not: nothing
//! @p st [a], x;   // p holds: st [a], x;        p does not: nothing
//! ```
//! A guard that is decided is so for every thread that comes there, so the same threads execute what is left. Pinned
//! instructions, barriers among them, stay as they are all the same.

use super::conditions::Conditions;
use ptxopt_components::block::{BlockFlags, BlockHead};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_components::operation::Operation;
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::values::reaching::Place;

/// Whether the guard of an instruction may go, or the instruction. Pinned and asynchronous ones stay as they are, and
/// calls, which belong to the accesses of their parameters.
pub fn may_settle(f: &FunctionEditor<'_>, inst: InstId) -> bool {
    let (head, form) = (f.head(inst), f.form_of(inst));
    let left_alone = Effects::UNKNOWN | Effects::ASYNC | Effects::CALL;
    head.is_live()
        && head.opcode.is_guarded()
        && form.flags.contains(FormFlags::MODELLED)
        && !form.effects.intersects(left_alone)
        && !head.marks.contains(Marks::PINNED)
}

/// Rewrites an instruction whose guard holds, or does not; nothing where the bisect limit is reached. The next instructions
/// of its block are not executed any more where it is a branch.
pub fn settle(f: &mut FunctionEditor<'_>, inst: InstId, holds: bool, reason: &'static str) -> Option<()> {
    let is_control = f.head(inst).marks.contains(Marks::CONTROL);
    let mut change = f.change_in_place(inst, reason)?;
    match (holds, is_control) {
        (true, _) => change.drop_guard(inst),
        (false, true) => change.delete_branch(inst),
        (false, false) => change.delete(inst),
    }
    Some(())
}

/// Deletes the blocks that nothing leads to any more; nothing where the bisect limit is reached. In SSA form it does so all the
/// same: a phi has no value where nothing comes from.
pub fn delete_unreachable(f: &mut FunctionEditor<'_>) -> Option<()> {
    let is_dead = |block: &BlockHead| block.flags.contains(BlockFlags::DEAD);
    let rows = f.view();
    let leads_everywhere = f.fact_holds(Fact::ControlFlow)
        && rows.orders.iter().zip(rows.blocks).all(|(order, block)| order.is_reachable() || is_dead(block));
    let dead = if leads_everywhere { Vec::new() } else { f.unreachable_now() };
    if dead.is_empty() {
        return Some(());
    }
    // They count as one change, since they may branch to one another.
    let offset = f.text().body.first;
    if let Some(mut change) = f.change_in_place_at(offset, "nothing leads to the block any more") {
        change.delete_blocks(&dead);
        return Some(());
    }
    // What came in unreachable may stay.
    if f.state().flags.contains(CodeFlags::SSA) && f.stats().changes > 0 {
        f.required_change().delete_blocks(&dead);
    }
    None
}

/// Settles the guards that are known in all blocks; nothing where the bisect limit is reached.
pub fn settle_all(f: &mut FunctionEditor<'_>, conditions: &mut Conditions<'_>) -> Option<()> {
    for at in 0..conditions.preorder().len() {
        let block = conditions.preorder()[at];
        conditions.enter(f, block);
        settle_block(f, conditions, block)?;
    }
    Some(())
}

/// Settles the guards of a block that are known there, and makes an indexed branch a direct one where its index is known;
/// nothing where the bisect limit is reached. `conditions` have entered the block.
pub fn settle_block(
    f: &mut FunctionEditor<'_>,
    conditions: &mut Conditions<'_>,
    block: BlockId,
) -> Option<()> {
    for inst in conditions.deciding_in(block) {
        let inst = conditions.deciding(inst);
        let place = Place { block, before: inst };
        if may_settle(f, inst) {
            let guard = *f.operands_of(inst).last().expect("the guard stands last");
            match conditions.holds(f, guard, place) {
                Some(true) => settle(f, inst, true, "its guard always holds")?,
                Some(false) => settle(f, inst, false, "its guard never holds")?,
                None => {}
            }
        }
        if let Some(to) = indexed_target(f, conditions, place) {
            f.change_in_place(inst, "its index is always the same")?.branch_to(inst, to);
        }
    }
    Some(())
}

/// Where an indexed branch always goes. An index past the table is undefined and stays as it is.
fn indexed_target(f: &FunctionEditor<'_>, conditions: &mut Conditions<'_>, place: Place) -> Option<BlockId> {
    let (head, form) = (f.head(place.before), f.form_of(place.before));
    if !head.is_live() || form.operation != Operation::BrxIdx {
        return None;
    }
    let &[index, table, ..] = f.operands_of(place.before) else { return None };
    let function = f.view();
    let targets = function.tables[table.as_table()?.index()].targets;
    let index = conditions.index(f, index, place)?;
    function.pools.targets[targets.range()].get(usize::try_from(index).ok()?).copied()
}
