//! Uniformity: nothing is called uniform that the definitions make divergent.
//!
//! Full, where [`Fact::Uniformity`] holds, for functions of at most [`NODES_MAX`] blocks and loops and without irreducible
//! regions. Everything is worked out again in rounds over the whole function until a round finds nothing, with sets of
//! blocks in one word and no tree, frontier or worklist:
//!
//! - Joins by Menger's theorem: a block is a join of a divergent branch if no single block cuts it off from the branch. The
//!   graph is that of one round: a back edge of a loop around the branch leads to a node of its own, from which the loop's
//!   exits go on.
//! - A loop is left in different rounds if no single block of it cuts the branch off from both the next round and the exits.
//! - Where definitions merge by labels: a block at whose start the last definitions on different ways differ is one itself.
//! - Which blocks are partly executed by removing them and looking whether the end is still reached.
//!
//! What a single instruction makes of its operands is the analysis's own word; `uniformity` and the tests look at that.
//! Verdicts may be more cautious than what is found here, never less.

use super::{Verdict, each_function, wrong_in};
use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId, VRegId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::{Operand, writes};
use ptxopt_components::vreg::VRegFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets};
use ptxopt_engine::dataflow::uniformity::natures::{Natures, Private, Situation, aligns, results};
use ptxopt_engine::dataflow::uniformity::{Uniformities, Uniformity};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Violations;
use ptxopt_engine::run::phase::{Check, Verify};
use ptxopt_engine::store::columns::{Code, CodeObjects};
use ptxopt_engine::store::view::FunctionView;

/// The verifier of verdicts.
pub const CHECK: Check = Check {
    name: "uniformity_full",
    from: Verify::Full,
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.init_resource::<LiveSets>();
        slot.init_resource::<Uniformities>();
        slot.add(run);
    },
};

/// Most blocks and loops of a function that is looked at: the bits of a word. The cost grows with their cube.
pub const NODES_MAX: usize = 128;

/// Verifies every function of the batch for which the fact holds.
pub fn run(
    code: Code,
    codes: CodeObjects,
    forms: Res<FormTable>,
    (nests, sets, verdicts): (Res<LoopNests>, Res<LiveSets>, Res<Uniformities>),
    mut natures: Local<Natures>,
    mut violations: ResMut<Violations>,
) {
    let (_, facts, ..) = codes.columns();
    natures.bring_up_to_date(&forms);
    each_function(&code, CHECK.name, &mut violations, |function| {
        let facts = &facts[function.code.index()];
        let all = [Fact::Uniformity, Fact::Loops, Fact::Liveness];
        if !all.into_iter().all(|fact| facts.holds(fact, &function.state)) {
            return Ok(());
        }
        match (nests.get(function.code), sets.get(function.code), verdicts.get(function.code)) {
            (Some(nest), Some(set), Some(verdicts)) => {
                verify(function, &forms, &natures, nest, set, verdicts)
            }
            _ => Err("it has no verdicts".to_owned()),
        }
    });
}

/// Verifies the verdicts of one function.
pub fn verify(
    function: &FunctionView<'_>,
    forms: &FormTable,
    natures: &Natures,
    nest: &LoopNest,
    set: &LiveSet,
    verdicts: &Uniformity,
) -> Verdict {
    let node_count = function.blocks.len() + nest.rows().len();
    if node_count > NODES_MAX || function.blocks.is_empty() || nest.irreducible_regions().next().is_some() {
        return Ok(());
    }
    let mut private = Private::default();
    private.compute(function, natures);
    let mut again = Again::new(function, forms, natures, nest, set, private);
    while again.round() {}
    for vreg in function.vreg_ids().filter(|&vreg| again.divergent[vreg.index()]) {
        if verdicts.is_uniform(vreg) {
            return Err(format!("{vreg:?} is divergent, and is called uniform"));
        }
    }
    for inst in (0..function.heads.len()).map(InstId::new).filter(|&inst| again.splits[inst.index()]) {
        if verdicts.branch_is_uniform(function, inst) {
            return wrong_in(
                function.heads[inst.index()].block,
                format_args!("{inst:?} is divergent, and is called uniform"),
            );
        }
    }
    Ok(())
}

