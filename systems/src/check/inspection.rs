//! Inspection: what is about to be written, as far as it has changed since it was read.
//!
//! Runs at the end of pipelines in which nothing is verified after each step. One system asks the verifiers, so that a batch
//! of one small kernel pays for one.
//!
//! - A function whose epochs are those of reading costs three comparisons.
//! - Of another one, the rows are looked at as blocks and chains hold them, and form and operands of the instructions that
//!   were written. Anchors too, because rows move under them.
//! - Where blocks or edges have changed, also what leaves blocks, edges, names, lists of tables, and facts of control flow.
//! - Of each function that has changed: that it has left SSA form, and that no phi is left.
//! - Live sets are looked at where the fact holds: it is computed here, and nothing reads it in.
//!
//! # What is trusted, and why
//! - **The reader.** A row with [`Marks::AS_READ`] is what it made. Verifiers see that over the whole corpus in the tests, and
//!   `--verify` looks at everything after each step.
//! - **Marks and epochs.** Phases change code through the editor alone. Whatever writes a form or an operand there takes the
//!   mark away, and a row is made without it; whatever moves a block or an edge raises an epoch. Undoing a step brings marks
//!   back and raises epochs. A test compares marked rows with what was read.
//! - **What rows name stays.** Pools, registers and names only grow, a register keeps its class, and blocks change with the
//!   graph. So an operand that was right is still right.
//! - **Compaction** moves rows whole, marks with operands.
//!
//! A system that takes columns to write code itself is none that keeps marks and epochs. The columns note it
//! ([`Code::is_written_past_the_editor`]), and everything is looked at then.
//!
//! [`Marks::AS_READ`]: ptxopt_components::instruction::Marks::AS_READ

use super::first_look::FirstLook;
use super::rows::SeenNames;
use super::{
    async_registers, control_flow, edges, forms as check_forms, liveness, rows, ssa, tables, terminators,
};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::{CodeFlags, CodeState};
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::dataflow::liveness::LiveSets;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::{CodeFacts, Fact};
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The inspection.
pub const CHECK: Check = Check {
    name: "inspection",
    from: Verify::Off,
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(run);
    },
};

/// Memory of the verifiers.
#[derive(Default)]
pub struct Scratch {
    first_look: FirstLook,
    seen: SeenNames,
    edges: edges::Scratch,
    control_flow: control_flow::Scratch,
    liveness: liveness::Scratch,
}

