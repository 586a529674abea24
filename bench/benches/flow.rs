//! Control flow alone: edges, annotations, post-dominators and the loop nest, in time an instruction, and dominators
//! against petgraph's `simple_fast`, which is the same paper's algorithm.
//!
//! `corpus` and `wild` run over every function of a set, as it is read. petgraph's graphs are built before the clock
//! starts; ours are the tables as they are. `together` is all of ours, in that order; `growth` the same on one made
//! function. `graphs` runs over one graph of a family, in time a block. `131 calls` is a service that is asked for what
//! already holds.

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use ptxopt_bench::cpu_time::{CpuTime, group};
use ptxopt_bench::modules;
use ptxopt_components::block::{BlockHead, BlockOrder};
use ptxopt_components::ids::{CodeId, Id};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate, bring_up_to_date, retag_everything};
use ptxopt_engine::graph::build::{connect, leaves_function};
use ptxopt_engine::graph::edges::{Edges, Graph};
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::graph::post_dominators::{PostDominatorScratch, PostDominators, find_post_dominators};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::run::facts::CodeFacts;
use ptxopt_engine::store::tables::CodeTables;
use std::hint::black_box;

/// Every function of a set of modules.
struct Functions {
    forms: FormTable,
    modules: Vec<CodeTables>,
    inst_count: u64,
}

fn functions(texts: &[Vec<u8>]) -> Functions {
    let (mut forms, mut reader, mut all) = (FormTable::default(), ReaderScratch::default(), Vec::new());
    for text in texts {
        // A broken module is part of a set as well.
        let Ok(module) = Module::scan(text) else { continue };
        let mut tables = CodeTables::default();
        if read(&module, &module.functions, &mut forms, &mut reader, &mut tables).is_ok() {
            tables.code_facts.resize(tables.code_spans.len(), CodeFacts::default());
            all.push(tables);
        }
    }
    let inst_count = all.iter().map(|tables| tables.inst_heads.len() as u64).sum();
    Functions { forms, modules: all, inst_count }
}

fn codes(tables: &CodeTables) -> impl Iterator<Item = CodeId> + use<> {
    (0..tables.code_spans.len()).map(CodeId::new)
}

/// Our graph in petgraph's form.
fn petgraph_of(graph: Graph<'_>) -> DiGraph<(), ()> {
    let mut out = DiGraph::with_capacity(graph.len(), graph.pool.len());
    graph.block_ids().for_each(|_| {
        out.add_node(());
    });
    for block in graph.block_ids() {
        for succ in graph.succs(block) {
            out.add_edge(NodeIndex::new(block.index()), NodeIndex::new(succ.index()), ());
        }
    }
    out
}

fn graph_of(tables: &CodeTables, code: CodeId) -> Graph<'_> {
    let rows = tables.code_spans[code.index()].blocks.range();
    Graph { edges: &tables.block_edges[rows], pool: &tables.pools.edges }
}

/// All that is known of control flow, and memory to find it.
#[derive(Default)]
struct ControlFlow {
    analysis: AnalysisScratch,
    nest: LoopNest,
    nest_scratch: NestScratch,
    tree: PostDominators,
    post: PostDominatorScratch,
}

impl ControlFlow {
    /// Edges, ranks, dominators, loops, their nest, and post-dominators of each function.
    fn find(&mut self, all: &mut Functions) {
        for tables in &mut all.modules {
            tables.pools.edges.clear();
            for code in codes(tables) {
                let spans = tables.code_spans[code.index()];
                connect(tables, &spans);
                retag_everything(tables.annotated(code), &all.forms, &mut self.analysis);
                let view = tables.view();
                let function = view.function(code);
                let graph = Graph { edges: function.edges, pool: &function.pools.edges };
                build_nest(graph, function.blocks, function.orders, &mut self.nest_scratch, &mut self.nest);
                let leaves = |block| leaves_function(&function, block);
                find_post_dominators(graph, function.orders, leaves, &mut self.post, &mut self.tree);
            }
        }
    }
}

fn sets(criterion: &mut Criterion<CpuTime>) {
    for set in modules::sets() {
        let mut all = functions(&set.texts);
        let mut group = group(criterion, set.name, 3);
        group.throughput(Throughput::Elements(all.inst_count));
        group.bench_function("edges", |bencher| {
            bencher.iter(|| {
                for tables in &mut all.modules {
                    tables.pools.edges.clear();
                    for code in 0..tables.code_spans.len() {
                        let spans = tables.code_spans[code];
                        connect(tables, &spans);
                    }
                }
            });
        });
        let mut scratch = AnalysisScratch::default();
        group.bench_function("phase 3", |bencher| {
            bencher.iter(|| {
                for tables in &mut all.modules {
                    for code in codes(tables) {
                        retag_everything(tables.annotated(code), &all.forms, &mut scratch);
                    }
                }
            });
        });
        group.bench_function("phase 3, nothing changed", |bencher| {
            bencher.iter(|| {
                for tables in &mut all.modules {
                    for code in codes(tables) {
                        bring_up_to_date(tables.annotated(code), &all.forms, &mut scratch);
                    }
                }
            });
        });
        derived(&mut group, &all);
        let mut flow = ControlFlow::default();
        group.bench_function("together", |bencher| bencher.iter(|| flow.find(&mut all)));
        group.finish();
        println!("{}: iteration was given up on {} graphs", set.name, scratch.dominator_fallbacks());
    }
}

