//! Control flow, recomputed: ranks, dominators and natural loops by their definitions.
//!
//! Full, where [`Fact::ControlFlow`] holds. Dominator sets as bit vectors, iterated to the fixpoint: blocks squared
//! bits, and as many rounds as loops are deep. Each loop, and each retreating edge, by its own walk.
//!
//! - Reachable is what a search from the entry finds.
//! - A retreating edge leads to an ancestor in some depth-first search: its target reaches its source along edges to
//!   larger ranks. Without this, ranks could be any order.
//! - A dominates B when it is in the greatest solution of dom(B) = B and the intersection over its predecessors; the
//!   immediate one is the strict dominator with the most dominators.
//! - The natural loop of a header is the header and whatever reaches one of its latches without passing it. Depth is
//!   the number of loops around a block, its header that of the smallest of them; IN_LOOP where there is one.
//! - `latch_rpo` and `exit_rpo` are the largest ranks among a header's latches and in its loop. RPO_VIOLATION is set
//!   exactly when the interval from some header to its `exit_rpo` is not its loop.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::bits::BitMatrix;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::{StepLog, Violations};
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier of control-flow facts that computes them again.
pub const CHECK: Check =
    Check { name: "control_flow_full", from: Verify::Full, install: |slot| slot.add(run) };

/// Most blocks of a function that is verified. Dominator sets of 4,096 blocks take 2 MiB and milliseconds; those of
/// the largest function that we know, 24,578 blocks, would take 75 MB and seconds after each step.
pub const BLOCKS_MAX: usize = 4096;

/// Verifies every function of the batch for which the fact holds.
pub fn run(code: Code, codes: CodeObjects, mut violations: ResMut<Violations>, mut log: ResMut<StepLog>) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        if !facts[function.code.index()].holds(Fact::ControlFlow, &function.state) {
            return Ok(());
        }
        if function.blocks.len() > BLOCKS_MAX {
            log.current().limits_hit += 1;
            return Ok(());
        }
        verify(function)
    });
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>) -> Verdict {
    let reachable = search(function, BlockId(0), |_| true, |block| function.succs(block));
    for block in function.block_ids() {
        if reachable[block.index()] != (rank(function, block) != BlockOrder::UNREACHABLE) {
            return wrong_in(block, "a rank is what reachable blocks have, and no others");
        }
    }
    verify_retreating_edges(function, &reachable)?;
    let dominators = dominator_sets(function, &reachable);
    verify_idoms(function, &reachable, &dominators)?;
    verify_loops(function, &reachable, &dominators)
}

fn rank(function: &FunctionView<'_>, block: BlockId) -> u32 {
    function.orders[block.index()].rpo
}

/// By block: whether a walk from `start` over `next` finds it, blocks that are not `open` left aside.
fn search<'a>(
    function: &FunctionView<'a>,
    start: BlockId,
    is_open: impl Fn(BlockId) -> bool,
    next: impl Fn(BlockId) -> &'a [BlockId],
) -> Vec<bool> {
    let mut found = vec![false; function.blocks.len()];
    let mut waiting = vec![start];
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut found[block.index()], true) {
            waiting.extend(next(block).iter().filter(|&&next| is_open(next)));
        }
    }
    found
}

fn verify_retreating_edges(function: &FunctionView<'_>, reachable: &[bool]) -> Verdict {
    // In order of rank, so that one pass follows edges to larger ranks.
    let mut blocks: Vec<BlockId> = function.block_ids().filter(|block| reachable[block.index()]).collect();
    blocks.sort_by_key(|&block| rank(function, block));
    for &source in &blocks {
        for &target in
            function.succs(source).iter().filter(|&&target| rank(function, target) <= rank(function, source))
        {
            let mut found = vec![false; function.blocks.len()];
            found[target.index()] = true;
            for &block in &blocks[rank(function, target) as usize..] {
                if found[block.index()] {
                    let larger = |succ: &&BlockId| rank(function, **succ) > rank(function, block);
                    function.succs(block).iter().filter(larger).for_each(|succ| found[succ.index()] = true);
                }
            }
            if !found[source.index()] {
                return wrong_in(
                    source,
                    format_args!("it retreats to {target:?}, which is no ancestor of it"),
                );
            }
        }
    }
    Ok(())
}

/// By block: the blocks that dominate it. Nothing is said of unreachable ones.
fn dominator_sets(function: &FunctionView<'_>, reachable: &[bool]) -> BitMatrix {
    let count = function.blocks.len();
    let mut sets = BitMatrix::with_shape(count, count);
    for block in 1..count {
        sets.fill_row(block);
    }
    sets.set(0, 0);
    let mut changed = true;
    while changed {
        changed = false;
        for block in function.block_ids().skip(1).filter(|block| reachable[block.index()]) {
            let mut set: Vec<u64> = vec![u64::MAX; sets.stride()];
            for pred in function.preds(block).iter().filter(|pred| reachable[pred.index()]) {
                set.iter_mut().zip(sets.row(pred.index())).for_each(|(word, of_pred)| *word &= of_pred);
            }
            let at = block.index();
            set[at / 64] |= 1 << (at % 64);
            changed |= sets.row(at) != set;
            sets.row_mut(at).copy_from_slice(&set);
        }
    }
    sets
}

