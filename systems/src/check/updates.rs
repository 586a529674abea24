//! Random updates of the flow graph: after each, every fact is what a rebuild from nothing gives.

use super::ALL;
use super::testing::Random;
use crate::analyze::{control_flow, loops, post_dominators};
use crate::flow::split_at_control_flow;
use bevy_ecs::prelude::*;
use ptxopt_components::block::{BlockFlags, BlockHead, BlockOrder};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, InstId};
use ptxopt_components::instruction::Marks;
use ptxopt_components::operand::OperandKind;
use ptxopt_engine::edit::{Editor, FunctionEditor};
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate};
use ptxopt_engine::graph::build::{EdgeSource, connect_blocks, leaves_function};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, LoopNests, NestScratch, build_nest};
use ptxopt_engine::graph::post_dominators::{
    PostDominatorScratch, PostDominatorTrees, PostDominators, find_post_dominators,
};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::{Limits, Phase, Plan, Settings, Step, Verify};
use ptxopt_engine::run::shard::Shard;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;
use std::fmt::Write;

/// The random numbers of the phase.
struct Numbers(Random);

impl Default for Numbers {
    fn default() -> Self {
        Self(Random(3))
    }
}

/// Updates the graph at random.
static UPDATES: Phase = Phase {
    name: "random_updates",
    needs: &[Fact::ControlFlow],
    breaks: &Fact::ALL,
    install: |slot| slot.add(update),
    ..Phase::NOTHING
};

/// Compares what holds with a rebuild.
static REBUILDS: Phase = Phase {
    name: "rebuilds",
    needs: &[Fact::ControlFlow, Fact::Loops, Fact::PostDominators],
    install: |slot| slot.add(compare),
    ..Phase::NOTHING
};

/// The last live instruction of a block, if it is a direct branch with a plain guard or none.
fn branch_of(function: &FunctionView<'_>, block: BlockId) -> Option<InstId> {
    let last = function.insts_of(block).next_back()?;
    let is_direct = function.operands_of(last).first().is_some_and(|operand| operand.as_block().is_some());
    let guard = function.guard_of(last).map(|guard| guard.kind());
    let is_plain = guard.is_none_or(|guard| matches!(guard, OperandKind::Predicate { .. }));
    (is_direct && is_plain).then_some(last)
}

/// Whether nothing but falling out of the block before it leads to a block.
fn may_join(function: &FunctionView<'_>, block: BlockId) -> bool {
    let is_dead = |block: BlockId| function.blocks[block.index()].flags.contains(BlockFlags::DEAD);
    if block.0 == 0 || is_dead(block) || is_dead(BlockId(block.0 - 1)) {
        return false;
    }
    let before = BlockId(block.0 - 1);
    let last = function.insts_of(before).next_back();
    let falls = last.is_none_or(|last| !function.heads[last.index()].marks.contains(Marks::CONTROL));
    falls && function.preds(block) == [before]
}

fn update(mut editor: Editor, mut numbers: Local<Numbers>) {
    editor.each(CodeFlags::empty(), |mut f| update_function(&mut f, &mut numbers.0));
}

fn update_function(f: &mut FunctionEditor<'_>, random: &mut Random) {
    let view = f.view();
    let blocks = view.blocks.len();
    let is_alive = |block: &BlockId| !view.blocks[block.index()].flags.contains(BlockFlags::DEAD);
    let is_unreachable = |block: &BlockId| !view.orders[block.index()].is_reachable();
    let dead: Vec<BlockId> = view.block_ids().filter(is_unreachable).filter(is_alive).collect();
    let joining: Vec<BlockId> =
        view.block_ids().filter(|&block| may_join(&view, block) && random.below(4) == 0).collect();
    let is_target = |block: &BlockId| !joining.contains(block) && block.0 > 0 && is_alive(block);
    let targets: Vec<BlockId> = view.block_ids().filter(is_target).collect();
    let branches: Vec<(BlockId, InstId, bool)> = view
        .block_ids()
        .filter_map(|block| {
            let inst = branch_of(&view, block)?;
            Some((block, inst, view.guard_of(inst).is_some()))
        })
        .collect();
    // An instruction in the middle of a block, at which it may be split.
    let middle: Vec<(BlockId, InstId)> =
        view.block_ids().filter_map(|block| Some((block, view.insts_of(block).nth(1)?))).collect();
    let new_before = targets.get(random.below(blocks)).copied();
    let split_at = middle.get(random.below(blocks)).copied();
    let mut change = f.change_at(0, "random").expect("there is fuel and room");
    if random.below(4) == 0 {
        return change.delete_blocks(&dead);
    }
    joining.iter().for_each(|&block| change.merge(block));
    for (block, inst, is_guarded) in branches {
        match random.below(8) {
            0 => change.delete_branch(inst),
            1 if is_guarded => change.drop_guard(inst),
            2 if is_guarded => change.negate_guard(inst),
            3 | 4 if !targets.is_empty() => change.redirect(inst, targets[random.below(targets.len())]),
            5 if new_before.is_some_and(|before| before == block) => {
                let new = change.insert_block_before(block);
                change.redirect(inst, new);
            }
            6 if split_at.is_some_and(|(at, _)| at == block) => {
                let (_, at) = split_at.expect("just looked at");
                let before = change.function().row_before(at).expect("another one stands before it");
                let new = change.split_after(before);
                change.redirect(inst, new);
            }
            _ => {}
        }
    }
}

