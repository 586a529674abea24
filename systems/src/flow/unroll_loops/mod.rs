//! Unroll loops: a loop that counts through a local array is written out, round by round, so that the array lies in registers.
//!
//! Source phase  22 OriLoopUnrolling (the sources name it without a document; the reasons not to unroll are those of their sister page on
//!               loops)
//! Reads         Blocks, Insts, VRegs, declarations, Fact::ControlFlow
//! Writes        blocks, branches, instructions, registers, what `promote_locals` writes
//! Needs         control flow ends its block; control-flow facts; no SSA form
//! Leaves        no access at a computed address to a local array where unrolling loops of a known number of rounds makes all of
//!               its addresses constant, within the limits; such arrays in registers
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order; leaves dead code and decided
//!               branches behind
//! Cost          nothing for functions without a local array that only computed addresses keep in memory; for others the work of
//!               `promote_locals`, and what is written out: at most the function's instructions [`TRIES_MAX`] times
//! Paper         online partial evaluation (Jones, Gomard and Sestoft 1993): a block is copied for each state of the counters
//! Checked by    check/edges.rs, check/control_flow.rs, check/forms.rs; the judge
//!
//! # What is unrolled
//! A register has no address, so what a computed address may touch stays in memory:
//! ```text
//!     mov.u32 %i, 0;
//! L:  setp.gt.u32 %p, %i, 3;
//!     @%p bra D;
//!     mul.wide.u32 %rd1, %i, 4;             st.local.b32 [frame], 0;
//!     add.s64 %rd2, %frame, %rd1;     ->    st.local.b32 [frame+4], 0;
//!     st.local.b32 [%rd2], 0;               st.local.b32 [frame+8], 0;
//!     add.u32 %i, %i, 1;                    st.local.b32 [frame+12], 0;
//!     bra L;
//! D:
//! ```
//! Other loops are left to the assembler, which unrolls by itself, and has to know the machine to do it well.
//!
//! # How
//! 1. [`needs`] finds the loops that change what is added to an address.
//! 2. [`entry`] finds which registers are constant where such a loop is entered.
//! 3. [`unfold`] runs it with what is known: blocks are copied round by round, a branch on a known predicate has one way. It ends
//!    where no way leads to another round. Inner loops that nobody needs unrolled are copied as they are.
//! 4. An array is worth it where every access to it then has a constant address. Loops that only others wait for are taken in:
//!    the counter of an inner loop may begin at that of an outer one.
//! 5. [`emit`] writes the copies down and deletes the loop; `promote_locals` does the rest.
//!
//! # What is left alone
//! - Loops after which the function would have more instructions than it came with, counted without what becomes constant.
//! - Loops with calls, branch tables, carry chains or copied text; cycles with several entries; loops whose header a branch table
//!   lists.
//! - Loops with pragmas (`nounroll`), lines or directives in them: those cannot be copied.
//! - A register with an address that is read in another round than it was written in: it would hold several.
//! - Everything where the assembler is asked to unroll nothing (`--no-unroll`).

mod emit;
mod entry;
mod needs;
mod unfold;

use crate::analyze::control_flow;
use crate::ssa::promote_locals;
use crate::ssa::promote_locals::addresses::{Access, NOT_CONSTANT, Tracer};
use crate::ssa::promote_locals::numbers::Sources;
use crate::ssa::promote_locals::slots::{Component, find_components};
use bevy_ecs::prelude::*;
use emit::Emitter;
use entry::Entry;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId, LoopId};
use ptxopt_components::operand::OperandKind;
use ptxopt_components::operation::Operation;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::view::FunctionView;
use ptxopt_engine::values::def_use::DefUse;
use std::collections::BTreeSet;
use unfold::{Limits, Refusal, Unfolded, unfold};

/// Phase 22.
pub const PHASE: Phase = Phase {
    name: "unroll_loops",
    needs: &[Fact::ControlFlow],
    only: CodeFlags::COMPUTED_LOCALS,
    breaks: Fact::OF_EDGES_AND_ORDER,
    room_percent: 200,
    install: |slot| slot.add((run, control_flow::run, promote_locals::run_again).chain()),
    ..Phase::NOTHING
};

/// The most arrays of a function for which loops are looked at.
const COMPONENTS_MAX: usize = 32;

