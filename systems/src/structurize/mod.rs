//! Structurize control flow: lets the ways that threads take from a divergent branch meet where they first can.
//!
//! Source phase  none of the 159; the pass `structurizecfg` (structurize-cfg), on request
//! Reads         Blocks, Insts, Fact::Loops; Fact::Uniformity and Fact::PostDominators where blocks are to be marked
//! Writes        blocks, branches, moves and tests of new registers; FLOW, UNIFORM_BRANCH and marks of head and tail on blocks
//! Needs         control flow ends its block; no SSA form; every block is reachable
//! Leaves        in functions marked STRUCTURIZED, what check/structure.rs says
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          blocks and edges, times a logarithm; edges once for each loop that they leave, at most
//!               [`plan::LEVELS_OF_AN_EDGE_MAX`] on average
//! Paper         Wu, Diamos, Li, Yalamanchili 2011, "Characterization and Transformation of Unstructured Control Flow in GPU
//!               Applications"; Moll and Hack 2018, "Partial Control-Flow Linearization"; Sampaio and others 2013,
//!               "Divergence Analysis"; LLVM's StructurizeCFG
//! Checked by    check/structure.rs
//!
//! # How it works
//! [`plan`] finds the open joins: those past which threads may run that others at the join would have to wait for.
//! Each gets a Flow block, through which all that crosses there leads, and [`emit`] writes them. PTX has no structured
//! constructs, so an if-then-else whose ways meet at its join is structured as it is, and costs nothing here; so are a loop with
//! one target outside and a `switch` whose cases end in a `break`. What is rewritten: conditions with `&&` and `||`, jumps
//! into the arm of another branch, cases that fall into the next one, `break` and `continue` under a condition that others
//! leave without, loops left for several targets.
//!
//! # Where it differs
//! - LLVM's pass rewrites every region into a chain of Flow blocks and every loop into one with one latch and one exit, which
//!   is what the targets without branches need. Here only open joins are closed, so that little code is added.
//! - Moll and Hack defer the edges of divergent branches and let all threads pass; here the threads branch, and an edge is
//!   deferred to the first Flow block on its way. The order (dominance and loops are compact) is theirs.
//! - Wu and others cut backward branches and duplicate code where jumps enter a region; nothing is duplicated here.
//! - The source carries one predicate for each Flow block. Where several targets are pending, threads carry one number
//!   instead, and a Flow block tests it: the test stands before the branch, and nothing else is in the block.
//! - A predicate is set by constants where threads go another way, and its most frequent value before they part (the source's
//!   zero-cost hoist): a Flow block holds no move.
//! - Dominators, loops and uniformity are kept for the level at hand while Flow blocks are made. The facts of the function
//!   follow the epochs, like after every other phase that changes edges.
//!
//! # When it runs
//! Last of what changes code, after phase 92: phases that thread and merge branches would lead threads past Flow blocks
//! again, and SSA form would turn what threads carry into phis.
//!
//! # Attributes and exceptions
//! PTX has neither; a pragma in the body stands for them: `.pragma "optnone";` or one of the source's other four names, and
//! `.pragma "ehfunclet";`. The assembler ignores what it does not know.
//!
//! # What is left alone
//! Regions in which threads may wait for others ([`plan`], "Threads that wait"). A function with a cycle of several entries (there is [`irreducible`] for those), with a mark of exception handling, with unreachable
//! blocks, with two branches that share a table, or with edges out of too many loops at once.

pub mod emit;
pub mod irreducible;
pub mod plan;
pub mod shape;
pub mod strategy;

#[cfg(test)]
mod tests;

use bevy_ecs::prelude::*;
use emit::{Carrier, Detour, Gate, Gates, Stands, To};
use plan::{Asks, Plan, Rules, Source};
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::dataflow::uniformity::{Uniformities, Uniformity};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::graph::post_dominators::{PostDominatorTrees, PostDominators};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::{Phase, Slot};
use ptxopt_engine::store::view::FunctionView;
use shape::{NONE, Shape};
use strategy::{Standard, Strategy};

/// The remark on a function with a cycle of several entries, in the words of the source.
pub const UNSUPPORTED_IRREDUCIBLE_CFG: &str =
    "UnsupportedIrreducibleCFG: Irreducible CFGs are not supported yet.";

/// The remark on a function with a block that handles exceptions, in the words of the source.
pub const UNSUPPORTED_EH_FUNCLETS: &str = "UnsupportedEHFunclets: EH Funclets are not supported yet.";

