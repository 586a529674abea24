//! The order of a level.

use super::{NONE, Plan, Source};
use ptxopt_components::ids::{BlockId, Id};

/// Memory of the order.
#[derive(Default)]
pub(super) struct Tree {
    parents: Vec<u32>,
    /// By node: where its children begin, and end so far.
    children: Vec<(u32, u32)>,
    child_nodes: Vec<u32>,
    stack: Vec<u32>,
}

impl Plan {
    /// Puts the nodes of a level into a preorder of the dominator tree with siblings in reverse postorder, the entry first.
    pub(super) fn order_level(&mut self, source: &Source<'_>) {
        let orders = source.function.orders;
        let mut nodes = std::mem::take(&mut self.level.nodes);
        let mut tree = std::mem::take(&mut self.level.tree);
        let Tree { parents, children, child_nodes, stack } = &mut tree;
        let is_kept = |node: &BlockId| orders[node.index()].rpo == 0 || !source.shape.is_ending[node.index()];
        nodes.retain(is_kept);
        nodes.sort_unstable_by_key(|node| orders[node.index()].rpo);
        for (at, node) in nodes.iter().enumerate() {
            self.index_of[node.index()] = at as u32;
        }
        parents.clear();
        parents.resize(nodes.len(), NONE);
        children.clear();
        children.resize(nodes.len(), (0, 0));
        for at in 1..nodes.len() {
            let idom = orders[nodes[at].index()].idom.get().expect("the entry alone has no dominator");
            let parent = self.node(idom);
            parents[at] = self.index_of[parent.index()];
            children[parents[at] as usize].1 += 1;
        }
        let mut first = 0;
        for range in children.iter_mut() {
            let count = range.1;
            *range = (first, first);
            first += count;
        }
        child_nodes.clear();
        child_nodes.resize(nodes.len(), NONE);
        for (at, &parent) in parents.iter().enumerate().skip(1) {
            let end = &mut children[parent as usize].1;
            child_nodes[*end as usize] = at as u32;
            *end += 1;
        }
        self.level.order.clear();
        stack.clear();
        stack.push(0);
        while let Some(at) = stack.pop() {
            self.level.order.push(nodes[at as usize]);
            let (first, end) = children[at as usize];
            stack.extend(child_nodes[first as usize..end as usize].iter().rev());
        }
        for (at, node) in self.level.order.iter().enumerate() {
            self.index_of[node.index()] = at as u32;
        }
        (self.level.nodes, self.level.tree) = (nodes, tree);
    }
}
