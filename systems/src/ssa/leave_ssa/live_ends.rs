//! Which nodes live at the ends of blocks: liveness of the few registers that phis name.
//!
//! From each block that reads a register which another one defines, a walk goes back over predecessors until the definition.
//! A phi reads at the ends of its predecessors, so there its values do not live on for its sake.
//!
//! Paper: Brandner et al. 2011, "Computing liveness sets for SSA-form programs", the way by variables.

use super::webs::{Node, Webs};
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::store::view::FunctionView;

/// Blocks that the walks of a function may look at, beside [`VISITS_PER_INST`] for each instruction; registers that come after that
/// many are not told.
pub const VISITS_LEAST: usize = 1 << 18;

/// See [`VISITS_LEAST`]. A kernel of 26,000 instructions in 5,600 blocks, of which hundreds of registers live through all, takes 140; all
/// others of 5 million instructions of real code take less than 50.
const VISITS_PER_INST: usize = 256;

/// What lives at the ends of the blocks of a function.
#[derive(Default)]
pub struct LiveEnds {
    /// Reads in blocks that another block's definition reaches, by node.
    reads: Vec<(Node, BlockId)>,
    /// By block.
    ends: Vec<(BlockId, Node)>,
    /// By block: where its part of `ends` starts.
    ends_of: Vec<u32>,
    /// By block: one more than the last node that was seen to live at its start, and at its end.
    seen: Vec<(u32, u32)>,
    waiting: Vec<BlockId>,
}

impl LiveEnds {
    /// Finds what lives at the ends of all blocks; gives the nodes that are not told, because there is too much.
    pub fn find(&mut self, function: &FunctionView<'_>, webs: &Webs) -> Vec<Node> {
        let Self { reads, ends, seen, waiting, .. } = self;
        reads.clear();
        ends.clear();
        for block in function.block_ids() {
            let read = webs.mentions_in(block).iter().filter(|mention| !mention.is_definition);
            reads.extend(read.map(|mention| (mention.node, block)));
        }
        reads.extend(webs.pairs.iter().filter_map(|pair| Some((pair.node?, pair.pred))));
        reads.retain(|&(node, block)| webs.defined_in(node).is_some_and(|from| from != block));
        reads.sort_unstable_by_key(|&(node, block)| u64::from(node.0) << 32 | u64::from(block.0));
        reads.dedup();
        seen.clear();
        seen.resize(function.blocks.len(), (0, 0));
        let mut visits_left = VISITS_LEAST + VISITS_PER_INST * function.heads.len();
        let mut untold = Vec::new();
        for of_node in reads.chunk_by(|one, other| one.0 == other.0) {
            let node = of_node[0].0;
            let stamp = node.0 + 1;
            if visits_left == 0 {
                untold.push(node);
                continue;
            }
            waiting.extend(of_node.iter().map(|&(_, block)| block));
            while let Some(block) = waiting.pop() {
                if std::mem::replace(&mut seen[block.index()].0, stamp) == stamp {
                    continue;
                }
                let preds = function.preds(block);
                visits_left = visits_left.saturating_sub(1 + preds.len());
                for &pred in preds {
                    if std::mem::replace(&mut seen[pred.index()].1, stamp) != stamp {
                        ends.push((pred, node));
                        if webs.defined_in(node) != Some(pred) {
                            waiting.push(pred);
                        }
                    }
                }
            }
        }
        ends.sort_unstable_by_key(|&(block, node)| u64::from(block.0) << 32 | u64::from(node.0));
        self.ends_of.clear();
        let mut next = 0;
        for block in 0..=function.blocks.len() {
            while ends.get(next).is_some_and(|(end, _)| end.index() < block) {
                next += 1;
            }
            self.ends_of.push(next as u32);
        }
        untold
    }

    /// What lives at the end of a block, each with the block.
    pub fn at_end_of(&self, block: BlockId) -> &[(BlockId, Node)] {
        &self.ends[self.ends_of[block.index()] as usize..self.ends_of[block.index() + 1] as usize]
    }
}