/// The remark on a function with regions that stay because threads would meet past a wait.
const THREADS_WAIT: &str = "some ways do not meet: on one of them threads may wait for those on another";

/// The pass.
pub const PHASE: Phase = Phase {
    name: "structurizecfg",
    // A dense graph of empty blocks takes a Flow block, a move an edge, and a jump, for each of its branches.
    room_percent: 600,
    needs: &[Fact::Loops],
    breaks: Fact::OF_EDGES_AND_ORDER,
    install: install::<Standard>,
    ..Phase::NOTHING
};

/// The pass where something asks which branches are uniform: a dump or a remark that shows it, or the knob that lets uniform
/// regions stay. All other code comes out as [`PHASE`] leaves it, which spares a function that needs no Flow block the facts.
pub const TAGGING: Phase = Phase {
    needs: &[Fact::Loops, Fact::PostDominators, Fact::Uniformity],
    install: install_tagging::<Standard>,
    ..PHASE
};

/// Installs the pass with a strategy.
fn install<S: Strategy + Default + 'static>(slot: &mut Slot<'_>) {
    slot.init_resource::<LoopNests>();
    slot.init_resource::<Settings>();
    slot.add(run::<S>);
}

/// Installs the pass with a strategy, and with what it marks blocks by.
fn install_tagging<S: Strategy + Default + 'static>(slot: &mut Slot<'_>) {
    slot.init_resource::<LoopNests>();
    slot.init_resource::<PostDominatorTrees>();
    slot.init_resource::<Uniformities>();
    slot.init_resource::<Settings>();
    slot.add(run_tagging::<S>);
}

/// What knobs choose.
#[derive(Resource, Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `structurizecfg-skip-uniform-regions`.
    pub skips_uniform_regions: bool,
    /// `structurizecfg-relaxed-uniform-regions`.
    pub has_relaxed_uniform_regions: bool,
    /// `enable-shrink-wrap`: 0 asks the strategy, 1 takes every function, 2 none.
    pub shrink_wrap: u8,
    /// After the remark on exception handling, go on.
    pub continues_after_funclets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            skips_uniform_regions: false,
            has_relaxed_uniform_regions: true,
            shrink_wrap: 0,
            continues_after_funclets: false,
        }
    }
}

/// Memory to be used again.
#[derive(Default)]
pub struct Scratch {
    shape: Shape,
    plan: Plan,
    gates: Gates,
}

/// Works on every function, as a strategy says.
pub fn run<S: Strategy + Default>(
    mut editor: Editor,
    nests: Res<LoopNests>,
    settings: Res<Settings>,
    mut scratch: Local<Scratch>,
) {
    debug_assert!(!settings.skips_uniform_regions, "which regions are uniform is not known");
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let Some(nest) = nests.get(f.code()) else { return };
        structurize(&mut f, &Facts { nest, tags: None }, &settings, &mut S::default(), &mut scratch);
    });
}

/// Works on every function, as a strategy says, and marks its blocks.
pub fn run_tagging<S: Strategy + Default>(
    mut editor: Editor,
    nests: Res<LoopNests>,
    trees: Res<PostDominatorTrees>,
    verdicts: Res<Uniformities>,
    settings: Res<Settings>,
    mut scratch: Local<Scratch>,
) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let facts = (nests.get(f.code()), trees.get(f.code()), verdicts.get(f.code()));
        let (Some(nest), Some(posts), Some(verdict)) = facts else { return };
        let facts = Facts { nest, tags: Some(Tags { posts, verdict }) };
        structurize(&mut f, &facts, &settings, &mut S::default(), &mut scratch);
    });
}

/// What is known of a function.
pub struct Facts<'a> {
    /// Its loops.
    pub nest: &'a LoopNest,
    /// What blocks are marked by, where that is asked for. Otherwise every branch is taken for a divergent one.
    pub tags: Option<Tags<'a>>,
}

/// What blocks are marked by.
#[derive(Clone, Copy)]
pub struct Tags<'a> {
    /// The post-dominators of the function.
    pub posts: &'a PostDominators,
    /// What is uniform.
    pub verdict: &'a Uniformity,
}

