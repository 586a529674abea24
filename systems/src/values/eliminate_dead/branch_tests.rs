//! What depends on which branch, in random functions in SSA form: against sets of blocks.

use super::Needs;
use super::branches::{Branches, turns_back};
use crate::check::testing::{Built, Random};
use crate::values::conditional_constants::tests::{in_ssa, random_body};
use ptxopt_components::ids::{BlockId, CodeId, Id, InstId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{reads, writes};
use ptxopt_engine::edit::PlainEditor;
use ptxopt_engine::graph::build::leaves_function;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::reaching::Reaching;
use std::collections::{BTreeMap, BTreeSet};

const CODE: CodeId = CodeId(0);

/// What every way from each block to the end of the function passes, the block itself included. A loop without end may end where it
/// branches back.
fn passed_by_all(function: &FunctionView<'_>) -> BTreeMap<BlockId, BTreeSet<BlockId>> {
    let all: BTreeSet<BlockId> =
        function.block_ids().filter(|block| function.orders[block.index()].is_reachable()).collect();
    let mut leaves: BTreeSet<BlockId> =
        all.iter().copied().filter(|&block| leaves_function(function, block)).collect();
    let mut leads_out = leaves.clone();
    while let Some(&more) = all.iter().find(|&block| {
        !leads_out.contains(block) && function.succs(*block).iter().any(|succ| leads_out.contains(succ))
    }) {
        leads_out.insert(more);
    }
    leaves.extend(all.iter().filter(|block| !leads_out.contains(block) && turns_back(function, **block)));
    let mut passed: BTreeMap<BlockId, BTreeSet<BlockId>> =
        all.iter().map(|&block| (block, all.clone())).collect();
    loop {
        let mut has_changed = false;
        for &block in &all {
            let ways = function.succs(block).iter().map(|succ| passed[succ].clone());
            let end = leaves.contains(&block).then(BTreeSet::new);
            let mut meet =
                ways.chain(end).reduce(|one, other| &one & &other).expect("control goes somewhere");
            meet.insert(block);
            has_changed |= meet != passed[&block];
            passed.insert(block, meet);
        }
        if !has_changed {
            return passed;
        }
    }
}

/// What is needed, where a branch is needed only for what it decides about. Each register has one definition.
fn needed(function: &FunctionView<'_>) -> BTreeSet<InstId> {
    let passed = passed_by_all(function);
    let may_go = |block: BlockId| {
        let inst = function.control_of(block)?;
        let meets = passed[&block].len() > 1;
        (function.guard_of(inst).is_some() && meets && !turns_back(function, block)).then_some(inst)
    };
    let rows = || passed.keys().flat_map(|&block| function.rows_of(block));
    let is_there = |block: &BlockId| passed.contains_key(block);
    let is_jump = |inst: InstId| {
        function.heads[inst.index()].marks.contains(Marks::CONTROL)
            && function.guard_of(inst).is_none()
            && function.succs(function.heads[inst.index()].block).len() == 1
            && function.operands_of(inst).len() == 1
    };
    let mut needed: BTreeSet<InstId> = rows()
        .filter(|&(inst, head, _)| head.marks.contains(Marks::KEPT) && may_go(head.block) != Some(inst))
        .map(|(inst, ..)| inst)
        .collect();
    let mut live: BTreeSet<BlockId> =
        passed.keys().copied().filter(|&block| turns_back(function, block)).collect();
    loop {
        let before = (needed.len(), live.len());
        for inst in needed.clone() {
            let head = &function.heads[inst.index()];
            if !is_jump(inst) {
                live.insert(head.block);
            }
            if head.is_phi() {
                let preds = || function.preds(head.block).iter().copied().filter(is_there);
                live.extend(preds());
                needed.extend(preds().filter_map(may_go));
            }
            let read: BTreeSet<VRegId> = reads(function.operands_of(inst)).collect();
            let defines = |operands| writes(operands).any(|vreg| read.contains(&vreg));
            needed.extend(rows().filter(|&(_, _, operands)| defines(operands)).map(|(inst, ..)| inst));
        }
        for &block in passed.keys() {
            let depends = |of: &BlockId| {
                let strictly = *of != block && passed[&block].contains(of);
                !strictly && function.succs(block).iter().any(|succ| passed[succ].contains(of))
            };
            needed.extend(may_go(block).filter(|_| live.iter().any(depends)));
        }
        if (needed.len(), live.len()) == before {
            return needed;
        }
    }
}

/// Random functions in SSA form in which each register has one definition, without guards but those of branches, and without blocks
/// that nothing reaches.
fn functions(count: u64) -> impl Iterator<Item = (String, Built)> {
    (0..count).filter_map(|seed| {
        let body = random_body(&mut Random(seed));
        let guards_more = body.split('@').skip(1).any(|after| !after[4..].starts_with("bra"));
        let built = if guards_more { return None } else { in_ssa(&body) };
        let is_whole = built.function().orders.iter().all(|order| order.is_reachable());
        let function = built.function();
        let mut written = BTreeSet::new();
        let is_whole = is_whole
            && function.rows().flat_map(|(_, _, operands)| writes(operands)).all(|vreg| written.insert(vreg));
        is_whole.then_some((body, built))
    })
}

#[test]
fn branches_are_needed_for_what_sets_of_blocks_say() {
    let (mut tried, mut dead, mut in_vain) = (0, 0, 0);
    for (body, built) in functions(3000) {
        let function = built.function();
        let (mut needs, mut branches, mut reaching) = <(Needs, Branches, Reaching)>::default();
        reaching.start(&function);
        needs.find(&function, &reaching);
        let may_be_dead = branches.may_be_dead(&function, &needs, reaching.tree().reverse_postorder());
        let mut same = in_ssa(&body);
        let mut editor = PlainEditor::default();
        assert!(branches.find_control(&editor.edit(&mut same.tables, &mut same.forms, CODE)));
        needs.find_by(&function, &reaching, Some(&branches.control));
        let wanted = needed(&function);
        for (inst, head, _) in function.rows() {
            let is_reachable = function.orders[head.block.index()].is_reachable();
            assert!(
                !is_reachable || needs.needs(inst) == wanted.contains(&inst),
                "{inst:?} in {:?} of {body}",
                head.block
            );
        }
        let has_dead = branches.list_dead(&function, &needs);
        let has_loops = function.block_ids().any(|block| turns_back(&function, block));
        assert!(may_be_dead || has_loops || !has_dead, "{body}");
        tried += 1;
        dead += usize::from(has_dead);
        in_vain += usize::from(may_be_dead && !has_dead);
    }
    assert!(tried > 500 && dead > 100, "{tried} functions, {dead} with dead branches");
    assert!(in_vain <= 69, "of {tried} functions {in_vain} were looked at in vain");
}
