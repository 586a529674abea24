//! Post-dominators of every function, and its virtual exit.
//!
//! Source phase  none of its own (basic-blocks-and-cfg, "Dominance")
//! Reads         Blocks, Insts, Fact::ControlFlow
//! Writes        PostDominatorTrees
//! Needs         control-flow facts
//! Leaves        Fact::PostDominators
//! Breaks        nothing
//! Cost          a pass over instruction heads, and what dominators cost; a comparison where the fact holds
//! Paper         as dominators
//! Checked by    the engine's tests, against the bit-vector fixpoint on random graphs
//!
//! The tree is [`ptxopt_engine::graph::post_dominators`].

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::graph::build::leaves_function;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::post_dominators::{PostDominatorScratch, PostDominatorTrees, find_post_dominators};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::StepLog;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::{Code, CodeObjectsMut};

/// What gives [`Fact::PostDominators`].
pub const ANALYSIS: Phase = Phase {
    name: "post_dominators",
    needs: &[Fact::ControlFlow],
    gives: &[Fact::PostDominators],
    install: |slot| {
        slot.init_resource::<PostDominatorTrees>();
        slot.add((run, note).chain());
    },
    ..Phase::NOTHING
};

/// Computes the tree of every function for which it is stale.
pub fn run(code: Code, mut trees: ResMut<PostDominatorTrees>, mut scratch: Local<PostDominatorScratch>) {
    let view = code.view();
    for code_id in (0..view.code_spans.len()).map(CodeId::new) {
        let function = view.function(code_id);
        let is_left = function.state.flags.contains(CodeFlags::LEFT);
        if is_left || code.fact_holds(code_id, Fact::PostDominators) {
            continue;
        }
        let graph = Graph { edges: function.edges, pool: &function.pools.edges };
        let leaves = |block| leaves_function(&function, block);
        find_post_dominators(graph, function.orders, leaves, &mut scratch, trees.of(code_id));
    }
}

/// Notes that the trees are current.
fn note(mut codes: CodeObjectsMut, mut log: ResMut<StepLog>) {
    let (states, facts, ..) = codes.columns();
    for (facts, state) in facts.iter_mut().zip(states) {
        if !state.flags.contains(CodeFlags::LEFT) && !facts.holds(Fact::PostDominators, state) {
            facts.computed(Fact::PostDominators, state);
            log.current().facts_computed += 1;
        }
    }
}