/// Structurizes one function, unless the gate is closed or it has to stay as it is.
pub fn structurize(
    f: &mut FunctionEditor<'_>,
    facts: &Facts<'_>,
    settings: &Settings,
    strategy: &mut dyn Strategy,
    scratch: &mut Scratch,
) {
    let function = f.view();
    if function.blocks.len() < 2 || !is_gate_open(f, settings, strategy) {
        return;
    }
    let offset = function.labels[0].offset;
    if facts.nest.irreducible_regions().next().is_some() {
        f.missed(offset, UNSUPPORTED_IRREDUCIBLE_CFG);
        return;
    }
    if f.state().flags.contains(CodeFlags::HAS_FUNCLETS) {
        f.missed(offset, UNSUPPORTED_EH_FUNCLETS);
        if !settings.continues_after_funclets {
            return;
        }
    }
    if let Err(reason) = find(f, facts, settings, strategy, scratch) {
        f.missed(offset, reason);
        return;
    }
    if scratch.plan.leaves_waits {
        f.missed(offset, THREADS_WAIT);
    }
    let marks = facts.tags.map(|tags| Marks::find(f, tags, &scratch.shape));
    if let Some(marks) = &marks {
        marks.tell(f);
    }
    if !scratch.plan.flows.is_empty() {
        let registers = f.room().vregs.saturating_sub(emit::SHARED_REGISTERS);
        translate(&mut scratch.plan, &scratch.shape, registers, &mut scratch.gates);
        if !scratch.gates.apply(f, &scratch.shape, offset, "Flow blocks") {
            return;
        }
    }
    f.set_flags(CodeFlags::STRUCTURIZED, scratch.plan.is_whole);
    if let Some(marks) = marks {
        marks.set(f);
    }
}

/// Whether the pass is to look at the function at all.
fn is_gate_open(f: &FunctionEditor<'_>, settings: &Settings, strategy: &mut dyn Strategy) -> bool {
    match settings.shrink_wrap {
        1 => true,
        2 => false,
        _ => strategy.wants(&f.view()) && !f.state().flags.contains(CodeFlags::KEEPS_FLOW),
    }
}

/// Finds the Flow blocks.
fn find(
    f: &FunctionEditor<'_>,
    facts: &Facts<'_>,
    settings: &Settings,
    strategy: &mut dyn Strategy,
    scratch: &mut Scratch,
) -> Result<(), &'static str> {
    let (function, forms) = f.view_and_forms();
    if function.state.flags.contains(CodeFlags::SSA) {
        return Err("the function is in SSA form");
    }
    scratch.shape.load(&function, forms)?;
    let rules = Rules {
        skips_uniform: settings.skips_uniform_regions,
        is_relaxed: settings.has_relaxed_uniform_regions,
    };
    let source = Source { function, shape: &scratch.shape, nest: facts.nest, rules };
    let is_divergent = |block: BlockId| facts.tags.is_none_or(|tags| !tags.verdict.block_goes_alike(block));
    scratch.plan.make(&source, &mut Asks { strategy, is_divergent: &is_divergent })
}

/// Writes the plan as gates, with at most `registers` of their own.
fn translate(plan: &mut Plan, shape: &Shape, registers: u32, gates: &mut Gates) {
    gates.gates.clear();
    gates.carriers.clear();
    gates.detours.clear();
    let mut carrier_of = vec![NONE; plan.flows.len()];
    for at in 0..plan.flows.len() as u32 {
        let (group, size) = plan.group_of(at);
        let flow = plan.flows[at as usize];
        if carrier_of[group as usize] == NONE {
            carrier_of[group as usize] = gates.carriers.len() as u32;
            gates.carriers.push(if size == 1 { Carrier::Predicate(None) } else { Carrier::Number });
        }
        let past = match (flow.skip, flow.rest) {
            (NONE, Some(rest)) => To::Block(rest),
            (NONE, None) => unreachable!("an open join has a way past it"),
            (skip, _) => To::Gate(skip),
        };
        let run = To::Block(flow.run);
        let (then, otherwise) = if flow.is_loop { (past, run) } else { (run, past) };
        gates.gates.push(Gate {
            carrier: carrier_of[group as usize],
            number: flow.number,
            is_negated: flow.is_loop,
            then,
            otherwise,
            stands: Stands::Before(flow.run),
            flags: BlockFlags::FLOW
                | if flow.is_divergent { BlockFlags::empty() } else { BlockFlags::UNIFORM_BRANCH },
        });
    }
    for edge in 0..plan.first.len() as u32 {
        let gate = plan.first[edge as usize];
        if gate == NONE {
            continue;
        }
        let (group, size) = plan.group_of(gate);
        let ends_at = plan.ends_at[edge as usize];
        let carries = match ends_at {
            _ if size == 1 => u32::from((ends_at != NONE) != plan.flows[gate as usize].is_loop),
            NONE => size,
            flow => plan.flows[flow as usize].number,
        };
        debug_assert_eq!(carrier_of[group as usize], gates.gates[gate as usize].carrier);
        gates.detours.push(Detour { edge, gate, carries });
    }
    choose_defaults(plan, registers, gates);
    stand_after_latches(plan, shape, gates);
}

