//! The World against plain arrays: what keeping the tables in an ECS costs.
//!
//! The same four steps (control flow, split, dead code, sweep) run once through a [`Shard`], its World and its
//! Schedule, and once as calls of the same functions over plain [`CodeTables`]. Both read the same text and must
//! write the same bytes. The two take turns on each batch, so that what else runs on the machine hits both; times
//! are CPU time of the thread, least and median over the rounds, in nanoseconds an instruction.
//!
//! ```text
//! cargo bench -p ptxopt-bench --bench tables [-- --rounds N] [-- --only world|arrays] [-- --load WORD]
//! ```
//!
//! `--only` runs one of the two without measuring, for profilers that count instructions; `--load` those loads whose
//! names have a word.

use ptxopt_bench::clock::{minimum_and_median, thread_time};
use ptxopt_bench::{kernels, modules};
use ptxopt_components::block::{BlockFlags, BlockHead};
use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id, InstId};
use ptxopt_components::instruction::InstLinks;
use ptxopt_engine::edit::{FunctionEditor, PlainEditor};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, bring_up_to_date};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::{FunctionText, Module};
use ptxopt_engine::ptx::writer::{WriterScratch, write_function};
use ptxopt_engine::run::batches::cut;
use ptxopt_engine::run::facts::CodeFacts;
use ptxopt_engine::run::phase::{Limits, Phase, Plan, Settings, Step, Verify};
use ptxopt_engine::run::shard::Shard;
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_engine::values::reaching::ReachingValues;
use ptxopt_systems::analyze::control_flow;
use ptxopt_systems::flow::split_at_control_flow;
use ptxopt_systems::upkeep::sweep;
use ptxopt_systems::values::eliminate_dead::{self, FullScratch, Unread};
use std::hint::black_box;
use std::time::Instant;

/// Instructions of a measurement: enough for branch predictors not to know them all.
const MODULE_INSTS: usize = 200_000;

/// The steps of a run: number, name, phase.
static STEPS: [(u16, &str, &Phase); 4] = [
    (3, "control flow", &control_flow::PHASE),
    (6, "split", &split_at_control_flow::PHASE),
    (16, "dead code", &eliminate_dead::EARLY),
    (76, "sweep", &sweep::PHASE),
];

/// What is measured of a run.
const PARTS: [&str; 8] =
    ["read", STEPS[0].1, STEPS[1].1, STEPS[2].1, STEPS[3].1, "all phases", "write", "everything"];

/// Nanoseconds by part.
type Times = [f64; PARTS.len()];

fn plan() -> Plan {
    let step = |&(number, name, phase): &(u16, &'static str, &'static Phase)| Step {
        number,
        name,
        phase,
        dump: false,
        verified: false,
    };
    Plan {
        steps: STEPS.iter().map(step).collect(),
        analyses: &[&control_flow::ANALYSIS],
        checks: &[],
        verify: Verify::Off,
        fuel: None,
        remarks: false,
        fingerprint: None,
        limits: Limits { time_ms: 60_000, memory: u64::MAX, growth_percent: 200 },
        settings: Settings::default(),
        careful: Settings::default(),
        keep_rolled: false,
        keep_grown: false,
    }
}

/// The text of a batch after a run, and the number of instructions in it.
struct Written {
    text: Vec<u8>,
    insts_out: usize,
}

/// Runs a batch in a shard.
fn run_in_world(
    shard: &mut Shard,
    module: &Module<'_>,
    functions: &[FunctionText],
    times: &mut Times,
) -> Written {
    let start = thread_time();
    let output = shard.run(module, functions).unwrap_or_else(|error| panic!("{error:?}"));
    let whole = thread_time() - start;
    let steps = output.steps.iter().map(|step| step.ns as f64);
    let read = output.read.as_nanos() as f64;
    let rest = [output.phases, output.write, whole].map(|time| time.as_nanos() as f64);
    for (sum, time) in times.iter_mut().zip(std::iter::once(read).chain(steps).chain(rest)) {
        *sum += time;
    }
    Written { insts_out: output.functions.iter().map(|function| function.insts_out).sum(), text: output.text }
}