/// A set of nodes: blocks, then ends of rounds.
type Nodes = u128;

/// The analysis, again.
struct Again<'a> {
    function: &'a FunctionView<'a>,
    forms: &'a FormTable,
    natures: &'a Natures,
    nest: &'a LoopNest,
    set: &'a LiveSet,
    private: Private,
    /// By register: the blocks with a definition.
    defined_in: Vec<Nodes>,
    /// By register.
    divergent: Vec<bool>,
    /// By instruction: threads go different ways.
    splits: Vec<bool>,
    /// By instruction: threads come apart.
    is_apart: Vec<bool>,
    /// Blocks to which ways join from outside the loops that they are headers of.
    joins: Nodes,
    /// Headers to whose next round ways join.
    round_joins: Nodes,
    partial: Nodes,
    left_apart: Vec<bool>,
    meets_in_order: bool,
    meets_unguarded: bool,
    changed: bool,
}

fn bit(block: BlockId) -> Nodes {
    1 << block.index()
}

impl<'a> Again<'a> {
    fn new(
        function: &'a FunctionView<'a>,
        forms: &'a FormTable,
        natures: &'a Natures,
        nest: &'a LoopNest,
        set: &'a LiveSet,
        private: Private,
    ) -> Self {
        let is_outside =
            |vreg: VRegId| function.vregs[vreg.index()].flags.intersects(VRegFlags::UNKNOWN_AT_START);
        let mut defined_in = vec![0; function.vregs.len()];
        for block in function.block_ids() {
            for (_, _, operands) in function.rows_of(block) {
                writes(operands).for_each(|vreg| defined_in[vreg.index()] |= bit(block));
            }
        }
        let divergent =
            function.vreg_ids().map(|vreg| is_outside(vreg) || set.is_live_in(BlockId(0), vreg)).collect();
        Self {
            function,
            forms,
            natures,
            nest,
            set,
            private,
            defined_in,
            divergent,
            splits: vec![false; function.heads.len()],
            is_apart: vec![false; function.heads.len()],
            joins: 0,
            round_joins: 0,
            partial: 0,
            left_apart: vec![false; nest.rows().len()],
            meets_in_order: true,
            meets_unguarded: true,
            changed: false,
        }
    }

    /// Looks at everything once; whether something new was found.
    fn round(&mut self) -> bool {
        self.changed = false;
        self.instructions();
        for inst in (0..self.splits.len())
            .map(InstId::new)
            .filter(|inst| self.splits[inst.index()])
            .collect::<Vec<_>>()
        {
            self.split(self.function.heads[inst.index()].block);
        }
        self.merges();
        self.follow_threads();
        self.changed
    }