/// Copies of instructions that are looked at in all, an instruction of the function.
const WORK_MAX: usize = 4;

/// How often loops around are taken in for one array: as deep as nests are.
const TRIES_MAX: usize = 4;

/// Works on the functions with arrays that wait for it.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    let flags = CodeFlags::SELECTED | CodeFlags::TERMINATORS_LAST | CodeFlags::COMPUTED_LOCALS;
    editor.each(flags, |mut f| {
        if !unroll(&mut f, &mut scratch) {
            f.set_flags(CodeFlags::COMPUTED_LOCALS, false);
        }
    });
}

/// Memory that is used again for each function.
#[derive(Default)]
pub struct Scratch {
    tracer: Tracer,
    def_use: DefUse,
    components: Vec<Component>,
    /// Of a function with arrays that wait: few have any, so the phase does not need the fact, which would be computed for all.
    nest: LoopNest,
    nest_scratch: NestScratch,
}

/// What is read of a function before it is changed.
#[derive(Clone, Copy)]
struct Function<'a> {
    view: &'a FunctionView<'a>,
    forms: &'a FormTable,
    sources: Sources<'a>,
    nest: &'a LoopNest,
    tracer: &'a Tracer,
}

/// Unrolls what is worth it; says whether that is anything.
fn unroll(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) -> bool {
    let Scratch { tracer, def_use, components, nest, nest_scratch } = scratch;
    let (view, forms) = f.view_and_forms();
    let def_use = if f.fact_holds(Fact::DefUse) {
        f.def_use()
    } else {
        def_use.build(&view);
        def_use
    };
    if tracer.trace(&view, forms, def_use).is_err() {
        return false;
    }
    let graph = Graph { edges: view.edges, pool: &view.pools.edges };
    build_nest(graph, view.blocks, view.orders, nest_scratch, nest);
    let nest = &*nest;
    find_components(tracer, components);
    let tracer = &*tracer;
    let sources = Sources { view: &view, forms, def_use, positions: tracer.positions() };
    let function = Function { view: &view, forms, sources, nest, tracer };
    let mut choice = Choice {
        function,
        room: f.room().insts as usize * 3 / 4,
        work_left: WORK_MAX * view.heads.len(),
        plans: Vec::new(),
        too_large: Vec::new(),
    };
    let mut missed: Vec<(InstId, &'static str)> = Vec::new();
    for component in components.iter().filter(|component| component.verdict.is_err()).take(COMPONENTS_MAX) {
        if let Err(why) = choice.take_in(&tracer.accesses[component.accesses.clone()]) {
            missed.push(why);
        }
    }
    let plans = choice.plans;
    for (inst, reason) in missed {
        let offset = f.view().places[inst.index()].offset;
        f.missed(offset, reason);
    }
    let mut emitter = Emitter::new(&f.view());
    let mut is_unrolled = false;
    for Plan { unfolded, .. } in &plans {
        is_unrolled |= emitter.emit(f, nest, unfolded).is_some();
    }
    is_unrolled
}

/// The loops of one nest that are unrolled, as they would come out.
struct Plan {
    /// All of them, the outermost first.
    loops: Vec<LoopId>,
    unfolded: Unfolded,
}

/// The choice of loops.
struct Choice<'a> {
    function: Function<'a>,
    /// Rows that copies may take.
    room: usize,
    /// Copies of instructions that may still be looked at.
    work_left: usize,
    /// One for each nest, in the order of the loops.
    plans: Vec<Plan>,
    /// Choices that were too large: so is each that holds one.
    too_large: Vec<BTreeSet<LoopId>>,
}

