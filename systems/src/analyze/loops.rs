//! Loops: the nest of every function as a table.
//!
//! Source phase  none of its own: part of AnalyzeControlFlow's annotations in the source (basic-blocks-and-cfg, "Natural
//!               Loop Detection")
//! Reads         Blocks, Fact::ControlFlow
//! Writes        LoopNests
//! Needs         control-flow facts
//! Leaves        Fact::Loops
//! Breaks        nothing
//! Cost          blocks and edges, and the logarithm of blocks; a comparison where the fact holds
//! Paper         Tarjan 1972 for irreducible regions
//! Checked by    the engine's tests, against the definitions on random graphs
//!
//! The table is [`ptxopt_engine::graph::nest`].

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNests, NestScratch, build_nest};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::StepLog;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::{Blocks, CodeObjectsMut, PoolsResource};

/// What gives [`Fact::Loops`].
pub const ANALYSIS: Phase = Phase {
    name: "loops",
    needs: &[Fact::ControlFlow],
    gives: &[Fact::Loops],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(run);
    },
    ..Phase::NOTHING
};

/// Builds the nest of every function for which it is stale.
pub fn run(
    mut codes: CodeObjectsMut,
    blocks: Blocks,
    pools: Res<PoolsResource>,
    mut nests: ResMut<LoopNests>,
    mut scratch: Local<NestScratch>,
    mut log: ResMut<StepLog>,
) {
    let (states, facts, spans, _) = codes.columns();
    let (heads, edges, orders, _) = blocks.columns();
    for (code, span) in spans.iter().enumerate() {
        let is_left = states[code].flags.contains(CodeFlags::LEFT);
        if is_left || facts[code].holds(Fact::Loops, &states[code]) {
            continue;
        }
        let rows = span.blocks.range();
        let graph = Graph { edges: &edges[rows.clone()], pool: &pools.0.edges };
        let nest = nests.of(CodeId::new(code));
        build_nest(graph, &heads[rows.clone()], &orders[rows], &mut scratch, nest);
        facts[code].computed(Fact::Loops, &states[code]);
        log.current().facts_computed += 1;
    }
}