/// The verifier that has found something, and what.
type Finding = (&'static str, String);

/// Inspects every function of the batch.
pub fn run(
    code: Code,
    forms: Res<FormTable>,
    sets: Res<LiveSets>,
    mut scratch: Local<Scratch>,
    mut violations: ResMut<Violations>,
) {
    let (view, facts) = (code.view(), code.facts());
    let everything = code.is_written_past_the_editor();
    let is_touched = |state| everything || !CodeState::is_as_read(state);
    let mut is_started = false;
    for id in (0..view.code_spans.len()).map(CodeId::new) {
        let state = &view.code_states[id.index()];
        if state.flags.contains(CodeFlags::LEFT) {
            continue;
        }
        let has_live_sets = facts[id.index()].holds(Fact::Liveness, state);
        if !is_touched(state) && !has_live_sets {
            continue;
        }
        if !std::mem::replace(&mut is_started, true) {
            if let Err(what) = rows::verify_spans(&view) {
                // Where the spans of the batch are wrong, every function is.
                let codes = (0..view.code_spans.len()).map(CodeId::new);
                violations.all.extend(codes.map(|code| (code, rows::CHECK.name, what.clone())));
                return;
            }
            scratch.first_look.bring_up_to_date(&forms);
        }
        let function = view.function(id);
        let mut found = Ok(());
        if is_touched(state) {
            found = inspect(&function, &facts[id.index()], &forms, everything, &mut scratch);
        }
        if found.is_ok() && has_live_sets {
            let verdict = liveness::verify_where_held(
                &function,
                &facts[id.index()],
                &forms,
                &sets,
                &mut scratch.liveness,
            );
            found = verdict.map_err(|what| (liveness::CHECK.name, what));
        }
        if let Err((name, what)) = found {
            violations.all.push((id, name, what));
        }
    }
}

/// Inspects one function: what has changed in it, or everything.
fn inspect(
    function: &FunctionView<'_>,
    facts: &CodeFacts,
    forms: &FormTable,
    everything: bool,
    scratch: &mut Scratch,
) -> Result<(), Finding> {
    let by = |name: &'static str| move |what: String| (name, what);
    let Scratch { first_look, seen, edges, control_flow, .. } = scratch;
    ssa::verify_left(function).map_err(by(ssa::CHECK.name))?;
    rows::verify_blocks(function).map_err(by(rows::CHECK.name))?;
    if !first_look.passes(function, forms, everything) {
        rows::verify_all_operands(function).map_err(by(rows::CHECK.name))?;
        check_forms::verify(function, forms).map_err(by(check_forms::CHECK.name))?;
        terminators::verify(function).map_err(by(terminators::CHECK.name))?;
        tables::verify(function, forms).map_err(by(tables::CHECK.name))?;
        async_registers::verify(function, forms).map_err(by(async_registers::CHECK.name))?;
    }
    rows::verify_anchors(function).map_err(by(rows::CHECK.name))?;
    if !everything && function.state.has_graph_as_read() {
        return Ok(());
    }
    rows::verify_names(function, seen).map_err(by(rows::CHECK.name))?;
    edges::verify(function, edges).map_err(by(edges::CHECK.name))?;
    tables::verify_lists(function).map_err(by(tables::CHECK.name))?;
    if facts.holds(Fact::ControlFlow, &function.state) {
        control_flow::verify(function, control_flow).map_err(by(control_flow::CHECK.name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel, modules};
    use crate::check::{ALL, tests::PLAN_LIMITS};
    use crate::flow::{optimize_branches, split_at_control_flow};
    use crate::upkeep::sweep;
    use crate::values::eliminate_dead;
    use crate::{analyze, upkeep};
    use ptxopt_components::code_object::Room;
    use ptxopt_components::ids::{InstId, Maybe, VRegId};
    use ptxopt_components::instruction::{InstHead, Marks};
    use ptxopt_components::operand::Operand;
    use ptxopt_engine::edit::Editor;
    use ptxopt_engine::ptx::scan::Module;
    use ptxopt_engine::run::phase::{Limits, Phase, Plan, Settings, Step};
    use ptxopt_engine::run::shard::{BatchOutput, Shard};
    use ptxopt_engine::store::as_read::AsRead;
    use ptxopt_engine::store::columns::InstsMut;
    use std::collections::HashMap;

    const BODY: &str = ".reg .b32 %r<9>; .reg .pred %p<2>; mov.u32 %r1, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra M; \
                        add.s32 %r2, %r1, %r1; M: ret;";

    fn found_in(built: &Built, everything: bool) -> Result<(), Finding> {
        let mut scratch = Scratch::default();
        scratch.first_look.bring_up_to_date(&built.forms);
        inspect(&built.function(), &CodeFacts::default(), &built.forms, everything, &mut scratch)
    }

    /// The addition of [`BODY`], which names a register that is not there.
    fn with_a_wrong_operand() -> (Built, usize) {
        let mut built = kernel(BODY);
        built.tables.code_states[0].inst_epoch += 1;
        let is_sum = |head: &InstHead| head.operand_count == 3 && !head.marks.contains(Marks::CONTROL);
        let sum = built.tables.inst_heads.iter().rposition(is_sum).expect("it has an addition");
        built.tables.inst_operands[sum].get_mut(3, &mut [])[2] = Operand::register(VRegId(99));
        (built, sum)
    }

    #[test]
    fn what_was_written_is_looked_at() {
        let whole = kernel(BODY);
        assert_eq!(found_in(&whole, false), Ok(()));
        let (mut built, sum) = with_a_wrong_operand();
        built.tables.inst_heads[sum].marks -= Marks::AS_READ;
        let (name, what) = found_in(&built, false).unwrap_err();
        assert!(name == "rows" && what.contains("does not exist"), "{name}: {what}");
    }

    #[test]
    fn rows_as_read_are_trusted_until_somebody_writes_past_the_editor() {
        let (built, _) = with_a_wrong_operand();
        assert_eq!(found_in(&built, false), Ok(()));
        assert_eq!(found_in(&built, true).unwrap_err().0, "rows");
    }

    #[test]
    fn edges_and_branches_are_looked_at_where_the_graph_has_changed() {
        let mut built = kernel(BODY);
        let branch =
            built.tables.inst_heads.iter().position(|head| head.marks.contains(Marks::CONTROL)).unwrap();
        built.tables.block_labels[1].name = Maybe::NONE;
        built.tables.code_states[0].inst_epoch += 1;
        assert_eq!(found_in(&built, false), Ok(()));
        built.tables.code_states[0].cfg_epoch += 1;
        let (name, what) = found_in(&built, false).unwrap_err();
        assert_eq!((name, what), ("rows", format!("bix0 i{branch}: its target bix1 has no label")));
        let mut built = kernel(BODY);
        built.tables.code_states[0].cfg_epoch += 1;
        built.tables.pools.edges[0].0 ^= 1;
        assert_eq!(found_in(&built, false).unwrap_err().0, "edges");
    }

    #[test]
    fn phis_never_reach_the_output() {
        let mut built = kernel(BODY);
        built.tables.code_states[0].flags |= CodeFlags::SSA;
        assert_eq!(found_in(&built, false), Err(("ssa", "it is in SSA form still".to_owned())));
    }

    fn step((number, phase): (usize, &&'static Phase)) -> Step {
        let verified = phase.verified;
        Step { number: number as u16, name: phase.name, phase, dump: false, verified }
    }

    /// Runs phases with nothing verified but after the inspection.
    fn run_with(text: &[u8], phases: &[&'static Phase], verify: Verify, limits: Limits) -> BatchOutput {
        let plan = Plan {
            steps: phases.iter().enumerate().map(step).collect(),
            analyses: &[&analyze::control_flow::ANALYSIS],
            checks: ALL,
            verify,
            fuel: None,
            remarks: false,
            fingerprint: None,
            limits,
            settings: Settings::default(),
            careful: Settings::default(),
            keep_rolled: false,
            keep_grown: false,
        };
        plan.check(&[]).unwrap();
        let module = Module::scan(text).unwrap();
        Shard::new(&plan).run(&module, &module.functions).unwrap()
    }

    fn module_of(body: &str) -> Vec<u8> {
        format!(".version 8.0\n.target sm_90\n.entry k() {{ {body} }}\n").into_bytes()
    }

    /// A phase with a bug: past the editor, it lets an instruction name a register that is not there.
    static BREAKS_AN_OPERAND: Phase = Phase {
        name: "breaks_an_operand",
        install: |slot| {
            slot.add(|mut insts: InstsMut| {
                insts.columns().1[0].get_mut(1, &mut [])[0] = Operand::register(VRegId(99));
            });
        },
        ..Phase::NOTHING
    };

    #[test]
    fn what_is_written_past_the_editor_is_looked_at() {
        let output = run_with(
            &module_of(BODY),
            &[&BREAKS_AN_OPERAND, &upkeep::inspect::FINAL],
            Verify::Off,
            PLAN_LIMITS,
        );
        let reason = output.functions[0].left.as_deref().unwrap_or_default();
        assert!(reason.starts_with("check rows failed after check_final: bix0 i0: "), "{reason}");
    }

    /// Writes in every way that the editor knows: in place, anew, before, by another branch.
    fn rewrite(mut editor: Editor) {
        editor.each(CodeFlags::TERMINATORS_LAST, |mut f| {
            let view = f.view();
            let plain: Vec<InstId> = view
                .rows()
                .filter(|(_, head, operands)| {
                    !head.marks.intersects(Marks::CONTROL | Marks::PINNED | Marks::KEPT)
                        && operands.len() == 3
                        && operands[1].vreg().is_some()
                        && operands[1] == operands[2]
                })
                .map(|(inst, ..)| inst)
                .collect();
            let branches: Vec<InstId> = view
                .rows()
                .filter(|(_, head, operands)| {
                    head.marks.contains(Marks::CONTROL)
                        && operands.iter().filter(|operand| operand.as_block().is_some()).count() == 1
                })
                .map(|(inst, ..)| inst)
                .collect();
            for (at, &inst) in plain.iter().enumerate() {
                let (view, form) = (f.view(), f.view().heads[inst.index()].form);
                let operands = view.operands_of(inst).to_vec();
                let Some(mut change) = f.change(inst, "rewritten") else { break };
                match at % 3 {
                    0 => change.set_operand(inst, 1, operands[2]),
                    1 => change.set_form(inst, form, &operands),
                    _ => _ = change.insert_before(inst, form, &operands, None),
                }
            }
            for &branch in branches.iter().step_by(2) {
                let mut targets =
                    f.view().operands_of(branch).iter().filter_map(|operand| operand.as_block());
                let Some(to) = targets.next() else { continue };
                if let Some(mut change) = f.change(branch, "redirected") {
                    change.redirect(branch, to);
                }
            }
        });
    }

    static REWRITES: Phase = Phase {
        name: "rewrites",
        breaks: &Fact::ALL,
        install: |slot| slot.add(rewrite),
        room_percent: 50,
        ..Phase::NOTHING
    };

    /// Sees that marked rows are what was read at their place, but for where they branch to, and that others are there.
    fn compare(
        code: Code,
        as_read: Res<AsRead>,
        mut violations: ResMut<Violations>,
        mut counts: ResMut<Counts>,
    ) {
        let plain = |operands: &[Operand]| -> Vec<Option<Operand>> {
            operands.iter().map(|operand| operand.as_block().is_none().then_some(*operand)).collect()
        };
        for function in code.view().functions() {
            let Some(before) = as_read.function(function.code) else { continue };
            let old: HashMap<u32, InstId> =
                before.rows().map(|(inst, ..)| (before.places[inst.index()].offset, inst)).collect();
            for (inst, head, operands) in function.rows() {
                let is_marked = head.marks.contains(Marks::AS_READ);
                counts.0[usize::from(is_marked)] += 1;
                let Some(&old) = old.get(&function.places[inst.index()].offset).filter(|_| is_marked) else {
                    continue;
                };
                let was = before.heads[old.index()];
                let is_same = (was.form, was.opcode, was.operand_count)
                    == (head.form, head.opcode, head.operand_count)
                    && plain(before.operands_of(old)) == plain(operands);
                if !is_same {
                    violations.all.push((function.code, "as_read", format!("{inst:?} was written")));
                }
            }
        }
        println!("{:?}", counts.0);
    }

    /// Rows without and with the mark.
    #[derive(Resource, Default)]
    struct Counts([usize; 2]);

    static COMPARES: Phase = Phase {
        name: "compares",
        install: |slot| {
            slot.init_resource::<Counts>();
            slot.add(compare);
        },
        ..Phase::NOTHING
    };

    #[test]
    fn rows_with_the_mark_are_as_read() {
        let phases: &[&Phase] = &[
            &split_at_control_flow::PHASE,
            &REWRITES,
            &COMPARES,
            &optimize_branches::PHASE,
            &eliminate_dead::FULL,
            &sweep::PHASE,
            &COMPARES,
        ];
        let mut phases_seen = 0;
        for path in
            modules().into_iter().filter(|path| path.to_string_lossy().contains("tests/corpus")).step_by(8)
        {
            let text = std::fs::read(&path).unwrap();
            let output = run_with(&text, phases, Verify::Fast, PLAN_LIMITS);
            for function in &output.functions {
                let reason = function.left.clone().unwrap_or_default();
                assert!(!reason.contains("as_read"), "{}: {reason}", path.display());
                assert!(function.undone.is_empty(), "{}: {:?}", path.display(), function.undone);
            }
            phases_seen += output.steps[1].changes;
        }
        assert!(phases_seen > 100, "{phases_seen}");
    }

    /// Sees that every row has its mark.
    static ALL_AS_READ: Phase = Phase {
        name: "all_as_read",
        install: |slot| {
            slot.add(|code: Code, mut violations: ResMut<Violations>| {
                let function = code.view().function(CodeId(0));
                assert_eq!(function.heads.len(), 5);
                if !function.heads.iter().all(|head| head.marks.contains(Marks::AS_READ)) {
                    violations.all.push((CodeId(0), "as_read", "a mark is lost".to_owned()));
                }
            });
        },
        ..Phase::NOTHING
    };

    /// Writes an operand again, and grows.
    static GROWS: Phase = Phase {
        name: "grows",
        breaks: &Fact::ALL,
        install: |slot| {
            slot.add(|mut editor: Editor| {
                let mut f = editor.edit(CodeId(0));
                let sum = f.view().rows().find(|(_, head, _)| head.operand_count == 3 && head.block.0 == 1);
                let (inst, operands) = sum.map(|(inst, _, operands)| (inst, operands.to_vec())).unwrap();
                let form = f.view().heads[inst.index()].form;
                let room = Room { insts: 9, ..Room::default() };
                let mut change = f.change_with_room(0, "growth", room).expect("there is room");
                change.set_operand(inst, 1, operands[2]);
                (0..9).for_each(|_| _ = change.insert_before(inst, form, &operands, None));
            });
        },
        ..Phase::NOTHING
    };

    #[test]
    fn undoing_brings_marks_back() {
        let limits = Limits { growth_percent: 120, ..PLAN_LIMITS };
        let output =
            run_with(&module_of(BODY), &[&GROWS, &ALL_AS_READ, &upkeep::inspect::FINAL], Verify::Off, limits);
        let function = &output.functions[0];
        assert_eq!((function.undone.len(), function.left.clone()), (1, None));
    }
}
