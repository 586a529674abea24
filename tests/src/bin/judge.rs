//! Long runs of the judge over generated kernels.
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin judge -- --kernels 200000
//! ```
//!
//! Makes the kernel of each seed, optimizes it, and runs it before and after every phase that changes it. Prints what
//! it did, portion by portion; a kernel that comes out wrong is shrunk and written beside its story, and the exit
//! status is 1.
//!
//! With `--journal FILE` each portion in which nothing is wrong is a line of the file, and one that stands there already is passed
//! over: a run that was cut off goes on where it was. Options are part of the line; the optimizer is not, so a journal is
//! of one build.

use anyhow::{Result, bail};
use clap::Parser;
use indicatif::{ParallelProgressIterator, ProgressBar};
use ptxopt::{OptLevel, Options, VerifyLevel};
use ptxopt_tests::generated::{generated, judge, shrunk};
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Kernels after which a line tells how far the run is, so that one that is cut off has told what it did.
const PORTION: usize = 2_000;

/// Judges generated kernels.
#[derive(Parser)]
struct Arguments {
    /// How many kernels
    #[arg(long, default_value_t = 200_000)]
    kernels: u64,
    /// Seed of the first
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Optimization level
    #[arg(short = 'O', default_value = "2")]
    level: OptLevel,
    /// Settings of knobs, as `ptxopt opt` takes them
    #[arg(long, value_name = "NAME=VALUE")]
    knob: Vec<String>,
    /// Portions that were judged and are not judged again
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Where wrong kernels go
    #[arg(long, default_value = "target/wrong")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { kernels, first, level, knob, journal, out } = Arguments::parse();
    let mut options = Options { level, threads: 1, verify: VerifyLevel::Off, ..Options::default() };
    for setting in &knob {
        options.set_knob(setting)?;
    }
    let done = match &journal {
        Some(path) if path.exists() => fs::read_to_string(path)?,
        _ => String::new(),
    };
    let mut journal = journal.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
    let bar = ProgressBar::new(kernels);
    let start = Instant::now();
    let mut wrong = Vec::new();
    for portion in (first..first + kernels).step_by(PORTION) {
        let seeds = portion..(first + kernels).min(portion + PORTION as u64);
        let last = seeds.end - 1;
        let line = format!("{:016x} {portion} {last}", options.fingerprint());
        if done.lines().any(|known| known == line) {
            bar.inc(last + 1 - portion);
            continue;
        }
        let found: Vec<(u64, String)> = seeds
            .into_par_iter()
            .progress_with(bar.clone())
            .filter_map(|seed| match judge(&generated(seed), &options) {
                Ok(None) => None,
                Ok(Some(story)) | Err(story) => Some((seed, story)),
            })
            .collect();
        let seconds = start.elapsed().as_secs_f64();
        bar.suspend(|| {
            println!("seeds {portion} to {last} at -{level}: {} wrong, {seconds:.0} s", found.len())
        });
        if let Some(journal) = journal.as_mut().filter(|_| found.is_empty()) {
            writeln!(journal, "{line}")?;
        }
        wrong.extend(found);
    }
    for (seed, story) in wrong.iter().take(10) {
        println!("seed {seed}: {story}");
        fs::create_dir_all(&out)?;
        let path = out.join(format!("{seed}.ptx"));
        fs::write(&path, shrunk(&generated(*seed), &options).text())?;
        println!("  shrunk: {}", path.display());
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{} kernels came out wrong", wrong.len()) }
}
