//! Fix irreducible cycles: gives a cycle with several entries one, a dispatch block.
//!
//! Source phase  none of the 159; the pass `fix-irreducible` (structurize-cfg), on request
//! Reads         Blocks, Insts, Fact::Loops
//! Writes        blocks, branches, moves and tests of new registers
//! Needs         control flow ends its block; no SSA form; every block is reachable
//! Leaves        no cycle with several entries in functions that it has changed
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order
//! Cost          blocks and edges, times the depth of the cycles, at most [`ROUNDS_MAX`], and where threads may wait [`LOOKS`] more
//! Paper         Erosa and Hendren 1994, "Taming Control Flow"; LLVM's FixIrreducible
//! Checked by    the run of the structurizer after it, which takes no function with such a cycle
//!
//! # How it works
//! Every edge to an entry of the cycle sets a number that stands for the entry, and leads to the dispatch block, which tests
//! the number. Inside, without the edges to the entries, the same is done for the cycles that are left.
//! ```text
//!     @p bra B;                      mov.pred r, 0; @p bra D;
//! A:  ...                            mov.pred r, -1;
//!                                 D: @!r bra B;
//!                                 A: ...
//!     bra B;                         mov.pred r, 0; bra D;
//! B:  ...                         B: ...
//!     @q bra A;                      mov.pred r, -1; @q bra D;
//! ```
//! The source's pass splits nodes, which may double the code for each entry; here nothing is duplicated.
//!
//! # What is left alone
//! A function in which such a cycle holds a convergent instruction, a call that may lead to one, or an atomic, ordered or volatile access:
//! threads that came by different entries would meet there where they did not before, and may wait for one another. The same where
//! that stands between the cycle and the last block through which all of them come: they would meet at the dispatch block.
//! ```text
//!     @p bra A;
//! W:  ld.volatile r, [flag];      // waits for those in the cycle, which would wait at its dispatch block
//!     @!r bra W;
//!     bra B;
//! ```
//! A function that would grow by more than [`GROWTH_PERCENT_MAX`] percent.

use super::common_dominator;
use super::emit::{Carrier, Detour, Gate, Gates, Stands, To};
use super::shape::{Shape, Waits};
use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id};
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;

/// Cycles in one another that are looked at. Code nests loops a few levels deep.
pub const ROUNDS_MAX: usize = 64;

/// Why a function stays in which threads may wait before a cycle.
const WAITS_BEFORE: &str = "threads may wait for others on a way to a cycle with several entries";

/// Instructions that may be added, in percent of those that are there; a few are always allowed.
pub const GROWTH_PERCENT_MAX: usize = 100;

/// Blocks before cycles that are looked at for waits, for each block and edge of the function.
pub const LOOKS: usize = 8;

/// Instructions that may be added to any function.
const GROWTH_ALLOWED: usize = 32;

