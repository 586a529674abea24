//! Control flow: ranks, dominators and loop headers agree with the edges.
//!
//! Fast, where [`Fact::ControlFlow`] holds. One pass over blocks and edges; a dominance test climbs the dominator tree, by
//! jumps, so that a ladder of 10,000 rungs costs 13 steps and not 10,000. (Myers 1983, "An applicative random-access
//! stack": who jumps how far follows from the depth alone.)
//!
//! - Ranks are 0 to the number of reachable blocks, each once, the entry 0. A block has a rank exactly when it is
//!   reachable: a reachable block leads only to such, and each but the entry is entered from a smaller rank.
//! - The immediate dominator has a smaller rank, and is the nearest common dominator of the predecessors.
//! - An edge that does not go to a larger rank is natural when its target dominates its source. LOOP_HEADER is set
//!   exactly where a natural one enters, IRREDUCIBLE exactly where another one does, and `latch_rpo` is the largest
//!   rank from which a natural one comes.
//! - HAS_PRED is set on every reachable block but the entry. IN_LOOP, a depth and a header come together.
//!
//! # What is left to `control_flow_full`
//! The equation of dominators has smaller solutions than the right one:
//! ```text
//! 0 -> 1 -> 2 -> 3 -> 2      // idom(2) = 0, idom(3) = 2 solves it; 1 dominates 2
//! ```
//! Depths, loop bodies and their intervals are not looked at, nor whether some depth-first search gives these ranks.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier of control-flow facts.
pub const CHECK: Check = Check { name: "control_flow", from: Verify::Fast, install: |slot| slot.add(run) };

/// Verifies every function of the batch for which the fact holds.
pub fn run(code: Code, codes: CodeObjects, mut scratch: Local<Scratch>, mut violations: ResMut<Violations>) {
    let (_, facts, ..) = codes.columns();
    each_function(&code, CHECK.name, &mut violations, |function| {
        let holds = facts[function.code.index()].holds(Fact::ControlFlow, &function.state);
        if holds { verify(function, &mut scratch) } else { Ok(()) }
    });
}

/// Memory to be used again.
#[derive(Default)]
pub struct Scratch {
    block_of_rank: Vec<Option<BlockId>>,
    /// By block: how to climb from it.
    climbs: Vec<Climb>,
}

/// How to climb the dominator tree from a block.
#[derive(Clone, Copy)]
struct Climb {
    /// Blocks above it.
    depth: u32,
    /// The immediate dominator; the entry's is itself.
    up: BlockId,
    /// A block further up, or the same.
    jump: BlockId,
}

/// Verifies one function.
pub fn verify(function: &FunctionView<'_>, scratch: &mut Scratch) -> Verdict {
    let Scratch { block_of_rank, climbs } = scratch;
    verify_ranks(function, block_of_rank)?;
    for block in function.block_ids() {
        if is_reachable(function, block) {
            verify_reachability(function, block)?;
            verify_idom(function, block)?;
        } else {
            verify_unreachable(function, block)?;
        }
    }
    // Climbing ends only when every dominator has a smaller rank, so this comes after.
    prepare_climbs(function, block_of_rank, climbs);
    for block in function.block_ids().filter(|&block| is_reachable(function, block)) {
        verify_idom_equation(function, climbs, block)?;
        verify_loop(function, climbs, block)?;
    }
    Ok(())
}

fn rank(function: &FunctionView<'_>, block: BlockId) -> u32 {
    function.orders[block.index()].rpo
}

fn is_reachable(function: &FunctionView<'_>, block: BlockId) -> bool {
    rank(function, block) != BlockOrder::UNREACHABLE
}

fn verify_ranks(function: &FunctionView<'_>, block_of_rank: &mut Vec<Option<BlockId>>) -> Verdict {
    let count = function.orders.iter().filter(|order| order.rpo != BlockOrder::UNREACHABLE).count();
    block_of_rank.clear();
    block_of_rank.resize(count, None);
    for block in function.block_ids().filter(|&block| is_reachable(function, block)) {
        let rpo = rank(function, block);
        match block_of_rank.get_mut(rpo as usize) {
            None => return wrong_in(block, format_args!("its rank is {rpo}, of {count} reachable blocks")),
            Some(Some(other)) => {
                return wrong_in(block, format_args!("its rank {rpo} is that of {other:?} too"));
            }
            Some(slot) => *slot = Some(block),
        }
    }
    if rank(function, BlockId(0)) != 0 {
        return wrong_in(BlockId(0), "the rank of the entry is not 0");
    }
    Ok(())
}

/// Verifies that what `block` leads to is reachable, and that it is entered from a smaller rank. By induction over
/// ranks, exactly the blocks with a rank are reachable then.
fn verify_reachability(function: &FunctionView<'_>, block: BlockId) -> Verdict {
    if let Some(succ) = function.succs(block).iter().find(|&&succ| !is_reachable(function, succ)) {
        return wrong_in(*succ, format_args!("it has no rank, and {block:?} leads to it"));
    }
    let is_entry = block == BlockId(0);
    let rpo = rank(function, block);
    if !is_entry && !function.preds(block).iter().any(|&pred| rank(function, pred) < rpo) {
        return wrong_in(block, format_args!("no predecessor has a rank below its own, {rpo}"));
    }
    if function.blocks[block.index()].flags.contains(BlockFlags::HAS_PRED) == is_entry {
        return wrong_in(block, "HAS_PRED disagrees with its predecessor list");
    }
    Ok(())
}

