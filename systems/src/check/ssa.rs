//! SSA form: phis stand where they may and name their predecessors, and registers have one definition each.
//!
//! Fast. A pass over instruction heads of functions that are not in SSA form; over all operands of the others, in a
//! preorder of the dominator tree where [`Fact::ControlFlow`] holds.
//!
//! - Outside SSA form there is no phi.
//! - Phis stand before all other instructions of their block, unguarded, and name each reachable predecessor once and
//!   nothing else.
//! - A register that is a value (`VRegHead::is_value`) has one definition, which is total: unguarded, without an old value that
//!   flows in. Phis name values only, all of one type.
//! - It dominates its uses. A phi uses a value at the end of the predecessor that it names with it. A register without
//!   definition may be read anywhere: it was read uninitialised in the text.

use super::{Verdict, each_function, wrong_at, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::{definitions, reads};
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};

/// The verifier of SSA form.
pub const CHECK: Check = Check { name: "ssa", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, codes: CodeObjects, mut scratch: Local<Scratch>, mut violations: ResMut<Violations>) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let has_ranks = facts[function.code.index()].holds(Fact::ControlFlow, &function.state);
        verify(function, has_ranks, &mut scratch)
    });
}

/// Memory to be used again.
#[derive(Default)]
pub struct Scratch {
    tree: DominatorTree,
    /// By register: where it is defined.
    defined: Vec<Option<(BlockId, InstId)>>,
    /// By register: the walk has passed its definition.
    is_passed: Vec<bool>,
    /// By block: the stamp of the last phi of whose block it was seen to be a predecessor, or in which it was seen to be
    /// named.
    seen: Vec<u32>,
}

/// Verifies one function; `has_ranks` says that its ranks and dominators are those of its edges.
pub fn verify(function: &FunctionView<'_>, has_ranks: bool, scratch: &mut Scratch) -> Verdict {
    if !function.state.flags.contains(CodeFlags::SSA) {
        return verify_left(function);
    }
    verify_places(function)?;
    verify_definitions(function, scratch)?;
    if has_ranks {
        scratch.tree.compute(function);
        verify_pairs(function, scratch)?;
        verify_dominance(function, scratch)?;
    }
    Ok(())
}

/// Verifies a function that has left SSA form: PTX has no phis.
pub fn verify_left(function: &FunctionView<'_>) -> Verdict {
    if function.state.flags.contains(CodeFlags::SSA) {
        return Err("it is in SSA form still".to_owned());
    }
    match function.rows().find(|(_, head, _)| head.is_phi()) {
        Some((inst, head, _)) => wrong_at(head.block, inst.index(), "a phi outside SSA form"),
        None => Ok(()),
    }
}

fn verify_places(function: &FunctionView<'_>) -> Verdict {
    for block in function.block_ids() {
        let mut is_past_phis = false;
        for (inst, head, operands) in function.rows_of(block) {
            if !head.is_phi() {
                is_past_phis = true;
                continue;
            }
            if is_past_phis {
                return wrong_at(block, inst.index(), "a phi after an instruction that is none");
            }
            if head.opcode.is_guarded() {
                return wrong_at(block, inst.index(), "a phi with a guard");
            }
            let mut named = operands.iter().filter_map(|operand| operand.vreg());
            let ty = |vreg: VRegId| function.vregs[vreg.index()].ty;
            if named.clone().any(|vreg| Some(ty(vreg)) != operands[0].vreg().map(ty)) {
                return wrong_at(block, inst.index(), "a phi of registers of different types");
            }
            if let Some(vreg) = named.find(|&vreg| !function.vregs[vreg.index()].is_value()) {
                let what = format_args!("a phi names {vreg:?}, which is no value");
                return wrong_at(block, inst.index(), what);
            }
        }
    }
    Ok(())
}