fn verify_idoms(function: &FunctionView<'_>, reachable: &[bool], dominators: &BitMatrix) -> Verdict {
    let counts: Vec<usize> =
        function.block_ids().map(|block| dominators.ones(block.index()).count()).collect();
    for block in function.block_ids() {
        // The dominators of a block lie on one path, so the one with most dominators of its own is the nearest.
        let strict = dominators.ones(block.index()).filter(|&dominator| dominator != block.index());
        let nearest = strict.max_by_key(|&dominator| counts[dominator]).map(BlockId::new);
        let wanted = nearest.filter(|_| reachable[block.index()]);
        let idom = function.orders[block.index()].idom.get();
        if idom != wanted {
            return wrong_in(block, format_args!("its immediate dominator is {wanted:?}, not {idom:?}"));
        }
    }
    Ok(())
}

/// A natural loop.
struct Loop {
    header: BlockId,
    latch_rpo: u32,
    /// By block.
    body: Vec<bool>,
    /// Number of its blocks.
    size: usize,
}

/// The natural loops by header, and by block whether another retreating edge enters.
fn loops(function: &FunctionView<'_>, reachable: &[bool], dominators: &BitMatrix) -> (Vec<Loop>, Vec<bool>) {
    let mut loops = Vec::new();
    let mut is_irreducible = vec![false; function.blocks.len()];
    for header in function.block_ids().filter(|header| reachable[header.index()]) {
        let retreats =
            |pred: &&BlockId| reachable[pred.index()] && rank(function, **pred) >= rank(function, header);
        let (latches, others): (Vec<BlockId>, Vec<BlockId>) = function
            .preds(header)
            .iter()
            .filter(retreats)
            .partition(|latch| dominators.test(latch.index(), header.index()));
        is_irreducible[header.index()] = !others.is_empty();
        let mut body = vec![false; function.blocks.len()];
        for &latch in &latches {
            // Not past the header, and not from where control never is.
            let is_open = |block: BlockId| block != header && reachable[block.index()];
            let next = |block: BlockId| if block == header { &[] } else { function.preds(block) };
            let found = search(function, latch, is_open, next);
            body.iter_mut().zip(found).for_each(|(inside, found)| *inside |= found);
        }
        if let Some(latch_rpo) = latches.iter().map(|&latch| rank(function, latch)).max() {
            body[header.index()] = true;
            let size = body.iter().filter(|&&inside| inside).count();
            loops.push(Loop { header, latch_rpo, body, size });
        }
    }
    (loops, is_irreducible)
}

