//! Dominance by definition: a block dominates another if without it no path leads there.

use super::{Built, Style, random};
use crate::graph::dominator_tree::{Ancestors, DominatorTree};
use crate::graph::frontiers::Frontiers;
use crate::graph::iterated_frontier::IteratedFrontier;
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

fn iterated(
    frontiers: &[BTreeSet<BlockId>],
    from: &[BlockId],
    is_join: fn(BlockId) -> bool,
) -> BTreeSet<BlockId> {
    let (mut found, mut waiting) = (BTreeSet::new(), from.to_vec());
    while let Some(block) = waiting.pop() {
        waiting.extend(frontiers[block.index()].iter().filter(|&&join| is_join(join) && found.insert(join)));
    }
    found
}

#[derive(Default)]
struct Scratch {
    tree: DominatorTree,
    ancestors: Ancestors,
    frontiers: Frontiers,
    iterated: [IteratedFrontier; 2],
}

/// The tree's own answers: children, both orders, depths, and the nearest common ancestor of every pair.
fn compare_tree(function: &FunctionView<'_>, dominates: &[Vec<bool>], scratch: &mut Scratch) {
    let Scratch { tree, ancestors, .. } = scratch;
    ancestors.compute(function, tree);
    let reachable: Vec<BlockId> = function.block_ids().filter(|&block| tree.is_reachable(block)).collect();
    let above = |block: BlockId| -> Vec<BlockId> {
        let is_above = |other: &BlockId| dominates[other.index()][block.index()];
        reachable.iter().copied().filter(is_above).collect()
    };
    let preorder = tree.preorder();
    assert_eq!(BTreeSet::from_iter(preorder), BTreeSet::from_iter(&reachable));
    for (place, &block) in preorder.iter().enumerate() {
        assert_eq!(tree.interval(block).first as usize, place);
        assert_eq!(ancestors.depth(tree, block) as usize, above(block).len() - 1);
        let is_child = |child: &BlockId| {
            let strict = above(*child).len() - 1;
            *child != block && dominates[block.index()][child.index()] && above(block).len() == strict
        };
        let wanted: BTreeSet<BlockId> = reachable.iter().copied().filter(is_child).collect();
        let children: Vec<BlockId> = tree.children(block).collect();
        assert_eq!((children.len(), BTreeSet::from_iter(children)), (wanted.len(), wanted), "{block:?}");
        for &other in &reachable {
            let both = above(other).into_iter().filter(|above| dominates[above.index()][block.index()]);
            let deepest = both.max_by_key(|&common| above(common).len());
            assert_eq!(Some(ancestors.nearest_common(tree, block, other)), deepest, "{block:?} {other:?}");
        }
    }
}

/// Compares everything; says whether the frontiers were listed.
fn compare(built: &Built, scratch: &mut Scratch) -> bool {
    let function = built.function();
    let dominates = dominance(&function);
    let wanted = frontiers(&function, &dominates);
    scratch.tree.compute(&function);
    compare_tree(&function, &dominates, scratch);
    let Scratch { tree, frontiers: listed, iterated: both, .. } = scratch;
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
    both[1].walk_always();
    both.iter_mut().for_each(IteratedFrontier::start);
    for step in 1..6 {
        let from =
            || function.block_ids().skip(step - 1).step_by(step).filter(|&block| tree.is_reachable(block));
        // All blocks are joins, or those that a register would be live in: here, every other one.
        for is_join in [|_: BlockId| true, |block: BlockId| block.0.is_multiple_of(2)] {
            let wanted = iterated(&wanted, &from().collect::<Vec<_>>(), is_join);
            for frontier in &mut *both {
                let mut found = Vec::new();
                frontier.find(&function, tree, from(), |join| {
                    found.extend(Some(join).filter(|&join| is_join(join)));
                    is_join(join)
                });
                assert_eq!((found.len(), BTreeSet::from_iter(found)), (wanted.len(), wanted.clone()));
            }
        }
    }
    is_listed
}

#[test]
fn trees_and_frontiers_are_those_of_the_definition() {
    let mut scratch = Scratch::default();
    for seed in 0..200 {
        let built = random(seed, Style::Wild, 1 + seed as usize % 31);
        assert!(compare(&built, &mut scratch), "small functions have small frontiers");
    }
}

/// Cases that fall through: each rung has all later ones in its frontier, so they are not listed.
#[test]
fn frontiers_of_a_ladder_are_not_listed_but_found_by_walks() {
    const RUNGS: usize = 200;
    let ways: String = (0..RUNGS).map(|rung| format!("W{rung}: @%p1 bra B{rung};\n")).collect();
    let rungs: String = (0..RUNGS).map(|rung| format!("B{rung}: add.u32 %r1, %r1, 1;\n")).collect();
    let body = format!("bra W0;\n{ways}{rungs}");
    assert!(!compare(&Built::kernel(&body), &mut Scratch::default()));
}
