//! Functions for the tests of the verifiers: read from PTX text, to be broken in one place.

use ptxopt_components::block::{BlockHead, BlockLabel};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use ptxopt_engine::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use ptxopt_engine::dataflow::uniformity::{self, Uniformity};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate};
use ptxopt_engine::graph::build::connect;
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::store::view::FunctionView;
use std::path::PathBuf;

/// Splitmix64.
pub(crate) struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A number that each bit of `number` has changed.
pub(crate) fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A batch of one function and what its ids mean.
#[derive(Default)]
pub(crate) struct Built {
    /// The module's text.
    pub text: Vec<u8>,
    /// The tables.
    pub tables: CodeTables,
    /// The forms that the tables name.
    pub forms: FormTable,
}

impl Built {
    /// The function.
    pub fn function(&self) -> FunctionView<'_> {
        self.tables.view().function(Id::new(0))
    }

    /// The register of a range by its prefix and number.
    pub fn vreg(&self, prefix: &str, number: u32) -> VRegId {
        let prefix = self.tables.pools.names.find(&self.text, prefix.as_bytes()).expect("the text names it");
        let is_it = |vreg: &VRegId| {
            let name = self.tables.vreg_names[vreg.index()];
            (name.prefix, name.number) == (prefix, number)
        };
        self.function().vreg_ids().find(is_it).expect("the text uses it")
    }

    /// Computes the control-flow facts of every function.
    pub fn analyze(&mut self) {
        let tables = &mut self.tables;
        let mut scratch = AnalysisScratch::default();
        for (state, spans) in tables.code_states.iter_mut().zip(&tables.code_spans) {
            let rows = spans.blocks.range();
            let graph = Graph { edges: &tables.block_edges[rows.clone()], pool: &tables.pools.edges };
            let heads = &mut tables.block_heads[rows.clone()];
            let violates = annotate(graph, heads, &mut tables.block_orders[rows], &mut scratch);
            state.flags.set(CodeFlags::RPO_VIOLATION, violates);
        }
    }
}

/// Lets control flow stand in mid-block again, where the reader has ended a block at it: verifiers see blocks of any kind.
fn join_unlabelled(tables: &mut CodeTables) {
    let mut new_of: Vec<BlockId> = Vec::new();
    let mut joined: Vec<(BlockHead, BlockLabel)> = Vec::new();
    for (head, label) in tables.block_heads.iter().zip(&tables.block_labels) {
        match joined.last_mut() {
            Some((before, _)) if label.name.is_none() => before.insts.count += head.insts.count,
            _ => joined.push((*head, *label)),
        }
        new_of.push(BlockId::new(joined.len() - 1));
    }
    tables.block_heads = joined.iter().map(|(head, _)| *head).collect();
    tables.block_labels = joined.iter().map(|(_, label)| *label).collect();
    tables.block_edges.truncate(joined.len());
    tables.block_orders.truncate(joined.len());
    tables.code_spans[0].blocks.count = joined.len() as u32;
    tables.code_states[0].flags -= CodeFlags::TERMINATORS_LAST;
    for (head, row) in tables.inst_heads.iter_mut().zip(&mut tables.inst_operands) {
        head.block = new_of[head.block.index()];
        for operand in row.get_mut(head.operand_count, &mut tables.pools.operands) {
            if let Some(block) = operand.as_block() {
                *operand = operand.with_block(new_of[block.index()]);
            }
        }
    }
    tables.pools.targets.iter_mut().for_each(|target| *target = new_of[target.index()]);
    tables.pools.anchors.iter_mut().for_each(|anchor| anchor.block = new_of[anchor.block.index()]);
    tables.pools.edges.clear();
    let spans = tables.code_spans[0];
    connect(tables, &spans);
}

/// Reads a module with one function.
pub(crate) fn module(text: String) -> Built {
    let text = text.into_bytes();
    let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
    let module = Module::scan(&text).expect("a test's module is well-formed");
    read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
        .expect("a test's function is well-formed");
    if tables.code_spans.len() == 1 {
        join_unlabelled(&mut tables);
    }
    Built { text, tables, forms }
}

/// Reads a kernel with the given body.
pub(crate) fn kernel(body: &str) -> Built {
    let head = ".version 8.6\n.target sm_90a\n.address_size 64\n.global .u32 g;\n.func f(.param .b32 a);";
    module(format!("{head}\n.entry k(.param .u64 p) {{{body}}}"))
}

/// Reads a kernel with the given body and computes its control-flow facts.
pub(crate) fn analyzed(body: &str) -> Built {
    let mut built = kernel(body);
    built.analyze();
    built
}

/// The live sets of the function, whose control-flow facts hold.
pub(crate) fn solved(built: &Built) -> LiveSet {
    let mut set = LiveSet::default();
    solve(&built.function(), &built.forms, &mut LivenessScratch::default(), &mut set);
    set
}

/// Every module of the corpus, of the forms, and of the wild set where it was made.
pub(crate) fn modules() -> Vec<PathBuf> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let mut folders = vec![tests.join("corpus"), tests.join("forms")];
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    if let Some(cache) =
        cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
    {
        folders.push(cache.join("ptxopt/wild-1"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// As [`analyzed`], with a block at each label in capitals: unreachable branches name them all, so that branches end their blocks.
pub(crate) fn labelled(body: &str) -> Built {
    let labels = body.split_ascii_whitespace().filter_map(|word| word.strip_suffix(':'));
    let labels = labels.filter(|label| label.bytes().all(|byte| byte.is_ascii_uppercase()));
    let branches: String = labels.map(|label| format!(" bra {label};")).collect();
    analyzed(&format!("{body}{branches}"))
}

/// Loops, live sets and verdicts of a function whose control-flow facts hold.
pub(crate) fn verdicts(built: &Built) -> (LoopNest, LiveSet, Uniformity) {
    let function = built.function();
    let graph = Graph { edges: function.edges, pool: &function.pools.edges };
    let (mut nest, mut out) = (LoopNest::default(), Uniformity::default());
    build_nest(graph, function.blocks, function.orders, &mut NestScratch::default(), &mut nest);
    let set = solved(built);
    uniformity::solve(&function, &built.forms, &nest, &set, &mut uniformity::Scratch::default(), &mut out);
    (nest, set, out)
}