fn verify_loops(function: &FunctionView<'_>, reachable: &[bool], dominators: &BitMatrix) -> Verdict {
    let (loops, is_irreducible) = loops(function, reachable, dominators);
    let mut violates = false;
    for block in function.block_ids() {
        let order = function.orders[block.index()];
        let flags = function.blocks[block.index()].flags;
        let around: Vec<&Loop> = loops.iter().filter(|found| found.body[block.index()]).collect();
        let innermost = around.iter().min_by_key(|found| found.size).map(|found| found.header);
        if (order.depth as usize, order.loop_header.get()) != (around.len(), innermost) {
            let has = format!("{} loops, the innermost of {:?}", order.depth, order.loop_header);
            return wrong_in(
                block,
                format_args!("it has {has}, and is in {} of which {innermost:?} is", around.len()),
            );
        }
        let own = loops.iter().find(|found| found.header == block);
        let exit_rpo = own.map(|found| {
            let inside = function.block_ids().filter(|block| found.body[block.index()]);
            inside.map(|block| rank(function, block)).max().expect("a loop holds its header")
        });
        let ranks = (own.map(|found| found.latch_rpo), exit_rpo);
        let is = |rpo: u32| (rpo != BlockOrder::NONE).then_some(rpo);
        if (is(order.latch_rpo), is(order.exit_rpo)) != ranks {
            return wrong_in(
                block,
                format_args!("the ranks of its last latch and of its loop's end are {ranks:?}"),
            );
        }
        violates |= own.zip(exit_rpo).is_some_and(|(own, exit)| (exit - order.rpo + 1) as usize != own.size);
        for (flag, wanted) in [
            (BlockFlags::LOOP_HEADER, own.is_some()),
            (BlockFlags::IN_LOOP, !around.is_empty()),
            (BlockFlags::IRREDUCIBLE, is_irreducible[block.index()]),
        ] {
            if flags.contains(flag) != wanted {
                return wrong_in(block, format_args!("{flag:?} should be {wanted}"));
            }
        }
    }
    if function.state.flags.contains(CodeFlags::RPO_VIOLATION) != violates {
        return Err(format!("RPO_VIOLATION should be {violates}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, analyzed};
    use ptxopt_components::ids::Maybe;

    /// 0 -> 1 -> 2 -> 3 -> {2, 4}; 4 -> {1, 5}; 5 ends; 6 is unreachable. The loop of 2 lies in that of 1.
    fn built() -> Built {
        analyzed(
            ".reg .pred %p<2>; .reg .b32 %r<2>; A: mov.b32 %r1, 1; B: mov.b32 %r1, 1; C: @%p1 bra B; D: @%p1 bra A; \
             E: ret; bra C; bra D; bra E;",
        )
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let mut built = built();
        damage(&mut built);
        let found = verify(&built.function()).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built = built();
        let depths: Vec<u32> = built.tables.block_orders.iter().map(|order| order.depth).collect();
        assert_eq!(depths, [0, 1, 2, 2, 1, 0]);
        assert_eq!(verify(&built.function()), Ok(()));
    }

    #[test]
    fn reachable_is_what_a_search_finds() {
        reports("bix5: a rank is what reachable blocks have", |built| {
            built.tables.block_orders[5].rpo = BlockOrder::UNREACHABLE;
        });
    }

    #[test]
    fn ranks_are_those_of_a_depth_first_search() {
        // A diamond whose join has a smaller rank than one arm: that edge retreats to no ancestor.
        let mut built = analyzed(".reg .pred %p<2>; @%p1 bra C; B: bra D; C: bra D; D: ret; bra B;");
        assert_eq!(verify(&built.function()), Ok(()));
        built.tables.block_orders[3].rpo = 2;
        built.tables.block_orders[2].rpo = 3;
        let found = verify(&built.function()).unwrap_err();
        assert_eq!(found, "bix2: it retreats to bix3, which is no ancestor of it");
    }

    #[test]
    fn dominators_are_the_greatest_solution() {
        reports("bix1: its immediate dominator is Some(bix0), not None", |built| {
            built.tables.block_orders[1].idom = Maybe::NONE;
        });
        // A smaller solution, which the equation alone lets pass.
        let mut built =
            analyzed(".reg .b32 %r<2>; A: mov.b32 %r1, 1; B: mov.b32 %r1, 1; C: bra B; bra A; bra C;");
        built.tables.block_orders[2].idom = Maybe::some(BlockId(0));
        assert_eq!(
            super::super::control_flow::verify(
                &built.function(),
                &mut super::super::control_flow::Scratch::default()
            ),
            Ok(())
        );
        let found = verify(&built.function()).unwrap_err();
        assert_eq!(found, "bix2: its immediate dominator is Some(bix1), not Some(bix0)");
    }

    #[test]
    fn loops_are_their_definition() {
        reports("bix3: it has 1 loops, the innermost of bix2, and is in 2", |built| {
            built.tables.block_orders[3].depth = 1;
        });
        reports("bix3: it has 2 loops, the innermost of bix1, and is in 2 of which Some(bix2) is", |built| {
            built.tables.block_orders[3].loop_header = Maybe::some(BlockId(1));
        });
        reports("bix1: the ranks of its last latch and of its loop's end are (Some(4), Some(4))", |built| {
            built.tables.block_orders[1].exit_rpo = 5;
        });
        reports("bix2: the ranks of its last latch and of its loop's end are (Some(3), Some(3))", |built| {
            built.tables.block_orders[2].latch_rpo = 2;
        });
        reports("RPO_VIOLATION should be false", |built| {
            built.tables.code_states[0].flags |= CodeFlags::RPO_VIOLATION;
        });
    }

    #[test]
    fn flags_follow_from_loops() {
        let toggles = |block: usize, flag: BlockFlags| {
            move |built: &mut Built| built.tables.block_heads[block].flags ^= flag
        };
        reports("bix2: BlockFlags(LOOP_HEADER) should be true", toggles(2, BlockFlags::LOOP_HEADER));
        reports("bix3: BlockFlags(IN_LOOP) should be true", toggles(3, BlockFlags::IN_LOOP));
        reports("bix1: BlockFlags(IRREDUCIBLE) should be false", toggles(1, BlockFlags::IRREDUCIBLE));
    }

    #[test]
    fn a_break_between_header_and_latch_is_a_violation_of_the_interval() {
        let mut built = analyzed(
            ".reg .pred %p<2>; .reg .b32 %r<2>; A: @%p1 bra C; B: mov.b32 %r1, 1; bra D; C: @%p1 bra A; D: ret; bra B;",
        );
        assert_eq!(verify(&built.function()), Ok(()));
        built.tables.code_states[0].flags ^= CodeFlags::RPO_VIOLATION;
        assert!(verify(&built.function()).unwrap_err().starts_with("RPO_VIOLATION should be"));
    }
}
