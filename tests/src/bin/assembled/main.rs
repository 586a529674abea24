//! Writes `docs/ASSEMBLED.md`: what the assembler makes of modules before and after this optimizer.
//!
//! ```text
//! tests/tools/assembled                                       # with clang and a sample of the wild set, where they are there
//! cargo run --release -p ptxopt-tests --bin assembled         # the corpus only
//! ```
//!
//! One program runs at a time, since the time of programs that end is known for all of them together only.

mod page;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use ptxopt::{Options, optimize};
use ptxopt_tests::assembly::Assembly;
use ptxopt_tests::clock::cpu_time;
use ptxopt_tests::modules::{ModuleFile, corpus, modules_in, tests_folder};
use ptxopt_tests::ptxas::{Ptxas, is_for_debugger};
use ptxopt_tests::say::say;
use ptxopt_tests::sets::{Fate, Set};
use rayon::ThreadPoolBuilder;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compares what the assembler makes of modules before and after the optimizer.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Arguments {
    /// A folder that `tests/corpus/regenerate --timed` has filled
    #[arg(long)]
    clang: Option<PathBuf>,
    /// A folder of other modules
    #[arg(long)]
    wild: Option<PathBuf>,
    /// Take every Nth of the other modules
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Runs of which the fastest counts
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Runs of each of the other modules
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    wild_runs: u32,
    /// Where the page goes, if not to `docs/ASSEMBLED.md`
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A module that was assembled.
struct Row {
    name: String,
    /// As it came, at -O3.
    before: Assembly,
    /// As the optimizer leaves it, at -O3.
    after: Assembly,
    /// As the optimizer leaves it, at -O1.
    quick: Assembly,
    /// As the optimizer leaves it where it asks that no loop is unrolled, at -O3.
    rolled: Assembly,
    /// CPU time of the optimizer.
    optimizer: Duration,
}

/// What clang's optimizer makes of the C files.
struct Clang {
    /// At -O2, by name of the file.
    full: BTreeMap<String, Assembly>,
    /// Without inlining and the like.
    plain: BTreeMap<String, Assembly>,
    /// CPU time of clang, the least of some runs, by level and name: `O2/aes`.
    times: BTreeMap<String, Duration>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // One thread, so that its CPU time is all that the optimizer takes.
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let ptxas = Ptxas::find().context("there is no assembler")?;
    let corpus = corpus();
    let of = |folders: &[&str]| {
        let is_in = |module: &&ModuleFile| folders.iter().any(|folder| module.name.starts_with(folder));
        corpus.iter().filter(is_in).cloned().collect::<Vec<_>>()
    };
    let unoptimized = measure(&ptxas, &of(&["corpus/O0/"]), arguments.runs)?;
    let optimized = measure(&ptxas, &of(&["corpus/O3/", "corpus/ptx/"]), arguments.runs)?;
    let clang =
        arguments.clang.as_ref().map(|folder| read_clang(&ptxas, folder, arguments.runs)).transpose()?;
    let wild = arguments.wild.as_ref().map(|folder| modules_in("wild", folder));
    let sample: Option<Vec<ModuleFile>> =
        wild.as_ref().map(|modules| modules.iter().step_by(arguments.every as usize).cloned().collect());
    let sample = sample.map(|sample| measure(&ptxas, &sample, arguments.wild_runs)).transpose()?;
    let page = page::page(&page::Found {
        unoptimized: &unoptimized,
        optimized: &optimized,
        wild: sample.as_ref(),
        wild_count: wild.map_or(0, |modules| modules.len()),
        clang: clang.as_ref(),
        arguments,
    })?;
    let kept = tests_folder().with_file_name("docs").join("ASSEMBLED.md");
    let path = arguments.out.as_ref().unwrap_or(&kept);
    fs::write(path, page)?;
    println!("{}", path.display());
    Ok(())
}

fn measure(ptxas: &Ptxas, modules: &[ModuleFile], runs: u32) -> Result<Set<Row>> {
    let fate = |(at, module): (usize, &ModuleFile)| {
        if at % 20 == 0 {
            say(&format!("{at} of {}: {}", modules.len(), module.name));
        }
        fate(ptxas, module, runs)
    };
    modules.iter().enumerate().map(fate).collect()
}

fn fate(ptxas: &Ptxas, module: &ModuleFile, runs: u32) -> Result<Fate<Row>> {
    let text = module.text();
    if is_for_debugger(&text) {
        return Ok(Fate::ForDebugger);
    }
    let (optimized, optimizer) =
        optimized(&text, runs).with_context(|| format!("cannot optimize {}", module.name))?;
    let Ok(before) = Assembly::of(ptxas, &text, &["-O3"]) else { return Ok(Fate::Refused) };
    let name = module.name.clone();
    Ok(match after(ptxas, &text, &optimized, before, runs) {
        Ok([before, after, quick, rolled]) => {
            Fate::Assembled(Row { name, before, after, quick, rolled, optimizer })
        }
        Err(words) => Fate::Spoilt(name, words),
    })
}

/// What the optimizer makes of a module, without and with a request to unroll no loop, and the least CPU time that it took.
fn optimized(text: &[u8], runs: u32) -> Result<([Vec<u8>; 2], Duration)> {
    let options = Options { threads: 1, ..Options::default() };
    let text_of = |options: &Options| {
        optimize(text, options).map(|output| output.text).map_err(|error| anyhow!("{error}"))
    };
    let rolled = text_of(&Options { no_unroll: true, ..options.clone() })?;
    let mut least = Duration::MAX;
    let mut optimized = Vec::new();
    for _ in 0..runs {
        let start = cpu_time();
        optimized = text_of(&options)?;
        least = least.min(cpu_time() - start);
    }
    Ok(([optimized, rolled], least))
}

/// A module as it came, and as the optimizer leaves it: at two levels, and with loops kept rolled. Runs take turns, so that a
/// busy minute costs all of them the same.
fn after(
    ptxas: &Ptxas,
    text: &[u8],
    [optimized, rolled]: &[Vec<u8>; 2],
    before: Assembly,
    runs: u32,
) -> Result<[Assembly; 4], String> {
    let ways = [(text, "-O3"), (optimized, "-O3"), (optimized, "-O1"), (rolled, "-O3")];
    let of = |way: usize| Assembly::of(ptxas, ways[way].0, &[ways[way].1]);
    let mut best = [before, of(1)?, of(2)?, of(3)?];
    for _ in 1..runs {
        for (way, best) in best.iter_mut().enumerate() {
            best.cpu = best.cpu.min(of(way)?.cpu);
        }
    }
    Ok(best)
}

fn read_clang(ptxas: &Ptxas, folder: &Path, runs: u32) -> Result<Clang> {
    let assembled = |level: &str| {
        let modules = modules_in(level, &folder.join(level));
        modules.iter().map(|module| fastest(ptxas, module, runs)).collect::<Result<BTreeMap<_, _>>>()
    };
    let mut times: BTreeMap<String, Duration> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("times"))?.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().trim_end_matches(".ptx").to_owned();
        let seconds = words.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
        let time = Duration::from_secs_f64(seconds);
        times.entry(name).and_modify(|least| *least = time.min(*least)).or_insert(time);
    }
    Ok(Clang { full: assembled("O2")?, plain: assembled("plain")?, times })
}

fn fastest(ptxas: &Ptxas, module: &ModuleFile, runs: u32) -> Result<(String, Assembly)> {
    let text = module.text();
    let assemble =
        || Assembly::of(ptxas, &text, &["-O3"]).map_err(|words| anyhow!("{}: {words}", module.name));
    let mut best = assemble()?;
    for _ in 1..runs {
        best.cpu = best.cpu.min(assemble()?.cpu);
    }
    Ok((module.stem(), best))
}