fn verify_unreachable(function: &FunctionView<'_>, block: BlockId) -> Verdict {
    let flags = BlockFlags::LOOP_HEADER | BlockFlags::IN_LOOP | BlockFlags::IRREDUCIBLE;
    if function.orders[block.index()] != BlockOrder::default()
        || function.blocks[block.index()].flags.intersects(flags)
    {
        return wrong_in(block, "it is unreachable, and has a dominator or a loop");
    }
    Ok(())
}

fn verify_idom(function: &FunctionView<'_>, block: BlockId) -> Verdict {
    let idom = function.orders[block.index()].idom.get();
    if block == BlockId(0) {
        return match idom {
            Some(idom) => wrong_in(block, format_args!("{idom:?} dominates the entry")),
            None => Ok(()),
        };
    }
    let is_above =
        |idom: BlockId| idom.index() < function.blocks.len() && rank(function, idom) < rank(function, block);
    match idom {
        None => wrong_in(block, "it is reachable and has no dominator"),
        Some(idom) if !is_above(idom) => {
            wrong_in(block, format_args!("the rank of its dominator {idom:?} is not below its own"))
        }
        Some(_) => Ok(()),
    }
}

fn prepare_climbs(function: &FunctionView<'_>, block_of_rank: &[Option<BlockId>], climbs: &mut Vec<Climb>) {
    climbs.clear();
    climbs.resize(function.blocks.len(), Climb { depth: 0, up: BlockId(0), jump: BlockId(0) });
    for &block in block_of_rank.iter().flatten() {
        let Some(up) = function.orders[block.index()].idom.get() else { continue };
        let (above, far) = (climbs[up.index()], climbs[climbs[up.index()].jump.index()]);
        // Two jumps of one length make one of twice that and one more.
        let jump =
            if above.depth - far.depth == far.depth - climbs[far.jump.index()].depth { far.jump } else { up };
        climbs[block.index()] = Climb { depth: above.depth + 1, up, jump };
    }
}

fn verify_idom_equation(function: &FunctionView<'_>, climbs: &[Climb], block: BlockId) -> Verdict {
    let preds = function.preds(block).iter().copied().filter(|&pred| is_reachable(function, pred));
    let nearest = preds.reduce(|a, b| common_dominator(climbs, a, b));
    let idom = function.orders[block.index()].idom.get();
    if idom != nearest {
        return wrong_in(
            block,
            format_args!("its dominator is {idom:?}, that of its predecessors {nearest:?}"),
        );
    }
    Ok(())
}

/// The nearest block that dominates both.
fn common_dominator(climbs: &[Climb], a: BlockId, b: BlockId) -> BlockId {
    let climb = |block: BlockId| climbs[block.index()];
    let (mut high, mut low) = if climb(a).depth < climb(b).depth { (a, b) } else { (b, a) };
    while climb(low).depth > climb(high).depth {
        let jump = climb(low).jump;
        low = if climb(jump).depth >= climb(high).depth { jump } else { climb(low).up };
    }
    while high != low {
        let (one, other) = (climb(high), climb(low));
        (high, low) = if one.jump == other.jump { (one.up, other.up) } else { (one.jump, other.jump) };
    }
    high
}