/// The pass.
pub const PHASE: Phase = Phase {
    name: "fix_irreducible",
    room_percent: 400,
    needs: &[Fact::Loops],
    breaks: Fact::OF_EDGES_AND_ORDER,
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Works on every function.
pub fn run(mut editor: Editor, nests: Res<LoopNests>, mut scratch: Local<Scratch>) {
    editor.each(CodeFlags::WORKED_ON, |mut f| {
        let nest = nests.get(f.code()).filter(|nest| nest.irreducible_regions().next().is_some());
        if let Some(nest) = nest {
            fix(&mut f, nest, &mut scratch);
        }
    });
}

/// Memory to be used again.
#[derive(Default)]
pub struct Scratch {
    shape: Shape,
    gates: Gates,
    components: Components,
    approaches: Approaches,
}

/// Gives each cycle of a function one entry, or says why not.
fn fix(f: &mut FunctionEditor<'_>, nest: &LoopNest, scratch: &mut Scratch) {
    let (function, forms) = f.view_and_forms();
    let offset = function.labels[0].offset;
    let found = if function.state.flags.contains(CodeFlags::SSA) {
        Err("the function is in SSA form")
    } else {
        scratch.shape.load(&function, forms).and_then(|()| find(&function, nest, scratch))
    };
    let price = scratch.gates.gates.len() * 3 + scratch.gates.detours.len() * 2;
    let allowed = GROWTH_ALLOWED + function.live_inst_count() * GROWTH_PERCENT_MAX / 100;
    match found {
        Err(reason) => f.missed(offset, reason),
        Ok(_) if price > allowed => f.missed(offset, "dispatch blocks would add too many instructions"),
        Ok(cycles) => {
            if scratch.gates.apply(
                f,
                &scratch.shape,
                offset,
                "dispatch blocks for cycles with several entries",
            ) {
                let gates = scratch.gates.gates.len();
                f.analysis(
                    offset,
                    format!("{cycles} cycles get {gates} dispatch blocks: at most {price} instructions"),
                );
            }
        }
    }
}

/// Finds the gates of all cycles; gives how many cycles there are.
fn find(function: &FunctionView<'_>, nest: &LoopNest, scratch: &mut Scratch) -> Result<usize, &'static str> {
    let Scratch { shape, gates, components, approaches } = scratch;
    approaches.start(shape);
    gates.gates.clear();
    gates.carriers.clear();
    gates.detours.clear();
    let mut is_cut = vec![false; shape.edges.len()];
    let mut cycles = 0;
    for _ in 0..ROUNDS_MAX {
        components.find(shape, &is_cut);
        if components.cycles.is_empty() {
            gates.detours.sort_unstable_by_key(|detour| detour.edge);
            return Ok(cycles);
        }
        for cycle in &components.cycles {
            let blocks = &components.blocks[cycle.clone()];
            let component = components.of_block[blocks[0].index()];
            let is_inside = |block: BlockId| components.of_block[block.index()] == component;
            let is_entry = |block: &BlockId| {
                shape.edges_into(*block).iter().any(|&edge| !is_inside(shape.edge(edge).from))
            };
            let mut entries: Vec<BlockId> = blocks.iter().copied().filter(is_entry).collect();
            entries.sort_unstable();
            if entries.len() > 1 {
                if blocks.iter().any(|&block| shape.waits[block.index()] != Waits::No) {
                    return Err("threads may wait for others in a cycle with several entries");
                }
                let outside = |&edge: &u32| Some(shape.edge(edge).from).filter(|&from| !is_inside(from));
                let before = entries.iter().flat_map(|&entry| shape.edges_into(entry)).filter_map(outside);
                approaches.refuse_waits(function, nest, shape, &entries, before)?;
                cycles += 1;
                dispatch(shape, gates, &entries);
            }
            for &entry in &entries {
                for &edge in shape.edges_into(entry) {
                    is_cut[edge as usize] = true;
                }
            }
        }
    }
    Err("cycles lie in one another too deep")
}

/// Walks over the blocks between cycles and where threads part that enter them in different places.
#[derive(Default)]
struct Approaches {
    /// Whether threads may wait anywhere.
    has_waits: bool,
    looks_left: usize,
    /// By block: the number of the walk that came there last.
    seen: Vec<u32>,
    number: u32,
    waiting: Vec<BlockId>,
}

impl Approaches {
    fn start(&mut self, shape: &Shape) {
        self.has_waits = shape.waits.iter().any(|&waits| waits != Waits::No);
        self.looks_left = LOOKS * (shape.ends.len() + shape.edges.len());
        self.seen.clear();
        self.seen.resize(shape.ends.len(), 0);
        self.number = 0;
    }

    /// Says why a cycle stays that `before` lead to from outside: on a way there from the last block through which all come, threads
    /// may wait for others.
    fn refuse_waits(
        &mut self,
        function: &FunctionView<'_>,
        nest: &LoopNest,
        shape: &Shape,
        entries: &[BlockId],
        before: impl Iterator<Item = BlockId>,
    ) -> Result<(), &'static str> {
        if !self.has_waits {
            return Ok(());
        }
        let common = |one, other| common_dominator(function, one, other);
        let parting = entries.iter().copied().reduce(common).expect("a cycle has an entry");
        let is_around = |block: BlockId| nest.loop_of(block).is_none_or(|id| nest.holds(id, entries[0]));
        self.number += 1;
        self.waiting.clear();
        self.waiting.extend(before);
        while let Some(block) = self.waiting.pop() {
            self.looks_left = self.looks_left.checked_sub(1).ok_or("too many ways lead to cycles")?;
            let seen = std::mem::replace(&mut self.seen[block.index()], self.number);
            if block == parting || seen == self.number {
                continue;
            }
            match shape.waits[block.index()] {
                Waits::Always => return Err(WAITS_BEFORE),
                Waits::InLoops if !is_around(block) => return Err(WAITS_BEFORE),
                _ => self.waiting.extend(shape.edges_into(block).iter().map(|&edge| shape.edge(edge).from)),
            }
        }
        Ok(())
    }
}

/// Leads every edge to `entries` through a chain of gates before the last one.
fn dispatch(shape: &Shape, gates: &mut Gates, entries: &[BlockId]) {
    let (carrier, first) = (gates.carriers.len() as u32, gates.gates.len() as u32);
    let (&last, others) = entries.split_last().expect("a cycle has an entry");
    let is_pair = others.len() == 1;
    gates.carriers.push(if is_pair { Carrier::Predicate(None) } else { Carrier::Number });
    for (number, &entry) in others.iter().enumerate() {
        let is_last = number + 1 == others.len();
        gates.gates.push(Gate {
            carrier,
            number: number as u32,
            is_negated: false,
            then: To::Block(entry),
            otherwise: if is_last { To::Block(last) } else { To::Gate(first + number as u32 + 1) },
            stands: Stands::Before(last),
            flags: BlockFlags::empty(),
        });
    }
    for (number, &entry) in entries.iter().enumerate() {
        let carries = if is_pair { u32::from(entry != last) } else { number as u32 };
        let into = shape.edges_into(entry).iter();
        gates.detours.extend(into.map(|&edge| Detour { edge, gate: first, carries }));
    }
}

/// The strongly connected components with a cycle, of the graph without the edges that are cut (Tarjan 1972).
#[derive(Default)]
struct Components {
    of_block: Vec<u32>,
    blocks: Vec<BlockId>,
    cycles: Vec<std::ops::Range<usize>>,
    index: Vec<u32>,
    low: Vec<u32>,
    open: Vec<BlockId>,
    walk: Vec<(BlockId, u32)>,
}

impl Components {
    const UNSEEN: u32 = u32::MAX;

    fn find(&mut self, shape: &Shape, is_cut: &[bool]) {
        let count = shape.ends.len();
        for list in [&mut self.of_block, &mut self.index, &mut self.low] {
            list.clear();
            list.resize(count, Self::UNSEEN);
        }
        self.blocks.clear();
        self.cycles.clear();
        let (mut next_index, mut next_component) = (0, 0);
        for root in (0..count).map(BlockId::new) {
            if self.index[root.index()] != Self::UNSEEN {
                continue;
            }
            self.walk.push((root, shape.edges_of(root).start));
            while let Some((block, edge)) = self.walk.pop() {
                let at = block.index();
                if self.index[at] == Self::UNSEEN {
                    (self.index[at], self.low[at]) = (next_index, next_index);
                    next_index += 1;
                    self.open.push(block);
                }
                if edge < shape.edges_of(block).end {
                    self.walk.push((block, edge + 1));
                    let to = shape.edge(edge).to;
                    if is_cut[edge as usize] {
                        continue;
                    }
                    if self.index[to.index()] == Self::UNSEEN {
                        self.walk.push((to, shape.edges_of(to).start));
                    } else if self.of_block[to.index()] == Self::UNSEEN {
                        self.low[at] = self.low[at].min(self.index[to.index()]);
                    }
                    continue;
                }
                if let Some(&(parent, _)) = self.walk.last() {
                    self.low[parent.index()] = self.low[parent.index()].min(self.low[at]);
                }
                if self.low[at] == self.index[at] {
                    self.close(shape, is_cut, block, next_component);
                    next_component += 1;
                }
            }
        }
    }

    /// Takes the component of `root` from the open blocks.
    fn close(&mut self, shape: &Shape, is_cut: &[bool], root: BlockId, component: u32) {
        let first = self.blocks.len();
        while let Some(block) = self.open.pop() {
            self.of_block[block.index()] = component;
            self.blocks.push(block);
            if block == root {
                break;
            }
        }
        let leads_to_itself =
            |edge: u32| !is_cut[edge as usize] && shape.edge(edge).to == shape.edge(edge).from;
        if self.blocks.len() > first + 1 || shape.edges_of(root).any(leads_to_itself) {
            self.cycles.push(first..self.blocks.len());
        } else {
            self.blocks.truncate(first);
        }
    }
}
