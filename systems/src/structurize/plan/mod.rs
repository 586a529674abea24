//! Which Flow blocks a function needs, which edges lead through them, and where each of them leads.
//!
//! # Levels
//! The blocks directly in a loop, with each loop inside it as one node, are a *level*; so are those in no loop. Edges back
//! to the header of the loop lead to the node BACK of its level, edges out of the loop to the node OUT, which come last. So
//! a level has no cycle. Levels are worked on from the innermost loops to the whole function.
//!
//! # Order
//! Nodes of a level stand in a preorder of the dominator tree with siblings in reverse postorder. That is an order in which
//! every edge leads forward, and in which the nodes that one dominates are one run. So of several nodes, the nearest
//! common dominator is that of the first and the last, found by climbing from the last one.
//!
//! # Open joins
//! A *join* is a node that several nodes lead to. Let d be its nearest dominator. The nodes from d up to the join are
//! entered through d alone. The join is *closed* if no edge leads from them past it: then all threads that
//! come to d and do not end come to the join. If every join is closed, the ways that threads take from a branch first meet
//! at the first join after it whose d is no later than the branch; that is its nearest common post-dominator.
//!
//! An *open* join gets a Flow block: all edges from d.. to it and past it lead to that instead, and it leads on: to the join,
//! whose part is "still to run", or past it. The run of nodes d.. has one way out then. Joins are looked at in their
//! order, so those inside come first.
//!
//! # Loops
//! BACK is a join like the others: where edges back and edges out cross there, it gets the loop's Flow block, true = leave,
//! false = go back. Of a loop that is left for several targets, the first of these gets a Flow block, which gathers the threads
//! that leave in different rounds. A loop all of whose ways out lead to one target, and whose insides are closed, stays as
//! it is: those who leave wait at the target.
//!
//! # Threads that wait
//! Where a Flow block stands, the machine may let threads wait that went on before. If those for which they wait are at a barrier, or in a
//! loop that they leave when another thread says so, both would wait for ever. So no Flow block is made of a join with a barrier, another
//! instruction in which several threads take part, or a call between d and it, nor with a loop in which memory is accessed with an
//! order, atomically or as volatile: the region stays as it is. Of a spin loop that is left for two places, `ptxas` 13.0 joins
//! nothing; with a Flow block after it, it puts a `BSYNC` there, in which the thread waits that the others wait for.
//!
//! # Threads that end
//! Edges to blocks that do nothing but end threads, or that trap, cross nothing: no thread waits for one that has ended.

mod level;
mod scan;

use super::shape::{Edge, NONE, Shape, Waits};
use super::strategy::Strategy;
use ptxopt_components::ids::{BlockId, Id, LoopId};
use ptxopt_engine::graph::nest::LoopNest;
use ptxopt_engine::store::view::FunctionView;
use scan::Scan;

/// Times that an edge out of nested loops may be looked at, on average over the edges: once for each loop that it leaves.
/// Real code leaves one or two.
///
/// An edge out of a region that stays as it is, is looked at again for each region around that.
pub const LEVELS_OF_AN_EDGE_MAX: u32 = 16;

/// Where a region that has to stay is part of one that does not.
const WAITS_BESIDE_FLOW: &str = "threads that would meet may wait for one another, next to others that meet";

/// Where edges are looked at more often than that.
const TOO_MANY_LEVELS: &str = "edges leave too many loops or regions at once";

/// A Flow block.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The block before which it stands, or the header to which it leads back.
    pub run: BlockId,
    /// Whether it is the last block of a loop: then its predicate is true for threads that leave.
    pub is_loop: bool,
    /// The Flow block that it leads to past `run`; [`NONE`] where it leads to `rest`.
    pub skip: u32,
    /// The block that it leads to past `run`, where no Flow block comes after it.
    pub rest: Option<BlockId>,
    /// The number that stands for `run`, where threads carry one.
    pub number: u32,
    /// Some branch whose ways meet here is divergent.
    pub is_divergent: bool,
    /// Its level.
    level: u32,
    /// Its place in its level.
    position: u32,
    /// The last block before it, in the order of the level, that comes before all that lead to it and is no Flow block.
    pub start: BlockId,
    /// The farthest place past it that it leads to.
    far: u32,
    /// The next one of a list.
    next: u32,
    /// Union-find: the Flow block that took over what it leads to.
    held_by: u32,
}

/// Which regions stay as they are.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Regions whose branches are uniform stay as they are.
    pub skips_uniform: bool,
    /// So do those with divergent branches in a part of their own, next to at most one branch.
    pub is_relaxed: bool,
}

