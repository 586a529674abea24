//! From which blocks a block takes values, beside that they dominate it.

use super::Mode;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::edit::FunctionEditor;
use ptxopt_engine::graph::dominator_tree::DominatorTree;

/// The scopes of a function.
#[derive(Default)]
pub(super) struct Scopes {
    is_everywhere: bool,
    /// By block: the first block of its scope.
    first: Vec<BlockId>,
}

impl Scopes {
    /// Finds the scopes of a function.
    pub(super) fn find(&mut self, f: &FunctionEditor<'_>, tree: &DominatorTree, mode: Mode) {
        self.is_everywhere = !matches!(mode, Mode::Block | Mode::ExtendedBlock);
        self.first.clear();
        if self.is_everywhere {
            return;
        }
        self.first.extend((0..f.view().blocks.len()).map(BlockId::new));
        if mode == Mode::Block {
            return;
        }
        for &block in tree.preorder() {
            if let &[pred] = f.preds(block) {
                self.first[block.index()] = self.first[pred.index()];
            }
        }
    }

    /// Whether two blocks, of which one dominates the other, have one scope.
    pub(super) fn is_one(&self, one: BlockId, other: BlockId) -> bool {
        self.is_everywhere || self.first[one.index()] == self.first[other.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn each_target_has_its_mode() {
        let all = Settings::default();
        assert!([20, 60, 80, 90].iter().all(|&sm| all.on(sm) == Mode::Dominators));
        let faithful = Settings { is_faithful: true, ..all };
        let modes = [0, 37, 52, 60, 75, 80, 89, 90, 121].map(|sm| faithful.on(sm));
        let (off, extended) = (Mode::Off, Mode::ExtendedBlock);
        assert_eq!(modes, [off, off, off, extended, extended, off, off, extended, extended]);
        let skipping = Settings { skips_extended_blocks: true, ..faithful };
        assert_eq!([70, 90].map(|sm| skipping.on(sm)), [extended, Mode::Dominators]);
        let full = Settings { mode: Mode::of(4), ..skipping };
        assert_eq!([70, 86, 90].map(|sm| full.on(sm)), [extended, off, Mode::AroundLoops]);
        let local = Settings { mode: Mode::of(1), ..faithful };
        assert_eq!([60, 90].map(|sm| local.on(sm)), [Mode::Block, Mode::Block]);
        assert_eq!(Settings { stops_at_each: true, ..all }.on(90), off);
    }
}
