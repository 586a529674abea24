//! Long runs of the judge over generated kernels.
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin judge -- --kernels 200000
//! ```
//!
//! Makes the kernel of each seed, optimizes it, and runs it before and after every phase that changes it. Prints what
//! it did, portion by portion; a kernel that comes out wrong is shrunk and written beside its story, and the exit
//! status is 1.

use anyhow::{Result, bail};
use clap::Parser;
use indicatif::{ParallelProgressIterator, ProgressBar};
use ptxopt::{OptLevel, Options, VerifyLevel};
use ptxopt_tests::generated::{generated, judge, shrunk};
use rayon::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Kernels after which a line tells how far the run is, so that one that is cut off has told what it did.
const PORTION: usize = 10_000;

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
    /// Where wrong kernels go
    #[arg(long, default_value = "target/wrong")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { kernels, first, level, knob, out } = Arguments::parse();
    let mut options = Options { level, threads: 1, verify: VerifyLevel::Off, ..Options::default() };
    for setting in &knob {
        options.set_knob(setting)?;
    }
    let bar = ProgressBar::new(kernels);
    let start = Instant::now();
    let mut wrong = Vec::new();
    for portion in (first..first + kernels).step_by(PORTION) {
        let seeds = portion..(first + kernels).min(portion + PORTION as u64);
        let last = seeds.end - 1;
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
