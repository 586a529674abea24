//! Rounds: which results of phis a loop passes on to other phis of their block, while it computes what they get themselves.
//!
//! ```text
//! L: r2 = phi {A, r1}, {M, r4};  r3 = phi {A, r0}, {M, r2};      // r3 is r2 of the round before
//!    ...;
//! M: r4 = r2 + 1;  bra L;
//! ```
//! At the end of `M`, `r2` lives beside `r4`, so that it comes together with one of the registers of both phis, and a copy is left for
//! the other one. If `r2` comes together with its own, the copies are `r3 = r2; r2 = r4;`, of which the [first may move
//! up](super::early), and the other one goes: where nothing but its phi reads `r4`, and from its definition to the end of `M` nothing
//! names `r2` or `r3`.

use super::webs::{Mention, Node, Pair, Phi};
use ptxopt_components::ids::{BlockId, Id};

/// Ways into the block of such a phi: with more, there would be a copy at the end of each.
const COMING_MAX: u32 = 2;

/// Rounds of a loop through which a value is followed.
const ROUNDS_MAX: usize = 16;

/// What is looked at.
#[derive(Clone, Copy)]
pub struct Seen<'w> {
    pub phis: &'w [Phi],
    pub pairs: &'w [Pair],
    /// By block.
    pub mentions: &'w [Mention],
    /// By block: where its mentions start.
    pub mentions_of: &'w [u32],
    /// By node.
    pub defined_in: &'w [Option<BlockId>],
}

/// Finds such results.
#[derive(Default)]
pub struct Rounds {
    /// By node.
    nodes: Vec<Traits>,
    /// By phi.
    coming: Vec<Coming>,
    /// Times that [`ROUNDS_MAX`] ended a search in this function.
    limits_hit: u64,
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Traits {
    /// The phi whose result it is.
    phi: Option<u32>,
    /// The block from which it is passed on, or another one of its block is to it.
    passing: Option<BlockId>,
    /// One more than the number of the last mention there.
    last_named: u32,
    /// One more than that of its definition.
    defined: u32,
    /// Something other than a phi reads it.
    is_read: bool,
    is_passed_on: bool,
}

/// What comes to a phi.
#[derive(Clone, Copy, Default)]
struct Coming {
    count: u32,
    /// What is computed where its result is passed on: for it, or for the phi that it gets the result of.
    next: Option<Node>,
    /// Its own result is among it.
    is_kept: bool,
    /// What its result is passed on to is named too late, or what comes stays apart.
    is_late: bool,
}

impl Coming {
    fn is_refused(&self) -> bool {
        self.count > COMING_MAX || self.is_kept || self.is_late
    }
}

impl Rounds {
    /// Whether a node is a result that is passed on.
    pub fn passes_on(&self, node: Node) -> bool {
        self.nodes[node.index()].is_passed_on
    }

    /// Finds the results; gives the times that a limit ended the search.
    pub fn find(&mut self, seen: Seen<'_>) -> u64 {
        self.nodes.clear();
        self.nodes.resize(seen.defined_in.len(), Traits::default());
        self.limits_hit = 0;
        if !self.find_passing(seen) {
            return 0;
        }
        self.find_next(seen);
        self.follow(seen);
        self.find_places(seen);
        let Self { nodes, coming, .. } = self;
        for pair in seen.pairs {
            let Some((node, passed)) = passed_by(nodes, seen.phis, pair) else { continue };
            let Some(next) = coming[passed].next else { continue };
            let [next, from, to] = [next, node, seen.phis[pair.phi].result].map(|node| nodes[node.index()]);
            // The definition may read what is passed on, and not what it is passed on to.
            coming[passed].is_late |= next.is_read
                || from.last_named > next.defined
                || to.last_named > next.defined
                || are_of_one_instruction(seen.mentions, to.last_named, next.defined);
        }
        self.refuse_what_follows(seen);
        let Self { nodes, coming, .. } = self;
        for (phi, coming) in seen.phis.iter().zip(&*coming) {
            nodes[phi.result.index()].is_passed_on = coming.next.is_some() && !coming.is_refused();
        }
        self.limits_hit
    }

    /// Finds what is passed on, and from where; says whether anything is.
    fn find_passing(&mut self, seen: Seen<'_>) -> bool {
        let Self { nodes, .. } = self;
        for (number, phi) in seen.phis.iter().enumerate() {
            nodes[phi.result.index()].phi = Some(number as u32);
        }
        let mut is_any = false;
        for pair in seen.pairs {
            let Some((node, _)) = passed_by(nodes, seen.phis, pair) else { continue };
            is_any = true;
            for node in [node, seen.phis[pair.phi].result] {
                nodes[node.index()].passing = Some(pair.pred);
            }
        }
        is_any
    }

