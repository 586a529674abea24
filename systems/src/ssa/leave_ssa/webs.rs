//! Webs: phis and the registers that they connect, and what of them comes together.
//!
//! A *node* is a register that some phi names or that was made for a value of another one, or the register of a phi itself.
//! Nodes that phis or origins connect are one *web*; the nodes of a web that become one register are a *class*. Both are kept by the same kind of table (Tarjan 1975).

use super::interference::Interference;
use super::rounds::{Rounds, Seen};
use crate::ssa::origins::OriginsOf;
use ptxopt_components::ids::{BlockId, Id, InstId, VRegId};
use ptxopt_components::operand::Operand;
use ptxopt_components::types::PtxType;
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::phis::{incoming, phis_of};
use std::cmp::Reverse;

/// A register that phis name, or that of a phi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

impl Node {
    /// Node number `index`.
    pub fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A phi.
#[derive(Clone, Copy)]
pub struct Phi {
    pub inst: InstId,
    pub block: BlockId,
    /// The type of the registers that it connects.
    pub ty: PtxType,
    /// Its own register.
    pub node: Node,
    /// The register that it defines.
    pub result: Node,
}

/// What comes to a phi from one predecessor.
#[derive(Clone, Copy)]
pub struct Pair {
    /// Number of the phi.
    pub phi: usize,
    pub pred: BlockId,
    pub value: Operand,
    /// The register that comes from there, if there is one and something defines it.
    pub node: Option<Node>,
}

/// An operand that names a node, outside of phis.
#[derive(Clone, Copy)]
pub struct Mention {
    pub inst: InstId,
    pub position: u32,
    pub node: Node,
    pub is_definition: bool,
}

/// What is connected when, in loops of one depth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// A result that is [passed on](super::rounds), and the register of its own phi.
    ToPassOn,
    /// What comes from a predecessor.
    Coming,
    /// A result: where it stays apart, one copy at the start of its block is enough.
    Result,
    /// What is passed on, and the register of the phi that gets it.
    PassedOn,
    /// Phis that get the same.
    Equal,
}

/// What [`Webs::slots`] says of a register that is no node.
const NO_NODE: u32 = u32::MAX;
/// The bit in it of a register that gets the name of its origin back, whose number is in the rest.
const RETURNS: u32 = 1 << 31;

/// The webs of a function.
#[derive(Default)]
pub struct Webs {
    /// In the order of their blocks.
    pub phis: Vec<Phi>,
    /// In the order of their phis, until they are sorted by predecessor.
    pub pairs: Vec<Pair>,
    /// By block; those of an instruction are together, the reads first.
    pub mentions: Vec<Mention>,
    /// By block: where its mentions start.
    mentions_of: Vec<u32>,
    /// By node: the block that defines it; none for the registers of phis, and for registers without definition.
    defined_in: Vec<Option<BlockId>>,
    /// By register: its node, or the register that it becomes.
    slots: Vec<u32>,
    /// Operands that get the name of the origin of their register back.
    pub returning: Vec<(InstId, u32, VRegId)>,
    /// Phis of registers that get the name of their origin back.
    pub returning_phis: Vec<InstId>,
    /// By node: its register; none for that of a phi.
    vregs: Vec<Option<VRegId>>,
    rounds: Rounds,
    webs: Sets,
    classes: Sets,
    /// Registers and what they were made for values of.
    same_origin: Vec<(Node, Node)>,
    /// Connections, the heaviest first.
    affinities: Vec<((Reverse<u32>, Turn), Node, Node)>,
}

impl Webs {
    /// Lists the phis of a function and what they connect, and registers of one origin.
    pub fn collect(&mut self, function: &FunctionView<'_>, origins: &OriginsOf) {
        self.phis.clear();
        self.pairs.clear();
        self.vregs.clear();
        self.defined_in.clear();
        let has_phis = function.block_ids().any(|block| phis_of(function, block).next().is_some());
        self.returning.clear();
        self.returning_phis.clear();
        if !has_phis && origins.pairs().next().is_none() {
            return;
        }
        self.find_returning(function, origins);
        for block in function.block_ids() {
            for (inst, operands) in phis_of(function, block) {
                let result = operands[0].vreg().expect("a phi has a result");
                if self.returns(result) {
                    self.returning_phis.push(inst);
                    continue;
                }
                let ty = function.vregs[result.index()].ty.element();
                let node = self.add(None);
                let result = self.node_for(result);
                self.defined_in[result.index()] = Some(block);
                let phi = self.phis.len();
                self.phis.push(Phi { inst, block, ty, node, result });
                for (pred, value) in incoming(operands) {
                    let node = value.vreg().map(|vreg| self.node_for(vreg));
                    self.pairs.push(Pair { phi, pred, value, node });
                }
            }
        }
        for (vreg, origin) in origins.pairs() {
            if !self.returns(vreg) {
                self.node_for(vreg);
                self.node_for(origin);
            }
        }
        self.list_mentions(function);
        for pair in &mut self.pairs {
            pair.node = pair.node.filter(|node| self.defined_in[node.index()].is_some());
        }
        self.webs.start(self.vregs.len());
        for &Phi { node, result, .. } in &self.phis {
            self.webs.unite(node, result);
        }
        for pair in &self.pairs {
            if let Some(node) = pair.node {
                self.webs.unite(self.phis[pair.phi].node, node);
            }
        }
        self.same_origin.clear();
        for (vreg, origin) in origins.pairs() {
            if self.returns(vreg) {
                continue;
            }
            let (node, origin) = (self.node_for(vreg), self.node_for(origin));
            if self.defined_in(node).is_some() {
                self.webs.unite(node, origin);
                self.same_origin.push((node, origin));
            }
        }
    }