    fn reachable(&self) -> impl Iterator<Item = BlockId> + use<'a> {
        let orders = self.function.orders;
        self.function.block_ids().filter(move |block| orders[block.index()].is_reachable())
    }

    fn diverge(&mut self, vreg: VRegId) {
        self.changed |= !std::mem::replace(&mut self.divergent[vreg.index()], true);
    }

    fn instructions(&mut self) {
        let function = self.function;
        for inst in self.reachable().flat_map(|block| function.insts_of(block)) {
            let operands = function.operands_of(inst);
            let asked = |operand: &Operand| operand.vreg().is_some_and(|vreg| self.divergent[vreg.index()]);
            let head = function.heads[inst.index()];
            if head.marks.contains(Marks::CONTROL) {
                if operands.iter().any(asked) && !self.splits[inst.index()] {
                    self.splits[inst.index()] = true;
                    self.changed = true;
                }
                continue;
            }
            let nature = self.natures.of(function, inst);
            if (nature.is_meeting || nature.is_call) && function.guard_of(inst).as_ref().is_some_and(asked) {
                self.meets_unguarded = false;
                self.meets_in_order = false;
            }
            let situation = Situation {
                is_together: !self.is_apart[inst.index()],
                meets_in_order: self.meets_in_order,
                meets_unguarded: self.meets_unguarded,
            };
            let diverges = |vreg: VRegId| self.divergent[vreg.index()];
            let found = results(function, self.forms, nature, &self.private, situation, inst, diverges);
            for (at, operand) in operands.iter().enumerate() {
                if let Some(vreg) = operand.vreg().filter(|_| operand.is_definition() && found.of(at)) {
                    self.diverge(vreg);
                }
            }
        }
    }

    /// The loops around a block, innermost first.
    fn loops_around(&self, block: BlockId) -> Vec<LoopId> {
        std::iter::successors(self.nest.loop_of(block), |&id| self.nest.row(id).parent.get()).collect()
    }

    fn members(&self, id: LoopId) -> Nodes {
        self.nest.blocks(id).iter().fold(0, |members, &block| members | bit(block))
    }

    fn round_end(&self, id: LoopId) -> usize {
        self.function.blocks.len() + id.index()
    }

    /// The graph of one round of the loops in `around`; where threads only end is no part of it.
    fn graph(&self, around: &[LoopId]) -> Vec<Nodes> {
        let function = self.function;
        let only_ends = |from: BlockId, to: BlockId| {
            let is_control = |inst: InstId| function.heads[inst.index()].marks.contains(Marks::CONTROL);
            let is_own = self.nest.loop_of(from).is_none() && function.preds(to).len() == 1;
            function.succs(to).is_empty() && (is_own || function.insts_of(to).all(is_control))
        };
        let target = |from: BlockId, to: BlockId| -> Nodes {
            let back = around.iter().find(|&&id| self.nest.row(id).header == to && self.nest.holds(id, from));
            match back {
                _ if only_ends(from, to) => 0,
                Some(&id) => 1 << self.round_end(id),
                None => bit(to),
            }
        };
        let mut graph = vec![0; function.blocks.len() + self.nest.rows().len()];
        for block in self.reachable() {
            for &succ in function.succs(block) {
                graph[block.index()] |= target(block, succ);
            }
        }
        for &id in around {
            for &block in self.nest.blocks(id) {
                let outside = function.succs(block).iter().filter(|&&succ| !self.nest.holds(id, succ));
                let exits = outside.fold(0, |exits, &succ| exits | target(block, succ));
                graph[self.round_end(id)] |= exits;
            }
        }
        graph
    }

    /// Threads part at the end of `block`.
    fn split(&mut self, block: BlockId) {
        let around = self.loops_around(block);
        let graph = self.graph(&around);
        self.join(&graph, block.index());
        for (depth, &id) in around.iter().enumerate() {
            let members = self.members(id);
            let exits = graph[self.round_end(id)];
            let leaves = exits | 1 << self.round_end(id);
            let from = reach(&graph, block.index(), 0);
            let is_cut = (0..self.function.blocks.len()).any(|node| {
                node != block.index()
                    && members >> node & 1 != 0
                    && reach(&graph, block.index(), 1 << node) & leaves == 0
            });
            let inner_ends = around[..depth]
                .iter()
                .any(|&inner| reach(&graph, block.index(), 1 << self.round_end(inner)) & leaves == 0);
            if is_cut || inner_ends || exits == 0 || from & leaves & !(1 << self.round_end(id)) == 0 {
                break;
            }
            // Through the end of the round alone: no thread leaves in this one.
            if reach(&graph, block.index(), 1 << self.round_end(id)) & exits == 0 {
                break;
            }
            self.leave_apart(id, &around[depth + 1..]);
        }
    }

    fn leave_apart(&mut self, id: LoopId, outer: &[LoopId]) {
        self.changed |= !std::mem::replace(&mut self.left_apart[id.index()], true);
        let members = self.members(id);
        self.partial |= members;
        for (_, target) in self.nest.exits(id) {
            let live: Vec<VRegId> = self.set.live_in_vregs(target).collect();
            for vreg in live {
                if self.defined_in[vreg.index()] & members != 0 {
                    self.diverge(vreg);
                }
            }
        }
        // The loop as one node, in the place of its header.
        let mut graph = self.graph(outer);
        let header = self.nest.row(id).header;
        let ways = self.nest.blocks(id).iter().fold(0, |ways, block| ways | graph[block.index()]);
        self.nest.blocks(id).iter().for_each(|block| graph[block.index()] = 0);
        graph[header.index()] = ways & !members;
        self.join(&graph, header.index());
    }

    /// Finds the joins of `from`, and the blocks that some of its threads pass by.
    fn join(&mut self, graph: &[Nodes], from: usize) {
        let found = reach(graph, from, 0);
        for node in (0..graph.len()).filter(|&node| found >> node & 1 != 0 && node != from) {
            // What is reached after the node itself, as a latch from its header, brings no thread there first.
            let rest = reach(graph, from, 1 << node) | 1 << from;
            let edges =
                (0..graph.len()).filter(|&pred| rest >> pred & 1 != 0 && graph[pred] >> node & 1 != 0);
            let is_cut = (0..graph.len())
                .filter(|&other| other != node && other != from && found >> other & 1 != 0)
                .any(|other| reach(graph, from, 1 << other) >> node & 1 == 0);
            if edges.count() > 1 && !is_cut && !self.has_one_latch(node) {
                let block = self.block_of(node);
                let is_round_end = node >= self.function.blocks.len();
                let joins = if is_round_end { &mut self.round_joins } else { &mut self.joins };
                self.changed |= *joins & bit(block) == 0;
                *joins |= bit(block);
            }
        }
        if graph[from].count_ones() > 1 {
            let blocks = Nodes::MAX >> (NODES_MAX - self.function.blocks.len());
            let partial = before_all_meet(graph, from) & blocks;
            self.changed |= self.partial & partial != partial;
            self.partial |= partial;
        }
    }

    /// Whether a node is the end of the round of a loop with one latch. Threads that come to the latch in different rounds of
    /// loops inside bring the same definitions, but for those of the loops inside, which are divergent after them anyway.
    fn has_one_latch(&self, node: usize) -> bool {
        let id = node.checked_sub(self.function.blocks.len()).map(LoopId::new);
        id.is_some_and(|id| self.nest.latches(id).len() == 1)
    }

    /// The block at whose start the threads of a node meet.
    fn block_of(&self, node: usize) -> BlockId {
        match node.checked_sub(self.function.blocks.len()) {
            None => BlockId::new(node),
            Some(id) => self.nest.row(LoopId::new(id)).header,
        }
    }

    /// Registers of which different definitions come to a join, by the edges that join: what a loop counts is the same in
    /// each round, whenever threads have come to its header.
    fn merges(&mut self) {
        let function = self.function;
        let mut blocks: Vec<BlockId> = self.reachable().collect();
        blocks.sort_unstable_by_key(|block| function.orders[block.index()].rpo);
        for &vreg in self.set.globals() {
            let defined_in = self.defined_in[vreg.index()];
            let is_defined: Vec<bool> =
                function.block_ids().map(|block| defined_in & bit(block) != 0).collect();
            let starts = last_definitions(function, &blocks, &is_defined);
            let differ = |block: BlockId, turns_back: bool| {
                let is_reachable = |pred: &&BlockId| function.orders[pred.index()].is_reachable();
                let preds = function.preds(block).iter().filter(is_reachable);
                let own = preds.filter(|&&pred| self.turns_back(pred, block) == turns_back);
                let mut labels = own
                    .map(|pred| if is_defined[pred.index()] { pred.index() } else { starts[pred.index()] });
                let first = labels.next();
                labels.any(|label| Some(label) != first)
            };
            let merged = |block: &BlockId| {
                self.joins & bit(*block) != 0 && differ(*block, false)
                    || self.round_joins & bit(*block) != 0 && differ(*block, true)
            };
            if blocks.iter().any(|block| merged(block) && self.set.is_live_in(*block, vreg)) {
                self.diverge(vreg);
            }
        }
    }

    /// Whether the edge starts the next round of the loop of which `header` is the header.
    fn turns_back(&self, from: BlockId, header: BlockId) -> bool {
        let id = self.nest.loop_of(header).filter(|&id| self.nest.row(id).header == header);
        id.is_some_and(|id| self.nest.holds(id, from))
    }

    /// Works out where threads come apart.
    fn follow_threads(&mut self) {
        let function = self.function;
        let has_meeting = |block: BlockId| {
            function.insts_of(block).any(|inst| {
                let nature = self.natures.of(function, inst);
                nature.is_meeting || nature.is_call
            })
        };
        let is_lost = self.reachable().any(|block| self.partial & bit(block) != 0 && has_meeting(block));
        self.changed |= is_lost && self.meets_in_order;
        self.meets_in_order &= !is_lost;
        let mut apart = self.joins | self.round_joins;
        if !function.state.flags.contains(CodeFlags::ENTRY) {
            apart |= 1;
        }
        for id in self.nest.ids().filter(|id| self.left_apart[id.index()]) {
            apart |= self.nest.exits(id).fold(0, |exits, (_, target)| exits | bit(target));
        }
        let mut before = !apart;
        while before != apart {
            before = apart;
            for block in self.reachable() {
                let mut is_apart = apart & bit(block) != 0;
                for inst in function.insts_of(block) {
                    let nature = self.natures.of(function, inst);
                    self.changed |= is_apart && !self.is_apart[inst.index()];
                    self.is_apart[inst.index()] |= is_apart;
                    let meets = self.meets_in_order && self.meets_unguarded;
                    is_apart &= !(meets && aligns(function, nature, inst));
                    is_apart |= nature.is_call;
                }
                if is_apart {
                    apart |= function.succs(block).iter().fold(0, |succs, &succ| succs | bit(succ));
                }
            }
        }
    }
}

