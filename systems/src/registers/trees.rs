//! What the sum of features leaves: regression trees.
//!
//! The assembler takes registers by rules that no sum follows: it stops where a warp would be lost, unrolls below a size,
//! keeps constants where there is room. Trees of a few questions each are fitted, one after the other, to what the sum and
//! the trees before have left (Friedman 2001, "Greedy Function Approximation: A Gradient Boosting Machine", with absolute
//! errors). `tests/tools/forecast --fit` grows them on half of the kernels.

/// Questions on a way from the root to a leaf.
const DEPTH: usize = 3;

/// A tree: its questions by level, left to right, and its leaves.
pub(super) struct Tree {
    /// What is asked for, and where it is more, the right way is taken.
    splits: [(u8, f32); (1 << DEPTH) - 1],
    /// Registers to add.
    leaves: [f32; 1 << DEPTH],
}

/// The trees, in the order they were grown.
static TREES: &[Tree] = &include!("trees.in");

/// Registers to add to the sum.
pub(super) fn add(asked: &[f64]) -> f64 {
    TREES.iter().map(|tree| f64::from(tree.leaf(asked))).sum()
}

impl Tree {
    fn leaf(&self, asked: &[f64]) -> f32 {
        let mut at = 0;
        while let Some(&(what, limit)) = self.splits.get(at) {
            at = 2 * at + 1 + usize::from(asked[what as usize] > f64::from(limit));
        }
        self.leaves[at - self.splits.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::forecast::ASKED_COUNT;

    #[test]
    fn what_is_more_goes_right() {
        let splits = [(0, 10.0), (1, 5.0), (2, 5.0), (0, 1.0), (0, 2.0), (0, 30.0), (0, 20.0)];
        let tree = Tree { splits, leaves: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] };
        for (asked, leaf) in [
            ([0.5, 0.0, 0.0], 0.0),
            ([10.0, 5.0, 0.0], 1.0),
            ([2.0, 5.5, 0.0], 2.0),
            ([2.5, 5.5, 0.0], 3.0),
            ([10.5, 0.0, 0.0], 4.0),
            ([31.0, 9.0, 5.0], 5.0),
            ([19.0, 0.0, 6.0], 6.0),
            ([21.0, 0.0, 6.0], 7.0),
        ] {
            assert_eq!(tree.leaf(&asked), leaf, "{asked:?}");
        }
    }

    /// Each tree asks for something that is there, and adds little: they are many.
    #[test]
    fn trees_ask_for_what_there_is() {
        for tree in TREES {
            assert!(tree.splits.iter().all(|(what, _)| usize::from(*what) < ASKED_COUNT));
            assert!(tree.leaves.iter().all(|leaf| leaf.abs() < 8.0), "{:?}", tree.leaves);
        }
        let none = [0.0; ASKED_COUNT];
        let one_by_one: f32 = TREES.iter().map(|tree| tree.leaf(&none)).sum();
        assert!((add(&none) - f64::from(one_by_one)).abs() < 1e-3);
    }
}
