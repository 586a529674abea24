//! AnalyzeControlFlow: ranks, dominators and natural loops of every function.
//!
//! Source phase  3 AnalyzeControlFlow (analyze-control-flow; basic-blocks-and-cfg)
//! Reads         BlockEdges, InstHead
//! Writes        BlockHead flags, BlockOrder, CodeState flags
//! Needs         edges
//! Leaves        Fact::ControlFlow
//! Breaks        nothing
//! Cost          a comparison where the fact holds; else linear but for dominators, see [`ptxopt_engine::graph::dominators`]
//! Paper         Cooper, Harvey, Kennedy 2001; Lengauer, Tarjan 1979; Tarjan 1974
//! Checked by    check/control_flow.rs, check/control_flow_full.rs
//!
//! # A service
//! The work is [`ptxopt_engine::graph::analyze`], which phases ask through the facts that they need or through their
//! editor. Knob 235 leaves out the step of [`PHASE`] and nothing else: whoever asks still gets current annotations,
//! by [`ANALYSIS`].

use bevy_ecs::prelude::*;
use ptxopt_components::block::BlockFlags;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, Annotated, bring_up_to_date};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::{Remark, RemarkKind, Remarks, StepLog};
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::{BlocksMut, Code, CodeObjectsMut, Insts, PoolsResource};

/// Phase 3: the analysis, and a remark where a function is irreducible.
pub const PHASE: Phase =
    Phase { required: true, layout_only: true, install: |slot| slot.add((run, remark).chain()), ..ANALYSIS };

/// What gives [`Fact::ControlFlow`] wherever it is asked for.
pub const ANALYSIS: Phase = Phase {
    name: "analyze_control_flow",
    gives: &[Fact::ControlFlow],
    install: |slot| slot.add(run),
    ..Phase::NOTHING
};

/// Brings the control-flow facts of every function up to date.
pub fn run(
    mut codes: CodeObjectsMut,
    mut blocks: BlocksMut,
    insts: Insts,
    pools: Res<PoolsResource>,
    forms: Res<FormTable>,
    mut scratch: Local<AnalysisScratch>,
    mut log: ResMut<StepLog>,
) {
    let (states, facts, spans, _) = codes.columns();
    let (heads, edges, orders, _) = blocks.columns_for_facts();
    let (inst_heads, _, inst_links, _) = insts.columns();
    for (code, span) in spans.iter().enumerate() {
        if states[code].flags.contains(CodeFlags::LEFT) {
            continue;
        }
        let rows = span.blocks.range();
        let function = Annotated {
            state: &mut states[code],
            facts: &mut facts[code],
            graph: Graph { edges: &edges[rows.clone()], pool: &pools.0.edges },
            heads: &mut heads[rows.clone()],
            orders: &mut orders[rows],
            insts: &inst_heads[span.insts.range()],
            links: &inst_links[span.insts.range()],
        };
        if bring_up_to_date(function, &forms, &mut scratch) {
            log.current().facts_computed += 1;
        }
    }
}

/// Says of each function whether it is irreducible: loop phases leave such cycles alone.
fn remark(code: Code, log: Res<StepLog>, mut remarks: ResMut<Remarks>) {
    if !remarks.wanted {
        return;
    }
    let view = code.view();
    for code in (0..view.code_spans.len()).map(CodeId::new) {
        let function = view.function(code);
        if function.state.flags.contains(CodeFlags::LEFT) {
            continue;
        }
        for (head, label) in function.blocks.iter().zip(function.labels) {
            if head.flags.contains(BlockFlags::IRREDUCIBLE) {
                remarks.push(Remark {
                    kind: RemarkKind::Analysis,
                    step: log.step,
                    code,
                    offset: label.offset,
                    reason: "irreducible control flow: a cycle that is entered here and elsewhere is no natural loop".into(),
                });
            }
        }
    }
}