/// The function's flow graph, made again from its instructions.
#[derive(Default)]
pub(crate) struct Rebuilt {
    heads: Vec<BlockHead>,
    orders: Vec<BlockOrder>,
    pub(crate) nest: LoopNest,
    pub(crate) tree: PostDominators,
}

pub(crate) fn rebuild(function: &FunctionView<'_>) -> Rebuilt {
    let source = EdgeSource::of(function);
    let (mut edges, mut pool) = (function.edges.to_vec(), Vec::new());
    connect_blocks(source, function.blocks, &mut edges, &mut pool);
    let graph = Graph { edges: &edges, pool: &pool };
    for block in function.block_ids() {
        assert_eq!(graph.succs(block), function.succs(block));
        assert_eq!(graph.preds(block), function.preds(block));
    }
    let mut built = Rebuilt { heads: function.blocks.to_vec(), ..Rebuilt::default() };
    let kept = BlockFlags::ANALYSIS_OK | BlockFlags::CHAINED;
    built.heads.iter_mut().for_each(|head| head.flags &= BlockFlags::DEAD | kept);
    built.orders.resize(built.heads.len(), BlockOrder::default());
    annotate(graph, &mut built.heads, &mut built.orders, &mut AnalysisScratch::default());
    build_nest(graph, &built.heads, &built.orders, &mut NestScratch::default(), &mut built.nest);
    let leaves = |block| leaves_function(function, block);
    find_post_dominators(graph, &built.orders, leaves, &mut PostDominatorScratch::default(), &mut built.tree);
    built
}

fn compare(code: Code, nests: Res<LoopNests>, trees: Res<PostDominatorTrees>, mut dumps: ResMut<Dumps>) {
    for function in code.view().functions() {
        let built = rebuild(&function);
        assert_eq!(built.orders, function.orders);
        for (rebuilt, kept) in built.heads.iter().zip(function.blocks) {
            assert_eq!(rebuilt.flags | BlockFlags::ANALYSIS_OK, kept.flags | BlockFlags::ANALYSIS_OK);
        }
        assert_eq!(Some(&built.nest), nests.get(function.code));
        assert_eq!(Some(&built.tree), trees.get(function.code));
        dumps.text.extend_from_slice(format!("{} ", function.blocks.len()).as_bytes());
    }
}

/// A kernel of `count` blocks that branch at random.
fn kernel(count: usize, random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.entry k(.param .u64 out)\n{\n.reg .pred %p<3>; .reg .b32 %r<3>;\n",
    );
    for block in 0..count {
        writeln!(text, "L{block}:").unwrap();
        for _ in 0..random.below(3) {
            writeln!(text, "add.u32 %r1, %r2, {block};").unwrap();
        }
        let target = random.below(count);
        match random.below(8) {
            0 => writeln!(text, "bra.uni L{target};"),
            1..=3 => writeln!(text, "@%p1 bra L{target};"),
            4 => writeln!(text, "@!%p2 bra.uni L{target};"),
            5 => writeln!(text, "T{block}: .branchtargets L{target}, L{block};\n@%p1 brx.idx %r1, T{block};"),
            6 => writeln!(text, "@%p1 exit;"),
            _ => Ok(()),
        }
        .unwrap();
    }
    text.push_str("ret;\n}\n");
    text
}

#[test]
fn after_random_updates_everything_equals_a_rebuild() {
    const ROUNDS: usize = 6;
    let phases = (0..ROUNDS).flat_map(|_| [&UPDATES, &REBUILDS]);
    let step = |(number, phase): (usize, &'static Phase)| Step::new(number as u16, phase);
    let plan = Plan {
        steps: [&split_at_control_flow::PHASE, &REBUILDS]
            .into_iter()
            .chain(phases)
            .enumerate()
            .map(step)
            .collect(),
        analyses: &[&control_flow::ANALYSIS, &loops::ANALYSIS, &post_dominators::ANALYSIS],
        checks: ALL,
        verify: Verify::Full,
        fuel: None,
        remarks: false,
        fingerprint: None,
        limits: Limits { time_ms: 60_000, memory: u64::MAX, growth_percent: 400 },
        settings: Settings::default(),
        careful: Settings::default(),
        keep_rolled: false,
        keep_grown: false,
    };
    plan.check(&[]).unwrap();
    let (mut shard, mut random) = (Shard::new(&plan), Random(7));
    for number in 0..1500 {
        let count = 1 + random.below(if number % 50 == 0 { 200 } else { 20 });
        let text = kernel(count, &mut random);
        let module = Module::scan(text.as_bytes()).unwrap();
        let output =
            shard.run(&module, &module.functions).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        assert_eq!(output.functions[0].left, None, "{text}");
        assert!(output.functions[0].undone.is_empty(), "{:?}\n{text}", output.functions[0].undone);
        let updates: u64 = output.steps.iter().map(|step| step.changes).sum();
        assert_eq!(updates, ROUNDS as u64, "{text}");
    }
}
