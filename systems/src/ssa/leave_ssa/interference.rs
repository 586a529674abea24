//! Interference: which nodes of one web live at the same time.
//!
//! In SSA form two registers do exactly where one is live when the other is defined. So one walk backward over what each block
//! says of nodes, with the live nodes of each web, finds all pairs: at every definition, whatever else of the web is live.
//! Which nodes live at the end of a block is found for these few registers alone ([`super::live_ends`]).
//!
//! The copies that phis stand for are definitions, too. Those at the end of a predecessor define the registers of all phis of
//! its successors at once, before control leaves: what the branch reads, and what lives on in any successor, is live then.
//! Those at the start of a block define the results of its phis at once.
//!
//! # Equal values
//! ```text
//! L: r2 = phi {A, r1}, {L, r3};  r3 = r2 + 1;  @p bra L;  M: r4 = phi {L, r3}, ...; use r3
//! ```
//! At the end of `L` the registers of both phis get `r3`, which lives on: all three hold the same, and may be one register.
//! A later definition of one of them, where another lives, is found there.

use super::live_ends::LiveEnds;
use super::webs::{Node, Pair, Phi, Sets, Webs};
use ahash::AHashMap;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_components::operand::Operand;
use ptxopt_engine::store::view::FunctionView;

/// Pairs of nodes that the walk may look at in every function; above these and 16 an instruction, webs where more are
/// found stay apart.
pub const PAIRS_LEAST: usize = 1 << 16;

/// Comparisons of classes that every function may take; above these and sixteen a pair, classes stay apart.
pub const COMPARISONS_LEAST: usize = 1 << 14;

/// The pairs of nodes that live at the same time.
#[derive(Default)]
pub struct Interference {
    pairs: Vec<(Node, Node)>,
    /// Webs with too many pairs.
    apart: Vec<bool>,
    has_apart: bool,
    live: Live,
    /// Nodes that one place defines.
    defined: Vec<Node>,
    /// By node of a phi, at the end of a predecessor: what comes from there.
    arriving: Vec<Option<Operand>>,
    pairs_left: usize,
    /// By node that names a class: nodes that live when one of the class does.
    neighbours: AHashMap<Node, Vec<Node>>,
    comparisons_left: usize,
}

/// The nodes that live at a place of the walk, by web.
#[derive(Default)]
struct Live {
    /// By node: its web.
    web_of: Vec<Node>,
    /// By node: one more than its place in the list of its web.
    places: Vec<u32>,
    /// By web.
    members: Vec<Vec<Node>>,
    /// Webs with members, and perhaps some that have lost all.
    touched: Vec<Node>,
}

impl Live {
    fn start(&mut self, webs: &mut Webs) {
        let count = webs.node_count();
        self.web_of.clear();
        self.web_of.extend((0..count).map(|node| webs.web_of(Node::new(node))));
        self.places.clear();
        self.places.resize(count, 0);
        // Every walk leaves the lists empty: looking at those of the largest function so far would cost each one as much.
        debug_assert!(self.members.iter().all(Vec::is_empty));
        if self.members.len() < count {
            self.members.resize_with(count, Vec::new);
        }
    }

    fn add(&mut self, node: Node) {
        if self.places[node.index()] == 0 {
            let web = self.web_of[node.index()];
            let members = &mut self.members[web.index()];
            if members.is_empty() {
                self.touched.push(web);
            }
            members.push(node);
            self.places[node.index()] = members.len() as u32;
        }
    }

    fn remove(&mut self, node: Node) {
        let place = std::mem::take(&mut self.places[node.index()]);
        if place > 0 {
            let members = &mut self.members[self.web_of[node.index()].index()];
            members.swap_remove(place as usize - 1);
            if let Some(moved) = members.get(place as usize - 1) {
                self.places[moved.index()] = place;
            }
        }
    }

    fn clear(&mut self) {
        for web in self.touched.drain(..) {
            for node in self.members[web.index()].drain(..) {
                self.places[node.index()] = 0;
            }
        }
    }
}

