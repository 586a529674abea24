//! `ptxopt profile`: where the batch spends its time.
//!
//! The modules are read once and then optimized over and over under a sampling profiler; nothing is written but the
//! flame graph. Beside it go tables: what share of the samples fell into each source file (what the standard library
//! did for it included), and into each function.

use super::arguments::ProfileArguments;
use super::{FAILED, SUCCESS, USAGE, complain, print};
use crate::files::STANDARD_STREAM;
use crate::options::Options;
use crate::{batch, files};
use anyhow::{Context, Result, bail};
use pprof::{Frames, ProfilerGuardBuilder, Report, Symbol};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Samples a second of CPU time that are asked for. Kernels that count time in steps of 4 ms give 250.
const FREQUENCY: i32 = 997;

/// Crates of the workspace, as they stand in paths of source files.
const CRATES: [&str; 4] = ["components/src/", "engine/src/", "systems/src/", "pipelines/src/"];

/// Profiles the batch, draws its flame graph, and prints the tables. Status 1 where a module cannot be optimized.
pub fn run(arguments: &ProfileArguments, options: &Options) -> Result<u8> {
    if arguments.flamegraph == Path::new(STANDARD_STREAM) {
        complain("error", "`--flamegraph -`: the tables of a profile go to standard output");
        return Ok(USAGE);
    }
    let mut status = SUCCESS;
    let mut texts = Vec::new();
    let modules = files::modules(&arguments.paths)?;
    if let Some(module) = modules.iter().find(|module| files::are_same(module, &arguments.flamegraph)) {
        complain("error", format!("the flame graph would be written over `{}`", module.display()));
        return Ok(USAGE);
    }
    for path in modules {
        let text = files::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        match crate::optimize(&text, options) {
            Ok(_) => texts.push(text),
            Err(diagnostics) => {
                complain("error", diagnostics.summary(&path.display().to_string(), &text));
                status = FAILED;
            }
        }
    }
    if texts.is_empty() {
        bail!("no module to profile");
    }
    let pool = batch::pool(options.threads)?;
    let guard = ProfilerGuardBuilder::default().frequency(FREQUENCY).build()?;
    let work = pool.install(|| repeat(&texts, options, Duration::from_secs(arguments.seconds)));
    let report = guard.report().frames_post_processor(name_by_file).build()?;
    drop(guard);
    if report.data.is_empty() {
        bail!("no sample was taken: profile for longer");
    }

    let mut drawing = Vec::new();
    report.flamegraph(&mut drawing)?;
    files::write(&arguments.flamegraph, &drawing)
        .with_context(|| format!("cannot write `{}`", arguments.flamegraph.display()))?;
    print(&(work.render(texts.len()) + &tables(&report, arguments.top)))?;
    Ok(status)
}

/// What was done under the profiler.
struct Work {
    rounds: u64,
    insts: u64,
    time: Duration,
}

impl Work {
    fn render(&self, module_count: usize) -> String {
        let Work { rounds, insts, time } = self;
        let rate = *insts as f64 / time.as_secs_f64();
        let time = time.as_secs_f64();
        format!(
            "{module_count} modules {rounds} times, {insts} instructions, {time:.2} s, {rate:.0} a second\n"
        )
    }
}

/// Optimizes all modules, again and again until `time` is over.
fn repeat(texts: &[Vec<u8>], options: &Options, time: Duration) -> Work {
    let start = Instant::now();
    let mut work = Work { rounds: 0, insts: 0, time: Duration::ZERO };
    while work.rounds == 0 || work.time < time {
        let counts = texts.par_iter().map(|text| crate::optimize(text, options));
        work.insts +=
            counts.map(|output| output.map_or(0, |output| output.report.instructions_in)).sum::<u64>();
        work.rounds += 1;
        work.time = start.elapsed();
    }
    work
}

/// The path of a source file inside the workspace.
fn file_of(symbol: &Symbol) -> Option<&str> {
    let path = symbol.filename.as_deref()?.to_str()?;
    CRATES.iter().find_map(|folder| path.find(folder)).map(|at| &path[at..])
}

/// Line tables name functions without their module: puts the file after the name. Leaves out what is around the
/// first function of the library.
fn name_by_file(frames: &mut Frames) {
    let is_inside = |frame: &Vec<Symbol>| {
        frame.iter().filter_map(file_of).any(|file| !file.starts_with("pipelines/src/command/"))
    };
    let depth = frames.frames.iter().rposition(is_inside).map_or(1, |at| at + 1);
    frames.frames.truncate(depth);
    for symbol in frames.frames.iter_mut().flatten() {
        if let Some(file) = file_of(symbol) {
            symbol.name = Some(format!("{} ({file})", symbol.name()).into_bytes());
        }
    }
}

/// Files by samples in their own code, functions by samples in themselves, and functions of the workspace by samples
/// in them and what they call; the first `count` of each.
fn tables(report: &Report, count: usize) -> String {
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
    let mut text = String::new();
    for (title, samples) in
        [("by file", by_file), ("by function, own", own), ("by function, with callees", inclusive)]
    {
        let mut rows: Vec<(String, isize)> = samples.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let _ = writeln!(text, "\n{title}, {total} samples");
        for (name, samples) in rows.into_iter().take(count) {
            let _ = writeln!(text, "{:6.2} %  {name}", samples as f64 * 100.0 / total.max(1) as f64);
        }
    }
    text
}
