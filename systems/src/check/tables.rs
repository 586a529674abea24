//! Tables: every indexed branch has a table of blocks that it may go to, every indirect call its prototype or targets.
//!
//! Fast. One pass over instruction heads; the operands of control flow and calls, and their tables.
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

use super::rows::verify_target;
use super::{Verdict, each_function, wrong_at};
use bevy_ecs::prelude::*;
use ptxopt_components::anchor::{Table, TableKind};
use ptxopt_components::ids::{Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::opcodes::Effects;
use ptxopt_engine::columns::Code;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::log::Violations;
use ptxopt_engine::phase::{Check, Verify};
use ptxopt_engine::view::FunctionView;

/// The verifier of tables.
pub const CHECK: Check = Check { name: "tables", from: Verify::Off, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, forms: Res<FormTable>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| verify(function, &forms));
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, forms: &FormTable) -> Verdict {
    let target_count = function.pools.targets.len();
    for (at, table) in function.tables.iter().enumerate() {
        if table.kind == TableKind::Branch && (table.targets.is_empty() || table.targets.end() > target_count)
        {
            return Err(format!(
                "table{at}: its targets {:?} are not in the target pool",
                table.targets.range()
            ));
        }
    }
    for block in function.block_ids() {
        for inst in function.insts_of(block) {
            let head = &function.heads[inst.index()];
            let verdict = if head.marks.contains(Marks::CONTROL) {
                verify_branch(function, forms, inst)
            } else if head.marks.contains(Marks::KEPT) && forms.get(head.form).effects.contains(Effects::CALL)
            {
                verify_call(function, inst)
            } else {
                continue;
            };
            if let Err(what) = verdict {
                return wrong_at(block, inst.index(), what);
            }
        }
    }
    Ok(())
}

fn verify_branch(function: &FunctionView<'_>, forms: &FormTable, inst: InstId) -> Verdict {
    let mut tables = function.operands_of(inst).iter().filter_map(|operand| operand.as_table());
    let table = tables.next();
    let is_indexed = forms.get(function.heads[inst.index()].form).effects.contains(Effects::BRANCH_INDEXED);
    if is_indexed && (table.is_none() || tables.next().is_some()) {
        return Err("it names not one table".to_owned());
    }
    let Some(id) = table else { return Ok(()) };
    let Table { kind, targets, .. } = function.tables[id.index()];
    if kind != TableKind::Branch {
        return Err(format!("{id:?} lists no blocks but is {kind:?}"));
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