    /// Finds what comes to each phi.
    fn find_next(&mut self, seen: Seen<'_>) {
        let Self { nodes, coming, .. } = self;
        coming.clear();
        coming.resize(seen.phis.len(), Coming::default());
        for pair in seen.pairs {
            let (result, coming) = (seen.phis[pair.phi].result, &mut coming[pair.phi]);
            coming.count += 1;
            let Some(node) = pair.node else { continue };
            coming.is_kept |= node == result;
            let is_computed =
                nodes[node.index()].phi.is_none() && seen.defined_in[node.index()] == Some(pair.pred);
            if is_computed && nodes[result.index()].passing == Some(pair.pred) {
                coming.next = Some(node);
            }
        }
    }

    /// What the first of several phis gets through which results are passed on is computed for all of them.
    fn follow(&mut self, seen: Seen<'_>) {
        self.go_along(seen, |nodes, coming, pair, passed| {
            let passing = nodes[seen.phis[pair.phi].result.index()].passing;
            let is_new = coming[pair.phi].next.is_none() && passing == Some(pair.pred);
            if is_new {
                coming[pair.phi].next = coming[passed].next;
            }
            is_new && coming[passed].next.is_some()
        });
    }

    /// Where a result stays apart from its phi, so do those that it is passed on to.
    fn refuse_what_follows(&mut self, seen: Seen<'_>) {
        self.go_along(seen, |_, coming, pair, passed| {
            let is_new = coming[passed].is_refused() && !coming[pair.phi].is_late;
            coming[pair.phi].is_late |= is_new;
            is_new
        });
    }

    /// Goes along results that are passed on, each by a pair from one phi to another one, until nothing is new there.
    fn go_along(
        &mut self,
        seen: Seen<'_>,
        mut is_new_at: impl FnMut(&[Traits], &mut [Coming], &Pair, usize) -> bool,
    ) {
        let Self { nodes, coming, limits_hit } = self;
        for _ in 0..ROUNDS_MAX {
            let mut is_new = false;
            for pair in seen.pairs {
                if let Some((_, passed)) = passed_by(nodes, seen.phis, pair) {
                    is_new |= is_new_at(nodes, coming, pair, passed);
                }
            }
            if !is_new {
                return;
            }
        }
        *limits_hit += 1;
    }