impl Choice<'_> {
    /// Adds the loops that the accesses to an array need; or says why not, and at which access.
    fn take_in(&mut self, accesses: &[Access]) -> Result<(), (InstId, &'static str)> {
        let is_computed = |access: &&Access| access.refusal == Some(NOT_CONSTANT);
        let first =
            accesses.iter().find(|access| access.refusal.is_some()).map_or(InstId(0), |access| access.inst);
        if let Some(other) = accesses.iter().find(|access| access.refusal.is_some() && !is_computed(access)) {
            return Err((other.inst, "other accesses keep the local array in memory"));
        }
        let nest = self.function.nest;
        let mut wanted: BTreeSet<LoopId> =
            self.plans.iter().flat_map(|plan| plan.loops.iter().copied()).collect();
        for access in accesses.iter().filter(is_computed) {
            let found = needs::loops_of(&self.function, access.inst, &mut wanted);
            found.map_err(|reason| (access.inst, reason))?;
        }
        for _ in 0..TRIES_MAX {
            let around = match self.unfold_all(&wanted) {
                Ok(plans) => {
                    let is_exact =
                        |access: &Access| plans.iter().any(|plan| plan.unfolded.is_exact(access.inst));
                    let Some(access) = accesses.iter().filter(is_computed).find(|access| !is_exact(access))
                    else {
                        self.plans = plans;
                        return Ok(());
                    };
                    // What it is added to comes from a loop around.
                    let root = |plan: &&Plan| nest.holds(plan.loops[0], access.block);
                    plans.iter().find(root).map(|plan| plan.loops[0])
                }
                Err(Refusal::Endless(id)) => Some(id),
                Err(Refusal::TooLarge) => {
                    self.too_large.push(wanted);
                    const REASON: &str =
                        "unrolled, the loop would have more instructions than there is room for";
                    return Err((first, REASON));
                }
                Err(Refusal::Unfit(reason)) => return Err((first, reason)),
            };
            let parent = around.and_then(|id| nest.row(id).parent.get());
            if !parent.is_some_and(|parent| wanted.insert(parent)) {
                break;
            }
        }
        Err((first, "no constant number of rounds makes the address of a local array constant"))
    }

    /// Unfolds these loops, nest by nest.
    fn unfold_all(&mut self, wanted: &BTreeSet<LoopId>) -> Result<Vec<Plan>, Refusal> {
        if self.too_large.iter().any(|choice| choice.is_subset(wanted)) {
            return Err(Refusal::TooLarge);
        }
        let nest = self.function.nest;
        let mut plans: Vec<Plan> = Vec::new();
        let mut loops = wanted.iter().copied().peekable();
        // Loops are numbered in a preorder of the nest.
        while let Some(root) = loops.next() {
            let mut of_root = vec![root];
            while let Some(inner) = loops.next_if(|&inner| inner <= nest.row(root).last) {
                of_root.push(inner);
            }
            let unfolded = match self.plans.iter().find(|plan| plan.loops == of_root) {
                Some(plan) => plan.unfolded.clone(),
                None => {
                    let limits =
                        Limits { rows: self.room, insts_left: self.function.view.text.insts_in as usize };
                    unfold(
                        &self.function,
                        &of_root,
                        limits,
                        &mut self.work_left,
                        &mut Entry::new(self.function),
                    )?
                }
            };
            plans.push(Plan { loops: of_root, unfolded });
        }
        if self.fits(&plans) { Ok(plans) } else { Err(Refusal::TooLarge) }
    }

    /// Whether the function has no more instructions than it came with, once what is constant is gone.
    fn fits(&self, plans: &[Plan]) -> bool {
        let Function { view, nest, .. } = self.function;
        let is_inside = |block| plans.iter().any(|plan| nest.holds(plan.loops[0], block));
        let outside =
            view.block_ids().filter(|&block| !is_inside(block)).flat_map(|block| view.insts_of(block));
        let left = outside.filter(|&inst| !self.function.goes(inst)).count();
        let copied: usize = plans.iter().map(|plan| plan.unfolded.insts_left).sum();
        let rows: usize = plans.iter().map(|plan| plan.unfolded.rows).sum();
        left + copied <= view.text.insts_in as usize && rows <= self.room
    }
}

impl Function<'_> {
    /// Whether later phases take an instruction away whatever happens: a copy, or a jump.
    fn goes(&self, inst: InstId) -> bool {
        let head = &self.view.heads[inst.index()];
        let operands = self.view.operands_of(inst);
        match self.forms.get(head.form).operation {
            _ if head.opcode.is_guarded() => false,
            Operation::Bra => true,
            Operation::Mov => {
                operands.len() == 2
                    && matches!(
                        operands[1].kind(),
                        OperandKind::Register { .. } | OperandKind::Predicate { .. }
                    )
            }
            _ => false,
        }
    }
}
