//! Unroll loops: a loop that counts through a local array is written out, round by round, so that the array lies in registers.
//!
//! Source phase  22 OriLoopUnrolling (the sources name it without a document; reasons not to unroll as on their sister page about
//!               loops)
//! Reads         Blocks, Insts, VRegs, declarations, Fact::ControlFlow
//! Writes        blocks, branches, instructions, registers, what `promote_locals` writes
//! Needs         control flow ends its block; control-flow facts; instruction ids in program order; no SSA form
//! Leaves        no access at a computed address to a local array where unrolling loops of a known number of rounds makes all of
//!               its addresses constant, within the limits; such arrays in registers
//! Breaks        control flow, loops, post-dominators, liveness, uniformity, definitions, program order; leaves dead code behind
//! Cost          nothing for functions without a local array that only computed addresses keep in memory; for others the work of
//!               `promote_locals`, and what is looked at to be written out: at most four copies of each instruction in the mean
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
//! 1. `needs` finds the loops that change what is added to an address.
//! 2. `entry` finds which registers are constant where such a loop is entered.
//! 3. `unfold` runs it with what is known: blocks are copied round by round, a branch on a known predicate has one way. It ends
//!    where no way leads to another round. Inner loops that need no unrolling are copied as they are.
//! 4. An array is worth it (`choice`) where every access to it then has a constant address. Loops around are taken in where
//!    that needs them: the counter of an inner loop may begin at that of an outer one.
//! 5. `emit` writes the copies down and deletes the loop; `promote_locals` does the rest.
//!
//! # What is left alone
//! - Loops after which the function would have more instructions than it came with, counted without what becomes constant.
//! - Loops with calls, branch tables, carry chains or copied text; cycles with several entries; loops whose header a branch table
//!   lists.
//! - Loops with pragmas (`nounroll`), lines or directives in them: those cannot be copied.
//! - Loops with a convergent instruction in which a branch stays: threads of a warp in different rounds would no longer meet at
//!   one instruction.
//! - A register with an address that is read in another round than it was written in: it would hold several.
//! - Everything where the assembler is asked to unroll nothing (`--no-unroll`).

mod choice;
mod emit;
mod entry;
mod needs;
mod obstacles;
#[cfg(test)]
mod tests;
mod unfold;

use crate::analyze::control_flow;
use crate::ssa::promote_locals;
use crate::ssa::promote_locals::addresses::Tracer;
use crate::ssa::promote_locals::numbers::Sources;
use crate::ssa::promote_locals::slots::{Component, find_components};
use bevy_ecs::prelude::*;
use choice::{Choice, TOO_LARGE};
use emit::Emitter;
use obstacles::Obstacles;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{Id, InstId};
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
use ptxopt_engine::values::reaching::Reaching;

/// Phase 22.
pub const PHASE: Phase = Phase {
    name: "unroll_loops",
    needs: &[Fact::ProgramOrder, Fact::ControlFlow],
    only: CodeFlags::COMPUTED_LOCALS,
    breaks: Fact::OF_EDGES_AND_ORDER,
    room_percent: 200,
    install: |slot| {
        slot.init_resource::<promote_locals::Settings>();
        slot.add((run, control_flow::run, promote_locals::run_again).chain());
    },
    ..Phase::NOTHING
};

/// The most arrays of a function for which loops are looked at.
const COMPONENTS_MAX: usize = 32;

const TOO_MANY: &str = "the function has more local arrays than loops are looked at for";

/// Works on the functions with arrays that wait for it.
pub fn run(mut editor: Editor, mut scratch: Local<Scratch>) {
    let flags = CodeFlags::WORKED_ON | CodeFlags::COMPUTED_LOCALS;
    editor.each(flags, |mut f| unroll(&mut f, &mut scratch));
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
    reaching: Reaching,
}

/// What is read of a function before it is changed.
#[derive(Clone, Copy)]
struct Function<'a> {
    view: &'a FunctionView<'a>,
    forms: &'a FormTable,
    sources: Sources<'a>,
    nest: &'a LoopNest,
    tracer: &'a Tracer,
    obstacles: &'a Obstacles,
}

/// Unrolls what is worth it.
fn unroll(f: &mut FunctionEditor<'_>, scratch: &mut Scratch) {
    let Scratch { tracer, def_use, components, nest, nest_scratch, reaching } = scratch;
    let (view, forms) = f.view_and_forms();
    let def_use = if f.fact_holds(Fact::DefUse) {
        f.def_use()
    } else {
        def_use.build(&view);
        def_use
    };
    if tracer.trace(&view, forms, def_use).is_err() {
        return;
    }
    let graph = Graph { edges: view.edges, pool: &view.pools.edges };
    build_nest(graph, view.blocks, view.orders, nest_scratch, nest);
    let nest = &*nest;
    find_components(tracer, components);
    reaching.start(&view);
    let tracer = &*tracer;
    let sources = Sources { view: &view, forms, def_use, positions: tracer.positions() };
    let obstacles = &Obstacles::find(&view, nest, tracer);
    let function = Function { view: &view, forms, sources, nest, tracer, obstacles };
    let mut choice = Choice::new(function, reaching, f.room());
    let mut missed: Vec<(InstId, &'static str)> = Vec::new();
    let waiting = components.iter().filter_map(|component| Some((component, component.verdict.err()?)));
    for (number, (component, (inst, _))) in waiting.enumerate() {
        if number == COMPONENTS_MAX {
            missed.push((inst, TOO_MANY));
            break;
        }
        missed.extend(choice.take_in(&tracer.accesses[component.accesses.clone()]).err());
    }
    let plans = choice.plans;
    for (inst, reason) in missed {
        f.stats().limits_hit += u64::from([TOO_LARGE, TOO_MANY].contains(&reason));
        let offset = f.offset_of(inst);
        f.missed(offset, reason);
    }
    let mut emitter = Emitter::new(&f.view());
    for plan in &plans {
        emitter.emit(f, nest, plan);
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
