//! Tables: every indexed branch has a table of blocks that it may go to, every indirect call its prototype or targets.
//!
//! Fast. One pass over the tables; one over instruction heads, the operands of control flow and calls, and their tables,
//! where the [first look](super::first_look) does not settle them.
//!
//! - A live `brx.idx` names one table, and it lists blocks.
//! - No list of blocks is empty.
//! - The targets of a table that a live instruction names exist, are alive and have labels.
//! - What a call names is a list of functions or a prototype, one at most, and has its text.
//!
//! Each stands before its first user by the way it is written: lists of blocks right before it, the others at the
//! function's start.
//!
//! What an unused table lists does not matter: it is not written.

use super::first_look::Passed;
use super::rows::verify_target;
use super::{Verdict, each_function, each_inst};
use bevy_ecs::prelude::*;
use ptxopt_components::anchor::{Table, TableKind};
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of tables.
pub const CHECK: Check = Check { name: "tables", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, passed: Res<Passed>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| {
        verify_lists(function)?;
        if passed.has(function.code) { Ok(()) } else { verify_users(function, &forms) }
    });
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    verify_lists(function)?;
    verify_users(function, forms)
}

pub(super) fn verify_lists(function: &FunctionView<'_>) -> Verdict {
    for (at, table) in function.tables.iter().enumerate() {
        if !is_in_pool(function, table) {
            return Err(format!(
                "table{at}: its targets {:?} are not in the target pool",
                table.targets.range()
            ));
        }
    }
    Ok(())
}

/// Whether a table lists what lies in the target pool, if it lists blocks.
fn is_in_pool(function: &FunctionView<'_>, table: &Table) -> bool {
    let is_list = !table.targets.is_empty() && table.targets.end() <= function.pools.targets.len();
    table.kind != TableKind::Branch || is_list
}

fn verify_users(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    each_inst(function, |inst| verify_inst(function, forms, inst))
}

/// Verifies the tables that one instruction names.
pub(super) fn verify_inst(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let head = &function.heads[inst.index()];
    if head.marks.contains(Marks::CONTROL) {
        verify_branch(function, forms, inst)
    } else if head.marks.contains(Marks::KEPT) && forms.get(head.form).effects.contains(Effects::CALL) {
        verify_call(function, inst)
    } else {
        Ok(())
    }
}

fn verify_branch(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let mut tables = function.operands_of(inst).iter().filter_map(|operand| operand.as_table());
    let table = tables.next();
    let is_indexed = forms.get(function.heads[inst.index()].form).effects.contains(Effects::BRANCH_INDEXED);
    if is_indexed && (table.is_none() || tables.next().is_some()) {
        return Err("it names not one table".to_owned());
    }
    let Some(id) = table else { return Ok(()) };
    let table = function.tables[id.index()];
    let Table { kind, targets, .. } = table;
    if kind != TableKind::Branch {
        return Err(format!("{id:?} lists no blocks but is {kind:?}"));
    }
    if !is_in_pool(function, &table) {
        return Err(format!("the targets of {id:?} are not in the target pool"));
    }
    for target in &function.pools.targets[targets.range()] {
        if target.index() >= function.blocks.len() {
            return Err(format!("the target {target:?} of {id:?} does not exist"));
        }
        verify_target(function, *target)?;
    }
    Ok(())
}

fn verify_call(function: &FunctionView<'_>, inst: InstId) -> Verdict {
    let mut tables = function.operands_of(inst).iter().filter_map(|operand| operand.as_table());
    let Some(id) = tables.next() else { return Ok(()) };
    if tables.next().is_some() {
        return Err("it names more than one table".to_owned());
    }
    let Table { kind, text, .. } = function.tables[id.index()];
    if kind == TableKind::Branch || text.is_empty() {
        return Err(format!("{id:?} is {kind:?} and says nothing of functions"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};
    use ptxopt_components::block::BlockFlags;
    use ptxopt_components::ids::{BlockId, Maybe, Span, TableId};
    use ptxopt_components::operand::Operand;

    fn built() -> Built {
        kernel(
            ".reg .b32 %r<2>; fp: .callprototype _ (); ts: .branchtargets A, B; us: .branchtargets A; \
             brx.idx %r1, ts; A: ret; B: exit;",
        )
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let mut built = built();
        damage(&mut built);
        let found = verify(&built.function(), &built.forms).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built = built();
        assert_eq!(verify(&built.function(), &built.forms), Ok(()));
    }

    #[test]
    fn a_list_without_targets_is_seen() {
        reports("table1: its targets 0..0 are not in the target pool", |built| {
            built.tables.pools.tables[1].targets = Span::default();
        });
        reports("table2: its targets 2..9 are not in the target pool", |built| {
            built.tables.pools.tables[2].targets.count = 7;
        });
    }

    #[test]
    fn an_indexed_branch_names_one_list_of_blocks() {
        let name = |operand: Operand| {
            move |built: &mut Built| built.tables.inst_operands[0].get_mut(2, &mut [])[1] = operand
        };
        reports("bix0 i0: it names not one table", name(Operand::int(0)));
        reports("bix0 i0: table0 lists no blocks but is Prototype", name(Operand::table(TableId(0))));
        reports("bix0 i0: it names not one table", |built| {
            built.tables.inst_operands[0].get_mut(2, &mut [])[0] = Operand::table(TableId(1));
        });
    }

    #[test]
    fn a_call_names_one_prototype() {
        let built = || {
            kernel(
                ".reg .b64 %d<2>; fp: .callprototype _ (); ts: .branchtargets A; mov.b64 %d1, f; call %d1, (), fp; \
                 A: ret;",
            )
        };
        let whole = built();
        assert_eq!(verify(&whole.function(), &whole.forms), Ok(()));
        let found = |damage: &dyn Fn(&mut Built)| {
            let mut built = built();
            damage(&mut built);
            verify(&built.function(), &built.forms).expect_err("nothing was found")
        };
        let put = |built: &mut Built, slot: usize, table: u32| {
            built.tables.inst_operands[1].get_mut(2, &mut [])[slot] = Operand::table(TableId(table));
        };
        assert_eq!(found(&|b| put(b, 1, 1)), "bix0 i1: table1 is Branch and says nothing of functions");
        assert_eq!(found(&|b| put(b, 0, 0)), "bix0 i1: it names more than one table");
        let no_text = found(&|b| b.tables.pools.tables[0].text = Span::default());
        assert_eq!(no_text, "bix0 i1: table0 is Prototype and says nothing of functions");
    }

    #[test]
    fn targets_exist_and_live_and_have_labels() {
        reports("bix0 i0: the target bix7 of table1 does not exist", |built| {
            built.tables.pools.targets[1] = BlockId(7);
        });
        reports("bix0 i0: its target bix2 is dead", |built| {
            built.tables.block_heads[2].flags |= BlockFlags::DEAD;
        });
        reports("bix0 i0: its target bix1 has no label", |built| {
            built.tables.block_labels[1].name = Maybe::NONE;
        });
    }
}
