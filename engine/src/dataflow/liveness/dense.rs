//! The dense representation: rows of bits, solved by rounds over the blocks.
//!
//! The sets only grow, so the rounds end. Blocks are visited against reverse postorder; without a retreating edge
//! one round is the solution, with them d + 2 rounds are, d being the most retreating edges on a path without
//! repetition (Hecht and Ullman 1975).

use super::{LiveSet, LivenessScratch, NO_BIT};
use crate::bits::{self, BitMatrix};
use crate::dataflow::waiting::reverse_postorder;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};

/// Memory that the rounds use again.
#[derive(Default)]
pub(super) struct DenseScratch {
    gens: BitMatrix,
    kills: BitMatrix,
    /// Reachable blocks in reverse postorder.
    order: Vec<BlockId>,
}

/// Solves the sets, whose bits are given out; says whether that takes no more than `rounds_max` rounds.
pub(super) fn solve(
    function: &FunctionView<'_>,
    scratch: &mut LivenessScratch,
    set: &mut LiveSet,
    rounds_max: u32,
) -> bool {
    let (block_count, bit_count) = (set.block_count, set.vreg_of.len());
    set.live_in.rows.reset(block_count, bit_count);
    set.live_out.rows.reset(block_count, bit_count);
    let LivenessScratch { gens, kills, ends, dense, .. } = scratch;
    for &(block, vreg) in &*ends {
        set.live_out.rows.set(block.index(), set.bit_of[vreg.index()] as usize);
    }
    fill(&mut dense.gens, gens, set);
    fill(&mut dense.kills, kills, set);
    reverse_postorder(function, &mut dense.order);
    let has_retreating_edge = retreats(function, &dense.order);
    iterate(function, dense, set, has_retreating_edge, rounds_max)
}

fn fill(sets: &mut BitMatrix, members: &[(BlockId, VRegId)], set: &LiveSet) {
    sets.reset(set.block_count, set.vreg_of.len());
    for &(block, vreg) in members {
        let bit = set.bit_of[vreg.index()];
        if bit != NO_BIT {
            sets.set(block.index(), bit as usize);
        }
    }
}

/// Whether some edge between the blocks of `order`, which is reverse postorder, retreats.
fn retreats(function: &FunctionView<'_>, order: &[BlockId]) -> bool {
    let rpo = |block: BlockId| function.orders[block.index()].rpo;
    order.iter().any(|&block| function.succs(block).iter().any(|&succ| rpo(succ) <= rpo(block)))
}

fn iterate(
    function: &FunctionView<'_>,
    scratch: &DenseScratch,
    set: &mut LiveSet,
    has_retreating_edge: bool,
    rounds_max: u32,
) -> bool {
    set.round_count = 0;
    let mut changed = true;
    while changed {
        if set.round_count == rounds_max {
            return false;
        }
        changed = false;
        set.round_count += 1;
        for &block in scratch.order.iter().rev() {
            for succ in function.succs(block) {
                bits::or(set.live_out.rows.row_mut(block.index()), set.live_in.rows.row(succ.index()));
            }
            changed |= bits::transfer_if_changed(
                set.live_in.rows.row_mut(block.index()),
                scratch.gens.row(block.index()),
                set.live_out.rows.row(block.index()),
                scratch.kills.row(block.index()),
            );
        }
        changed &= has_retreating_edge;
    }
    true
}