/// What is to be done to a function.
#[derive(Default)]
pub struct Plan {
    /// The Flow blocks, inner loops first.
    pub flows: Vec<Flow>,
    /// Whether nothing was left as it was, by the strategy or because threads wait there.
    pub is_whole: bool,
    /// Whether some region was left as it was because threads may wait there for others.
    pub leaves_waits: bool,
    /// By edge: the first Flow block that it leads to, else [`NONE`].
    pub first: Vec<u32>,
    /// By edge that leads to a Flow block: the one before whose join it ends; [`NONE`] where it ends past the last one.
    pub ends_at: Vec<u32>,
    /// By Flow block that is the last of its group: how many are in it.
    group_size: Vec<u32>,
    /// By edge: the next of its list.
    next_edge: Vec<u32>,
    /// By block: union-find to the header of the outermost loop that is done and holds the block.
    node_of: Vec<BlockId>,
    /// By block: place in the order of its level.
    index_of: Vec<u32>,
    /// By header of a loop that is done: its edges out of it, as places in `exits`.
    exits_of: Vec<(u32, u32)>,
    exits: Vec<u32>,
    /// By block: whether some way out of a loop with this header is divergent; whether anything in it is.
    loop_divergent: Vec<(bool, bool)>,
    /// By header of a loop that is done: whether threads may wait in it for others.
    loop_waits: Vec<bool>,
    level: Level,
    budget: u32,
}

/// A list of edges or Flow blocks.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn append(&mut self, other: Self, mut link: impl FnMut(u32, u32)) {
        if other.first == NONE {
            return;
        }
        if self.first == NONE {
            *self = other;
        } else {
            link(self.last, other.first);
            self.last = other.last;
        }
    }
}

/// A run of nodes that has been passed.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u32,
    /// The farthest place that an edge out of it leads to.
    far: u32,
    /// Edges out of it that lead on.
    edges: List,
    /// Flow blocks in it whose ways past their joins are not settled.
    open: List,
    /// Branches directly in it.
    branches: u32,
    /// One of those is divergent.
    has_divergent: bool,
    /// A branch in a closed part of it is divergent.
    has_divergent_inside: bool,
    /// Threads may wait for others in its first block, which all of them come to.
    starts_with_wait: bool,
    /// So they may after that.
    waits: bool,
}

/// The level at hand.
#[derive(Default)]
struct Level {
    nodes: Vec<BlockId>,
    /// By place: the place of the nearest dominator.
    idoms: Vec<u32>,
    /// By place: the nearest place that dominates it, itself among them, which is a block: no Flow block and no inner loop. Kept, since
    /// Flow blocks follow one another in long rows.
    starts: Vec<u32>,
    /// By place: the Flow block there.
    flow_at: Vec<u32>,
    segments: Vec<Segment>,
    /// By index: the node.
    order: Vec<BlockId>,
    tree: level::Tree,
}

/// What the planner reads.
pub struct Source<'a> {
    /// The function.
    pub function: FunctionView<'a>,
    /// Its ends and edges.
    pub shape: &'a Shape,
    /// Its loops.
    pub nest: &'a LoopNest,
    /// Which regions stay.
    pub rules: Rules,
}

/// What the planner asks of others.
pub struct Asks<'a> {
    /// The strategy.
    pub strategy: &'a mut dyn Strategy,
    /// Whether threads leave a block different ways.
    pub is_divergent: &'a dyn Fn(BlockId) -> bool,
}

/// The place of a node is twice its index; a Flow block stands one before its join.
const fn place(index: u32) -> u32 {
    2 * index
}

