//! Edges: successor and predecessor lists are what the instructions say.
//!
//! Fast. One walk over the control-flow instructions, and a sort of the edges where predecessors are in another order than
//! that of their ids.
//!
//! - The successors of a live block are what a fresh walk over its instructions gives: same blocks, same order, same
//!   multiplicity, the fall-through last.
//! - The predecessor lists are the exact inverse of the successor lists, parallel edges included. Their order means
//!   nothing.
//! - Each way on from a guard leads to a block: the last one does not end past a guarded branch, return or trap.
//! - A dead block has no edges. Without instructions it would fall through to the block after it otherwise, and be a
//!   predecessor there until the sweep.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::instruction::Marks;
use ptxopt_engine::graph::build::{EdgeSource, next_living};
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The verifier of edges.
pub const CHECK: Check = Check { name: "edges", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch.
pub fn run(code: Code, mut scratch: Local<Scratch>, mut violations: ResMut<Violations>) {
    each_function(&code, CHECK.name, &mut violations, |function| verify(function, &mut scratch));
}

/// Memory that the verifier uses again.
#[derive(Default)]
pub struct Scratch {
    /// By block: predecessors that were met.
    met: Vec<u32>,
    fresh: Vec<BlockId>,
    /// Edges as successor lists have them: target, source.
    forward: Vec<(BlockId, BlockId)>,
    /// Edges as predecessor lists have them: target, source.
    backward: Vec<(BlockId, BlockId)>,
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, scratch: &mut Scratch) -> Verdict {
    let Scratch { met, fresh, forward, backward } = scratch;
    let source = EdgeSource::of(function);
    verify_end(function)?;
    if are_as_made(function, source, met) {
        return Ok(());
    }
    verify_spans(function)?;
    forward.clear();
    backward.clear();
    for (block, row) in function.block_ids().zip(function.blocks) {
        let succs = function.succs(block);
        if row.flags.contains(BlockFlags::DEAD) {
            if !succs.is_empty() || !function.preds(block).is_empty() {
                return wrong_in(block, "it is dead, and has edges");
            }
            continue;
        }
        fresh.clear();
        let runs_off = source.successors(row, |target| fresh.push(target));
        if runs_off {
            fresh.extend(next_living(function.blocks, block));
        }
        if succs != fresh {
            return wrong_in(
                block,
                format_args!("its successors are {succs:?}, its instructions lead to {fresh:?}"),
            );
        }
        forward.extend(succs.iter().map(|&succ| (succ, block)));
        backward.extend(function.preds(block).iter().map(|&pred| (block, pred)));
    }
    forward.sort_unstable();
    backward.sort_unstable();
    verify_inverse(function, forward, backward)
}

/// Whether the edges are right and the predecessors of each block in the order of their ids, as they are made: what can be
/// seen without sorting them.
fn are_as_made(function: &FunctionView<'_>, source: EdgeSource<'_>, met: &mut Vec<u32>) -> bool {
    let pool = &function.pools.edges;
    met.clear();
    met.resize(function.blocks.len(), 0);
    for (block, (row, edges)) in function.block_ids().zip(function.blocks.iter().zip(function.edges)) {
        if row.flags.contains(BlockFlags::DEAD) {
            if !edges.succs.is_empty() || !edges.preds.is_empty() {
                return false;
            }
            continue;
        }
        let Some(succs) = pool.get(edges.succs.range()) else { return false };
        let (mut listed, mut is_right) = (succs.iter(), true);
        let runs_off = source.successors(row, |target| is_right &= listed.next() == Some(&target));
        let falls_to = if runs_off { next_living(function.blocks, block) } else { None };
        if !is_right || listed.next().copied() != falls_to || listed.next().is_some() {
            return false;
        }
        for succ in succs {
            let Some(edges) = function.edges.get(succ.index()) else { return false };
            let met = &mut met[succ.index()];
            let is_next = |preds: &[BlockId]| preds.get(*met as usize) == Some(&block);
            if !pool.get(edges.preds.range()).is_some_and(is_next) {
                return false;
            }
            *met += 1;
        }
    }
    met.iter().zip(function.edges).all(|(&met, edges)| met == edges.preds.count)
}

/// Verifies that the last living block does not end past a guard.
fn verify_end(function: &FunctionView<'_>) -> Verdict {
    let is_living = |block: &BlockId| !function.blocks[block.index()].flags.contains(BlockFlags::DEAD);
    let Some(block) = function.block_ids().rev().find(is_living) else { return Ok(()) };
    let last = function.insts_of(block).next_back().map(|last| &function.heads[last.index()]);
    match last.filter(|last| last.marks.contains(Marks::CONTROL) && last.opcode.is_guarded()) {
        Some(_) => wrong_in(block, "it ends past a guard, and no block comes after it"),
        None => Ok(()),
    }
}

/// Verifies that the lists lie in the edge pool and name blocks.
fn verify_spans(function: &FunctionView<'_>) -> Verdict {
    let pool = &function.pools.edges;
    for (block, row) in function.block_ids().zip(function.edges) {
        for span in [row.succs, row.preds] {
            let Some(listed) = pool.get(span.range()) else {
                return wrong_in(
                    block,
                    format_args!("its edges {:?} are not in the edge pool", span.range()),
                );
            };
            if let Some(outside) = listed.iter().find(|listed| listed.index() >= function.blocks.len()) {
                return wrong_in(block, format_args!("its neighbour {outside:?} does not exist"));
            }
        }
    }
    Ok(())
}

fn verify_inverse(
    function: &FunctionView<'_>,
    forward: &[(BlockId, BlockId)],
    backward: &[(BlockId, BlockId)],
) -> Verdict {
    if forward == backward {
        return Ok(());
    }
    let first =
        forward.iter().zip(backward).position(|(a, b)| a != b).unwrap_or(forward.len().min(backward.len()));
    let block = match (forward.get(first), backward.get(first)) {
        (Some(a), Some(b)) => a.0.min(b.0),
        (Some(edge), None) | (None, Some(edge)) => edge.0,
        (None, None) => unreachable!("unequal lists differ somewhere"),
    };
    let sources: Vec<BlockId> = forward.iter().filter(|edge| edge.0 == block).map(|edge| edge.1).collect();
    let preds = function.preds(block);
    wrong_in(block, format_args!("its predecessors are {preds:?}, and it is a successor of {sources:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, kernel};
    use ptxopt_components::ids::Span;

    /// 0 leads to 2 and 1, 1 to 1 and 2 by a table and to itself, 2 nowhere.
    fn built() -> Built {
        kernel(
            ".reg .b32 %r<2>; .reg .pred %p<2>; @%p1 bra M; \
             L: ts: .branchtargets L, M, L; @%p1 brx.idx %r1, ts; bra L; M: ret;",
        )
    }

    fn verdict(built: &Built) -> Verdict {
        verify(&built.function(), &mut Scratch::default())
    }

    #[track_caller]
    fn reports(message: &str, damage: impl FnOnce(&mut Built)) {
        let mut built = built();
        damage(&mut built);
        let found = verdict(&built).expect_err("nothing was found");
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn the_unbroken_function_passes() {
        let built = built();
        assert_eq!(built.function().succs(BlockId(0)), [BlockId(2), BlockId(1)]);
        assert_eq!(built.function().succs(BlockId(1)), [1, 2, 1, 1].map(BlockId));
        assert_eq!(verdict(&built), Ok(()));
    }

    #[test]
    fn a_missing_successor_is_seen() {
        reports("bix0: its successors are [bix2], its instructions lead to [bix2, bix1]", |built| {
            built.tables.block_edges[0].succs.count = 1;
        });
    }

    #[test]
    fn the_fall_through_is_last() {
        reports("bix0: its successors are [bix1, bix2]", |built| {
            let first = built.tables.block_edges[0].succs.first as usize;
            built.tables.pools.edges.swap(first, first + 1);
        });
    }

    #[test]
    fn parallel_edges_count() {
        reports(
            "bix1: its predecessors are [bix0, bix1, bix1], and it is a successor of [bix0, bix1, bix1, bix1]",
            |built| {
                built.tables.block_edges[1].preds.count -= 1;
            },
        );
    }

    #[test]
    fn a_predecessor_is_an_edge_the_other_way() {
        reports("bix2: its predecessors are [bix2, bix1], and it is a successor of [bix0, bix1]", |built| {
            let first = built.tables.block_edges[2].preds.first as usize;
            built.tables.pools.edges[first] = BlockId(2);
        });
    }

    /// Lists that agree with one another say nothing about the branches.
    #[test]
    fn edges_lead_where_the_branches_do() {
        let mut built = kernel("bra L; A: bra M; L: bra A; M: ret;");
        assert_eq!(verdict(&built), Ok(()));
        // Not one is right: a look that takes wrong for right would be content.
        for (from, to) in [(0, 1), (1, 2), (2, 3)] {
            let [succ, pred] = [
                built.tables.block_edges[from].succs.first as usize,
                built.tables.block_edges[to].preds.first as usize,
            ];
            built.tables.pools.edges[succ] = BlockId::new(to);
            built.tables.pools.edges[pred] = BlockId::new(from);
        }
        let found = verdict(&built).expect_err("nothing was found");
        assert!(
            found.contains("bix0: its successors are [bix1], its instructions lead to [bix2]"),
            "{found}"
        );
    }

    #[test]
    fn a_dead_block_has_no_edges() {
        reports("bix2: it is dead, and has edges", |built| {
            built.tables.block_heads[2].flags |= BlockFlags::DEAD;
        });
        // What falls through to a dead block falls past it.
        reports("bix0: its successors are [bix2, bix1], its instructions lead to [bix2, bix2]", |built| {
            built.tables.block_heads[1].flags |= BlockFlags::DEAD;
        });
    }

    #[test]
    fn no_way_on_from_a_guard_leads_nowhere() {
        let mut built = kernel(".reg .pred %p<2>; @%p1 bra END; END:");
        assert_eq!(verdict(&built), Ok(()));
        built.tables.block_heads[1].flags |= BlockFlags::DEAD;
        let found = verdict(&built).unwrap_err();
        assert!(found.contains("bix0: it ends past a guard"), "{found}");
    }

    #[test]
    fn lists_lie_in_the_pool_and_name_blocks() {
        reports("bix2: its edges 1000..1001 are not in the edge pool", |built| {
            built.tables.block_edges[2].succs = Span { first: 1000, count: 1 };
        });
        reports("bix1: its neighbour bix7 does not exist", |built| {
            let first = built.tables.block_edges[1].succs.first as usize;
            built.tables.pools.edges[first] = BlockId(7);
        });
    }
}
