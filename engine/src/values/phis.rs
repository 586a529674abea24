//! Reading phis. They stand before all other instructions of their block, and have one pair for each predecessor; blocks
//! to which several edges lead from one predecessor have one for all of them.

use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, InstId, VRegId};
use ptxopt_components::operand::{Operand, reads};

/// The pairs of a phi that has `operands`: a predecessor, and the value that comes from there.
pub fn incoming(operands: &[Operand]) -> impl ExactSizeIterator<Item = (BlockId, Operand)> + '_ {
    let (_, pairs) = operands.split_first().expect("a phi has a result");
    pairs.chunks_exact(2).map(|pair| (pair[0].as_block().expect("a pair begins with a block"), pair[1]))
}

/// Finds the pairs of predecessors. All phis of a block list its predecessors in one order, as a rule, and who asks for one after the
/// other follows it, forward or backward: so a search starts where the last one ended, and goes both ways.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairFinder {
    last: usize,
}

impl PairFinder {
    /// The number of a predecessor's pair in a phi that has `operands`.
    pub fn find(&mut self, operands: &[Operand], pred: BlockId) -> Option<usize> {
        let pairs = operands[1..].as_chunks::<2>().0;
        let is_of_pred = |&at: &usize| pairs.get(at).is_some_and(|[block, _]| block.as_block() == Some(pred));
        let start = self.last.min(pairs.len());
        let around = |far: usize| [start.checked_add(far), start.checked_sub(far)].into_iter().flatten();
        let found = (0..=pairs.len()).flat_map(around).find(is_of_pred)?;
        self.last = found;
        Some(found)
    }

    /// What a phi that has `operands` takes from a predecessor.
    pub fn value(&mut self, operands: &[Operand], pred: BlockId) -> Option<Operand> {
        let pair = self.find(operands, pred)?;
        Some(operands[2 + 2 * pair])
    }
}

/// The registers that the phis of a function read.
pub fn read_by_phis<'a>(function: &FunctionView<'a>) -> impl Iterator<Item = VRegId> + use<'a> {
    let function = *function;
    function.block_ids().flat_map(move |block| phis_of(&function, block)).flat_map(|(_, phi)| reads(phi))
}

/// The phis of a block.
pub fn phis_of<'a>(
    function: &FunctionView<'a>,
    block: BlockId,
) -> impl Iterator<Item = (InstId, &'a [Operand])> + use<'a> {
    let rows = function.rows_of(block);
    rows.take_while(|(_, head, _)| head.is_phi()).map(|(inst, _, operands)| (inst, operands))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A phi of predecessors 0 to 4 that takes their numbers, in this order.
    fn phi() -> Vec<Operand> {
        let pairs = (0..5).flat_map(|at| [Operand::block(BlockId(at)), Operand::int(at as i32 + 10)]);
        std::iter::once(Operand::register(VRegId(0))).chain(pairs).collect()
    }

    #[test]
    fn pairs_are_found_from_wherever_the_last_one_was() {
        let phi = phi();
        for last in 0..5 {
            for wanted in 0..5 {
                let mut finder = PairFinder::default();
                assert_eq!(finder.find(&phi, BlockId(last)), Some(last as usize));
                assert_eq!(finder.find(&phi, BlockId(wanted)), Some(wanted as usize), "after {last}");
                assert_eq!(finder.value(&phi, BlockId(wanted)), Some(Operand::int(wanted as i32 + 10)));
            }
        }
    }

    #[test]
    fn a_block_that_is_no_predecessor_has_no_pair() {
        let mut finder = PairFinder::default();
        assert_eq!(finder.find(&phi(), BlockId(4)), Some(4));
        assert_eq!(finder.find(&phi(), BlockId(5)), None);
        assert_eq!(finder.value(&phi(), BlockId(7)), None);
        // A phi with fewer pairs than the one before.
        assert_eq!(finder.find(&phi()[..5], BlockId(1)), Some(1));
        assert_eq!(finder.find(&phi()[..1], BlockId(1)), None);
    }
}