    /// Finds the registers that get the name of their origin back at once: those of one origin, where no phase names any of
    /// them anew. They are one variable, as it was before; what was deleted meanwhile only shortens their lives.
    fn find_returning(&mut self, function: &FunctionView<'_>, origins: &OriginsOf) {
        let Self { slots, .. } = self;
        slots.clear();
        slots.resize(function.vregs.len() + 1, NO_NODE);
        let is_reused = |vreg: VRegId| function.vregs[vreg.index()].flags.contains(VRegFlags::REUSED);
        // Until it is known whose all registers return, the slot of an origin says that one does not.
        const STAYS: u32 = 0;
        for (vreg, origin) in origins.pairs() {
            if is_reused(vreg) || is_reused(origin) {
                slots[origin.index()] = STAYS;
            }
        }
        for (vreg, origin) in origins.pairs() {
            if slots[origin.index()] != STAYS {
                slots[vreg.index()] = RETURNS | origin.0;
            }
        }
        origins.pairs().for_each(|(_, origin)| slots[origin.index()] = NO_NODE);
    }

    /// Whether a register gets the name of its origin back.
    fn returns(&self, vreg: VRegId) -> bool {
        let slot = self.slots[vreg.index()];
        slot != NO_NODE && slot & RETURNS != 0
    }

    /// The one pass over all operands.
    fn list_mentions(&mut self, function: &FunctionView<'_>) {
        let Self { mentions, mentions_of, defined_in, slots, returning, .. } = self;
        let nothing = slots.len() - 1;
        mentions.clear();
        mentions_of.clear();
        for block in function.block_ids() {
            mentions_of.push(mentions.len() as u32);
            for (inst, head, operands) in function.padded_rows_of(block) {
                // Most instructions name no node.
                let slot = |operand: &Operand| slots[operand.vreg_or(nothing)];
                let is_none = operands.iter().fold(NO_NODE, |all, operand| all & slot(operand)) == NO_NODE;
                if head.is_phi() || is_none {
                    continue;
                }
                // Results come first.
                for (position, operand) in operands.iter().enumerate().rev() {
                    let Some(vreg) = operand.vreg() else { continue };
                    let slot = slots[vreg.index()];
                    if slot == NO_NODE {
                        continue;
                    }
                    if slot & RETURNS != 0 {
                        returning.push((inst, position as u32, VRegId(slot & !RETURNS)));
                        continue;
                    }
                    let node = Node(slot);
                    let is_definition = operand.is_definition();
                    if is_definition {
                        defined_in[node.index()] = Some(block);
                    }
                    mentions.push(Mention { inst, position: position as u32, node, is_definition });
                }
            }
        }
        mentions_of.push(mentions.len() as u32);
    }

    /// The mentions in a block.
    pub fn mentions_in(&self, block: BlockId) -> &[Mention] {
        &self.mentions[self.mentions_of[block.index()] as usize..self.mentions_of[block.index() + 1] as usize]
    }

    /// The block that defines a node; none for the registers of phis, and for registers without definition.
    pub fn defined_in(&self, node: Node) -> Option<BlockId> {
        self.defined_in[node.index()]
    }

    fn add(&mut self, vreg: Option<VRegId>) -> Node {
        self.vregs.push(vreg);
        self.defined_in.push(None);
        Node::new(self.vregs.len() - 1)
    }

    fn node_for(&mut self, vreg: VRegId) -> Node {
        debug_assert!(!self.returns(vreg), "who names a register anew marks it");
        if self.slots[vreg.index()] == NO_NODE {
            self.slots[vreg.index()] = self.add(Some(vreg)).0;
        }
        Node(self.slots[vreg.index()])
    }

    /// Whether SSA form has left anything to undo.
    pub fn is_any(&self) -> bool {
        self.node_count() > 0 || !self.returning.is_empty() || !self.returning_phis.is_empty()
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.vregs.len()
    }

    /// The node of the register of an operand that some phi names.
    pub fn node_of(&self, operand: Operand) -> Option<Node> {
        let slot = self.slots[operand.vreg()?.index()];
        (slot & RETURNS == 0).then_some(Node(slot))
    }

