//! Blocks that wait to be visited, in an order in which facts flow: what all that come before a block have to say of it is known when its
//! turn comes, but for what comes by retreating edges.
//!
//! Rounds go over the blocks that wait and no others, so a solver costs the visits that change something. A solver that keeps a bit each
//! for 64 registers visits a block about as often as one for a single register does.

use crate::bits;
use crate::store::view::FunctionView;
use ptxopt_components::block::{BlockFlags, BlockOrder};
use ptxopt_components::ids::{BlockId, Id};

/// Which way facts flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// From the entry: reverse postorder.
    Forward,
    /// To the entry: postorder.
    Backward,
}

/// The reachable blocks that wait.
#[derive(Default)]
pub(super) struct Waiting {
    /// By place in the order: the block.
    order: Vec<BlockId>,
    /// By block: its place, or `u32::MAX` without a path to it.
    place_of: Vec<u32>,
    /// By place, as bits.
    waits: Vec<u64>,
    /// The place to which the round has come.
    at: usize,
}

/// Whether a path leads from the entry to `block`, which still exists.
pub(super) fn is_reachable(function: &FunctionView<'_>, block: BlockId) -> bool {
    function.orders[block.index()].is_reachable()
        && !function.blocks[block.index()].flags.contains(BlockFlags::DEAD)
}

/// Lists the reachable blocks in reverse postorder.
pub(super) fn reverse_postorder(function: &FunctionView<'_>, order: &mut Vec<BlockId>) {
    order.clear();
    order.extend(function.block_ids().filter(|&block| is_reachable(function, block)));
    order.sort_unstable_by_key(|block| function.orders[block.index()].rpo);
}

impl Waiting {
    /// Orders the blocks of a function; none waits.
    pub(super) fn reset(&mut self, function: &FunctionView<'_>, flow: Flow) {
        let Self { order, place_of, waits, at } = self;
        reverse_postorder(function, order);
        if flow == Flow::Backward {
            order.reverse();
        }
        place_of.clear();
        place_of.resize(function.blocks.len(), BlockOrder::UNREACHABLE);
        for (place, block) in order.iter().enumerate() {
            place_of[block.index()] = place as u32;
        }
        waits.clear();
        waits.resize(bits::words_for(order.len()), 0);
        *at = 0;
    }

    /// Whether a path leads to `block`.
    pub(super) fn is_reachable(&self, block: BlockId) -> bool {
        self.place_of[block.index()] != BlockOrder::UNREACHABLE
    }

    /// Lets a reachable block wait.
    pub(super) fn push(&mut self, block: BlockId) {
        bits::set(&mut self.waits, self.place_of[block.index()] as usize);
    }

    /// The next block of the round; a round that is over begins again.
    pub(super) fn pop(&mut self) -> Option<BlockId> {
        let next = bits::first_one(&self.waits, self.at);
        let place = next.or_else(|| bits::first_one(&self.waits, 0))?;
        bits::clear(&mut self.waits, place);
        self.at = place;
        Some(self.order[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::tests::Built;

    /// A chain of blocks, one of which nothing leads to.
    fn chain() -> Built {
        let block = |at: usize| format!("B{at}: {}\n", if at == 70 { "bra B72;" } else { "" });
        Built::kernel(&(0..150).map(block).collect::<String>())
    }

    #[test]
    fn blocks_come_in_order_and_once() {
        let built = chain();
        let function = built.function();
        let [first, middle, unreachable, last] = ["B3", "B69", "B71", "B140"].map(|name| built.block(name));
        for (flow, wanted) in
            [(Flow::Forward, [first, middle, last]), (Flow::Backward, [last, middle, first])]
        {
            let mut waiting = Waiting::default();
            waiting.reset(&function, flow);
            assert!(!waiting.is_reachable(unreachable) && waiting.is_reachable(first));
            for block in [middle, last, middle, first] {
                waiting.push(block);
            }
            assert_eq!([(); 3].map(|()| waiting.pop()), wanted.map(Some));
            assert_eq!(waiting.pop(), None);
        }
    }

    /// What comes before the block of the last visit waits for the next round, what comes after it for its turn.
    #[test]
    fn a_round_goes_on_before_it_begins_again() {
        let built = chain();
        let [first, middle, last] = ["B3", "B69", "B140"].map(|name| built.block(name));
        let mut waiting = Waiting::default();
        waiting.reset(&built.function(), Flow::Forward);
        waiting.push(middle);
        assert_eq!(waiting.pop(), Some(middle));
        waiting.push(first);
        waiting.push(last);
        assert_eq!([(); 3].map(|()| waiting.pop()), [Some(last), Some(first), None]);
    }
}
