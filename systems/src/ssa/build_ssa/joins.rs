//! Where phis stand: at the iterated dominance frontiers of the candidates.

use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_engine::graph::dominator_tree::DominatorTree;
use ptxopt_engine::graph::iterated_frontier::steps_max;
use ptxopt_engine::store::view::FunctionView;

use super::registers::{Row, Seen};
use super::{NO_CANDIDATE, Name, PAIRS_LEAST, PREDS_MAX, Planned, Scratch};

/// Pairs that are looked at for each pair that phis may have: those of registers that have too many and stay variables are
/// among them.
const LOOKS_PER_PAIR_MAX: usize = 4;

impl Scratch {
    /// Places the phis of all candidates, in no order; says how many candidates stay variables because of a limit.
    pub(super) fn place_phis(&mut self, function: &FunctionView<'_>) -> u64 {
        let most_pairs = PAIRS_LEAST + 4 * function.heads.len();
        let (mut pair_count, mut left_out) = (0, 0);
        let mut looks_left = LOOKS_PER_PAIR_MAX * most_pairs;
        let mut steps_left = steps_max(function);
        self.frontier.start();
        self.pred_counts.clear();
        self.pred_counts.resize(function.blocks.len(), 0);
        self.seen.clear();
        self.seen.resize(function.blocks.len(), 0);
        self.several.sort_unstable_by_key(|&(vreg, block)| u64::from(vreg.0) << 32 | u64::from(block.0));
        let mut next = 0;
        for number in 0..self.candidates.len() {
            let vreg = self.candidates[number].vreg;
            let Self { rows, several, frontier, tree, phis, pred_counts, seen, .. } = self;
            let first = phis.len();
            while several.get(next).is_some_and(|&(other, _)| other < vreg) {
                next += 1;
            }
            let count = several[next..].iter().take_while(|&&(other, _)| other == vreg).count();
            let Row { defined_in, seen: found } = rows[vreg.index()];
            let only = [(vreg, BlockId(defined_in - 1))];
            let definitions = if count == 0 { &only[..] } else { &several[next..next + count] };
            let (mut pairs, mut most_preds) = (0, 0);
            // Where no look or step is left it stays a variable, wherever its definitions meet.
            let is_over = looks_left == 0 || steps_left == 0;
            if found.contains(Seen::GLOBAL) && !is_over {
                let blocks = definitions.iter().map(|&(_, block)| block);
                let steps = frontier.find(function, tree, blocks, |block| {
                    let preds = count_preds(function, tree, block, pred_counts, seen);
                    pairs += preds;
                    most_preds = preds.max(most_preds);
                    looks_left = looks_left.saturating_sub(preds);
                    phis.push(Planned {
                        block,
                        candidate: number as u32,
                        to: vreg,
                        pairs: 0,
                        filled: 0,
                        is_needed: false,
                    });
                    // What is left out need not be found whole.
                    pair_count + pairs <= most_pairs && looks_left > 0
                });
                steps_left = steps_left.saturating_sub(steps);
            }
            if pair_count + pairs > most_pairs || most_preds > PREDS_MAX || is_over || looks_left == 0 {
                phis.truncate(first);
                left_out += 1;
                self.candidate_of[vreg.index()] = NO_CANDIDATE;
                self.variables.push((vreg, true));
            } else {
                pair_count += pairs;
            }
        }
        if left_out == self.candidates.len() as u64 {
            self.candidates.clear();
        }
        left_out
    }

    /// Puts the phis in the order of their blocks and gives each its register and the place of its pairs.
    pub(super) fn sort_phis(&mut self, function: &FunctionView<'_>) {
        let Self { phis, phis_of, pairs, pred_counts, names, .. } = self;
        phis.sort_unstable_by_key(|phi| u64::from(phi.block.0) << 32 | u64::from(phi.candidate));
        names.clear();
        let mut pair_count = 0;
        for phi in &mut *phis {
            phi.to = VRegId::new(function.vregs.len() + names.len());
            names.push(Name { candidate: phi.candidate, number: None });
            phi.pairs = pair_count;
            pair_count += pred_counts[phi.block.index()] as usize;
        }
        pairs.clear();
        pairs.resize(pair_count, (BlockId(0), Operand::default()));
        phis_of.clear();
        let mut next = 0;
        for block in 0..=function.blocks.len() {
            while phis.get(next).is_some_and(|phi| phi.block.index() < block) {
                next += 1;
            }
            phis_of.push(next as u32);
        }
    }
}

/// Number of distinct reachable predecessors of `block`.
fn count_preds(
    function: &FunctionView<'_>,
    tree: &DominatorTree,
    block: BlockId,
    counts: &mut [u32],
    seen: &mut [u32],
) -> usize {
    if counts[block.index()] == 0 {
        let is_new = |pred: &BlockId| std::mem::replace(&mut seen[pred.index()], block.0 + 1) != block.0 + 1;
        let preds = function.preds(block).iter().filter(|&&pred| tree.is_reachable(pred)).copied();
        counts[block.index()] = preds.filter(is_new).count() as u32;
    }
    counts[block.index()] as usize
}
