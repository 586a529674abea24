//! Dominance by definition: a block dominates another if without it no path leads there.

use super::{Built, Style, random};
use crate::dataflow::dominance::{DominatorTree, Frontiers};
use crate::dataflow::meets::Meets;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id};
use std::collections::BTreeSet;

/// By block: whether a path leads there from the entry, without going through `without`.
fn reached(function: &FunctionView<'_>, without: Option<BlockId>) -> Vec<bool> {
    let mut is_reached = vec![false; function.blocks.len()];
    let mut waiting = vec![BlockId(0)];
    while let Some(block) = waiting.pop() {
        if Some(block) != without && !std::mem::replace(&mut is_reached[block.index()], true) {
            waiting.extend(function.succs(block));
        }
    }
    is_reached
}

/// By dominator and block.
fn dominance(function: &FunctionView<'_>) -> Vec<Vec<bool>> {
    let all = reached(function, None);
    let dominated = |block: BlockId| {
        let without = reached(function, Some(block));
        all.iter().zip(without).map(|(&is_there, without)| is_there && !without).collect()
    };
    function
        .block_ids()
        .map(|block| if all[block.index()] { dominated(block) } else { vec![false; all.len()] })
        .collect()
}

/// By block: the joins where its dominance ends.
fn frontiers(function: &FunctionView<'_>, dominates: &[Vec<bool>]) -> Vec<BTreeSet<BlockId>> {
    let is_reachable = |block: &BlockId| dominates[block.index()][block.index()];
    let frontier = |block: BlockId| {
        let ends_at = |join: &BlockId| {
            let preds = function.preds(*join).iter().filter(|pred| is_reachable(pred));
            let is_strict = *join != block && dominates[block.index()][join.index()];
            !is_strict && preds.into_iter().any(|pred| dominates[block.index()][pred.index()])
        };
        function.block_ids().filter(is_reachable).filter(ends_at).collect()
    };
    function.block_ids().map(frontier).collect()
}

fn iterated(frontiers: &[BTreeSet<BlockId>], from: &[BlockId]) -> BTreeSet<BlockId> {
    let (mut found, mut waiting) = (BTreeSet::new(), from.to_vec());
    while let Some(block) = waiting.pop() {
        waiting.extend(frontiers[block.index()].iter().filter(|&&join| found.insert(join)));
    }
    found
}

#[derive(Default)]
struct Scratch {
    tree: DominatorTree,
    frontiers: Frontiers,
    meets: Meets,
}

/// Compares everything; says whether the frontiers were listed.
fn compare(built: &Built, scratch: &mut Scratch) -> bool {
    let Scratch { tree, frontiers: listed, meets } = scratch;
    let function = built.function();
    let dominates = dominance(&function);
    let wanted = frontiers(&function, &dominates);
    tree.compute(&function);
    for one in function.block_ids() {
        assert_eq!(tree.is_reachable(one), dominates[one.index()][one.index()], "{one:?}");
        for other in function.block_ids() {
            assert_eq!(
                tree.dominates(one, other),
                dominates[one.index()][other.index()],
                "{one:?} {other:?}"
            );
        }
    }
    let order = tree.reverse_postorder();
    assert_eq!(order.len(), function.block_ids().filter(|&block| tree.is_reachable(block)).count());
    assert!(
        order.iter().enumerate().all(|(rank, block)| function.orders[block.index()].rpo as usize == rank)
    );
    let is_listed = listed.compute(&function, tree);
    if is_listed {
        for block in function.block_ids() {
            assert_eq!(
                BTreeSet::from_iter(listed.of(block).iter().copied()),
                wanted[block.index()],
                "{block:?}"
            );
            assert_eq!(
                listed.of(block).len(),
                wanted[block.index()].len(),
                "{block:?}: a join is listed twice"
            );
        }
    }
    meets.start(&function, tree);
    for step in 1..6 {
        let from: Vec<BlockId> = function.block_ids().skip(step - 1).step_by(step).collect();
        let mut found = Vec::new();
        meets.find(&function, tree, from.iter().copied(), |join| found.push(join));
        let count = found.len();
        let found = BTreeSet::from_iter(found);
        let reachable: Vec<BlockId> = from.into_iter().filter(|&block| tree.is_reachable(block)).collect();
        assert_eq!((found.len(), &found), (count, &iterated(&wanted, &reachable)));
    }
    is_listed
}

#[test]
fn trees_frontiers_and_meets_are_those_of_the_definition() {
    let mut scratch = Scratch::default();
    for seed in 0..200 {
        let built = random(seed, Style::Wild, 1 + seed as usize % 31);
        assert!(compare(&built, &mut scratch), "small functions have small frontiers");
    }
}

/// Cases that fall through: each rung has all later ones in its frontier, so they are not listed.
#[test]
fn frontiers_of_a_ladder_are_not_listed_but_its_meets_are_found() {
    const RUNGS: usize = 200;
    let ways: String = (0..RUNGS).map(|rung| format!("W{rung}: @%p1 bra B{rung};\n")).collect();
    let rungs: String = (0..RUNGS).map(|rung| format!("B{rung}: add.u32 %r1, %r1, 1;\n")).collect();
    let body = format!("bra W0;\n{ways}{rungs}");
    assert!(!compare(&Built::kernel(&body), &mut Scratch::default()));
}
