//! Ranks: the blocks in reverse postorder.
//!
//! Depth-first from the entry with an explicit stack; the fall-through successor is visited last, so that it gets
//! the rank right after its block. A block without a path from the entry has no rank; ranks have no gaps.

use super::edges::Graph;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::ids::{BlockId, Id};

/// Memory of the walk, and its result.
#[derive(Default)]
pub struct Ranks {
    /// A block and how many of its successors were visited.
    stack: Vec<(BlockId, u32)>,
    /// Reachable blocks in reverse postorder: a block's place here is its rank.
    pub order: Vec<BlockId>,
}

/// Numbers the blocks. `orders` must say that no block is reachable.
pub fn rank(graph: Graph<'_>, orders: &mut [BlockOrder], ranks: &mut Ranks) {
    let Ranks { stack, order } = ranks;
    order.clear();
    stack.clear();
    if graph.is_empty() {
        return;
    }
    // While the walk is under way, a rank of 0 means "seen".
    orders[0].rpo = 0;
    stack.push((BlockId(0), 0));
    while let Some((block, visited)) = stack.last_mut() {
        match graph.succs(*block).get(*visited as usize) {
            Some(&succ) => {
                *visited += 1;
                if !orders[succ.index()].is_reachable() {
                    orders[succ.index()].rpo = 0;
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    for (rpo, block) in order.iter().enumerate() {
        orders[block.index()].rpo = rpo as u32;
    }
}
