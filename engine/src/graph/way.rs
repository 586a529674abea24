//! Ways from the inside to the outside, of loops for instance, in a logarithmic number of steps whatever the depth.
//!
//! Paper: Myers 1983, "An applicative random-access stack", as in [`super::dominator_tree`].

use ptxopt_components::ids::LoopId;

/// What a way leads over, by number, counted from 1; 0 is the outside.
pub type Node = u32;

/// What nothing is around.
pub const OUTSIDE: Node = 0;

/// A loop as a node; none is the outside.
#[must_use]
pub fn node_of(id: Option<LoopId>) -> Node {
    id.map_or(OUTSIDE, |id| id.0 + 1)
}

/// The loop that is a node.
#[must_use]
pub fn loop_of(node: Node) -> Option<LoopId> {
    node.checked_sub(1).map(LoopId)
}

/// The way from each node to the outside.
#[derive(Default)]
pub struct Way {
    /// By node: the next one of the way.
    up: Vec<Node>,
    /// By node: one further up, so that any is reached in a logarithmic number of steps.
    jump: Vec<Node>,
    /// By node: steps to the outside.
    steps: Vec<u32>,
}

impl Way {
    /// Leaves the outside alone.
    pub fn clear(&mut self) {
        for list in [&mut self.up, &mut self.jump, &mut self.steps] {
            list.clear();
            list.push(0);
        }
    }

    /// Adds the next node, whose next one is `up`.
    pub fn push(&mut self, up: Node) {
        let steps = |node: Node| self.steps[node as usize];
        let jump = |node: Node| self.jump[node as usize];
        let is_even = steps(up) - steps(jump(up)) == steps(jump(up)) - steps(jump(jump(up)));
        let far = if is_even { jump(jump(up)) } else { up };
        let count = steps(up) + 1;
        self.up.push(up);
        self.jump.push(far);
        self.steps.push(count);
    }

    /// The next node after `node`.
    #[must_use]
    pub fn up(&self, node: Node) -> Node {
        self.up[node as usize]
    }

    /// The last node on the way from `node` to the outside that `keeps`. All before it do, `node` among them, and the outside
    /// does not.
    pub fn last(&self, node: Node, keeps: impl Fn(Node) -> bool) -> Node {
        let mut at = node;
        while keeps(self.up(at)) {
            let jump = self.jump[at as usize];
            at = if keeps(jump) { jump } else { self.up(at) };
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::random::Random;

    /// The ways of random forests, and one of a chain, against single steps.
    #[test]
    fn steps_that_double_lead_where_single_ones_do() {
        for seed in 0..50 {
            let mut random = Random(seed);
            let mut way = Way::default();
            way.clear();
            let count: usize = if seed == 0 { 3_000 } else { 200 };
            for node in 1..=count {
                let nearest = if seed == 0 { node - 1 } else { node.saturating_sub(1 + random.below(8)) };
                way.push(nearest as Node);
            }
            for _ in 0..300 {
                let node = 1 + random.below(count) as Node;
                let limit = random.below(way.steps[node as usize] as usize) as u32;
                let is_kept = |node: Node| way.steps[node as usize] > limit;
                let mut naive = node;
                while is_kept(way.up(naive)) {
                    naive = way.up(naive);
                }
                assert_eq!(way.last(node, is_kept), naive);
            }
        }
    }

    #[test]
    fn a_long_way_takes_few_steps() {
        let mut way = Way::default();
        way.clear();
        (0..100_000).for_each(|node| way.push(node));
        let asked = std::cell::Cell::new(0);
        let last = way.last(100_000, |node| {
            asked.set(asked.get() + 1);
            node >= 7
        });
        assert_eq!(last, 7);
        assert!(asked.get() < 200, "{}", asked.get());
    }

    #[test]
    fn loops_are_nodes() {
        assert_eq!([node_of(None), node_of(Some(LoopId(0)))], [OUTSIDE, 1]);
        assert_eq!([loop_of(OUTSIDE), loop_of(1)], [None, Some(LoopId(0))]);
    }
}