impl Plan {
    /// Finds the Flow blocks of a function.
    ///
    /// # Errors
    /// Why the pass does not take the function.
    pub fn make(&mut self, source: &Source<'_>, asks: &mut Asks<'_>) -> Result<(), &'static str> {
        let blocks = source.function.blocks.len();
        let edges = source.shape.edges.len();
        self.flows.clear();
        (self.is_whole, self.leaves_waits) = (true, false);
        self.first.clear();
        self.first.resize(edges, NONE);
        self.next_edge.clear();
        self.next_edge.resize(edges, NONE);
        self.node_of.clear();
        self.node_of.extend((0..blocks).map(BlockId::new));
        self.index_of.clear();
        self.index_of.resize(blocks, NONE);
        self.exits_of.clear();
        self.exits_of.resize(blocks, (0, 0));
        self.exits.clear();
        self.loop_divergent.clear();
        self.loop_divergent.resize(blocks, (false, false));
        self.loop_waits.clear();
        self.loop_waits.resize(blocks, false);
        self.budget = (edges as u32).saturating_mul(LEVELS_OF_AN_EDGE_MAX).max(1 << 12);
        let mut inner: Vec<Vec<LoopId>> = vec![Vec::new(); source.nest.rows().len()];
        let mut outer: Vec<LoopId> = Vec::new();
        for id in source.nest.ids() {
            match source.nest.row(id).parent.get() {
                Some(parent) => inner[parent.index()].push(id),
                None => outer.push(id),
            }
        }
        for id in source.nest.ids().rev() {
            self.level.nodes.clear();
            self.level.nodes.extend_from_slice(source.nest.own_blocks(id));
            let headers = inner[id.index()].iter().map(|&id| source.nest.row(id).header);
            self.level.nodes.extend(headers);
            self.do_level(source, Some(id), asks)?;
            let header = source.nest.row(id).header;
            for at in 0..self.level.order.len() {
                self.node_of[self.level.order[at].index()] = header;
            }
        }
        self.level.nodes.clear();
        let in_no_loop = |block: &BlockId| source.nest.loop_of(*block).is_none();
        self.level.nodes.extend(source.function.block_ids().filter(in_no_loop));
        self.level.nodes.extend(outer.iter().map(|&id| source.nest.row(id).header));
        self.do_level(source, None, asks)?;
        self.settle(source);
        Ok(())
    }

    /// The node of the level at hand that holds a block, where one does.
    fn node(&mut self, block: BlockId) -> BlockId {
        let mut root = block;
        while self.node_of[root.index()] != root {
            root = self.node_of[root.index()];
        }
        let mut at = block;
        while self.node_of[at.index()] != root {
            at = std::mem::replace(&mut self.node_of[at.index()], root);
        }
        root
    }

    /// The Flow block that holds what edges to `flow` are left to.
    fn holder(&mut self, flow: u32) -> u32 {
        let mut root = flow;
        while self.flows[root as usize].held_by != root {
            root = self.flows[root as usize].held_by;
        }
        let mut at = flow;
        while self.flows[at as usize].held_by != root {
            at = std::mem::replace(&mut self.flows[at as usize].held_by, root);
        }
        root
    }

    /// Finds the Flow blocks of a level.
    fn do_level(
        &mut self,
        source: &Source<'_>,
        id: Option<LoopId>,
        asks: &mut Asks<'_>,
    ) -> Result<(), &'static str> {
        self.order_level(source);
        let count = self.level.order.len() as u32;
        let entry = self.level.order[0];
        let scan = Scan { source, id, entry, number: id.map_or(NONE, |id| id.0), count };
        let places = place(count) as usize + 3;
        self.level.idoms.clear();
        self.level.idoms.resize(places, NONE);
        // The entry is a block of the level.
        self.level.starts.clear();
        self.level.starts.resize(places, 0);
        self.level.flow_at.clear();
        self.level.flow_at.resize(places, NONE);
        self.level.segments.clear();
        let first_exit = self.exits.len() as u32;
        for index in 0..count {
            let node = self.level.order[index as usize];
            if index > 0 {
                self.join(&scan, index, node, asks)?;
            }
            self.pass(&scan, index, node, asks)?;
        }
        if id.is_some() {
            self.join(&scan, count, entry, asks)?;
            let exits = &self.exits[first_exit as usize..];
            let leaves = exits.iter().any(|&edge| (asks.is_divergent)(source.shape.edge(edge).from));
            let parts = self.level.segments.iter();
            let any = parts.fold(false, |any, part| any | part.has_divergent | part.has_divergent_inside);
            self.loop_divergent[entry.index()] = (leaves, any);
            let is_told =
                |node: &BlockId| !scan.is_inner_loop(*node) && source.shape.waits[node.index()] != Waits::No;
            self.loop_waits[entry.index()] =
                self.level.segments.iter().any(Segment::may_wait) || self.level.order.iter().any(is_told);
            self.exits_of[entry.index()] = (first_exit, self.exits.len() as u32);
        }
        Ok(())
    }

    /// Finds what each Flow block leads to past its join, and gives what it leads to numbers.
    fn settle(&mut self, source: &Source<'_>) {
        let blocks = source.function.blocks.len();
        let (mut of_join, mut of_loop) = (vec![NONE; blocks], vec![NONE; blocks]);
        for (at, flow) in self.flows.iter().enumerate() {
            let of = if flow.is_loop { &mut of_loop } else { &mut of_join };
            of[flow.run.index()] = at as u32;
        }
        self.ends_at.clear();
        self.ends_at.resize(self.first.len(), NONE);
        for edge in 0..self.first.len() {
            if self.first[edge] == NONE {
                continue;
            }
            let Edge { from, to, .. } = source.shape.edges[edge];
            let of = if is_back(source.nest, from, to) { &of_loop } else { &of_join };
            self.ends_at[edge] = of[to.index()];
            if self.ends_at[edge] == NONE {
                let holder = self.holder(self.first[edge]);
                let rest = &mut self.flows[holder as usize].rest;
                debug_assert!(
                    rest.is_none_or(|rest| rest == to),
                    "a Flow block leads to two blocks past its join"
                );
                *rest = Some(to);
            }
        }
        let mut size = vec![0; self.flows.len()];
        for flow in 0..self.flows.len() as u32 {
            let holder = self.holder(flow) as usize;
            self.flows[flow as usize].number = size[holder];
            size[holder] += 1;
        }
        self.group_size = size;
    }

    /// The group of a Flow block, by the last one of it, and how many Flow blocks are in it.
    pub fn group_of(&mut self, flow: u32) -> (u32, u32) {
        let holder = self.holder(flow);
        (holder, self.group_size[holder as usize])
    }
}

/// Whether an edge leads back to the header of a loop.
pub fn is_back(nest: &LoopNest, from: BlockId, to: BlockId) -> bool {
    nest.loop_of(to).is_some_and(|id| nest.row(id).header == to && nest.holds(id, from))
}
