//! Draws where the batch spends its time.
//!
//! ```text
//! cargo run --release -p ptxopt-bench --bin flamegraph -- --out target/flamegraph.svg [PATH...]
//! ```
//!
//! Optimizes the modules under the paths, or the corpus and the wild set, some times over on one thread, with a
//! sampling profiler on. Writes the flame graph, and prints what share of the samples fell into each source file of
//! the workspace (what the standard library did for it included) and into each function.

use anyhow::{Context, Result};
use clap::Parser;
use pprof::{Frames, Symbol};
use ptxopt::{Options, optimize};
use ptxopt_bench::clock::process_time;
use ptxopt_bench::modules;
use rayon::ThreadPoolBuilder;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::PathBuf;

/// Samples a second that are asked for. Kernels that count time in steps of 4 ms give 250.
const FREQUENCY: i32 = 997;

/// Crates of the workspace, as they stand in paths of source files.
const CRATES: [&str; 4] = ["components/src/", "engine/src/", "systems/src/", "pipelines/src/"];

/// Profiles the batch and draws a flame graph.
#[derive(Parser)]
struct Arguments {
    /// Files and folders to optimize; the corpus and the wild set by default
    paths: Vec<PathBuf>,
    /// Where the flame graph goes
    #[arg(long, default_value = "target/flamegraph.svg")]
    out: PathBuf,
    /// How often to optimize each module
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Optimization level
    #[arg(short = 'O', default_value_t = 2)]
    level: u8,
    /// How many functions to list
    #[arg(long, default_value_t = 40)]
    top: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let paths = if arguments.paths.is_empty() {
        std::iter::once(modules::corpus_folder()).chain(modules::wild_folder()).collect()
    } else {
        arguments.paths
    };
    let texts = modules::read_all(&paths);
    let level = ptxopt::OptLevel::ALL.into_iter().nth(usize::from(arguments.level));
    let options = Options { level: level.context("levels are 0 to 3")?, ..Options::default() };
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let guard = pprof::ProfilerGuardBuilder::default().frequency(FREQUENCY).build()?;
    let start = process_time();
    let inst_count = pool.install(|| {
        let all = (0..arguments.rounds).flat_map(|_| &texts);
        all.map(|text| optimize(text, &options).map_or(0, |output| output.report.instructions_in))
            .sum::<u64>()
    });
    let spent = process_time() - start;
    let report = guard.report().frames_post_processor(name_by_file).build()?;
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder)?;
    }
    report.flamegraph(File::create(&arguments.out).with_context(|| arguments.out.display().to_string())?)?;
    println!(
        "{} modules {} times, {inst_count} instructions, {:.2} s, {:.0} ns an instruction",
        texts.len(),
        arguments.rounds,
        spent.as_secs_f64(),
        spent.as_nanos() as f64 / inst_count.max(1) as f64
    );
    print_top(&report, arguments.top);
    println!("flame graph: {}", arguments.out.display());
    Ok(())
}

/// The path of a source file inside the workspace.
fn file_of(symbol: &Symbol) -> Option<&str> {
    let path = symbol.filename.as_deref()?.to_str()?;
    CRATES.iter().find_map(|folder| path.find(folder)).map(|at| &path[at..])
}

/// Line tables name functions without their module: puts the file behind the name. Leaves out what is around the
/// first function of the library.
fn name_by_file(frames: &mut Frames) {
    let is_ours = |frame: &Vec<Symbol>| frame.iter().any(|symbol| file_of(symbol).is_some());
    let depth = frames.frames.iter().rposition(is_ours).map_or(1, |at| at + 1);
    frames.frames.truncate(depth);
    for symbol in frames.frames.iter_mut().flatten() {
        if let Some(file) = file_of(symbol) {
            symbol.name = Some(format!("{} ({file})", symbol.name()).into_bytes());
        }
    }
}

/// Lists files by samples in their own code, functions by samples in themselves, and functions of the workspace by
/// samples in them and what they call.
fn print_top(report: &pprof::Report, count: usize) {
    let mut total = 0;
    let [mut by_file, mut own, mut inclusive] = [(); 3].map(|()| HashMap::<String, isize>::new());
    for (stack, &samples) in &report.data {
        total += samples;
        let symbols = || stack.frames.iter().flatten();
        let file = symbols().find_map(file_of).unwrap_or("outside the workspace");
        *by_file.entry(file.to_owned()).or_default() += samples;
        *own.entry(symbols().next().map_or_else(String::new, Symbol::name)).or_default() += samples;
        let mut names: Vec<String> =
            symbols().filter(|symbol| file_of(symbol).is_some()).map(Symbol::name).collect();
        // A recursive function is in its stack more than once.
        names.sort_unstable();
        names.dedup();
        names.into_iter().for_each(|name| *inclusive.entry(name).or_default() += samples);
    }
    for (title, samples) in
        [("by file", by_file), ("by function, own", own), ("by function, with callees", inclusive)]
    {
        let mut rows: Vec<(String, isize)> = samples.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        println!("\n{title}, {total} samples");
        for (name, samples) in rows.into_iter().take(count) {
            println!("{:6.2} %  {name}", samples as f64 * 100.0 / total.max(1) as f64);
        }
    }
    println!();
}
