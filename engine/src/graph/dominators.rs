//! Dominators of a graph whose nodes are ranks, and the numbers that make "does it dominate" two comparisons.
//!
//! The same solver serves dominators (ranks from the entry) and post-dominators (ranks from the virtual exit).
//!
//! Paper  Cooper, Harvey, Kennedy 2001, "A Simple, Fast Dominance Algorithm"; Lengauer, Tarjan 1979
//!
//! # How it works
//! Iteration over reverse postorder: the immediate dominator of a node is the nearest common ancestor of its
//! predecessors in the tree so far. One pass settles a graph without retreating edges; a reducible one takes a second
//! that finds nothing new.
//!
//! # Where iteration is quadratic
//! ```text
//! a1 -> a2 -> a3 -> ... -> an      // a ladder: the nearest common ancestor of a[i] and b[i-1] is a1,
//!  |     |     |           |       // and finding it climbs over i nodes
//! b1 -> b2 -> b3 -> ... -> bn
//! ```
//! On irreducible graphs the number of passes grows too. So steps are counted, and a graph that takes more than
//! [`STEPS_PER_EDGE`] an edge is solved by Lengauer and Tarjan's algorithm, edges times the logarithm of nodes at worst.
//!
//! # Constant-time queries
//! Nodes are numbered in a preorder of the tree: what a node dominates is an interval. Sizes of subtrees give the
//! numbers without a walk, since a dominator has a smaller rank than what it dominates.

use crate::lists::counts_to_ends;

/// No node.
pub const NONE: u32 = u32::MAX;

/// Steps that iteration may take for each edge and node: room for the two passes of a reducible graph with short climbs,
/// and for a few more. The ladder above takes half as many as it has nodes.
pub const STEPS_PER_EDGE: u64 = 8;

/// Predecessor lists by rank. Node 0 is the root and has none that count.
#[derive(Default)]
pub struct RankedGraph {
    /// By node: where its predecessors start; one more entry at the end.
    first: Vec<u32>,
    preds: Vec<u32>,
    has_retreating_edges: bool,
}

impl RankedGraph {
    /// Forgets all nodes.
    pub fn clear(&mut self) {
        self.first.clear();
        self.first.push(0);
        self.preds.clear();
        self.has_retreating_edges = false;
    }