/// Lets what threads carry to a lone Flow block be set before they part, where that takes fewer moves and there is a register
/// left for it.
fn choose_defaults(plan: &Plan, mut registers: u32, gates: &mut Gates) {
    let mut counts = vec![[0u32; 2]; gates.carriers.len()];
    for detour in &gates.detours {
        let carrier = gates.gates[detour.gate as usize].carrier as usize;
        if let Carrier::Predicate(_) = gates.carriers[carrier] {
            counts[carrier][detour.carries as usize] += 1;
        }
    }
    for (flow, gate) in plan.flows.iter().zip(&gates.gates) {
        let [no, yes] = counts[gate.carrier as usize];
        if let Carrier::Predicate(default) = &mut gates.carriers[gate.carrier as usize]
            && no.max(yes) > 1
            && registers > 0
        {
            registers -= 1;
            *default = Some((flow.start, yes > no));
        }
    }
}

/// Lets the Flow block of a loop stand after one of its latches.
fn stand_after_latches(plan: &Plan, shape: &Shape, gates: &mut Gates) {
    let mut best: Vec<Option<(bool, BlockId)>> = vec![None; plan.flows.len()];
    for detour in &gates.detours {
        let from = shape.edge(detour.edge).from;
        let candidate = Some((matches!(shape.ends[from.index()], shape::End::Jumps { .. }), from));
        best[detour.gate as usize] = best[detour.gate as usize].max(candidate);
    }
    for (at, flow) in plan.flows.iter().enumerate() {
        // Where only other Flow blocks lead to it, it stands before its loop, as others do before what they lead to.
        if let Some((_, block)) = best[at].filter(|_| flow.is_loop) {
            gates.gates[at].stands = Stands::After(block);
        }
    }
}

/// What the function is to be marked with: the nearest block that dominates all divergent branches, and the nearest one that
/// post-dominates them.
struct Marks {
    head: Option<BlockId>,
    tail: Option<BlockId>,
    uniform: Vec<BlockId>,
}

impl Marks {
    fn find(f: &FunctionEditor<'_>, tags: Tags<'_>, shape: &Shape) -> Self {
        let function = f.view();
        let mut marks = Self { head: None, tail: None, uniform: Vec::new() };
        let mut is_first = true;
        for block in function.block_ids().filter(|&block| shape.branch_of(block).is_some()) {
            if tags.verdict.block_goes_alike(block) {
                marks.uniform.push(block);
                continue;
            }
            let meets = tags.posts.ipdom(block);
            if std::mem::take(&mut is_first) {
                (marks.head, marks.tail) = (Some(block), meets);
                continue;
            }
            marks.head = marks.head.map(|head| common_dominator(&function, head, block));
            marks.tail = match (marks.tail, meets) {
                (Some(tail), Some(meets)) => tags.posts.nearest_common(tail, meets),
                _ => None,
            };
        }
        marks
    }

    /// Shows head and tail, each at its place in the module.
    fn tell(&self, f: &mut FunctionEditor<'_>) {
        let Some(head) = self.head.filter(|_| f.remarks_are_wanted()) else { return };
        let labels = f.view().labels;
        let (head, tail) = (labels[head.index()].offset, self.tail.map(|tail| labels[tail.index()].offset));
        f.analysis(head, "reconvergence head".to_owned());
        match tail {
            Some(tail) => f.analysis(tail, "reconvergence tail".to_owned()),
            None => f.analysis(head, "the reconvergence tail is the end of the function".to_owned()),
        }
    }

    fn set(&self, f: &mut FunctionEditor<'_>) {
        let mut change = f.required_change();
        for &block in &self.uniform {
            change.set_block_flags(block, BlockFlags::UNIFORM_BRANCH);
        }
        let marks =
            [(self.head, BlockFlags::RECONVERGENCE_HEAD), (self.tail, BlockFlags::RECONVERGENCE_TAIL)];
        for (block, flag) in marks {
            if let Some(block) = block {
                change.set_block_flags(block, flag);
            }
        }
    }
}

/// The nearest common dominator of two blocks that can be reached.
fn common_dominator(function: &FunctionView<'_>, one: BlockId, other: BlockId) -> BlockId {
    let mut at = one;
    while !function.orders[at.index()].dominates(&function.orders[other.index()]) {
        at = function.orders[at.index()].idom.get().expect("the entry dominates what can be reached");
    }
    at
}
