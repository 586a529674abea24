//! The dominator tree of a function: children, preorder, nearest common ancestors.
//!
//! The tree stands in the control-flow facts already: each block has its immediate dominator and its interval in a
//! preorder ([`BlockOrder`]). Here is what asks for more than a comparison of two blocks: blocks by rank and by place, and
//! ancestors in a logarithmic number of steps. Unreachable blocks are not in the tree: nothing dominates them.
//!
//! Paper: Myers 1983, "An applicative random-access stack", for the jump pointers.

use crate::store::view::FunctionView;
use ptxopt_components::block::BlockOrder;
use ptxopt_components::ids::{BlockId, Id};

/// The tree of one function.
#[derive(Default)]
pub struct DominatorTree {
    /// Reachable blocks by rank in reverse postorder.
    order: Vec<BlockId>,
    /// Reachable blocks by place in the preorder.
    preorder: Vec<BlockId>,
    /// By block.
    places: Vec<Interval>,
}

/// The places of a block and of all that it dominates: `first..end`. Empty for an unreachable block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Place of the block itself.
    pub first: u32,
    /// One past the last place of its subtree.
    pub end: u32,
}

impl Interval {
    /// Whether `other` lies inside: its block is dominated.
    #[inline]
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.first < self.end
    }
}

impl DominatorTree {
    /// Lists the tree of a function whose control-flow facts hold.
    pub fn compute(&mut self, function: &FunctionView<'_>) {
        let Self { order, preorder, places } = self;
        places.clear();
        places.extend(function.orders.iter().map(|order| match order.is_reachable() {
            true => Interval { first: order.dom_first, end: order.dom_last + 1 },
            false => Interval::default(),
        }));
        let count = function.orders.iter().filter(|order| order.is_reachable()).count();
        for list in [&mut *order, &mut *preorder] {
            list.clear();
            list.resize(count, BlockId(0));
        }
        for (block, row) in function.orders.iter().enumerate() {
            if row.rpo != BlockOrder::UNREACHABLE {
                order[row.rpo as usize] = BlockId::new(block);
                preorder[row.dom_first as usize] = BlockId::new(block);
            }
        }
    }

    /// The places of `block` and of what it dominates.
    #[inline]
    #[must_use]
    pub fn interval(&self, block: BlockId) -> Interval {
        self.places[block.index()]
    }

    /// Whether every path from the entry to `block` goes through `dominator`; a block dominates itself, and nothing
    /// dominates an unreachable one.
    #[inline]
    #[must_use]
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        self.interval(dominator).contains(self.interval(block)) && self.is_reachable(block)
    }

    /// Whether a path leads from the entry to `block`.
    #[inline]
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.interval(block).end != 0
    }

    /// Reachable blocks in reverse postorder.
    #[must_use]
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.order
    }

    /// Reachable blocks in a preorder of the tree: a block, then what it dominates.
    #[must_use]
    pub fn preorder(&self) -> &[BlockId] {
        &self.preorder
    }

    /// The blocks whose immediate dominator is `block`.
    pub fn children(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let Interval { first, end } = self.interval(block);
        let mut place = first + 1;
        std::iter::from_fn(move || {
            (place < end).then(|| {
                let child = self.preorder[place as usize];
                place = self.interval(child).end;
                child
            })
        })
    }
}

/// The way from each block to the root, in steps that double: what finds nearest common ancestors.
#[derive(Default)]
pub struct Ancestors {
    /// By place in the preorder.
    nodes: Vec<Node>,
}

/// A block on its way up. Places are those of the preorder.
#[derive(Clone, Copy, Default)]
struct Node {
    parent: u32,
    /// Some ancestor, so that the way to any ancestor takes a logarithmic number of jumps and single steps.
    jump: u32,
    depth: u32,
}

impl Ancestors {
    /// Lists the ways up in `tree`, which is that of `function`.
    pub fn compute(&mut self, function: &FunctionView<'_>, tree: &DominatorTree) {
        let nodes = &mut self.nodes;
        nodes.clear();
        nodes.reserve(tree.preorder.len());
        for &block in &tree.preorder {
            let node = function.orders[block.index()].idom.get().map_or(Node::default(), |idom| {
                let parent = tree.interval(idom).first;
                let above = nodes[parent as usize];
                let beyond = nodes[above.jump as usize];
                // Two jumps of one length make one of twice the length and one.
                let is_even = above.depth - beyond.depth == beyond.depth - nodes[beyond.jump as usize].depth;
                let jump = if is_even { beyond.jump } else { parent };
                Node { parent, jump, depth: above.depth + 1 }
            });
            nodes.push(node);
        }
    }

    /// Number of blocks that strictly dominate `block`, which must be reachable.
    #[must_use]
    pub fn depth(&self, tree: &DominatorTree, block: BlockId) -> u32 {
        self.nodes[tree.interval(block).first as usize].depth
    }

    /// The deepest block that dominates both. Both must be reachable.
    #[must_use]
    pub fn nearest_common(&self, tree: &DominatorTree, one: BlockId, other: BlockId) -> BlockId {
        let other = tree.interval(other);
        let holds = |place: u32| tree.interval(tree.preorder[place as usize]).contains(other);
        let mut at = tree.interval(one).first;
        while !holds(at) {
            let Node { parent, jump, .. } = self.nodes[at as usize];
            at = if holds(jump) { parent } else { jump };
        }
        tree.preorder[at as usize]
    }
}