    /// Adds the next node with its predecessors.
    #[inline]
    pub fn push(&mut self, preds: impl Iterator<Item = u32>) {
        let node = self.len() as u32;
        self.preds.extend(preds);
        let first = self.first[node as usize] as usize;
        self.has_retreating_edges |= self.preds[first..].iter().any(|&pred| pred >= node);
        self.first.push(self.preds.len() as u32);
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The predecessors of a node.
    #[inline]
    fn preds(&self, node: u32) -> &[u32] {
        &self.preds[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// The dominator tree by rank, and memory to find it.
#[derive(Default)]
pub struct Solver {
    /// The graph; every node must be reachable from node 0.
    pub graph: RankedGraph,
    /// By node: its immediate dominator; 0 for the root.
    pub idom: Vec<u32>,
    /// By node: its number in a preorder of the tree.
    pub first: Vec<u32>,
    /// By node: the largest number among what it dominates.
    pub last: Vec<u32>,
    /// By node: the number that its next child gets.
    next: Vec<u32>,
    /// Graphs that iteration gave up.
    pub fallback_count: u64,
    fallback: Fallback,
}

impl Solver {
    /// Finds immediate dominators and numbers the tree.
    pub fn solve(&mut self) {
        let Self { graph, idom, fallback, .. } = self;
        if !iterate(graph, idom) {
            self.fallback_count += 1;
            fallback.solve(graph, idom);
        }
        self.number();
    }

    /// Finds immediate dominators by the fallback alone.
    #[cfg(test)]
    pub(super) fn solve_by_fallback(&mut self, idom: &mut [u32]) {
        self.fallback.solve(&self.graph, idom);
    }

    /// Numbers the tree in preorder.
    fn number(&mut self) {
        let Self { idom, first, last, next, .. } = self;
        let count = idom.len();
        // `last` holds sizes of subtrees first.
        last.clear();
        last.resize(count, 1);
        for node in (1..count).rev() {
            last[idom[node] as usize] += last[node];
        }
        first.clear();
        first.resize(count, 0);
        next.clear();
        next.resize(count, 0);
        for node in 0..count {
            let number = if node == 0 { 0 } else { next[idom[node] as usize] };
            if node > 0 {
                next[idom[node] as usize] += last[node];
            }
            first[node] = number;
            next[node] = number + 1;
            last[node] = number + last[node] - 1;
        }
    }
}

/// Iteration to the fixpoint. Gives up, and says so, when it takes too many steps.
fn iterate(graph: &RankedGraph, idom: &mut Vec<u32>) -> bool {
    let count = graph.len() as u32;
    idom.clear();
    idom.resize(count as usize, NONE);
    if count == 0 {
        return true;
    }
    idom[0] = 0;
    let size = (graph.preds.len() + count as usize) as u64;
    let mut steps_left = size * STEPS_PER_EDGE;
    loop {
        let mut changed = false;
        for node in 1..count {
            let mut new = NONE;
            for &pred in graph.preds(node) {
                // Not reached by this first pass yet.
                if idom[pred as usize] == NONE {
                    continue;
                }
                if new == NONE {
                    new = pred;
                    continue;
                }
                let mut other = pred;
                let mut steps = 1;
                while new != other {
                    if new > other {
                        new = idom[new as usize];
                    } else {
                        other = idom[other as usize];
                    }
                    steps += 1;
                }
                if steps > steps_left {
                    return false;
                }
                steps_left -= steps;
            }
            changed |= idom[node as usize] != new;
            idom[node as usize] = new;
        }
        if !changed || !graph.has_retreating_edges {
            return true;
        }
        if size > steps_left {
            return false;
        }
        steps_left -= size;
    }
}

/// Lengauer and Tarjan's algorithm with simple path compression. Nodes are numbered by a depth-first search here.
#[derive(Default)]
struct Fallback {
    /// Successor lists, as the graph has predecessors.
    succ_first: Vec<u32>,
    succs: Vec<u32>,
    /// By node: its number in the search.
    number: Vec<u32>,
    /// By number: the node.
    node: Vec<u32>,
    /// The rest is by number. Parent in the search tree.
    parent: Vec<u32>,
    semi: Vec<u32>,
    label: Vec<u32>,
    ancestor: Vec<u32>,
    dominator: Vec<u32>,
    /// The numbers whose semidominator is this one, as a list through `next_in_bucket`.
    bucket: Vec<u32>,
    next_in_bucket: Vec<u32>,
    stack: Vec<u32>,
}

impl Fallback {
    fn solve(&mut self, graph: &RankedGraph, idom: &mut [u32]) {
        self.list_successors(graph);
        self.search(graph.len());
        let count = self.node.len() as u32;
        debug_assert_eq!(count as usize, graph.len(), "every node is reachable");
        self.semi.clear();
        self.semi.extend(0..count);
        self.label.clear();
        self.label.extend(0..count);
        for list in [&mut self.ancestor, &mut self.dominator, &mut self.bucket, &mut self.next_in_bucket] {
            list.clear();
            list.resize(count as usize, NONE);
        }
        self.dominator[0] = 0;
        for at in (1..count).rev() {
            for &pred in graph.preds(self.node[at as usize]) {
                let best = self.evaluate(self.number[pred as usize]);
                self.semi[at as usize] = self.semi[at as usize].min(self.semi[best as usize]);
            }
            let semi = self.semi[at as usize] as usize;
            self.next_in_bucket[at as usize] = std::mem::replace(&mut self.bucket[semi], at);
            let parent = self.parent[at as usize];
            self.ancestor[at as usize] = parent;
            let mut waiting = std::mem::replace(&mut self.bucket[parent as usize], NONE);
            while waiting != NONE {
                let best = self.evaluate(waiting);
                let is_below = self.semi[best as usize] < self.semi[waiting as usize];
                self.dominator[waiting as usize] = if is_below { best } else { parent };
                waiting = self.next_in_bucket[waiting as usize];
            }
        }
        for at in 1..count as usize {
            if self.dominator[at] != self.semi[at] {
                self.dominator[at] = self.dominator[self.dominator[at] as usize];
            }
            idom[self.node[at] as usize] = self.node[self.dominator[at] as usize];
        }
        idom[0] = 0;
    }

    fn list_successors(&mut self, graph: &RankedGraph) {
        let Self { succ_first, succs, .. } = self;
        succ_first.clear();
        succ_first.resize(graph.len() + 1, 0);
        graph.preds.iter().for_each(|&pred| succ_first[pred as usize] += 1);
        counts_to_ends(succ_first);
        succs.clear();
        succs.resize(graph.preds.len(), 0);
        // Filling backwards turns each end into a start.
        for node in (0..graph.len() as u32).rev() {
            for &pred in graph.preds(node) {
                let slot = &mut succ_first[pred as usize];
                *slot -= 1;
                succs[*slot as usize] = node;
            }
        }
    }

    /// Numbers the nodes in the order in which a depth-first search finds them.
    fn search(&mut self, count: usize) {
        let Self { succ_first, succs, number, node, parent, ancestor: place, stack, .. } = self;
        number.clear();
        number.resize(count, NONE);
        node.clear();
        parent.clear();
        // By node: the next of its successors to be visited.
        place.clear();
        place.extend_from_slice(&succ_first[..count]);
        number[0] = 0;
        node.push(0);
        parent.push(0);
        stack.clear();
        stack.push(0);
        while let Some(&top) = stack.last() {
            let at = place[top as usize];
            if at == succ_first[top as usize + 1] {
                stack.pop();
                continue;
            }
            place[top as usize] += 1;
            let succ = succs[at as usize];
            if number[succ as usize] == NONE {
                number[succ as usize] = node.len() as u32;
                node.push(succ);
                parent.push(number[top as usize]);
                stack.push(succ);
            }
        }
    }

    /// The number with the smallest semidominator on the way from `at` up to the root of its tree in the forest.
    fn evaluate(&mut self, at: u32) -> u32 {
        if self.ancestor[at as usize] == NONE {
            return at;
        }
        // What lies below a root has nothing to compress.
        let mut below = at;
        self.stack.clear();
        while self.ancestor[self.ancestor[below as usize] as usize] != NONE {
            self.stack.push(below);
            below = self.ancestor[below as usize];
        }
        while let Some(node) = self.stack.pop() {
            let above = self.ancestor[node as usize] as usize;
            let (label, label_above) = (self.label[node as usize], self.label[above]);
            if self.semi[label_above as usize] < self.semi[label as usize] {
                self.label[node as usize] = label_above;
            }
            self.ancestor[node as usize] = self.ancestor[above];
        }
        self.label[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solver(preds: &[&[u32]]) -> Solver {
        let mut solver = Solver::default();
        solver.graph.clear();
        preds.iter().for_each(|preds| solver.graph.push(preds.iter().copied()));
        solver
    }

    /// The ladder of the module's documentation, `a[i]` at rank `i` and `b[i]` after all of them.
    fn ladder(length: u32) -> Solver {
        let mut solver = solver(&[&[]]);
        (1..length).for_each(|at| solver.graph.push([at - 1].into_iter()));
        solver.graph.push([0].into_iter());
        (1..length).for_each(|at| solver.graph.push([at, length + at - 1].into_iter()));
        solver
    }

    #[test]
    fn numbers_are_a_preorder() {
        // 0 -> {1, 2} -> 3 -> 4 -> 3
        let mut solver = solver(&[&[], &[0], &[0], &[1, 2, 4], &[3]]);
        solver.solve();
        assert_eq!(solver.idom, [0, 0, 0, 0, 3]);
        assert_eq!(solver.first, [0, 1, 2, 3, 4]);
        assert_eq!(solver.last, [4, 1, 2, 4, 4]);
        assert_eq!(solver.fallback_count, 0);
    }

    #[test]
    fn a_ladder_takes_the_fallback_and_has_one_dominator() {
        let mut solver = ladder(10_000);
        solver.solve();
        assert_eq!(solver.fallback_count, 1);
        // Each b but the first is reached past the first b and past the second a.
        assert!(solver.idom[10_001..].iter().all(|&idom| idom == 0));
        assert!((1..10_000).all(|at| solver.idom[at] == at as u32 - 1));
    }

    #[test]
    fn a_short_ladder_needs_no_fallback() {
        let mut solver = ladder(8);
        solver.solve();
        assert_eq!(solver.fallback_count, 0);
    }

    #[test]
    fn both_algorithms_agree_where_iteration_ends() {
        // An irreducible graph: 0 -> {1, 2}, 1 <-> 2, 2 -> 3 -> 1, 3 -> 4.
        let mut solver = solver(&[&[], &[0, 2, 3], &[0, 1], &[2], &[3]]);
        solver.solve();
        let mut idom = vec![NONE; 5];
        solver.solve_by_fallback(&mut idom);
        assert_eq!(solver.idom, [0, 0, 0, 2, 3]);
        assert_eq!(idom, solver.idom);
    }
}