/// What is computed from annotations, and petgraph.
fn derived(group: &mut BenchmarkGroup<'_, CpuTime>, all: &Functions) {
    let (mut nest, mut nest_scratch) = (LoopNest::default(), NestScratch::default());
    group.bench_function("nest", |bencher| {
        bencher.iter(|| {
            for tables in &all.modules {
                for function in tables.view().functions() {
                    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
                    build_nest(graph, function.blocks, function.orders, &mut nest_scratch, &mut nest);
                }
            }
        });
    });
    let (mut tree, mut post) = (PostDominators::default(), PostDominatorScratch::default());
    group.bench_function("post-dominators", |bencher| {
        bencher.iter(|| {
            for tables in &all.modules {
                for function in tables.view().functions() {
                    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
                    let leaves = |block| leaves_function(&function, block);
                    find_post_dominators(graph, function.orders, leaves, &mut post, &mut tree);
                }
            }
        });
    });
    let graphs: Vec<DiGraph<(), ()>> = all
        .modules
        .iter()
        .flat_map(|tables| codes(tables).map(|code| petgraph_of(graph_of(tables, code))))
        .filter(|graph| graph.node_count() > 0)
        .collect();
    group.bench_function("dominators by petgraph", |bencher| {
        bencher
            .iter(|| graphs.iter().for_each(|graph| drop(black_box(simple_fast(graph, NodeIndex::new(0))))));
    });
}

/// Splitmix64.
fn below(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) % end as u64) as usize
}

fn families(count: usize) -> [(&'static str, Edges); 4] {
    let last = count - 1;
    let mut seed = 1;
    // As code is: a branch a few blocks on, a loop now and then.
    let code: Vec<Vec<usize>> = (0..count)
        .map(|block| match below(&mut seed, 8) {
            _ if block == last => vec![],
            0 => vec![(block - below(&mut seed, 8).min(block)).max(1), block + 1],
            1..=4 => vec![(block + 1 + below(&mut seed, 8)).min(last), block + 1],
            _ => vec![block + 1],
        })
        .collect();
    let anywhere: Vec<Vec<usize>> =
        (0..count).map(|_| (0..2).map(|_| 1 + below(&mut seed, last)).collect()).collect();
    let half = count / 2;
    let ladder: Vec<Vec<usize>> = (0..2 * half)
        .map(|block| match block {
            _ if block + 1 == half => vec![block + half],
            _ if block < half => vec![block + half, block + 1],
            _ if block + 1 < 2 * half => vec![block + 1],
            _ => vec![],
        })
        .collect();
    let mut nest: Vec<Vec<usize>> = (0..half).map(|block| vec![block + 1]).collect();
    nest.extend((half..count).map(|block| {
        if block == last { vec![] } else { vec![(count - 1 - block).clamp(1, half), block + 1] }
    }));
    [("code", code), ("anywhere", anywhere), ("ladder", ladder), ("nest", nest)]
        .map(|(name, succs)| (name, Edges::from_succs(&succs)))
}

fn graphs(criterion: &mut Criterion<CpuTime>) {
    let mut group = group(criterion, "graphs", 2);
    for count in [1_000, 24_000] {
        group.throughput(Throughput::Elements(count as u64));
        for (name, edges) in families(count) {
            let graph = edges.graph();
            let mut heads = vec![BlockHead::default(); graph.len()];
            let mut orders = vec![BlockOrder::default(); graph.len()];
            let mut scratch = AnalysisScratch::default();
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| annotate(graph, &mut heads, &mut orders, &mut scratch));
            });
            let other = petgraph_of(graph);
            group.bench_function(BenchmarkId::new(format!("{name} by petgraph"), count), |bencher| {
                bencher.iter(|| simple_fast(black_box(&other), NodeIndex::new(0)));
            });
        }
    }
    group.finish();
}

/// One made function of a size, a block for every five instructions.
fn growth(criterion: &mut Criterion<CpuTime>) {
    let mut group = group(criterion, "growth", 2);
    for inst_count in [100, 1_000, 10_000, 120_000, 200_000] {
        let mut all = functions(&[ptxopt_bench::kernels::module(1, inst_count)]);
        let mut flow = ControlFlow::default();
        group.throughput(Throughput::Elements(all.inst_count));
        group.bench_function(BenchmarkId::new("together", inst_count), |bencher| {
            bencher.iter(|| flow.find(&mut all));
        });
    }
    group.finish();
}

/// The service, asked 131 times in a row on one unchanged function.
fn repeated(criterion: &mut Criterion<CpuTime>) {
    let text = ptxopt_bench::kernels::module(1, 10_000);
    let mut all = functions(&[text]);
    let mut scratch = AnalysisScratch::default();
    let tables = &mut all.modules[0];
    bring_up_to_date(tables.annotated(CodeId(0)), &all.forms, &mut scratch);
    let mut group = group(criterion, "service", 1);
    group.bench_function("131 calls", |bencher| {
        bencher.iter(|| {
            for _ in 0..131 {
                black_box(bring_up_to_date(tables.annotated(CodeId(0)), &all.forms, &mut scratch));
            }
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = sets, graphs, growth, repeated
}
criterion_main!(benches);
