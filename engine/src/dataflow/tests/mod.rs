//! The solvers against their definitions, on small random functions and on ones worked out by hand. They take seconds; the
//! oracles of the `tests` crate see more and larger functions.

mod dominance;
mod liveness;
mod pressure;
mod uniformity;
mod uninitialised;
mod values;

use crate::dataflow::liveness::{LiveSet, LivenessScratch, solve};
use crate::forms::FormTable;
use crate::graph::analyze::{AnalysisScratch, annotate};
use crate::graph::edges::Graph;
use crate::ptx::reader::{ReaderScratch, read};
use crate::ptx::scan::Module;
use crate::store::tables::CodeTables;
use crate::store::view::FunctionView;
use ptxopt_components::ids::{BlockId, Id, VRegId};
use std::fmt::Write;

/// A module's tables, with the control-flow facts of its only function.
pub(super) struct Built {
    text: String,
    pub(super) tables: CodeTables,
    pub(super) forms: FormTable,
}

impl Built {
    pub(super) fn of_module(text: String) -> Self {
        let (mut tables, mut forms) = (CodeTables::default(), FormTable::default());
        let module = Module::scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
        read(&module, &module.functions, &mut forms, &mut ReaderScratch::default(), &mut tables)
            .unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
        let rows = tables.code_spans[0].blocks.range();
        let graph = Graph { edges: &tables.block_edges[rows.clone()], pool: &tables.pools.edges };
        let heads = &mut tables.block_heads[rows.clone()];
        annotate(graph, heads, &mut tables.block_orders[rows], &mut AnalysisScratch::default());
        Self { text, tables, forms }
    }

    /// A kernel with `body`, whose blocks are `B0`, `B1` and so on. An unreachable branch at the end leads to all of them,
    /// so that each label starts a block.
    pub(super) fn kernel(body: &str) -> Self {
        let labels: Vec<&str> =
            body.split_ascii_whitespace().filter_map(|word| word.strip_suffix(':')).collect();
        // A table is named by a label, too.
        let labels = labels.into_iter().filter(|label| *label != "T");
        let all = ["TAIL"].into_iter().chain(labels).collect::<Vec<_>>().join(", ");
        Self::of_module(format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.global .u32 g;\n.func f();\n\
             .entry k(.param .u32 n) {{\n.reg .b16 %h<4>; .reg .b32 %r<300>; .reg .b64 %rd<8>; .reg .b128 %q<2>; \
             .reg .pred %p<8>;\n{body}\nret;\n\
             TAIL: ALL: .branchtargets {all}; brx.idx %r0, ALL;\n}}\n"
        ))
    }

    pub(super) fn function(&self) -> FunctionView<'_> {
        self.tables.view().function(Id::new(0))
    }

    /// The register called `name`, which the text uses: `%rd3`.
    pub(super) fn vreg(&self, name: &str) -> VRegId {
        let digits = name.find(|c: char| c.is_ascii_digit()).expect("registers of the tests are numbered");
        let prefix = self.tables.pools.names.find(self.text.as_bytes(), &name.as_bytes()[..digits]);
        let wanted = (prefix.expect("the text names it"), name[digits..].parse().expect("a number"));
        let is_it = |vreg: &VRegId| {
            let name = self.tables.vreg_names[vreg.index()];
            (name.prefix, name.number) == wanted
        };
        self.function().vreg_ids().find(is_it).expect("the text uses it")
    }

    /// The block that starts at the label `name`.
    pub(super) fn block(&self, name: &str) -> BlockId {
        let function = self.function();
        let bytes = |block: BlockId| {
            let label = function.labels[block.index()].name.get()?;
            Some(function.pools.names.bytes(self.text.as_bytes(), label))
        };
        function.block_ids().find(|&block| bytes(block) == Some(name.as_bytes())).expect("a label")
    }

    pub(super) fn live_set(&self) -> LiveSet {
        let mut set = LiveSet::default();
        solve(&self.function(), &self.forms, &mut LivenessScratch::default(), &mut set);
        set
    }
}

