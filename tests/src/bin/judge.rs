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
//! With `--variants FOLDER` it is [variants](ptxopt_tests::variants) of the modules there, before and at the end:
//!
//! ```text
//! cargo run --release -p ptxopt-tests --bin judge -- --variants tests/corpus --kernels 20000
//! ```
//!
//! With `--journal FILE` each portion in which nothing is wrong is a line of the file, and one that stands there already is passed
//! over: a run that was cut off goes on where it was. Options are part of the line; the optimizer is not, so a journal is
//! of one build.

use anyhow::{Result, bail};
use clap::Parser;
use indicatif::{ParallelProgressIterator, ProgressBar};
use ptxopt::{OptLevel, Options, VerifyLevel};
use ptxopt_tests::generated::{generated, judge, shrunk};
use ptxopt_tests::modules::modules_in;
use ptxopt_tests::variants::{Judgement, Variants};
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
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
    /// Modules whose variants stand in the place of generated kernels
    #[arg(long, value_name = "FOLDER")]
    variants: Option<PathBuf>,
    /// Where wrong kernels go
    #[arg(long, default_value = "target/wrong")]
    out: PathBuf,
}

/// What is judged: a kernel, or the kernels of a module, for each seed.
enum Source {
    Generated,
    Variants(Variants),
}

impl Source {
    /// Kernels that leave the same before and after, and those that no launch judges.
    fn judge(&self, seed: u64, options: &Options) -> Result<[usize; 2], String> {
        match self {
            Self::Generated => match judge(&generated(seed), options) {
                Ok(None) => Ok([1, 0]),
                Ok(Some(story)) | Err(story) => Err(story),
            },
            Self::Variants(variants) => match variants.variant(seed).judge(options)? {
                Judgement::Same(same, aside) => Ok([same, aside]),
                Judgement::Wrong(story) => Err(story),
            },
        }
    }

    /// The text of what comes out as wrong as that of a seed, and holds less.
    fn shrunk(&self, seed: u64, options: &Options) -> String {
        match self {
            Self::Generated => shrunk(&generated(seed), options).text().to_owned(),
            Self::Variants(variants) => variants.variant(seed).shrunk(options).text(),
        }
    }
}

fn main() -> Result<()> {
    let Arguments { kernels, first, level, knob, journal, variants, out } = Arguments::parse();
    let source = match &variants {
        Some(folder) => Source::Variants(Variants::new(modules_in("", folder))),
        None => Source::Generated,
    };
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
        let line =
            format!("{:016x} {portion} {last}{}", options.fingerprint(), of_variants(variants.as_deref()));
        if done.lines().any(|known| known == line) {
            bar.inc(last + 1 - portion);
            continue;
        }
        let judged: Vec<(u64, Result<[usize; 2], String>)> = seeds
            .into_par_iter()
            .progress_with(bar.clone())
            .map(|seed| (seed, source.judge(seed, &options)))
            .collect();
        let (mut same, mut aside, mut found) = (0, 0, Vec::new());
        for (seed, judged) in judged {
            match judged {
                Ok([same_here, aside_here]) => (same, aside) = (same + same_here, aside + aside_here),
                Err(story) => found.push((seed, story)),
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        bar.suspend(|| {
            let wrong = found.len();
            println!("seeds {portion} to {last} at -{level}: {wrong} wrong, {same} the same, {aside} set aside, {seconds:.0} s")
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
        fs::write(&path, source.shrunk(*seed, &options))?;
        println!("  shrunk: {}", path.display());
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{} kernels came out wrong", wrong.len()) }
}

/// The end of a line of the journal: which modules the variants are of.
fn of_variants(folder: Option<&Path>) -> String {
    folder.map_or_else(String::new, |folder| format!(" {}", folder.display()))
}
