//! Phis follow the blocks: after any change of the graph they name the predecessors that there are, with the values that
//! came from there before.

use super::random::body;
use super::*;
use crate::graph::random::Random;
use crate::values::phis::{incoming, phis_of};
use ptxopt_components::instruction::Marks;
use std::collections::BTreeMap;

/// The pairs of the phis of each block, of which the values are numbers.
fn pairs(function: &FunctionView<'_>) -> BTreeMap<BlockId, Vec<BTreeMap<BlockId, Operand>>> {
    let of_block =
        |block| phis_of(function, block).map(|(_, operands)| incoming(operands).collect()).collect();
    function.block_ids().map(|block| (block, of_block(block))).collect()
}

fn preds(function: &FunctionView<'_>, block: BlockId) -> Vec<BlockId> {
    let mut preds = function.preds(block).to_vec();
    preds.sort_unstable();
    preds.dedup();
    preds
}

/// Puts the function in SSA form as far as phis go: one or two in each block with predecessors, each value a number of its own.
fn add_phis(bench: &mut Bench) {
    let mut number = 0;
    let mut f = bench.edit();
    let blocks: Vec<BlockId> =
        f.view().block_ids().filter(|&block| !preds(&f.view(), block).is_empty()).collect();
    for block in blocks {
        for _ in 0..1 + block.0 % 2 {
            let mut value = |_: &BlockId| {
                number += 1;
                Operand::int(number)
            };
            let from = preds(&f.view(), block);
            let incoming: Vec<(BlockId, Operand)> = from.iter().map(|pred| (*pred, value(pred))).collect();
            let mut change = f.required_change();
            change.set_ssa(true);
            let to = change.new_vreg(PtxType::B32);
            change.phi(block, to, &incoming);
        }
    }
}

#[track_caller]
fn assert_phis_name_predecessors(bench: &Bench) {
    let function = bench.view();
    for (block, phis) in pairs(&function) {
        for named in phis {
            assert_eq!(named.keys().copied().collect::<Vec<_>>(), preds(&function, block), "{block:?}");
        }
    }
}

/// Makes a change of the graph after which the phis need no value that there was not.
fn change(f: &mut FunctionEditor<'_>, random: &mut Random) {
    f.refresh_edges();
    let insts: Vec<InstId> =
        f.view().block_ids().flat_map(|block| f.view().insts_of(block).collect::<Vec<_>>()).collect();
    let is_phi = |f: &FunctionEditor<'_>, inst: InstId| f.view().heads[inst.index()].is_phi();
    let plain: Vec<InstId> = insts.iter().copied().filter(|&inst| !is_phi(f, inst)).collect();
    let Some(inst) = random.pick(&plain) else { return };
    // Without one that is not guarded its block would lead to another one.
    let is_branch = f.view().heads[inst.index()].marks.contains(Marks::CONTROL);
    let is_guarded = f.view().guard_of(inst).is_some();
    match random.below(4) {
        // Nothing comes past a branch that is not guarded, and the rest would lead on.
        0 | 1 if !is_branch || is_guarded => {
            let Some(mut change) = f.change(inst, "split") else { return };
            change.split_after(inst);
        }
        2 if is_branch && is_guarded => {
            let Some(mut change) = f.change_in_place(inst, "branch") else { return };
            change.delete_branch(inst);
        }
        2 if !is_branch => {
            // What was split joins again: nothing else leads there, and it has no phis.
            let view = f.view();
            let into = view.heads[inst.index()].block;
            let Some(next) = f.next_in_text(into) else { return };
            let is_free = view.preds(next) == [into] && phis_of(&view, next).next().is_none();
            let last = view.insts_of(into).next_back();
            let falls = last.is_none_or(|last| !view.heads[last.index()].marks.contains(Marks::CONTROL));
            let is_named = view.rows().any(|(_, head, operands)| {
                !head.is_phi() && operands.iter().any(|operand| operand.as_block() == Some(next))
            });
            if is_free && falls && !is_named {
                let Some(mut change) = f.change_at(0, "merge") else { return };
                change.merge(next);
            }
        }
        3 => {
            let blocks: Vec<BlockId> = f.view().block_ids().skip(1).collect();
            let listed: Vec<BlockId> = f
                .view()
                .tables
                .iter()
                .flat_map(|table| f.view().pools.targets[table.targets.range()].to_vec())
                .collect();
            let is_dead = |block: &&BlockId| {
                f.view().preds(**block).is_empty()
                    && f.next_in_text(BlockId(0)).is_some()
                    && !listed.contains(block)
            };
            let Some(block) = blocks.iter().find(is_dead).copied() else { return };
            if f.view().blocks[block.index()].flags.contains(BlockFlags::DEAD) {
                return;
            }
            let Some(mut change) = f.change_at(0, "dead") else { return };
            change.delete_blocks(&[block]);
        }
        _ => {}
    }
}