fn verify_definitions(function: &FunctionView<'_>, scratch: &mut Scratch) -> Verdict {
    let defined = &mut scratch.defined;
    defined.clear();
    defined.resize(function.vregs.len(), None);
    for (inst, head, operands) in function.rows() {
        for (vreg, is_partial) in
            definitions(operands).filter(|&(vreg, _)| function.vregs[vreg.index()].is_value())
        {
            if is_partial || head.opcode.is_guarded() {
                let what = format_args!("it defines {vreg:?} in part, or under a guard");
                return wrong_at(head.block, inst.index(), what);
            }
            if let Some((block, other)) = defined[vreg.index()].replace((head.block, inst)) {
                let what = format_args!("it defines {vreg:?}, and so does {other:?} of {block:?}");
                return wrong_at(head.block, inst.index(), what);
            }
        }
    }
    Ok(())
}

fn verify_pairs(function: &FunctionView<'_>, scratch: &mut Scratch) -> Verdict {
    let Scratch { tree, seen, .. } = scratch;
    seen.clear();
    seen.resize(function.blocks.len(), 0);
    for &block in tree.reverse_postorder() {
        for (phi, operands) in phis_of(function, block) {
            // Odd stamps are those of predecessors, even ones those of pairs.
            let stamp = phi.0 * 2 + 1;
            let mut missing = 0;
            for pred in function.preds(block).iter().filter(|&&pred| tree.is_reachable(pred)) {
                missing += usize::from(std::mem::replace(&mut seen[pred.index()], stamp) != stamp);
            }
            for (pred, _) in incoming(operands) {
                match std::mem::replace(&mut seen[pred.index()], stamp + 1) {
                    at if at == stamp => missing -= 1,
                    at if at == stamp + 1 => {
                        return wrong_at(block, phi.index(), format_args!("it names {pred:?} twice"));
                    }
                    _ if !tree.is_reachable(pred) => {}
                    _ => {
                        let what = format_args!("it names {pred:?}, which is no predecessor");
                        return wrong_at(block, phi.index(), what);
                    }
                }
            }
            if missing > 0 {
                return wrong_at(block, phi.index(), format_args!("it lacks {missing} predecessors"));
            }
        }
    }
    Ok(())
}

