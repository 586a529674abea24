//! Dump divergence: the branches that send threads of a warp different ways, those that cost most first.
//!
//! Source phase  none: `ptxopt analyze --print divergence`
//! Reads         Blocks, Insts, LoopNests, PostDominatorTrees, Uniformities
//! Writes        Dumps
//! Needs         control-flow facts, loops, post-dominators, uniformity
//! Leaves        nothing
//! Breaks        nothing
//! Cost          a pass over blocks and loops, and a sort of the branches
//! Checked by    the tests of the command
//!
//! ```text
//! divergence of kernel: 2 of 3 branches
//! bix4: line 31, bra, loop, 430 instructions, reconverges at bix6
//! bix1: line 12, bra, entry, 9 instructions, reconverges at bix4
//! ```
//! # What a branch costs
//! What a warp issues for a part of its threads, as far as the branch alone decides it: instructions of the blocks that it
//! dominates and its reconvergence, the immediate post-dominator, does not. A branch that leaves loops makes the others wait: it costs
//! the outermost of them. Each instruction counts ten times for each loop around it, as in the costs of spilling. What a launch
//! really issues is what `ptxopt run --count` says.
//!
//! # Convergence marks
//! `entry` stands at a branch whose arms meet before it can come again, `loop` at one that leaves a loop: the two kinds of region
//! that LLVM's NVPTX back end tells apart (`CONVERGENCECTRL_ENTRY`, `CONVERGENCECTRL_LOOP`). The block of the branch is the head of the region,
//! where it reconverges the tail.

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId, LoopId};
use ptxopt_engine::dataflow::print::Lines;
use ptxopt_engine::dataflow::uniformity::{Uniformities, Uniformity, print};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests};
use ptxopt_engine::graph::post_dominators::{PostDominatorTrees, PostDominators};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use std::cmp::Reverse;
use std::fmt::Write;

/// The divergent branches of each function.
pub static PHASE: Phase = Phase {
    name: "dump_divergence",
    needs: &[Fact::ControlFlow, Fact::Loops, Fact::PostDominators, Fact::Uniformity],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.init_resource::<PostDominatorTrees>();
        slot.init_resource::<Uniformities>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Loops around an instruction that its weight counts.
const DEPTH_MAX: u32 = 9;

/// Prints the branches of every function.
pub fn run(
    code: Code,
    forms: Res<FormTable>,
    nests: Res<LoopNests>,
    trees: Res<PostDominatorTrees>,
    verdicts: Res<Uniformities>,
    mut dumps: ResMut<Dumps>,
) {
    let mut text = String::new();
    for function in code.view().functions().filter(|function| !function.state.flags.contains(CodeFlags::LEFT))
    {
        let id = function.code;
        if let (Some(nest), Some(tree), Some(verdicts)) = (nests.get(id), trees.get(id), verdicts.get(id)) {
            let source = (&dumps.source[..], dumps.lines());
            write(&function, &forms, source, (nest, tree, verdicts), &mut text);
        }
    }
    dumps.text.extend_from_slice(text.as_bytes());
}

/// Writes the branches of a function whose module is `text`.
fn write(
    function: &FunctionView<'_>,
    forms: &FormTable,
    (text, lines): (&[u8], &Lines),
    (nest, tree, verdicts): (&LoopNest, &PostDominators, &Uniformity),
    out: &mut String,
) {
    let costs = Costs::of(function, nest);
    let all = print::branches(function, forms);
    let (mut divergent, mut count) = (Vec::new(), 0);
    for inst in all {
        count += 1;
        let block = function.heads[inst.index()].block;
        if function.orders[block.index()].is_reachable() && !verdicts.branch_is_uniform(function, inst) {
            divergent.push(Branch { inst, block, cost: costs.of_branch(function, nest, tree, block) });
        }
    }
    divergent.sort_by_key(|branch| (Reverse(branch.cost.instructions), branch.block));
    let name = String::from_utf8_lossy(&text[function.text.name.range()]);
    let mut say = |what: std::fmt::Arguments<'_>| out.write_fmt(what).expect("a string takes everything");
    say(format_args!("divergence of {name}: {} of {count} branches\n", divergent.len()));
    for Branch { inst, block, cost } in divergent {
        let mnemonic = String::from_utf8_lossy(forms.mnemonic_text(function.heads[inst.index()].form));
        let mark = if cost.leaves_loop { "loop" } else { "entry" };
        let line = lines.line(function, inst);
        let meets = tree.ipdom(block).map_or_else(|| "the end".to_owned(), |meet| format!("{meet:?}"));
        let instructions = cost.instructions;
        say(format_args!(
            "{block:?}: line {line}, {mnemonic}, {mark}, {instructions} instructions, reconverges at {meets}\n"
        ));
    }
}

/// A divergent branch.
struct Branch {
    inst: InstId,
    block: BlockId,
    cost: Cost,
}

/// What a branch costs.
#[derive(Clone, Copy)]
struct Cost {
    instructions: u64,
    leaves_loop: bool,
}

/// Instructions, each counted ten times a loop around it.
struct Costs {
    /// Of the blocks up to each one, in the preorder of the dominator tree.
    before: Vec<u64>,
    /// By loop, inner loops included.
    of_loop: Vec<u64>,
}

impl Costs {
    fn of(function: &FunctionView<'_>, nest: &LoopNest) -> Self {
        let mut before = vec![0; function.blocks.len() + 1];
        let mut of_loop = vec![0_u64; nest.rows().len()];
        for block in function.block_ids() {
            let order = function.orders[block.index()];
            if !order.is_reachable() {
                continue;
            }
            let weight = 10_u64.pow(order.depth.min(DEPTH_MAX)) * function.insts_of(block).count() as u64;
            before[order.dom_first as usize + 1] = weight;
            if let Some(inner) = nest.loop_of(block) {
                of_loop[inner.index()] += weight;
            }
        }
        for at in 1..before.len() {
            before[at] += before[at - 1];
        }
        for inner in nest.ids().rev() {
            if let Some(outer) = nest.row(inner).parent.get() {
                of_loop[outer.index()] += of_loop[inner.index()];
            }
        }
        Self { before, of_loop }
    }

    /// Instructions of the blocks that `block` dominates, itself included.
    fn dominated(&self, function: &FunctionView<'_>, block: BlockId) -> u64 {
        let order = function.orders[block.index()];
        self.before[order.dom_last as usize + 1] - self.before[order.dom_first as usize]
    }

    fn of_branch(
        &self,
        function: &FunctionView<'_>,
        nest: &LoopNest,
        tree: &PostDominators,
        block: BlockId,
    ) -> Cost {
        let is_left = |id: &LoopId| function.succs(block).iter().any(|&succ| !nest.holds(*id, succ));
        let around = std::iter::successors(nest.loop_of(block), |&id| nest.row(id).parent.get());
        if let Some(outermost) = around.take_while(is_left).last() {
            return Cost { instructions: self.of_loop[outermost.index()], leaves_loop: true };
        }
        let orders = function.orders;
        let own = self.before[orders[block.index()].dom_first as usize + 1]
            - self.before[orders[block.index()].dom_first as usize];
        let meet = tree.ipdom(block).filter(|meet| orders[block.index()].dominates(&orders[meet.index()]));
        let after = meet.map_or(0, |meet| self.dominated(function, meet));
        Cost { instructions: self.dominated(function, block) - own - after, leaves_loop: false }
    }
}