    /// Finds where nodes are defined, and last named.
    fn find_places(&mut self, seen: Seen<'_>) {
        let Self { nodes, .. } = self;
        for (block, range) in seen.mentions_of.windows(2).enumerate() {
            for number in range[0]..range[1] {
                let mention = &seen.mentions[number as usize];
                let node = &mut nodes[mention.node.index()];
                if node.passing == Some(BlockId::new(block)) {
                    node.last_named = number + 1;
                }
                if mention.is_definition {
                    node.defined = number + 1;
                } else {
                    node.is_read = true;
                }
            }
        }
    }
}

/// The result of a phi, and that phi, which comes to another one of its block.
fn passed_by(nodes: &[Traits], phis: &[Phi], pair: &Pair) -> Option<(Node, usize)> {
    let node = pair.node?;
    let passed = nodes[node.index()].phi? as usize;
    (phis[passed].block == phis[pair.phi].block && passed != pair.phi).then_some((node, passed))
}

/// Whether two mentions, each one more than its number, are of one instruction; there is none before the first.
fn are_of_one_instruction(mentions: &[Mention], one: u32, other: u32) -> bool {
    let inst = |number: u32| Some(mentions[number.checked_sub(1)? as usize].inst);
    inst(one).is_some() && inst(one) == inst(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::ids::{InstId, VRegId};
    use ptxopt_components::operand::Operand;
    use ptxopt_components::types::PtxType;

    const BEFORE: BlockId = BlockId(0);
    const BODY: BlockId = BlockId(1);
    const BESIDE: BlockId = BlockId(2);

    /// What the body of the loop computes, and the result of each of its phis.
    const NEXT: Node = Node(0);

    fn result(phi: usize) -> Node {
        Node(3 * phi as u32 + 1)
    }

    fn pair(phi: usize, pred: BlockId, node: Node) -> Pair {
        Pair { phi, pred, value: Operand::register(VRegId(node.0)), node: Some(node) }
    }

    fn mention(inst: usize, node: Node, is_definition: bool) -> Mention {
        Mention { inst: InstId::new(inst), position: 0, node, is_definition }
    }

    /// The pairs of a loop of one block with `count` phis, each of which gets the result of the one before, and the first of them
    /// what the block computes.
    fn chain(count: usize) -> Vec<Pair> {
        let outer = |phi: usize| Node(3 * phi as u32 + 3);
        let before = (0..count).map(|phi| pair(phi, BEFORE, outer(phi)));
        let passed = (1..count).map(|phi| pair(phi, BODY, result(phi - 1)));
        before.chain([pair(0, BODY, NEXT)]).chain(passed).collect()
    }

    /// Which of the results are passed on, and how often a limit ended the search, where the block names these.
    fn found(count: usize, pairs: &[Pair], mentions: &[Mention]) -> (Vec<bool>, u64) {
        let own = |phi: usize| Node(3 * phi as u32 + 2);
        let phi = |at| Phi {
            inst: InstId::new(1000 + at),
            block: BODY,
            ty: PtxType::U32,
            node: own(at),
            result: result(at),
        };
        let phis: Vec<Phi> = (0..count).map(phi).collect();
        let mut defined_in = vec![Some(BEFORE); 3 * count + 1];
        defined_in[NEXT.index()] = Some(BODY);
        (0..count).for_each(|phi| defined_in[result(phi).index()] = Some(BODY));
        let mentions_of = [0, 0, mentions.len() as u32, mentions.len() as u32];
        let seen = Seen { phis: &phis, pairs, mentions, mentions_of: &mentions_of, defined_in: &defined_in };
        let mut rounds = Rounds::default();
        let limits_hit = rounds.find(seen);
        ((0..count).map(|phi| rounds.passes_on(result(phi))).collect(), limits_hit)
    }

    /// How many results of such a chain are passed on, and how often a limit ended the search.
    fn passed_on(count: usize, is_in_order: bool) -> (usize, u64) {
        let mut pairs = chain(count);
        if !is_in_order {
            pairs.reverse();
        }
        let (found, limits_hit) = found(count, &pairs, &[mention(0, NEXT, true)]);
        (found.into_iter().filter(|&is_found| is_found).count(), limits_hit)
    }

    #[test]
    fn what_is_passed_on_is_named_before_the_next_value_is_there() {
        let passed = |mentions: &[Mention]| found(2, &chain(2), mentions).0;
        let (first, second) = (result(0), result(1));
        let defined = |inst| mention(inst, NEXT, true);
        let named = |inst, node| mention(inst, node, false);
        assert_eq!(passed(&[defined(0)]), [true, true]);
        assert_eq!(passed(&[named(0, first), defined(0)]), [true, true], "the definition may read it");
        assert_eq!(passed(&[defined(0), named(1, first)]), [false, false]);
        // What it is passed on to takes the register that it had.
        assert_eq!(passed(&[named(0, second), defined(1)]), [true, true]);
        assert_eq!(passed(&[named(0, second), defined(0)]), [false, false]);
        assert_eq!(passed(&[defined(0), named(1, second)]), [false, false]);
        assert_eq!(
            passed(&[defined(0), named(1, NEXT)]),
            [false, false],
            "something else reads the next value"
        );
    }

    #[test]
    fn a_phi_gets_one_value_beside_what_is_passed_on() {
        let passed = |change: fn(&mut Vec<Pair>)| {
            let mut pairs = chain(2);
            change(&mut pairs);
            found(2, &pairs, &[mention(0, NEXT, true)]).0
        };
        assert_eq!(passed(|pairs| pairs.push(pair(0, BESIDE, Node(3)))), [false, false]);
        assert_eq!(passed(|pairs| pairs.push(pair(1, BESIDE, Node(6)))), [true, false]);
        assert_eq!(passed(|pairs| pairs[0] = pair(0, BEFORE, result(0))), [false, false], "it keeps its own");
        // Computed elsewhere, or passed on from two places.
        assert_eq!(passed(|pairs| pairs[2] = pair(0, BESIDE, NEXT)), [false, false]);
        assert_eq!(passed(|pairs| pairs[2] = pair(0, BODY, Node(3))), [false, false]);
        assert_eq!(passed(|pairs| pairs[3] = pair(1, BODY, result(1))), [false, false], "to itself");
    }

    #[test]
    fn a_result_is_followed_through_as_many_rounds_as_it_takes_up_to_the_limit() {
        assert_eq!(passed_on(40, true), (40, 0), "one walk sees all of them");
        assert_eq!(passed_on(ROUNDS_MAX, false), (ROUNDS_MAX, 0));
        // The last walk finds something, so that it is not known whether there is more.
        assert_eq!(passed_on(ROUNDS_MAX + 1, false), (ROUNDS_MAX + 1, 1));
        assert_eq!(passed_on(40, false), (ROUNDS_MAX + 1, 1));
    }
}