/// Everything that a shard owns, as plain fields.
#[derive(Default)]
struct Arrays {
    tables: CodeTables,
    forms: FormTable,
    editor: PlainEditor,
    reader: ReaderScratch,
    writer: WriterScratch,
    analysis: AnalysisScratch,
    values: ReachingValues,
    scratch: FullScratch,
    splits: Vec<InstId>,
}

impl Arrays {
    fn run(&mut self, module: &Module<'_>, functions: &[FunctionText], times: &mut Times) -> Written {
        let start = thread_time();
        read(module, functions, &mut self.forms, &mut self.reader, &mut self.tables)
            .expect("the text is PTX");
        self.tables.code_facts.resize(self.tables.code_spans.len(), CodeFacts::default());
        self.tables.inst_links.resize(self.tables.inst_heads.len(), InstLinks::default());
        let loaded = thread_time();
        let mut began = Instant::now();
        for (step, sum) in times[1..=STEPS.len()].iter_mut().enumerate() {
            self.editor.journal.clear();
            match step {
                0 => self.analyze(),
                1 => self.each(|f, _, splits| split_at_control_flow::split(f, splits)),
                2 => {
                    self.analyze();
                    let mut values = std::mem::take(&mut self.values);
                    self.each(|f, scratch, _| {
                        eliminate_dead::eliminate(f, &mut values, scratch, Unread::Stays)
                    });
                    self.values = values;
                }
                _ => self.sweep(),
            }
            let now = Instant::now();
            *sum += (now - began).as_nanos() as f64;
            began = now;
        }
        let ran = thread_time();
        let written = self.write(module);
        let end = thread_time();
        times[0] += (loaded - start).as_nanos() as f64;
        for (sum, time) in times[1 + STEPS.len()..].iter_mut().zip([ran - loaded, end - ran, end - start]) {
            *sum += time.as_nanos() as f64;
        }
        written
    }

    fn write(&mut self, module: &Module<'_>) -> Written {
        let mut written = Written { text: Vec::new(), insts_out: 0 };
        for function in self.tables.view().functions() {
            write_function(&function, &self.forms, module.text, &mut self.writer, &mut written.text);
            let is_live = |block: &&BlockHead| !block.flags.contains(BlockFlags::DEAD);
            black_box(function.blocks.iter().filter(is_live).count());
            written.insts_out += function.live_inst_count();
        }
        written
    }

    /// As the system of [`analyze_control_flow`].
    fn analyze(&mut self) {
        for code in (0..self.tables.code_spans.len()).map(CodeId::new) {
            if !self.tables.code_states[code.index()].flags.contains(CodeFlags::LEFT) {
                bring_up_to_date(self.tables.annotated(code), &self.forms, &mut self.analysis);
            }
        }
    }

    /// Opens every function that phases work on.
    fn each(&mut self, mut work: impl FnMut(&mut FunctionEditor<'_>, &mut FullScratch, &mut Vec<InstId>)) {
        for code in (0..self.tables.code_spans.len()).map(CodeId::new) {
            if !self.tables.code_states[code.index()].flags.contains(CodeFlags::LEFT) {
                let mut f = self.editor.edit(&mut self.tables, &mut self.forms, code);
                work(&mut f, &mut self.scratch, &mut self.splits);
            }
        }
    }

    fn sweep(&mut self) {
        for code in (0..self.tables.code_spans.len()).map(CodeId::new) {
            self.editor.compact(&mut self.tables, code, |_| true);
        }
    }
}

/// Modules to run, and what they are.
struct Load {
    name: String,
    texts: Vec<Vec<u8>>,
}

fn loads() -> Vec<Load> {
    let made = [60, 1_000].map(|inst_count| Load {
        name: format!("functions of {inst_count} instructions"),
        texts: vec![kernels::module(MODULE_INSTS / inst_count, inst_count)],
    });
    let corpus = Load {
        name: "corpus, a batch or more a module".to_owned(),
        texts: modules::sets().swap_remove(0).texts,
    };
    made.into_iter().chain([corpus]).collect()
}

/// Which of the two runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Both,
    World,
    Arrays,
}