fn verify_loop(function: &FunctionView<'_>, climbs: &[Climb], block: BlockId) -> Verdict {
    let order = function.orders[block.index()];
    let flags = function.blocks[block.index()].flags;
    let (mut latch, mut is_irreducible) = (None, false);
    for &pred in function.preds(block) {
        if !is_reachable(function, pred) || rank(function, pred) < order.rpo {
            continue;
        }
        if common_dominator(climbs, block, pred) == block {
            latch = latch.max(Some(rank(function, pred)));
        } else {
            is_irreducible = true;
        }
    }
    if flags.contains(BlockFlags::LOOP_HEADER) != latch.is_some() {
        return wrong_in(block, "LOOP_HEADER disagrees with the edges that enter it");
    }
    if flags.contains(BlockFlags::IRREDUCIBLE) != is_irreducible {
        return wrong_in(block, "IRREDUCIBLE disagrees with the edges that enter it");
    }
    if order.latch_rpo != latch.unwrap_or(BlockOrder::NONE) {
        return wrong_in(
            block,
            format_args!("the rank of its last latch is {latch:?}, not {}", order.latch_rpo),
        );
    }
    if latch.is_some() && order.loop_header.get() != Some(block) {
        return wrong_in(block, format_args!("it is a header, and in the loop of {:?}", order.loop_header));
    }
    let is_in_loop = flags.contains(BlockFlags::IN_LOOP);
    if (order.depth > 0, order.loop_header.get().is_some()) != (is_in_loop, is_in_loop) {
        return wrong_in(block, "IN_LOOP, depth and header do not come together");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::{Built, analyzed};
    use ptxopt_components::ids::Maybe;

    /// 0 -> 1 -> 2 -> {1, 3}; 3 -> 5; 4 is unreachable; 5 ends. 1 and 2 are a loop.
    fn built() -> Built {
        analyzed(
            ".reg .pred %p<2>; .reg .b32 %r<2>; A: mov.b32 %r1, 1; B: @%p1 bra A; C: bra E; D: bra D; E: ret; \
             bra A; bra B; bra C;",
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
        let ranks: Vec<u32> = built.tables.block_orders.iter().map(|order| order.rpo).collect();
        assert_eq!(ranks, [0, 1, 2, 3, BlockOrder::UNREACHABLE, 4]);
        assert_eq!(verdict(&built), Ok(()));
    }

    #[test]
    fn ranks_have_no_gaps_and_no_doubles() {
        reports("bix5: its rank is 9, of 5 reachable blocks", |built| built.tables.block_orders[5].rpo = 9);
        reports("bix5: its rank 3 is that of bix3 too", |built| built.tables.block_orders[5].rpo = 3);
        reports("bix0: the rank of the entry is not 0", |built| {
            built.tables.block_orders[0].rpo = 1;
            built.tables.block_orders[1].rpo = 0;
        });
        reports("bix3: no predecessor has a rank below its own, 2", |built| {
            built.tables.block_orders[2].rpo = 3;
            built.tables.block_orders[3].rpo = 2;
        });
    }

    #[test]
    fn exactly_what_is_reachable_has_a_rank() {
        reports("bix5: it has no rank, and bix3 leads to it", |built| {
            built.tables.block_orders[5] = BlockOrder::default();
        });
        reports("bix4: no predecessor has a rank below its own", |built| {
            built.tables.block_orders[4].rpo = 5
        });
        reports("bix4: it is unreachable, and has a dominator or a loop", |built| {
            built.tables.block_orders[4].idom = Maybe::some(BlockId(0));
        });
        reports("bix4: it is unreachable, and has a dominator or a loop", |built| {
            built.tables.block_heads[4].flags |= BlockFlags::LOOP_HEADER;
        });
    }

    #[test]
    fn dominators_stand_above_and_solve_their_equation() {
        let idom = |block: usize, idom: Option<u32>| {
            move |built: &mut Built| {
                built.tables.block_orders[block].idom =
                    idom.map_or(Maybe::NONE, |idom| Maybe::some(BlockId(idom)));
            }
        };
        reports("bix0: bix1 dominates the entry", idom(0, Some(1)));
        reports("bix2: it is reachable and has no dominator", idom(2, None));
        reports("bix2: the rank of its dominator bix3 is not below its own", idom(2, Some(3)));
        reports("bix2: the rank of its dominator bix4 is not below its own", idom(2, Some(4)));
        reports("bix2: the rank of its dominator bix99 is not below its own", idom(2, Some(99)));
        reports("bix5: its dominator is Some(bix2), that of its predecessors Some(bix3)", idom(5, Some(2)));
    }

    #[test]
    fn headers_are_where_natural_back_edges_enter() {
        let toggles = |block: usize, flags: BlockFlags| {
            move |built: &mut Built| built.tables.block_heads[block].flags ^= flags
        };
        reports("bix1: LOOP_HEADER disagrees with", toggles(1, BlockFlags::LOOP_HEADER));
        reports("bix2: LOOP_HEADER disagrees with", toggles(2, BlockFlags::LOOP_HEADER));
        reports("bix1: IRREDUCIBLE disagrees with", toggles(1, BlockFlags::IRREDUCIBLE));
        reports("bix2: HAS_PRED disagrees with", toggles(2, BlockFlags::HAS_PRED));
        reports("bix0: HAS_PRED disagrees with", toggles(0, BlockFlags::HAS_PRED));
        reports("bix2: IN_LOOP, depth and header", toggles(2, BlockFlags::IN_LOOP));
        reports("bix2: IN_LOOP, depth and header", |built| built.tables.block_orders[2].depth = 0);
        reports("bix1: the rank of its last latch is Some(2), not 3", |built| {
            built.tables.block_orders[1].latch_rpo = 3;
        });
        reports("bix1: it is a header, and in the loop of bix2", |built| {
            built.tables.block_orders[1].loop_header = Maybe::some(BlockId(2));
        });
    }

    #[test]
    fn a_cycle_with_two_entries_is_irreducible() {
        let mut built = analyzed(".reg .pred %p<2>; @%p1 bra B; A: @%p1 exit; B: @%p1 bra A; ret;");
        assert_eq!(verdict(&built), Ok(()));
        let target =
            built.tables.block_heads.iter().position(|head| head.flags.contains(BlockFlags::IRREDUCIBLE));
        built.tables.block_heads[target.unwrap()].flags -= BlockFlags::IRREDUCIBLE;
        assert!(verdict(&built).unwrap_err().contains("IRREDUCIBLE disagrees with"));
    }
}