/// What each block starts with: the block that defined the register last, or where definitions merged. Merges are found one
/// by one, the foremost first, and all else is worked out again after each: a label that is not settled merges nothing.
fn last_definitions(function: &FunctionView<'_>, blocks: &[BlockId], is_defined: &[bool]) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let mut merges = vec![false; function.blocks.len()];
    loop {
        let mut starts = vec![UNKNOWN; function.blocks.len()];
        starts[0] = function.blocks.len();
        let comes = |pred: BlockId, starts: &[usize]| {
            if is_defined[pred.index()] { pred.index() } else { starts[pred.index()] }
        };
        let is_reachable = |pred: &&BlockId| function.orders[pred.index()].is_reachable();
        for &block in &blocks[1..] {
            let mut preds = function.preds(block).iter().filter(is_reachable);
            let first = preds.find_map(|&pred| Some(comes(pred, &starts)).filter(|&from| from != UNKNOWN));
            starts[block.index()] =
                if merges[block.index()] { block.index() } else { first.unwrap_or(UNKNOWN) };
        }
        let differs = |block: &&BlockId| {
            let mut preds = function.preds(**block).iter().filter(is_reachable);
            !merges[block.index()] && preds.any(|&pred| comes(pred, &starts) != starts[block.index()])
        };
        match blocks[1..].iter().find(differs) {
            Some(block) => merges[block.index()] = true,
            None => return starts,
        }
    }
}

/// What comes after `from`, by ways that do not pass a node of `without`.
fn reach(graph: &[Nodes], from: usize, without: Nodes) -> Nodes {
    let mut found: Nodes = 0;
    let mut waiting = graph[from] & !without;
    while waiting != 0 {
        let node = waiting.trailing_zeros() as usize;
        waiting &= waiting - 1;
        if found >> node & 1 == 0 {
            found |= 1 << node;
            waiting |= graph[node] & !without & !found;
        }
    }
    found
}

/// What comes after `from` and in front of every node that all ways to the end pass.
fn before_all_meet(graph: &[Nodes], from: usize) -> Nodes {
    let found = reach(graph, from, 0);
    let holds_end = |nodes: Nodes| (0..graph.len()).any(|at| nodes >> at & 1 != 0 && graph[at] == 0);
    let others = (0..graph.len()).filter(|&node| found >> node & 1 != 0 && node != from);
    let rests = others.map(|node| reach(graph, from, 1 << node)).filter(|&rest| !holds_end(rest));
    rests.fold(found, |between, rest| between & rest) & !(1 << from)
}

#[cfg(test)]
mod tests;