fn verify_dominance(function: &FunctionView<'_>, scratch: &mut Scratch) -> Verdict {
    let Scratch { tree, defined, is_passed, .. } = scratch;
    is_passed.clear();
    is_passed.resize(function.vregs.len(), false);
    for &block in tree.preorder() {
        for (inst, head, operands) in function.rows_of(block) {
            for vreg in reads(operands).filter(|_| !head.is_phi()) {
                let Some((from, at)) = defined[vreg.index()] else { continue };
                if !(is_passed[vreg.index()] && tree.dominates(from, block)) {
                    let what = format_args!("it reads {vreg:?}, which {at:?} of {from:?} defines elsewhere");
                    return wrong_at(block, inst.index(), what);
                }
            }
            definitions(operands).for_each(|(vreg, _)| is_passed[vreg.index()] = true);
        }
    }
    for &block in tree.preorder() {
        for (phi, operands) in phis_of(function, block) {
            for (pred, value) in incoming(operands).filter(|&(pred, _)| tree.is_reachable(pred)) {
                let Some(vreg) = value.vreg() else { continue };
                let Some((from, _)) = defined[vreg.index()] else { continue };
                if !tree.dominates(from, pred) {
                    let what = format_args!("{vreg:?} comes from {pred:?}, which {from:?} does not dominate");
                    return wrong_in(block, format_args!("{phi:?}: {what}"));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, labelled};
    use ptxopt_components::operand::Operand;
    use ptxopt_engine::edit::{Change, PlainEditor};

    const LEFT: BlockId = BlockId(1);
    const RIGHT: BlockId = BlockId(2);
    const JOIN: BlockId = BlockId(3);

    /// Block 0 leads to LEFT, which defines `%r1`, and to RIGHT, which defines `%r2`; both lead to JOIN, which reads `%r4`.
    /// Block 0 defines `%r3`.
    fn built(change: impl FnOnce(&mut Change<'_, '_>, &dyn Fn(u32) -> VRegId)) -> Built {
        let mut built = labelled(
            ".reg .b32 %r<9>; .reg .pred %p<2>; ld.param.u32 %r3, [p]; setp.eq.s32 %p1, %r3, 0; @!%p1 bra N; \
             L: add.s32 %r1, %r3, 1; bra M; N: add.s32 %r2, %r3, 2; M: add.s32 %r5, %r4, %r4; ret;",
        );
        let vregs: Vec<VRegId> = (1..=5).map(|number| built.vreg("%r", number)).collect();
        built.tables.make_room(100);
        let mut editor = PlainEditor::default();
        let Built { tables, forms, .. } = &mut built;
        let mut f = editor.edit(tables, forms, Id::new(0));
        let mut first = f.required_change();
        first.set_ssa(true);
        change(&mut first, &|number| vregs[number as usize - 1]);
        drop(f);
        built.analyze();
        built
    }

    fn verdict(built: &Built) -> Verdict {
        verify(&built.function(), true, &mut Scratch::default())
    }

    fn chosen(r: &dyn Fn(u32) -> VRegId) -> [(BlockId, Operand); 2] {
        [(LEFT, Operand::register(r(1))), (RIGHT, Operand::register(r(2)))]
    }

    #[track_caller]
    fn reports(message: &str, change: impl FnOnce(&mut Change<'_, '_>, &dyn Fn(u32) -> VRegId)) {
        let found = verdict(&built(change)).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn a_phi_of_both_ways_is_right() {
        let whole = built(|change, r| {
            change.phi(JOIN, r(4), &chosen(r));
        });
        assert_eq!(verdict(&whole), Ok(()));
        let constant = built(|change, r| {
            change.phi(JOIN, r(4), &[(RIGHT, Operand::int(1)), (LEFT, Operand::register(r(3)))]);
        });
        assert_eq!(verdict(&constant), Ok(()), "pairs have no order");
        let undefined = built(|_, _| {});
        assert_eq!(verdict(&undefined), Ok(()), "what nothing defines may be read");
    }

    #[test]
    fn phis_belong_to_ssa_form_and_to_the_start_of_a_block() {
        reports("a phi outside SSA form", |change, r| {
            change.phi(JOIN, r(4), &chosen(r));
            change.set_ssa(false);
        });
        reports("a phi after an instruction that is none", |change, r| {
            let phi = change.phi(JOIN, r(4), &chosen(r));
            change.move_to_end(phi, LEFT);
        });
    }

    #[test]
    fn phis_name_each_predecessor_once() {
        reports("it lacks 1 predecessors", |change, r| {
            change.phi(JOIN, r(4), &chosen(r)[..1]);
        });
        reports("it names bix1 twice", |change, r| {
            let [left, right] = chosen(r);
            change.phi(JOIN, r(4), &[left, right, left]);
        });
        reports("it names bix0, which is no predecessor", |change, r| {
            let [left, right] = chosen(r);
            change.phi(JOIN, r(4), &[left, right, (BlockId(0), Operand::int(0))]);
        });
    }

    #[test]
    fn a_register_has_one_whole_definition() {
        let second = |change: &mut Change<'_, '_>, of: VRegId, guard: Option<Operand>| {
            let add = change.function().insts_of(LEFT).next().expect("it adds");
            let (form, operands) = {
                let function = change.function();
                (function.heads[add.index()].form, function.operands_of(add).to_vec())
            };
            change.insert_before(add, form, &[Operand::register(of), operands[1], operands[2]], guard);
        };
        reports("defines", |change, r| second(change, r(1), None));
        reports("in part, or under a guard", |change, r| {
            let branch = change.function().insts_of(BlockId(0)).next_back().expect("it branches");
            let guard = change.function().guard_of(branch);
            second(change, r(4), guard);
        });
    }

    #[test]
    fn a_definition_dominates_its_uses() {
        reports("which i3 of bix1 defines elsewhere", |change, r| {
            let reader = change.function().insts_of(JOIN).next().expect("it reads");
            change.set_operand(reader, 1, Operand::register(r(1)));
        });
        reports("comes from bix1, which bix2 does not dominate", |change, r| {
            let [(_, left), (_, right)] = chosen(r);
            change.phi(JOIN, r(4), &[(LEFT, right), (RIGHT, left)]);
        });
        reports("defines elsewhere", |change, r| {
            // In its own block, before its definition.
            let add = change.function().insts_of(LEFT).next().expect("it adds");
            change.set_operand(add, 1, Operand::register(r(1)));
        });
    }
}