impl Interference {
    /// Finds the pairs; says how many webs have too many.
    pub fn find(&mut self, function: &FunctionView<'_>, webs: &mut Webs, ends: &mut LiveEnds) -> u64 {
        self.pairs.clear();
        self.neighbours.clear();
        self.apart.clear();
        self.apart.resize(webs.node_count(), false);
        self.live.start(webs);
        self.arriving.clear();
        self.arriving.resize(webs.node_count(), None);
        self.pairs_left = PAIRS_LEAST + 16 * function.heads.len();
        webs.sort_pairs_by_pred();
        for node in ends.find(function, webs) {
            self.apart[self.live.web_of[node.index()].index()] = true;
        }
        let (mut next_pair, mut next_phi) = (0, 0);
        for block in function.block_ids().filter(|&block| function.orders[block.index()].is_reachable()) {
            while webs.pairs.get(next_pair).is_some_and(|pair| pair.pred < block) {
                next_pair += 1;
            }
            while webs.phis.get(next_phi).is_some_and(|phi| phi.block < block) {
                next_phi += 1;
            }
            let pairs = run_of(&webs.pairs[next_pair..], |pair| pair.pred == block);
            let phis = run_of(&webs.phis[next_phi..], |phi| phi.block == block);
            if !(pairs.is_empty() && phis.is_empty() && webs.mentions_in(block).is_empty()) {
                self.walk(function, webs, block, pairs, phis, ends.at_end_of(block));
            }
        }
        let apart_count = self.apart.iter().filter(|&&is_apart| is_apart).count();
        self.has_apart = apart_count > 0;
        if self.has_apart {
            // `may_unite` asks for the web first.
            let Self { live, pairs, apart, .. } = self;
            pairs.retain(|(one, _)| !apart[live.web_of[one.index()].index()]);
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.comparisons_left = COMPARISONS_LEAST + 16 * self.pairs.len();
        for &(one, other) in &self.pairs {
            self.neighbours.entry(one).or_default().push(other);
            self.neighbours.entry(other).or_default().push(one);
        }
        apart_count as u64
    }

    /// Walks backward over a block. `pairs` are those of phis that it is a predecessor of, `phis` its own, `at_end` what lives
    /// on in some successor.
    fn walk(
        &mut self,
        function: &FunctionView<'_>,
        webs: &Webs,
        block: BlockId,
        pairs: &[Pair],
        phis: &[Phi],
        at_end: &[(BlockId, Node)],
    ) {
        at_end.iter().for_each(|&(_, node)| self.live.add(node));
        let mut mentions = webs.mentions_in(block);
        if !pairs.is_empty() {
            // The copies stand before the instruction with which control leaves.
            let control = function.control_of(block);
            while let Some((mention, before)) = mentions.split_last()
                && Some(mention.inst) == control
            {
                self.live.add(mention.node);
                mentions = before;
            }
            for pair in pairs {
                let node = webs.phis[pair.phi].node;
                self.defined.push(node);
                self.arriving[node.index()] = Some(pair.value);
            }
            self.define(webs);
            pairs.iter().for_each(|pair| self.arriving[webs.phis[pair.phi].node.index()] = None);
            pairs.iter().filter_map(|pair| pair.node).for_each(|node| self.live.add(node));
        }
        for of_inst in mentions.chunk_by(|one, other| one.inst == other.inst).rev() {
            let definitions = of_inst.iter().filter(|mention| mention.is_definition);
            self.defined.extend(definitions.map(|mention| mention.node));
            if !self.defined.is_empty() {
                self.define(webs);
            }
            let reads = of_inst.iter().filter(|mention| !mention.is_definition);
            reads.for_each(|mention| self.live.add(mention.node));
        }
        self.defined.extend(phis.iter().map(|phi| phi.result));
        self.define(webs);
        self.live.clear();
    }

    /// Takes the nodes in `defined`, which are defined at once, out of the live ones, and notes what lives at the same time.
    fn define(&mut self, webs: &Webs) {
        let Self { live, defined, pairs, apart, arriving, pairs_left, .. } = self;
        defined.iter().for_each(|&node| live.add(node));
        for &node in &*defined {
            let web = live.web_of[node.index()];
            let members = &live.members[web.index()];
            if apart[web.index()] || members.len() < 2 {
                continue;
            }
            let Some(left) = pairs_left.checked_sub(members.len()) else {
                apart[web.index()] = true;
                continue;
            };
            *pairs_left = left;
            let value = arriving[node.index()];
            let is_equal = |other: Node| {
                let arrives = arriving[other.index()].is_some() && arriving[other.index()] == value;
                arrives || value.is_some_and(|value| webs.node_of(value) == Some(other))
            };
            let others = members.iter().filter(|&&other| other != node && !is_equal(other));
            pairs.extend(others.map(|&other| (node.min(other), node.max(other))));
        }
        defined.drain(..).for_each(|node| live.remove(node));
    }

    /// Whether everything may come together.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && !self.has_apart
    }

    /// Whether two classes may become one.
    pub fn may_unite(&mut self, classes: &mut Sets, one: Node, other: Node) -> bool {
        if self.has_apart && self.apart[self.live.web_of[one.index()].index()] {
            return false;
        }
        let (Some(of_one), Some(of_other)) = (self.neighbours.get(&one), self.neighbours.get(&other)) else {
            return true;
        };
        let (few, class) = if of_one.len() <= of_other.len() { (of_one, other) } else { (of_other, one) };
        let Some(left) = self.comparisons_left.checked_sub(few.len()) else { return false };
        self.comparisons_left = left;
        few.iter().all(|&node| classes.find(node) != class)
    }

    /// Notes that class `below` is a part of class `root` now.
    pub fn unite(&mut self, root: Node, below: Node) {
        if let Some(mut moved) = self.neighbours.remove(&below) {
            let all = self.neighbours.entry(root).or_default();
            if all.len() < moved.len() {
                std::mem::swap(all, &mut moved);
            }
            all.append(&mut moved);
        }
    }
}

/// The elements at the start for which `is_one` holds.
fn run_of<T>(all: &[T], is_one: impl Fn(&T) -> bool) -> &[T] {
    let count = all.iter().take_while(|element| is_one(element)).count();
    &all[..count]
}