/// A linear congruential generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// What random functions look like.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// Branches from anywhere to anywhere; a few registers that are written all the time.
    Wild,
    /// Blocks that fall through, with a short branch now and then; many registers that few instructions name. Most groups
    /// of consecutive blocks are left by their last one only, and most registers live through groups that do not name
    /// them.
    Calm,
}

/// A chain of blocks with a few branches over many of them in both directions, and few registers that are named rarely. Every
/// third has a return, every fourth an unreachable block.
pub(super) fn chain(seed: u64, block_count: usize) -> Built {
    let mut random = Random::new(seed);
    let mut lines = vec![String::new(); block_count];
    for _ in 0..40 {
        let (at, number) = (random.below(block_count), random.below(8));
        lines[at] = match random.below(6) {
            0 => format!("mov.u32 %r{number}, 1;"),
            1 => format!("@%p2 mov.u32 %r{number}, 1;"),
            2 | 3 => format!("st.global.u32 [g], %r{number};"),
            _ => format!("@%p{} bra B{};", number % 4, random.below(block_count)),
        };
    }
    if seed.is_multiple_of(3) {
        lines[random.below(block_count)] = String::from("ret;");
    }
    if seed.is_multiple_of(4) {
        let at = random.below(block_count - 2);
        lines[at] = format!("bra B{};", at + 2);
    }
    let body: String = lines.iter().enumerate().map(|(at, line)| format!("B{at}: {line}\n")).collect();
    Built::kernel(&body)
}

/// A function made at random.
pub(super) fn random(seed: u64, style: Style, block_count: usize) -> Built {
    let mut random = Random::new(seed);
    let register_count = match style {
        Style::Wild => 2 + random.below(8),
        Style::Calm => 100,
    };
    let mut body = String::new();
    for block in 0..block_count {
        write!(body, "B{block}: ").expect("a string takes everything");
        let statement_count = match style {
            Style::Wild => random.below(5),
            Style::Calm => random.below(2),
        };
        for _ in 0..statement_count {
            let statement = statement(&mut random, register_count);
            body.push_str(&statement);
        }
        leave(&mut random, style, block, block_count, &mut body);
    }
    Built::kernel(&body)
}

fn statement(random: &mut Random, register_count: usize) -> String {
    let [a, b, c] = std::array::from_fn(|_| 1 + random.below(register_count));
    let guard = match random.below(4) {
        0 => format!("@%p{} ", random.below(3)),
        1 => format!("@!%p{} ", random.below(3)),
        _ => String::new(),
    };
    let rest = match random.below(6) {
        0 => format!("mov.u32 %r{a}, 7;"),
        1 => format!("add.u32 %r{a}, %r{b}, %r{c};"),
        2 => format!("st.global.u32 [g], %r{a};"),
        3 => format!("setp.lt.u32 %p{}, %r{a}, %r{b};", random.below(3)),
        4 => format!("mov.b64 %rd{}, {{%r{a}, %r{b}}};", random.below(3)),
        _ => format!("add.u32 %r{a}, %r{a}, 1;"),
    };
    format!("{guard}{rest}\n")
}

fn leave(random: &mut Random, style: Style, block: usize, block_count: usize, body: &mut String) {
    let guard = format!("@%p{} ", random.below(3));
    let far = random.below(block_count);
    let near = (block + random.below(7)).saturating_sub(2).min(block_count - 1);
    let line = match (style, random.below(24)) {
        (Style::Wild, 0..8) => format!("{guard}bra B{far};"),
        (Style::Wild, 8..14) => format!("bra B{near};"),
        (Style::Wild, 14..16) => "ret;".to_owned(),
        (Style::Wild, 16) => format!("{guard}exit;"),
        (Style::Calm, 0..3) => format!("{guard}bra B{near};"),
        (Style::Calm, 3) => format!("bra B{};", (block + 1 + random.below(3)).min(block_count - 1)),
        (Style::Calm, 5) if random.below(8) == 0 => "ret;".to_owned(),
        (Style::Calm, 4) if random.below(12) == 0 => format!("{guard}bra B{far};"),
        _ => String::new(),
    };
    body.push_str(&line);
    body.push('\n');
}