#[test]
fn phis_name_their_predecessors_after_any_change_of_the_graph() {
    let (mut renamed, mut undone) = (0, 0);
    for seed in 0..4_000 {
        let mut random = Random(seed);
        let count = 2 + random.below(6);
        let mut bench = Bench::of(&body(count, &mut random));
        bench.analyze();
        add_phis(&mut bench);
        bench.assert_is_whole();
        assert_phis_name_predecessors(&bench);
        let numbers = |bench: &Bench| {
            let all = pairs(&bench.view());
            let mut all: Vec<String> =
                all.values().flatten().flat_map(|phi| phi.values().map(|v| format!("{v:?}"))).collect();
            all.sort();
            all
        };
        bench.editor.journal.clear();
        let (before, wanted) = (numbers(&bench), pairs(&bench.view()));
        let mut f = bench.edit();
        for _ in 0..random.below(8) {
            change(&mut f, &mut random);
        }
        drop(f);
        bench.assert_is_whole();
        assert_phis_name_predecessors(&bench);
        let after = numbers(&bench);
        assert!(after.iter().all(|number| before.contains(number)), "no value comes from nowhere");
        renamed += usize::from(pairs(&bench.view()) != wanted && after == before);
        if random.below(2) == 0 && bench.undo() {
            bench.assert_is_whole();
            assert_eq!(pairs(&bench.view()), wanted);
            undone += 1;
        }
    }
    assert!(renamed > 300 && undone > 500, "{renamed} {undone}");
}

/// ```text
/// L0: @%p1 bra L1;  ...  L1: phi {L0, 7}, ...
/// ```
/// After L0 is split, what comes from it comes from its rest.
#[test]
fn a_phi_names_the_rest_of_a_block_that_was_split() {
    let mut bench = Bench::of("L0: add.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1; @%p1 bra L1; bra L0; L1: ret;");
    let mut f = bench.edit();
    let mut change = f.required_change();
    change.set_ssa(true);
    let to = change.new_vreg(PtxType::B32);
    let last = change.function().block_ids().next_back().unwrap();
    let from = preds(&change.function(), last);
    let phi = change.phi(last, to, &[(from[0], Operand::int(7))]);
    let split = nth(&change.function(), 0);
    let rest = change.split_after(split);
    let named: Vec<_> = incoming(change.function().operands_of(phi)).collect();
    assert_eq!(named, [(rest, Operand::int(7))]);
}

#[test]
#[should_panic(expected = "phis belong to SSA form")]
fn a_phi_outside_ssa_form_is_refused() {
    let mut bench = Bench::of("L0: @%p1 bra L0; ret;");
    let mut f = bench.edit();
    let mut change = f.required_change();
    let to = change.new_vreg(PtxType::B32);
    change.phi(BlockId(1), to, &[(BlockId(0), Operand::int(1))]);
}

/// A branch that is led past a block brings what came from there along.
#[test]
fn a_new_predecessor_takes_what_another_one_takes() {
    let mut bench = Bench::of("@%p1 bra A; bra J; A: bra J; J: ret;");
    let (entry, between, join) = (BlockId(0), BlockId(2), BlockId(3));
    add_phis(&mut bench);
    let before = pairs(&bench.view())[&join][0].clone();
    let mut f = bench.edit();
    assert!(f.takes_alike(join, entry, between), "nothing comes from the entry yet");
    assert!(!f.takes_alike(join, BlockId(1), between));
    let branch = nth(&f.view(), 0);
    let mut change = f.change_in_place(branch, "test").unwrap();
    change.redirect(branch, join);
    change.take_alike(join, &[(entry, between), (BlockId(1), between)]);
    change.delete_blocks(&[between]);
    drop(f);
    bench.assert_is_whole();
    assert_phis_name_predecessors(&bench);
    // The block that died stood before the join.
    let after = pairs(&bench.view())[&BlockId(2)][0].clone();
    assert_eq!(after[&entry], before[&between]);
    assert_eq!(after[&BlockId(1)], before[&BlockId(1)], "it has its own already");
}