/// Runs every batch in both worlds; gives the instructions that went in.
fn round(modules: &[Module<'_>], shard: &mut Shard, arrays: &mut Arrays, only: Only, times: &mut [Times; 2]) {
    let mut world_first = false;
    for module in modules {
        for functions in cut(&module.functions) {
            world_first = !world_first;
            let mut world = |times: &mut Times| {
                (only != Only::Arrays).then(|| run_in_world(shard, module, functions, times))
            };
            let mut plain =
                |times: &mut Times| (only != Only::World).then(|| arrays.run(module, functions, times));
            let [world_times, plain_times] = times;
            let (in_world, in_arrays) = if world_first {
                let in_world = world(world_times);
                (in_world, plain(plain_times))
            } else {
                let in_arrays = plain(plain_times);
                (world(world_times), in_arrays)
            };
            if let (Some(in_world), Some(in_arrays)) = (&in_world, &in_arrays) {
                assert!(in_world.text == in_arrays.text, "both write the same bytes");
                assert_eq!(in_world.insts_out, in_arrays.insts_out);
            }
        }
    }
}

fn measure(load: &Load, rounds: usize, only: Only) {
    let scan = |text| Module::scan(text).expect("the text is PTX");
    let modules: Vec<Module<'_>> = load.texts.iter().map(|text| scan(text)).collect();
    let (mut shard, mut arrays) = (Shard::new(&plan()), Arrays::default());
    let inst_count = {
        let reports = load.texts.iter().map(|text| ptxopt::optimize(text, &ptxopt::Options::default()));
        reports.map(|output| output.expect("the text is PTX").report.instructions_in).sum::<u64>() as f64
    };
    // The first round grows the memory of both.
    let mut samples = Vec::new();
    for at in 0..=rounds {
        let mut times = [Times::default(); 2];
        round(&modules, &mut shard, &mut arrays, only, &mut times);
        if at > 0 {
            samples.push(times.map(|times| times.map(|time| time / inst_count)));
        }
    }
    let batch_count: usize = modules.iter().map(|module| cut(&module.functions).len()).sum();
    println!("\n{}: {inst_count} instructions in {batch_count} batches, {rounds} rounds", load.name);
    if only != Only::Both {
        return;
    }
    println!("{:16}{:>16}{:>18}{:>20}", "ns/instruction", "arrays", "World", "World / arrays");
    println!(
        "{:16}{:>8}{:>8}{:>10}{:>8}{:>12}{:>8}",
        "", "min", "median", "min", "median", "of min", "median"
    );
    for (part, name) in PARTS.iter().enumerate() {
        let column = |of: usize| samples.iter().map(|times| times[of][part]).collect::<Vec<_>>();
        let ratios: Vec<f64> = samples.iter().map(|times| times[0][part] / times[1][part]).collect();
        let ((world, world_median), (plain, plain_median)) =
            (minimum_and_median(&column(0)), minimum_and_median(&column(1)));
        println!(
            "{name:16}{plain:8.2}{plain_median:8.2}{world:10.2}{world_median:8.2}{:12.3}{:8.3}",
            world / plain,
            minimum_and_median(&ratios).1
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let rounds = value("--rounds").map_or(40, |rounds| rounds.parse().expect("a number of rounds"));
    let only = match value("--only").map(String::as_str) {
        Some("world") => Only::World,
        Some("arrays") => Only::Arrays,
        _ => Only::Both,
    };
    let wanted = value("--load").map_or("", String::as_str);
    for load in loads().iter().filter(|load| load.name.contains(wanted)) {
        measure(load, rounds, only);
    }
}