    /// The registers that phis name.
    pub fn registers(&self) -> Vec<(Node, VRegId)> {
        let nodes = self.vregs.iter().enumerate();
        nodes.filter_map(|(node, vreg)| Some((Node::new(node), (*vreg)?))).collect()
    }

    /// The web of a node, named by one of its nodes.
    pub fn web_of(&mut self, node: Node) -> Node {
        self.webs.find(node)
    }

    /// The class of a node, named by one of its nodes.
    pub fn class_of(&mut self, node: Node) -> Node {
        self.classes.find(node)
    }

    /// Sorts pairs by predecessor, and by phi within one.
    pub fn sort_pairs_by_pred(&mut self) {
        self.pairs.sort_unstable_by_key(|pair| u64::from(pair.pred.0) << 32 | pair.phi as u64);
    }

    /// Brings nodes together along phis, in the deepest loops first, where they do not live at the same time. Gives the times that a
    /// limit ended a search.
    pub fn coalesce(&mut self, function: &FunctionView<'_>, interference: &mut Interference) -> u64 {
        self.classes.start(self.vregs.len());
        let Self { phis, pairs, mentions, mentions_of, defined_in, rounds, .. } = self;
        let limits_hit = rounds.find(Seen { phis, pairs, mentions, mentions_of, defined_in });
        self.connect(function);
        if !interference.is_empty() {
            self.add_equal_values(function);
            self.affinities.sort_by_key(|affinity| affinity.0);
        }
        let Self { affinities, classes, same_origin, .. } = self;
        let phis = affinities.iter().map(|&(_, one, other)| (one, other));
        for (one, other) in phis.chain(same_origin.iter().copied()) {
            let (one, other) = (classes.find(one), classes.find(other));
            if one != other && interference.may_unite(classes, one, other) {
                let together = classes.unite(one, other);
                interference.unite(together, if together == one { other } else { one });
            }
        }
        limits_hit
    }

    /// Lists what phis connect.
    fn connect(&mut self, function: &FunctionView<'_>) {
        let Self { phis, pairs, affinities, rounds, .. } = self;
        let depth = |block: BlockId| Reverse(function.orders[block.index()].depth);
        affinities.clear();
        affinities.extend(pairs.iter().filter_map(|pair| {
            let (node, phi) = (pair.node?, &phis[pair.phi]);
            let turn = if rounds.passes_on(node) { Turn::PassedOn } else { Turn::Coming };
            Some(((depth(pair.pred), turn), phi.node, node))
        }));
        affinities.extend(phis.iter().map(|phi| {
            let turn = if rounds.passes_on(phi.result) { Turn::ToPassOn } else { Turn::Result };
            ((depth(phi.block), turn), phi.node, phi.result)
        }));
    }

    /// Phis of several successors that get one value from a predecessor get it by one copy, if they come together:
    /// ```text
    /// L: r1 = phi {A, ..}, {L, r2};  r2 = phi {A, ..}, {L, r3}; ...; @p bra L;  M: r4 = phi {L, r2}, ..
    /// ```
    /// Interference is known within one web only, and one literal may come to several.
    fn add_equal_values(&mut self, function: &FunctionView<'_>) {
        self.pairs
            .sort_unstable_by_key(|pair| (pair.pred, pair.value.word(), pair.value.modifiers(), pair.phi));
        let Self { pairs, phis, webs, affinities, .. } = self;
        for same in pairs.chunk_by(|one, other| (one.pred, one.value) == (other.pred, other.value)) {
            let weight = (Reverse(function.orders[same[0].pred.index()].depth), Turn::Equal);
            let of_two = same.windows(2).map(|two| (weight, phis[two[0].phi].node, phis[two[1].phi].node));
            affinities.extend(of_two.filter(|&(_, one, other)| webs.find(one) == webs.find(other)));
        }
    }
}

/// Disjoint sets of nodes.
#[derive(Default)]
pub struct Sets {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl Sets {
    /// Each of `count` nodes alone.
    fn start(&mut self, count: usize) {
        self.parents.clear();
        self.parents.extend(0..count as u32);
        self.sizes.clear();
        self.sizes.resize(count, 1);
    }

    /// The node that names the set of `node`.
    pub fn find(&mut self, node: Node) -> Node {
        let mut at = node.0;
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        Node(at)
    }

    /// Makes the sets of two nodes one; gives the node that names it.
    fn unite(&mut self, one: Node, other: Node) -> Node {
        let (one, other) = (self.find(one), self.find(other));
        if one == other {
            return one;
        }
        let is_larger = self.sizes[one.index()] >= self.sizes[other.index()];
        let (root, below) = if is_larger { (one, other) } else { (other, one) };
        self.parents[below.index()] = root.0;
        self.sizes[root.index()] += self.sizes[below.index()];
        root
    }
}
